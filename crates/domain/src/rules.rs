//! Domain lists: allowed and denied domains, and their credibility.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::{SourceType, words};

words! {
    /// The list that contains a domain.
    DomainList { Allow => "allow", Deny => "deny" }
}

/// One entry of the domain lists. `domain` is lower case without scheme; `*.gov` covers every host below `gov`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq)]
pub struct DomainRule {
    pub domain: String,
    pub list: DomainList,
    /// 0–1. The default of the list if absent (allow: at least 0.7).
    #[serde(default)]
    pub credibility: Option<f64>,
    #[serde(default)]
    pub source_type: Option<SourceType>,
    #[serde(default)]
    pub why: Option<String>,
}

/// Lowest credibility of an allowed domain.
pub const ALLOW_MIN_CREDIBILITY: f64 = 0.7;

/// Why a rule cannot have a credibility.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadCredibility {
    #[error("credibility is between 0 and 1")]
    OutOfRange,
    #[error("an allowed domain has a credibility of at least 0.7; leave it out, or do not put the domain on the list")]
    AllowedButDoubted,
}

/// Checks that a rule of `list` may have this credibility.
pub fn check_credibility(list: DomainList, credibility: Option<f64>) -> Result<(), BadCredibility> {
    match credibility {
        Some(value) if !(0.0..=1.0).contains(&value) => Err(BadCredibility::OutOfRange),
        Some(value) if list == DomainList::Allow && value < ALLOW_MIN_CREDIBILITY => {
            Err(BadCredibility::AllowedButDoubted)
        }
        _ => Ok(()),
    }
}

/// Why a text cannot be the domain of a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{domain:?} is not a domain: {reason}; write it like example.org, or *.gov for everything below")]
pub struct BadDomain {
    pub domain: String,
    pub reason: &'static str,
}

/// Normalises user input (`https://www.Example.org/page` to `example.org`).
pub fn normalize_domain(input: &str) -> Result<String, BadDomain> {
    let bad = |reason| BadDomain { domain: input.to_owned(), reason };
    let trimmed = input.trim().to_lowercase();
    let after_scheme = trimmed.split_once("://").map_or(trimmed.as_str(), |(_, rest)| rest);
    let host = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, rest)| rest);
    let host = host.split_once(':').map_or(host, |(name, _)| name).trim_end_matches('.');
    let (wildcard, name) = host.strip_prefix("*.").map_or((false, host), |rest| (true, rest));
    let name = name.strip_prefix("www.").unwrap_or(name);
    if name.is_empty() {
        return Err(bad("it is empty"));
    }
    let ascii = url::Host::parse(name).map_err(|_error| bad("it holds characters no host name has"))?.to_string();
    if !wildcard && !ascii.contains('.') {
        return Err(bad("it has no dot"));
    }
    if ascii.len() > 253 {
        return Err(bad("it is longer than 253 characters"));
    }
    Ok(if wildcard { format!("*.{ascii}") } else { ascii })
}

/// The current domain lists. A rule covers its host and all hosts below. The longest rule wins; deny wins over allow at
/// equal length.
#[derive(Debug, Clone, Default)]
pub struct DomainRules {
    rules: HashMap<String, DomainRule>,
    /// If true, only domains on the allow list are used.
    pub allowlist_only: bool,
}

impl DomainRules {
    pub fn new(rules: impl IntoIterator<Item = DomainRule>, allowlist_only: bool) -> Self {
        let mut map: HashMap<String, DomainRule> = HashMap::new();
        for rule in rules {
            let key = rule.domain.trim_start_matches("*.").to_owned();
            match map.get(&key) {
                Some(present) if present.list == DomainList::Deny => {}
                _ => {
                    map.insert(key, rule);
                }
            }
        }
        Self { rules: map, allowlist_only }
    }

    /// Returns the most specific rule that covers a host.
    pub fn rule_for(&self, host: &str) -> Option<&DomainRule> {
        let host = host.trim_end_matches('.').to_lowercase();
        let mut rest = host.as_str();
        loop {
            if let Some(rule) = self.rules.get(rest) {
                let only_below = rule.domain.starts_with("*.");
                if !only_below || rest.len() < host.len() {
                    return Some(rule);
                }
            }
            rest = rest.split_once('.')?.1;
        }
    }

    /// True if the host is never fetched and never evidence.
    pub fn is_denied(&self, host: &str) -> bool {
        match self.rule_for(host) {
            Some(rule) => rule.list == DomainList::Deny,
            None => self.allowlist_only,
        }
    }

    pub fn is_allowed(&self, host: &str) -> bool {
        self.rule_for(host).is_some_and(|rule| rule.list == DomainList::Allow)
    }

    /// The allowed domains, sorted.
    pub fn allowed(&self) -> Vec<&str> {
        let mut domains: Vec<&str> = self
            .rules
            .values()
            .filter(|rule| rule.list == DomainList::Allow)
            .map(|rule| rule.domain.as_str())
            .collect();
        domains.sort_unstable();
        domains
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(domain: &str, list: DomainList) -> DomainRule {
        DomainRule { domain: domain.into(), list, credibility: None, source_type: None, why: None }
    }

    #[test]
    fn what_people_paste_becomes_a_domain() {
        assert_eq!(normalize_domain(" https://www.BBC.com/news?x=1 ").unwrap(), "bbc.com");
        assert_eq!(normalize_domain("*.gov").unwrap(), "*.gov");
        assert_eq!(normalize_domain("новости.рф").unwrap(), "xn--b1amnebsh.xn--p1ai");
        assert!(normalize_domain("localhost").is_err());
        assert!(normalize_domain("  ").is_err());
        assert!(normalize_domain("a b.com").is_err());
    }

    #[test]
    fn the_longest_rule_wins_and_deny_beats_allow() {
        let rules = DomainRules::new(
            [
                rule("example.org", DomainList::Allow),
                rule("spam.example.org", DomainList::Deny),
                rule("*.gov", DomainList::Allow),
            ],
            false,
        );
        assert!(rules.is_allowed("news.example.org"));
        assert!(rules.is_denied("a.spam.example.org"));
        assert!(rules.is_allowed("nasa.gov"));
        assert!(!rules.is_allowed("gov"));
        assert!(!rules.is_denied("elsewhere.net"));
        assert!(rules.rule_for("notexample.org").is_none());
    }

    #[test]
    fn allowlist_only_denies_the_rest() {
        let rules = DomainRules::new([rule("example.org", DomainList::Allow)], true);
        assert!(!rules.is_denied("example.org"));
        assert!(rules.is_denied("elsewhere.net"));
    }
}

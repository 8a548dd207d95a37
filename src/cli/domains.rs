//! `domains`: shows and edits the domain lists.
//!
//! If a daemon holds the data folder, the command uses its API.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::DomainsAction;
use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach, segment};
use crate::app::OpenStore;
use crate::config::Config;
use crate::domain::SystemClock;
use crate::domain::clock::Clock as _;
use crate::domain::rules::{DomainList, DomainRule, check_credibility, normalize_domain};
use crate::domain::verdict::SourceType;
use crate::judging::labels::{self, ReaderLanguage};
use crate::outbound::Method;
use crate::outbound::local::LocalDaemon;

pub(super) async fn run(config: Arc<Config>, action: DomainsAction, output: Output) -> Result<(), Failure> {
    let action = checked(action)?;
    match reach::store(&config).await? {
        Reach::Here(opened) => {
            // Installed first, because otherwise the edit would be taken for the configured lists.
            opened.store.install_domain_rules(&config.enrichment.first_rules(), SystemClock.now()).await?;
            let done = here(&opened, &action, output).await;
            opened.close().await?;
            done
        }
        Reach::Daemon(daemon) => through(&daemon, &action, output).await,
    }
}

enum Action {
    List,
    Add { rule: DomainRule, dry_run: bool },
    Remove { domain: String, why: Option<String>, dry_run: bool },
}

fn checked(action: DomainsAction) -> Result<Action, Failure> {
    let normal = |domain: &str| normalize_domain(domain).map_err(|error| Failure::new(2, error.to_string()));
    Ok(match action {
        DomainsAction::List => Action::List,
        DomainsAction::Add { domain, allow, deny: _, credibility, source_type, why, dry_run } => {
            let list = if allow { DomainList::Allow } else { DomainList::Deny };
            check_credibility(list, credibility).map_err(|error| Failure::new(2, error.to_string()))?;
            let source_type = match source_type.as_deref() {
                None => None,
                Some(word) => Some(SourceType::parse(word).ok_or_else(|| {
                    let known: Vec<&str> = SourceType::ALL.iter().map(|kind| kind.as_str()).collect();
                    Failure::new(2, format!("--source-type {word:?} is not known; one of {}", known.join(", ")))
                })?),
            };
            Action::Add { rule: DomainRule { domain: normal(&domain)?, list, credibility, source_type, why }, dry_run }
        }
        DomainsAction::Remove { domain, why, dry_run } => Action::Remove { domain: normal(&domain)?, why, dry_run },
    })
}

async fn here(opened: &OpenStore, action: &Action, output: Output) -> Result<(), Failure> {
    let store = &opened.store;
    let now = SystemClock.now();
    match action {
        Action::List => list(&store.domain_rules().await?.0, output),
        Action::Add { rule, dry_run } => {
            let change = store.put_domain_rule(rule, "command line", now, *dry_run).await?;
            let pages = store.sources_under(&rule.domain).await?;
            changed(&serde_json::to_value(&change)?, pages, *dry_run, output)
        }
        Action::Remove { domain, why, dry_run } => {
            let change = store.remove_domain_rule(domain, "command line", why.as_deref(), now, *dry_run).await?;
            match change {
                Some(change) => {
                    changed(&serde_json::to_value(&change)?, store.sources_under(domain).await?, *dry_run, output)
                }
                None => Err(no_rule(domain)),
            }
        }
    }
}

async fn through(daemon: &LocalDaemon, action: &Action, output: Output) -> Result<(), Failure> {
    match action {
        Action::List => {
            let answer = daemon.call(Method::GET, "/api/domains", None).await?;
            let rules = answer.get("items").cloned().unwrap_or_default();
            let rules: Vec<DomainRule> = serde_json::from_value(rules)
                .map_err(|error| Failure::failed(format!("the daemon's answer cannot be read: {error}")))?;
            list(&rules, output)
        }
        Action::Add { rule, dry_run } => {
            let path = if *dry_run { "/api/domains/preview" } else { "/api/domains" };
            let answer = daemon.call(Method::POST, path, Some(&serde_json::to_value(rule)?)).await?;
            changed(&answer, pages_of(&answer), *dry_run, output)
        }
        Action::Remove { domain, why, dry_run } => {
            let answer = if *dry_run {
                daemon
                    .call(Method::POST, "/api/domains/preview", Some(&json!({ "domain": domain, "remove": true })))
                    .await
            } else {
                let why = why.as_deref().map(|why| format!("?why={}", segment(why))).unwrap_or_default();
                daemon.call(Method::DELETE, &format!("/api/domains/{}{why}", segment(domain)), None).await
            };
            match answer {
                Ok(answer) => changed(&answer, pages_of(&answer), *dry_run, output),
                Err(crate::outbound::local::LocalError::Refused { status: 404, .. }) => Err(no_rule(domain)),
                Err(error) => Err(error.into()),
            }
        }
    }
}

fn pages_of(answer: &Value) -> i64 {
    answer.get("stored_pages").and_then(Value::as_i64).unwrap_or(0)
}

fn no_rule(domain: &str) -> Failure {
    Failure::failed(format!("there is no rule for {domain}; see `corroborate domains list`"))
}

fn list(rules: &[DomainRule], output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "items": rules, "next": null }));
    }
    let mut text = String::new();
    for rule in rules {
        let credibility = rule.credibility.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let kind = rule.source_type.map_or("-", SourceType::as_str);
        let why = crate::judging::plain::plain(rule.why.as_deref().unwrap_or_default());
        // In its own script if safe; `domains add` and `remove` accept both forms.
        let domain = labels::domain(&rule.domain, ReaderLanguage::English);
        let _infallible = writeln!(text, "{:<6} {domain:<32} {credibility:>5}  {kind:<13} {why}", rule.list);
    }
    if rules.is_empty() {
        text.push_str("no rules\n");
    }
    output.text(&text)
}

fn changed(change: &Value, pages: i64, dry_run: bool, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(change);
    }
    let action = change.get("action").and_then(Value::as_str).unwrap_or("change");
    let side = |name: &str| {
        let rule = change.get(name).filter(|rule| !rule.is_null())?;
        let part = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
        Some(format!("{} {}", part("list"), part("domain")))
    };
    let (before, after) = (side("before"), side("after"));
    let what = match (before, after) {
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (None, Some(after)) => after,
        (Some(before), None) => before,
        (None, None) => String::new(),
    };
    let mood = if dry_run { "would " } else { "" };
    output.text(&format!("{mood}{action}: {what} ({pages} stored page(s) under it)\n"))
}

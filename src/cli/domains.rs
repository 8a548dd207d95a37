//! `domains`: shows and edits the domain lists.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Api, segment, text_of};
use super::arguments::DomainsAction;
use super::failure::Failure;
use super::output::Output;
use crate::app::{Exchanges, Purpose};
use crate::config::Config;
use crate::domain::rules::{DomainList, DomainRule, check_credibility, normalize_domain};
use crate::domain::verdict::SourceType;
use crate::judging::labels::{self, ReaderLanguage};
use crate::outbound::Method;

pub(super) async fn run(config: Arc<Config>, action: DomainsAction, output: Output) -> Result<(), Failure> {
    let action = checked(action)?;
    let api = Api::open(&config, Purpose::EditDomains, &Exchanges::Live).await?;
    let done = act(&api, &action, output).await;
    api.close_after(done).await
}

enum Action {
    List,
    Add { rule: DomainRule, dry_run: bool },
    Remove { domain: String, why: Option<String>, dry_run: bool },
}

impl Action {
    fn domain(&self) -> &str {
        match self {
            Self::List => "",
            Self::Add { rule, .. } => &rule.domain,
            Self::Remove { domain, .. } => domain,
        }
    }
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

async fn act(api: &Api, action: &Action, output: Output) -> Result<(), Failure> {
    let (method, path, body, dry_run) = match action {
        Action::List => return list(&api.list::<DomainRule>("/api/domains").await?, output),
        Action::Add { rule, dry_run } => {
            let path = if *dry_run { "/api/domains/preview" } else { "/api/domains" };
            (Method::POST, path.to_owned(), Some(serde_json::to_value(rule)?), *dry_run)
        }
        Action::Remove { domain, dry_run: true, .. } => {
            let body = json!({ "domain": domain, "remove": true });
            (Method::POST, "/api/domains/preview".to_owned(), Some(body), true)
        }
        Action::Remove { domain, why, dry_run: false } => {
            let why = why.as_deref().map(|why| format!("?why={}", segment(why))).unwrap_or_default();
            (Method::DELETE, format!("/api/domains/{}{why}", segment(domain)), None, false)
        }
    };
    match api.call(method, &path, body.as_ref()).await {
        Ok(change) => changed(&change, dry_run, output),
        Err(error) if error.is_not_found() => Err(no_rule(action.domain())),
        Err(error) => Err(error.into()),
    }
}

fn no_rule(domain: &str) -> Failure {
    Failure::failed(format!("there is no rule for {domain}; see `corroborate domains list`"))
}

fn list(rules: &[DomainRule], output: Output) -> Result<(), Failure> {
    output.list(rules, "no rules\n", |rule| {
        let credibility = rule.credibility.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let kind = rule.source_type.map_or("-", SourceType::as_str);
        let why = crate::judging::plain::plain(rule.why.as_deref().unwrap_or_default());
        // In its own script if safe; `domains add` and `remove` accept both forms.
        let domain = labels::domain(&rule.domain, ReaderLanguage::English);
        format!("{:<6} {domain:<32} {credibility:>5}  {kind:<13} {why}", rule.list)
    })
}

fn changed(change: &Value, dry_run: bool, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(change);
    }
    let action = text_of(change, "action").unwrap_or("change");
    let side = |name: &str| {
        let rule = change.get(name).filter(|rule| !rule.is_null())?;
        Some(format!("{} {}", text_of(rule, "list").unwrap_or("?"), text_of(rule, "domain").unwrap_or("?")))
    };
    let (before, after) = (side("before"), side("after"));
    let what = match (before, after) {
        (Some(before), Some(after)) => format!("{before} → {after}"),
        (None, Some(after)) => after,
        (Some(before), None) => before,
        (None, None) => String::new(),
    };
    let pages = change.get("stored_pages").and_then(Value::as_i64).unwrap_or(0);
    let mood = if dry_run { "would " } else { "" };
    output.text(&format!("{mood}{action}: {what} ({pages} stored page(s) under it)\n"))
}

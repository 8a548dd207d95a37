//! The live domain lists, and the record of their edits.
//!
//! An edit locks the version row, changes the rule with a record, and notifies all processes. A trigger counts the
//! version up. The configured lists are installed once per store.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{PgConnection, Postgres, Transaction};

use super::{Store, StoreError};
use crate::domain::rules::{DomainList, DomainRule};
use crate::domain::verdict::{SourceType, words};

pub(super) const CHANNEL: &str = "corroborate_domain_rules";

words! {
    RuleChangeAction {
        Add => "add",
        Change => "change",
        Remove => "remove",
        Install => "install",
        /// The rule was already so; nothing is stored.
        Unchanged => "unchanged",
    }
}

#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct RuleChange {
    pub action: RuleChangeAction,
    pub before: Option<DomainRule>,
    pub after: Option<DomainRule>,
    /// Fields with different values; empty unless a rule was changed.
    pub changed: Vec<&'static str>,
}

impl Store {
    pub async fn domain_rules(&self) -> Result<(Vec<DomainRule>, i64), StoreError> {
        // Read before the rules: an edit in between leads to another read and is never missed.
        let version = self.domain_rules_version().await?;
        let rows =
            sqlx::query_as("SELECT domain, list, credibility, source_type, why FROM domain_rules ORDER BY domain")
                .fetch_all(&self.pool)
                .await?;
        Ok((rows.into_iter().map(rule).collect::<Result<_, _>>()?, version))
    }

    /// Returns the version: it grows with every edit, in commit order.
    pub async fn domain_rules_version(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT version FROM domain_rules_version").fetch_one(&self.pool).await?)
    }

    /// Installs the configured lists, once per store. Later edits belong to the administrators.
    pub async fn install_domain_rules(&self, rules: &[DomainRule], now: DateTime<Utc>) -> Result<bool, StoreError> {
        self.in_time(async {
            let mut transaction = self.begin_edit().await?;
            let first = sqlx::query(
                "INSERT INTO store_settings (key, value, updated_at) VALUES ('domain_lists_installed', 'true', $1)
             ON CONFLICT DO NOTHING",
            )
            .bind(now)
            .execute(&mut *transaction)
            .await?
            .rows_affected()
                == 1;
            if first {
                for rule in rules {
                    let edit = Edit { after: rule, why: rule.why.as_deref(), before: None };
                    put(&mut transaction, &edit, RuleChangeAction::Install, "configuration", now).await?;
                }
            }
            transaction.commit().await?;
            if first {
                self.wake_rules.notify_one();
            }
            Ok(first)
        })
        .await
    }

    /// Adds or changes a rule. On the same list, `None` fields keep their values; on another they would mean the
    /// opposite. `dry_run` stores nothing.
    pub async fn put_domain_rule(
        &self,
        new: &DomainRule,
        who: &str,
        now: DateTime<Utc>,
        dry_run: bool,
    ) -> Result<RuleChange, StoreError> {
        self.in_time(async {
            let mut transaction = self.begin_edit().await?;
            let change = put_one(&mut transaction, new, who, now).await?;
            self.end_edit(transaction, !dry_run && change.action != RuleChangeAction::Unchanged).await?;
            Ok(change)
        })
        .await
    }

    /// Adds or changes several rules in one transaction.
    pub async fn put_domain_rules(
        &self,
        new: &[DomainRule],
        who: &str,
        now: DateTime<Utc>,
        dry_run: bool,
    ) -> Result<Vec<RuleChange>, StoreError> {
        self.in_time(async {
            let mut transaction = self.begin_edit().await?;
            let mut changes = Vec::with_capacity(new.len());
            for rule in new {
                changes.push(put_one(&mut transaction, rule, who, now).await?);
            }
            let is_change = changes.iter().any(|change| change.action != RuleChangeAction::Unchanged);
            self.end_edit(transaction, !dry_run && is_change).await?;
            Ok(changes)
        })
        .await
    }

    /// Removes a rule; `None` if the domain has none.
    pub async fn remove_domain_rule(
        &self,
        domain: &str,
        who: &str,
        why: Option<&str>,
        now: DateTime<Utc>,
        dry_run: bool,
    ) -> Result<Option<RuleChange>, StoreError> {
        self.in_time(async {
            let mut transaction = self.begin_edit().await?;
            let Some(before) = one(&mut transaction, domain).await? else {
                transaction.rollback().await?;
                return Ok(None);
            };
            remove(&mut transaction, &before, who, why, now).await?;
            self.end_edit(transaction, !dry_run).await?;
            Ok(Some(RuleChange {
                action: RuleChangeAction::Remove,
                before: Some(before),
                after: None,
                changed: Vec::new(),
            }))
        })
        .await
    }

    /// Returns the number of stored pages that an edit of a domain affects.
    pub async fn sources_under(&self, domain: &str) -> Result<i64, StoreError> {
        let bare = domain.trim_start_matches("*.");
        Ok(sqlx::query_scalar("SELECT count(*) FROM pages_under(ARRAY[$1])").bind(bare).fetch_one(&self.pool).await?)
    }

    /// Notified when this process, or another one while listening, edited the lists.
    pub fn rules_edited(&self) -> std::sync::Arc<tokio::sync::Notify> {
        std::sync::Arc::clone(&self.wake_rules)
    }

    /// Locks the version row, so that edits run one at a time. A trigger counts the version up.
    pub(super) async fn begin_edit(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        let mut transaction = self.transaction().await?;
        sqlx::query("SELECT version FROM domain_rules_version FOR UPDATE").execute(&mut *transaction).await?;
        Ok(transaction)
    }

    /// Commits an edit and notifies all processes, or rolls back.
    pub(super) async fn end_edit(
        &self,
        mut transaction: Transaction<'static, Postgres>,
        is_kept: bool,
    ) -> Result<(), StoreError> {
        if !is_kept {
            return Ok(transaction.rollback().await?);
        }
        if !self.embedded {
            sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        self.wake_rules.notify_one();
        Ok(())
    }
}

async fn put_one(
    transaction: &mut PgConnection,
    new: &DomainRule,
    who: &str,
    now: DateTime<Utc>,
) -> Result<RuleChange, StoreError> {
    let before = one(transaction, &new.domain).await?;
    let after = before.as_ref().map_or_else(|| new.clone(), |before| merged(before, new));
    let changed = before.as_ref().map_or_else(Vec::new, |before| differences(before, &after));
    let action = match &before {
        None => RuleChangeAction::Add,
        Some(_) if changed.is_empty() => RuleChangeAction::Unchanged,
        Some(_) => RuleChangeAction::Change,
    };
    if action != RuleChangeAction::Unchanged {
        // The record gets the reason of this edit, not the one kept in the rule.
        let edit = Edit { before: before.as_ref(), after: &after, why: new.why.as_deref() };
        put(transaction, &edit, action, who, now).await?;
    }
    Ok(RuleChange { action, before, after: Some(after), changed })
}

pub(super) async fn one(connection: &mut PgConnection, domain: &str) -> Result<Option<DomainRule>, StoreError> {
    sqlx::query_as("SELECT domain, list, credibility, source_type, why FROM domain_rules WHERE domain = $1")
        .bind(domain)
        .fetch_optional(connection)
        .await?
        .map(rule)
        .transpose()
}

/// Returns the new rule; on the same list, missing fields keep their values.
fn merged(before: &DomainRule, new: &DomainRule) -> DomainRule {
    if before.list != new.list {
        return new.clone();
    }
    DomainRule {
        domain: new.domain.clone(),
        list: new.list,
        credibility: new.credibility.or(before.credibility),
        source_type: new.source_type.or(before.source_type),
        why: new.why.clone().or_else(|| before.why.clone()),
    }
}

fn differences(before: &DomainRule, after: &DomainRule) -> Vec<&'static str> {
    let fields = [
        ("list", before.list != after.list),
        ("credibility", before.credibility != after.credibility),
        ("source_type", before.source_type != after.source_type),
        ("why", before.why != after.why),
    ];
    fields.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
}

/// A rule before and after an edit, and the reason given.
pub(super) struct Edit<'a> {
    pub(super) before: Option<&'a DomainRule>,
    pub(super) after: &'a DomainRule,
    pub(super) why: Option<&'a str>,
}

pub(super) async fn put(
    connection: &mut PgConnection,
    edit: &Edit<'_>,
    action: RuleChangeAction,
    who: &str,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let new = edit.after;
    sqlx::query(
        "WITH rule AS (
             INSERT INTO domain_rules (domain, list, credibility, source_type, why, updated_by, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (domain) DO UPDATE SET list = excluded.list, credibility = excluded.credibility,
                 source_type = excluded.source_type, why = excluded.why, updated_by = excluded.updated_by,
                 updated_at = excluded.updated_at)
         INSERT INTO domain_rule_changes (domain, action, before, after, who, why, changed_at)
         VALUES ($1, $8, $9, $10, $6, $11, $7)",
    )
    .bind(&new.domain)
    .bind(new.list.as_str())
    .bind(new.credibility)
    .bind(new.source_type.map(SourceType::as_str))
    .bind(&new.why)
    .bind(who)
    .bind(now)
    .bind(action.as_str())
    .bind(edit.before.map(super::commit::json).transpose()?)
    .bind(super::commit::json(new)?)
    .bind(edit.why)
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn remove(
    connection: &mut PgConnection,
    gone: &DomainRule,
    who: &str,
    why: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM domain_rules WHERE domain = $1").bind(&gone.domain).execute(&mut *connection).await?;
    sqlx::query(
        "INSERT INTO domain_rule_changes (domain, action, before, who, why, changed_at)
         VALUES ($1, 'remove', $2, $3, $4, $5)",
    )
    .bind(&gone.domain)
    .bind(super::commit::json(gone)?)
    .bind(who)
    .bind(why)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}

type RuleRow = (String, String, Option<f64>, Option<String>, Option<String>);

fn rule((domain, list, credibility, source_type, why): RuleRow) -> Result<DomainRule, StoreError> {
    let list = DomainList::parse(&list).ok_or_else(|| StoreError::Corrupt { detail: format!("list {list}") })?;
    let source_type = source_type.as_deref().and_then(SourceType::parse);
    Ok(DomainRule { domain, list, credibility, source_type, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_given_stays_only_on_the_same_list() {
        let bare = |list| DomainRule { domain: "a.org".into(), list, credibility: None, source_type: None, why: None };
        let before = DomainRule {
            credibility: Some(0.9),
            source_type: Some(SourceType::Government),
            why: Some("official".into()),
            ..bare(DomainList::Allow)
        };
        let same = merged(&before, &bare(DomainList::Allow));
        assert_eq!((differences(&before, &same), &same), (vec![], &before));
        let more = DomainRule { credibility: Some(0.8), ..bare(DomainList::Allow) };
        let after = merged(&before, &more);
        assert_eq!(differences(&before, &after), ["credibility"]);
        assert_eq!(after.why.as_deref(), Some("official"));
        let turned = merged(&before, &bare(DomainList::Deny));
        assert_eq!(turned, bare(DomainList::Deny), "credit is not carried to the other list");
        assert_eq!(differences(&before, &turned), ["list", "credibility", "source_type", "why"]);
    }
}

//! Applies changes of the configured domain lists to the live lists.
//!
//! Administrators' edits are kept.

use chrono::{DateTime, Utc};

use super::domains::{Edit, RuleChangeAction, one, put, remove};
use super::{Store, StoreError};
use crate::domain::rules::DomainRule;

const WHO: &str = "configuration";
const GONE: &str = "taken out of the configuration";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowedRules {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    /// Domains that administrators edited differently; those edits are kept.
    pub kept: Vec<String>,
}

const NAMED: usize = 10;

impl FollowedRules {
    pub fn is_change(&self) -> bool {
        self.added + self.changed + self.removed > 0
    }

    /// Returns the first of [`FollowedRules::kept`], as text.
    pub fn kept_names(&self) -> String {
        let names: Vec<&str> = self.kept.iter().take(NAMED).map(String::as_str).collect();
        let more = self.kept.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{rest}", names.join(", "))
    }
}

/// Compares rules without their reasons.
fn is_same(one: Option<&DomainRule>, other: Option<&DomainRule>) -> bool {
    let effect = |rule: &DomainRule| (rule.list, rule.credibility, rule.source_type);
    one.map(effect) == other.map(effect)
}

impl Store {
    /// Applies the difference from `before` to `after` to the live lists. Skips domains that administrators edited.
    /// Several processes may call it; later calls change nothing.
    pub async fn follow_configured_rules(
        &self,
        before: &[DomainRule],
        after: &[DomainRule],
        now: DateTime<Utc>,
    ) -> Result<FollowedRules, StoreError> {
        let find = |rules: &[DomainRule], domain: &str| rules.iter().find(|rule| rule.domain == domain).cloned();
        let mut domains: Vec<&str> = before.iter().chain(after).map(|rule| rule.domain.as_str()).collect();
        domains.sort_unstable();
        domains.dedup();
        let mut followed = FollowedRules::default();
        self.in_time(async {
            let mut transaction = self.begin_edit().await?;
            for domain in domains {
                let (was, will) = (find(before, domain), find(after, domain));
                if was == will {
                    continue;
                }
                let live = one(&mut transaction, domain).await?;
                if is_same(live.as_ref(), will.as_ref()) {
                    continue;
                }
                if !is_same(live.as_ref(), was.as_ref()) {
                    followed.kept.push(domain.to_owned());
                    continue;
                }
                match (&live, &will) {
                    (live, Some(rule)) => {
                        let (action, count) = match live {
                            None => (RuleChangeAction::Add, &mut followed.added),
                            Some(_) => (RuleChangeAction::Change, &mut followed.changed),
                        };
                        let edit = Edit { before: live.as_ref(), after: rule, why: rule.why.as_deref() };
                        put(&mut transaction, &edit, action, WHO, now).await?;
                        *count += 1;
                    }
                    (Some(gone), None) => {
                        remove(&mut transaction, gone, WHO, Some(GONE), now).await?;
                        followed.removed += 1;
                    }
                    (None, None) => {}
                }
            }
            self.end_edit(transaction, followed.is_change()).await?;
            Ok(followed)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_names_a_few_domains_and_counts_the_rest() {
        let kept = |count: usize| FollowedRules { kept: vec!["a.org".to_owned(); count], ..FollowedRules::default() };
        assert_eq!(kept(2).kept_names(), "a.org, a.org");
        assert!(kept(NAMED + 3).kept_names().ends_with(" and 3 more"));
    }
}

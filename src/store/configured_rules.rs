//! Lists of the configuration that were changed while a process runs.

use chrono::{DateTime, Utc};

use super::domains::{Edit, RuleChangeAction, one, put, remove};
use super::{Store, StoreError};
use crate::domain::rules::DomainRule;

/// Who is written down for what the configuration says.
const WHO: &str = "configuration";
/// Why a rule is gone.
const GONE: &str = "taken out of the configuration";

/// What became of a changed list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowedRules {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
    /// Domains that the admins have decided otherwise about since; theirs stands.
    pub kept: Vec<String>,
}

/// How many domains are named in a log line at most.
const NAMED: usize = 10;

impl FollowedRules {
    /// Whether the live lists are other than before.
    pub fn is_change(&self) -> bool {
        self.added + self.changed + self.removed > 0
    }

    /// The first of [`FollowedRules::kept`], for people.
    pub fn kept_names(&self) -> String {
        let names: Vec<&str> = self.kept.iter().take(NAMED).map(String::as_str).collect();
        let more = self.kept.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{rest}", names.join(", "))
    }
}

/// A rule says the same, whatever its reason.
fn is_same(one: Option<&DomainRule>, other: Option<&DomainRule>) -> bool {
    let said = |rule: &DomainRule| (rule.list, rule.credibility, rule.source_type);
    one.map(said) == other.map(said)
}

impl Store {
    /// Does to the live lists what was done to the configured ones: from `before` to `after`. A domain that the admins have
    /// edited since is left as it is. Processes that share the store may all do so: the later ones find it done.
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

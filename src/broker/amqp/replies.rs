//! Decides to which queues a reply may be sent.
//!
//! A producer can name any queue in `reply_to`, and the daemon would write there with its own rights. Therefore only
//! queues with configured prefixes get replies, never the daemon's own queues.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::AmqpNames;
use crate::broker::QueueName;

/// Number of name classes that are logged; later ones are only counted.
const MAX_LOGGED: usize = 50;

const CLASS_CHARS: usize = 32;

#[derive(Debug)]
pub(super) struct ReplyPolicy {
    names: AmqpNames,
    prefixes: Vec<String>,
    logged: Mutex<BTreeSet<String>>,
}

impl ReplyPolicy {
    pub(super) fn new(names: AmqpNames, prefixes: Vec<String>) -> Self {
        Self { names, prefixes, logged: Mutex::default() }
    }

    pub(super) fn allows(&self, queue: &str) -> bool {
        !self.is_own(queue) && self.prefixes.iter().any(|prefix| queue.starts_with(prefix))
    }

    pub(super) fn is_own(&self, queue: &str) -> bool {
        let is_consumed = |name| {
            let rest = queue.strip_prefix(self.names.queue(name));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(".retry."))
        };
        queue == self.names.dead_queue || QueueName::ALL.into_iter().any(is_consumed)
    }

    pub(super) fn log_refusal(&self, queue: &str) {
        let class = class(queue);
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < MAX_LOGGED && logged.insert(class.clone()) {
            tracing::warn!(
                beginning = ?class,
                "reply refused: reply_to names a queue outside amqp.reply_to_prefixes, or one of the daemon's own"
            );
        }
    }
}

/// Returns the name up to its first digit, so that names with a number or random part share a class.
fn class(queue: &str) -> String {
    queue.chars().take_while(|character| !character.is_ascii_digit()).take(CLASS_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_is_allowed_when_its_queue_has_a_configured_prefix_and_is_not_the_daemons() {
        let policy = |prefixes: &[&str]| {
            ReplyPolicy::new(AmqpNames::default(), prefixes.iter().map(ToString::to_string).collect())
        };
        let some = policy(&["amq.gen-", "enrichment.reply."]);
        for (queue, allowed) in [
            ("amq.gen-JzTY20BRgKO", true),
            ("enrichment.reply.site", true),
            ("enrichment.dead", false),
            ("billing", false),
            ("", false),
        ] {
            assert_eq!(some.allows(queue), allowed, "{queue}");
        }
        let all = policy(&[""]);
        assert!(all.allows("billing") && all.allows("factchecker") && all.allows("factcheck.retry"));
        let own = ["factcheck", "factcheck.retry.5s", "enrichment_queue.retry.10m", "enrichment_important"];
        assert!(!own.iter().any(|queue| all.allows(queue)));
        assert!(!all.allows("enrichment.dead"));
        assert!(!policy(&[]).allows("amq.gen-JzTY20BRgKO"));
    }

    #[test]
    fn refusals_are_logged_once_per_class_and_bounded() {
        let policy = ReplyPolicy::new(AmqpNames::default(), Vec::new());
        for number in 0..500 {
            policy.log_refusal(&format!("site-{number}"));
            policy.log_refusal(&format!("{}-1", "x".repeat(number)));
        }
        assert_eq!(class("site-7f"), "site-");
        assert!(policy.logged.lock().unwrap().len() <= MAX_LOGGED);
    }
}

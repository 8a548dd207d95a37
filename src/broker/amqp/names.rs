//! Names of exchanges and queues at the broker, their checks, and AMQP short strings.
//!
//! To add a queue, extend [`AmqpNames`] and its `queue`, `binding` and `check`.

use std::time::Duration;

use lapin::types::ShortString;

use crate::broker::{QueueError, QueueName};
use crate::domain::MessageId;

/// Names of everything that the daemon declares. The defaults are those of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmqpNames {
    /// Topic exchange to which upstream publishes.
    pub exchange: String,
    pub important_queue: String,
    pub important_binding: String,
    pub enrichment_queue: String,
    pub enrichment_binding: String,
    pub factcheck_queue: String,
    pub factcheck_binding: String,
    pub dead_exchange: String,
    pub dead_queue: String,
    pub results_exchange: String,
}

impl Default for AmqpNames {
    fn default() -> Self {
        Self {
            exchange: "enrichment".to_owned(),
            important_queue: "enrichment_important".to_owned(),
            important_binding: "important.#".to_owned(),
            enrichment_queue: "enrichment_queue".to_owned(),
            enrichment_binding: "item.#".to_owned(),
            factcheck_queue: "factcheck".to_owned(),
            factcheck_binding: "factcheck.#".to_owned(),
            dead_exchange: "enrichment.dlx".to_owned(),
            dead_queue: "enrichment.dead".to_owned(),
            results_exchange: "enrichment.results".to_owned(),
        }
    }
}

/// Longest name in AMQP, bytes.
const MAX_NAME_BYTES: usize = 255;

/// Bytes reserved for `.retry.<delay>`.
const RETRY_SUFFIX_BYTES: usize = 40;

impl AmqpNames {
    pub fn queue(&self, name: QueueName) -> &str {
        match name {
            QueueName::Important => &self.important_queue,
            QueueName::Enrichment => &self.enrichment_queue,
            QueueName::Factcheck => &self.factcheck_queue,
        }
    }

    pub(super) fn binding(&self, name: QueueName) -> &str {
        match name {
            QueueName::Important => &self.important_binding,
            QueueName::Enrichment => &self.enrichment_binding,
            QueueName::Factcheck => &self.factcheck_binding,
        }
    }

    pub(super) fn named(&self, queue: &str) -> Option<QueueName> {
        QueueName::ALL.into_iter().find(|name| self.queue(*name) == queue)
    }

    pub(super) fn retry_queue(&self, name: QueueName, delay: Duration) -> String {
        // Joins "2m 30s" to `2m30s`, so that the name has no space.
        let delay = humantime::format_duration(delay).to_string().replace(' ', "");
        format!("{}.retry.{delay}", self.queue(name))
    }

    /// Rejects names that AMQP cannot carry, and duplicate names.
    pub(super) fn check(&self) -> Result<(), QueueError> {
        let names = [
            ("exchange", &self.exchange),
            ("important_queue", &self.important_queue),
            ("important_binding", &self.important_binding),
            ("enrichment_queue", &self.enrichment_queue),
            ("enrichment_binding", &self.enrichment_binding),
            ("factcheck_queue", &self.factcheck_queue),
            ("factcheck_binding", &self.factcheck_binding),
            ("dead_exchange", &self.dead_exchange),
            ("dead_queue", &self.dead_queue),
            ("results_exchange", &self.results_exchange),
        ];
        for (key, name) in names {
            let detail = if name.is_empty() {
                "it is empty; give a name".to_owned()
            } else if name.len() > MAX_NAME_BYTES - RETRY_SUFFIX_BYTES {
                format!("{name:?} is longer than {} bytes; shorten it", MAX_NAME_BYTES - RETRY_SUFFIX_BYTES)
            } else if name.starts_with("amq.") {
                format!("{name:?} starts with \"amq.\", which the broker keeps for itself; choose another name")
            } else {
                continue;
            };
            return Err(QueueError::BadSettings { key, detail });
        }
        let same = |left: &str, right: &str, key| {
            (left == right).then(|| QueueError::BadSettings {
                key,
                detail: format!("{left:?} is used twice; every queue and exchange needs a name of its own"),
            })
        };
        let doubled = same(&self.enrichment_queue, &self.factcheck_queue, "factcheck_queue")
            .or_else(|| same(&self.important_queue, &self.enrichment_queue, "important_queue"))
            .or_else(|| same(&self.important_queue, &self.factcheck_queue, "important_queue"))
            .or_else(|| same(&self.important_queue, &self.dead_queue, "dead_queue"))
            .or_else(|| same(&self.enrichment_queue, &self.dead_queue, "dead_queue"))
            .or_else(|| same(&self.factcheck_queue, &self.dead_queue, "dead_queue"))
            .or_else(|| same(&self.exchange, &self.results_exchange, "results_exchange"))
            .or_else(|| same(&self.exchange, &self.dead_exchange, "dead_exchange"))
            .or_else(|| same(&self.results_exchange, &self.dead_exchange, "dead_exchange"));
        doubled.map_or(Ok(()), Err)
    }
}

/// Converts a name that [`AmqpNames::check`] accepted.
pub(super) fn checked_name(text: &str) -> ShortString {
    ShortString::try_new(text).unwrap_or_default()
}

/// Converts an exchange or routing key. `None` if too long: a shortened name would address another destination.
pub(super) fn destination(text: &str) -> Option<ShortString> {
    ShortString::try_new(text).ok()
}

pub(super) fn id(id: &MessageId) -> ShortString {
    // A `MessageId` always fits into a short string.
    ShortString::try_new(id.as_str()).unwrap_or_default()
}

pub(super) fn prose(text: &str) -> ShortString {
    let end = text.floor_char_boundary(MAX_NAME_BYTES);
    ShortString::try_new(text.get(..end).unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_queues_are_named_by_their_delay() {
        let names = AmqpNames::default();
        let cases = [(5_000, "enrichment_queue.retry.5s"), (150_000, "enrichment_queue.retry.2m30s")];
        for (millis, name) in cases {
            assert_eq!(names.retry_queue(QueueName::Enrichment, Duration::from_millis(millis)), name);
        }
        assert_eq!(names.retry_queue(QueueName::Factcheck, Duration::from_millis(200)), "factcheck.retry.200ms");
    }

    #[test]
    fn names_that_cannot_work_are_refused_with_their_key() {
        assert_eq!(AmqpNames::default().check(), Ok(()));
        let bad = |change: fn(&mut AmqpNames)| {
            let mut names = AmqpNames::default();
            change(&mut names);
            match names.check() {
                Err(QueueError::BadSettings { key, .. }) => key,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(bad(|names| names.exchange = String::new()), "exchange");
        assert_eq!(bad(|names| names.dead_queue = "amq.dead".to_owned()), "dead_queue");
        assert_eq!(bad(|names| names.results_exchange = "r".repeat(300)), "results_exchange");
        assert_eq!(bad(|names| names.factcheck_queue = "enrichment_queue".to_owned()), "factcheck_queue");
        assert_eq!(bad(|names| names.results_exchange = "enrichment".to_owned()), "results_exchange");
    }

    #[test]
    fn prose_is_cut_at_a_character_when_it_is_long() {
        assert_eq!(prose(&"я".repeat(200)).as_str().len(), 254);
        assert_eq!(prose("abc").as_str(), "abc");
    }

    #[test]
    fn destination_is_refused_when_the_protocol_cannot_carry_it() {
        assert!(destination(&"q".repeat(255)).is_some());
        assert_eq!(destination(&"q".repeat(256)), None);
    }

    #[test]
    fn id_is_carried_whole() {
        for bytes in [1, 255, 256, 4_000] {
            let message_id = MessageId::new("x".repeat(bytes));
            assert_eq!(id(&message_id).as_str(), message_id.as_str());
        }
    }
}

//! The id of an outgoing message.

use std::fmt;

use serde::Serialize;

use crate::ids;

/// The id of an outgoing message, equal in all its copies at the broker and at webhooks.
///
/// AMQP allows 255 bytes. A longer text becomes its beginning and a hash, so that different texts keep different ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct MessageId(String);

impl MessageId {
    pub const MAX_BYTES: usize = 255;

    /// Length of the separator and the 64 hex digits of the hash.
    const HASH_BYTES: usize = 65;

    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.len() <= Self::MAX_BYTES {
            return Self(text);
        }
        let end = text.floor_char_boundary(Self::MAX_BYTES - Self::HASH_BYTES);
        let beginning = text.get(..end).unwrap_or_default();
        Self(format!("{beginning}#{}", ids::text_hash(&text)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for MessageId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for MessageId {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Ids of one run of an item, as in the pipeline.
    fn of_run(item_id: &str, micros: u64) -> Vec<MessageId> {
        let suffixes = ["result", "reply", "clm_0123456789abcdef0123", "clm_0123456789abcdef0123:correction"];
        suffixes.iter().map(|suffix| MessageId::new(format!("{item_id}:{micros}:{suffix}"))).collect()
    }

    #[test]
    fn message_ids_stay_distinct_when_item_ids_are_long() {
        let mut seen = BTreeSet::new();
        let mut made = 0;
        for unit in ["a", "я", "%D0%BD", "界"] {
            for item_id in (1..=512 / unit.len()).map(|count| unit.repeat(count)) {
                for micros in [1_795_000_000_000_000, 1_795_000_000_000_001] {
                    let ids = of_run(&item_id, micros);
                    assert!(ids.iter().all(|id| id.as_str().len() <= MessageId::MAX_BYTES), "{ids:?}");
                    made += ids.len();
                    seen.extend(ids);
                }
            }
        }
        assert_eq!(seen.len(), made, "ids that are alike");
    }

    #[test]
    fn message_id_is_unchanged_when_it_fits() {
        for text in ["", "q:1", &"x".repeat(255)] {
            assert_eq!(MessageId::from(text).as_str(), text);
        }
        let long = MessageId::from("я".repeat(128));
        assert_eq!(long, MessageId::from("я".repeat(128)));
        assert_eq!(long.as_str().len(), 255);
        assert_ne!(long, MessageId::from("я".repeat(129)));
    }
}

//! Reads the `item_id` of an invalid or truncated message.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};

/// Returns `item_id` from a message that may be truncated or invalid.
pub fn item_id_of(message: &[u8]) -> Option<String> {
    let mut found = None;
    // The error is expected: the message ends early, or reading stopped at the id.
    let _stopped = serde_json::Deserializer::from_slice(message).deserialize_map(IdSearch(&mut found));
    found
}

/// Reads an object up to its `item_id`.
struct IdSearch<'a>(&'a mut Option<String>);

impl<'de> Visitor<'de> for IdSearch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "item_id" {
                *self.0 = Some(map.next_value()?);
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_id_is_found_when_the_message_is_cut_or_is_no_item() {
        for (message, id) in [
            (r#"{"schema":1,"item_id":"x","text":7}"#, Some("x")),
            (r#"{"schema":1,"entities":[{"text":"item_id"}],"item_id":"x","text":"cut he"#, Some("x")),
            (r#"{"schema":1,"text":"cut before the item_id"#, None),
            ("{nonsense", None),
            (r#"{"item_id":7}"#, None),
            (r#"["item_id","x"]"#, None),
            ("", None),
        ] {
            assert_eq!(item_id_of(message.as_bytes()).as_deref(), id, "{message}");
        }
        assert_eq!(item_id_of(b"{\"item_id\":\"caf\xe9\"}"), None);
    }
}

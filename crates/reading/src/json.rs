//! Reads a page's JSON with a limit on its values: an empty object has three bytes of text and uses hundreds in memory.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Weight of the values of a page's JSON, in units of about 32 bytes (13 MB in all).
const MAX_WEIGHT: usize = 400_000;
/// Consecutive values in a text. Before each, the reader counts all previous lines.
const MAX_VALUES: usize = 50;
const OBJECT_WEIGHT: usize = 20;

/// Remaining weight. Values beyond it are skipped.
#[derive(Debug)]
pub(super) struct ValueBudget {
    left: Cell<usize>,
}

impl Default for ValueBudget {
    fn default() -> Self {
        Self { left: Cell::new(MAX_WEIGHT) }
    }
}

impl ValueBudget {
    /// Returns the value at the start of a text.
    pub(super) fn first(&self, text: &str) -> Option<Value> {
        Seed(self).deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
    }

    /// Returns the consecutive values of a text, at most [`MAX_VALUES`]. `None` without a value or with other content.
    pub(super) fn all(&self, text: &str) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        let mut reader = serde_json::Deserializer::from_str(text);
        while values.len() < MAX_VALUES && reader.end().is_err() {
            values.push(Seed(self).deserialize(&mut reader).ok()?);
        }
        (!values.is_empty()).then_some(values)
    }

    fn take(&self, weight: usize) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(weight));
        left > weight
    }
}

struct Seed<'r>(&'r ValueBudget);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while self.0.take(if list.is_empty() { 4 } else { 1 }) {
            let Some(item) = items.next_element_seed(Seed(self.0))? else { return Ok(Value::Array(list)) };
            list.push(item);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while self.0.take(if map.is_empty() { OBJECT_WEIGHT } else { 3 }) {
            let Some(key) = entries.next_key::<String>()? else { return Ok(Value::Object(map)) };
            map.insert(key, entries.next_value_seed(Seed(self.0))?);
        }
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_serde_json() {
        let text = r#"{"a":[1,-2,3.5,true,null,"б\n"],"b":{"c":[]},"d":{}} [7]"#;
        let expected: Vec<Value> =
            serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().unwrap();
        assert_eq!(ValueBudget::default().all(text).unwrap(), expected);
        assert_eq!(ValueBudget::default().first(text).as_ref(), expected.first());
        for broken in ["", "  ", "{", "[1] x", "{\"a\":}"] {
            assert_eq!(ValueBudget::default().all(broken), None, "{broken}");
        }
    }

    #[test]
    fn page_of_small_values_is_read_to_its_budget() {
        for (one, weight) in [("{},", 20), ("[],", 4), ("0,", 1), ("{\"a\":0},", 20)] {
            let text = format!("[{}0]", one.repeat(1_000_000 / one.len()));
            let budget = ValueBudget::default();
            let values = budget.all(&text).unwrap();
            let held = values.first().and_then(Value::as_array).map_or(0, Vec::len);
            assert!(held <= MAX_WEIGHT / weight, "{one}: {held}");
            assert_eq!(budget.all(&text).unwrap(), [Value::Array(Vec::new())], "nothing is left for the next block");
        }
    }
}

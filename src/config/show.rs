//! `config show`: every key with its value and layer. Secrets are `set` or `unset`.

use std::borrow::Cow;

use figment::value::Value;

use super::gathered::Source;
use super::key::Key;
use super::kind::Kind;
use super::value::{byte_text, scalar_text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownKey {
    pub key: &'static str,
    pub env: Cow<'static, str>,
    /// `set` or `unset` for secrets, `unset` without a value.
    pub value: String,
    pub from: Source,
}

/// Formats a value. Never returns a secret.
pub(super) fn shown_value(key: &Key, value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Empty(..)) => "unset".to_owned(),
        Some(_) if key.is_secret() => "set".to_owned(),
        Some(Value::Array(_, elements)) if elements.is_empty() => "none".to_owned(),
        Some(Value::Array(_, elements)) => elements.iter().map(shown_element).collect::<Vec<_>>().join(", "),
        Some(number) if matches!(key.kind, Kind::Bytes { .. }) => {
            scalar_text(number).parse().map(byte_text).unwrap_or_default()
        }
        Some(scalar) => scalar_text(scalar),
    }
}

fn shown_element(element: &Value) -> String {
    let name = element.find_ref("domain").or_else(|| element.find_ref("name"));
    name.map_or_else(|| scalar_text(element), scalar_text)
}

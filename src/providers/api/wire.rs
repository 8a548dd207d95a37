//! URLs made from claims, values in responses, and their comparison with an expectation. Pure.

use serde_json::Value;
use url::Url;

use crate::config::Expectation;
use crate::language::numbers::quantities;
use crate::outbound::excerpt;
use crate::providers::Query;
use crate::providers::own::{Statement, shown};

#[derive(Debug, Clone)]
pub(super) struct Address {
    template: Statement,
}

impl Address {
    /// Parses and checks it; the error is for the operator.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let template = Statement::new(text)?;
        if let Some(other) = template.places().find(|name| !matches!(*name, "query" | "entity")) {
            return Err(format!("{{{other}}} is not known; use {{query}} and {{entity}}"));
        }
        let fixed = template.begins_with_text().unwrap_or_default();
        let is_host_fixed = fixed.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?']))
            || template.places().next().is_none();
        if !is_host_fixed {
            return Err("has a place in its host; places may stand in the path and the query".to_owned());
        }
        let filled = template.fill(|_| Some("x".to_owned())).unwrap_or_default();
        let url = Url::parse(&filled).map_err(|error| format!("is not a URL ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("is neither http nor https".to_owned());
        }
        let secret = url.query_pairs().find(|(name, _)| is_secret_name(name));
        if !url.username().is_empty() || url.password().is_some() || secret.is_some() {
            return Err("holds a key: addresses are stored and shown; send it by key_header".to_owned());
        }
        if url.fragment().is_some() {
            return Err("holds a fragment, which is never sent".to_owned());
        }
        Ok(Self { template })
    }

    /// Returns the URL for a claim; `None` if a value is missing.
    pub(super) fn of(&self, query: &Query) -> Option<Url> {
        let filled = self.template.fill(|name| {
            let text = if name == "query" { query.text.as_str() } else { query.terms.first()?.as_str() };
            encoded(text)
        })?;
        Url::parse(&filled).ok()
    }

    pub(super) fn has_places(&self) -> bool {
        self.template.places().next().is_some()
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    ["key", "token", "secret", "password", "auth", "signature"].iter().any(|word| name.contains(word))
}

/// Percent-encodes the text as one path segment or query value. Only dots are refused, because they would change the
/// path.
fn encoded(text: &str) -> Option<String> {
    let text = text.trim();
    if text.chars().all(|character| character == '.') {
        return None;
    }
    let mut out = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => {
                out.push('%');
                out.extend([other >> 4, other & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])));
            }
        }
    }
    Some(out)
}

/// The JSON Pointer of a value (RFC 6901): `/a/b/0`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonPointer(String);

impl JsonPointer {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.starts_with('/') {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("{text:?} is no JSON Pointer; write it like /a/b/0"))
        }
    }

    /// Returns the value; `null` counts as missing.
    pub(super) fn in_answer<'a>(&self, answer: &'a Value) -> Option<&'a Value> {
        answer.pointer(&self.0).filter(|value| !value.is_null())
    }

    pub(super) fn is_in_a_list(&self) -> bool {
        self.first().is_some_and(|first| first.parse::<usize>().is_ok())
    }

    pub(super) fn parent_in(&self, answer: &Value) -> bool {
        let parent = self.0.rsplit_once('/').map_or("", |(parent, _)| parent);
        answer.pointer(parent).is_some_and(|value| value.is_object() || value.is_array())
    }

    fn first(&self) -> Option<&str> {
        self.0.split('/').nth(1)
    }

    pub(super) fn last(&self) -> &str {
        self.0.rsplit('/').find(|name| name.parse::<usize>().is_err()).unwrap_or("value")
    }
}

/// Returns the failure that a response with status 200 reports under `error` or `errors`, unless the operator chose
/// that field as the path.
pub(super) fn refusal(answer: &Value, path: &JsonPointer) -> Option<String> {
    ["error", "errors"].into_iter().filter(|name| path.first() != Some(name)).find_map(|name| {
        let value = answer.get(name)?;
        let is_failure = match value {
            Value::Null | Value::Bool(false) => false,
            Value::Bool(true) => true,
            Value::Number(code) => code.as_f64() != Some(0.0),
            Value::String(text) => !text.trim().is_empty(),
            Value::Array(several) => !several.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
        };
        is_failure.then(|| format!("it answers with {name}: {}", excerpt(&value.to_string())))
    })
}

/// An expectation of the value.
#[derive(Debug, Clone)]
pub(super) struct Comparison {
    how: Expectation,
    /// `None` for `exists`.
    with: Option<Operand>,
}

#[derive(Debug, Clone)]
enum Operand {
    Text(String),
    /// The claim's first number.
    ClaimNumber,
}

impl Comparison {
    /// Parses and checks it; the error is for the operator.
    pub(super) fn new(how: Expectation, with: Option<&str>) -> Result<Self, String> {
        let with = match (how, with.map(str::trim)) {
            (Expectation::Exists, None) => None,
            (Expectation::Exists, Some(_)) => return Err("exists takes no value; take it out".to_owned()),
            (_, None | Some("")) => return Err(format!("{how} needs a value: a text, a number or {{number}}")),
            (_, Some("{number}")) => Some(Operand::ClaimNumber),
            (Expectation::Greater | Expectation::Less, Some(text)) if number(text).is_none() => {
                return Err(format!("{how} needs a number, and {text:?} is none"));
            }
            (_, Some(text)) => Some(Operand::Text(text.to_owned())),
        };
        Ok(Self { how, with })
    }

    /// Returns a sentence on whether the value is as expected; `None` if they cannot be compared.
    pub(super) fn describe(&self, value: &Value, query: &Query) -> Option<String> {
        let found = shown(value)?;
        let wanted = match self.with.as_ref()? {
            Operand::Text(text) => text.clone(),
            Operand::ClaimNumber => quantities(&query.text, query.language.as_deref()).first()?.low.to_string(),
        };
        let numbers = || Some((number(&found)?, number(&wanted)?));
        let same = |text: &str| match (number(text), number(&wanted)) {
            (Some(a), Some(b)) => (a - b).abs() <= f64::EPSILON * a.abs().max(b.abs()),
            _ => text.to_lowercase() == wanted.to_lowercase(),
        };
        let is_equal = match value {
            Value::Array(elements) => elements.iter().filter_map(shown).any(|element| same(&element)),
            _ => same(&found),
        };
        let (holds, words, denied) = match self.how {
            Expectation::Equals => (is_equal, "is equal to", "is not equal to"),
            Expectation::Greater => (numbers().map(|(a, b)| a > b)?, "is greater than", "is not greater than"),
            Expectation::Less => (numbers().map(|(a, b)| a < b)?, "is less than", "is not less than"),
            Expectation::Contains => {
                let is_within = found.to_lowercase().contains(&wanted.to_lowercase());
                (is_equal || is_within, "contains", "does not contain")
            }
            Expectation::Exists => return None,
        };
        Some(format!("{found} {} {wanted}.", if holds { words } else { denied }))
    }

    /// Whether a missing value is reported as a result.
    pub(super) fn asks_for_existence(&self) -> bool {
        self.how == Expectation::Exists
    }
}

/// Parses a number with separators or a percent sign.
fn number(text: &str) -> Option<f64> {
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | ' ' | '\u{a0}' | '\u{202f}' | '%')).collect();
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}

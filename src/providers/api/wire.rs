//! URLs made from claims, values in responses, and their comparison with an expectation. Pure.

use regex::Regex;
use serde_json::Value;
use url::Url;

use super::super::statement::Statement;
use super::super::wire::one_line;
use crate::config::Expectation;
use crate::language::numbers::quantities;
use crate::outbound::excerpt;
use crate::providers::Query;

const LONGEST_VALUE: usize = 500;
const MOST_ELEMENTS: usize = 20;

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

/// The path of a value: a JSON Pointer (`/a/b/0`), or names and positions (`a.b[0]`, `$.a.b[0]`).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonPath(String);

impl JsonPath {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.starts_with('/') {
            return Ok(Self(text.to_owned()));
        }
        let wrong = || format!("{text:?} is no path; write /a/b/0 or a.b[0]");
        let mut pointer = String::new();
        let path = text.strip_prefix('$').map_or(text, |rest| rest.strip_prefix('.').unwrap_or(rest));
        for part in path.split('.').filter(|_| !path.is_empty()) {
            let (name, mut positions) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() && (positions.is_empty() || !pointer.is_empty()) {
                return Err(wrong());
            }
            if !name.is_empty() {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            while let Some((position, rest)) = positions.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                let position: usize = position.parse().map_err(|_no_number| wrong())?;
                pointer.push('/');
                pointer.push_str(&position.to_string());
                positions = rest;
            }
            if !positions.is_empty() {
                return Err(wrong());
            }
        }
        Ok(Self(pointer))
    }

    /// Returns the value; `null` counts as missing.
    pub(super) fn in_answer<'a>(&self, answer: &'a Value) -> Option<&'a Value> {
        answer.pointer(&self.0).filter(|value| !value.is_null())
    }

    pub(super) fn is_in_a_list(&self) -> bool {
        self.0.split('/').nth(1).is_some_and(|first| first.parse::<usize>().is_ok())
    }

    pub(super) fn parent_in(&self, answer: &Value) -> bool {
        let parent = self.0.rsplit_once('/').map_or("", |(parent, _)| parent);
        answer.pointer(parent).is_some_and(|value| value.is_object() || value.is_array())
    }

    fn begins_with(&self, name: &str) -> bool {
        self.0.strip_prefix('/').and_then(|path| path.split('/').next()) == Some(name)
    }

    pub(super) fn last(&self) -> &str {
        self.0.rsplit('/').find(|name| name.parse::<usize>().is_err()).unwrap_or("value")
    }
}

/// Returns the failure that a response with status 200 reports under `error` or `errors`, unless the operator chose
/// that field as the path.
pub(super) fn refusal(answer: &Value, path: &JsonPath) -> Option<String> {
    ["error", "errors"].into_iter().filter(|name| !path.begins_with(name)).find_map(|name| {
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

/// Returns a value as text for a sentence; `None` for an object.
pub(super) fn shown(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => one_line(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(elements) => {
            let shown: Vec<String> = elements.iter().take(MOST_ELEMENTS).filter_map(shown).collect();
            shown.join(", ")
        }
        Value::Null | Value::Object(_) => return None,
    };
    let text: String = text.chars().take(LONGEST_VALUE).collect();
    (!text.is_empty()).then_some(text)
}

#[derive(Debug, Clone)]
pub(super) struct Comparison {
    how: Expectation,
    with: Operand,
}

#[derive(Debug, Clone)]
enum Operand {
    Nothing,
    Text(String),
    /// The claim's first number.
    Number,
    Pattern(Regex),
}

impl Comparison {
    /// Parses and checks it; the error is for the operator.
    pub(super) fn new(how: Expectation, with: Option<&str>) -> Result<Self, String> {
        let with = match (how, with.map(str::trim)) {
            (Expectation::Exists, None) => Operand::Nothing,
            (Expectation::Exists, Some(_)) => return Err("exists takes no value; take it out".to_owned()),
            (_, None | Some("")) => return Err(format!("{how} needs a value: a text, a number or {{number}}")),
            (Expectation::Matches, Some(pattern)) => {
                Operand::Pattern(Regex::new(pattern).map_err(|error| format!("is no regular expression ({error})"))?)
            }
            (_, Some("{number}")) => Operand::Number,
            (Expectation::Greater | Expectation::Less, Some(text)) if number(text).is_none() => {
                return Err(format!("{how} needs a number, and {text:?} is none"));
            }
            (_, Some(text)) => Operand::Text(text.to_owned()),
        };
        Ok(Self { how, with })
    }

    /// Returns a sentence on whether the value is as expected; `None` if they cannot be compared.
    pub(super) fn describe(&self, value: &Value, query: &Query) -> Option<String> {
        let found = shown(value)?;
        let (wanted, pattern) = match &self.with {
            Operand::Nothing => return None,
            Operand::Text(text) => (text.clone(), None),
            Operand::Number => {
                let quantities = quantities(&query.text, query.language.as_deref());
                (quantities.first()?.low.to_string(), None)
            }
            Operand::Pattern(pattern) => (pattern.as_str().to_owned(), Some(pattern)),
        };
        let numbers = || Some((number(&found)?, number(&wanted)?));
        let same = |text: &str| match (number(text), number(&wanted)) {
            (Some(a), Some(b)) => (a - b).abs() <= f64::EPSILON * a.abs().max(b.abs()),
            _ => text.to_lowercase() == wanted.to_lowercase(),
        };
        let among = |value: &Value| match value {
            Value::Array(elements) => elements.iter().filter_map(shown).any(|element| same(&element)),
            _ => same(&found),
        };
        let (holds, words, denied) = match self.how {
            Expectation::Equals => (among(value), "is equal to", "is not equal to"),
            Expectation::NotEquals => (!among(value), "is not equal to", "is equal to"),
            Expectation::Greater => (numbers().map(|(a, b)| a > b)?, "is greater than", "is not greater than"),
            Expectation::Less => (numbers().map(|(a, b)| a < b)?, "is less than", "is not less than"),
            Expectation::Contains => {
                let within = found.to_lowercase().contains(&wanted.to_lowercase());
                (among(value) || within, "contains", "does not contain")
            }
            Expectation::Matches => (pattern?.is_match(&found), "matches", "does not match"),
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

//! Reads single values and simple lists, and checks their ranges.
//!
//! Every fault names its fix.

use std::net::SocketAddr;
use std::time::Duration;

use figment::value::{Dict, Value};
use url::Url;

use super::kind::{Bare, Fault, Kind, SecretKind, fault};
use crate::domain::{rules::normalize_domain, secret_names::holds_key, verdict::SourceType};

impl Kind {
    /// Reads a file value that is no list of tables.
    pub(super) fn read_plain_value(self, value: &Value) -> Result<Value, Fault> {
        match (self.is_list(), value) {
            (true, Value::Array(_, elements)) => self.read_list(elements),
            (false, Value::Array(..)) => fault("one value is expected, not a list", "leave the brackets out"),
            (_, Value::Dict(..)) => fault("one value is expected, not a table", "write a single value"),
            (_, other) => self.read_plain_text(&scalar_text(other)),
        }
    }

    /// Reads an environment value that is no list of tables. Lists are separated by commas.
    pub(super) fn read_plain_text(self, text: &str) -> Result<Value, Fault> {
        let text = trimmed(text)?;
        if self.is_list() {
            let elements: Vec<Value> =
                text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect();
            return self.read_list(&elements);
        }
        self.read_scalar(text)
    }

    fn read_scalar(self, text: &str) -> Result<Value, Fault> {
        match self {
            Self::Flag => flag(text).map(Value::from),
            Self::Integer { min, max } => integer(text, min, max).map(Value::from),
            Self::Number { min, max } => number(text, min, max).map(Value::from),
            Self::Duration { min, max, bare } => duration(text, min, max, bare).map(Value::from),
            Self::Bytes { min, max } => bytes(text, min, max).map(Value::from),
            Self::Word(words) => word(text, words).map(Value::from),
            Self::Text => line(text, |c| !c.is_control(), 1000, "one line of text").map(Value::from),
            Self::Header => line(text, |c| matches!(c, ' '..='~'), 1000, "printable ASCII").map(Value::from),
            Self::Name => name(text).map(Value::from),
            Self::Url => base_url(text).map(Value::from),
            Self::Address => address(text).map(Value::from),
            Self::Path => line(text, |c| c != '\0', 4096, "a path").map(Value::from),
            Self::LogFilter => log_filter(text).map(Value::from),
            Self::Secret(kind) => secret(text, kind).map(Value::from),
            Self::Slug => slug(text).map(Value::from),
            Self::Lines => line(text, |c| !c.is_control() || c.is_whitespace(), 20_000, "text").map(Value::from),
            Self::Durations { .. }
            | Self::Words(_)
            | Self::Texts
            | Self::Domains
            | Self::Origins
            | Self::PageUrls
            | Self::Ports
            | Self::Tables(_) => self.read_list(&[Value::from(text)]),
        }
    }

    fn read_list(self, elements: &[Value]) -> Result<Value, Fault> {
        let mut read = Vec::with_capacity(elements.len());
        for element in elements {
            read.push(match (self, element) {
                (Self::Domains, _) => domain(element)?,
                (_, Value::Dict(..) | Value::Array(..)) => {
                    return fault("a list of plain values is expected", "unnest it");
                }
                (Self::Words(words), _) => Value::from(word(&scalar_text(element), words)?),
                (Self::Origins, _) => Value::from(origin(&scalar_text(element))?),
                (Self::Ports, _) => Value::from(integer(&scalar_text(element), 1, 65_535)?),
                (Self::PageUrls, _) => Value::from(page_url(&scalar_text(element))?),
                (Self::Durations { max }, _) => {
                    Value::from(duration(&scalar_text(element), Duration::from_millis(1), max, None)?)
                }
                _ => Value::from(line(&scalar_text(element), |c| !c.is_control(), 1000, "one line of text")?),
            });
        }
        self.check_list(&read)?;
        Ok(Value::from(read))
    }

    fn check_list(self, read: &[Value]) -> Result<(), Fault> {
        if let Self::Durations { .. } = self {
            let pauses: Vec<Duration> =
                read.iter().filter_map(|value| humantime::parse_duration(value.as_str()?).ok()).collect();
            if !pauses.is_sorted_by(|a, b| a < b) {
                return fault("each pause must be longer than the one before", "write them growing, like 5s,30s,2m");
            }
        }
        let names: Vec<String> = read.iter().map(element_name).collect();
        for (position, element) in names.iter().enumerate() {
            if names.iter().take(position).any(|earlier| earlier == element) {
                return fault(format!("{element} is in it twice"), "name each once");
            }
        }
        Ok(())
    }
}

/// Refuses replacement characters, which mark text that was not UTF-8.
pub(super) fn trimmed(text: &str) -> Result<&str, Fault> {
    if text.contains('\u{fffd}') { fault("is not UTF-8", "write it in UTF-8") } else { Ok(text.trim()) }
}

/// Returns the part of an element that must be unique.
fn element_name(value: &Value) -> String {
    value.find_ref("domain").map_or_else(|| scalar_text(value), scalar_text)
}

pub(super) fn scalar_text(value: &Value) -> String {
    match value {
        Value::String(_, text) => text.clone(),
        Value::Char(_, letter) => letter.to_string(),
        Value::Bool(_, flag) => flag.to_string(),
        Value::Num(..) => value
            .to_i128()
            .map(|number| number.to_string())
            .or_else(|| value.to_u128().map(|number| number.to_string()))
            .or_else(|| value.to_num().and_then(|number| number.to_f64()).map(|number| number.to_string()))
            .unwrap_or_default(),
        Value::Empty(..) | Value::Dict(..) | Value::Array(..) => String::new(),
    }
}

fn flag(text: &str) -> Result<bool, Fault> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => fault("is neither true nor false", "write true or false"),
    }
}

fn integer(text: &str, min: i64, max: i64) -> Result<i64, Fault> {
    let fix = format!("write a whole number from {min} to {max}");
    let Ok(number) = text.replace('_', "").parse::<i64>() else {
        return fault("is not a whole number", fix);
    };
    if number < min {
        return fault(format!("is less than {min}"), fix);
    }
    if number > max {
        return fault(format!("is more than {max}"), fix);
    }
    Ok(number)
}

fn number(text: &str, min: f64, max: f64) -> Result<f64, Fault> {
    let fix = format!("write a number from {min} to {max}, with a point");
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && (min..=max).contains(&number) => Ok(number),
        Ok(number) if number.is_finite() => fault(format!("is not within {min} and {max}"), fix),
        _ => fault("is not a number", fix),
    }
}

fn duration(text: &str, min: Duration, max: Duration, bare: Option<Bare>) -> Result<String, Fault> {
    let example = match bare {
        Some(Bare::Seconds) => "60 (seconds) or 1m",
        Some(Bare::Hours) => "48 (hours) or 2d",
        Some(Bare::Days) => "30 (days) or 720h",
        None => "500ms, 30s, 10m, 48h or 30d",
    };
    let fix = format!("write it like {example}");
    let bare_value = bare.and_then(|unit| text.parse::<u64>().ok()?.checked_mul(unit.seconds()));
    let Some(span) = bare_value.map(Duration::from_secs).or_else(|| humantime::parse_duration(text).ok()) else {
        let without_unit = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        return fault(if without_unit { "has no unit" } else { "is not a duration" }, fix);
    };
    if span < min {
        return fault(format!("is less than {}", humantime::format_duration(min)), fix);
    }
    if span > max {
        return fault(format!("is more than {}", humantime::format_duration(max)), fix);
    }
    Ok(plain_duration(span))
}

/// Uses the largest unit that divides the span: `30d` is clearer than months and days.
fn plain_duration(span: Duration) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let millis = span.as_millis();
    if millis == 0 || !span.subsec_nanos().is_multiple_of(1_000_000) {
        return humantime::format_duration(span).to_string();
    }
    units
        .iter()
        .find(|(unit, _)| millis.is_multiple_of(*unit))
        .map_or_else(|| humantime::format_duration(span).to_string(), |(unit, name)| format!("{}{name}", millis / unit))
}

fn bytes(text: &str, min: u64, max: u64) -> Result<u64, Fault> {
    let fix = format!("write a size from {} to {}, like 65536, 512KiB or 3MiB", byte_text(min), byte_text(max));
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1024,
        "kb" => 1000,
        "m" | "mib" => 1024 * 1024,
        "mb" => 1_000_000,
        "g" | "gib" => 1024 * 1024 * 1024,
        "gb" => 1_000_000_000,
        _ => return fault("is not a size", fix),
    };
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)) {
        Some(size) if (min..=max).contains(&size) => Ok(size),
        Some(size) if size < min => fault(format!("is less than {}", byte_text(min)), fix),
        Some(_) => fault(format!("is more than {}", byte_text(max)), fix),
        None => fault("is not a size", fix),
    }
}

/// Uses the largest unit that divides the size.
pub(super) fn byte_text(size: u64) -> String {
    let units = [(1024 * 1024 * 1024, "GiB"), (1024 * 1024, "MiB"), (1024, "KiB")];
    units
        .iter()
        .find(|(unit, _)| size > 0 && size.is_multiple_of(*unit))
        .map_or_else(|| size.to_string(), |(unit, name)| format!("{}{name}", size / unit))
}

fn word(text: &str, words: &[&'static str]) -> Result<&'static str, Fault> {
    let wanted = text.trim().to_lowercase();
    match words.iter().find(|known| **known == wanted) {
        Some(known) => Ok(known),
        None if words.len() == 1 => fault("is not known", format!("write {}", words.join(""))),
        None => fault(format!("{wanted:?} is not known"), format!("choose from {}", words.join(", "))),
    }
}

fn line(text: &str, fits: impl Fn(char) -> bool, longest: usize, what: &str) -> Result<String, Fault> {
    let text = text.trim();
    if text.is_empty() {
        return fault("is empty", format!("write {what}, or leave the key out"));
    }
    if text.chars().count() > longest {
        return fault(format!("is longer than {longest} characters"), format!("write {what}"));
    }
    if !text.chars().all(fits) {
        return fault(format!("is not {what}"), format!("write {what}"));
    }
    Ok(text.to_owned())
}

/// Limits the length: AMQP short strings have at most 255 bytes, and the daemon appends `.retry.<delay>` to queue
/// names.
fn name(text: &str) -> Result<String, Fault> {
    let fix = "write a name like enrichment_queue, without spaces";
    if text.starts_with("amq.") {
        return fault("begins with amq., which the broker keeps for itself", fix);
    }
    if text.is_empty() || text.len() > 200 || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return fault("is not a name of at most 200 bytes without spaces", fix);
    }
    Ok(text.to_owned())
}

fn base_url(text: &str) -> Result<String, Fault> {
    let fix = "write an origin with an optional prefix, like https://api.example.org/prefix";
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return fault(format!("is not a URL ({error})"), fix),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return fault("is neither http nor https", fix);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return fault("holds a user name or password", "leave them out; keys have settings of their own");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return fault("holds a query or fragment", fix);
    }
    Ok(url.to_string())
}

/// Accepts also browser extensions, which have their own schemes.
fn origin(text: &str) -> Result<String, Fault> {
    let is_extension = |url: &Url| matches!(url.scheme(), "chrome-extension" | "moz-extension") && url.has_host();
    match Url::parse(text) {
        Ok(url) if is_extension(&url) => Ok(url.to_string()),
        _ => base_url(text),
    }
}

fn page_url(text: &str) -> Result<String, Fault> {
    let fix = "write whole addresses, like https://example.org/rss.xml";
    match Url::parse(text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => fault("is neither http nor https", fix),
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            fault("holds a user name or password", "leave them out: addresses are stored and shown")
        }
        Ok(url) if holds_key(&url) => fault("holds a key or token", "leave it out: addresses are stored and shown"),
        Ok(url) => Ok(url.to_string()),
        Err(error) => fault(format!("holds {text:?}, which is not a URL ({error})"), fix),
    }
}

fn slug(text: &str) -> Result<String, Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > 60 || !text.chars().all(fits) {
        return fault("is not a short name", "write 1 to 60 of a-z, 0-9, - and _");
    }
    Ok(text.to_ascii_lowercase())
}

fn address(text: &str) -> Result<String, Fault> {
    let numeric = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    match numeric.parse::<SocketAddr>() {
        Ok(address) => Ok(address.to_string()),
        Err(_not_an_address) => fault("is not an address and port", "write it like 127.0.0.1:8080 or [::1]:8080"),
    }
}

fn log_filter(text: &str) -> Result<String, Fault> {
    match tracing_subscriber::EnvFilter::builder().parse(text) {
        Ok(_filter) => Ok(text.to_owned()),
        Err(error) => fault(format!("is not a log filter ({error})"), "write it like info or info,corroborate=debug"),
    }
}

/// Checks a secret. No message contains a part of it.
fn secret(text: &str, kind: SecretKind) -> Result<String, Fault> {
    if text.is_empty() {
        return fault("is empty", "write the value, or leave the variable out");
    }
    let (schemes, example): (&[&str], &str) = match kind {
        SecretKind::Postgres => (&["postgres", "postgresql"], "postgres://user:password@host/database"),
        SecretKind::Amqp => (&["amqp", "amqps"], "amqp://user:password@host/%2f"),
        SecretKind::Header => {
            return if text.chars().all(|c| c.is_ascii_graphic()) {
                Ok(text.to_owned())
            } else {
                fault("holds spaces or characters outside ASCII", "copy the key alone, without quotes and line breaks")
            };
        }
    };
    let fix = format!("write it like {example}; percent-encode special characters of the password");
    match Url::parse(text) {
        Ok(url) if schemes.contains(&url.scheme()) => Ok(text.to_owned()),
        Ok(_other_scheme) => fault(format!("does not begin with {}://", schemes.join(":// or ")), fix),
        Err(error) => fault(format!("is not a URL ({error})"), fix),
    }
}

/// Reads a name, or a table with `domain` and its properties.
fn domain(value: &Value) -> Result<Value, Fault> {
    let mut entry = Dict::new();
    let name = match value {
        Value::Dict(_, table) => {
            for (field, given) in table {
                match field.as_str() {
                    "domain" => {}
                    "source_type" => {
                        let kind = SourceType::parse(&scalar_text(given));
                        let Some(kind) = kind else {
                            let known: Vec<&str> = SourceType::ALL.iter().map(|kind| kind.as_str()).collect();
                            return fault("the source_type is not known", format!("choose from {}", known.join(", ")));
                        };
                        entry.insert(field.clone(), Value::from(kind.as_str()));
                    }
                    "credibility" => {
                        entry.insert(field.clone(), Value::from(number(&scalar_text(given), 0.0, 1.0)?));
                    }
                    "why" => {
                        let why = line(&scalar_text(given), |c| !c.is_control(), 1000, "one line of text")?;
                        entry.insert(field.clone(), Value::from(why));
                    }
                    other => {
                        return fault(
                            format!("an entry holds {other}, which is not known"),
                            "an entry has domain, source_type, credibility and why",
                        );
                    }
                }
            }
            table.get("domain").map(scalar_text).unwrap_or_default()
        }
        other => scalar_text(other),
    };
    match normalize_domain(&name) {
        Ok(name) => {
            entry.insert("domain".to_owned(), Value::from(name));
            Ok(Value::from(entry))
        }
        Err(error) => fault(error.to_string(), "name domains without path"),
    }
}

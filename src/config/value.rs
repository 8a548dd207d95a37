//! Reads values and checks their ranges. Every fault names its fix.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use url::Url;

use super::kind::{Bare, Fault, Kind, Shape, fault};
use super::problem::sounds_secret;
use crate::domain::{rules::normalize_domain, secret_names::holds_key};

impl Kind {
    /// Reads a value of a file, or the text of a variable: commas separate the elements of a list, and a list of tables is
    /// JSON.
    pub(super) fn read(&self, value: &Json) -> Result<Json, Vec<Fault>> {
        match self {
            Self::Tables(shape) => read_tables(shape, value),
            _ => self.read_plain(value).map_err(|fault| vec![fault]),
        }
    }

    fn read_plain(&self, value: &Json) -> Result<Json, Fault> {
        match (self, value) {
            (Self::List(kind), Json::Array(elements)) => read_list(kind, elements),
            (Self::Entry(shape), _) => read_entry(shape, value),
            (_, Json::Array(_)) => fault("one value is expected, not a list", "leave the brackets out"),
            (_, Json::Object(_)) => fault("one value is expected, not a table", "write a single value"),
            (Self::List(kind), scalar) => {
                let text = scalar_text(scalar);
                let parts = trimmed(&text)?.split(',').map(str::trim).filter(|part| !part.is_empty());
                read_list(kind, &parts.map(Json::from).collect::<Vec<_>>())
            }
            (_, scalar) => self.read_scalar(trimmed(&scalar_text(scalar))?),
        }
    }

    fn read_scalar(&self, text: &str) -> Result<Json, Fault> {
        match self {
            Self::Flag => flag(text).map(Json::from),
            Self::Integer { min, max } => integer(text, *min, *max).map(Json::from),
            Self::Number { min, max } => number(text, *min, *max).map(Json::from),
            Self::Duration { min, max, bare } => duration(text, *min, *max, *bare).map(|span| json!(span)),
            Self::Bytes { min, max } => bytes(text, *min, *max).map(Json::from),
            Self::Word(words) => word(text, words).map(Json::from),
            Self::Text { read, .. } => read(text).map(Json::from),
            Self::Secret { schemes } => secret(text, schemes).map(Json::from),
            Self::Table(_) | Self::Tables(_) | Self::List(_) | Self::Entry(_) => {
                fault("is no single value", "write it as a list")
            }
        }
    }
}

fn read_list(kind: &Kind, elements: &[Json]) -> Result<Json, Fault> {
    let mut read: Vec<Json> = Vec::with_capacity(elements.len());
    for element in elements {
        let is_plain = matches!(kind, Kind::Entry(_)) || !(element.is_object() || element.is_array());
        if !is_plain {
            return fault("a list of plain values is expected", "unnest it");
        }
        read.push(kind.read_plain(element)?);
    }
    let name = |value: &Json| value.get("domain").map_or_else(|| scalar_text(&kind.written(value)), scalar_text);
    let names: Vec<String> = read.iter().map(name).collect();
    for (position, name) in names.iter().enumerate() {
        if names.iter().take(position).any(|earlier| earlier == name) {
            return fault(format!("{name} is in it twice"), "name each once");
        }
    }
    if matches!(kind, Kind::Duration { .. }) {
        let pauses: Vec<Duration> = serde_json::from_value(Json::from(read.clone())).unwrap_or_default();
        if !pauses.is_sorted_by(|a, b| a < b) {
            return fault("each pause must be longer than the one before", "write them growing, like 5s,30s,2m");
        }
    }
    Ok(Json::from(read))
}

fn read_tables(shape: &Shape, given: &Json) -> Result<Json, Vec<Fault>> {
    let given = match given {
        Json::String(text) => from_json(text).map_err(|fault| vec![fault])?,
        other => other.clone(),
    };
    let Json::Array(elements) = given else {
        let fix = "write each as a table of its own, with its line in double brackets: [[…]]";
        return fault(format!("is not a list of {}s", shape.what), fix).map_err(|fault| vec![fault]);
    };
    let (mut tables, mut faults) = (Vec::with_capacity(elements.len()), Vec::new());
    let mut names: Vec<String> = Vec::new();
    for (position, element) in elements.iter().enumerate() {
        let mut add = |field: &str, value: Option<String>, what: String, fix: String| {
            let dot = if field.is_empty() { "" } else { "." };
            faults.push(Fault { place: format!("[{position}]{dot}{field}"), value, what, fix });
        };
        let Json::Object(table) = element else {
            add("", None, "is not a table".to_owned(), format!("give it {}", shape.names()));
            continue;
        };
        let read = read_table(shape, table, &mut add);
        if let Some(name) = read.get("name").map(scalar_text) {
            // `a-b` and `a_b` would share a variable.
            let key = name.replace('-', "_");
            if names.contains(&key) {
                let what = format!("is the name of another {} too", shape.what);
                add("name", Some(name), what, "give each a name of its own".to_owned());
            }
            names.push(key);
        }
        tables.push(Json::from(read));
    }
    if faults.is_empty() { Ok(Json::from(tables)) } else { Err(faults) }
}

/// Takes a field, its value unless it may be secret, what is wrong with it, and what to do.
type Refuse<'a> = dyn FnMut(&str, Option<String>, String, String) + 'a;

/// Reads a table, or only its first field. Several faults become one.
fn read_entry(shape: &Shape, value: &Json) -> Result<Json, Fault> {
    let table = match (value, shape.fields.first()) {
        (Json::Object(table), _) => table.clone(),
        (_, Some((name, kind))) => Map::from_iter([((*name).to_owned(), kind.read_plain(value)?)]),
        (_, None) => Map::new(),
    };
    let (mut whats, mut fix) = (Vec::new(), None);
    let read = read_table(shape, &table, &mut |field, _, what, advice| {
        whats.push(format!("{field} {what}"));
        fix.get_or_insert(advice);
    });
    match fix {
        None => Ok(Json::from(read)),
        Some(fix) => fault(format!("{} of it: {}", shape.what, whats.join("; ")), fix),
    }
}

fn read_table(shape: &Shape, table: &Map<String, Json>, add: &mut Refuse<'_>) -> Map<String, Json> {
    let mut read = Map::new();
    for (name, value) in table {
        let shown = (!value.is_object() && !value.is_array() && !sounds_secret(name)).then(|| scalar_text(value));
        match shape.field(name) {
            Some(kind) if kind.is_secret() => {
                let env = shape.secret_env(&table.get("name").map(scalar_text).unwrap_or_default(), name);
                let fix = format!("take it out; set {env}, or {env}_FILE with the path of a file that holds it");
                add(name, None, "is a secret, and secrets stay out of this list".to_owned(), fix);
            }
            Some(kind) => match kind.read_plain(value) {
                Ok(value) => {
                    read.insert(name.clone(), value);
                }
                Err(fault) => add(name, shown, fault.what, fault.fix),
            },
            None => {
                let fix = format!("one {} has {}", shape.what, shape.names());
                add(name, shown, "is not a known key".to_owned(), fix);
            }
        }
    }
    for field in shape.required.iter().filter(|field| !table.contains_key(**field)) {
        add(field, None, "is missing".to_owned(), format!("one {} needs {}", shape.what, shape.required.join(", ")));
    }
    read
}

fn from_json(text: &str) -> Result<Json, Fault> {
    // The parser's message quotes only single characters.
    serde_json::from_str(trimmed(text)?).or_else(|error| {
        fault(format!("is not JSON ({error})"), "write a JSON array of objects, or use a configuration file")
    })
}

/// Refuses replacement characters, which mark text that was not UTF-8.
fn trimmed(text: &str) -> Result<&str, Fault> {
    if text.contains('\u{fffd}') { fault("is not UTF-8", "write it in UTF-8") } else { Ok(text.trim()) }
}

pub(super) fn scalar_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::Null | Json::Object(_) | Json::Array(_) => String::new(),
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

fn duration(text: &str, min: Duration, max: Duration, bare: Option<Bare>) -> Result<Duration, Fault> {
    let (seconds, example) = match bare {
        Some(Bare::Seconds) => (Some(1), "60 (seconds) or 1m"),
        Some(Bare::Hours) => (Some(3600), "48 (hours) or 2d"),
        Some(Bare::Days) => (Some(86_400), "30 (days) or 720h"),
        None => (None, "500ms, 30s, 10m, 48h or 30d"),
    };
    let fix = format!("write it like {example}");
    let bare_value = seconds.and_then(|seconds| text.parse::<u64>().ok()?.checked_mul(seconds));
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
    Ok(span)
}

/// Uses the largest unit that divides the span: `30d` is clearer than months and days.
pub(super) fn duration_text(span: Duration) -> String {
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

pub(super) fn text(given: &str) -> Result<String, Fault> {
    line(given, |c| !c.is_control(), 1000, "one line of text")
}

pub(super) fn header(given: &str) -> Result<String, Fault> {
    line(given, |c| matches!(c, ' '..='~'), 1000, "printable ASCII")
}

pub(super) fn path(given: &str) -> Result<String, Fault> {
    line(given, |c| c != '\0', 4096, "a path")
}

pub(super) fn lines(given: &str) -> Result<String, Fault> {
    line(given, |c| !c.is_control() || c.is_whitespace(), 20_000, "text")
}

/// Limits the length: AMQP short strings have at most 255 bytes, and the daemon appends `.retry.<delay>` to queue
/// names.
pub(super) fn name(text: &str) -> Result<String, Fault> {
    let fix = "write a name like enrichment_queue, without spaces";
    if text.starts_with("amq.") {
        return fault("begins with amq., which the broker keeps for itself", fix);
    }
    if text.is_empty() || text.len() > 200 || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return fault("is not a name of at most 200 bytes without spaces", fix);
    }
    Ok(text.to_owned())
}

pub(super) fn base_url(text: &str) -> Result<String, Fault> {
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
pub(super) fn origin(text: &str) -> Result<String, Fault> {
    let is_extension = |url: &Url| matches!(url.scheme(), "chrome-extension" | "moz-extension") && url.has_host();
    match Url::parse(text) {
        Ok(url) if is_extension(&url) => Ok(url.to_string()),
        _ => base_url(text),
    }
}

pub(super) fn page_url(text: &str) -> Result<String, Fault> {
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

pub(super) fn slug(text: &str) -> Result<String, Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > 60 || !text.chars().all(fits) {
        return fault("is not a short name", "write 1 to 60 of a-z, 0-9, - and _");
    }
    Ok(text.to_ascii_lowercase())
}

pub(super) fn address(text: &str) -> Result<String, Fault> {
    let numeric = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    match numeric.parse::<SocketAddr>() {
        Ok(address) => Ok(address.to_string()),
        Err(_not_an_address) => fault("is not an address and port", "write it like 127.0.0.1:8080 or [::1]:8080"),
    }
}

pub(super) fn log_filter(text: &str) -> Result<String, Fault> {
    match tracing_subscriber::EnvFilter::builder().parse(text) {
        Ok(_filter) => Ok(text.to_owned()),
        Err(error) => fault(format!("is not a log filter ({error})"), "write it like info or info,corroborate=debug"),
    }
}

/// Checks a secret. No message contains a part of it.
fn secret(text: &str, schemes: &[&str]) -> Result<String, Fault> {
    if text.is_empty() {
        return fault("is empty", "write the value, or leave the variable out");
    }
    let Some(scheme) = schemes.first() else {
        return if text.chars().all(|c| c.is_ascii_graphic()) {
            Ok(text.to_owned())
        } else {
            fault("holds spaces or characters outside ASCII", "copy the key alone, without quotes and line breaks")
        };
    };
    let fix =
        format!("write it like {scheme}://user:password@host/name; percent-encode special characters of the password");
    match Url::parse(text) {
        Ok(url) if schemes.contains(&url.scheme()) => Ok(text.to_owned()),
        Ok(_other_scheme) => fault(format!("does not begin with {}://", schemes.join(":// or ")), fix),
        Err(error) => fault(format!("is not a URL ({error})"), fix),
    }
}

pub(super) fn domain(text: &str) -> Result<String, Fault> {
    normalize_domain(text).or_else(|error| fault(error.to_string(), "name domains without path"))
}

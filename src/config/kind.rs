//! The kinds of values, and the list of keys.
//!
//! [`table!`] defines a table with the type and the kind of each field. `config/default.toml` has everything else about a
//! key: its default, its variable and its help.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use figment::providers::{Format as _, Toml};
use serde_json::{Value as Json, json};

use super::load::find;
use super::settings::Config;
use super::value::{
    address, base_url, byte_text, domain, duration_text, header, lines, log_filter, name, origin, page_url, path, slug,
    text,
};

/// The reference manual and the lowest layer.
pub(super) const DEFAULT_TOML: &str = include_str!("../../config/default.toml");

/// A field and the kind of its value.
pub(super) type Fields = &'static [(&'static str, Kind)];

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A table of the file, such as `[fetch]`.
    Table(Fields),
    /// A list of tables, such as `[[webhooks.endpoints]]`.
    Tables(&'static Shape),
    /// Without repetition. Durations must increase.
    List(&'static Kind),
    Flag,
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// `30s`, `10m`, `48h`; stored as `serde` stores a [`Duration`].
    Duration {
        min: Duration,
        max: Duration,
        bare: Option<Bare>,
    },
    /// `65536`, `512KiB`, `3MiB`; stored as an integer.
    Bytes {
        min: u64,
        max: u64,
    },
    Word(&'static [&'static str]),
    /// A table of a list, or only its first field as a text; stored as a table.
    Entry(&'static Shape),
    /// A text. The format is a word for people and for the JSON Schema.
    Text {
        format: &'static str,
        read: fn(&str) -> Result<String, Fault>,
    },
    /// Visible ASCII or, with schemes, a URL. Messages never contain the value.
    Secret {
        schemes: &'static [&'static str],
    },
}

/// The unit of a duration that is written without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    Seconds,
    Hours,
    Days,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Such as `[0].keywords` in a list of tables, otherwise empty.
    pub place: String,
    /// The rejected value of that place, unless it may be secret.
    pub value: Option<String>,
    pub what: String,
    pub fix: String,
}

pub(super) fn fault<T>(what: impl Into<String>, fix: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { place: String::new(), value: None, what: what.into(), fix: fix.into() })
}

/// The tables of a list. A field `name` is required and unique.
#[derive(Debug)]
pub struct Shape {
    /// The noun for messages, such as `endpoint`.
    pub what: &'static str,
    /// Prefix of the secret variables: `<PREFIX>_<NAME>_<FIELD>`.
    pub secret_prefix: &'static str,
    pub fields: Fields,
    pub required: &'static [&'static str],
}

impl Shape {
    pub fn secret_env(&self, table: &str, field: &str) -> String {
        format!("{}_{table}_{field}", self.secret_prefix).replace('-', "_").to_uppercase()
    }

    pub(super) fn field(&self, name: &str) -> Option<&'static Kind> {
        self.fields.iter().find_map(|(field, kind)| (*field == name).then_some(kind))
    }

    pub(super) fn secrets(&self) -> impl Iterator<Item = (&'static str, &'static Kind)> {
        self.fields.iter().filter(|(_, kind)| kind.is_secret()).map(|(name, kind)| (*name, kind))
    }

    pub(super) fn names(&self) -> String {
        let shown = self.fields.iter().filter(|(_, kind)| !kind.is_secret()).map(|(name, _)| *name);
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl Kind {
    pub const fn is_secret(&self) -> bool {
        matches!(self, Self::Secret { .. })
    }

    pub const fn is_list(&self) -> bool {
        matches!(self, Self::List(_) | Self::Tables(_))
    }

    /// Returns the value as a person writes it.
    pub(super) fn written(&self, value: &Json) -> Json {
        match (self, value) {
            (Self::List(kind), Json::Array(elements)) => elements.iter().map(|one| kind.written(one)).collect(),
            (Self::Duration { .. }, Json::Object(_)) => {
                let span = serde_json::from_value(value.clone()).unwrap_or_default();
                json!(duration_text(span))
            }
            (Self::Bytes { .. }, Json::Number(size)) => json!(byte_text(size.as_u64().unwrap_or_default())),
            _ => value.clone(),
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);
pub(super) const KIB: u64 = 1024;
pub(super) const MIB: u64 = 1024 * KIB;

/// A probability, similarity or weight.
pub(super) const UNIT: Kind = Kind::Number { min: 0.0, max: 1.0 };
/// US dollars.
pub(super) const MONEY: Kind = Kind::Number { min: 0.0, max: 1e9 };
pub(super) const CALL: Kind = span(Duration::from_millis(10), Duration::from_mins(10));
pub(super) const CALL_SECONDS: Kind =
    Kind::Duration { min: Duration::from_millis(10), max: Duration::from_mins(10), bare: Some(Bare::Seconds) };
pub(super) const SPAN: Kind = span(SECOND, Duration::from_hours(100 * 365 * 24));
pub(super) const PAUSE: Kind = span(Duration::from_millis(10), Duration::from_hours(31 * 24));
/// Increasing pauses.
pub(super) const PAUSES: Kind = Kind::List(&span(Duration::from_millis(1), DAY));
/// Requests per minute. 0 would stop a provider silently.
pub(super) const RPM: Kind = count(1, 1_000_000);
pub(super) const ANSWER: Kind = Kind::Bytes { min: KIB, max: 256 * MIB };

pub(super) const TEXT: Kind = Kind::Text { format: "text", read: text };
pub(super) const TEXTS: Kind = Kind::List(&TEXT);
pub(super) const HEADER: Kind = Kind::Text { format: "ASCII", read: header };
pub(super) const LINES: Kind = Kind::Text { format: "lines", read: lines };
/// Of a queue, exchange, binding or model.
pub(super) const NAME: Kind = Kind::Text { format: "name", read: name };
pub(super) const SLUG: Kind = Kind::Text { format: "slug", read: slug };
pub(super) const FILE: Kind = Kind::Text { format: "path", read: path };
pub(super) const ADDRESS: Kind = Kind::Text { format: "address", read: address };
pub(super) const LOG_FILTER: Kind = Kind::Text { format: "filter", read: log_filter };
/// An http or https origin with an optional prefix.
pub(super) const URL: Kind = Kind::Text { format: "uri", read: base_url };
/// Origins of web pages and browser extensions.
pub(super) const ORIGINS: Kind = Kind::List(&Kind::Text { format: "uri", read: origin });
/// http or https addresses with queries.
pub(super) const PAGE_URLS: Kind = Kind::List(&Kind::Text { format: "uri", read: page_url });
pub(super) const DOMAIN: Kind = Kind::Text { format: "domain", read: domain };
pub(super) const PORTS: Kind = Kind::List(&count(1, 65_535));
pub(super) const KEY: Kind = Kind::Secret { schemes: &[] };
pub(super) const POSTGRES: Kind = Kind::Secret { schemes: &["postgres", "postgresql"] };

pub(super) const fn count(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max }
}

pub(super) const fn span(min: Duration, max: Duration) -> Kind {
    Kind::Duration { min, max, bare: None }
}

/// Defines a table of the configuration: the name, type and kind of each field.
macro_rules! table {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty = $kind:expr,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        impl $name {
            pub(super) const FIELDS: $crate::config::kind::Fields = &[$((stringify!($field), $kind),)*];
        }
    };
}

/// The words of an enumeration of `words!`, as a constant.
macro_rules! words_of {
    ($name:ident) => {{
        const WORDS: [&str; $name::ALL.len()] = {
            let mut words = [""; $name::ALL.len()];
            let mut place = 0;
            while place < words.len() {
                words[place] = $name::ALL[place].as_str();
                place += 1;
            }
            words
        };
        &WORDS
    }};
}

pub(super) use {table, words_of};

/// A setting.
#[derive(Debug)]
pub struct Key {
    /// Such as `fact_check.max_results`.
    pub path: String,
    env: String,
    pub kind: &'static Kind,
    /// The first sentence about it in `config/default.toml`.
    pub help: String,
    /// `None`: unset.
    pub(super) default: Option<Json>,
}

impl Key {
    pub fn env(&self) -> &str {
        &self.env
    }

    /// Secrets come from a variable or its `_FILE` file and are never shown.
    pub const fn is_secret(&self) -> bool {
        self.kind.is_secret()
    }
}

/// In the order of `config/default.toml`.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let defaults: Json = Toml::from_str(DEFAULT_TOML).expect("config/default.toml is TOML");
    let key = |(path, comment): (String, String)| {
        let kind =
            kind_at(Config::FIELDS, &path).unwrap_or_else(|| panic!("no table has {path} of config/default.toml"));
        let read = |value: &Json| kind.read(value).unwrap_or_else(|faults| panic!("default of {path}: {faults:?}"));
        let default = find(&defaults, &path).map(read);
        let (comment, env) = match comment.trim_end().strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
            Some((before, env)) if env.chars().all(|c| c.is_ascii_uppercase() || c == '_') => (before, env.to_owned()),
            _ => (comment.as_str(), format!("CORROBORATE_{}", path.replace('.', "_").to_uppercase())),
        };
        let comment = comment.strip_prefix("Secret. ").unwrap_or(comment).trim_end();
        let help = comment.split_once(". ").map_or(comment, |(first, _)| first).trim_end_matches(['.', ':']).to_owned();
        Key { path, env, kind, help, default }
    };
    documented().into_iter().map(key).collect()
});

pub(super) fn by_path(path: &str) -> Option<&'static Key> {
    static PLACES: LazyLock<BTreeMap<&str, &Key>> =
        LazyLock::new(|| KEYS.iter().map(|key| (key.path.as_str(), key)).collect());
    PLACES.get(path).copied()
}

fn kind_at(fields: Fields, path: &str) -> Option<&'static Kind> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let (_, kind) = fields.iter().find(|(name, _)| *name == first)?;
    match (kind, rest) {
        (Kind::Table(fields), Some(rest)) => kind_at(fields, rest),
        (Kind::Table(_), None) | (_, Some(_)) => None,
        (kind, None) => Some(kind),
    }
}

/// Returns each key of `config/default.toml` with the comment above it. `#key = …` is a key without a default.
fn documented() -> Vec<(String, String)> {
    let (mut found, mut table, mut comment) = (Vec::new(), "", String::new());
    for line in DEFAULT_TOML.lines() {
        let key = line.strip_prefix('#').unwrap_or(line).split_once(" = ").map(|(name, _)| name);
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = name;
            comment.clear();
        } else if let Some(name) = key.filter(|name| !name.is_empty() && !name.contains([' ', '{'])) {
            let path = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
            found.push((path, std::mem::take(&mut comment)));
        } else if let Some(text) = line.strip_prefix("# ").filter(|text| !text.starts_with(' ')) {
            comment.push_str(text);
            comment.push(' ');
        } else if line.trim_matches('#').is_empty() {
            comment.clear();
        }
    }
    found
}

//! The kinds of values and the shapes of tables.
//!
//! `value` and `tables` read them. A new kind needs a variant of [`Kind`] here and a reader there.

use std::time::Duration;

/// The unit of a duration that is written without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    Seconds,
    Hours,
    Days,
}

impl Bare {
    pub(super) const fn seconds(self) -> u64 {
        match self {
            Self::Seconds => 1,
            Self::Hours => 3600,
            Self::Days => 86_400,
        }
    }
}

/// Messages never contain the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// `postgres://…`
    Postgres,
    /// `amqp://…` or `amqps://…`
    Amqp,
    /// Visible ASCII.
    Header,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Flag,
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// `30s`, `10m`, `48h`; stored as a humantime string.
    Duration {
        min: Duration,
        max: Duration,
        bare: Option<Bare>,
    },
    /// Increasing durations.
    Durations {
        max: Duration,
    },
    /// `65536`, `512KiB`, `3MiB`; stored as an integer.
    Bytes {
        min: u64,
        max: u64,
    },
    Word(&'static [&'static str]),
    /// Without repetition; the order matters.
    Words(&'static [&'static str]),
    Texts,
    /// Domains as names or tables; stored as tables.
    Domains,
    Text,
    /// One line of printable ASCII.
    Header,
    /// Of a queue, exchange or binding.
    Name,
    /// An http or https origin with an optional prefix.
    Url,
    /// Origins of web pages and browser extensions.
    Origins,
    /// http or https addresses with queries.
    PageUrls,
    Ports,
    /// Letters, digits, `-` and `_`.
    Slug,
    Lines,
    Tables(&'static Shape),
    /// `127.0.0.1:8080`
    Address,
    Path,
    LogFilter,
    Secret(SecretKind),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub what: String,
    pub fix: String,
}

pub(super) fn fault<T>(what: impl Into<String>, fix: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { what: what.into(), fix: fix.into() })
}

impl Kind {
    pub const fn is_list(self) -> bool {
        matches!(
            self,
            Self::Durations { .. }
                | Self::Words(_)
                | Self::Texts
                | Self::Domains
                | Self::Origins
                | Self::PageUrls
                | Self::Ports
                | Self::Tables(_)
        )
    }
}

/// A field `name` is required and unique.
#[derive(Debug, PartialEq)]
pub struct Shape {
    /// The noun for messages, such as `endpoint`.
    pub what: &'static str,
    /// Prefix of the secret variables: `<PREFIX>_<NAME>_<FIELD>`.
    pub secret_prefix: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug, PartialEq)]
pub struct Field {
    pub name: &'static str,
    /// Never a list of tables.
    pub kind: Kind,
    pub required: bool,
    pub help: &'static str,
}

impl Field {
    pub(super) const fn required(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, required: true, help }
    }

    pub(super) const fn optional(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, required: false, help }
    }

    /// Secrets come from a variable or its `_FILE` file and are never shown.
    pub const fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret(_))
    }
}

impl Shape {
    pub fn secret_env(&self, table: &str, field: &Field) -> String {
        let letter = |c: char| if c == '-' { '_' } else { c.to_ascii_uppercase() };
        let name: String = table.chars().map(letter).collect();
        format!("{}_{name}_{}", self.secret_prefix, field.name.to_uppercase())
    }

    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.fields.iter().filter(|field| !field.is_secret()).map(|field| field.name).collect();
        names.join(", ")
    }
}

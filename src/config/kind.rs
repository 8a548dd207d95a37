//! What a key may hold: the kinds of values, and the tables of a list. `value` and `tables` read them.

use std::time::Duration;

/// The unit of a duration written as a bare number, where the name of the variable gives one.
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

/// What a secret has to look like. The value itself is never part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// `postgres://…`
    Postgres,
    /// `amqp://…` or `amqps://…`
    Amqp,
    /// A key or token that travels in a header: visible ASCII.
    Header,
}

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// `30s`, `10m`, `48h`; kept as a humantime string.
    Duration {
        min: Duration,
        max: Duration,
        bare: Option<Bare>,
    },
    /// A list of growing durations.
    Durations {
        max: Duration,
    },
    /// `65536`, `512KiB`, `3MiB`; kept as an integer.
    Bytes {
        min: u64,
        max: u64,
    },
    /// One of a closed set.
    Word(&'static [&'static str]),
    /// Several of a closed set, each once; the order counts.
    Words(&'static [&'static str]),
    /// A list of free texts.
    Texts,
    /// A list of domains, each a name or a table; kept as tables.
    Domains,
    /// One line of free text.
    Text,
    /// One line of printable ASCII.
    Header,
    /// A name of a queue, exchange or binding.
    Name,
    /// An http or https origin with an optional prefix.
    Url,
    /// A list of origins: of web pages, and of browser extensions.
    Origins,
    /// A list of http or https addresses of pages, queries included.
    PageUrls,
    /// A list of port numbers.
    Ports,
    /// A short name that goes into addresses and variables: letters, digits, `-` and `_`.
    Slug,
    /// Text of several lines.
    Lines,
    /// A list of tables, each with these fields.
    Tables(&'static Shape),
    /// `127.0.0.1:8080`
    Address,
    Path,
    /// Directives of `RUST_LOG`.
    LogFilter,
    Secret(SecretKind),
}

/// Why a value cannot be taken, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub what: String,
    pub mend: String,
}

pub(super) fn fault<T>(what: impl Into<String>, mend: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { what: what.into(), mend: mend.into() })
}

impl Kind {
    /// Whether the value is a list.
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

/// What every table of a list may hold. One field is called `name`, is required and is in no two tables.
#[derive(Debug, PartialEq)]
pub struct Shape {
    /// What one table is, for messages: `endpoint`.
    pub what: &'static str,
    /// Beginning of the variables that hold its secrets: `<PREFIX>_<NAME>_<FIELD>`.
    pub secret_prefix: &'static str,
    pub fields: &'static [Field],
}

/// One field of a table.
#[derive(Debug, PartialEq)]
pub struct Field {
    pub name: &'static str,
    /// Never a list of tables itself.
    pub kind: Kind,
    pub required: bool,
    /// What it is, in a line.
    pub help: &'static str,
}

impl Field {
    pub(super) const fn required(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, required: true, help }
    }

    pub(super) const fn optional(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, required: false, help }
    }

    /// Secrets come from the environment or a file it names, and are never shown.
    pub const fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret(_))
    }
}

impl Shape {
    /// The variable of a table's secret.
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

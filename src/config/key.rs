//! A setting, and the value ranges that settings share.

use std::borrow::Cow;
use std::time::Duration;

use super::kind::Kind;

#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Such as `fact_check.max_results`.
    pub path: &'static str,
    /// `None`: the name is built from the path.
    contract_env: Option<&'static str>,
    pub kind: Kind,
    /// `config/default.toml` gives the reason and the unit.
    pub help: &'static str,
}

impl Key {
    pub(super) const fn named(path: &'static str, env: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { path, contract_env: Some(env), kind, help }
    }

    pub(super) const fn own(path: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { path, contract_env: None, kind, help }
    }

    pub fn env(&self) -> Cow<'static, str> {
        self.contract_env.map_or_else(
            || Cow::Owned(format!("CORROBORATE_{}", self.path.replace('.', "_").to_uppercase())),
            Cow::Borrowed,
        )
    }

    /// Secrets come from a variable or its `_FILE` file and are never shown.
    pub const fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret(_))
    }
}

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const KIB: u64 = 1024;
pub(super) const MIB: u64 = 1024 * KIB;

/// A probability, similarity or weight.
pub(super) const UNIT: Kind = Kind::Number { min: 0.0, max: 1.0 };
/// US dollars.
pub(super) const MONEY: Kind = Kind::Number { min: 0.0, max: 1e9 };
pub(super) const CALL: Kind =
    Kind::Duration { min: Duration::from_millis(10), max: Duration::from_mins(10), bare: None };
pub(super) const SPAN: Kind = Kind::Duration { min: SECOND, max: Duration::from_hours(100 * 365 * 24), bare: None };
pub(super) const PAUSE: Kind =
    Kind::Duration { min: Duration::from_millis(10), max: Duration::from_hours(31 * 24), bare: None };
/// Requests per minute. 0 would stop a provider silently.
pub(super) const RPM: Kind = Kind::Integer { min: 1, max: 1_000_000 };
pub(super) const ANSWER: Kind = Kind::Bytes { min: KIB, max: 256 * MIB };

pub(super) const fn count(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max }
}

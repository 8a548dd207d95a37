//! The state of loading: values, their sources and all problems.
//!
//! Each layer adds to it; the checks skip keys with a problem.

use std::collections::BTreeMap;
use std::path::PathBuf;

use figment::value::{Dict, Value};

use super::key::Key;
use super::kind::{Fault, Kind, Shape};
use super::problem::Problem;
use super::tables;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    File(PathBuf),
    Environment(String),
    SecretFile(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::SecretFile(name) => write!(f, "secret file of {name}"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct LoadState {
    pub(super) problems: Vec<Problem>,
    /// The source of each key that is set above the built-in layer.
    pub(super) sources: BTreeMap<&'static str, Source>,
    /// Keys with a problem, which other checks skip.
    pub(super) bad: Vec<&'static str>,
}

impl LoadState {
    pub(super) fn take(
        &mut self,
        key: &'static Key,
        read: Result<Value, Fault>,
        layer: &mut Dict,
        source: Source,
        described: impl FnOnce(&Fault) -> Problem,
    ) {
        match read {
            Ok(value) => {
                put(layer, key.path, value);
                self.sources.insert(key.path, source);
            }
            Err(fault) => {
                self.problems.push(described(&fault));
                self.bad.push(key.path);
            }
        }
    }
}

impl LoadState {
    /// Works like [`LoadState::take`], with every problem of every table.
    pub(super) fn take_tables(
        &mut self,
        key: &'static Key,
        shape: &Shape,
        given: &Value,
        layer: &mut Dict,
        source: Source,
        written: &str,
    ) {
        match tables::read(shape, given) {
            Ok(value) => {
                put(layer, key.path, value);
                self.sources.insert(key.path, source);
            }
            Err(faults) => {
                self.problems.extend(faults.into_iter().map(|fault| fault.problem(written)));
                self.bad.push(key.path);
            }
        }
    }
}

pub(super) fn find<'a>(table: &'a Dict, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => table.get(path),
        Some((first, rest)) => find(table.get(first)?.as_dict()?, rest),
    }
}

/// Creates missing tables.
pub(super) fn put(table: &mut Dict, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            let entry = table.entry(first.to_owned()).or_insert_with(|| Value::from(Dict::new()));
            if let Value::Dict(_, inner) = entry {
                put(inner, rest, value);
            }
        }
    }
}

pub(super) fn is_optional(key: &Key, defaults: &Dict) -> bool {
    find(defaults, key.path).is_none() && !matches!(key.kind, Kind::Secret(_))
}

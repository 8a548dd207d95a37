//! Marks that tell whether a setting has another value than before, and nothing else of it.

use figment::value::Value;
use sha2::{Digest as _, Sha256};

use super::key::Key;
use super::kind::Kind;

/// Tells values apart and shows none: some are secrets.
pub(super) type Mark = [u8; 32];

/// Tables whose keys a running process takes over: these are compared without them.
pub(super) const KEYED_TABLES: &str = "providers.api.endpoints";

/// The mark of a value; that of no value where the key is unset.
pub(super) fn mark(key: &Key, value: Option<&Value>) -> Mark {
    let mut value = value.cloned();
    if let (Kind::Tables(shape), Some(Value::Array(_, tables))) = (key.kind, &mut value)
        && key.path == KEYED_TABLES
    {
        for table in tables {
            let Value::Dict(_, table) = table else { continue };
            table.retain(|name, _| shape.field(name).is_none_or(|field| !field.is_secret()));
        }
    }
    // A value of the tree is texts, numbers, lists and tables with texts for names: all of it can be written as JSON.
    Sha256::digest(serde_json::to_vec(&value).unwrap_or_default()).into()
}

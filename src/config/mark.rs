//! Fingerprints of settings that show whether a value changed, but not the value.

use figment::value::Value;
use sha2::{Digest as _, Sha256};

use super::key::Key;
use super::kind::Kind;

/// A hash, because some values are secrets.
pub(super) type Mark = [u8; 32];

/// Tables whose keys a running process can change; fingerprints leave these keys out.
pub(super) const KEYED_TABLES: &str = "providers.api.endpoints";

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
    // Every value of the tree can be written as JSON.
    Sha256::digest(serde_json::to_vec(&value).unwrap_or_default()).into()
}

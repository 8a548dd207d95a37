//! `schema config`: the JSON Schema of a configuration file, from the list of keys.

use serde_json::{Map, Value as Json, json};

use super::kind::{KEYS, Key, Kind, Shape};
use super::load::FILE_TWIN;

/// Returns a JSON Schema (2020-12). Secrets are left out: `x-secrets` lists their variables. `x-env` is the variable of
/// a key.
pub fn json_schema() -> Json {
    let mut root = table("corroborate configuration");
    let mut secrets = Vec::new();
    for key in KEYS.iter() {
        if key.is_secret() {
            secrets.push(secret(key.env(), &key.help));
        } else {
            insert(&mut root, &key.path, property(key));
        }
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["x-secrets"] = Json::Array(secrets);
    root
}

fn secret(env: &str, help: &str) -> Json {
    json!({ "env": env, "env_file": format!("{env}{FILE_TWIN}"), "description": help })
}

fn table(title: &str) -> Json {
    json!({ "title": title, "type": "object", "additionalProperties": false, "properties": {} })
}

fn insert(parent: &mut Json, path: &str, leaf: Json) {
    let Some(properties) = parent.get_mut("properties").and_then(Json::as_object_mut) else { return };
    match path.split_once('.') {
        None => drop(properties.insert(path.to_owned(), leaf)),
        Some((first, rest)) => insert(properties.entry(first).or_insert_with(|| table(first)), rest, leaf),
    }
}

fn property(key: &Key) -> Json {
    let mut schema = type_of(key.kind);
    schema["description"] = json!(key.help);
    schema["x-env"] = json!(key.env());
    if let Some(default) = &key.default {
        schema["default"] = key.kind.written(default);
    }
    schema
}

fn type_of(kind: &Kind) -> Json {
    let span = json!({ "type": "string", "pattern": r"^\s*(\d+\s*[a-zA-Z]+\s*)+$", "examples": ["30s", "10m", "48h"] });
    match kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Duration { bare: None, .. } => span,
        Kind::Duration { bare: Some(_), .. } => json!({ "anyOf": [span, { "type": "integer", "minimum": 0 }] }),
        Kind::Bytes { min, max } => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": r"^\d+\s*[kKmMgG]?[iI]?[bB]?$" },
        ] }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Entry(shape) => json!({ "anyOf": [{ "type": "string" }, table_of(shape)] }),
        Kind::List(kind) => json!({ "type": "array", "items": type_of(kind), "uniqueItems": true }),
        Kind::Text { format, .. } => json!({ "type": "string", "format": format }),
        Kind::Tables(shape) => json!({ "type": "array", "items": table_of(shape) }),
        Kind::Table(_) | Kind::Secret { .. } => json!({}),
    }
}

/// Returns the schema of a table of a list. A secret field names its variables, one per table.
fn table_of(shape: &Shape) -> Json {
    let plain = shape.fields.iter().filter(|(_, kind)| !kind.is_secret());
    let properties: Map<String, Json> = plain.map(|(name, kind)| ((*name).to_owned(), type_of(kind))).collect();
    let secrets: Vec<Json> = shape
        .secrets()
        .map(|(field, _)| secret(&shape.secret_env("<NAME>", field), &format!("{field} of the {}", shape.what)))
        .collect();
    let mut schema = json!({
        "type": "object", "additionalProperties": false, "required": shape.required, "properties": properties,
    });
    if !secrets.is_empty() {
        schema["x-secrets"] = Json::Array(secrets);
    }
    schema
}

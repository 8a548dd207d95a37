//! `schema config`: the JSON Schema of a configuration file, from the table of keys.

use figment::value::Value;
use serde_json::{Map, Value as Json, json};

use super::gathered::find;
use super::key::Key;
use super::kind::{Kind, Shape};
use super::load::BUILT_IN;
use super::names::{FILE_TWIN, KEYS};
use super::value::scalar_text;
use crate::domain::verdict::SourceType;

/// Returns a JSON Schema (2020-12). Secrets are left out: `x-secrets` lists their variables. `x-env` is the variable of
/// a key.
pub fn json_schema() -> Json {
    let mut root = table("corroborate configuration");
    let mut secrets = Vec::new();
    for key in KEYS.iter() {
        if key.is_secret() {
            let name = key.env();
            secrets.push(json!({ "env": name, "env_file": format!("{name}{FILE_TWIN}"), "description": key.help }));
        } else {
            insert(&mut root, key.path, property(key, find(&BUILT_IN, key.path)));
        }
    }
    if let Some(object) = root.as_object_mut() {
        object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("x-secrets".to_owned(), Json::Array(secrets));
    }
    root
}

fn table(title: &str) -> Json {
    json!({ "title": title, "type": "object", "additionalProperties": false, "properties": {} })
}

fn insert(parent: &mut Json, path: &str, leaf: Json) {
    let Some(properties) = parent.get_mut("properties").and_then(Json::as_object_mut) else { return };
    match path.split_once('.') {
        None => {
            properties.insert(path.to_owned(), leaf);
        }
        Some((first, rest)) => insert(properties.entry(first).or_insert_with(|| table(first)), rest, leaf),
    }
}

fn property(key: &Key, default: Option<&Value>) -> Json {
    let mut schema = type_of(key.kind);
    schema.insert("description".to_owned(), json!(key.help));
    schema.insert("x-env".to_owned(), json!(key.env()));
    if let Some(default) = default.and_then(|value| serde_json::to_value(value).ok()) {
        schema.insert("default".to_owned(), default);
    }
    Json::Object(schema)
}

fn type_of(kind: Kind) -> Map<String, Json> {
    let text = |format: &str| json!({ "type": "string", "format": format });
    let list = |items: Json| json!({ "type": "array", "items": items, "uniqueItems": true });
    let span = json!({ "type": "string", "pattern": r"^\s*(\d+\s*[a-zA-Z]+\s*)+$", "examples": ["30s", "10m", "48h"] });
    let source_types: Vec<&str> = SourceType::ALL.iter().map(|kind| kind.as_str()).collect();
    let schema = match kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Duration { bare: None, .. } => span,
        Kind::Duration { bare: Some(_), .. } => json!({ "anyOf": [span, { "type": "integer", "minimum": 0 }] }),
        Kind::Durations { .. } => list(span),
        Kind::Bytes { min, max } => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": r"^\d+\s*[kKmMgG]?[iI]?[bB]?$" },
        ] }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Words(words) => list(json!({ "type": "string", "enum": words })),
        Kind::Texts => list(json!({ "type": "string" })),
        Kind::Domains => list(json!({ "anyOf": [
            { "type": "string" },
            { "type": "object", "additionalProperties": false, "required": ["domain"], "properties": {
                "domain": { "type": "string" },
                "source_type": { "type": "string", "enum": source_types },
                "credibility": { "type": "number", "minimum": 0, "maximum": 1 },
                "why": { "type": "string" },
            } },
        ] })),
        Kind::Url => text("uri"),
        Kind::Origins | Kind::PageUrls => list(text("uri")),
        Kind::Ports => list(json!({ "type": "integer", "minimum": 1, "maximum": 65_535 })),
        Kind::Slug => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,60}$" }),
        Kind::Tables(shape) => tables_of(shape),
        Kind::Lines
        | Kind::Text
        | Kind::Header
        | Kind::Name
        | Kind::Address
        | Kind::Path
        | Kind::LogFilter
        | Kind::Secret(_) => {
            json!({ "type": "string" })
        }
    };
    match schema {
        Json::Object(object) => object,
        other => Map::from_iter([("const".to_owned(), other)]),
    }
}

/// Returns the schema of a list of tables. A secret field names its variables, one per table.
fn tables_of(shape: &Shape) -> Json {
    let (mut properties, mut required, mut secrets) = (Map::new(), Vec::new(), Vec::new());
    for field in shape.fields {
        if field.is_secret() {
            let env = shape.secret_env("<NAME>", field);
            secrets.push(json!({ "env": env, "env_file": format!("{env}{FILE_TWIN}"), "description": field.help }));
            continue;
        }
        let mut schema = type_of(field.kind);
        schema.insert("description".to_owned(), json!(field.help));
        properties.insert(field.name.to_owned(), Json::Object(schema));
        if field.required {
            required.push(field.name);
        }
    }
    json!({ "type": "array", "items": {
        "type": "object", "additionalProperties": false, "required": required, "properties": properties,
        "x-secrets": secrets,
    } })
}

/// Returns one line per key with name, variable, default and help.
pub fn reference_lines() -> Vec<String> {
    KEYS.iter()
        .map(|key| {
            let default = match find(&BUILT_IN, key.path) {
                _ if key.is_secret() => "secret".to_owned(),
                None => "unset".to_owned(),
                Some(Value::Array(_, elements)) => format!("{} entries", elements.len()),
                Some(scalar) => scalar_text(scalar),
            };
            format!("{} [{}] ({default}): {}", key.path, key.env(), key.help)
        })
        .collect()
}

//! Schemas of stored rows and query values.
//! Rows that are described here have no type with a schema.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::broker::QueueName;
use crate::domain::verdict::{Status, Tier, Verdict};

fn one_of(words: impl Iterator<Item = &'static str>) -> Schema {
    json_schema!({"type": "string", "enum": words.collect::<Vec<_>>()})
}

pub(super) fn queue() -> Schema {
    one_of(["important", "enrichment", QueueName::Factcheck.as_str()].into_iter())
}

pub(super) fn status() -> Schema {
    one_of(Status::ALL.iter().map(|status| status.as_str()))
}

pub(super) fn tier() -> Schema {
    one_of(Tier::ALL.iter().map(|tier| tier.as_str()))
}

pub(super) fn verdict() -> Schema {
    one_of(Verdict::ALL.iter().map(|verdict| verdict.as_str()))
}

pub(super) fn cursor() -> Schema {
    json_schema!({"type": "string", "pattern": "^([0-9]{1,15}[.].*)?$"})
}

pub(super) fn since() -> Schema {
    json_schema!({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}, {"const": ""}]})
}

pub(super) fn firmness() -> Schema {
    one_of(["firm", "lean"].into_iter())
}

/// Columns are pairs of name and type; a `?` means nullable.
fn list_of(columns: &[(&str, &str)]) -> Schema {
    let mut properties = serde_json::Map::new();
    for (name, kind) in columns {
        let schema = match *kind {
            "time" => json_schema!({"type": "string", "format": "date-time"}),
            "texts" => json_schema!({"type": "array", "items": {"type": "string"}}),
            "time?" => json_schema!({"type": ["string", "null"], "format": "date-time"}),
            other => match other.strip_suffix('?') {
                Some(kind) => json_schema!({"type": [kind, "null"]}),
                None => json_schema!({"type": other}),
            },
        };
        properties.insert((*name).to_owned(), schema.to_value());
    }
    let required: Vec<Value> = columns.iter().map(|(name, _)| Value::from(*name)).collect();
    json_schema!({
        "type": "object",
        "required": ["items", "next"],
        "properties": {
            "items": {"type": "array", "items": {"type": "object", "required": required, "properties": properties}},
            "next": {"type": ["string", "null"], "description": "Give it back as cursor; null on the last page."}
        }
    })
}

pub(super) fn page(_generator: &mut SchemaGenerator) -> Schema {
    list_of(&[
        ("item_id", "string"),
        ("channel", "string?"),
        ("title", "string?"),
        ("text", "string"),
        ("status", "string"),
        ("degraded", "texts"),
        ("verdict", "string?"),
        ("decisive", "boolean?"),
        ("tier", "string?"),
        ("score", "number?"),
        ("enriched_at", "time"),
    ])
}

pub(super) fn evidence(_generator: &mut SchemaGenerator) -> Schema {
    list_of(&[
        ("claim_id", "string"),
        ("claim", "string"),
        ("evidence_id", "string"),
        ("url", "string"),
        ("domain", "string"),
        ("title", "string?"),
        ("published_at", "time?"),
        ("passage", "string"),
        ("stance", "string"),
        ("entail", "number"),
        ("contradict", "number"),
        ("neutral", "number"),
        ("agreement", "number"),
        ("relevance", "number"),
        ("quality", "number"),
        ("credibility", "number"),
        ("independent_group", "string"),
        ("provider", "string"),
        ("judge", "string?"),
        ("rank", "integer"),
        ("extraction_failed", "boolean"),
    ])
}

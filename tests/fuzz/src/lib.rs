//! The rooms that read what strangers sent, and nothing else of the product: they know no I/O, so that they build without
//! the database, the broker and the models, in a fraction of the time.

pub use corroborate_domain as domain;
pub use corroborate_language as language;
pub use corroborate_reading as reading;

/// What a language model wrote.
pub mod answers {
    use serde_json::Value;

    #[path = "../../../../src/inference/llm/json.rs"]
    mod json;

    /// The object of that schema in a text, if one is found.
    pub fn object_in(text: &str, schema: &Value, is_cut: bool) -> Option<Value> {
        match json::object_in(text, schema, is_cut) {
            json::ParsedObject::Object(value) => Some(value),
            json::ParsedObject::Cut | json::ParsedObject::Nothing => None,
        }
    }
}

#[path = "../../../src/config/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the rooms above it use the rest")]
pub mod config;

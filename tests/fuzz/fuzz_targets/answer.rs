//! What a language model wrote: fenced, cut, amid thoughts, or no JSON at all. What is found in it is found again in what it is
//! written down as.

#![no_main]

use std::sync::LazyLock;

use corroborate_fuzz::answers::object_in;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "type": "object", "required": ["claims"],
        "properties": {"claims": {"type": "array", "items": {"type": "object", "required": ["claim", "justification"]}}},
    })
});

fuzz_target!(|data: (bool, &str)| {
    let (is_cut, text) = data;
    if let Some(found) = object_in(text, &SCHEMA, is_cut) {
        assert_eq!(object_in(&found.to_string(), &SCHEMA, false), Some(found));
    }
});

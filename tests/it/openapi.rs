//! The description of the API, held against itself.
#![cfg(test)]

use serde_json::Value;

use crate::support::schema;

/// Every example of the document with the schema it stands beside, by operation.
fn examples(document: &Value) -> Vec<(String, Value, Value)> {
    let mut found = Vec::new();
    for operation in document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        let name = operation["operationId"].as_str().unwrap();
        let answers = operation["responses"].as_object().unwrap().values();
        let contents = answers.chain(operation.get("requestBody")).filter_map(|body| body.get("content")?.as_object());
        for content in contents.flat_map(|content| content.values()) {
            if let Some(example) = content.get("example") {
                found.push((name.to_owned(), content["schema"].clone(), example.clone()));
            }
        }
    }
    found
}

#[test]
fn every_example_fits_its_schema() {
    let document = corroborate::http::openapi_document("1.2.3");
    let examples = examples(&document);
    assert!(examples.len() >= 15, "{}", examples.len());
    for (operation, schema, example) in examples {
        let mut whole = schema;
        whole["components"] = document["components"].clone();
        assert_eq!(schema::faults(&whole, &example), Vec::<String>::new(), "{operation}: {example:#}");
    }
}

#[test]
fn agreement_is_described_as_similarity_in_every_schema_of_a_result() {
    let document = corroborate::http::openapi_document("1.2.3");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let described: Vec<_> =
        schemas.iter().filter(|(_, schema)| schema["properties"]["agreement"].is_object()).collect();
    assert!(described.len() >= 3, "{:?}", schemas.keys());
    for (name, schema) in described {
        let about = schema["properties"]["agreement"]["description"].as_str().unwrap_or_default();
        assert!(about.to_lowercase().contains("similarity"), "{name}: {about:?}");
    }
}

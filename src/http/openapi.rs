//! `/openapi.json`: an `OpenAPI` 3.1 document, built from the routes and types.
//!
//! Doc comments of types become descriptions.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::problem::PROBLEM_JSON;
use super::routes::{self, Parameter, Place, Route};

/// The document for this version of the daemon.
pub fn document(version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes::all() {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.as_str()] = operation(route, &mut generator);
    }
    for (path, operation, summary) in PAGES {
        paths.insert((*path).to_owned(), json!({ "get": page(operation, summary) }));
    }
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Problem".to_owned(), problem());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "corroborate",
            "version": version,
            "description": "Checks claims in news items against published sources and returns verdicts with citations.",
            "license": {"name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE")}
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "An error, with what to do about it",
                    "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
                }
            },
            "securitySchemes": {
                "admin": {
                    "type": "http", "scheme": "bearer",
                    "description": "The server's ADMIN_TOKEN, or a token that an admin gave out with the scope that is needed \
                                    (read, check, admin). A server without ADMIN_TOKEN answers requests from its own \
                                    machine only."
                }
            }
        }
    })
}

/// Pages that other programs may link to. They redirect to sign-in if necessary.
const PAGES: &[(&str, &str, &str)] =
    &[("/", "home", "The page on which people check claims"), ("/docs", "docs", "This description for people")];

fn page(operation: &str, summary: &str) -> Value {
    json!({
        "operationId": operation,
        "summary": summary,
        "tags": ["pages"],
        "responses": {
            "200": {"description": "The page", "content": {"text/html": {"schema": {"type": "string"}}}},
            "303": {"description": "To signing in"},
            "default": {"$ref": "#/components/responses/Problem"}
        }
    })
}

/// Operations with 201 after creating and 200 after changing.
const MAKES_OR_CHANGES: [&str; 1] = ["putDomain"];

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let answer = &route.answer;
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "tags": [tag(route.path)],
        "responses": {
            answer.status.to_string(): {
                "description": answer.about,
                "content": {answer.media: {"schema": (answer.schema)(generator)}}
            },
            "default": {"$ref": "#/components/responses/Problem"}
        }
    });
    if let Some(example) = answer_example(route.operation) {
        operation["responses"][answer.status.to_string()]["content"][answer.media]["example"] = example;
    }
    if MAKES_OR_CHANGES.contains(&route.operation) {
        operation["responses"]["201"] = operation["responses"]["200"].clone();
    }
    if !route.parameters.is_empty() {
        operation["parameters"] = route.parameters.iter().map(parameter).collect();
    }
    if let Some(body) = &route.body {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": body(generator)}}});
        if let Some(example) = body_example(route.operation) {
            operation["requestBody"]["content"]["application/json"]["example"] = example;
        }
    }
    if route.access.is_guarded() {
        // The empty alternative: no token is set, or a check on this machine.
        operation["security"] = json!([{"admin": []}, {}]);
    }
    operation
}

/// The resource of a path.
fn tag(path: &str) -> &str {
    path.strip_prefix("/api/").and_then(|rest| rest.split('/').next()).unwrap_or("daemon")
}

fn parameter(parameter: &Parameter) -> Value {
    let (place, required) = match parameter.place {
        Place::Path => ("path", true),
        Place::Query => ("query", false),
    };
    json!({
        "name": parameter.name,
        "in": place,
        "required": required,
        "description": parameter.about,
        "schema": Schema::to_value((parameter.schema)())
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": {"type": "string", "description": "urn:corroborate:problem: and a word from a closed set"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "What is wrong and what to do, for a person"},
            "instance": {"type": "string", "description": "The path that was asked"}
        }
    })
}

/// Fails unless a handwritten schema names exactly the sent members.
/// Returns the example of a request body.
fn body_example(operation: &str) -> Option<Value> {
    Some(match operation {
        "verify" => json!({
            "claim": "Apollo 11 landed the first humans on the Moon in 1969.", "language": "en", "vocabulary": "ours"
        }),
        "sendItems" => json!([{
            "schema": 1, "item_id": "tg:example:17", "channel": "@example", "language": "uk",
            "published_at": "2026-11-18T07:15:00Z", "importance": 0.8,
            "text": "Порт Ізмаїл у жовтні перевалив 420 тисяч тонн зерна."
        }]),
        "putDomain" => json!({
            "domain": "example.org", "list": "allow", "credibility": 0.8, "why": "corrects its mistakes in public"
        }),
        "previewDomain" => {
            json!({ "domain": "example.org", "list": "deny", "why": "made up three stories in October" })
        }
        "importDomains" => json!({
            "csv": "domain,list\nexample.org,allow\nfake.example,deny\n", "dry_run": true
        }),
        "addToken" => json!({ "name": "night desk", "scope": "check", "requests_per_minute": 60, "days": 90 }),
        "cleanUp" => json!({ "dry_run": true }),
        "requeueDead" | "dropDead" => json!({ "reason": "not_json" }),
        "retryWebhooks" | "dropWebhooks" => json!({ "webhook": "newsroom" }),
        _ => return None,
    })
}

/// Returns the example of an answer.
fn answer_example(operation: &str) -> Option<Value> {
    Some(match operation {
        "sendItems" => json!({ "accepted": 1, "rejected": [], "rejected_count": 0 }),
        "requeueDead" | "dropDead" | "retryWebhooks" | "dropWebhooks" => json!({ "count": 3 }),
        "listWebhooks" => json!({
            "items": [{
                "name": "newsroom", "events": ["item.enriched"], "pending": 2, "oldest": "2026-11-18T07:15:02Z",
                "dead": 0, "last_error": "answered 503"
            }],
            "next": null
        }),
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) fn assert_described(schema: routes::SchemaOf, sent: &Value) {
    let schema = schema(&mut SchemaGenerator::default()).to_value();
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(names(&schema["properties"]), names(sent));
    let required = schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
    assert_eq!(required.collect::<std::collections::BTreeSet<_>>(), names(sent));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn described() -> BTreeSet<(String, String)> {
        let document = document("1.2.3");
        let paths = document["paths"].as_object().unwrap().clone();
        paths
            .iter()
            .flat_map(|(path, verbs)| verbs.as_object().unwrap().keys().map(|verb| (path.clone(), verb.clone())))
            .collect()
    }

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let routed: BTreeSet<_> =
            routes::all().map(|route| (route.path.to_owned(), route.verb.as_str().to_owned())).collect();
        let pages = PAGES.iter().map(|(path, ..)| ((*path).to_owned(), "get".to_owned()));
        assert_eq!(described(), pages.chain(routed.iter().cloned()).collect());
        assert_eq!(routes::all().count(), routed.len(), "a route is in the table twice");
    }

    #[test]
    fn every_body_has_an_example() {
        for route in routes::all() {
            assert_eq!(route.body.is_some(), body_example(route.operation).is_some(), "{}", route.operation);
        }
    }

    #[test]
    fn the_contract_is_described() {
        let described = described();
        let contract = [
            ("get", "/"),
            ("get", "/healthz"),
            ("get", "/readyz"),
            ("get", "/metrics"),
            ("get", "/openapi.json"),
            ("post", "/api/verify"),
            ("get", "/api/health"),
            ("post", "/api/items"),
            ("get", "/api/items"),
            ("get", "/api/items/{id}"),
            ("get", "/api/items/{id}/evidence"),
            ("get", "/api/items/{id}/context"),
            ("get", "/api/claims/{id}"),
            ("get", "/api/domains"),
            ("post", "/api/domains"),
            ("delete", "/api/domains/{domain}"),
            ("post", "/api/domains/preview"),
            ("get", "/api/providers"),
            ("post", "/api/providers/{name}/reset"),
            ("get", "/api/dead"),
            ("get", "/api/dead/{id}"),
            ("post", "/api/dead/requeue"),
            ("post", "/api/dead/drop"),
            ("post", "/api/cleanup"),
            ("get", "/docs"),
            ("get", "/api/items/{id}/history"),
            ("post", "/api/items/{id}/again"),
            ("get", "/api/domains/export"),
            ("post", "/api/domains/import"),
            ("get", "/api/providers/hours"),
            ("get", "/api/overview"),
            ("get", "/api/queue"),
            ("get", "/api/webhooks"),
            ("get", "/api/webhooks/dead"),
            ("post", "/api/webhooks/retry"),
            ("post", "/api/webhooks/drop"),
            ("get", "/api/tokens"),
            ("post", "/api/tokens"),
            ("delete", "/api/tokens/{name}"),
            ("get", "/api/audit"),
        ];
        for (verb, path) in contract {
            assert!(described.contains(&(path.to_owned(), verb.to_owned())), "{verb} {path} is missing");
        }
        assert_eq!(described.len(), contract.len());
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_path_variable_is_a_parameter() {
        let document = document("1.2.3");
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 20, "{}", references.len());
        for reference in references {
            let pointer = reference.strip_prefix('#').unwrap_or_else(|| panic!("{reference} leads outside"));
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
        for route in routes::all() {
            let variables = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let named = route.parameters.iter().filter(|one| one.place == Place::Path).map(|one| one.name);
            assert_eq!(variables.collect::<Vec<_>>(), named.collect::<Vec<_>>(), "{}", route.path);
        }
        let operations: BTreeSet<_> = routes::all().map(|route| route.operation).collect();
        assert_eq!(operations.len(), routes::all().count(), "two operations share a name");
    }

    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match member.as_str() {
                        Some(reference) if name == "$ref" => found.push(reference.to_owned()),
                        _ => collect(member, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            _ => {}
        }
    }

    #[test]
    fn operation_has_security_when_its_route_needs_a_token() {
        let document = document("1.2.3");
        for route in routes::all() {
            let security = &document["paths"][route.path][route.verb.as_str()]["security"];
            assert_eq!(security.is_array(), route.access.is_guarded(), "{}", route.path);
        }
        assert_eq!(document["info"]["version"], "1.2.3");
    }
}

//! The API description for people.
//!
//! Built from `/openapi.json`.

use askama::Template;
use axum::response::Response;
use serde_json::Value;

use super::super::chrome::Page;
use super::super::shown;
use crate::http::App;
use crate::http::problem::Problem;
use axum::extract::State;

#[derive(Debug, Template)]
#[template(path = "docs.html")]
struct Docs {
    page: Page,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    verb: String,
    path: String,
    summary: String,
    parameters: Vec<(String, String)>,
    guarded: bool,
}

pub(crate) async fn show(State(app): State<App>, page: Page) -> Result<Response, Problem> {
    let document: Value = serde_json::from_str(&app.openapi).map_err(|error| {
        tracing::error!(%error, "reading the OpenAPI document failed");
        Problem::internal()
    })?;
    shown(&Docs { rows: rows(&document), page })
}

fn rows(document: &Value) -> Vec<Row> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut rows = Vec::new();
    for (path, verbs) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
        for (verb, operation) in verbs.as_object().into_iter().flatten() {
            let parameters = operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
            rows.push(Row {
                verb: verb.to_uppercase(),
                path: path.clone(),
                summary: text(operation, "summary"),
                parameters: parameters.map(|one| (text(one, "name"), text(one, "description"))).collect(),
                guarded: operation.get("security").is_some(),
            });
        }
    }
    rows
}

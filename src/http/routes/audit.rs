//! The audit log.
//!
//! It covers domain rules, tokens, providers, dead letters and clean-up.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use schemars::SchemaGenerator;
use serde::Deserialize;

use super::{Answer, List, Parameter, Place, Route, TimeoutClass, Verb, count};
use crate::http::App;
use crate::http::auth::Access;
use crate::http::extract::{ApiQuery, page_limit};
use crate::http::problem::Problem;
use crate::store::AuditEntry;

pub(crate) const ROUTES: &[Route] = &[Route {
    verb: Verb::Get,
    path: "/api/audit",
    access: Access::Admin,
    patience: TimeoutClass::Short,
    operation: "listAudit",
    summary: "Audit log, newest first",
    parameters: &[Parameter {
        name: "limit",
        place: Place::Query,
        about: "maximum number; 50 when absent",
        schema: count,
    }],
    body: None,
    answer: Answer::json("What was done", SchemaGenerator::subschema_for::<List<AuditEntry>>),
    mount: |method| on(method, list),
}];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditQuery {
    limit: Option<i64>,
}

async fn list(
    State(app): State<App>,
    ApiQuery(query): ApiQuery<AuditQuery>,
) -> Result<Json<List<AuditEntry>>, Problem> {
    Ok(Json(List::whole(app.services.store.audit(page_limit(query.limit)?).await?)))
}

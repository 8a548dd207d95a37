//! Deletion of expired rows on request.
//!
//! The daemon also deletes them periodically.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Route, TimeoutClass};
use crate::domain::{Clock as _, SystemClock};
use crate::http::App;
use crate::http::auth::{Access, Actor};
use crate::http::extract::ApiJson;
use crate::http::problem::Problem;
use crate::store::CleanupReport;
use crate::telemetry::metrics;

pub(crate) const ROUTES: &[Route] =
    &[Route::post("/api/cleanup", Access::Admin, "cleanUp", |method| on(method, clean_up))
        .about("Delete expired rows, or count them")
        .body::<CleanupRequest>()
        .answer_of("Rows removed, or to be removed", schema)
        .timeout(TimeoutClass::Long)];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CleanupRequest {
    /// If true, only counts.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct CleanupAnswer {
    dry_run: bool,
    #[serde(flatten)]
    rows: CleanupReport,
}

fn schema(_generator: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "object",
        "required": ["dry_run", "items", "evidence_sources", "evidence_claims", "fact_check_cache", "answers",
            "feeds", "provider_state", "webhook_messages"],
        "properties": {
            "dry_run": {"type": "boolean"},
            "items": {"type": "integer"},
            "evidence_sources": {"type": "integer"},
            "evidence_claims": {"type": "integer"},
            "fact_check_cache": {"type": "integer"},
            "answers": {"type": "integer"},
            "feeds": {"type": "integer"},
            "provider_state": {"type": "integer"},
            "webhook_messages": {"type": "integer"}
        }
    })
}

async fn clean_up(
    State(app): State<App>,
    who: Actor,
    ApiJson(request): ApiJson<CleanupRequest>,
) -> Result<Json<CleanupAnswer>, Problem> {
    let services = &app.services;
    let now = SystemClock.now();
    let rows = if request.dry_run {
        services.store.reading().cleanup_preview(now).await?
    } else {
        let removed = services.store.cleanup(now).await?;
        metrics::evidence_rows_deleted(u64::try_from(removed.total()).unwrap_or(0));
        who.did(&app, "cleanup", "expired rows", Some(serde_json::json!({ "rows": removed.total() }))).await;
        removed
    };
    Ok(Json(CleanupAnswer { dry_run: request.dry_run, rows }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::openapi::assert_described;

    #[test]
    fn the_schema_names_what_is_sent() {
        let sample = CleanupAnswer { dry_run: true, rows: CleanupReport::default() };
        assert_described(schema, &serde_json::to_value(sample).unwrap());
    }
}

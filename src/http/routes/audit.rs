//! The audit log.
//!
//! It covers domain rules, tokens, providers, dead letters and clean-up.

use axum::Json;
use axum::extract::State;
use axum::routing::on;

use super::{LIMIT, LimitQuery, List, Route};
use crate::http::App;
use crate::http::auth::Access;
use crate::http::extract::{ApiQuery, page_limit};
use crate::http::problem::Problem;
use crate::store::AuditEntry;

pub(crate) const ROUTES: &[Route] = &[Route::get("/api/audit", Access::Admin, "listAudit", |method| on(method, list))
    .about("Audit log, newest first")
    .parameters(&[LIMIT])
    .answer::<List<AuditEntry>>("What was done")];

async fn list(
    State(app): State<App>,
    ApiQuery(query): ApiQuery<LimitQuery>,
) -> Result<Json<List<AuditEntry>>, Problem> {
    Ok(Json(List::whole(app.services.store.audit(page_limit(query.limit)?).await?)))
}

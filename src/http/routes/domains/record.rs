//! History of the domain lists, undo, and unreadable domains.
//!
//! An undo is itself an edit in the history.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Edit, Edited};
use crate::http::App;
use crate::http::extract::{ApiQuery, page_limit, whole};
use crate::http::problem::Problem;
use crate::http::routes::List;
use crate::http::who::Who;
use crate::store::{RuleRecord, UnreadableDomain};

const UNREADABLE_SINCE: TimeDelta = TimeDelta::days(30);
const MOST_UNREADABLE: i64 = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryQuery {
    limit: Option<i64>,
}

/// The edit to undo.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoRequest {
    /// Its `id` in the history.
    #[serde(deserialize_with = "whole")]
    pub(crate) id: i64,
}

pub(super) async fn list(
    State(app): State<App>,
    ApiQuery(query): ApiQuery<HistoryQuery>,
) -> Result<Json<List<RuleRecord>>, Problem> {
    Ok(Json(List::whole(app.services.store.domain_rule_changes(page_limit(query.limit)?).await?)))
}

pub(super) async fn undo(
    State(app): State<App>,
    Edit(who, request): Edit<UndoRequest>,
) -> Result<Json<Edited>, Problem> {
    undone(&app, &who, request.id).await.map(Json)
}

pub(crate) async fn undone(app: &App, who: &Who, id: i64) -> Result<Edited, Problem> {
    let services = &app.services;
    let change = services.store.undo_domain_rule_change(id, &who.0, services.clock.now()).await?;
    let change =
        change.ok_or_else(|| Problem::not_found("there is no such edit; GET /api/domains/history lists them"))?;
    let domain = change.before.as_ref().or(change.after.as_ref()).map(|rule| rule.domain.clone()).unwrap_or_default();
    tracing::info!(domain, edit = id, who = who.0, "domain rule edit undone");
    let stored_pages = if domain.is_empty() { 0 } else { services.store.sources_under(&domain).await? };
    Ok(Edited { domain, change, stored_pages })
}

/// Counting reads every recently read page.
pub(crate) const UNREADABLE_FRESH: Duration = Duration::from_mins(1);

pub(crate) async fn unreadable_domains(app: &App) -> Result<Vec<UnreadableDomain>, Problem> {
    let since = app.services.clock.now() - UNREADABLE_SINCE;
    Ok(app.unreadable.try_get(app.services.store.reading().unreadable_domains(since, MOST_UNREADABLE)).await?)
}

pub(super) async fn unreadable(State(app): State<App>) -> Result<Json<List<UnreadableDomain>>, Problem> {
    unreadable_domains(&app).await.map(List::whole).map(Json)
}

//! Webhooks: waiting and undelivered messages.
//!
//! Sending again and dropping are recorded in the audit log.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use schemars::{Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;

use super::dead::{Moved, Selected, one_way_of_three};
use super::{LIMIT, LimitQuery, List, Route, TimeoutClass};
use crate::http::App;
use crate::http::auth::{Access, Actor};
use crate::http::extract::{ApiJson, ApiQuery, page_limit};
use crate::http::problem::Problem;
use crate::store::{DeadWebhookMessage, DeadWebhooks, Webhook};

fn selection(_generator: &mut SchemaGenerator) -> Schema {
    one_way_of_three("webhook", "all of the webhook of this name")
}

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/api/webhooks", Access::Admin, "listWebhooks", |method| on(method, list))
        .about("List webhooks with their waiting messages, without URLs and keys")
        .answer::<List<Webhook>>("The webhooks"),
    Route::get("/api/webhooks/dead", Access::Admin, "listDeadWebhookMessages", |method| on(method, dead))
        .about("List failed webhook messages, oldest first")
        .parameters(&[LIMIT])
        .answer::<List<DeadWebhookMessage>>("The messages"),
    Route::post("/api/webhooks/retry", Access::Admin, "retryWebhooks", |method| on(method, retry))
        .about("Send failed webhook messages again")
        .body_of(selection)
        .answer::<Moved>("How many go out again")
        .timeout(TimeoutClass::Long),
    Route::post("/api/webhooks/drop", Access::Admin, "dropWebhooks", |method| on(method, throw_away))
        .about("Delete failed webhook messages")
        .body_of(selection)
        .answer::<Moved>("How many are gone")
        .timeout(TimeoutClass::Long),
];

/// A selection of messages: by ids, by `webhook`, or `all`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Selection {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    webhook: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageAction {
    Retry,
    Drop,
}

impl Selection {
    pub(crate) const fn of_id(id: Vec<String>) -> Self {
        Self { ids: id, all: false, webhook: None }
    }

    pub(crate) const fn of_webhook(name: String) -> Self {
        Self { ids: Vec::new(), all: false, webhook: Some(name) }
    }
}

/// Every configured webhook, and those with stored messages.
pub(crate) async fn webhooks(app: &App) -> Result<Vec<Webhook>, Problem> {
    let configured = app.services.settings.webhooks.iter().map(|target| (target.name.clone(), target.events.clone()));
    Ok(app.services.store.webhooks(configured).await?)
}

pub(crate) async fn moved(app: &App, who: &Actor, selection: &Selection, how: MessageAction) -> Result<u64, Problem> {
    let selected = Selected::new(
        selection.all,
        &selection.ids,
        selection.webhook.as_deref(),
        "name the messages, {\"ids\": [\"…\"]}, or their webhook, {\"webhook\": \"…\"}, or say {\"all\": true}",
    )?;
    let ids: Vec<i64>;
    let which = match selected {
        Selected::All => DeadWebhooks::All,
        Selected::Of(webhook) => DeadWebhooks::Of(webhook),
        Selected::Ids(given) => {
            ids = given.iter().filter_map(|id| id.parse().ok()).collect();
            DeadWebhooks::Ids(&ids)
        }
    };
    let store = &app.services.store;
    let (count, action) = match how {
        MessageAction::Retry => (store.retry_webhooks(which).await?, "webhook.retry"),
        MessageAction::Drop => (store.drop_webhooks(which).await?, "webhook.drop"),
    };
    if count > 0 {
        who.did(app, action, &selected.subject(), Some(json!({ "messages": count }))).await;
    } else if !selection.all {
        return Err(Problem::not_found("none of these messages is there any more; see GET /api/webhooks/dead"));
    }
    Ok(count)
}

async fn list(State(app): State<App>) -> Result<Json<List<Webhook>>, Problem> {
    Ok(Json(List::whole(webhooks(&app).await?)))
}

async fn dead(
    State(app): State<App>,
    ApiQuery(query): ApiQuery<LimitQuery>,
) -> Result<Json<List<DeadWebhookMessage>>, Problem> {
    Ok(Json(List::whole(app.services.store.dead_webhook_messages(page_limit(query.limit)?, None).await?)))
}

async fn retry(
    State(app): State<App>,
    who: Actor,
    ApiJson(selection): ApiJson<Selection>,
) -> Result<Json<Moved>, Problem> {
    Ok(Json(Moved::of(moved(&app, &who, &selection, MessageAction::Retry).await?)))
}

async fn throw_away(
    State(app): State<App>,
    who: Actor,
    ApiJson(selection): ApiJson<Selection>,
) -> Result<Json<Moved>, Problem> {
    Ok(Json(Moved::of(moved(&app, &who, &selection, MessageAction::Drop).await?)))
}

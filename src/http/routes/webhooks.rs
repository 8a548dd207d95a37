//! Webhooks: waiting and undelivered messages.
//!
//! Sending again and dropping are recorded in the audit log.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use schemars::{Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;

use super::dead::{ListQuery, Moved, one_way_of_three};
use super::{Answer, Content, List, Parameter, Place, Route, TimeoutClass, Verb, count};
use crate::http::App;
use crate::http::auth::Access;
use crate::http::extract::{ApiJson, ApiQuery, page_limit};
use crate::http::problem::Problem;
use crate::http::who::Actor;
use crate::store::{DeadWebhookMessage, DeadWebhooks, Webhook};

const SELECTION: Option<Content> = Some(Content::json(selection));

fn selection(_generator: &mut SchemaGenerator) -> Schema {
    one_way_of_three("webhook", "all of the webhook of this name")
}

pub(crate) const ROUTES: &[Route] = &[
    Route {
        verb: Verb::Get,
        path: "/api/webhooks",
        access: Access::Admin,
        patience: TimeoutClass::Short,
        operation: "listWebhooks",
        summary: "List webhooks with their waiting messages, without URLs and keys",
        parameters: &[],
        body: None,
        answer: Answer::json("The webhooks", SchemaGenerator::subschema_for::<List<Webhook>>),
        mount: |method| on(method, list),
    },
    Route {
        verb: Verb::Get,
        path: "/api/webhooks/dead",
        access: Access::Admin,
        patience: TimeoutClass::Short,
        operation: "listDeadWebhookMessages",
        summary: "List failed webhook messages, oldest first",
        parameters: &[Parameter {
            name: "limit",
            place: Place::Query,
            about: "maximum number; 50 when absent",
            schema: count,
        }],
        body: None,
        answer: Answer::json("The messages", SchemaGenerator::subschema_for::<List<DeadWebhookMessage>>),
        mount: |method| on(method, dead),
    },
    Route {
        verb: Verb::Post,
        path: "/api/webhooks/retry",
        access: Access::Admin,
        patience: TimeoutClass::Long,
        operation: "retryWebhooks",
        summary: "Send failed webhook messages again",
        parameters: &[],
        body: SELECTION,
        answer: Answer::json("How many go out again", SchemaGenerator::subschema_for::<Moved>),
        mount: |method| on(method, retry),
    },
    Route {
        verb: Verb::Post,
        path: "/api/webhooks/drop",
        access: Access::Admin,
        patience: TimeoutClass::Long,
        operation: "dropWebhooks",
        summary: "Delete failed webhook messages",
        parameters: &[],
        body: SELECTION,
        answer: Answer::json("How many are gone", SchemaGenerator::subschema_for::<Moved>),
        mount: |method| on(method, throw_away),
    },
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

    fn subject(&self) -> String {
        match &self.webhook {
            _ if self.all => "all".to_owned(),
            Some(webhook) => format!("all of {webhook}"),
            None => self.ids.join(", ").chars().take(200).collect(),
        }
    }
}

/// Every configured webhook, and those with stored messages.
pub(crate) async fn webhooks(app: &App) -> Result<Vec<Webhook>, Problem> {
    let configured = app.services.settings.webhooks.iter().map(|target| (target.name.clone(), target.events.clone()));
    Ok(app.services.store.webhooks(configured).await?)
}

pub(crate) async fn moved(app: &App, who: &Actor, selection: &Selection, how: MessageAction) -> Result<u64, Problem> {
    let nothing_there = || Problem::not_found("none of these messages is there any more; see GET /api/webhooks/dead");
    let ids: Vec<i64>;
    let which = match (selection.all, selection.ids.is_empty(), &selection.webhook) {
        (true, true, None) => DeadWebhooks::All,
        (false, true, Some(webhook)) => DeadWebhooks::Of(webhook),
        (false, false, None) => {
            ids = selection.ids.iter().filter_map(|id| id.parse().ok()).collect();
            DeadWebhooks::Ids(&ids)
        }
        // An empty selection must not select everything.
        _ => {
            return Err(Problem::invalid(
                "name the messages, {\"ids\": [\"…\"]}, or their webhook, {\"webhook\": \"…\"}, or say {\"all\": true}",
            ));
        }
    };
    let store = &app.services.store;
    let (count, action) = match how {
        MessageAction::Retry => (store.retry_webhooks(which).await?, "webhook.retry"),
        MessageAction::Drop => (store.drop_webhooks(which).await?, "webhook.drop"),
    };
    if count > 0 {
        who.did(app, action, &selection.subject(), Some(json!({ "messages": count }))).await;
    } else if !selection.all {
        return Err(nothing_there());
    }
    Ok(count)
}

async fn list(State(app): State<App>) -> Result<Json<List<Webhook>>, Problem> {
    Ok(Json(List::whole(webhooks(&app).await?)))
}

async fn dead(
    State(app): State<App>,
    ApiQuery(query): ApiQuery<ListQuery>,
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

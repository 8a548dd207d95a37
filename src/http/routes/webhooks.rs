//! What waits for webhooks, and what was given up: kept for a person, sent again or dropped.

use axum::Json;
use axum::extract::State;
use axum::routing::on;
use chrono::{DateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::dead::{ListQuery, Moved};
use super::{Answer, Content, List, Parameter, Patience, Place, Route, Verb, count};
use crate::domain::Event;
use crate::http::App;
use crate::http::auth::Access;
use crate::http::extract::{ApiJson, ApiQuery, page_limit};
use crate::http::problem::Problem;
use crate::http::who::Who;
use crate::store::{DeadWebhookMessage, DeadWebhooks, WebhookState};

const SELECTION: Option<Content> = Some(Content::json(selection));

/// One of the three ways to name messages.
fn selection(_generator: &mut SchemaGenerator) -> Schema {
    let way = |name: &str, value: Schema| {
        schemars::json_schema!({
            "type": "object", "required": [name], "additionalProperties": false, "properties": {name: value}
        })
    };
    let ids = schemars::json_schema!({"type": "array", "minItems": 1, "items": {"type": "string"}});
    let all = schemars::json_schema!({"const": true});
    let webhook = schemars::json_schema!({"type": "string", "description": "all of the webhook of this name"});
    schemars::json_schema!({"oneOf": [way("ids", ids), way("all", all), way("webhook", webhook)]})
}

pub(crate) const ROUTES: &[Route] = &[
    Route {
        verb: Verb::Get,
        path: "/api/webhooks",
        access: Access::Admin,
        patience: Patience::Short,
        operation: "listWebhooks",
        summary: "The webhooks, with what waits for each; never their addresses or keys",
        parameters: &[],
        body: None,
        answer: Answer::json("The webhooks", SchemaGenerator::subschema_for::<List<Webhook>>),
        mount: |method| on(method, list),
    },
    Route {
        verb: Verb::Get,
        path: "/api/webhooks/dead",
        access: Access::Admin,
        patience: Patience::Short,
        operation: "listDeadWebhookMessages",
        summary: "The oldest messages for webhooks that were given up",
        parameters: &[Parameter {
            name: "limit",
            place: Place::Query,
            about: "how many; 50 when absent",
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
        patience: Patience::Long,
        operation: "retryWebhooks",
        summary: "Send messages that were given up again",
        parameters: &[],
        body: SELECTION,
        answer: Answer::json("How many go out again", SchemaGenerator::subschema_for::<Moved>),
        mount: |method| on(method, retry),
    },
    Route {
        verb: Verb::Post,
        path: "/api/webhooks/drop",
        access: Access::Admin,
        patience: Patience::Long,
        operation: "dropWebhooks",
        summary: "Throw messages that were given up away for good",
        parameters: &[],
        body: SELECTION,
        answer: Answer::json("How many are gone", SchemaGenerator::subschema_for::<Moved>),
        mount: |method| on(method, throw_away),
    },
];

/// A webhook with what waits for it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Webhook {
    pub(crate) name: String,
    /// What it is told of; empty where it stands in the configuration no more.
    pub(crate) events: Vec<Event>,
    /// Messages that wait.
    pub(crate) pending: i64,
    /// Since when the oldest of them waits.
    pub(crate) oldest: Option<DateTime<Utc>>,
    /// Messages that were given up.
    pub(crate) dead: i64,
    /// Why the last message that failed was not taken.
    pub(crate) last_error: Option<String>,
}

/// Which messages: some by their ids, those of a `webhook`, or `all`.
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

/// What is done with messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
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

/// Every configured webhook, and those for which something is still stored.
pub(crate) async fn webhooks(app: &App) -> Result<Vec<Webhook>, Problem> {
    let mut states = app.services.store.webhook_states().await?;
    let mut found = Vec::new();
    for target in &app.services.settings.webhooks {
        let at = states.iter().position(|state| state.webhook == target.name);
        let state = at.map(|at| states.swap_remove(at));
        found.push(webhook(&target.name, target.events.clone(), state));
    }
    found.extend(states.into_iter().map(|state| webhook(&state.webhook.clone(), Vec::new(), Some(state))));
    Ok(found)
}

fn webhook(name: &str, events: Vec<Event>, state: Option<WebhookState>) -> Webhook {
    let name = name.to_owned();
    match state {
        Some(WebhookState { pending, oldest, dead, last_error, .. }) => {
            Webhook { name, events, pending, oldest, dead, last_error }
        }
        None => Webhook { name, events, pending: 0, oldest: None, dead: 0, last_error: None },
    }
}

/// Moves messages and writes it down.
pub(crate) async fn moved(app: &App, who: &Who, selection: &Selection, how: Move) -> Result<u64, Problem> {
    let nothing_there = || Problem::not_found("none of these messages is there any more; see GET /api/webhooks/dead");
    let ids: Vec<i64>;
    let which = match (selection.all, selection.ids.is_empty(), &selection.webhook) {
        (true, true, None) => DeadWebhooks::All,
        (false, true, Some(webhook)) => DeadWebhooks::Of(webhook),
        (false, false, None) => {
            ids = selection.ids.iter().filter_map(|id| id.parse().ok()).collect();
            DeadWebhooks::Ids(&ids)
        }
        // "Nothing" must not turn into "everything".
        _ => {
            return Err(Problem::invalid(
                "name the messages, {\"ids\": [\"…\"]}, or their webhook, {\"webhook\": \"…\"}, or say {\"all\": true}",
            ));
        }
    };
    let store = &app.services.store;
    let (count, action) = match how {
        Move::Retry => (store.retry_webhooks(which).await?, "webhook.retry"),
        Move::Drop => (store.drop_webhooks(which).await?, "webhook.drop"),
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
    Ok(Json(List::whole(app.services.store.dead_webhook_messages(page_limit(query.limit)?).await?)))
}

async fn retry(
    State(app): State<App>,
    who: Who,
    ApiJson(selection): ApiJson<Selection>,
) -> Result<Json<Moved>, Problem> {
    Ok(Json(Moved::of(moved(&app, &who, &selection, Move::Retry).await?)))
}

async fn throw_away(
    State(app): State<App>,
    who: Who,
    ApiJson(selection): ApiJson<Selection>,
) -> Result<Json<Moved>, Problem> {
    Ok(Json(Moved::of(moved(&app, &who, &selection, Move::Drop).await?)))
}

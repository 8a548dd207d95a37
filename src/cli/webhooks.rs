//! `webhooks`: what waits for the web servers that are told of results, what was given up, and a try by hand.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::WebhooksAction;
use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach};
use crate::config::Config;
use crate::judging::plain::plain;
use crate::outbound::Method;
use crate::outbound::local::LocalDaemon;
use crate::outbound::webhook::new_secret;
use crate::store::{DeadWebhooks, Store};

pub(super) async fn run(config: Arc<Config>, action: WebhooksAction, output: Output) -> Result<(), Failure> {
    match action {
        WebhooksAction::Secret => return output.text(&format!("{}\n", new_secret())),
        WebhooksAction::Test { name } => return test(&config, &name, output).await,
        _ => {}
    }
    match reach::store(&config).await? {
        Reach::Here(opened) => {
            let done = here(&config, &opened.store, action, output).await;
            opened.close().await?;
            done
        }
        Reach::Daemon(daemon) => through(&daemon, action, output).await,
    }
}

/// Posts a message of its own type, past the store, and says what came of it.
async fn test(config: &Config, name: &str, output: Output) -> Result<(), Failure> {
    crate::app::try_webhook(config, name)
        .await?
        .map_err(|error| Failure::unavailable(format!("{} has not taken the message: it {error}", plain(name))))?;
    if output.json {
        return output.value(&json!({ "webhook": name, "delivered": true }));
    }
    output.text(&format!("{} took a message of the type ping\n", plain(name)))
}

/// Ids as they are listed; what is none names nothing.
fn ids(ids: &[String]) -> Vec<i64> {
    ids.iter().filter_map(|id| id.parse().ok()).collect()
}

async fn here(config: &Config, store: &Store, action: WebhooksAction, output: Output) -> Result<(), Failure> {
    match action {
        WebhooksAction::List => {
            let states = store.webhook_states().await?;
            let of = |name: &str| states.iter().find(|state| state.webhook == name);
            let configured = config.webhooks.endpoints.iter().map(|endpoint| {
                let state = of(&endpoint.name);
                json!({
                    "name": endpoint.name, "events": endpoint.events(), "pending": state.map_or(0, |s| s.pending),
                    "oldest": state.and_then(|s| s.oldest), "dead": state.map_or(0, |s| s.dead),
                    "last_error": state.and_then(|s| s.last_error.clone()),
                })
            });
            let is_gone = |name: &str| config.webhooks.endpoints.iter().all(|endpoint| endpoint.name != name);
            let left = states.iter().filter(|state| is_gone(&state.webhook)).map(|state| {
                json!({
                    "name": state.webhook, "events": [], "pending": state.pending, "oldest": state.oldest,
                    "dead": state.dead, "last_error": state.last_error,
                })
            });
            list(&configured.chain(left).collect::<Vec<_>>(), output)
        }
        WebhooksAction::Dead { limit } => {
            dead(&serde_json::to_value(store.dead_webhook_messages(limit).await?)?, output)
        }
        WebhooksAction::Retry { ids: named, all } => {
            let named = ids(&named);
            let which = if all { DeadWebhooks::All } else { DeadWebhooks::Ids(&named) };
            said("sent again", store.retry_webhooks(which).await?, output)
        }
        WebhooksAction::Drop { ids: named, all } => {
            let named = ids(&named);
            let which = if all { DeadWebhooks::All } else { DeadWebhooks::Ids(&named) };
            said("dropped", store.drop_webhooks(which).await?, output)
        }
        WebhooksAction::Secret | WebhooksAction::Test { .. } => Ok(()),
    }
}

async fn through(daemon: &LocalDaemon, action: WebhooksAction, output: Output) -> Result<(), Failure> {
    let body = |ids: Vec<String>, all: bool| if all { json!({ "all": true }) } else { json!({ "ids": ids }) };
    let count = |answer: &Value| answer.get("count").and_then(Value::as_u64).unwrap_or(0);
    match action {
        WebhooksAction::List => {
            let answer = daemon.call(Method::GET, "/api/webhooks", None).await?;
            list(answer.get("items").and_then(Value::as_array).map_or(&[], Vec::as_slice), output)
        }
        WebhooksAction::Dead { limit } => {
            let answer = daemon.call(Method::GET, &format!("/api/webhooks/dead?limit={limit}"), None).await?;
            dead(answer.get("items").unwrap_or(&Value::Null), output)
        }
        WebhooksAction::Retry { ids, all } => {
            let answer = daemon.call(Method::POST, "/api/webhooks/retry", Some(&body(ids, all))).await?;
            said("sent again", count(&answer), output)
        }
        WebhooksAction::Drop { ids, all } => {
            let answer = daemon.call(Method::POST, "/api/webhooks/drop", Some(&body(ids, all))).await?;
            said("dropped", count(&answer), output)
        }
        WebhooksAction::Secret | WebhooksAction::Test { .. } => Ok(()),
    }
}

fn list(webhooks: &[Value], output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "items": webhooks, "next": null }));
    }
    if webhooks.is_empty() {
        return output.text("no webhooks; add one under [webhooks] in the configuration file (docs/webhooks.md)\n");
    }
    let mut text = String::new();
    for webhook in webhooks {
        let part = |key: &str| webhook.get(key).and_then(Value::as_str);
        let figure = |key: &str| webhook.get(key).and_then(Value::as_i64).unwrap_or(0);
        let is_gone = webhook.get("events").and_then(Value::as_array).is_some_and(Vec::is_empty);
        let _infallible = writeln!(
            text,
            "{}{}  {} waiting{}, {} given up{}",
            plain(part("name").unwrap_or("?")),
            if is_gone { " (no longer configured)" } else { "" },
            figure("pending"),
            part("oldest").map(|since| format!(" since {since}")).unwrap_or_default(),
            figure("dead"),
            part("last_error").map(|error| format!("; last: {}", plain(error))).unwrap_or_default(),
        );
    }
    output.text(&text)
}

fn dead(messages: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "items": messages, "next": null }));
    }
    let messages = messages.as_array().map_or(&[][..], Vec::as_slice);
    if messages.is_empty() {
        return output.text("no message was given up\n");
    }
    let mut text = String::new();
    for message in messages {
        let part = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or("-");
        let _infallible = writeln!(
            text,
            "{}  {}  {}  {}  {}",
            part("id"),
            part("dead_at"),
            plain(part("webhook")),
            part("event"),
            plain(part("error")),
        );
    }
    output.text(&text)
}

fn said(what: &str, count: u64, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "count": count }));
    }
    output.text(&format!("{count} message(s) {what}\n"))
}

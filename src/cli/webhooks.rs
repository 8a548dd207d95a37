//! `webhooks`: shows waiting and dead webhook messages, and sends test messages.
//!
//! If a daemon holds the data folder, the command uses its API.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::{WebhooksAction, Which};
use super::dead::{count, moved};
use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach};
use crate::config::Config;
use crate::judging::plain::plain;
use crate::outbound::Method;
use crate::outbound::local::LocalDaemon;
use crate::outbound::webhook::new_secret;
use crate::store::{DeadWebhooks, Store};

const LIST: &str = "webhooks dead";
const SENT: &str = "sent again";
const DROPPED: &str = "dropped";

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

/// Posts a test message without the store.
async fn test(config: &Config, name: &str, output: Output) -> Result<(), Failure> {
    crate::app::try_webhook(config, name)
        .await?
        .map_err(|error| Failure::unavailable(format!("{} has not taken the message: it {error}", plain(name))))?;
    if output.json {
        return output.value(&json!({ "webhook": name, "delivered": true }));
    }
    output.text(&format!("{} took a message of the type ping\n", plain(name)))
}

/// Returns an error for an id that is no number.
fn ids(which: &Which) -> Result<Vec<i64>, Failure> {
    let id = |id: &String| {
        id.parse().map_err(|_not_a_number| {
            Failure::failed(format!("{} is no id of a message; see `corroborate {LIST}`", plain(id)))
        })
    };
    which.ids.iter().map(id).collect()
}

const fn selection<'a>(which: &Which, ids: &'a [i64]) -> DeadWebhooks<'a> {
    if which.all { DeadWebhooks::All } else { DeadWebhooks::Ids(ids) }
}

async fn here(config: &Config, store: &Store, action: WebhooksAction, output: Output) -> Result<(), Failure> {
    match action {
        WebhooksAction::List => {
            let configured = config.webhooks.endpoints.iter();
            let configured = configured.map(|endpoint| (endpoint.name.clone(), endpoint.events()));
            list(&serde_json::to_value(store.webhooks(configured).await?)?, output)
        }
        WebhooksAction::Dead { limit } => {
            dead(&serde_json::to_value(store.dead_webhook_messages(limit, None).await?)?, output)
        }
        WebhooksAction::Retry { which } => {
            let ids = ids(&which)?;
            moved(SENT, &which, store.retry_webhooks(selection(&which, &ids)).await?, LIST, output)
        }
        WebhooksAction::Drop { which } => {
            let ids = ids(&which)?;
            moved(DROPPED, &which, store.drop_webhooks(selection(&which, &ids)).await?, LIST, output)
        }
        WebhooksAction::Secret | WebhooksAction::Test { .. } => Ok(()),
    }
}

async fn through(daemon: &LocalDaemon, action: WebhooksAction, output: Output) -> Result<(), Failure> {
    match action {
        WebhooksAction::List => {
            let answer = daemon.call(Method::GET, "/api/webhooks", None).await?;
            list(answer.get("items").unwrap_or(&Value::Null), output)
        }
        WebhooksAction::Dead { limit } => {
            let answer = daemon.call(Method::GET, &format!("/api/webhooks/dead?limit={limit}"), None).await?;
            dead(answer.get("items").unwrap_or(&Value::Null), output)
        }
        WebhooksAction::Retry { which } => {
            let answer = daemon.call(Method::POST, "/api/webhooks/retry", Some(&which.body())).await?;
            moved(SENT, &which, count(&answer), LIST, output)
        }
        WebhooksAction::Drop { which } => {
            let answer = daemon.call(Method::POST, "/api/webhooks/drop", Some(&which.body())).await?;
            moved(DROPPED, &which, count(&answer), LIST, output)
        }
        WebhooksAction::Secret | WebhooksAction::Test { .. } => Ok(()),
    }
}

fn list(webhooks: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "items": webhooks, "next": null }));
    }
    let webhooks = webhooks.as_array().map_or(&[][..], Vec::as_slice);
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

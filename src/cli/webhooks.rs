//! `webhooks`: shows waiting and dead webhook messages, and sends test messages.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Api, text_of};
use super::arguments::{MessageSelection, WebhooksAction};
use super::dead::{moved, report};
use super::failure::Failure;
use super::output::Output;
use crate::config::Config;
use crate::judging::plain::plain;
use crate::outbound::webhook::new_secret;

const LIST: &str = "webhooks dead";

pub(super) async fn run(config: Arc<Config>, action: WebhooksAction, output: Output) -> Result<(), Failure> {
    match &action {
        WebhooksAction::Secret => return output.text(&format!("{}\n", new_secret())),
        WebhooksAction::Test { name } => return test(&config, name, output).await,
        WebhooksAction::Retry { which } | WebhooksAction::Drop { which } => check_ids(which)?,
        WebhooksAction::List | WebhooksAction::Dead { .. } => {}
    }
    let api = Api::administer(&config, false).await?;
    let done = act(&api, action, output).await;
    api.close_after(done).await
}

async fn act(api: &Api, action: WebhooksAction, output: Output) -> Result<(), Failure> {
    match action {
        WebhooksAction::List => list(&api.list::<Value>("/api/webhooks").await?, output),
        WebhooksAction::Dead { limit } => {
            dead(&api.list::<Value>(&format!("/api/webhooks/dead?limit={limit}")).await?, output)
        }
        WebhooksAction::Retry { which } => {
            report("sent again", moved(api, "/api/webhooks/retry", &which, LIST).await?, output)
        }
        WebhooksAction::Drop { which } => {
            report("dropped", moved(api, "/api/webhooks/drop", &which, LIST).await?, output)
        }
        WebhooksAction::Secret | WebhooksAction::Test { .. } => Ok(()),
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
fn check_ids(which: &MessageSelection) -> Result<(), Failure> {
    match which.ids.iter().find(|id| id.parse::<i64>().is_err()) {
        None => Ok(()),
        Some(id) => Err(Failure::failed(format!("{} is not the id of a message; see `corroborate {LIST}`", plain(id)))),
    }
}

fn list(webhooks: &[Value], output: Output) -> Result<(), Failure> {
    let empty = "no webhooks; add one under [webhooks] in the configuration file (docs/webhooks.md)\n";
    output.list(webhooks, empty, |webhook| {
        let figure = |key: &str| webhook.get(key).and_then(Value::as_i64).unwrap_or(0);
        let is_gone = webhook.get("events").and_then(Value::as_array).is_some_and(Vec::is_empty);
        format!(
            "{}{}  {} waiting{}, {} given up{}",
            plain(text_of(webhook, "name").unwrap_or("?")),
            if is_gone { " (no longer configured)" } else { "" },
            figure("pending"),
            text_of(webhook, "oldest").map(|since| format!(" since {since}")).unwrap_or_default(),
            figure("dead"),
            text_of(webhook, "last_error").map(|error| format!("; last: {}", plain(error))).unwrap_or_default(),
        )
    })
}

fn dead(messages: &[Value], output: Output) -> Result<(), Failure> {
    output.list(messages, "no message was given up\n", |message| {
        let part = |key: &str| text_of(message, key).unwrap_or("-");
        let (webhook, error) = (plain(part("webhook")), plain(part("error")));
        format!("{}  {}  {webhook}  {}  {error}", part("id"), part("dead_at"), part("event"))
    })
}

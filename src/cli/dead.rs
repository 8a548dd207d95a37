//! `dead`: messages that were given up.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::DeadAction;
use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach, segment};
use crate::app::Purpose;
use crate::broker::{DeadLetter, DeadSelection, Queue};
use crate::config::Config;
use crate::outbound::Method;
use crate::outbound::local::{LocalDaemon, LocalError};

pub(super) async fn run(config: Arc<Config>, action: DeadAction, output: Output) -> Result<(), Failure> {
    match reach::app(&config, Purpose::Command).await? {
        Reach::Here(app) => {
            let done = here(&*app.queue, &action, output).await;
            app.close().await?;
            done
        }
        Reach::Daemon(daemon) => through(&daemon, &action, output).await,
    }
}

fn selection(ids: &[String], all: bool) -> DeadSelection<'_> {
    if all { DeadSelection::All } else { DeadSelection::Ids(ids) }
}

async fn here(queue: &dyn Queue, action: &DeadAction, output: Output) -> Result<(), Failure> {
    match action {
        DeadAction::List { limit } => {
            let letters: Vec<Value> = queue.dead_list(*limit).await?.iter().map(summary).collect();
            list(&letters, output)
        }
        DeadAction::Show { id } => match queue.dead_get(id).await? {
            Some(letter) => show(&whole(&letter), output),
            None => Err(unknown(id)),
        },
        DeadAction::Requeue { ids, all } => said("requeued", queue.dead_requeue(selection(ids, *all)).await?, output),
        DeadAction::Drop { ids, all } => said("dropped", queue.dead_drop(selection(ids, *all)).await?, output),
    }
}

async fn through(daemon: &LocalDaemon, action: &DeadAction, output: Output) -> Result<(), Failure> {
    let body = |ids: &[String], all: bool| if all { json!({ "all": true }) } else { json!({ "ids": ids }) };
    let count = |answer: &Value| {
        answer.get("count").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    };
    match action {
        DeadAction::List { limit } => {
            let answer = daemon.call(Method::GET, &format!("/api/dead?limit={limit}"), None).await?;
            list(answer.get("items").and_then(Value::as_array).map_or(&[], Vec::as_slice), output)
        }
        DeadAction::Show { id } => match daemon.call(Method::GET, &format!("/api/dead/{}", segment(id)), None).await {
            Ok(letter) => show(&letter, output),
            Err(LocalError::Refused { status: 404, .. }) => Err(unknown(id)),
            Err(error) => Err(error.into()),
        },
        DeadAction::Requeue { ids, all } => {
            let answer = daemon.call(Method::POST, "/api/dead/requeue", Some(&body(ids, *all))).await?;
            said("requeued", count(&answer), output)
        }
        DeadAction::Drop { ids, all } => {
            let answer = daemon.call(Method::POST, "/api/dead/drop", Some(&body(ids, *all))).await?;
            said("dropped", count(&answer), output)
        }
    }
}

fn unknown(id: &str) -> Failure {
    Failure::failed(format!("there is no dead letter {id}; see `corroborate dead list`"))
}

fn summary(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id, "queue": letter.origin.map(crate::broker::QueueName::as_str), "label": letter.label,
        "error": letter.error, "attempts": letter.attempts, "failed_at": letter.failed_at,
        "message_id": letter.message_id, "bytes": letter.body.len(),
    })
}

fn whole(letter: &DeadLetter) -> Value {
    let mut value = summary(letter);
    if let Some(object) = value.as_object_mut() {
        object.insert("body".to_owned(), String::from_utf8_lossy(&letter.body).into_owned().into());
    }
    value
}

fn list(letters: &[Value], output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "items": letters, "next": null }));
    }
    if letters.is_empty() {
        return output.text("no dead letters\n");
    }
    let mut text = String::new();
    for letter in letters {
        let part = |key: &str| letter.get(key).and_then(Value::as_str);
        let reason =
            part("error").unwrap_or("given up by the broker after too many deliveries; its reason is not known");
        let _infallible = writeln!(
            text,
            "{}  {}  {}  {}",
            part("id").unwrap_or("?"),
            part("failed_at").unwrap_or("-"),
            part("label").unwrap_or("delivery_limit").replace('_', " "),
            crate::judging::plain::plain(reason),
        );
    }
    output.text(&text)
}

fn show(letter: &Value, output: Output) -> Result<(), Failure> {
    output.value(letter)
}

fn said(what: &str, count: usize, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "count": count }));
    }
    output.text(&format!("{count} message(s) {what}\n"))
}

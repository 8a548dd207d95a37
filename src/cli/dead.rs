//! `dead`: lists, shows, requeues and drops dead letters.
//!
//! If a daemon holds the data folder, the command uses its API.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::arguments::{DeadAction, Which};
use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach, segment};
use crate::app::Purpose;
use crate::broker::{DeadLetter, DeadSelection, OpenDeadLetter, Queue};
use crate::config::Config;
use crate::outbound::Method;
use crate::outbound::local::{LocalDaemon, LocalError};

const LIST: &str = "dead list";
/// Ids per request. The body stays well below the daemon's limit of 64 KiB.
const BATCH_IDS: usize = 500;

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

fn selection(which: &Which) -> DeadSelection<'_> {
    if which.all { DeadSelection::All } else { DeadSelection::Ids(&which.ids) }
}

/// Fails if ids were given and none exists.
pub(super) fn moved(what: &str, which: &Which, count: u64, list: &str, output: Output) -> Result<(), Failure> {
    if count == 0 && !which.all {
        return Err(Failure::failed(format!("none of these messages is there; see `corroborate {list}`")));
    }
    if output.json {
        return output.value(&json!({ "count": count }));
    }
    output.text(&format!("{count} message(s) {what}\n"))
}

pub(super) fn count(answer: &Value) -> u64 {
    answer.get("count").and_then(Value::as_u64).unwrap_or(0)
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
        DeadAction::Requeue { which } => said("requeued", which, queue.dead_requeue(selection(which)).await?, output),
        DeadAction::Drop { which } => said("dropped", which, queue.dead_drop(selection(which)).await?, output),
    }
}

async fn through(daemon: &LocalDaemon, action: &DeadAction, output: Output) -> Result<(), Failure> {
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
        DeadAction::Requeue { which } => {
            moved("requeued", which, moved_by(daemon, "/api/dead/requeue", which).await?, LIST, output)
        }
        DeadAction::Drop { which } => {
            moved("dropped", which, moved_by(daemon, "/api/dead/drop", which).await?, LIST, output)
        }
    }
}

/// Returns how many dead letters the daemon moved.
async fn moved_by(daemon: &LocalDaemon, path: &str, which: &Which) -> Result<u64, Failure> {
    if which.all {
        return Ok(count(&daemon.call(Method::POST, path, Some(&which.body())).await?));
    }
    let mut total = 0;
    for ids in which.ids.chunks(BATCH_IDS) {
        match daemon.call(Method::POST, path, Some(&json!({ "ids": ids }))).await {
            Ok(answer) => total += count(&answer),
            // Other batches may have dead letters.
            Err(LocalError::Refused { status: 404, .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(total)
}

fn unknown(id: &str) -> Failure {
    Failure::failed(format!("there is no dead letter {id}; see `corroborate dead list`"))
}

fn summary(letter: &DeadLetter) -> Value {
    json!({
        "id": letter.id, "queue": letter.origin.map(crate::broker::QueueName::as_str), "label": letter.label,
        "error": letter.error, "attempts": letter.attempts, "failed_at": letter.failed_at,
        "message_id": letter.message_id, "bytes": letter.bytes,
    })
}

fn whole(open: &OpenDeadLetter) -> Value {
    let mut value = summary(&open.letter);
    if let Some(object) = value.as_object_mut() {
        object.insert("body".to_owned(), String::from_utf8_lossy(&open.body).into_owned().into());
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

fn said(what: &str, which: &Which, count: usize, output: Output) -> Result<(), Failure> {
    moved(what, which, u64::try_from(count).unwrap_or(u64::MAX), LIST, output)
}

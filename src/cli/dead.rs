//! `dead`: lists, shows, requeues and drops dead letters.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::{Api, ApiError, segment, text_of};
use super::arguments::{DeadAction, MessageSelection};
use super::failure::Failure;
use super::output::Output;
use crate::config::Config;
use crate::judging::plain::plain;
use crate::outbound::Method;

const LIST: &str = "dead list";
/// Ids per request. The body stays well below the API's limit of 64 KiB.
const BATCH_IDS: usize = 500;

pub(super) async fn run(config: Arc<Config>, action: DeadAction, output: Output) -> Result<(), Failure> {
    let api = Api::administer(&config, true).await?;
    let done = act(&api, &action, output).await;
    api.close_after(done).await
}

async fn act(api: &Api, action: &DeadAction, output: Output) -> Result<(), Failure> {
    match action {
        DeadAction::List { limit } => list(&api.list::<Value>(&format!("/api/dead?limit={limit}")).await?, output),
        DeadAction::Show { id } => match api.find::<Value>(&format!("/api/dead/{}", segment(id))).await? {
            Some(letter) => output.value(&letter),
            None => Err(Failure::failed(format!("there is no dead letter {id}; see `corroborate {LIST}`"))),
        },
        DeadAction::Requeue { which } => {
            let count = moved(api, "/api/dead/requeue", which, LIST).await?;
            report("requeued", count, output)
        }
        DeadAction::Drop { which } => {
            let count = moved(api, "/api/dead/drop", which, LIST).await?;
            report("dropped", count, output)
        }
    }
}

/// Returns how many messages were moved. Fails if ids were given and no message has one of them; `list` is the command
/// that shows the ids.
pub(super) async fn moved(api: &Api, path: &str, which: &MessageSelection, list: &str) -> Result<u64, Failure> {
    let mut total = 0;
    for body in bodies(which) {
        match api.call(Method::POST, path, Some(&body)).await {
            Ok(answer) => total += answer.get("count").and_then(Value::as_u64).unwrap_or(0),
            // Other batches may have messages.
            Err(ApiError::Refused { status: 404, .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if total == 0 && !which.all {
        return Err(Failure::failed(format!("none of these messages exists any more; see `corroborate {list}`")));
    }
    Ok(total)
}

fn bodies(which: &MessageSelection) -> Vec<Value> {
    if which.all {
        return vec![json!({ "all": true })];
    }
    which.ids.chunks(BATCH_IDS).map(|ids| json!({ "ids": ids })).collect()
}

pub(super) fn report(what: &str, count: u64, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.value(&json!({ "count": count }));
    }
    output.text(&format!("{count} message(s) {what}\n"))
}

fn list(letters: &[Value], output: Output) -> Result<(), Failure> {
    output.list(letters, "no dead letters\n", |letter| {
        format!(
            "{}  {}  {}  {}",
            text_of(letter, "id").unwrap_or("?"),
            text_of(letter, "failed_at").unwrap_or("-"),
            text_of(letter, "label").unwrap_or("delivery_limit").replace('_', " "),
            plain(text_of(letter, "error").unwrap_or("-")),
        )
    })
}

//! Checks of one claim for a person, with or without progress events.
//!
//! A check waits for one of `CHECKS_AT_ONCE` places, then runs the pipeline.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderName;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::stream::{self, Stream, StreamExt as _};
use serde::Serialize;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::App;
use super::problem::Problem;
use crate::domain::{Item, ItemResult, ids};
use crate::language::hyphens;
use crate::pipeline::{self, Outcome, Progress, Request, Watcher};

/// Maximum claim, characters; longer texts are items.
const MOST_CHARS: usize = 5_000;

#[derive(Debug, Clone)]
pub(crate) struct CheckRequest {
    item: Item,
}

/// Events of a check; `Done` or `Failed` is the last.
#[derive(Debug)]
pub(crate) enum CheckEvent {
    Stage(&'static str),
    Trace(String),
    /// The cause in its stored form.
    Degraded(String),
    Done(Box<ItemResult>),
    Failed(Problem),
}

impl CheckRequest {
    pub(crate) fn new(claim: &str, language: Option<&str>) -> Result<Self, Problem> {
        let claim = claim.trim();
        if claim.trim_matches('\u{AD}').is_empty() {
            return Err(Problem::invalid("the claim is empty; send the statement to check"));
        }
        if claim.chars().nth(MOST_CHARS).is_some() {
            return Err(Problem::invalid(format!(
                "the claim has {} characters, at most {MOST_CHARS} are allowed; send long texts to /api/items",
                claim.chars().count()
            )));
        }
        if claim.contains('\0') {
            return Err(Problem::invalid("the claim contains the NUL character; send plain text"));
        }
        let language = language.map(language_of).transpose()?;
        Ok(Self { item: check_item(claim, language.as_deref()) })
    }

    #[cfg(test)]
    pub(crate) const fn item(&self) -> &Item {
        &self.item
    }
}

/// The item for a person's claim, with its broken words joined. The same claim and language give the same item, so a
/// repeated check is read from the store.
pub fn check_item(claim: &str, language: Option<&str>) -> Item {
    let claim = hyphens::joined(claim.trim());
    let hash = match language {
        Some(language) => ids::content_hash(&[&claim, language]),
        None => ids::content_hash(&[&claim]),
    };
    let mut item = Item::from_claim(format!("check:{hash}"), &claim);
    item.language = language.map(str::to_owned);
    item
}

/// Normalizes `pt-BR` and `PT` to `pt`.
fn language_of(given: &str) -> Result<String, Problem> {
    let code = given.trim().split(['-', '_']).next().unwrap_or_default().to_lowercase();
    if matches!(code.len(), 2 | 3) && code.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Ok(code)
    } else {
        let given: String = given.chars().take(20).collect();
        Err(Problem::invalid(format!(
            "language must be an ISO 639-1 code such as en or ru (got {given:?}); omit it to detect the language"
        )))
    }
}

/// Runs a check after waiting for a place.
pub(crate) async fn check(app: &App, asked: CheckRequest, watcher: Option<Watcher>) -> Result<ItemResult, Problem> {
    run(app, Request { watcher, ..Request::personal(asked.item) }).await
}

/// Re-evaluates a stored item. Returns the newer result if an edit after `sent_at` was stored meanwhile.
pub(crate) async fn again(app: &App, item: Item, sent_at: Option<DateTime<Utc>>) -> Result<ItemResult, Problem> {
    run(app, Request { again: true, sent_at, ..Request::personal(item) }).await
}

async fn run(app: &App, request: Request) -> Result<ItemResult, Problem> {
    // The semaphore is never closed; without a permit the check is only uncounted.
    let _place = app.checks.acquire().await;
    // Retried once: a stored result can be deleted before it is read.
    for _ in 0..2 {
        match pipeline::run(&app.services, &request).await? {
            Outcome::Done(result) => return Ok(*result),
            Outcome::AlreadyDone { .. } | Outcome::Poorer(_) => {
                if let Some(stored) = app.services.store.item(&request.item.item_id).await? {
                    return Ok(stored.result);
                }
            }
        }
    }
    Err(Problem::unavailable("store-away", "the stored answer vanished while it was read; ask again"))
}

struct RunningCheck {
    check: Option<BoxFuture<'static, Result<ItemResult, Problem>>>,
    progress: UnboundedReceiver<Progress>,
    last: Option<CheckEvent>,
}

/// The events of a check. Dropping the stream ends it; cached data stays, but no result is stored.
pub(crate) fn events(app: App, asked: CheckRequest) -> impl Stream<Item = CheckEvent> + Send + 'static {
    let (sender, progress) = unbounded_channel();
    let watcher = Watcher::new(Arc::new(move |progress| {
        // The stream was dropped; the check ends too.
        let _gone = sender.send(progress).is_err();
    }));
    let check: BoxFuture<'static, Result<ItemResult, Problem>> =
        Box::pin(async move { check(&app, asked, Some(watcher)).await });
    let running = RunningCheck { check: Some(check), progress, last: None };
    stream::unfold(running, |mut running| async move {
        let event = next(&mut running).await?;
        Some((event, running))
    })
}

async fn next(running: &mut RunningCheck) -> Option<CheckEvent> {
    let Some(check) = running.check.as_mut() else {
        // Remaining progress first, then the result.
        return running.progress.try_recv().ok().map(event_of).or_else(|| running.last.take());
    };
    // Both branches are cancel-safe.
    let done = tokio::select! {
        biased;
        Some(progress) = running.progress.recv() => return Some(event_of(progress)),
        done = check => done,
    };
    running.check = None;
    running.last = Some(done.map_or_else(CheckEvent::Failed, |result| CheckEvent::Done(Box::new(result))));
    running.progress.try_recv().ok().map(event_of).or_else(|| running.last.take())
}

fn event_of(progress: Progress) -> CheckEvent {
    match progress {
        Progress::Stage(stage) => CheckEvent::Stage(stage),
        Progress::Trace(line) => CheckEvent::Trace(line),
        Progress::Degraded(cause) => CheckEvent::Degraded(cause.to_string()),
    }
}

/// Interval of comments in a stream of server-sent events, because proxies end a silent connection.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Returns a server-sent event.
pub(crate) fn named(name: &str, data: &impl Serialize) -> Event {
    match serde_json::to_string(data) {
        Ok(line) => Event::default().event(name).data(line),
        Err(error) => {
            tracing::error!(%error, event = name, "server-sent event could not be written");
            Event::default().event("problem").data(Problem::internal().shown().to_string())
        }
    }
}

/// Returns a response of server-sent events.
pub(crate) fn streamed(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.map(Ok::<Event, Infallible>).boxed();
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    // nginx would show nothing until the end.
    ([(HeaderName::from_static("x-accel-buffering"), "no")], sse).into_response()
}

//! A person's own check of one claim: by the API, by a page, whole or while it runs.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::stream::{self, Stream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::App;
use super::problem::Problem;
use crate::domain::{Item, ItemResult, ids};
use crate::pipeline::{self, Outcome, Progress, Request, Watcher};

/// Longest claim, characters. Longer texts are items.
const MOST_CHARS: usize = 5_000;

/// A claim that can be checked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    item: Item,
}

/// What a running check tells, in this order; `Done` or `Failed` is the last.
#[derive(Debug)]
pub(crate) enum Told {
    Stage(&'static str),
    Trace(String),
    /// The cause in its stored form.
    Degraded(String),
    Done(Box<ItemResult>),
    Failed(Problem),
}

impl Asked {
    pub(crate) fn new(claim: &str, language: Option<&str>) -> Result<Self, Problem> {
        let claim = claim.trim();
        if claim.is_empty() {
            return Err(Problem::invalid("the claim is empty; send the statement that is to be checked"));
        }
        if claim.chars().nth(MOST_CHARS).is_some() {
            return Err(Problem::invalid(
                "the claim is longer than 5000 characters; send a text like that to /api/items",
            ));
        }
        if claim.contains('\0') {
            return Err(Problem::invalid("the claim holds the NUL character; send plain text"));
        }
        let language = language.map(language_of).transpose()?;
        Ok(Self { item: check_item(claim, language.as_deref()) })
    }

    #[cfg(test)]
    pub(crate) const fn item(&self) -> &Item {
        &self.item
    }
}

/// The item a person's claim is checked as. The same claim in the same language is the same item, however often and
/// wherever it is asked, so that a second question is answered from the store.
pub fn check_item(claim: &str, language: Option<&str>) -> Item {
    let claim = claim.trim();
    let hash = match language {
        Some(language) => ids::content_hash(&[claim, language]),
        None => ids::content_hash(&[claim]),
    };
    let mut item = Item::from_claim(format!("check:{hash}"), claim);
    item.language = language.map(str::to_owned);
    item
}

/// `pt-BR` and `PT` are `pt`.
fn language_of(given: &str) -> Result<String, Problem> {
    let code = given.trim().split(['-', '_']).next().unwrap_or_default().to_lowercase();
    if matches!(code.len(), 2 | 3) && code.bytes().all(|byte| byte.is_ascii_lowercase()) {
        Ok(code)
    } else {
        Err(Problem::invalid("language is a code of two letters, like en or ru; leave it out to have it found out"))
    }
}

/// Checks it, when it is its turn.
pub(crate) async fn check(app: &App, asked: Asked, watcher: Option<Watcher>) -> Result<ItemResult, Problem> {
    run(app, Request { watcher, ..Request::personal(asked.item) }).await
}

/// Judges a stored item once more, when it is its turn. An edit of it that was sent after `sent_at` and is stored meanwhile is
/// answered with instead.
pub(crate) async fn again(app: &App, item: Item, sent_at: Option<DateTime<Utc>>) -> Result<ItemResult, Problem> {
    run(app, Request { again: true, sent_at, ..Request::personal(item) }).await
}

async fn run(app: &App, request: Request) -> Result<ItemResult, Problem> {
    // Never closed; and without a place the check would merely go uncounted.
    let _place = app.checks.acquire().await;
    // Twice at most: a stored answer can be cleaned away between being found and being read.
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

/// The state of a check that tells.
struct Running {
    check: Option<BoxFuture<'static, Result<ItemResult, Problem>>>,
    progress: UnboundedReceiver<Progress>,
    last: Option<Told>,
}

/// The check as it runs. Whoever drops the stream ends the check: what it had learnt by then is kept, and nothing else.
pub(crate) fn told(app: App, asked: Asked) -> impl Stream<Item = Told> + Send + 'static {
    let (sender, progress) = unbounded_channel();
    let watcher = Watcher::new(Arc::new(move |progress| {
        // Nobody listens any more: the check is about to be dropped.
        let _gone = sender.send(progress).is_err();
    }));
    let check: BoxFuture<'static, Result<ItemResult, Problem>> =
        Box::pin(async move { check(&app, asked, Some(watcher)).await });
    let running = Running { check: Some(check), progress, last: None };
    stream::unfold(running, |mut running| async move {
        let told = next(&mut running).await?;
        Some((told, running))
    })
}

async fn next(running: &mut Running) -> Option<Told> {
    let Some(check) = running.check.as_mut() else {
        // The check has ended: first the progress that still waits, then the answer.
        return running.progress.try_recv().ok().map(told_of).or_else(|| running.last.take());
    };
    // Either goes on where it was: a message that was received is told, and the check is not lost by being looked at.
    let done = tokio::select! {
        biased;
        Some(progress) = running.progress.recv() => return Some(told_of(progress)),
        done = check => done,
    };
    running.check = None;
    running.last = Some(done.map_or_else(Told::Failed, |result| Told::Done(Box::new(result))));
    running.progress.try_recv().ok().map(told_of).or_else(|| running.last.take())
}

fn told_of(progress: Progress) -> Told {
    match progress {
        Progress::Stage(stage) => Told::Stage(stage),
        Progress::Trace(line) => Told::Trace(line),
        Progress::Degraded(cause) => Told::Degraded(cause.to_string()),
    }
}

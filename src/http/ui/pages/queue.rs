//! The page of the queue, with dead letters and webhooks.
//!
//! Dead messages can be sent again or dropped.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::super::chrome::{OwnForm, Page};
use super::super::shown;
use super::providers::EmptyForm;
use crate::broker::DeadLetter;
use crate::http::App;
use crate::http::auth::Actor;
use crate::http::problem::Problem;
use crate::http::routes::dead::{LetterAction, Selection, moved};
use crate::http::routes::overview::{Waiting, waiting};
use crate::http::routes::webhooks;
use crate::judging::plain::plain;
use crate::store::{DeadWebhookMessage, Webhook};

/// Maximum dead letters; the broker holds back each one while it is read.
const SHOWN: usize = 50;
const SHOWN_MESSAGES: i64 = 50;
const PAYLOAD_CHARS: u16 = 4_000;

#[derive(Debug, Template)]
#[template(path = "queue.html")]
struct QueuePage {
    page: Page,
    waiting: Vec<(&'static str, String)>,
    /// Reasons that several dead letters share, with their number.
    reasons: Vec<(String, usize)>,
    rows: Vec<Row>,
    webhooks: Vec<Webhook>,
    dead_messages: Vec<DeadWebhookMessage>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReasonForm {
    reason: String,
}

#[derive(Debug)]
struct Row {
    id: String,
    reason: String,
    detail: String,
    queue: &'static str,
    at: String,
    attempts: u32,
    payload: String,
}

pub(crate) async fn show(State(app): State<App>, page: Page) -> Result<Response, Problem> {
    let letters = app.queue.dead_list(SHOWN).await?;
    let waiting = waiting(&app).await?;
    let rows: Vec<Row> = letters.iter().map(row).collect();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        *reasons.entry(row.reason.clone()).or_default() += 1;
    }
    let webhooks = webhooks::webhooks(&app).await?;
    let dead_messages = app.services.store.dead_webhook_messages(SHOWN_MESSAGES, Some(PAYLOAD_CHARS.into())).await?;
    let dead_messages = dead_messages.into_iter().map(shown_message).collect();
    let reasons = reasons.into_iter().filter(|(_, count)| *count > 1).collect();
    shown(&QueuePage { waiting: figures(&waiting, &page), reasons, rows, webhooks, dead_messages, page })
}

fn figures(waiting: &Waiting, page: &Page) -> Vec<(&'static str, String)> {
    let oldest = waiting.oldest.map(|oldest| oldest.format("%Y-%m-%d %H:%M:%S").to_string());
    let figures = [
        ("queue.waiting", Some((waiting.important + waiting.enrichment + waiting.factcheck).to_string())),
        ("queue.in_work", waiting.in_work.map(|count| count.to_string())),
        ("queue.lag", waiting.lag_seconds.map(|lag| format!("{lag:.1}"))),
        ("queue.oldest", oldest),
        ("queue.results", Some((waiting.results_pending + waiting.results_parked).to_string())),
        ("queue.dead", Some(waiting.dead.to_string())),
    ];
    figures.into_iter().filter_map(|(key, figure)| Some((page.t(key), figure?))).collect()
}

fn row(dead: &DeadLetter) -> Row {
    let body = String::from_utf8_lossy(&dead.excerpt);
    let payload = payload(&body);
    Row {
        id: dead.id.clone(),
        reason: dead.reason().to_owned(),
        detail: dead.error.as_deref().map(|error| plain(error).into_owned()).unwrap_or_default(),
        queue: dead.origin.map(crate::broker::QueueName::as_str).unwrap_or_default(),
        at: dead.failed_at.map(|at| at.format("%Y-%m-%d %H:%M").to_string()).unwrap_or_default(),
        attempts: dead.attempts.unwrap_or_default(),
        payload,
    }
}

fn payload(body: &str) -> String {
    body.chars().take(PAYLOAD_CHARS.into()).map(|c| if c == '\n' { c } else { visible(c) }).collect()
}

fn shown_message(message: DeadWebhookMessage) -> DeadWebhookMessage {
    let error = message.error.as_deref().map(|error| plain(error).into_owned());
    DeadWebhookMessage { body: payload(&message.body), error, ..message }
}

/// Replaces invisible characters, so that a message cannot disguise itself.
fn visible(c: char) -> char {
    let mut one = [0; 4];
    plain(c.encode_utf8(&mut one)).chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
}

pub(crate) async fn act(
    State(app): State<App>,
    who: Actor,
    Path((id, action)): Path<(String, String)>,
    OwnForm(EmptyForm {}): OwnForm<EmptyForm>,
) -> Result<Response, Problem> {
    moved(&app, &who, &Selection::of_ids(vec![id]), how(&action)?).await?;
    Ok(Redirect::to("/queue").into_response())
}

pub(crate) async fn act_on_reason(
    State(app): State<App>,
    who: Actor,
    Path(action): Path<String>,
    OwnForm(form): OwnForm<ReasonForm>,
) -> Result<Response, Problem> {
    moved(&app, &who, &Selection::of_reason(form.reason), how(&action)?).await?;
    Ok(Redirect::to("/queue").into_response())
}

pub(crate) async fn act_on_message(
    State(app): State<App>,
    who: Actor,
    Path((id, action)): Path<(String, String)>,
    OwnForm(EmptyForm {}): OwnForm<EmptyForm>,
) -> Result<Response, Problem> {
    webhooks::moved(&app, &who, &webhooks::Selection::of_id(vec![id]), webhook_action(&action)?).await?;
    Ok(Redirect::to("/queue").into_response())
}

pub(crate) async fn act_on_webhook(
    State(app): State<App>,
    who: Actor,
    Path((name, action)): Path<(String, String)>,
    OwnForm(EmptyForm {}): OwnForm<EmptyForm>,
) -> Result<Response, Problem> {
    webhooks::moved(&app, &who, &webhooks::Selection::of_webhook(name), webhook_action(&action)?).await?;
    Ok(Redirect::to("/queue").into_response())
}

fn webhook_action(action: &str) -> Result<webhooks::MessageAction, Problem> {
    match action {
        "retry" => Ok(webhooks::MessageAction::Retry),
        "drop" => Ok(webhooks::MessageAction::Drop),
        _ => Err(Problem::not_found("a message is sent again or dropped")),
    }
}

fn how(action: &str) -> Result<LetterAction, Problem> {
    match action {
        "requeue" => Ok(LetterAction::Requeue),
        "drop" => Ok(LetterAction::Drop),
        _ => Err(Problem::not_found("a dead letter is sent again or dropped")),
    }
}

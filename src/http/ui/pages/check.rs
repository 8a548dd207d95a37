//! The page for checking a claim.
//!
//! It also works without a script, but then shows no progress.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::Event;
use axum::response::{IntoResponse as _, Redirect, Response};
use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::json;

use super::super::answer::{Answer, path_of};
use super::super::chrome::{OwnForm, Page};
use super::super::shown;
use crate::domain::ItemResult;
use crate::domain::rules::DomainRules;
use crate::http::App;
use crate::http::checking::{self, CheckEvent, CheckRequest, named, streamed};
use crate::http::problem::{PageMarker, Problem};
use crate::judging::labels;
use crate::judging::vocabularies::Vocabulary;
use crate::telemetry::catalogue;

const LANGUAGES: [(&str, &str); 4] = [("en", "English"), ("ru", "Русский"), ("uk", "Українська"), ("pt", "Português")];

/// Claims that the bundled facts answer without a search.
const EXAMPLES: [&str; 5] = [
    "The Earth is flat.",
    "Apollo 11 landed the first humans on the Moon in 1969.",
    "5G mobile networks spread COVID-19.",
    "The Earth is about 4.5 billion years old.",
    "Human activities are causing global warming.",
];

fn stages() -> impl Iterator<Item = &'static str> {
    catalogue::STAGES.iter().copied().filter(|stage| *stage != catalogue::OTHER)
}

#[derive(Debug, Template)]
#[template(path = "check.html")]
struct Check {
    page: Page,
    claim: String,
    problem: Option<String>,
    vocabularies: Vec<&'static str>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ClaimForm {
    claim: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    vocabulary: String,
}

fn blank(page: Page) -> Check {
    let vocabularies = Vocabulary::ALL.iter().map(|vocabulary| vocabulary.as_str()).collect();
    Check { page, claim: String::new(), problem: None, vocabularies }
}

pub(crate) async fn show(page: Page) -> Result<Response, Problem> {
    shown(&blank(page))
}

/// Without a script: runs the check, then redirects.
pub(crate) async fn send(
    State(app): State<App>,
    page: Page,
    OwnForm(form): OwnForm<ClaimForm>,
) -> Result<Response, Problem> {
    match asked(&form) {
        Err(problem) => {
            let again = Check { claim: form.claim, problem: Some(problem.detail().to_owned()), ..blank(page) };
            let mut response = shown(&again)?;
            *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            response.extensions_mut().insert(PageMarker);
            Ok(response)
        }
        Ok(asked) => {
            let result = checking::check(&app, asked, None).await?;
            let words = match vocabulary(&form) {
                Vocabulary::Ours => String::new(),
                other => format!("?vocabulary={}", other.as_str()),
            };
            Ok(Redirect::to(&format!("{}{words}", path_of(&result.item_id))).into_response())
        }
    }
}

fn asked(form: &ClaimForm) -> Result<CheckRequest, Problem> {
    let language = Some(form.language.as_str()).filter(|language| !language.is_empty());
    CheckRequest::new(&form.claim, language)
}

fn vocabulary(form: &ClaimForm) -> Vocabulary {
    Vocabulary::parse(&form.vocabulary).unwrap_or(Vocabulary::Ours)
}

/// With a script: streams progress, then the card.
pub(crate) async fn stream(
    State(app): State<App>,
    page: Page,
    OwnForm(form): OwnForm<ClaimForm>,
) -> Result<Response, Problem> {
    let asked = asked(&form)?;
    let (reader, vocabulary, rules) = (page.reader, vocabulary(&form), Arc::clone(&app.services.rules));
    let events = checking::events(app, asked).map(move |event| match event {
        CheckEvent::Stage(stage) => named("stage", &json!({ "stage": stage })),
        CheckEvent::Trace(line) => named("trace", &json!({ "line": line })),
        CheckEvent::Degraded(cause) => {
            named("degraded", &json!({ "cause": cause, "words": labels::cause(&cause, reader) }))
        }
        CheckEvent::Done(result) => card(&result, &form.claim, (vocabulary, &rules.current()), &page),
        CheckEvent::Failed(problem) => named("problem", &problem.shown()),
    });
    Ok(streamed(events))
}

fn card(result: &ItemResult, claim: &str, by: (Vocabulary, &DomainRules), page: &Page) -> Event {
    match Answer::of(result, Some(claim), by, page).render() {
        Ok(html) => named("card", &json!({ "html": html, "link": path_of(&result.item_id) })),
        Err(error) => {
            tracing::error!(%error, "card rendering failed");
            named("problem", &Problem::internal().shown())
        }
    }
}

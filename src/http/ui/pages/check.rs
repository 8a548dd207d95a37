//! Checking a claim: a form, five claims to try, and the check while it runs.

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
use crate::http::checking::{self, Asked, Told};
use crate::http::events::{named, streamed};
use crate::http::problem::{AsShown, Problem};
use crate::judging::labels;
use crate::judging::vocabularies::Vocabulary;
use crate::telemetry::catalogue;

/// Languages that a claim is likely to be in.
const LANGUAGES: [(&str, &str); 4] = [("en", "English"), ("ru", "Русский"), ("uk", "Українська"), ("pt", "Português")];

/// Claims that the facts which come with the program answer without a search.
const EXAMPLES: [&str; 5] = [
    "The Earth is flat.",
    "Apollo 11 landed the first humans on the Moon in 1969.",
    "5G mobile networks spread COVID-19.",
    "The Earth is about 4.5 billion years old.",
    "Human activities are causing global warming.",
];

/// The stages that a running check names, in their order.
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

/// What the form holds.
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

/// Without a script: the check runs, and then its page is shown.
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
            response.extensions_mut().insert(AsShown);
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

fn asked(form: &ClaimForm) -> Result<Asked, Problem> {
    let language = Some(form.language.as_str()).filter(|language| !language.is_empty());
    Asked::new(&form.claim, language)
}

fn vocabulary(form: &ClaimForm) -> Vocabulary {
    Vocabulary::parse(&form.vocabulary).unwrap_or(Vocabulary::Ours)
}

/// With a script: each stage as it begins, who could not be asked as it shows, and the card at the end.
pub(crate) async fn stream(
    State(app): State<App>,
    page: Page,
    OwnForm(form): OwnForm<ClaimForm>,
) -> Result<Response, Problem> {
    let asked = asked(&form)?;
    let (reader, vocabulary, rules) = (page.reader, vocabulary(&form), Arc::clone(&app.services.rules));
    let told = checking::told(app, asked).map(move |told| match told {
        Told::Stage(stage) => named("stage", &json!({ "stage": stage })),
        Told::Trace(line) => named("trace", &json!({ "line": line })),
        Told::Degraded(cause) => named("degraded", &json!({ "cause": cause, "words": labels::cause(&cause, reader) })),
        Told::Done(result) => card(&result, &form.claim, (vocabulary, &rules.current()), &page),
        Told::Failed(problem) => named("problem", &problem.shown()),
    });
    Ok(streamed(told))
}

fn card(result: &ItemResult, claim: &str, by: (Vocabulary, &DomainRules), page: &Page) -> Event {
    match Answer::of(result, Some(claim), by, page).render() {
        Ok(html) => named("card", &json!({ "html": html, "link": path_of(&result.item_id) })),
        Err(error) => {
            tracing::error!(%error, "a card could not be made");
            named("problem", &Problem::internal().shown())
        }
    }
}

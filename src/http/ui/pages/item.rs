//! The page of an item.
//!
//! Foreign text is escaped by the template.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::super::answer::{Answer, path_of};
use super::super::card::look;
use super::super::chrome::{OwnForm, Page};
use super::super::shown;
use super::providers::EmptyForm;
use crate::domain::ItemResult;
use crate::domain::verdict::Verdict;
use crate::http::App;
use crate::http::auth::{Actor, Scope};
use crate::http::extract::{ApiPath, ApiQuery};
use crate::http::problem::Problem;
use crate::http::routes::items::judged;
use crate::http::routes::items::reported_channels;
use crate::judging::labels;
use crate::judging::plain::plain;
use crate::judging::vocabularies::Vocabulary;
use crate::store::EarlierVerdict;

/// Maximum characters of a text that replaces a missing title.
const TITLE_CHARS: usize = 120;

#[derive(Debug, Template)]
#[template(path = "item.html")]
struct ItemPage {
    page: Page,
    title: String,
    done_at: String,
    channel: Option<String>,
    text: String,
    /// Rendered HTML; its template escapes foreign text.
    answer: String,
    also: Vec<String>,
    digest: Vec<String>,
    cost: String,
    path: String,
    may_check: bool,
    passages: String,
    earlier: Vec<EarlierAnswer>,
}

/// An answer that a later one replaced.
#[derive(Debug)]
struct EarlierAnswer {
    at: String,
    colour: &'static str,
    verdict: String,
    claim: String,
    judge: String,
    /// Why the answer was replaced without a request.
    why: Option<&'static str>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct VocabularyQuery {
    /// Vocabulary shown in addition to our verdict.
    #[serde(default)]
    vocabulary: String,
}

pub(crate) async fn show(
    State(app): State<App>,
    page: Page,
    ApiPath(id): ApiPath,
    ApiQuery(query): ApiQuery<VocabularyQuery>,
) -> Result<Response, Problem> {
    let vocabulary = Vocabulary::parse(&query.vocabulary).unwrap_or(Vocabulary::Ours);
    let unknown = || Problem::not_found(page.t("item.unknown"));
    let stored = app.services.store.item_to_show(&id).await?.ok_or_else(unknown)?;
    let result = &stored.result;
    let asked = Some(stored.text.as_str()).filter(|_| id.starts_with("check:"));
    let answer =
        Answer::of(result, asked, (vocabulary, &app.services.rules.current()), &page).render().map_err(|error| {
            tracing::error!(%error, "card rendering failed");
            Problem::internal()
        })?;
    let first = result.main_claim().map_or(stored.text.as_str(), |claim| claim.text.as_str());
    let title = stored.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(first);
    let lines = |lines: &[String]| lines.iter().map(|line| plain(line).into_owned()).collect();
    let earlier = app.services.store.reading().verdict_history(&id).await?;
    let cluster = match &stored.cluster_id {
        Some(cluster) => app.services.store.cluster_channels(cluster, &id).await?,
        None => Vec::new(),
    };
    shown(&ItemPage {
        path: path_of(&id),
        may_check: page.visitor.may(Scope::Check),
        passages: format!("/api{}", path_of(&id).replacen("/evidence/", "/items/", 1)),
        earlier: earlier.iter().map(|one| past(one, &page)).collect(),
        title: shortened(&plain(title)),
        done_at: result.enriched_at.format("%Y-%m-%d %H:%M UTC").to_string(),
        channel: stored.channel.as_deref().map(|channel| plain(channel).into_owned()),
        text: if asked.is_some() { String::new() } else { plain(&stored.text).into_owned() },
        answer,
        also: lines(&reported_channels(&stored, cluster)),
        digest: lines(&result.context.digest_lines),
        cost: cost(result, &page),
        page,
    })
}

fn past(one: &EarlierVerdict, page: &Page) -> EarlierAnswer {
    let reader = page.reader;
    let verdict = Verdict::parse(&one.verdict).unwrap_or(Verdict::NotEnoughEvidence);
    let firmness = labels::decisive(verdict, one.decisive).map(|firm| format!(" ({})", firm.of(reader)));
    EarlierAnswer {
        at: one.evaluated_at.format("%Y-%m-%d %H:%M").to_string(),
        colour: look(verdict).0,
        verdict: format!("{}{}", labels::verdict(verdict).of(reader), firmness.unwrap_or_default()),
        claim: plain(&one.claim).into_owned(),
        judge: plain(&one.judge).into_owned(),
        why: one.why.map(|why| page.t(&format!("item.why_{why}"))),
    }
}

pub(crate) async fn again(
    State(app): State<App>,
    who: Actor,
    ApiPath(id): ApiPath,
    OwnForm(EmptyForm {}): OwnForm<EmptyForm>,
) -> Result<Response, Problem> {
    judged(&app, &who, &id).await?;
    Ok(Redirect::to(&path_of(&id)).into_response())
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text).trim_end()),
        None => text.to_owned(),
    }
}

/// "0.0040 USD · calls: 12 · 3.2 s".
fn cost(result: &ItemResult, page: &Page) -> String {
    let cost = &result.cost;
    let calls: u32 = cost.provider_calls.values().sum::<u32>() + cost.llm_calls;
    let seconds = std::time::Duration::from_millis(cost.millis).as_secs_f64();
    format!("{:.4} USD · {}: {calls} · {seconds:.1} {}", cost.usd, page.t("item.calls"), page.t("item.seconds"))
}

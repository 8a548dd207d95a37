//! The page of items, and their export.
//!
//! The filters are those of `/api/items`.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use futures::TryStreamExt as _;

use super::super::answer::path_of;
use super::super::card::look;
use super::super::chrome::Page;
use super::super::shown;
use crate::domain::verdict::{Tier, Verdict};
use crate::http::App;
use crate::http::extract::ApiQuery;
use crate::http::problem::Problem;
use crate::http::routes::items::{ListQuery, filter_of};
use crate::judging::labels;
use crate::judging::plain::plain;
use crate::store::{ItemFilter, ItemSummary, Page as FoundPage, Store, StoreError};

/// Each export keeps one page in memory until its client takes it.
const EXPORT_PAGE: i64 = 50;
/// `Retry-After` while another export reads.
const EXPORT_RETRY: Duration = Duration::from_secs(30);

#[derive(Debug, Template)]
#[template(path = "items.html")]
struct Items {
    page: Page,
    problem: Option<String>,
    q: String,
    channel: String,
    since: String,
    degraded: bool,
    contradiction: bool,
    choices: Vec<Choice>,
    rows: Vec<Row>,
    next: Option<String>,
    export: String,
}

#[derive(Debug)]
struct Choice {
    label: &'static str,
    name: &'static str,
    options: Vec<Opt>,
}

#[derive(Debug)]
struct Opt {
    value: &'static str,
    label: String,
    here: bool,
}

#[derive(Debug)]
struct Row {
    href: String,
    text: String,
    colour: &'static str,
    verdict: &'static str,
    firmness: &'static str,
    tier: &'static str,
    channel: String,
    day: String,
    gaps: Vec<String>,
}

pub(crate) async fn show(
    State(app): State<App>,
    page: Page,
    RawQuery(raw): RawQuery,
    ApiQuery(query): ApiQuery<ListQuery>,
) -> Result<Response, Problem> {
    let choices = choices(&query, &page);
    let (filter, problem) = match filter_of(without_blanks(query.clone())) {
        Ok(filter) => (filter, None),
        // An invalid filter is ignored, and the page shows the error.
        Err(problem) => (ItemFilter { limit: 50, ..ItemFilter::default() }, Some(problem.detail().to_owned())),
    };
    let found = app.services.store.reading().items(&filter).await?;
    let address = |path: &str, cursor: Option<&str>| address(path, raw.as_deref().unwrap_or_default(), cursor);
    shown(&Items {
        problem,
        q: query.q.unwrap_or_default(),
        channel: query.channel.unwrap_or_default(),
        since: query.since.unwrap_or_default(),
        degraded: query.degraded == Some(true),
        contradiction: query.contradiction == Some(true),
        choices,
        rows: found.items.iter().map(|item| row(item, &page)).collect(),
        next: found.next.map(|next| address("/items", Some(&next))),
        export: address("/items/export", None),
        page,
    })
}

/// The filtered items as NDJSON, newest first.
///
/// A failure cuts the response off, so that a part does not look complete. One export at a time reads a page, because
/// it uses connections that all pages share. Others may read while its client takes the page.
pub(crate) async fn export(State(app): State<App>, ApiQuery(query): ApiQuery<ListQuery>) -> Result<Response, Problem> {
    let place = Arc::clone(&app.exports).try_acquire_owned().map_err(|_taken| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", "another export is running; try again later")
            .retry_after(EXPORT_RETRY)
    })?;
    let filter = ItemFilter { limit: EXPORT_PAGE, ..filter_of(without_blanks(query))? };
    // Read before the head is sent, so that a failed store is an error status.
    let first = app.services.store.reading().items(&filter).await?;
    // Released now, because a slow client would block all other exports.
    drop(place);
    let pages = futures::stream::try_unfold(Some((filter, first)), move |at| {
        let (store, exports) = (app.services.store.reading(), Arc::clone(&app.exports));
        async move {
            let Some((mut filter, found)) = at else { return Ok(None) };
            // Held until the page is read. The semaphore is never closed.
            let _place = exports.acquire_owned().await;
            let lines = lines_of(&store, &found).await?;
            filter.cursor = found.next;
            let next = match filter.cursor {
                Some(_) => Some((filter.clone(), store.items(&filter).await?)),
                None => None,
            };
            Ok::<_, StoreError>(Some((lines, next)))
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"items.ndjson\""),
    ];
    let pages = pages.inspect_err(|error| tracing::error!(%error, "item export aborted"));
    Ok((headers, Body::from_stream(pages)).into_response())
}

async fn lines_of(store: &Store, found: &FoundPage<ItemSummary>) -> Result<String, StoreError> {
    let mut lines = String::new();
    for item in &found.items {
        // An item that was deleted meanwhile is left out.
        if let Some(stored) = store.item(&item.item_id).await? {
            let line = serde_json::to_string(&stored.result);
            lines.push_str(&line.map_err(|error| StoreError::Corrupt { detail: error.to_string() })?);
            lines.push('\n');
        }
    }
    Ok(lines)
}

/// Removes empty fields, which forms also send.
fn without_blanks(query: ListQuery) -> ListQuery {
    let filled = |field: Option<String>| field.filter(|text| !text.trim().is_empty());
    ListQuery {
        status: filled(query.status),
        tier: filled(query.tier),
        verdict: filled(query.verdict),
        firmness: filled(query.firmness),
        channel: filled(query.channel),
        language: filled(query.language),
        since: filled(query.since),
        q: filled(query.q),
        cursor: filled(query.cursor),
        ..query
    }
}

/// The same filters at another path or cursor.
fn address(path: &str, query: &str, cursor: Option<&str>) -> String {
    let kept =
        url::form_urlencoded::parse(query.as_bytes()).filter(|(name, value)| name != "cursor" && !value.is_empty());
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(kept);
    if let Some(cursor) = cursor {
        text.append_pair("cursor", cursor);
    }
    let text = text.finish();
    if text.is_empty() { path.to_owned() } else { format!("{path}?{text}") }
}

fn choices(query: &ListQuery, page: &Page) -> Vec<Choice> {
    let reader = page.reader;
    let option = |chosen: &Option<String>, value: &'static str, label: &str| Opt {
        value,
        label: label.to_owned(),
        here: chosen.as_deref() == Some(value),
    };
    let verdicts =
        Verdict::ALL.iter().map(|one| option(&query.verdict, one.as_str(), labels::verdict(*one).of(reader)));
    let tiers = Tier::ALL.iter().map(|one| option(&query.tier, one.as_str(), labels::tier(*one).of(reader)));
    let languages = [("en", "English"), ("ru", "Русский"), ("uk", "Українська")];
    vec![
        Choice { label: page.t("items.verdict"), name: "verdict", options: verdicts.collect() },
        Choice { label: page.t("items.tier"), name: "tier", options: tiers.collect() },
        Choice {
            label: page.t("items.firmness"),
            name: "firmness",
            options: vec![
                option(&query.firmness, "firm", page.t("items.firm")),
                option(&query.firmness, "lean", page.t("items.lean")),
            ],
        },
        Choice {
            label: page.t("items.language"),
            name: "language",
            options: languages.iter().map(|(code, name)| option(&query.language, code, name)).collect(),
        },
    ]
}

fn row(item: &ItemSummary, page: &Page) -> Row {
    let reader = page.reader;
    let verdict = item.verdict.as_deref().and_then(Verdict::parse).unwrap_or(Verdict::NotVerifiable);
    let text = item.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&item.text);
    let firmness = labels::decisive(verdict, item.decisive == Some(true)).map(|words| words.of(reader));
    let tier = item.tier.as_deref().and_then(Tier::parse).filter(|_| verdict == Verdict::Supported);
    Row {
        href: path_of(&item.item_id),
        text: plain(text).into_owned(),
        colour: look(verdict).0,
        verdict: labels::verdict(verdict).of(reader),
        firmness: firmness.unwrap_or_default(),
        tier: tier.map(|tier| labels::tier(tier).of(reader)).unwrap_or_default(),
        channel: item.channel.as_deref().map(|channel| plain(channel).into_owned()).unwrap_or_default(),
        day: item.enriched_at.format("%Y-%m-%d %H:%M").to_string(),
        gaps: item.degraded.iter().map(|cause| labels::cause(cause, reader)).collect(),
    }
}

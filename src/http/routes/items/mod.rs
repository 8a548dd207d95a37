//! Items: sending them, and reading their results.
//!
//! Sent items are only queued here; workers process them later.

pub(crate) mod intake;
mod schemas;

use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::on;
use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LIMIT, List, Parameter, Route, TimeoutClass, flag, text};
use crate::broker::{Queue, QueueName};
use crate::domain::item::ClusterMember;
use crate::domain::verdict::{Status, Tier, Verdict};
use crate::domain::{Item, ItemResult};
use crate::http::App;
use crate::http::auth::{Access, Actor};
use crate::http::bodies::SMALL_BODY_BYTES;
use crate::http::checking;
use crate::http::extract::{ApiPath, ApiQuery, RawBody, page_limit, query_text};
use crate::http::problem::Problem;
use crate::pipeline::digest_also_reported;
use crate::store::{EarlierVerdict, ItemFilter, ItemSummary, Page, StoredEvidence, StoredItem};
use intake::Intake;

const ID: Parameter = Parameter::path("id", "the item_id, percent-encoded: a slash is %2F", text);

pub(crate) const ROUTES: &[Route] = &[
    Route::post("/api/items", Access::Admin, "sendItems", |method| on(method, send))
        .about("Queue one item, an array, or NDJSON (application/x-ndjson)")
        .parameters(&[Parameter::query(
            "queue",
            "factcheck for the fact-check lookup only; enrichment when absent",
            schemas::queue,
        )])
        .body_of(items_schema)
        .answer::<Taken>("What was queued, and what was not and why")
        .status(202)
        .timeout(TimeoutClass::Check),
    Route::get("/api/items", Access::Read, "listItems", |method| on(method, list))
        .about("List items, newest first")
        .parameters(&[
            Parameter::query("status", "only items with this status", schemas::status),
            Parameter::query("tier", "only items of this tier", schemas::tier),
            Parameter::query("verdict", "only items whose main claim has this verdict", schemas::verdict),
            Parameter::query(
                "firmness",
                "only items whose main verdict is conclusive (firm) or provisional (lean)",
                schemas::firmness,
            ),
            Parameter::query("channel", "only items of this channel", text),
            Parameter::query("language", "only items in this language, like ru", text),
            Parameter::query(
                "degraded",
                "only items for which not everything could be asked; with false, only the others",
                flag,
            ),
            Parameter::query(
                "contradiction",
                "only items that some passage contradicts; with false, only the others",
                flag,
            ),
            Parameter::query(
                "since",
                "only items done since that day (2026-11-24) or moment (RFC 3339)",
                schemas::since,
            ),
            Parameter::query(
                "q",
                "words that occur in the text or title, as typed, from the beginning of a word",
                text,
            ),
            Parameter::query("cursor", "next of the page before", schemas::cursor),
            LIMIT,
        ])
        .answer_of("A page", schemas::page),
    Route::get("/api/items/{id}", Access::Read, "getItem", |method| on(method, get))
        .about("The result of an item")
        .parameters(&[ID])
        .answer::<ItemResult>("The result as it was published"),
    Route::get("/api/items/{id}/evidence", Access::Read, "getEvidence", |method| on(method, evidence))
        .about("All judged passages of an item")
        .parameters(&[ID])
        .answer_of("The passages, best first within each claim", schemas::evidence),
    Route::get("/api/claims/{id}", Access::Read, "getClaim", |method| on(method, claim))
        .about("The item of a claim")
        .parameters(&[Parameter::path("id", "the claim_id, like clm_5f2c81d09a3e4b67", text)])
        .answer::<ClaimItem>("The claim's item"),
    Route::get("/api/items/{id}/context", Access::Read, "getContext", |method| on(method, context))
        .about("Lines for digests and prompts; other channels are looked up at each request")
        .parameters(&[ID])
        .answer::<ItemContext>("The lines"),
    Route::get("/api/items/{id}/history", Access::Read, "getHistory", |method| on(method, history))
        .about("Earlier verdicts of a re-evaluated item")
        .parameters(&[ID])
        .answer::<List<EarlierVerdict>>("Earlier answers, the latest first"),
    Route::post("/api/items/{id}/again", Access::Check, "judgeAgain", |method| on(method, again))
        .about("Re-evaluate a stored item now, with cached provider responses")
        .parameters(&[ID])
        .answer::<ItemResult>("The new result")
        .timeout(TimeoutClass::Check),
];

/// Maximum search text, characters.
const MOST_WORDS: usize = 200;

/// An item or an array of items.
fn items_schema(generator: &mut SchemaGenerator) -> Schema {
    // The item's own schema does not require a text.
    let words = schemars::json_schema!({"type": "string", "pattern": "\\S"});
    let source =
        schemars::json_schema!({"type": "object", "required": ["text"], "properties": {"text": words.clone()}});
    let has_text = schemars::json_schema!({"anyOf": [
        {"required": ["text"], "properties": {"text": words}},
        {"required": ["sources"], "properties": {"sources": {"type": "array", "minItems": 1, "items": source}}}
    ]});
    let one = schemars::json_schema!({"allOf": [generator.subschema_for::<Item>(), has_text]});
    schemars::json_schema!({"oneOf": [one.clone(), {"type": "array", "minItems": 1, "items": one}]})
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendQuery {
    queue: Option<String>,
}

/// The outcome for the items that were sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Taken {
    /// Number of queued items.
    accepted: usize,
    /// The first hundred rejected items, each with `index` (from 0) or `line` (from 1), `error` and `label`.
    rejected: Vec<Value>,
    /// Number of rejected items.
    rejected_count: usize,
}

/// The filters of a list, as sent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListQuery {
    pub(crate) status: Option<String>,
    pub(crate) tier: Option<String>,
    pub(crate) verdict: Option<String>,
    /// `firm` (conclusive) or `lean` (provisional).
    pub(crate) firmness: Option<String>,
    pub(crate) channel: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) degraded: Option<bool>,
    pub(crate) contradiction: Option<bool>,
    pub(crate) since: Option<String>,
    pub(crate) q: Option<String>,
    pub(crate) cursor: Option<String>,
    pub(crate) limit: Option<i64>,
}

/// A claim and its item.
#[derive(Debug, Serialize, JsonSchema)]
struct ClaimItem {
    claim_id: String,
    item_id: String,
}

/// Lines of an item for a digest or prompt.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ItemContext {
    item_id: String,
    status: Status,
    degraded: Vec<String>,
    tier: Option<Tier>,
    score: Option<u32>,
    /// Channels with the same story, at most three.
    also_reported_by: Vec<String>,
    evidence: Vec<String>,
    background: Vec<String>,
    digest_lines: Vec<String>,
}

async fn send(
    State(app): State<App>,
    ApiQuery(query): ApiQuery<SendQuery>,
    body: RawBody,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    let name = queue_of(query.queue.as_deref())?;
    let intake = if body.bytes.len() > SMALL_BODY_BYTES {
        // Many items would block a runtime thread too long.
        let read = tokio::task::spawn_blocking(move || Intake::read(body.kind, &body.bytes)).await;
        read.map_err(|panicked| {
            tracing::error!(error = %panicked, "reading items failed");
            Problem::internal()
        })?
    } else {
        Intake::read(body.kind, &body.bytes)
    };
    accept(app.queue.as_ref(), name, intake).await.map(|accepted| (StatusCode::ACCEPTED, Json(accepted)))
}

fn queue_of(given: Option<&str>) -> Result<QueueName, Problem> {
    match given {
        None | Some("enrichment") => Ok(QueueName::Enrichment),
        Some("important") => Ok(QueueName::Important),
        Some(given) => QueueName::parse(given)
            .ok_or_else(|| one_of("queue", given, ["important", "enrichment", "factcheck"].into_iter())),
    }
}

/// Queues the valid items; an error if there are none.
async fn accept(queue: &dyn Queue, name: QueueName, intake: Intake) -> Result<Taken, Problem> {
    let (rejected, rejected_count) = (intake.rejections(), intake.rejected());
    if intake.messages.is_empty() {
        let detail = match rejected.first().and_then(|first| first["error"].as_str()) {
            None => "the body holds no item; send one object, an array, or one object a line".to_owned(),
            Some(reason) if rejected_count == 1 => reason.to_owned(),
            Some(reason) => format!("none of the {rejected_count} items can be taken; the first because {reason}"),
        };
        return Err(Problem::bad_request(detail)
            .with("rejected", json!(rejected))
            .with("rejected_count", json!(rejected_count)));
    }
    queue.publish_items(name, &intake.messages).await?;
    Ok(Taken { accepted: intake.messages.len(), rejected, rejected_count })
}

async fn list(
    State(app): State<App>,
    ApiQuery(query): ApiQuery<ListQuery>,
) -> Result<Json<List<ItemSummary>>, Problem> {
    let filter = filter_of(query)?;
    let Page { items, next } = app.services.store.reading().items(&filter).await?;
    Ok(Json(List { items, next }))
}

pub(crate) fn filter_of(query: ListQuery) -> Result<ItemFilter, Problem> {
    let status = query_text("status", query.status, 20)?;
    if let Some(word) = status.as_deref().filter(|word| Status::parse(word).is_none()) {
        return Err(one_of("status", word, Status::ALL.iter().map(|one| one.as_str())));
    }
    let tier = query_text("tier", query.tier, 20)?
        .map(|word| Tier::parse(&word).ok_or_else(|| one_of("tier", &word, Tier::ALL.iter().map(|one| one.as_str()))));
    let verdict = query_text("verdict", query.verdict, 30)?.map(|word| {
        Verdict::parse(&word).ok_or_else(|| one_of("verdict", &word, Verdict::ALL.iter().map(|one| one.as_str())))
    });
    let decisive = query_text("firmness", query.firmness, 10)?.map(|word| match word.as_str() {
        "firm" => Ok(true),
        "lean" => Ok(false),
        other => Err(one_of("firmness", other, ["firm", "lean"].into_iter())),
    });
    let cursor = query_text("cursor", query.cursor, 600)?;
    if cursor.as_deref().is_some_and(|cursor| !looks_like_cursor(cursor)) {
        return Err(Problem::bad_request("the cursor is not from this server; omit it to start at the first page"));
    }
    let limit = page_limit(query.limit)?;
    Ok(ItemFilter {
        status,
        tier: tier.transpose()?,
        verdict: verdict.transpose()?,
        decisive: decisive.transpose()?,
        channel: query_text("channel", query.channel, MOST_WORDS)?,
        language: query_text("language", query.language, 20)?,
        degraded: query.degraded,
        contradiction: query.contradiction,
        since: query_text("since", query.since, 40)?.map(|text| moment(&text)).transpose()?,
        q: query_text("q", query.q, MOST_WORDS)?,
        cursor,
        limit,
    })
}

fn one_of(name: &str, given: &str, all: impl Iterator<Item = &'static str>) -> Problem {
    let given: String = given.chars().take(40).collect();
    Problem::bad_request(format!("{name} is one of {} (got {given:?})", all.collect::<Vec<_>>().join(", ")))
}

/// Parses a time; a date means midnight UTC.
fn moment(text: &str) -> Result<DateTime<Utc>, Problem> {
    let day = || Some(text.parse::<NaiveDate>().ok()?.and_time(NaiveTime::MIN).and_utc());
    DateTime::parse_from_rfc3339(text).map(|moment| moment.to_utc()).ok().or_else(day).ok_or_else(|| {
        Problem::bad_request(format!(
            "since is a date like 2026-11-24 or a time like 2026-11-24T08:00:00Z (got {text:?})"
        ))
    })
}

/// Whether a text begins like a store cursor: with a time in microseconds.
fn looks_like_cursor(cursor: &str) -> bool {
    let micros = cursor.split_once('.').and_then(|(micros, _)| micros.parse().ok());
    micros.and_then(DateTime::from_timestamp_micros).is_some()
}

fn unknown_item() -> Problem {
    Problem::not_found("no finished item has this id; it may still be waiting. GET /api/items lists finished items")
}

async fn stored(app: &App, id: &str) -> Result<StoredItem, Problem> {
    app.services.store.item_to_show(id).await?.ok_or_else(unknown_item)
}

async fn get(State(app): State<App>, ApiPath(id): ApiPath) -> Result<Json<ItemResult>, Problem> {
    Ok(Json(stored(&app, &id).await?.result))
}

async fn evidence(State(app): State<App>, ApiPath(id): ApiPath) -> Result<Json<List<StoredEvidence>>, Problem> {
    let passages = app.services.store.evidence_to_show(&id).await?;
    if passages.is_empty() {
        // No evidence is a result; an unknown item is an error.
        stored(&app, &id).await?;
    }
    Ok(Json(List::whole(passages)))
}

async fn claim(State(app): State<App>, ApiPath(claim_id): ApiPath) -> Result<Json<ClaimItem>, Problem> {
    let item_id = app.services.store.item_of_claim(&claim_id).await?;
    let item_id = item_id.ok_or_else(|| Problem::not_found("no finished item has a claim with this id"))?;
    Ok(Json(ClaimItem { claim_id, item_id }))
}

async fn context(State(app): State<App>, ApiPath(id): ApiPath) -> Result<Json<ItemContext>, Problem> {
    let item = stored(&app, &id).await?;
    let cluster = match &item.cluster_id {
        Some(cluster) => app.services.store.cluster_channels(cluster, &item.item_id).await?,
        None => Vec::new(),
    };
    Ok(Json(context_of(item, cluster)))
}

/// Clusters grow later, so other channels are looked up again.
fn context_of(item: StoredItem, cluster: Vec<String>) -> ItemContext {
    let channels = reported_channels(&item, cluster);
    let result = item.result;
    let stale = digest_also_reported(&result.also_reported_by);
    let mut digest_lines: Vec<String> = digest_also_reported(&channels).into_iter().collect();
    digest_lines.extend(result.context.digest_lines.into_iter().filter(|line| Some(line) != stale.as_ref()));
    ItemContext {
        item_id: item.item_id,
        status: result.status,
        degraded: result.degraded,
        tier: result.tier,
        score: result.score,
        also_reported_by: channels,
        evidence: result.context.evidence,
        background: result.context.background,
        digest_lines,
    }
}

/// Re-evaluates an item, even if it has a result.
pub(crate) async fn judged(app: &App, who: &Actor, id: &str) -> Result<ItemResult, Problem> {
    let stored = app.services.store.stored_run(id).await?.ok_or_else(unknown_item)?;
    who.did(app, "item.again", id, None).await;
    checking::again(app, stored.item, stored.sent_at).await
}

async fn again(State(app): State<App>, who: Actor, ApiPath(id): ApiPath) -> Result<Json<ItemResult>, Problem> {
    judged(&app, &who, &id).await.map(Json)
}

async fn history(State(app): State<App>, ApiPath(id): ApiPath) -> Result<Json<List<EarlierVerdict>>, Problem> {
    let earlier = app.services.store.verdict_history(&id).await?;
    if earlier.is_empty() {
        // An item that was judged once has an empty history; an unknown item is an error.
        stored(&app, &id).await?;
    }
    Ok(Json(List::whole(earlier)))
}

/// Maximum number of channels in [`reported_channels`].
const MAX_CHANNELS: usize = 3;

/// Returns other channels that reported an item, computed at each request, because clusters grow.
///
/// First the channels that upstream named, then those that the daemon found, then later members of the cluster. Without
/// duplicates (`@Name` is `name`) and the item's own.
pub(crate) fn reported_channels(item: &StoredItem, cluster: Vec<String>) -> Vec<String> {
    // Rows of an older format have no members.
    let members: Vec<ClusterMember> = serde_json::from_value(item.cluster_members.clone()).unwrap_or_default();
    let mut seen: HashSet<String> = item.channel.as_deref().map(channel_key).into_iter().collect();
    members
        .into_iter()
        .map(|member| member.channel)
        .chain(item.result.also_reported_by.iter().cloned())
        .chain(cluster)
        .filter(|channel| !channel_key(channel).is_empty() && seen.insert(channel_key(channel)))
        .take(MAX_CHANNELS)
        .collect()
}

fn channel_key(channel: &str) -> String {
    channel.trim().trim_start_matches('@').to_lowercase()
}

#[cfg(test)]
mod tests;

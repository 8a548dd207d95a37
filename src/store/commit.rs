//! Writes the result of an item with its evidence, idempotency key and messages in one transaction.
//!
//! `commit_item` locks the item and compares the run's start with the stored result. It writes, or reports that another
//! run's result is newer ([`CommitOutcome`]). Figures of the item and its claims come from the result. To store a new
//! value, extend the row struct here and the function.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::types::Json;
use tracing::Instrument as _;

use super::{JudgedWith, RunStart, Source, Store, StoreError, vector_text};
use crate::domain::evidence::{Adjudication, JudgedPassage, MatchedReview};
use crate::domain::item::ClusterMember;
use crate::domain::limits::serialize_date;
use crate::domain::result::{ClaimResult, ItemResult};
use crate::domain::verdict::{Phase, Stance};
use crate::domain::{Item, Reason, ids};
use crate::telemetry::traces;

#[derive(Debug)]
pub struct Commit<'a> {
    pub item: &'a Item,
    /// The item without the pages of its links: the input of a re-evaluation.
    pub sent: &'a Item,
    pub text: &'a str,
    pub phase: Phase,
    pub content_hash: &'a str,
    /// State of the item when the run began.
    pub start: &'a RunStart,
    /// Send time of the message with this text, if known.
    pub sent_at: Option<DateTime<Utc>>,
    pub message_id: Option<&'a str>,
    /// The reason of a re-evaluation.
    pub why: Option<Reason>,
    pub embedding: &'a [f32],
    pub result: &'a ItemResult,
    /// In the order of `result.claims`.
    pub claims: Vec<ClaimCommit<'a>>,
    /// Pages first read, or tried, in this run.
    pub sources: Vec<Source>,
    pub evidence_claims: Vec<EvidenceClaimRow>,
    /// Stored sentences used for this item.
    pub uses: Vec<super::EvidenceUse>,
    /// Model of `embedding` and `evidence_claims`.
    pub embedder: &'a str,
    /// Minimum cosine of two sentences that are stored as one.
    pub same_sentence: f64,
    /// Minimum cosine of earlier items that a new fact-check of this item may concern.
    pub similar_item: f64,
    pub outbox: Vec<super::OutboxDraft>,
    pub webhooks: Vec<super::WebhookDraft>,
    pub keep: TimeDelta,
    /// Clock that dated `sources`; the store converts to the database's clock.
    pub now: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    Written,
    /// Nothing written or to publish: another run stored a later text or a richer phase.
    Superseded,
    /// Nothing written: a concurrent run, or a clock ahead, gave the old result this later date. Readers keep the
    /// latest date, so write again with a later one.
    TooEarly(DateTime<Utc>),
}

/// What the store keeps of a claim besides its result.
#[derive(Debug, Serialize)]
pub struct ClaimCommit<'a> {
    #[serde(skip)]
    pub claim: &'a ClaimResult,
    #[serde(serialize_with = "serialize_date")]
    pub claim_date: Option<DateTime<Utc>>,
    pub confidence_threshold: f64,
    pub searched: bool,
    pub auto_correct: bool,
    #[serde(skip)]
    pub passages: &'a [JudgedPassage],
    #[serde(skip)]
    pub reviews: &'a [MatchedReview],
}

/// A sentence of a page for the evidence store.
#[derive(Debug, Clone)]
pub struct EvidenceClaimRow {
    pub evidence_id: String,
    pub claim_text: String,
    pub embedding: Vec<f32>,
    pub entities: Vec<String>,
    pub relevance: f64,
}

/// A row of `item_evidence`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PassageRow {
    item_id: String,
    pub(super) claim_id: String,
    contradiction: bool,
    stance: Stance,
    llm_stance: Option<Stance>,
    llm_elsewhere: bool,
    passage_hash: String,
    #[serde(flatten)]
    passage: JudgedPassage,
}

impl PassageRow {
    pub(super) fn of(item_id: &str, claim_id: &str, passage: &JudgedPassage) -> Self {
        let stance = passage.stance();
        Self {
            item_id: item_id.to_owned(),
            claim_id: claim_id.to_owned(),
            contradiction: stance == Stance::Contradicts,
            stance,
            llm_stance: passage.adjudication.map(|one| one.stance),
            llm_elsewhere: passage.adjudication.is_some_and(|one| one.elsewhere),
            passage_hash: ids::passage_hash(&passage.passage),
            passage: passage.clone(),
        }
    }
}

impl From<PassageRow> for JudgedPassage {
    fn from(row: PassageRow) -> Self {
        let elsewhere = row.llm_elsewhere;
        let adjudication = row.llm_stance.map(|stance| Adjudication { stance, elsewhere });
        Self { adjudication, ..row.passage }
    }
}

/// A row of `item_fact_checks`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReviewRow {
    pub(super) claim_id: String,
    #[serde(flatten)]
    pub(super) review: MatchedReview,
}

#[derive(Deserialize)]
struct ReplyRow {
    is_written: bool,
    outbox_ids: Option<Vec<i64>>,
    held_until: Option<DateTime<Utc>>,
}

impl Store {
    /// Writes a result unless another run's result is newer, in one statement.
    ///
    /// # Errors
    /// [`StoreError::NoEvidence`] for a verdict without evidence.
    pub async fn commit(&self, commit: &Commit<'_>) -> Result<CommitOutcome, StoreError> {
        let started = std::time::Instant::now();
        let (sentences, repeated) = sentence_rows(commit)?;
        let item_id = &commit.item.item_id;
        let passages: Vec<PassageRow> = commit
            .claims
            .iter()
            .flat_map(|one| one.passages.iter().map(|passage| PassageRow::of(item_id, &one.claim.claim_id, passage)))
            .collect();
        let reviews = commit.claims.iter().flat_map(|one| {
            let claim_id = &one.claim.claim_id;
            one.reviews.iter().map(|review| ReviewRow { claim_id: claim_id.clone(), review: review.clone() })
        });
        // Messages are dated to the millisecond; an equal date is a retry of this commit.
        let (before, written): (Option<DateTime<Utc>>, Option<Json<ReplyRow>>) = sqlx::query_as(
            "SELECT before.at,
                 CASE WHEN before.at > $4::timestamptz - interval '1 millisecond' AND before.at <> $4 THEN NULL
                     ELSE to_jsonb(commit_item($1::jsonb, $2::jsonb, $3::jsonb,
                         $4, now() + make_interval(secs => $5), $6, $7, $8, on_database_clock($9::jsonb, $21), $10::jsonb,
                         $11::jsonb, $12::jsonb, $13::jsonb, $14::jsonb, $15::jsonb, $16::jsonb, $17::jsonb, $18,
                         make_interval(secs => $19))) END
             FROM (SELECT item_spoken_of($20) AS at) AS before OFFSET 0",
        )
        .bind(rows_text(&ItemRow::of(commit))?)
        .bind(rows_text(commit.result)?)
        .bind(request(commit.sent, commit.text)?)
        .bind(commit.result.enriched_at)
        .bind(commit.keep.as_seconds_f64())
        .bind(commit.start.began_at)
        .bind(commit.start.seen)
        .bind(commit.sent_at)
        .bind(rows(&commit.sources)?)
        .bind(rows(&commit.uses)?)
        .bind(rows(&commit.claims)?)
        .bind(rows(&passages)?)
        .bind(rows(&reviews.collect::<Vec<_>>())?)
        .bind(sentences)
        .bind(repeated)
        .bind(rows(&commit.outbox)?)
        .bind(rows(&commit.webhooks)?)
        .bind(commit.same_sentence)
        .bind(self.fresh.claim().map(TimeDelta::as_seconds_f64))
        .bind(item_id)
        .bind(commit.now)
        .fetch_one(&self.pool)
        .instrument(traces::store_commit_span(commit.claims.len(), commit.sources.len()))
        .await
        .map_err(StoreError::from)
        .inspect_err(|error| self.note_loss(error))?;
        let Some(Json(ReplyRow { is_written, outbox_ids: ids, held_until: until })) = written else {
            return Ok(CommitOutcome::TooEarly(before.unwrap_or(commit.result.enriched_at)));
        };
        if !is_written {
            return Ok(CommitOutcome::Superseded);
        }
        crate::telemetry::metrics::db_commit(started.elapsed());
        if let Some(ids) = ids {
            self.fresh.written(&commit.outbox, &ids, until, started);
            self.wake_outbox.notify_one();
        }
        if !commit.webhooks.is_empty() {
            self.wake_webhooks.notify_waiters();
        }
        Ok(CommitOutcome::Written)
    }
}

/// Returns JSON for `jsonb_to_recordset`, without NUL, which Postgres JSON cannot hold.
pub(super) fn rows<T: Serialize>(rows: &[T]) -> Result<String, StoreError> {
    rows_text(&rows)
}

pub(super) fn rows_text<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    let text = serde_json::to_string(value).map_err(|error| StoreError::Corrupt { detail: error.to_string() })?;
    Ok(without_nul(text))
}

/// Removes escaped NULs. `\\u0000` after an escaped backslash is ordinary text and is kept.
pub(super) fn without_nul(text: String) -> String {
    if !text.contains("\\u0000") {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, escaped)) = rest.split_once('\\') {
        kept.push_str(before);
        if let Some(after) = escaped.strip_prefix("u0000") {
            rest = after;
            continue;
        }
        kept.push('\\');
        // The escaped character, possibly a backslash.
        let mut letters = escaped.chars();
        kept.extend(letters.next());
        rest = letters.as_str();
    }
    kept.push_str(rest);
    kept
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<Value, StoreError> {
    serde_json::to_value(value).map_err(|error| StoreError::Corrupt { detail: error.to_string() })
}

/// Columns of `items` that the result does not have, and arguments of `commit_item`.
#[derive(Serialize)]
struct ItemRow<'a> {
    item_id: &'a str,
    channel: Option<&'a str>,
    title: Option<&'a str>,
    text: &'a str,
    url: Option<&'a str>,
    #[serde(serialize_with = "serialize_date")]
    published_at: Option<DateTime<Utc>>,
    importance: Option<f64>,
    cluster_id: Option<&'a str>,
    cluster_members: &'a [ClusterMember],
    content_hash: &'a str,
    embedding: Option<String>,
    embedder: &'a str,
    phase: &'static str,
    judged_with: &'a JudgedWith,
    message_id: Option<&'a str>,
    why: Option<Reason>,
    similar_item: f64,
}

impl<'a> ItemRow<'a> {
    fn of(commit: &'a Commit<'_>) -> Self {
        let item = commit.item;
        Self {
            item_id: &item.item_id,
            channel: item.channel.as_deref(),
            title: item.title.as_deref(),
            text: commit.text,
            url: item.url.as_deref(),
            published_at: item.published_at,
            importance: item.importance,
            cluster_id: item.cluster_id.as_deref(),
            cluster_members: &item.cluster_members,
            content_hash: commit.content_hash,
            embedding: (!commit.embedding.is_empty()).then(|| vector_text(commit.embedding)),
            embedder: commit.embedder,
            phase: commit.phase.as_str(),
            judged_with: &commit.start.judged_with,
            message_id: commit.message_id,
            why: commit.why,
            similar_item: commit.similar_item,
        }
    }
}

/// Returns the item as JSON, without the text if the column `text` has it: the input of a re-evaluation.
fn request(item: &Item, stored_text: &str) -> Result<String, StoreError> {
    let mut request = json(item)?;
    if let Some(fields) = request.as_object_mut() {
        if item.text.as_deref() == Some(stored_text) {
            fields.insert("text".to_owned(), Value::Bool(true));
        }
        fields.retain(|_, value| !(value.is_null() || value.as_array().is_some_and(Vec::is_empty)));
    }
    Ok(without_nul(request.to_string()))
}

#[derive(Serialize)]
struct EvidenceClaimJson<'a> {
    evidence_id: &'a str,
    claim_text: &'a str,
    claim_hash: String,
    embedding_text: String,
    entities: &'a [String],
    relevance: f64,
}

/// Returns JSON of the sentences to store first, and of those that repeat one. Sentences of two pages of an item are
/// then matched as in a later item.
fn sentence_rows(commit: &Commit<'_>) -> Result<(String, String), StoreError> {
    let (first, again) = without_repeats(&commit.evidence_claims, commit.same_sentence);
    Ok((sentences(&first)?, sentences(&again)?))
}

/// Separates sentences whose cosine to an earlier one is at least `similarity`.
fn without_repeats(claims: &[EvidenceClaimRow], similarity: f64) -> (Vec<&EvidenceClaimRow>, Vec<&EvidenceClaimRow>) {
    let mut first: Vec<&EvidenceClaimRow> = Vec::with_capacity(claims.len());
    let mut again = Vec::new();
    for claim in claims {
        let repeats = first.iter().any(|known| cosine(&known.embedding, &claim.embedding) >= similarity);
        if repeats { again.push(claim) } else { first.push(claim) }
    }
    (first, again)
}

/// As the database computes it; 0 for an empty or zero vector.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

fn sentences(claims: &[&EvidenceClaimRow]) -> Result<String, StoreError> {
    let found: Vec<EvidenceClaimJson<'_>> = claims
        .iter()
        .map(|claim| EvidenceClaimJson {
            evidence_id: &claim.evidence_id,
            claim_text: &claim.claim_text,
            claim_hash: ids::sentence_hash(&claim.claim_text),
            embedding_text: vector_text(&claim.embedding),
            entities: &claim.entities,
            relevance: claim.relevance,
        })
        .collect();
    rows(&found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(page: &str, embedding: &[f32]) -> EvidenceClaimRow {
        EvidenceClaimRow {
            evidence_id: page.to_owned(),
            claim_text: format!("What {page} says."),
            embedding: embedding.to_vec(),
            entities: Vec::new(),
            relevance: 0.9,
        }
    }

    #[test]
    fn sentence_is_stored_once_when_several_pages_of_an_item_have_it() {
        let claims = [
            sentence("a", &[1.0, 0.0]),
            sentence("b", &[2.0, 0.01]),
            sentence("c", &[0.0, 1.0]),
            sentence("d", &[1.0, 0.0]),
            sentence("e", &[]),
            sentence("f", &[]),
        ];
        let pages = |of: Vec<&EvidenceClaimRow>| of.iter().map(|claim| claim.evidence_id.clone()).collect::<Vec<_>>();
        let (first, again) = without_repeats(&claims, 0.98);
        assert_eq!((pages(first).concat(), pages(again).concat()), ("acef".to_owned(), "bd".to_owned()));
        let (first, again) = without_repeats(&claims, 1.1);
        assert_eq!((first.len(), again.len()), (6, 0));
        assert!(without_repeats(&[], 0.98).0.is_empty());
    }
}

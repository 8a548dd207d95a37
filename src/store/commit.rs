//! Writes the result of an item with its evidence, idempotency key and messages in one transaction.
//!
//! `commit_item` locks the item and compares the run's start with the stored result. It writes, or reports that another
//! run's result is newer ([`CommitOutcome`]). To store a new value, extend the row struct here and the function.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use sqlx::types::Json;
use tracing::Instrument as _;

use super::{RunStart, SourceRow, Store, StoreError, vector_text};
use crate::domain::evidence::{JudgedPassage, MatchedReview};
use crate::domain::limits::storable_date;
use crate::domain::result::{ClaimResult, ItemResult};
use crate::domain::verdict::Phase;
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
    pub sources: Vec<SourceRow>,
    pub evidence_claims: Vec<EvidenceClaimRow>,
    /// Stored sentences used for this item.
    pub uses: Vec<super::EvidenceUse>,
    /// Model of `embedding` and `evidence_claims`.
    pub embedder: &'a str,
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

#[derive(Debug)]
pub struct ClaimCommit<'a> {
    pub claim: &'a ClaimResult,
    pub claim_date: Option<DateTime<Utc>>,
    pub confidence_threshold: f64,
    pub searched: bool,
    pub auto_correct: bool,
    pub passages: &'a [JudgedPassage],
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

#[derive(Debug, Clone, Serialize)]
pub struct PassageRow {
    item_id: String,
    claim_id: String,
    evidence_id: String,
    agreement_score: f64,
    contradiction: bool,
    stance: &'static str,
    entail: f64,
    contradict: f64,
    neutral: f64,
    relevance: f64,
    quality: f64,
    credibility: f64,
    freshness: f64,
    specificity: f64,
    num_ok: Option<bool>,
    independent_group: String,
    source_type: &'static str,
    origin: &'static str,
    provider: String,
    out_of_context: bool,
    judge: Option<String>,
    llm_stance: Option<&'static str>,
    llm_elsewhere: bool,
    passage: String,
    passage_hash: String,
    rank: i32,
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
    pub async fn commit(&self, commit: &Commit<'_>, dedup_similarity: f64) -> Result<CommitOutcome, StoreError> {
        let started = std::time::Instant::now();
        let (sentences, repeated) = super::sentences::rows_of(commit, dedup_similarity)?;
        let result = serde_json::to_string(commit.result);
        let result = result.map_err(|error| StoreError::Corrupt { detail: error.to_string() })?;
        // `begin_result` locks the item before the check. Messages are dated to the millisecond; an equal date is a
        // retry of this commit.
        let (before, written, outdated): (Option<DateTime<Utc>>, Option<Json<ReplyRow>>, Option<bool>) = sqlx::query_as(
            "SELECT done.at, done.ended,
                 CASE WHEN (done.ended->>'is_written')::boolean THEN note_outdated($20, $21, $22) END
             FROM (SELECT before.at,
                     CASE WHEN before.at > $4::timestamptz - interval '1 millisecond' AND before.at <> $4 THEN NULL
                         ELSE to_jsonb(commit_item($1::jsonb, $2::jsonb, $3::jsonb,
                             $4, now() + make_interval(secs => $5), $6, $7, $8, on_database_clock($9::jsonb, $23), $10::jsonb, $11::jsonb, $12::jsonb, $13::jsonb, $14::jsonb,
                             $15::jsonb, $16::jsonb, $17::jsonb, $18, make_interval(secs => $19))) END AS ended
                 FROM (SELECT begin_result(), item_spoken_of($20) AS at) AS before OFFSET 0) AS done",
        )
        .bind(rows_text(&item_row(commit)?)?)
        .bind(without_nul(result))
        .bind(super::history::request(commit.sent, commit.text)?)
        .bind(commit.result.enriched_at)
        .bind(commit.keep.as_seconds_f64())
        .bind(commit.start.began_at)
        .bind(commit.start.seen)
        .bind(commit.sent_at)
        .bind(rows(&commit.sources)?)
        .bind(rows(&commit.uses)?)
        .bind(rows(&claim_rows(commit)?)?)
        .bind(rows(&passage_rows(&commit.item.item_id, commit))?)
        .bind(rows(&review_rows(commit))?)
        .bind(sentences)
        .bind(repeated)
        .bind(rows(&commit.outbox)?)
        .bind(rows(&commit.webhooks)?)
        .bind(dedup_similarity)
        .bind(self.fresh.claim().map(TimeDelta::as_seconds_f64))
        .bind(&commit.item.item_id)
        .bind(commit.start.judged_by.lists)
        .bind(commit.start.judged_by.basis.as_ref().map(super::JudgingVersion::stored))
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
        if outdated == Some(true) {
            tracing::info!("lists, settings or models changed during judging; re-evaluating soon");
        }
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

fn rows_text<T: Serialize>(value: &T) -> Result<String, StoreError> {
    let text = serde_json::to_string(value).map_err(|error| StoreError::Corrupt { detail: error.to_string() })?;
    Ok(without_nul(text))
}

/// Serialises a date; `null` if Postgres cannot represent its year.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(super) fn date<S: Serializer>(date: &Option<DateTime<Utc>>, serializer: S) -> Result<S::Ok, S::Error> {
    date.and_then(storable_date).serialize(serializer)
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

/// Columns of `items`, the message id, and the reason of a re-evaluation.
#[derive(Serialize)]
struct ItemRow<'a> {
    item_id: &'a str,
    channel: Option<&'a str>,
    title: Option<&'a str>,
    text: &'a str,
    url: Option<&'a str>,
    language: Value,
    #[serde(serialize_with = "date")]
    published_at: Option<DateTime<Utc>>,
    importance: Option<f64>,
    cluster_id: Option<&'a str>,
    cluster_members: Value,
    content_hash: &'a str,
    embedding: Option<String>,
    embedder: &'a str,
    status: &'static str,
    degraded: &'a [String],
    fact_check_score: Option<f64>,
    fact_check_tier: Option<&'static str>,
    fact_check_notes: Value,
    phase: &'static str,
    message_id: Option<&'a str>,
    why: Option<Reason>,
}

fn item_row<'a>(commit: &'a Commit<'_>) -> Result<ItemRow<'a>, StoreError> {
    let (item, result) = (commit.item, commit.result);
    Ok(ItemRow {
        item_id: &item.item_id,
        channel: item.channel.as_deref(),
        title: item.title.as_deref(),
        text: commit.text,
        url: item.url.as_deref(),
        language: json(&result.language)?,
        published_at: item.published_at,
        importance: item.importance,
        cluster_id: item.cluster_id.as_deref(),
        cluster_members: json(&item.cluster_members)?,
        content_hash: commit.content_hash,
        embedding: (!commit.embedding.is_empty()).then(|| vector_text(commit.embedding)),
        embedder: commit.embedder,
        status: result.status.as_str(),
        degraded: &result.degraded,
        fact_check_score: result.score.map(f64::from),
        fact_check_tier: result.tier.map(crate::domain::Tier::as_str),
        fact_check_notes: json(&result.notes)?,
        phase: commit.phase.as_str(),
        message_id: commit.message_id,
        why: commit.why,
    })
}

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "columns of their own")]
struct ClaimRow<'a> {
    claim_id: &'a str,
    position: usize,
    source: usize,
    claim_text: &'a str,
    kind: &'static str,
    verdict: &'static str,
    decisive: bool,
    confidence: f64,
    score: Option<u32>,
    tier: &'static str,
    agreement: f64,
    contradiction: bool,
    judge: &'a str,
    features: Value,
    notes: Value,
    justification: &'a str,
    citations: &'a [u32],
    correction: Option<Value>,
    #[serde(serialize_with = "date")]
    claim_date: Option<DateTime<Utc>>,
    confidence_threshold: f64,
    searched: bool,
    auto_correct: bool,
}

fn claim_rows<'a>(commit: &'a Commit<'_>) -> Result<Vec<ClaimRow<'a>>, StoreError> {
    let mut claims = Vec::with_capacity(commit.claims.len());
    for (position, entry) in commit.claims.iter().enumerate() {
        let claim = entry.claim;
        claims.push(ClaimRow {
            claim_id: &claim.claim_id,
            position,
            source: claim.source,
            claim_text: &claim.text,
            kind: claim.kind.as_str(),
            verdict: claim.verdict.as_str(),
            decisive: claim.decisive,
            confidence: claim.confidence,
            score: claim.score,
            tier: claim.tier.as_str(),
            agreement: claim.agreement,
            contradiction: claim.contradiction,
            judge: &claim.judge,
            features: json(&claim.features)?,
            notes: json(&claim.notes)?,
            justification: &claim.justification,
            citations: &claim.citations,
            correction: claim.correction.as_ref().map(json).transpose()?,
            claim_date: entry.claim_date,
            confidence_threshold: entry.confidence_threshold,
            searched: entry.searched,
            auto_correct: entry.auto_correct,
        });
    }
    Ok(claims)
}

fn passage_rows(item_id: &str, commit: &Commit<'_>) -> Vec<PassageRow> {
    let mut found = Vec::new();
    for entry in &commit.claims {
        for passage in entry.passages {
            let stance = passage.stance();
            found.push(PassageRow {
                item_id: item_id.to_owned(),
                claim_id: entry.claim.claim_id.clone(),
                evidence_id: passage.evidence_id.clone(),
                agreement_score: passage.agreement,
                contradiction: stance == crate::domain::Stance::Contradicts,
                stance: stance.as_str(),
                entail: passage.entail,
                contradict: passage.contradict,
                neutral: passage.neutral,
                relevance: passage.relevance,
                quality: passage.quality,
                credibility: passage.credibility,
                freshness: passage.freshness,
                specificity: passage.specificity,
                num_ok: passage.num_ok,
                independent_group: passage.independent_group.clone(),
                source_type: passage.source_type.as_str(),
                origin: passage.origin.as_str(),
                provider: passage.provider.clone(),
                out_of_context: passage.out_of_context,
                judge: passage.judge.clone(),
                llm_stance: passage.adjudication.map(|one| one.stance.as_str()),
                llm_elsewhere: passage.adjudication.is_some_and(|one| one.elsewhere),
                passage_hash: ids::passage_hash(&passage.passage),
                passage: passage.passage.clone(),
                rank: i32::try_from(passage.rank).unwrap_or(i32::MAX),
            });
        }
    }
    found
}

#[derive(Serialize)]
struct ReviewRow<'a> {
    claim_id: &'a str,
    claim: &'a str,
    relation: &'static str,
    url: &'a str,
    publisher: &'a str,
    title: Option<&'a str>,
    claimant: Option<&'a str>,
    rating: &'a str,
    rating_class: &'static str,
    language: Option<&'a str>,
    #[serde(serialize_with = "date")]
    review_date: Option<DateTime<Utc>>,
    similarity: f64,
}

fn review_rows<'a>(commit: &'a Commit<'_>) -> Vec<ReviewRow<'a>> {
    let reviews = commit.claims.iter().flat_map(|entry| {
        entry.reviews.iter().map(|matched| ReviewRow {
            claim_id: &entry.claim.claim_id,
            claim: &matched.review.claim,
            relation: matched.relation.as_str(),
            url: &matched.review.url,
            publisher: &matched.review.publisher,
            title: matched.review.title.as_deref(),
            claimant: matched.review.claimant.as_deref(),
            rating: &matched.review.rating,
            rating_class: matched.rating_class.as_str(),
            language: matched.review.language.as_deref(),
            review_date: matched.review.review_date,
            similarity: matched.similarity,
        })
    });
    reviews.collect()
}

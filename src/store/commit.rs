//! One item's result, its evidence, its idempotency key and its outbox messages: written together or not at all.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::{Postgres, Transaction};

use super::{RunStart, SourceRow, Store, StoreError, vector_text};
use crate::domain::evidence::{JudgedPassage, MatchedReview};
use crate::domain::result::{ClaimResult, ItemResult};
use crate::domain::verdict::Phase;
use crate::domain::{Item, ids};

/// Everything one run of the pipeline wants kept.
#[derive(Debug)]
pub struct Commit<'a> {
    pub item: &'a Item,
    /// The item before the pages of its links were added to it: what judging it again begins from.
    pub sent: &'a Item,
    pub text: &'a str,
    pub phase: Phase,
    pub content_hash: &'a str,
    /// What the run found when it began.
    pub start: &'a RunStart,
    /// When the message with this text was sent, where that is known.
    pub sent_at: Option<DateTime<Utc>>,
    pub message_id: Option<&'a str>,
    pub embedding: &'a [f32],
    pub result: &'a ItemResult,
    /// Per claim, in the order of `result.claims`.
    pub claims: Vec<ClaimCommit<'a>>,
    /// Pages read (or not readable) for the first time.
    pub sources: Vec<SourceRow>,
    pub evidence_claims: Vec<EvidenceClaimRow>,
    /// Stored sentences this item was answered from.
    pub uses: Vec<super::EvidenceUse>,
    /// Who made `embedding` and those of `evidence_claims`.
    pub embedder: &'a str,
    pub outbox: Vec<super::OutboxDraft>,
    pub webhooks: Vec<super::WebhookDraft>,
    pub expires_at: DateTime<Utc>,
}

/// What became of a result that was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    Written,
    /// Nothing was written or is to be published: another run's result stands, of a later text or a richer one.
    Superseded,
}

/// One claim with what stands behind it.
#[derive(Debug)]
pub struct ClaimCommit<'a> {
    pub claim: &'a ClaimResult,
    pub claim_date: Option<DateTime<Utc>>,
    pub confidence_threshold: f64,
    /// Whether sources were searched for it.
    pub searched: bool,
    /// Whether a correction was wanted.
    pub auto_correct: bool,
    pub passages: &'a [JudgedPassage],
    pub reviews: &'a [MatchedReview],
}

/// A sentence of a page worth finding again.
#[derive(Debug, Clone)]
pub struct EvidenceClaimRow {
    pub evidence_id: String,
    pub claim_text: String,
    pub embedding: Vec<f32>,
    pub entities: Vec<String>,
    pub relevance: f64,
}

/// A stored passage row, as written.
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
    llm_stance: Option<&'static str>,
    llm_elsewhere: bool,
    passage: String,
    passage_hash: String,
    rank: i32,
}

impl Store {
    /// Writes one result, unless one that another run wrote meanwhile is to stand. A verdict without evidence behind it is
    /// refused ([`StoreError::NoEvidence`]).
    pub async fn commit(&self, commit: &Commit<'_>, dedup_similarity: f64) -> Result<Committed, StoreError> {
        let started = tokio::time::Instant::now();
        let mut transaction = self.pool.begin().await?;
        // The item first: its row is locked until the end, and all that follows belongs to whoever won it.
        if !write_item(&mut transaction, commit).await? {
            transaction.rollback().await?;
            return Ok(Committed::Superseded);
        }
        super::sources::write(&mut transaction, &commit.sources).await?;
        super::knowledge::write_uses(&mut transaction, &commit.item.item_id, &commit.uses, commit.result.enriched_at)
            .await?;
        if commit.start.seen.is_some() {
            super::history::keep(&mut transaction, &commit.item.item_id).await?;
        }
        write_claims(&mut transaction, commit).await?;
        write_evidence(&mut transaction, commit).await?;
        super::sentences::write(&mut transaction, commit, dedup_similarity).await?;
        if !commit.outbox.is_empty() {
            super::outbox::write(&mut transaction, &commit.outbox, commit.result.enriched_at).await?;
        }
        if !commit.webhooks.is_empty() {
            super::webhooks::write(&mut transaction, &commit.webhooks, commit.result.enriched_at).await?;
        }
        transaction.commit().await?;
        crate::telemetry::metrics::db_commit(started.elapsed());
        if !commit.outbox.is_empty() {
            self.wake_outbox.notify_one();
        }
        if !commit.webhooks.is_empty() {
            self.wake_webhooks.notify_waiters();
        }
        Ok(Committed::Written)
    }
}

/// JSON for `jsonb_to_recordset`; NUL, which JSON in Postgres cannot hold, is dropped.
pub(super) fn rows<T: Serialize>(rows: &[T]) -> Result<String, StoreError> {
    let text = serde_json::to_string(rows).map_err(|error| StoreError::Corrupt { detail: error.to_string() })?;
    Ok(without_nul(text))
}

/// Escapes are read as such: the letters `\\u0000` after an escaped backslash are a text's own.
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
        // The letter of an escape, which may be a backslash itself.
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

/// Whether the stored row stands against `excluded`, the row that is to be written; `$26` is what that run saw of it when
/// it began. Read under the row's lock, so it speaks of the last committed result. Comparing is left to columns of the
/// row itself: what a subquery reads is as old as the statement.
macro_rules! stored_stands {
    () => {
        "coalesce(CASE
             -- Of two texts the one that was sent later. One that was put off begins after its edit is done, so the
             -- beginning of the work tells only where a time is missing or both are the same (seconds, over AMQP).
             WHEN items.content_hash <> excluded.content_hash AND items.sent_at <> excluded.sent_at
                 THEN items.sent_at > excluded.sent_at
             WHEN items.content_hash <> excluded.content_hash THEN items.began_at > excluded.began_at
             -- Phase 2 contains Phase 1. A program before these columns left its mark among the phases only.
             WHEN excluded.phase = 'phase1' AND (items.phase = 'phase2' OR EXISTS (
                 SELECT FROM item_phases done WHERE done.item_id = items.item_id AND done.phase = 'phase2'
                     AND done.content_hash = items.content_hash)) THEN true
             WHEN excluded.phase = 'phase2' AND items.phase IS DISTINCT FROM 'phase2' THEN false
             -- The same work done since by somebody else: once is enough, unless only this run lacks nothing.
             ELSE items.evaluated_at IS DISTINCT FROM $26
                 AND NOT (cardinality(items.degraded) > 0 AND cardinality(excluded.degraded) = 0)
         END, false)"
    };
}

/// False when the stored result stands and nothing was written.
async fn write_item(transaction: &mut Transaction<'_, Postgres>, commit: &Commit<'_>) -> Result<bool, StoreError> {
    let item = commit.item;
    let result = commit.result;
    let result_text =
        without_nul(serde_json::to_string(result).map_err(|error| StoreError::Corrupt { detail: error.to_string() })?);
    // The item and its idempotency key travel in one statement: two round trips are one too many at this rate.
    let written = sqlx::query(concat!(
        "WITH written AS (
             INSERT INTO items (item_id, channel, title, text, url, language, published_at, importance, cluster_id,
                 cluster_members, content_hash, embedding, status, degraded, fact_check_score, fact_check_tier,
                 fact_check_notes, result, evaluated_at, enriched_at, expires_at, embedder, phase, began_at,
                 sent_at, request)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::vector, $13, $14, $15, $16::fact_check_tier,
                 $17, $18::jsonb, $19, $19, $20, $24, $21, $25, $27, $28::jsonb)
             ON CONFLICT (item_id) DO UPDATE SET channel = excluded.channel, title = excluded.title,
                 text = excluded.text, url = excluded.url, language = excluded.language,
                 published_at = excluded.published_at, importance = excluded.importance,
                 cluster_id = excluded.cluster_id, cluster_members = excluded.cluster_members,
                 content_hash = excluded.content_hash, embedding = excluded.embedding, status = excluded.status,
                 degraded = excluded.degraded, fact_check_score = excluded.fact_check_score,
                 fact_check_tier = excluded.fact_check_tier, fact_check_notes = excluded.fact_check_notes,
                 result = excluded.result, evaluated_at = excluded.evaluated_at, enriched_at = excluded.enriched_at,
                 expires_at = excluded.expires_at, embedder = excluded.embedder, phase = excluded.phase,
                 began_at = excluded.began_at, request = excluded.request,
                 -- An earlier message with the same text takes nothing from the later one.
                 sent_at = CASE WHEN items.content_hash = excluded.content_hash
                     THEN greatest(items.sent_at, excluded.sent_at) ELSE excluded.sent_at END
                 WHERE NOT ",
        stored_stands!(),
        " RETURNING item_id)
         INSERT INTO item_phases (item_id, phase, content_hash, degraded, message_id, done_at)
         SELECT item_id, $21, $11, $22, $23, $19 FROM written
         ON CONFLICT (item_id, phase) DO UPDATE SET content_hash = excluded.content_hash,
             degraded = excluded.degraded, message_id = excluded.message_id, done_at = excluded.done_at",
    ))
    .bind(&item.item_id)
    .bind(&item.channel)
    .bind(&item.title)
    .bind(super::storable(commit.text).as_ref())
    .bind(&item.url)
    .bind(&result.language)
    .bind(item.published_at)
    .bind(item.importance)
    .bind(&item.cluster_id)
    .bind(json(&item.cluster_members)?)
    .bind(commit.content_hash)
    .bind((!commit.embedding.is_empty()).then(|| vector_text(commit.embedding)))
    .bind(result.status.as_str())
    .bind(&result.degraded)
    .bind(result.score.map(f64::from))
    .bind(result.tier.map(crate::domain::Tier::as_str))
    .bind(json(&result.notes)?)
    .bind(result_text)
    .bind(result.enriched_at)
    .bind(commit.expires_at)
    .bind(commit.phase.as_str())
    .bind(!result.degraded.is_empty())
    .bind(commit.message_id)
    .bind(commit.embedder)
    .bind(commit.start.began_at)
    .bind(commit.start.seen)
    .bind(commit.sent_at)
    .bind(super::history::request(commit.sent, commit.text)?)
    .execute(&mut **transaction)
    .await?;
    Ok(written.rows_affected() > 0)
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
    claim_date: Option<DateTime<Utc>>,
    confidence_threshold: f64,
    searched: bool,
    auto_correct: bool,
}

async fn write_claims(transaction: &mut Transaction<'_, Postgres>, commit: &Commit<'_>) -> Result<(), StoreError> {
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
    // A new judgement replaces the old one whole: what was removed from an edited text must not linger.
    sqlx::query("DELETE FROM claims WHERE item_id = $1").bind(&commit.item.item_id).execute(&mut **transaction).await?;
    if claims.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO claims (claim_id, item_id, position, source, claim_text, kind, verdict, decisive, confidence, score,
             tier, agreement, contradiction, judge, features, notes, justification, citations, correction, claim_date,
             confidence_threshold, searched, auto_correct, evaluated_at)
         SELECT claim_id, $1, position, source, claim_text, kind, verdict, decisive, confidence, score,
             tier::fact_check_tier, agreement, contradiction, judge, features, notes, justification,
             ARRAY(SELECT jsonb_array_elements_text(citations)::integer), correction, claim_date,
             confidence_threshold, searched, auto_correct, $3
         FROM jsonb_to_recordset($2::jsonb) AS row(claim_id text, position integer, source integer, claim_text text,
             kind text, verdict text, decisive boolean, confidence double precision, score integer, tier text,
             agreement double precision, contradiction boolean, judge text, features jsonb, notes jsonb,
             justification text, citations jsonb, correction jsonb, claim_date timestamptz,
             confidence_threshold double precision, searched boolean, auto_correct boolean)",
    )
    .bind(&commit.item.item_id)
    .bind(rows(&claims)?)
    .bind(commit.result.enriched_at)
    .execute(&mut **transaction)
    .await?;
    Ok(())
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
                llm_stance: passage.adjudication.map(|said| said.stance.as_str()),
                llm_elsewhere: passage.adjudication.is_some_and(|said| said.elsewhere),
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
    review_date: Option<DateTime<Utc>>,
    similarity: f64,
}

async fn write_evidence(transaction: &mut Transaction<'_, Postgres>, commit: &Commit<'_>) -> Result<(), StoreError> {
    let passages = passage_rows(&commit.item.item_id, commit);
    if !passages.is_empty() {
        sqlx::query(
            "INSERT INTO item_evidence (item_id, claim_id, evidence_id, agreement_score, contradiction, stance, entail,
                 contradict, neutral, relevance, quality, credibility, freshness, specificity, num_ok,
                 independent_group, source_type, origin, provider, out_of_context, llm_stance, llm_elsewhere,
                 passage, passage_hash, rank, matched_at)
             SELECT item_id, claim_id, evidence_id, agreement_score, contradiction, stance, entail,
                 contradict, neutral, relevance, quality, credibility, freshness, specificity, num_ok,
                 independent_group, source_type, origin, provider, out_of_context, llm_stance, llm_elsewhere,
                 passage, passage_hash, rank, $2
             FROM jsonb_to_recordset($1::jsonb) AS row(item_id text, claim_id text, evidence_id text,
                 agreement_score double precision, contradiction boolean, stance text, entail double precision,
                 contradict double precision, neutral double precision, relevance double precision,
                 quality double precision, credibility double precision, freshness double precision,
                 specificity double precision, num_ok boolean, independent_group text, source_type text, origin text,
                 provider text, out_of_context boolean, llm_stance text, llm_elsewhere boolean, passage text, passage_hash text, rank integer)
             ON CONFLICT DO NOTHING",
        )
        .bind(rows(&passages)?)
        .bind(commit.result.enriched_at)
        .execute(&mut **transaction)
        .await?;
    }
    let reviews: Vec<ReviewRow<'_>> = commit
        .claims
        .iter()
        .flat_map(|entry| {
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
        })
        .collect();
    if !reviews.is_empty() {
        sqlx::query(
            "INSERT INTO item_fact_checks (item_id, claim_id, claim, relation, url, publisher, title, claimant, rating,
                 rating_class, language, review_date, similarity, matched_at)
             SELECT $1, claim_id, claim, relation, url, publisher, title, claimant, rating, rating_class, language,
                 review_date, similarity, $3
             FROM jsonb_to_recordset($2::jsonb) AS row(claim_id text, claim text, relation text, url text,
                 publisher text, title text, claimant text, rating text, rating_class text, language text,
                 review_date timestamptz, similarity double precision)
             ON CONFLICT DO NOTHING",
        )
        .bind(&commit.item.item_id)
        .bind(rows(&reviews)?)
        .bind(commit.result.enriched_at)
        .execute(&mut **transaction)
        .await?;
    }
    Ok(())
}

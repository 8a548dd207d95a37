//! Reads stored judgements with their evidence, and writes re-evaluations.
//!
//! A write succeeds only if the item was not judged again or removed since the read. A stored value that this version
//! cannot read makes only its own item unreadable.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::commit::{json, rows, without_nul};
use super::{JudgedBy, OutboxDraft, Store, StoreError, WebhookDraft};
use crate::domain::evidence::{Adjudication, JudgedPassage, MatchedReview, Review};
use crate::domain::result::{ClaimResult, ItemResult};
use crate::domain::verdict::{Origin, RatingClass, Relation, SourceType, Stance};
use crate::domain::{Reason, ids};

/// A stored result with its claims' evidence, in order.
#[derive(Debug, Clone)]
pub struct StoredJudgement {
    pub result: ItemResult,
    /// Version of the row: a later judgement has another time.
    pub evaluated_at: DateTime<Utc>,
    pub claims: Vec<StoredClaim>,
}

#[derive(Debug, Default)]
pub struct Judgements {
    pub read: Vec<StoredJudgement>,
    /// Errors of the items that this version cannot read, by id.
    pub unreadable: BTreeMap<String, StoreError>,
    /// Last id of this page; `None` if it is empty.
    pub last: Option<String>,
}

#[derive(Debug, Clone)]
pub struct StoredClaim {
    pub claim_id: String,
    pub claim_date: Option<DateTime<Utc>>,
    pub evaluated_at: DateTime<Utc>,
    pub confidence_threshold: f64,
    /// Whether sources were searched; `None` if an earlier version stored it.
    pub searched: Option<bool>,
    /// Whether a correction was requested; `None` as above.
    pub auto_correct: Option<bool>,
    /// Best rank first.
    pub passages: Vec<StoredPassage>,
    pub reviews: Vec<MatchedReview>,
}

/// A judged passage and the final URL of its page.
#[derive(Debug, Clone)]
pub struct StoredPassage {
    pub passage: JudgedPassage,
    pub answered: String,
}

/// The new values of a re-evaluated claim.
#[derive(Debug, Clone, Copy)]
pub struct RejudgedClaim<'a> {
    pub claim: &'a ClaimResult,
    /// Passages with changed values.
    pub passages: &'a [JudgedPassage],
}

/// Messages that are sent if the answer changed.
#[derive(Debug, Clone, Copy)]
pub struct RescoreMessages<'a> {
    pub why: Reason,
    pub outbox: &'a [OutboxDraft],
    pub webhooks: &'a [WebhookDraft],
    pub judged_by: &'a JudgedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteOutcome {
    Written,
    /// Nothing written: the item was judged again or removed meanwhile.
    Overtaken,
    /// Nothing written: the item's last message has this date, and `now` is not later.
    TooEarly(DateTime<Utc>),
}

/// Returns `Corrupt` for a stored word that this version does not know.
fn known<T>(parsed: Option<T>, what: &str, word: &str) -> Result<T, StoreError> {
    parsed.ok_or_else(|| StoreError::Corrupt { detail: format!("{what} {word:?}") })
}

/// Returns true if a verdict or its `decisive` flag changed.
async fn turns(connection: &mut PgConnection, item_id: &str, claims: &[RejudgedClaim<'_>]) -> Result<bool, StoreError> {
    let stored: Vec<(String, String, bool)> =
        sqlx::query_as("SELECT claim_id, verdict, decisive FROM claims WHERE item_id = $1")
            .bind(item_id)
            .fetch_all(connection)
            .await?;
    Ok(stored.iter().any(|(id, verdict, decisive)| {
        let new = claims.iter().find(|one| one.claim.claim_id == *id);
        new.is_some_and(|one| one.claim.verdict.as_str() != verdict || one.claim.decisive != *decisive)
    }))
}

impl Store {
    pub async fn judged_count(&self, since: Option<DateTime<Utc>>) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM items WHERE $1::timestamptz IS NULL OR evaluated_at >= $1")
            .bind(since)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Returns the next `limit` judged items after id `after`.
    pub async fn judgements(
        &self,
        since: Option<DateTime<Utc>>,
        after: &str,
        limit: i64,
    ) -> Result<Judgements, StoreError> {
        let items = sqlx::query(
            "SELECT item_id, result, evaluated_at FROM items
             WHERE item_id > $2 AND ($1::timestamptz IS NULL OR evaluated_at >= $1) ORDER BY item_id LIMIT $3",
        )
        .bind(since)
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        self.judgements_of(&items).await
    }

    pub async fn judgements_of_items(&self, ids: &[String]) -> Result<Judgements, StoreError> {
        let items = sqlx::query("SELECT item_id, result, evaluated_at FROM items WHERE item_id = ANY($1)")
            .bind(ids)
            .fetch_all(&self.pool)
            .await?;
        self.judgements_of(&items).await
    }

    async fn judgements_of(&self, items: &[PgRow]) -> Result<Judgements, StoreError> {
        let mut page = Judgements::default();
        let mut ids: Vec<String> = Vec::with_capacity(items.len());
        for row in items {
            let id: String = row.try_get("item_id")?;
            match serde_json::from_value::<ItemResult>(row.try_get("result")?) {
                Ok(result) => {
                    let evaluated_at = row.try_get("evaluated_at")?;
                    page.read.push(StoredJudgement { result, evaluated_at, claims: Vec::new() });
                }
                Err(error) => {
                    page.unreadable.insert(id.clone(), StoreError::Corrupt { detail: error.to_string() });
                }
            }
            ids.push(id);
        }
        let mut claims = self.stored_claims(&ids, &mut page.unreadable).await?;
        page.read.retain(|one| !page.unreadable.contains_key(&one.result.item_id));
        for judgement in &mut page.read {
            let wanted = judgement.result.claims.iter().filter_map(|claim| claims.remove(&claim.claim_id));
            judgement.claims = wanted.collect();
        }
        page.last = ids.pop();
        Ok(page)
    }

    /// Returns the items' claims by id. Adds items with an unreadable row to `unreadable`.
    async fn stored_claims(
        &self,
        items: &[String],
        unreadable: &mut BTreeMap<String, StoreError>,
    ) -> Result<HashMap<String, StoredClaim>, StoreError> {
        let mut claims = HashMap::new();
        let found = sqlx::query(
            "SELECT claim_id, claim_date, evaluated_at, confidence_threshold, searched, auto_correct
             FROM claims WHERE item_id = ANY($1)",
        )
        .bind(items)
        .fetch_all(&self.pool)
        .await?;
        for row in &found {
            let claim_id: String = row.try_get("claim_id")?;
            let claim = StoredClaim {
                claim_id: claim_id.clone(),
                claim_date: row.try_get("claim_date")?,
                evaluated_at: row.try_get("evaluated_at")?,
                confidence_threshold: row.try_get("confidence_threshold")?,
                searched: row.try_get("searched")?,
                auto_correct: row.try_get("auto_correct")?,
                passages: Vec::new(),
                reviews: Vec::new(),
            };
            claims.insert(claim_id, claim);
        }
        let passages = sqlx::query(
            "SELECT e.item_id, e.claim_id, e.evidence_id, e.passage, e.entail, e.contradict, e.neutral, e.agreement_score,
                 e.relevance, e.credibility, e.freshness, e.specificity, e.quality, e.num_ok, e.independent_group,
                 e.source_type, e.origin, e.provider, e.rank, e.out_of_context, e.judge, e.llm_stance, e.llm_elsewhere,
                 s.url, s.final_url, s.domain, s.title, s.published_at, s.language
             FROM item_evidence e JOIN evidence_sources s ON s.id = e.evidence_id
             WHERE e.item_id = ANY($1) ORDER BY e.rank, e.evidence_id, e.passage_hash",
        )
        .bind(items)
        .fetch_all(&self.pool)
        .await?;
        for row in &passages {
            if let Some(claim) = claims.get_mut(row.try_get::<&str, _>("claim_id")?) {
                match passage(row) {
                    Ok(passage) => claim.passages.push(passage),
                    Err(error) => note_unreadable(row, error, unreadable)?,
                }
            }
        }
        let reviews = sqlx::query(
            "SELECT item_id, claim_id, claim, relation, url, publisher, title, claimant, rating, rating_class, language,
                 review_date, similarity
             FROM item_fact_checks WHERE item_id = ANY($1) ORDER BY similarity DESC, url",
        )
        .bind(items)
        .fetch_all(&self.pool)
        .await?;
        for row in &reviews {
            if let Some(claim) = claims.get_mut(row.try_get::<&str, _>("claim_id")?) {
                match review(row) {
                    Ok(review) => claim.reviews.push(review),
                    Err(error) => note_unreadable(row, error, unreadable)?,
                }
            }
        }
        Ok(claims)
    }

    /// Writes a re-evaluated item, and its messages dated `now`. A `dry_run` runs the database's checks and rolls back.
    pub async fn write_rejudged(
        &self,
        result: &ItemResult,
        evaluated_at: DateTime<Utc>,
        claims: &[RejudgedClaim<'_>],
        messages: RescoreMessages<'_>,
        now: DateTime<Utc>,
        dry_run: bool,
    ) -> Result<RewriteOutcome, StoreError> {
        self.in_time(async {
            let mut transaction = self.transaction().await?;
            let ((), last): ((), Option<DateTime<Utc>>) = sqlx::query_as("SELECT begin_result(), item_spoken_of($1)")
                .bind(&result.item_id)
                .fetch_one(&mut *transaction)
                .await?;
            // Messages are dated to the millisecond.
            if let Some(last) = last.filter(|last| now < *last + TimeDelta::milliseconds(1) && !dry_run) {
                return Ok(RewriteOutcome::TooEarly(last));
            }
            let text =
                serde_json::to_string(result).map_err(|error| StoreError::Corrupt { detail: error.to_string() })?;
            let written = sqlx::query(
                "UPDATE items SET fact_check_score = $3, fact_check_tier = $4::fact_check_tier, fact_check_notes = $5,
                 result = $6::jsonb
             WHERE item_id = $1 AND evaluated_at = $2",
            )
            .bind(&result.item_id)
            .bind(evaluated_at)
            .bind(result.score.map(f64::from))
            .bind(result.tier.map(crate::domain::Tier::as_str))
            .bind(json(&result.notes)?)
            .bind(without_nul(text))
            .execute(&mut *transaction)
            .await?;
            if written.rows_affected() == 0 {
                return Ok(RewriteOutcome::Overtaken);
            }
            // Under the row lock, so that only one of two concurrent runs sees the change.
            let turned = turns(&mut transaction, &result.item_id, claims).await?;
            if !dry_run && turned {
                super::history::keep(&mut transaction, &result.item_id, messages.why, now).await?;
            }
            write_claims(&mut transaction, claims).await?;
            if turned && !messages.outbox.is_empty() {
                super::outbox::write(&mut transaction, messages.outbox, now).await?;
            }
            if turned && !messages.webhooks.is_empty() {
                super::webhooks::write(&mut transaction, messages.webhooks, now).await?;
            }
            if dry_run {
                // Deferred constraints otherwise run at commit.
                sqlx::query("SET CONSTRAINTS ALL IMMEDIATE").execute(&mut *transaction).await?;
                transaction.rollback().await?;
            } else {
                sqlx::query("SELECT note_outdated($1, $2, $3)")
                    .bind(&result.item_id)
                    .bind(messages.judged_by.lists)
                    .bind(messages.judged_by.basis.as_ref().map(super::JudgingVersion::stored))
                    .execute(&mut *transaction)
                    .await?;
                transaction.commit().await?;
            }
            Ok(RewriteOutcome::Written)
        })
        .await
    }
}

async fn write_claims(connection: &mut PgConnection, claims: &[RejudgedClaim<'_>]) -> Result<(), StoreError> {
    for RejudgedClaim { claim, passages } in claims {
        sqlx::query(
            "UPDATE claims SET verdict = $2, decisive = $3, confidence = $4, score = $5, tier = $6::fact_check_tier,
                 agreement = $7, contradiction = $8, judge = $9, features = $10, notes = $11, justification = $12,
                 citations = $13, correction = $14
             WHERE claim_id = $1",
        )
        .bind(&claim.claim_id)
        .bind(claim.verdict.as_str())
        .bind(claim.decisive)
        .bind(claim.confidence)
        .bind(claim.score.and_then(|score| i32::try_from(score).ok()))
        .bind(claim.tier.as_str())
        .bind(claim.agreement)
        .bind(claim.contradiction)
        .bind(&claim.judge)
        .bind(json(&claim.features)?)
        .bind(json(&claim.notes)?)
        .bind(super::storable(&claim.justification).as_ref())
        .bind(claim.citations.iter().filter_map(|cited| i32::try_from(*cited).ok()).collect::<Vec<i32>>())
        .bind(claim.correction.as_ref().map(json).transpose()?)
        .execute(&mut *connection)
        .await?;
        if !passages.is_empty() {
            sqlx::query(
                "UPDATE item_evidence e SET credibility = row.credibility, quality = row.quality,
                     source_type = row.source_type
                 FROM jsonb_to_recordset($2::jsonb) AS row(evidence_id text, passage_hash text,
                     credibility double precision, quality double precision, source_type text)
                 WHERE e.claim_id = $1 AND e.evidence_id = row.evidence_id AND e.passage_hash = row.passage_hash",
            )
            .bind(&claim.claim_id)
            .bind(rows(&passages.iter().map(PassageFigures::of).collect::<Vec<_>>())?)
            .execute(&mut *connection)
            .await?;
        }
    }
    Ok(())
}

/// Records a `Corrupt` error for the row's item; returns any other error.
fn note_unreadable(
    row: &PgRow,
    error: StoreError,
    unreadable: &mut BTreeMap<String, StoreError>,
) -> Result<(), StoreError> {
    if !matches!(error, StoreError::Corrupt { .. }) {
        return Err(error);
    }
    unreadable.entry(row.try_get("item_id")?).or_insert(error);
    Ok(())
}

#[derive(Serialize)]
struct PassageFigures<'a> {
    evidence_id: &'a str,
    passage_hash: String,
    credibility: f64,
    quality: f64,
    source_type: &'static str,
}

impl<'a> PassageFigures<'a> {
    fn of(passage: &'a JudgedPassage) -> Self {
        Self {
            evidence_id: &passage.evidence_id,
            passage_hash: ids::passage_hash(&passage.passage),
            credibility: passage.credibility,
            quality: passage.quality,
            source_type: passage.source_type.as_str(),
        }
    }
}

fn passage(row: &PgRow) -> Result<StoredPassage, StoreError> {
    let (url, final_url): (String, Option<String>) = (row.try_get("url")?, row.try_get("final_url")?);
    let (source_type, origin): (&str, &str) = (row.try_get("source_type")?, row.try_get("origin")?);
    let rank: i32 = row.try_get("rank")?;
    let passage = JudgedPassage {
        evidence_id: row.try_get("evidence_id")?,
        domain: row.try_get("domain")?,
        title: row.try_get("title")?,
        published_at: row.try_get("published_at")?,
        language: row.try_get("language")?,
        passage: row.try_get("passage")?,
        entail: row.try_get("entail")?,
        contradict: row.try_get("contradict")?,
        neutral: row.try_get("neutral")?,
        agreement: row.try_get("agreement_score")?,
        relevance: row.try_get("relevance")?,
        credibility: row.try_get("credibility")?,
        freshness: row.try_get("freshness")?,
        specificity: row.try_get("specificity")?,
        quality: row.try_get("quality")?,
        num_ok: row.try_get("num_ok")?,
        independent_group: row.try_get("independent_group")?,
        source_type: known(SourceType::parse(source_type), "source type", source_type)?,
        origin: known(Origin::parse(origin), "origin", origin)?,
        provider: row.try_get("provider")?,
        rank: u32::try_from(rank).unwrap_or(u32::MAX),
        out_of_context: row.try_get("out_of_context")?,
        judge: row.try_get("judge")?,
        adjudication: adjudication(row)?,
        url: url.clone(),
    };
    Ok(StoredPassage { passage, answered: final_url.unwrap_or(url) })
}

/// Returns the language model's stance for the passage; `None` if none was asked.
fn adjudication(row: &PgRow) -> Result<Option<Adjudication>, StoreError> {
    let Some(word) = row.try_get::<Option<&str>, _>("llm_stance")? else { return Ok(None) };
    let stance = known(Stance::parse(word), "stance", word)?;
    Ok(Some(Adjudication { stance, elsewhere: row.try_get("llm_elsewhere")? }))
}

fn review(row: &PgRow) -> Result<MatchedReview, StoreError> {
    let (relation, class): (&str, &str) = (row.try_get("relation")?, row.try_get("rating_class")?);
    Ok(MatchedReview {
        review: Review {
            claim: row.try_get("claim")?,
            claimant: row.try_get("claimant")?,
            url: row.try_get("url")?,
            publisher: row.try_get("publisher")?,
            title: row.try_get("title")?,
            rating: row.try_get("rating")?,
            language: row.try_get("language")?,
            review_date: row.try_get("review_date")?,
        },
        relation: known(Relation::parse(relation), "relation", relation)?,
        rating_class: known(RatingClass::parse(class), "rating class", class)?,
        similarity: row.try_get("similarity")?,
    })
}

//! Reads stored judgements with their evidence, writes re-evaluations, and keeps the verdicts that they replace.
//!
//! A write succeeds only if the item was not judged again or removed since the read. A stored value that this version
//! cannot read makes only its own item unreadable.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection};

use super::commit::{PassageRow, ReviewRow, rows, rows_text};
use super::{JudgedWith, OutboxDraft, Store, StoreError, WebhookDraft};
use crate::domain::Reason;
use crate::domain::evidence::{JudgedPassage, MatchedReview};
use crate::domain::result::{ClaimResult, ItemResult};

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

#[derive(Debug, Clone, FromRow)]
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
    #[sqlx(skip)]
    pub passages: Vec<StoredPassage>,
    #[sqlx(skip)]
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

/// A re-evaluation from stored evidence, with the messages that are sent if the answer changed.
#[derive(Debug, Clone, Copy)]
pub struct Rewrite<'a> {
    pub result: &'a ItemResult,
    /// Version of the row that was read.
    pub evaluated_at: DateTime<Utc>,
    /// The changed claims.
    pub claims: &'a [RejudgedClaim<'a>],
    pub why: Reason,
    pub outbox: &'a [OutboxDraft],
    pub webhooks: &'a [WebhookDraft],
    pub judged_with: &'a JudgedWith,
    /// Date of the messages.
    pub now: DateTime<Utc>,
    /// Runs the database's checks and rolls back.
    pub dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteOutcome {
    Written,
    /// Nothing written: the item was judged again, or by later domain lists, or removed meanwhile.
    Overtaken,
    /// Nothing written: the item's last message has this date, and `now` is not later.
    TooEarly(DateTime<Utc>),
}

/// An answer that a later one replaced.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, FromRow)]
pub struct EarlierVerdict {
    pub evaluated_at: DateTime<Utc>,
    pub claim: String,
    pub verdict: String,
    pub decisive: bool,
    pub confidence: f64,
    pub tier: String,
    pub score: Option<i32>,
    pub judge: String,
    /// Reason of the later answer; `None` if the item was sent again or a user requested it.
    #[sqlx(json(nullable))]
    pub why: Option<Reason>,
}

type ItemRow = (String, Value, DateTime<Utc>);

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
        let items = sqlx::query_as(
            "SELECT item_id, result, evaluated_at FROM items
             WHERE item_id > $2 AND ($1::timestamptz IS NULL OR evaluated_at >= $1) ORDER BY item_id LIMIT $3",
        )
        .bind(since)
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        self.judgements_of(items).await
    }

    pub async fn judgements_of_items(&self, ids: &[String]) -> Result<Judgements, StoreError> {
        let items = sqlx::query_as("SELECT item_id, result, evaluated_at FROM items WHERE item_id = ANY($1)")
            .bind(ids)
            .fetch_all(&self.pool)
            .await?;
        self.judgements_of(items).await
    }

    async fn judgements_of(&self, items: Vec<ItemRow>) -> Result<Judgements, StoreError> {
        let mut page = Judgements::default();
        let ids: Vec<String> = items.iter().map(|(id, ..)| id.clone()).collect();
        let mut claims = self.stored_claims(&ids, &mut page.unreadable).await?;
        for (id, result, evaluated_at) in items {
            let Some(result) = read::<ItemResult>(&id, result, &mut page.unreadable) else { continue };
            if page.unreadable.contains_key(&id) {
                continue;
            }
            let claims = result.claims.iter().filter_map(|claim| claims.remove(&claim.claim_id)).collect();
            page.read.push(StoredJudgement { result, evaluated_at, claims });
        }
        page.last = ids.into_iter().next_back();
        Ok(page)
    }

    /// Returns the items' claims by id. Adds items with an unreadable row to `unreadable`.
    async fn stored_claims(
        &self,
        items: &[String],
        unreadable: &mut BTreeMap<String, StoreError>,
    ) -> Result<HashMap<String, StoredClaim>, StoreError> {
        let claims: Vec<StoredClaim> = sqlx::query_as(
            "SELECT claim_id, claim_date, evaluated_at, confidence_threshold, searched, auto_correct
             FROM claims WHERE item_id = ANY($1)",
        )
        .bind(items)
        .fetch_all(&self.pool)
        .await?;
        let mut claims: HashMap<String, StoredClaim> =
            claims.into_iter().map(|claim| (claim.claim_id.clone(), claim)).collect();
        let passages: Vec<(String, Value, String)> = sqlx::query_as(
            "SELECT e.item_id, to_jsonb(e) || jsonb_build_object('url', s.url, 'domain', s.domain, 'title', s.title,
                 'published_at', s.published_at, 'language', s.language), coalesce(s.final_url, s.url)
             FROM item_evidence e JOIN evidence_sources s ON s.id = e.evidence_id
             WHERE e.item_id = ANY($1) ORDER BY e.rank, e.evidence_id, e.passage_hash",
        )
        .bind(items)
        .fetch_all(&self.pool)
        .await?;
        for (item, row, answered) in passages {
            if let Some(row) = read::<PassageRow>(&item, row, unreadable)
                && let Some(claim) = claims.get_mut(&row.claim_id)
            {
                claim.passages.push(StoredPassage { passage: row.into(), answered });
            }
        }
        let reviews: Vec<(String, Value)> = sqlx::query_as(
            "SELECT item_id, to_jsonb(f) FROM item_fact_checks f WHERE item_id = ANY($1) ORDER BY similarity DESC, url",
        )
        .bind(items)
        .fetch_all(&self.pool)
        .await?;
        for (item, row) in reviews {
            if let Some(ReviewRow { claim_id, review }) = read(&item, row, unreadable)
                && let Some(claim) = claims.get_mut(&claim_id)
            {
                claim.reviews.push(review);
            }
        }
        Ok(claims)
    }

    /// Writes a re-evaluated item and its messages.
    pub async fn write_rejudged(&self, rewrite: Rewrite<'_>) -> Result<RewriteOutcome, StoreError> {
        let Rewrite { result, now, dry_run, .. } = rewrite;
        self.in_time(async {
            let mut transaction = self.transaction().await?;
            let last: Option<DateTime<Utc>> = sqlx::query_scalar("SELECT item_spoken_of($1)")
                .bind(&result.item_id)
                .fetch_one(&mut *transaction)
                .await?;
            // Messages are dated to the millisecond.
            if let Some(last) = last.filter(|last| now < *last + TimeDelta::milliseconds(1) && !dry_run) {
                return Ok(RewriteOutcome::TooEarly(last));
            }
            let written = sqlx::query(
                "UPDATE items SET fact_check_score = (new.result->>'score')::double precision,
                     fact_check_tier = (new.result->>'tier')::fact_check_tier, fact_check_notes = new.result->'notes',
                     result = new.result, judged_with = judged_with || $4
                 FROM (SELECT $3::jsonb AS result) AS new
                 WHERE item_id = $1 AND evaluated_at = $2
                     AND coalesce((judged_with->>'lists')::bigint <= ($4->>'lists')::bigint, true)",
            )
            .bind(&result.item_id)
            .bind(rewrite.evaluated_at)
            .bind(rows_text(result)?)
            .bind(Json(rewrite.judged_with))
            .execute(&mut *transaction)
            .await?;
            if written.rows_affected() == 0 {
                return Ok(RewriteOutcome::Overtaken);
            }
            // Under the row lock, so that only one of two concurrent runs sees the change.
            if turns(&mut transaction, &rewrite).await? && !dry_run {
                keep_replaced(&mut transaction, &rewrite).await?;
                super::outbox::write(&mut transaction, rewrite.outbox, now).await?;
                super::webhooks::write(&mut transaction, rewrite.webhooks, now).await?;
            }
            write_claims(&mut transaction, rewrite.claims).await?;
            if dry_run {
                // Deferred constraints otherwise run at commit.
                sqlx::query("SET CONSTRAINTS ALL IMMEDIATE").execute(&mut *transaction).await?;
                transaction.rollback().await?;
            } else {
                transaction.commit().await?;
            }
            Ok(RewriteOutcome::Written)
        })
        .await
    }

    /// Returns an item's earlier answers, latest first.
    pub async fn verdict_history(&self, item_id: &str) -> Result<Vec<EarlierVerdict>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT evaluated_at, claim_text AS claim, verdict, decisive, confidence, tier, score, judge,
                 to_jsonb(why) AS why
             FROM verdict_history WHERE item_id = $1 ORDER BY replaced_at DESC, position LIMIT 200",
        )
        .bind(item_id)
        .fetch_all(&self.pool)
        .await?)
    }
}

/// Returns the value, or adds a `Corrupt` error for the item.
fn read<T: DeserializeOwned>(item: &str, row: Value, unreadable: &mut BTreeMap<String, StoreError>) -> Option<T> {
    match serde_json::from_value(row) {
        Ok(value) => Some(value),
        Err(error) => {
            unreadable.entry(item.to_owned()).or_insert(StoreError::Corrupt { detail: error.to_string() });
            None
        }
    }
}

/// Returns true if a verdict or its `decisive` flag changed.
async fn turns(connection: &mut PgConnection, rewrite: &Rewrite<'_>) -> Result<bool, StoreError> {
    let stored: Vec<(String, String, bool)> =
        sqlx::query_as("SELECT claim_id, verdict, decisive FROM claims WHERE item_id = $1")
            .bind(&rewrite.result.item_id)
            .fetch_all(connection)
            .await?;
    Ok(stored.iter().any(|(id, verdict, decisive)| {
        let new = rewrite.claims.iter().find(|one| one.claim.claim_id == *id);
        new.is_some_and(|one| one.claim.verdict.as_str() != verdict || one.claim.decisive != *decisive)
    }))
}

async fn keep_replaced(connection: &mut PgConnection, rewrite: &Rewrite<'_>) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO verdict_history (item_id, evaluated_at, position, claim_text, verdict, decisive, confidence, tier,
             score, judge, why, told_at)
         SELECT item_id, evaluated_at, position, claim_text, verdict, decisive, confidence, tier::text, score, judge, $2, $3
         FROM claims WHERE item_id = $1 ON CONFLICT DO NOTHING",
    )
    .bind(&rewrite.result.item_id)
    .bind(rewrite.why.as_str())
    .bind(rewrite.now)
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_claims(connection: &mut PgConnection, claims: &[RejudgedClaim<'_>]) -> Result<(), StoreError> {
    let results: Vec<&ClaimResult> = claims.iter().map(|one| one.claim).collect();
    sqlx::query(
        "UPDATE claims SET verdict = new.verdict, decisive = new.decisive, confidence = new.confidence, score = new.score,
             tier = new.tier, agreement = new.agreement, contradiction = new.contradiction, judge = new.judge,
             features = new.features, notes = new.notes, justification = new.justification, citations = new.citations,
             correction = new.correction
         FROM jsonb_populate_recordset(null::claims, $1::jsonb) AS new WHERE claims.claim_id = new.claim_id",
    )
    .bind(rows(&results)?)
    .execute(&mut *connection)
    .await?;
    let passages: Vec<PassageRow> = claims
        .iter()
        .flat_map(|one| one.passages.iter().map(|passage| PassageRow::of("", &one.claim.claim_id, passage)))
        .collect();
    sqlx::query(
        "UPDATE item_evidence e SET credibility = new.credibility, quality = new.quality, source_type = new.source_type
         FROM jsonb_populate_recordset(null::item_evidence, $1::jsonb) AS new
         WHERE e.claim_id = new.claim_id AND e.evidence_id = new.evidence_id AND e.passage_hash = new.passage_hash",
    )
    .bind(rows(&passages)?)
    .execute(connection)
    .await?;
    Ok(())
}

//! Removal by age. An item goes with its claims and evidence; a page goes when it has expired and nothing cites it.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::{Store, StoreError};

/// Rows removed, or to be removed.
#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq, Eq)]
pub struct Cleaned {
    pub items: i64,
    pub evidence_sources: i64,
    pub evidence_claims: i64,
    pub fact_check_cache: i64,
    pub answers: i64,
}

impl Cleaned {
    pub const fn total(&self) -> i64 {
        self.items + self.evidence_sources + self.evidence_claims + self.fact_check_cache + self.answers
    }
}

/// Items removed per transaction: small enough never to hold a worker up.
const BATCH: i64 = 500;

impl Store {
    /// Counts what [`Store::cleanup`] would remove now.
    pub async fn cleanup_preview(&self, now: DateTime<Utc>) -> Result<Cleaned, StoreError> {
        let row: (i64, i64, i64, i64, i64) = sqlx::query_as(
            "WITH old_items AS (SELECT item_id FROM items WHERE expires_at <= $1),
             old_sources AS (
                 SELECT id FROM evidence_sources s WHERE expires_at <= $1 AND origin <> 'kb' AND NOT EXISTS (
                     SELECT 1 FROM item_evidence e WHERE e.evidence_id = s.id
                         AND e.item_id NOT IN (SELECT item_id FROM old_items)))
             SELECT (SELECT count(*) FROM old_items), (SELECT count(*) FROM old_sources),
                 (SELECT count(*) FROM evidence_claims WHERE evidence_id IN (SELECT id FROM old_sources)),
                 (SELECT count(*) FROM fact_check_cache WHERE expires_at <= $1),
                 (SELECT count(*) FROM answers WHERE expires_at <= $1)",
        )
        .bind(now)
        .fetch_one(&self.pool)
        .await?;
        Ok(Cleaned {
            items: row.0,
            evidence_sources: row.1,
            evidence_claims: row.2,
            fact_check_cache: row.3,
            answers: row.4,
        })
    }

    /// Removes what has expired, in batches. Several processes may run it at once: rows another one holds are left to it.
    pub async fn cleanup(&self, now: DateTime<Utc>) -> Result<Cleaned, StoreError> {
        let mut cleaned = Cleaned::default();
        loop {
            let removed = self.remove(
                "DELETE FROM items WHERE item_id IN (
                     SELECT item_id FROM items WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
                now,
            );
            let removed = removed.await?;
            cleaned.items += removed;
            if removed < BATCH {
                break;
            }
        }
        loop {
            let row: (i64, i64) = sqlx::query_as(
                "WITH old AS (
                     SELECT id FROM evidence_sources s WHERE expires_at <= $1 AND origin <> 'kb'
                         AND NOT EXISTS (SELECT 1 FROM item_evidence e WHERE e.evidence_id = s.id)
                     ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED),
                 sentences AS (SELECT count(*) AS found FROM evidence_claims WHERE evidence_id IN (SELECT id FROM old)),
                 gone AS (DELETE FROM evidence_sources WHERE id IN (SELECT id FROM old) RETURNING id)
                 SELECT (SELECT count(*) FROM gone), (SELECT found FROM sentences)",
            )
            .bind(now)
            .bind(BATCH)
            .fetch_one(&self.pool)
            .await?;
            cleaned.evidence_sources += row.0;
            cleaned.evidence_claims += row.1;
            if row.0 < BATCH {
                break;
            }
        }
        loop {
            let removed = self
                .remove(
                    "DELETE FROM fact_check_cache WHERE (normalized_claim, provider) IN (
                         SELECT normalized_claim, provider FROM fact_check_cache WHERE expires_at <= $1 LIMIT $2)",
                    now,
                )
                .await?;
            cleaned.fact_check_cache += removed;
            if removed < BATCH {
                break;
            }
        }
        cleaned.answers = self.tidy_answers(now).await?;
        Ok(cleaned)
    }

    async fn remove(&self, statement: &'static str, now: DateTime<Utc>) -> Result<i64, StoreError> {
        let done = sqlx::query(statement).bind(now).bind(BATCH).execute(&self.pool).await?;
        Ok(i64::try_from(done.rows_affected()).unwrap_or(i64::MAX))
    }
}

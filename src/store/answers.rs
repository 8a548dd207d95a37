//! Cached answers of providers, for all processes.
//!
//! Fact-check answers are stored by normalised claim in `fact_check_cache`, others by the hash of the query. An empty
//! answer is cached; a failed call never is. The database's clock decides what expires.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::commit::without_nul;
use super::{Store, StoreError, storable};

/// Maximum rows, a few kB each. Those that expire first are removed. At ten queries per item, 1,000 items a second fill
/// this in two minutes, ten in three hours.
const MOST_ANSWERS: i64 = 1_000_000;
/// Longest claim used as a key of `fact_check_cache`, bytes.
const MAX_CLAIM_BYTES: usize = 2_000;
const BATCH: i64 = 1_000;

#[derive(Debug, Clone, Copy)]
pub struct AnswerKey<'a> {
    /// Hash of the query, unique over all providers.
    pub hash: &'a str,
    pub provider: &'a str,
    /// Normalised claim of a fact-check lookup; `None` for a search.
    pub claim: Option<&'a str>,
}

impl AnswerKey<'_> {
    /// Returns the key in `fact_check_cache`; `None` if too long for its index. The answer is then stored by hash.
    fn indexed_claim(&self) -> Option<String> {
        self.claim.filter(|claim| claim.len() <= MAX_CLAIM_BYTES).map(|claim| storable(claim).into_owned())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CachedAnswer {
    pub answer: Value,
    pub expires_in: Duration,
}

impl Store {
    pub async fn cached_answer(&self, key: AnswerKey<'_>) -> Result<Option<CachedAnswer>, StoreError> {
        let claim = key.indexed_claim();
        let read = || async {
            let query = match &claim {
                Some(claim) => sqlx::query_as(
                    "SELECT result_json, extract(epoch FROM expires_at - now())::float8 FROM fact_check_cache
                     WHERE normalized_claim = $1 AND provider = $2 AND expires_at > now()",
                )
                .bind(claim)
                .bind(key.provider),
                None => sqlx::query_as(
                    "SELECT answer, extract(epoch FROM expires_at - now())::float8 FROM answers
                     WHERE key = $1 AND expires_at > now()",
                )
                .bind(key.hash),
            };
            Ok(query.fetch_optional(&self.pool).await?)
        };
        let row: Option<(Value, f64)> = self.again(read).await?;
        Ok(row.map(|(answer, seconds)| CachedAnswer {
            answer,
            expires_in: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        }))
    }

    /// Stores an answer in place of an earlier one.
    pub async fn keep_answer(&self, key: AnswerKey<'_>, answer: &Value, ttl: Duration) -> Result<(), StoreError> {
        let insert = match key.indexed_claim() {
            Some(claim) => sqlx::query(
                "INSERT INTO fact_check_cache (provider, result_json, cached_at, expires_at, normalized_claim)
                 VALUES ($1, $2::jsonb, now(), now() + make_interval(secs => $3), $4)
                 ON CONFLICT (normalized_claim, provider) DO UPDATE SET result_json = excluded.result_json,
                     cached_at = excluded.cached_at, expires_at = excluded.expires_at",
            )
            .bind(key.provider)
            .bind(without_nul(answer.to_string()))
            .bind(ttl.as_secs_f64())
            .bind(claim),
            None => sqlx::query(
                "INSERT INTO answers (provider, answer, cached_at, expires_at, key)
                 VALUES ($1, $2::jsonb, now(), now() + make_interval(secs => $3), $4)
                 ON CONFLICT (key) DO UPDATE SET answer = excluded.answer, cached_at = excluded.cached_at,
                     expires_at = excluded.expires_at",
            )
            .bind(key.provider)
            .bind(without_nul(answer.to_string()))
            .bind(ttl.as_secs_f64())
            .bind(key.hash.to_owned()),
        };
        insert.execute(&self.pool).await?;
        Ok(())
    }

    /// Removes expired answers and answers beyond the maximum. Returns their number; skips locked rows.
    pub async fn tidy_answers(&self) -> Result<i64, StoreError> {
        self.tidy_answers_to(MOST_ANSWERS).await
    }

    /// [`Store::tidy_answers`] with another maximum.
    pub async fn tidy_answers_to(&self, most: i64) -> Result<i64, StoreError> {
        // Once only: it scans the whole index.
        let too_many = sqlx::query_scalar("SELECT expires_at FROM answers ORDER BY expires_at DESC OFFSET $1 LIMIT 1");
        let too_many: Option<DateTime<Utc>> = too_many.bind(most).fetch_optional(&self.pool).await?;
        let mut removed = 0;
        loop {
            let done = sqlx::query(
                "DELETE FROM answers WHERE key = ANY (ARRAY(
                     SELECT key FROM answers WHERE expires_at <= greatest(now(), $1)
                     ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
            )
            .bind(too_many)
            .bind(BATCH)
            .execute(&self.pool)
            .await?;
            let gone = i64::try_from(done.rows_affected()).unwrap_or(i64::MAX);
            removed += gone;
            if gone < BATCH {
                return Ok(removed);
            }
        }
    }
}

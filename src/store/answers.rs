//! Cached answers of providers, with single flight: one process asks while others wait.
//!
//! Fact-check answers are stored by normalised claim in `fact_check_cache`, others by the hash of the query. An empty
//! answer is cached; a failed call never is.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::commit::rows;
use super::pool::BoundedPool;
use super::together::BatchLoader;
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
    fn indexed_claim(claim: Option<&str>) -> Option<String> {
        claim.filter(|claim| claim.len() <= MAX_CLAIM_BYTES).map(|claim| storable(claim).into_owned())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CachedAnswer {
    pub answer: Value,
    pub expires_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AnswerLookup {
    Cached(CachedAnswer),
    /// The caller must ask within the lease.
    Claimed,
    /// Another process asks.
    Held,
}

/// The answer to a query, or only the release of its claim.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerNote {
    pub key: String,
    pub provider: String,
    pub claim: Option<String>,
    /// `None`: no answer.
    pub answer: Option<Value>,
    pub cached_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// Holder of the claim on the query.
    pub holder: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct LookupRequest {
    key: String,
    provider: String,
    claim: Option<String>,
    now: DateTime<Utc>,
    holder: String,
    /// Seconds.
    lease: f64,
}

pub(super) type AnswerLookups = BatchLoader<LookupRequest, AnswerLookup>;

/// Expiry is stored by the database's clock and returned by the caller's (`moment`). In key order, because a claim
/// locks its row until the statement ends and two processes could deadlock.
macro_rules! in_order {
    ($lookup:literal) => {
        concat!(
            "SELECT said.found, said.until - (now() - asked.moment) AS until, coalesce(said.claimed, true) AS claimed FROM (
                 SELECT key, provider, claim, moment, holder, lease, place
                 FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::float8[])
                     WITH ORDINALITY AS row(key, provider, claim, moment, holder, lease, place) ORDER BY key, place) AS asked
             LEFT JOIN LATERAL ",
            $lookup,
            " AS said ON true ORDER BY asked.place"
        )
    };
}

pub(super) fn answer_lookups(pool: BoundedPool, embedded: bool) -> AnswerLookups {
    BatchLoader::new(move |requests: Vec<LookupRequest>| {
        let pool = pool.clone();
        Box::pin(async move {
            let of = |text: fn(&LookupRequest) -> &str| requests.iter().map(text).collect::<Vec<_>>();
            let sql = if embedded {
                in_order!(
                    "(SELECT found, until, false AS claimed FROM kept_answer(asked.key, asked.provider, asked.claim, now()))"
                )
            } else {
                in_order!(
                    "answer_or_claim(asked.key, asked.provider, asked.claim, now(), asked.holder, make_interval(secs => asked.lease))"
                )
            };
            let rows: Vec<(Option<Value>, Option<DateTime<Utc>>, bool)> = sqlx::query_as(sql)
                .bind(of(|one| &one.key))
                .bind(of(|one| &one.provider))
                .bind(requests.iter().map(|one| one.claim.as_deref()).collect::<Vec<_>>())
                .bind(requests.iter().map(|one| one.now).collect::<Vec<_>>())
                .bind(of(|one| &one.holder))
                .bind(requests.iter().map(|one| one.lease).collect::<Vec<_>>())
                .fetch_all(&pool)
                .await?;
            let lookups = rows.into_iter().map(|(answer, until, claimed)| match (answer, until) {
                (Some(answer), Some(expires_at)) => AnswerLookup::Cached(CachedAnswer { answer, expires_at }),
                _ if claimed => AnswerLookup::Claimed,
                _ => AnswerLookup::Held,
            });
            Ok(lookups.collect())
        })
    })
}

impl Store {
    /// Returns the cached answer, a claim for `lease`, or `Held`. Concurrent lookups share a statement.
    /// [`Store::note_answers`] with the same `holder` ends the claim. The embedded store needs none.
    pub async fn answer_or_claim(
        &self,
        key: AnswerKey<'_>,
        now: DateTime<Utc>,
        holder: &str,
        lease: Duration,
    ) -> Result<AnswerLookup, StoreError> {
        let request = LookupRequest {
            key: key.hash.to_owned(),
            provider: key.provider.to_owned(),
            claim: AnswerKey::indexed_claim(key.claim),
            now,
            holder: holder.to_owned(),
            lease: lease.as_secs_f64(),
        };
        self.again(|| self.answer_lookups.ask(request.clone())).await
    }

    /// Extends a claim unless another process took it.
    pub async fn renew_claim(&self, key: AnswerKey<'_>, holder: &str, lease: Duration) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE answer_claims SET until = clock_timestamp() + make_interval(secs => $3) WHERE key = $1 AND holder = $2",
        )
        .bind(key.hash)
        .bind(holder)
        .bind(lease.as_secs_f64())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Stores answers and releases claims. An older answer never replaces a newer one. `now`: clock of the notes.
    pub async fn note_answers(&self, notes: &[AnswerNote], now: DateTime<Utc>) -> Result<(), StoreError> {
        if notes.is_empty() {
            return Ok(());
        }
        let notes: Vec<AnswerNote> = notes
            .iter()
            .map(|note| AnswerNote { claim: AnswerKey::indexed_claim(note.claim.as_deref()), ..note.clone() })
            .collect();
        // In key order, so that two processes cannot deadlock.
        sqlx::query(
            "WITH given AS (
                 SELECT key, provider, claim, answer, holder, now() + (cached_at - $2) AS cached_at,
                     now() + (expires_at - $2) AS expires_at
                 FROM jsonb_to_recordset($1::jsonb) AS row(key text, provider text, claim text, answer jsonb,
                     cached_at timestamptz, expires_at timestamptz, holder text)),
             searches AS (
                 INSERT INTO answers AS kept (key, provider, answer, cached_at, expires_at)
                 SELECT DISTINCT ON (key) key, provider, answer, cached_at, expires_at FROM given
                 WHERE answer IS NOT NULL AND claim IS NULL ORDER BY key, cached_at DESC
                 ON CONFLICT (key) DO UPDATE SET answer = excluded.answer, cached_at = excluded.cached_at,
                     expires_at = excluded.expires_at
                 WHERE kept.cached_at <= excluded.cached_at),
             reviews AS (
                 INSERT INTO fact_check_cache AS kept (normalized_claim, provider, result_json, cached_at, expires_at)
                 SELECT DISTINCT ON (claim, provider) claim, provider, answer, cached_at, expires_at FROM given
                 WHERE answer IS NOT NULL AND claim IS NOT NULL ORDER BY claim, provider, cached_at DESC
                 ON CONFLICT (normalized_claim, provider) DO UPDATE SET result_json = excluded.result_json,
                     cached_at = excluded.cached_at, expires_at = excluded.expires_at
                 WHERE kept.cached_at <= excluded.cached_at),
             -- Whoever looks at several questions locks them in this order, too.
             freed AS MATERIALIZED (
                 SELECT held.key FROM answer_claims AS held JOIN given ON held.key = given.key AND held.holder = given.holder
                 ORDER BY held.key FOR UPDATE OF held)
             DELETE FROM answer_claims AS held USING freed WHERE held.key = freed.key",
        )
        .bind(rows(&notes)?)
        .bind(now)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Removes expired answers, old claims and answers beyond the maximum. Returns the number of answers; skips locked
    /// rows.
    pub async fn tidy_answers(&self) -> Result<i64, StoreError> {
        self.tidy_answers_to(MOST_ANSWERS).await
    }

    /// [`Store::tidy_answers`] with another maximum.
    pub async fn tidy_answers_to(&self, most: i64) -> Result<i64, StoreError> {
        sqlx::query(
            "DELETE FROM answer_claims WHERE key IN (SELECT key FROM answer_claims
                 WHERE until NOT BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() + interval '1 hour'
                 FOR UPDATE SKIP LOCKED)",
        )
        .execute(&self.pool)
        .await?;
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

//! What providers answered lately, shared by every process: answers with their time, and claims by which one process asks
//! while the others wait.
//!
//! Fact-check answers have a table of their own, by the normalised claim; everything else is kept by the hash of the
//! question. An empty answer is an answer: "asked, nothing found". "Could not ask" never comes here.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::commit::rows;
use super::{Store, StoreError, storable};

/// Rows kept at most, whatever their time; at a few kB each some hundred megabytes. The ones that expire first go first.
const MOST_ANSWERS: i64 = 100_000;
/// Rows removed per statement.
const BATCH: i64 = 1_000;

/// A question as the store knows it.
#[derive(Debug, Clone, Copy)]
pub struct AnswerKey<'a> {
    /// The hash of the question, unique over all providers.
    pub hash: &'a str,
    pub provider: &'a str,
    /// The normalised claim of a fact-check lookup; `None` for a search.
    pub claim: Option<&'a str>,
}

/// An answer with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptAnswer {
    pub answer: Value,
    pub expires_at: DateTime<Utc>,
}

/// What a look at a question gave.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerLook {
    Kept(KeptAnswer),
    /// Nobody knows, and nobody else asks: it is the caller's to ask, until the lease is over.
    Claimed,
    /// Another process is asking.
    Held,
}

/// What became of a question: its answer, or only that its claim is let go.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerNote {
    pub key: String,
    pub provider: String,
    pub claim: Option<String>,
    /// `None`: nothing was learnt.
    pub answer: Option<Value>,
    pub cached_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// Under which the question was claimed.
    pub holder: Option<String>,
}

impl Store {
    /// The kept answer, unless it has expired at `now`. One statement.
    pub async fn kept_answer(&self, key: AnswerKey<'_>, now: DateTime<Utc>) -> Result<Option<KeptAnswer>, StoreError> {
        let row: Option<(Value, DateTime<Utc>)> =
            sqlx::query_as("SELECT found, until FROM kept_answer($1, $2, $3, $4)")
                .bind(key.hash)
                .bind(key.provider)
                .bind(key.claim.map(storable).as_deref())
                .bind(now)
                .fetch_optional(&self.pool)
                .await?;
        Ok(row.map(|(answer, expires_at)| KeptAnswer { answer, expires_at }))
    }

    /// The kept answer, or the claim to the question for `lease`, or the word that another one has it. One statement. The
    /// claim is freed by [`Store::note_answers`] with the same `holder`, or by its end.
    pub async fn answer_or_claim(
        &self,
        key: AnswerKey<'_>,
        now: DateTime<Utc>,
        holder: &str,
        lease: Duration,
    ) -> Result<AnswerLook, StoreError> {
        let (answer, until, claimed): (Option<Value>, Option<DateTime<Utc>>, bool) = sqlx::query_as(
            "SELECT found, until, claimed FROM answer_or_claim($1, $2, $3, $4, $5, make_interval(secs => $6))",
        )
        .bind(key.hash)
        .bind(key.provider)
        .bind(key.claim.map(storable).as_deref())
        .bind(now)
        .bind(holder)
        .bind(lease.as_secs_f64())
        .fetch_one(&self.pool)
        .await?;
        Ok(match (answer, until) {
            (Some(answer), Some(expires_at)) => AnswerLook::Kept(KeptAnswer { answer, expires_at }),
            _ if claimed => AnswerLook::Claimed,
            _ => AnswerLook::Held,
        })
    }

    /// Keeps a claim for another `lease`; one that somebody else took meanwhile stays theirs.
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

    /// Writes answers and frees claims, all in one statement. An older answer never replaces a newer one.
    pub async fn note_answers(&self, notes: &[AnswerNote]) -> Result<(), StoreError> {
        if notes.is_empty() {
            return Ok(());
        }
        // Written in the order of their keys, so that two processes with the same ones cannot deadlock.
        sqlx::query(
            "WITH given AS (
                 SELECT * FROM jsonb_to_recordset($1::jsonb) AS row(key text, provider text, claim text, answer jsonb,
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
                 WHERE kept.cached_at <= excluded.cached_at)
             DELETE FROM answer_claims AS held USING given WHERE held.key = given.key AND held.holder = given.holder",
        )
        .bind(rows(notes)?)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Removes answers that have expired, claims whose end is long past, and the answers that are too many. Gives the
    /// number of answers removed. Rows that another process holds are left to it.
    pub async fn tidy_answers(&self, now: DateTime<Utc>) -> Result<i64, StoreError> {
        self.tidy_answers_to(now, MOST_ANSWERS).await
    }

    /// [`Store::tidy_answers`] with a bound of the caller's.
    pub async fn tidy_answers_to(&self, now: DateTime<Utc>, most: i64) -> Result<i64, StoreError> {
        sqlx::query("DELETE FROM answer_claims WHERE until < clock_timestamp() - interval '1 minute'")
            .execute(&self.pool)
            .await?;
        let mut removed = 0;
        loop {
            let done = sqlx::query(
                "DELETE FROM answers WHERE key IN (
                     SELECT key FROM answers
                     WHERE expires_at <= greatest($1,
                         (SELECT expires_at FROM answers ORDER BY expires_at DESC OFFSET $2 LIMIT 1))
                     ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED)",
            )
            .bind(now)
            .bind(most)
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

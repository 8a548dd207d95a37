//! Items due for re-evaluation: why, which process works on them, and what that may cost.
//!
//! - [`Store::look_for_reasons`] adds items for edited domain lists, expired pages and new fact-checks.
//! - `store_pages` in the database adds those of pages that lost a passage.
//! - [`Store::take_due`] leases items within hourly limits; [`Store::settle_due`] removes them.
//!
//! To add a reason: a word in [`Reason`] and in the migrations, and its statement here.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::Row as _;

use super::basis::JudgingVersion;
use super::{Store, StoreError};
use crate::domain::verdict::{Phase, RatingClass};
use crate::domain::{Item, ItemResult, Reason};

/// A result is stored this much later than its fact-checks were matched; scans look back as far.
const STORED_LATE: &str = "15 minutes";

/// Fact-checks per scan and per statement. A lookup in a vector index on disk takes tens of milliseconds; a statement
/// may take 30 seconds.
const MOST_REVIEWS: usize = 1000;
const REVIEWS_AT_ONCE: usize = 100;
/// Nearest items per fact-check: as many as the index returns.
const NEAR_ITEMS: i64 = 40;

/// Maximum items or pages per statement: some days of work. Bounds a statement to seconds if a large site is listed or
/// many pages expired. The latest items are kept; the next scan handles left-over pages.
pub(super) const MOST_NOTED: i64 = 100_000;

/// Update of an item that is already due.
pub(super) const AGAIN: &str =
    "noted_at = now(), taken_until = NULL, attempts = 0, reason = more_urgent(rejudging.reason, excluded.reason)";

/// Remaining lifetime below which an expired page is no reason.
const REMOVED_SOON: &str = "1 day";

#[derive(Debug, Clone, Copy)]
pub struct ScanCriteria {
    pub now: DateTime<Utc>,
    /// Items with older news are left as they are.
    pub since: DateTime<Utc>,
    /// Minimum cosine of two items for a fact-check of one to concern the other.
    pub similarity: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueItem {
    pub item_id: String,
    pub reason: Reason,
    pub due_at: DateTime<Utc>,
    /// Number of leases, including this one.
    pub attempts: i32,
    taken_until: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy)]
pub struct RejudgeLimits {
    /// Per call.
    pub at_once: u32,
    /// For all processes.
    pub per_hour: u32,
    pub lease: Duration,
}

#[derive(Debug, Clone)]
pub struct StoredRun {
    pub item: Item,
    pub result: ItemResult,
    pub phase: Phase,
    pub sent_at: Option<DateTime<Utc>>,
    pub evaluated_at: DateTime<Utc>,
}

impl Store {
    /// Adds the items that became due since the last scan. Returns their number.
    pub async fn look_for_reasons(&self, criteria: ScanCriteria) -> Result<u64, StoreError> {
        let scans = [
            self.note_edited_domains().await,
            self.note_expired_pages(criteria).await,
            self.note_new_reviews(criteria).await,
        ];
        let (mut noted, mut failure) = (0, None);
        for scan in scans {
            match scan {
                Ok(found) if found >= MOST_NOTED.unsigned_abs() => {
                    tracing::warn!(most = MOST_NOTED, "too many items to re-evaluate; older ones keep their results");
                    noted += found;
                }
                Ok(found) => noted += found,
                Err(error) => {
                    tracing::warn!(%error, "search for one re-evaluation reason failed");
                    failure = Some(error);
                }
            }
        }
        failure.map_or(Ok(noted), Err)
    }

    /// Adds the latest items that cite a page under an edited rule. Edits commit in id order, so none is missed.
    async fn note_edited_domains(&self) -> Result<u64, StoreError> {
        let (last, domains): (Option<i64>, Option<Vec<String>>) = sqlx::query_as(
            "SELECT max(id), array_agg(DISTINCT regexp_replace(domain, '^\\*\\.', '')) FILTER (WHERE action <> 'install'
                 AND coalesce(before, '{}') - 'why' IS DISTINCT FROM coalesce(after, '{}') - 'why')
             FROM domain_rule_changes
             WHERE id > (SELECT (value #>> '{}')::bigint FROM store_settings WHERE key = 'rejudging_rules')",
        )
        .fetch_one(&self.pool)
        .await?;
        let Some(last) = last else { return Ok(0) };
        counted(
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
                "WITH pages AS MATERIALIZED (SELECT id FROM pages_under($1) AS under(id)),
                 concerned AS MATERIALIZED (
                     SELECT DISTINCT e.item_id FROM item_evidence e JOIN pages ON pages.id = e.evidence_id),
                 noted AS (
                     INSERT INTO rejudging (item_id, asks, reason)
                     SELECT item_id, false, 'domain_lists' FROM (
                         SELECT i.item_id FROM concerned JOIN items i ON i.item_id = concerned.item_id
                         ORDER BY i.enriched_at DESC LIMIT $3) AS latest
                     ORDER BY item_id
                     ON CONFLICT (item_id, asks) DO UPDATE SET {AGAIN} RETURNING item_id),
                 looked AS (
                     UPDATE store_settings SET value = to_jsonb($2::bigint), updated_at = now() WHERE key = 'rejudging_rules')
                 SELECT count(*) FROM noted"
            )))
            .bind(domains.unwrap_or_default())
            .bind(last)
            .bind(MOST_NOTED)
            .fetch_one(&self.pool)
            .await,
        )
    }

    /// Adds the latest items whose verdict depends on a page that expired since the last scan. In order of expiry, so
    /// that the next scan continues there.
    async fn note_expired_pages(&self, ScanCriteria { since, .. }: ScanCriteria) -> Result<u64, StoreError> {
        counted(
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
                // `OFFSET 0` forces a lookup per page. Statistics do not show that few pages expire; the planner would
                // scan the largest table every minute.
                "WITH expired AS MATERIALIZED (
                     SELECT id, expires_at FROM evidence_sources
                     WHERE expires_at <= now() AND expires_at > (
                             SELECT (value #>> '{{}}')::timestamptz FROM store_settings WHERE key = 'rejudging_expiry')
                         AND origin = 'web'
                     ORDER BY expires_at FETCH FIRST ($2) ROWS WITH TIES),
                 noted AS (
                     INSERT INTO rejudging (item_id, asks, reason)
                     SELECT item_id, true, 'evidence_expired' FROM (
                     SELECT DISTINCT i.enriched_at, i.item_id FROM expired,
                         LATERAL (SELECT e.item_id FROM item_evidence e
                             WHERE e.evidence_id = expired.id AND e.stance <> 'neutral' OFFSET 0) AS citing,
                         LATERAL (SELECT item_id, enriched_at FROM items i
                             WHERE i.item_id = citing.item_id AND i.expires_at > now() + interval '{REMOVED_SOON}'
                                 AND coalesce(i.published_at, i.enriched_at) >= $1 OFFSET 0) AS i
                     ORDER BY i.enriched_at DESC LIMIT $2) AS latest
                     ORDER BY item_id
                     ON CONFLICT (item_id, asks) DO UPDATE SET {AGAIN} RETURNING item_id),
                 looked AS (
                     UPDATE store_settings SET updated_at = now(), value = to_jsonb((
                         SELECT CASE WHEN count(*) < $2 THEN now() ELSE max(expires_at) END FROM expired))
                     WHERE key = 'rejudging_expiry')
                 SELECT count(*) FROM noted"
            )))
            .bind(since)
            .bind(MOST_NOTED)
            .fetch_one(&self.pool)
            .await,
        )
    }

    /// Adds items similar to one with a new fact-check, if judged before it was found. The later run decides whether it
    /// reviews one of their claims.
    async fn note_new_reviews(&self, criteria: ScanCriteria) -> Result<u64, StoreError> {
        let (mut noted, mut is_done) = (0, false);
        for first in (0..MOST_REVIEWS).step_by(REVIEWS_AT_ONCE) {
            let (found, new) = self.note_reviews(criteria, first).await?;
            noted += new;
            is_done = found < REVIEWS_AT_ONCE as u64;
            if is_done {
                break;
            }
        }
        if !is_done {
            tracing::warn!(most = MOST_REVIEWS, "too many new fact-checks; older ones are ignored");
        }
        sqlx::query(
            "UPDATE store_settings SET value = to_jsonb($1::timestamptz), updated_at = now() WHERE key = 'rejudging_reviews'",
        )
        .bind(criteria.now)
        .execute(&self.pool)
        .await?;
        Ok(noted)
    }

    async fn note_reviews(
        &self,
        ScanCriteria { now, since, similarity }: ScanCriteria,
        first: usize,
    ) -> Result<(u64, u64), StoreError> {
        let decisive_ratings: Vec<&str> = [
            RatingClass::True,
            RatingClass::MostlyTrue,
            RatingClass::Mixed,
            RatingClass::Misleading,
            RatingClass::False,
        ]
        .map(RatingClass::as_str)
        .to_vec();
        let (found, noted): (i64, i64) = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "WITH found AS MATERIALIZED (
                     SELECT item_id, url, min(matched_at) AS matched_at FROM item_fact_checks
                     WHERE matched_at <= $1 AND matched_at > (
                             SELECT (value #>> '{{}}')::timestamptz FROM store_settings WHERE key = 'rejudging_reviews')
                             - interval '{STORED_LATE}'
                         AND relation IN ('same', 'opposite') AND rating_class = ANY($3)
                     GROUP BY item_id, url ORDER BY min(matched_at) DESC, url, item_id
                     LIMIT {REVIEWS_AT_ONCE} OFFSET $5),
                 noted AS (
                     INSERT INTO rejudging (item_id, asks, reason)
                     SELECT DISTINCT near.item_id, true, 'fact_check'
                     FROM found JOIN items own ON own.item_id = found.item_id AND own.embedding IS NOT NULL,
                         LATERAL (
                             SELECT item_id, evaluated_at, published_at, embedding FROM items
                             WHERE embedder = own.embedder
                             ORDER BY embedding_bits <~> own.embedding_bits LIMIT {NEAR_ITEMS}) AS near
                     WHERE near.item_id <> own.item_id AND near.evaluated_at < found.matched_at
                         AND 1 - (near.embedding <=> own.embedding) >= $2
                         AND coalesce(near.published_at, near.evaluated_at) >= $4
                         AND NOT EXISTS (SELECT FROM item_fact_checks known
                             WHERE known.item_id = near.item_id AND known.url = found.url)
                         -- What was noted since is noted, and perhaps in work: a review is looked at by several looks.
                         AND NOT EXISTS (SELECT FROM rejudging noted
                             WHERE noted.item_id = near.item_id AND noted.asks AND noted.noted_at >= found.matched_at)
                     ORDER BY 1
                     ON CONFLICT (item_id, asks) DO UPDATE SET {AGAIN}
                     RETURNING item_id)
                 SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM noted)"
        )))
        .bind(now)
        .bind(similarity)
        .bind(decisive_ratings)
        .bind(since)
        .bind(i64::try_from(first).unwrap_or(i64::MAX))
        .fetch_one(&self.pool)
        .await?;
        Ok((found.unsigned_abs(), noted.unsigned_abs()))
    }

    /// Drops items that need searches and are gone or older than `since`, because they use up the hourly limit.
    pub async fn drop_outdated(&self, since: DateTime<Utc>) -> Result<u64, StoreError> {
        let dropped = sqlx::query(
            "DELETE FROM rejudging WHERE asks AND item_id = ANY (ARRAY(
                 SELECT due.item_id FROM rejudging due LEFT JOIN items i ON i.item_id = due.item_id
                 WHERE due.asks AND (due.taken_until IS NULL OR due.taken_until < now())
                     AND (i.item_id IS NULL OR coalesce(i.published_at, i.evaluated_at) < $1)
                 LIMIT $2))",
        )
        .bind(since)
        .bind(MOST_NOTED)
        .execute(&self.pool)
        .await?;
        Ok(dropped.rows_affected())
    }

    /// Leases the items due longest, within the limits, by the database's clock. Returns none if `basis` is not in force:
    /// a process with older settings would judge and remove items that are due by the newer ones.
    pub async fn take_due(
        &self,
        asks: bool,
        basis: &JudgingVersion,
        allowance: RejudgeLimits,
    ) -> Result<Vec<DueItem>, StoreError> {
        let rows = sqlx::query(
            "WITH due AS MATERIALIZED (
                 SELECT item_id FROM rejudging WHERE asks = $1
                     AND (taken_until IS NULL OR bounded_until(taken_until, 2 * make_interval(secs => $4), now()) <= now())
                     AND EXISTS (SELECT FROM store_settings WHERE key = 'rejudging_basis' AND value = $5)
                 -- Every recent item is due by a change of models: a page that was corrected does not wait behind them.
                 ORDER BY reason IN ('model', 'settings', 'evidence_expired'), due_at, item_id
                 LIMIT (SELECT least($2, greatest($3 - coalesce(sum(items), 0), 0))::bigint FROM rejudging_hours
                     WHERE hour = date_trunc('hour', now(), 'UTC') AND asks = $1)
                 FOR UPDATE SKIP LOCKED),
             taken AS (
                 UPDATE rejudging r SET taken_until = now() + make_interval(secs => $4), attempts = r.attempts + 1
                 FROM due WHERE r.item_id = due.item_id AND r.asks = $1
                 RETURNING r.item_id, r.reason, r.due_at, r.attempts, r.taken_until),
             counted AS (
                 INSERT INTO rejudging_hours AS h (hour, asks, items)
                 SELECT date_trunc('hour', now(), 'UTC'), $1, count(*) FROM taken HAVING count(*) > 0
                 ON CONFLICT (hour, asks) DO UPDATE SET items = h.items + excluded.items)
             SELECT item_id, reason, due_at, attempts, taken_until FROM taken ORDER BY due_at, item_id",
        )
        .bind(asks)
        .bind(i64::from(allowance.at_once))
        .bind(i64::from(allowance.per_hour))
        .bind(allowance.lease.as_secs_f64())
        .bind(basis.stored())
        .fetch_all(&self.pool)
        .await?;
        let mut due = Vec::with_capacity(rows.len());
        for row in rows {
            let reason: &str = row.try_get("reason")?;
            due.push(DueItem {
                item_id: row.try_get("item_id")?,
                reason: Reason::parse(reason)
                    .ok_or_else(|| StoreError::Corrupt { detail: format!("reason {reason:?}") })?,
                due_at: row.try_get("due_at")?,
                attempts: row.try_get("attempts")?,
                taken_until: row.try_get("taken_until")?,
            });
        }
        Ok(due)
    }

    /// Removes an item, unless it got a new reason or another holder meanwhile.
    pub async fn settle_due(&self, due: &DueItem) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM rejudging WHERE item_id = $1 AND asks = $2 AND taken_until = $3")
            .bind(&due.item_id)
            .bind(due.reason.asks())
            .bind(due.taken_until)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    pub async fn due_counts(&self) -> Result<Vec<(Reason, i64)>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT reason, count(*) FROM rejudging GROUP BY reason").fetch_all(&self.pool).await?;
        Ok(rows.iter().filter_map(|(reason, count)| Some((Reason::parse(reason)?, *count))).collect())
    }

    /// Returns the USD spent on re-evaluation this month (UTC).
    pub async fn rejudging_spent(&self) -> Result<f64, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT coalesce(sum(usd), 0) FROM rejudging_hours WHERE hour >= date_trunc('month', now(), 'UTC')",
        )
        .fetch_one(&self.pool)
        .await?)
    }

    pub async fn add_rejudging_cost(&self, usd: f64) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO rejudging_hours AS h (hour, asks, usd) VALUES (date_trunc('hour', now(), 'UTC'), true, $1)
             ON CONFLICT (hour, asks) DO UPDATE SET usd = h.usd + excluded.usd",
        )
        .bind(usd)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Returns the data for a new run of a stored item; `None` if it is gone.
    pub async fn stored_run(&self, item_id: &str) -> Result<Option<StoredRun>, StoreError> {
        // Read first: a later write changes this time, so the run detects it.
        let row = sqlx::query("SELECT phase, evaluated_at FROM items WHERE item_id = $1")
            .bind(item_id)
            .fetch_optional(&self.pool)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let evaluated_at = row.try_get("evaluated_at")?;
        let phase: Option<String> = row.try_get("phase")?;
        let (Some((item, sent_at)), Some(stored)) = (self.item_as_sent(item_id).await?, self.item(item_id).await?)
        else {
            return Ok(None);
        };
        // Old rows have no phase. Assume the richer one, so that a poorer result never replaces it.
        let phase = phase.as_deref().and_then(Phase::parse).unwrap_or(Phase::Two);
        Ok(Some(StoredRun { item, result: stored.result, phase, sent_at, evaluated_at }))
    }
}

fn counted(found: Result<i64, sqlx::Error>) -> Result<u64, StoreError> {
    Ok(u64::try_from(found?).unwrap_or_default())
}

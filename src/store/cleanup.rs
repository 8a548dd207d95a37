//! Removes expired rows: items with claims and evidence, uncited pages, unused feeds and provider state.
//!
//! Rows in use are touched often, so age shows what is unused. Only the database's clock decides. If the process clock
//! differs by more than [`MAX_CLOCK_DIFFERENCE`](super::MAX_CLOCK_DIFFERENCE), nothing is removed. To clean a new
//! table, add it to `stale`.

use std::future::Future;

use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::{Store, StoreError};

#[derive(Debug, Clone, Copy, Default, Serialize, PartialEq, Eq)]
pub struct CleanupReport {
    pub items: i64,
    pub evidence_sources: i64,
    pub evidence_claims: i64,
    pub fact_check_cache: i64,
    pub answers: i64,
    /// Unused feeds and sites, with their entries.
    pub feeds: i64,
    /// Unused providers and hosts, and re-evaluation entries of removed items.
    pub provider_state: i64,
    /// Messages tried for [`MESSAGE_AGE`].
    pub webhook_messages: i64,
}

impl CleanupReport {
    pub const fn total(&self) -> i64 {
        let known = self.items + self.evidence_sources + self.evidence_claims + self.fact_check_cache + self.answers;
        known + self.feeds + self.provider_state + self.webhook_messages
    }

    const fn stale(&mut self, kind: StaleKind) -> &mut i64 {
        match kind {
            StaleKind::Feeds => &mut self.feeds,
            StaleKind::Providers => &mut self.provider_state,
            StaleKind::Webhooks => &mut self.webhook_messages,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum StaleKind {
    Feeds,
    Providers,
    Webhooks,
}

/// Rows per transaction: few, so that workers never wait long.
const BATCH: i64 = 500;

/// Pause after each batch, as a multiple of its duration.
#[derive(Debug, Clone, Copy)]
struct Pace(u32);

impl Pace {
    const AT_ONCE: Self = Self(0);
    /// For the daemon: without pauses, clean-up used three tenths of two cores.
    const IN_BACKGROUND: Self = Self(9);

    async fn batch<T, E>(self, batch: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let begun = Instant::now();
        let done = batch.await?;
        sleep(begun.elapsed() * self.0).await;
        Ok(done)
    }
}

/// Larger, because no rows refer to these and each batch searches from the start.
const STALE_BATCH: i64 = 10_000;

/// Charts show a day; a month shows how a problem began.
const HOURS_AGE: &str = "30 days";

/// Wanted feeds and sites are read far more often while a process runs.
const FEED_AGE: &str = "30 days";
/// Same as the results that they report.
const MESSAGE_AGE: &str = "30 days";
const QUOTA_AGE: &str = "62 days";
/// Hosts rest at most an hour.
const HOST_AGE: &str = "2 days";

/// Returns tables with conditions for stale rows.
fn stale() -> [(StaleKind, &'static str, String); 8] {
    [
        (StaleKind::Feeds, "feeds", format!("coalesce(polled_at, next_poll_at) < now() - interval '{FEED_AGE}'")),
        (StaleKind::Feeds, "feed_sites", format!("next_look_at < now() - interval '{FEED_AGE}'")),
        (
            StaleKind::Feeds,
            "feed_entries",
            format!(
                "coalesce(published_at, seen_at) < now() - interval '{FEED_AGE}' AND NOT EXISTS (SELECT 1 FROM feeds AS f
                     WHERE f.url = feed_url AND coalesce(f.polled_at, f.next_poll_at) >= now() - interval '{FEED_AGE}')"
            ),
        ),
        (StaleKind::Providers, "page_hosts", format!("greatest(next_at, rests_until) < now() - interval '{HOST_AGE}'")),
        (StaleKind::Webhooks, "webhook_messages", format!("tried_since < now() - interval '{MESSAGE_AGE}'")),
        (StaleKind::Providers, "provider_hours", format!("hour < now() - interval '{HOURS_AGE}'")),
        (
            StaleKind::Providers,
            "rejudging",
            "due_at < now() AND NOT EXISTS (SELECT FROM items WHERE items.item_id = rejudging.item_id)".to_owned(),
        ),
        (StaleKind::Providers, "provider_quota", format!("greatest(updated_at, until) < now() - interval '{QUOTA_AGE}'")),
    ]
}

impl Store {
    /// Counts what [`Store::cleanup`] would remove.
    ///
    /// # Errors
    /// [`StoreError::ClocksDiffer`], as [`Store::cleanup`].
    pub async fn cleanup_preview(&self, now: DateTime<Utc>) -> Result<CleanupReport, StoreError> {
        self.check_clock(now).await?;
        let row: (i64, i64, i64, i64, i64) = sqlx::query_as(
            "WITH old_items AS (SELECT item_id FROM items WHERE expires_at <= now()),
             old_sources AS (
                 SELECT id FROM evidence_sources s WHERE expires_at <= now() AND origin <> 'kb' AND NOT EXISTS (
                     SELECT 1 FROM item_evidence e WHERE e.evidence_id = s.id
                         AND e.item_id NOT IN (SELECT item_id FROM old_items)))
             SELECT (SELECT count(*) FROM old_items), (SELECT count(*) FROM old_sources),
                 (SELECT count(*) FROM evidence_claims WHERE evidence_id IN (SELECT id FROM old_sources)),
                 (SELECT count(*) FROM fact_check_cache WHERE expires_at <= now()),
                 (SELECT count(*) FROM answers WHERE expires_at <= now())",
        )
        .fetch_one(&self.pool)
        .await?;
        let mut cleaned = CleanupReport {
            items: row.0,
            evidence_sources: row.1,
            evidence_claims: row.2,
            fact_check_cache: row.3,
            answers: row.4,
            ..CleanupReport::default()
        };
        for (kind, table, condition) in stale() {
            let count = format!("SELECT count(*) FROM {table} WHERE {condition}");
            let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(count)).fetch_one(&self.pool).await?;
            *cleaned.stale(kind) += count;
        }
        Ok(cleaned)
    }

    /// Removes expired rows in batches and updates usage counters. Skips locked rows, so processes may run it
    /// concurrently.
    ///
    /// # Errors
    /// [`StoreError::ClocksDiffer`] if `now` differs from the database's clock by more than five minutes; nothing is
    /// removed.
    pub async fn cleanup(&self, now: DateTime<Utc>) -> Result<CleanupReport, StoreError> {
        self.clean(now, Pace::AT_ONCE).await
    }

    /// As [`Store::cleanup`], with pauses.
    pub async fn cleanup_in_background(&self, now: DateTime<Utc>) -> Result<CleanupReport, StoreError> {
        self.clean(now, Pace::IN_BACKGROUND).await
    }

    async fn clean(&self, now: DateTime<Utc>, pace: Pace) -> Result<CleanupReport, StoreError> {
        self.check_clock(now).await?;
        let mut cleaned = CleanupReport::default();
        let old_items = "DELETE FROM items WHERE item_id = ANY (ARRAY(
             SELECT item_id FROM items WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))";
        cleaned.items = self.remove(old_items.to_owned(), BATCH, pace).await?;
        self.remove_pages(pace, &mut cleaned).await?;
        let old_reviews = "DELETE FROM fact_check_cache WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM fact_check_cache WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED))";
        cleaned.fact_check_cache = self.remove(old_reviews.to_owned(), BATCH, pace).await?;
        cleaned.answers = self.tidy_answers().await?;
        self.remove_expired_sessions().await?;
        for (kind, table, condition) in stale() {
            // Unordered, so locked rows are left for the next run.
            let removal = format!(
                "DELETE FROM {table} WHERE ctid = ANY (ARRAY(
                     SELECT ctid FROM {table} WHERE {condition} LIMIT $1 FOR UPDATE SKIP LOCKED))"
            );
            *cleaned.stale(kind) += self.remove(removal, STALE_BATCH, pace).await?;
        }
        self.settle_counters(pace).await?;
        Ok(cleaned)
    }

    /// Repeats `statement` until it removes fewer than `most` rows. Returns the total.
    async fn remove(&self, statement: String, most: i64, pace: Pace) -> Result<i64, StoreError> {
        let mut all = 0;
        loop {
            let batch = sqlx::query(sqlx::AssertSqlSafe(statement.clone())).bind(most).execute(&self.pool);
            let removed = i64::try_from(pace.batch(batch).await?.rows_affected()).unwrap_or(i64::MAX);
            all += removed;
            if removed < most {
                return Ok(all);
            }
        }
    }

    /// Adds up usage counters once by id; later uses wait for the next run.
    async fn settle_counters(&self, pace: Pace) -> Result<(), StoreError> {
        let mut last = Some(0_i64);
        while let Some(behind) = last {
            let batch = sqlx::query_scalar("SELECT settle_counters($1, $2::integer)").bind(behind).bind(BATCH);
            last = pace.batch(batch.fetch_one(&self.pool)).await?;
        }
        Ok(())
    }

    /// Removes expired, uncited pages. Continues after the last page, so that cited pages are checked once.
    async fn remove_pages(&self, pace: Pace, cleaned: &mut CleanupReport) -> Result<(), StoreError> {
        let mut after: (Option<DateTime<Utc>>, Option<String>) = (None, None);
        loop {
            let batch = sqlx::query_as(
                "WITH seen AS MATERIALIZED (
                     SELECT id, expires_at FROM evidence_sources
                     WHERE expires_at <= now() AND origin <> 'kb' AND ($2::timestamptz IS NULL OR expires_at >= $2)
                         AND ($2::timestamptz IS NULL OR (expires_at, id) > ($2, $3))
                     ORDER BY expires_at, id LIMIT $1),
                 old AS MATERIALIZED (
                     SELECT s.id FROM evidence_sources s
                     WHERE s.id IN (SELECT id FROM seen) AND s.expires_at <= now()
                         AND NOT EXISTS (SELECT 1 FROM item_evidence e WHERE e.evidence_id = s.id)
                     FOR UPDATE SKIP LOCKED),
                 sentences AS (SELECT count(*) AS found FROM evidence_claims WHERE evidence_id IN (SELECT id FROM old)),
                 gone AS (DELETE FROM evidence_sources WHERE id IN (SELECT id FROM old) RETURNING id),
                 last AS (SELECT expires_at, id FROM seen ORDER BY expires_at DESC, id DESC LIMIT 1)
                 SELECT (SELECT count(*) FROM seen), (SELECT count(*) FROM gone), (SELECT found FROM sentences),
                     (SELECT expires_at FROM last), (SELECT id FROM last)",
            )
            .bind(BATCH)
            .bind(after.0)
            .bind(&after.1);
            let row: (i64, i64, i64, Option<DateTime<Utc>>, Option<String>) =
                pace.batch(batch.fetch_one(&self.pool)).await?;
            cleaned.evidence_sources += row.1;
            cleaned.evidence_claims += row.2;
            if row.0 < BATCH {
                return Ok(());
            }
            after = (row.3, row.4);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn cleanup_rests_nine_times_as_long_as_it_works_when_it_runs_in_background() {
        let begun = Instant::now();
        let work = async || {
            let begun = Instant::now();
            sleep(Duration::from_millis(20)).await;
            Ok::<_, ()>(begun.elapsed())
        };
        let worked = Pace::IN_BACKGROUND.batch(work()).await.unwrap();
        assert!(begun.elapsed() >= worked * 10, "{worked:?} of {:?}", begun.elapsed());
        let begun = Instant::now();
        let failing = async {
            sleep(Duration::from_millis(500)).await;
            Err::<(), ()>(())
        };
        assert!(Pace::IN_BACKGROUND.batch(failing).await.is_err());
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    }
}

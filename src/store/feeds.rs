//! News feeds: which process reads which feed when, and the search over their entries.
//!
//! A process claims due feeds until a deadline, then writes the outcome and releases them. The search weights rare
//! stems higher and drops entries that share too little with the query.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgConnection};

use super::commit::rows;
use super::{Store, StoreError, storable};
use crate::domain::limits::{MAX_URL_BYTES, is_storable_url, serialize_date};

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ClaimedFeed {
    pub url: String,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Consecutive failures so far.
    #[sqlx(try_from = "i32")]
    pub failures: u32,
}

/// The feeds to read: configured ones, and those found at trusted sites.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedFeeds {
    pub urls: Vec<String>,
    pub sites: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedFreshness {
    pub fresh: u64,
    pub stale: u64,
}

#[derive(Debug, Clone, Default)]
pub struct FeedReading {
    pub url: String,
    pub title: Option<String>,
    pub language: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Earliest time of the next reading.
    pub next_poll_at: DateTime<Utc>,
    /// `None`: read, or unchanged.
    pub error: Option<String>,
    pub gone: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct FeedEntryRow {
    pub url: String,
    pub host: String,
    pub title: String,
    pub summary: String,
    pub language: Option<String>,
    #[serde(serialize_with = "serialize_date")]
    pub published_at: Option<DateTime<Utc>>,
    pub stems: Vec<String>,
    pub strong: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct FeedSearch<'a> {
    pub stems: &'a [String],
    /// Only entries of this or of unknown language.
    pub language: Option<&'a str>,
    /// Only entries within this distance of the date; nearer ones score higher.
    pub around: Option<(DateTime<Utc>, Duration)>,
    pub limit: i64,
}

#[derive(Debug, Clone, PartialEq, FromRow)]
pub struct FoundEntry {
    pub url: String,
    pub host: String,
    pub title: String,
    pub summary: String,
    pub language: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub score: f64,
}

/// Minimum share of the query's stem weight; at least two stems too, because one common word is chance.
const LEAST_SHARED: f64 = 0.35;
/// Bytes of entries sampled to count stems: some thousands of entries.
const SAMPLE_BYTES: i64 = 4 * 1024 * 1024;
/// Maximum entries scored per query, nearest to its date first.
const MOST_WEIGHED: i64 = 3_000;

/// How long counts are reused: weights are logarithms, and the language of feeds changes slowly.
const COUNTED_FOR: Duration = Duration::from_mins(5);
/// Below this, each reading changes the weights and counting is cheap, so counts are not reused.
const FEW: f64 = 1_000.0;

#[derive(Debug, Default)]
struct StemCounts {
    entries: f64,
    holders: HashMap<String, f64>,
}

impl StemCounts {
    /// Returns the stems' weights: rarer stems weigh more.
    fn weights(&self, stems: &[String]) -> Vec<f64> {
        let holders = stems.iter().map(|stem| self.holders.get(stem).copied().unwrap_or(0.0));
        holders.map(|holders| (1.0 + (self.entries - holders + 0.5).max(0.0) / (holders + 0.5)).ln()).collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct CountedStems(Mutex<Option<(Instant, Arc<StemCounts>)>>);

impl CountedStems {
    fn known(&self) -> Option<Arc<StemCounts>> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, counts) = counted.as_ref()?;
        (at.elapsed() < COUNTED_FOR).then(|| Arc::clone(counts))
    }

    fn keep(&self, counts: &Arc<StemCounts>) {
        let kept = (counts.entries >= FEW).then(|| (Instant::now(), Arc::clone(counts)));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }
}

/// Returns the rarest stems, one of which each match must contain: all others are below [`LEAST_SHARED`]. Entries with
/// only common words are skipped.
fn rarest_stems<'a>(stems: &'a [String], weights: &[f64]) -> Vec<&'a str> {
    let mut by_weight: Vec<(&str, f64)> = stems.iter().map(String::as_str).zip(weights.iter().copied()).collect();
    by_weight.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let total: f64 = weights.iter().sum();
    let mut left = total;
    let mut chosen = Vec::new();
    for (stem, weight) in by_weight {
        if left < LEAST_SHARED * total {
            break;
        }
        chosen.push(stem);
        left -= weight;
    }
    chosen
}

impl Store {
    /// Adds unknown feeds (URL, site), due at once; configured ones have no site. Returns their number.
    pub async fn add_feeds(&self, feeds: &[(String, String)], now: DateTime<Utc>) -> Result<u64, StoreError> {
        let storable = feeds.iter().filter(|(url, _)| is_storable_url(url));
        let (urls, hosts): (Vec<&str>, Vec<&str>) = storable.map(|(url, host)| (url.as_str(), host.as_str())).unzip();
        if urls.len() < feeds.len() {
            tracing::warn!(
                feeds = feeds.len() - urls.len(),
                limit = MAX_URL_BYTES,
                "feeds with over-long URLs ignored"
            );
        }
        let done = sqlx::query(
            "INSERT INTO feeds (url, host, next_poll_at) SELECT DISTINCT ON (url) url, host, $3
             FROM unnest($1::text[], $2::text[]) AS new(url, host) ORDER BY url ON CONFLICT (url) DO NOTHING",
        )
        .bind(&urls)
        .bind(&hosts)
        .bind(now)
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected())
    }

    /// Claims due feeds until `until`. Times must come from [`Store::queue_clock`]: a process with another clock would
    /// take valid claims.
    pub async fn claim_feeds(
        &self,
        wanted: &WantedFeeds,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: i64,
    ) -> Result<Vec<ClaimedFeed>, StoreError> {
        Ok(sqlx::query_as(
            // `bounded_until` ignores times too far ahead, which a wrong clock wrote.
            "UPDATE feeds SET claimed_until = $2, polled_at = now() WHERE url IN (
                 SELECT url FROM feeds WHERE NOT gone AND bounded_until(next_poll_at, interval '31 days', $1) <= $1
                     AND (claimed_until IS NULL OR bounded_until(claimed_until, 2 * ($2 - $1), $1) <= $1)
                     AND (url = ANY ($4) OR host = ANY ($5))
                 ORDER BY next_poll_at, url LIMIT $3 FOR UPDATE SKIP LOCKED)
             RETURNING url, etag, last_modified, failures",
        )
        .bind(now)
        .bind(until)
        .bind(limit)
        .bind(&wanted.urls)
        .bind(&wanted.sites)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Writes a reading with its entries and releases the feed. Skips entries that the database refuses, so that they
    /// block nothing.
    pub async fn finish_feed(
        &self,
        reading: &FeedReading,
        entries: &[FeedEntryRow],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        match self.write_feed(reading, entries, now).await {
            Err(error) if error.is_of_values() => {
                let mut refused = 0;
                for entry in entries {
                    match self.write_entry(&reading.url, entry).await {
                        Err(error) if error.is_of_values() => refused += 1,
                        done => done?,
                    }
                }
                tracing::warn!(feed = reading.url, refused, %error, "feed entries refused by the store");
                self.write_feed(reading, &[], now).await
            }
            done => done,
        }
    }

    async fn write_entry(&self, feed_url: &str, entry: &FeedEntryRow) -> Result<(), StoreError> {
        self.in_time(async {
            let mut transaction = self.transaction().await?;
            write_entries(&mut transaction, feed_url, std::slice::from_ref(entry)).await?;
            Ok(transaction.commit().await?)
        })
        .await
    }

    async fn write_feed(
        &self,
        reading: &FeedReading,
        entries: &[FeedEntryRow],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.in_time(async {
            let mut transaction = self.transaction().await?;
            sqlx::query(
                "UPDATE feeds SET claimed_until = NULL, next_poll_at = $2, gone = $3, last_error = $4,
                     failures = CASE WHEN $4 IS NULL THEN 0 ELSE failures + 1 END,
                     read_at = CASE WHEN $4 IS NULL THEN $5 ELSE read_at END,
                     title = coalesce($6, title), language = coalesce($7, language),
                     etag = CASE WHEN $4 IS NULL THEN $8 ELSE etag END,
                     last_modified = CASE WHEN $4 IS NULL THEN $9 ELSE last_modified END
                 WHERE url = $1",
            )
            .bind(&reading.url)
            .bind(reading.next_poll_at)
            .bind(reading.gone)
            .bind(reading.error.as_deref().map(storable))
            .bind(now)
            .bind(reading.title.as_deref().map(storable))
            .bind(reading.language.as_deref().map(storable))
            .bind(reading.etag.as_deref().map(storable))
            .bind(reading.last_modified.as_deref().map(storable))
            .execute(&mut *transaction)
            .await?;
            write_entries(&mut transaction, &reading.url, entries).await?;
            transaction.commit().await?;
            Ok(())
        })
        .await
    }

    /// Claims sites whose home page is due for feed discovery, and sets their next time, by [`Store::queue_clock`].
    pub async fn claim_feed_sites(
        &self,
        hosts: &[String],
        now: DateTime<Utc>,
        next: DateTime<Utc>,
        limit: i64,
    ) -> Result<Vec<String>, StoreError> {
        let due = sqlx::query_scalar(
            "INSERT INTO feed_sites AS known (host, next_look_at) SELECT host, $3 FROM (
                 SELECT DISTINCT wanted.host FROM unnest($1::text[]) AS wanted(host)
                 LEFT JOIN feed_sites AS seen ON seen.host = wanted.host
                 WHERE seen.host IS NULL OR bounded_until(seen.next_look_at, interval '31 days', $2) <= $2 ORDER BY wanted.host LIMIT $4) AS due
             ON CONFLICT (host) DO UPDATE SET next_look_at = excluded.next_look_at
                 WHERE bounded_until(known.next_look_at, interval '31 days', $2) <= $2
             RETURNING host",
        )
        .bind(hosts)
        .bind(now)
        .bind(next)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        Ok(due)
    }

    pub async fn finish_feed_site(&self, host: &str, next: DateTime<Utc>) -> Result<(), StoreError> {
        sqlx::query("UPDATE feed_sites SET next_look_at = $2 WHERE host = $1")
            .bind(host)
            .bind(next)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Counts stems in a sample, or in all entries if they are few.
    async fn feed_stems(&self) -> Result<Arc<StemCounts>, StoreError> {
        if let Some(known) = self.counted_stems.known() {
            return Ok(known);
        }
        let rows: Vec<(String, f64, f64)> = sqlx::query_as(
            "WITH sampled AS MATERIALIZED (SELECT stems FROM feed_entries TABLESAMPLE SYSTEM (
                 least(100, 100.0 * $1 / greatest(pg_relation_size('feed_entries'), 1))) REPEATABLE (0))
             SELECT stem, count(*)::float8, (SELECT count(*) FROM sampled)::float8
             FROM sampled, unnest(sampled.stems) AS held(stem) GROUP BY stem",
        )
        .bind(SAMPLE_BYTES)
        .fetch_all(&self.pool)
        .await?;
        let entries = rows.first().map_or(0.0, |(_, _, entries)| *entries);
        let counts = StemCounts { entries, holders: rows.into_iter().map(|(stem, n, _)| (stem, n)).collect() };
        let counts = Arc::new(counts);
        self.counted_stems.keep(&counts);
        Ok(counts)
    }

    /// Returns matching entries, best first. Rare stems weigh more; those of titles and names count double.
    pub async fn search_feed_entries(&self, search: &FeedSearch<'_>) -> Result<Vec<FoundEntry>, StoreError> {
        self.again(|| self.matching_entries(search)).await
    }

    async fn matching_entries(&self, search: &FeedSearch<'_>) -> Result<Vec<FoundEntry>, StoreError> {
        let weights = self.feed_stems().await?.weights(search.stems);
        let rarest = rarest_stems(search.stems, &weights);
        let total: f64 = weights.iter().sum();
        let (around, days) = search.around.map_or((None, 0.0), |(date, window)| (Some(date), window.as_secs_f64()));
        Ok(sqlx::query_as(
            "WITH near AS MATERIALIZED (
                 SELECT url, stems, strong, published_at FROM feed_entries
                 WHERE stems && $7::text[] AND ($2::text IS NULL OR language IS NULL OR language = $2)
                     AND ($3::timestamptz IS NULL OR published_at IS NULL OR published_at
                         BETWEEN $3 - make_interval(secs => $4) AND $3 + make_interval(secs => $4))
                 ORDER BY abs(extract(epoch FROM published_at - coalesce($3, now()))) NULLS LAST, url LIMIT $8),
             scored AS (SELECT near.url, near.published_at, m.score / (1 + CASE
                     WHEN $3::timestamptz IS NULL OR near.published_at IS NULL THEN 0
                     ELSE abs(extract(epoch FROM near.published_at - $3))::float8 / greatest($4, 1) END) AS score
                 FROM near, LATERAL (
                     SELECT sum(weight) AS shared, count(*) AS stems,
                         sum(weight * CASE WHEN stem = ANY (near.strong) THEN 2 ELSE 1 END) AS score
                     FROM unnest($1::text[], $9::float8[]) AS asked(stem, weight) WHERE stem = ANY (near.stems)) AS m
                 WHERE m.shared >= $5 AND m.stems >= least(2, cardinality($1::text[]))
                 ORDER BY score DESC, near.published_at DESC NULLS LAST, near.url LIMIT $6)
             SELECT e.url, e.host, e.title, e.summary, e.language, e.published_at, s.score
             FROM scored AS s JOIN feed_entries AS e USING (url)
             ORDER BY s.score DESC, e.published_at DESC NULLS LAST, e.url",
        )
        .bind(search.stems)
        .bind(search.language)
        .bind(around)
        .bind(days)
        .bind(LEAST_SHARED * total)
        .bind(search.limit)
        .bind(&rarest)
        .bind(MOST_WEIGHED)
        .bind(&weights)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Counts fresh feeds. A feed is fresh until `slack` after its due time; after a failure, until twice `slack` after
    /// its last reading.
    pub async fn feed_freshness(
        &self,
        wanted: &WantedFeeds,
        now: DateTime<Utc>,
        slack: TimeDelta,
    ) -> Result<FeedFreshness, StoreError> {
        self.again(|| self.freshness(wanted, now, slack)).await
    }

    async fn freshness(
        &self,
        wanted: &WantedFeeds,
        now: DateTime<Utc>,
        slack: TimeDelta,
    ) -> Result<FeedFreshness, StoreError> {
        let (wanted, fresh): (i64, i64) = sqlx::query_as(
            "SELECT count(*), count(*) FILTER (WHERE read_at IS NOT NULL
                 AND (failures = 0 AND next_poll_at >= $1 OR read_at >= $2))
             FROM feeds WHERE NOT gone AND (url = ANY ($3) OR host = ANY ($4))",
        )
        .bind(now - slack)
        .bind(now - slack * 2)
        .bind(&wanted.urls)
        .bind(&wanted.sites)
        .fetch_one(&self.pool)
        .await?;
        Ok(FeedFreshness { fresh: fresh.unsigned_abs(), stale: (wanted - fresh).unsigned_abs() })
    }

    /// Removes entries older than `keep` by the database's clock. Returns their number.
    pub async fn clean_feed_entries(&self, keep: Duration) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "DELETE FROM feed_entries WHERE coalesce(published_at, seen_at) < now() - make_interval(secs => $1)",
        )
        .bind(keep.as_secs_f64())
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected())
    }
}

/// A changed headline replaces the stored one.
async fn write_entries(
    connection: &mut PgConnection,
    feed_url: &str,
    entries: &[FeedEntryRow],
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO feed_entries (url, feed_url, host, title, summary, language, published_at, seen_at, stems, strong)
         SELECT url, $2, host, title, summary, language, published_at, now(), stems, strong
         FROM jsonb_to_recordset($1::jsonb) AS row(url text, host text, title text, summary text, language text,
             published_at timestamptz, stems text[], strong text[]) ORDER BY url
         ON CONFLICT (url) DO UPDATE SET title = excluded.title, summary = excluded.summary,
             stems = excluded.stems, strong = excluded.strong, language = excluded.language,
             published_at = coalesce(excluded.published_at, feed_entries.published_at)",
    )
    .bind(rows(entries)?)
    .bind(feed_url)
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_a_telling_stem_cannot_share_enough() {
        let stems: Vec<String> = ["the", "port", "customs", "vizhinjam"].map(str::to_owned).to_vec();
        let holders = stems.iter().cloned().zip([900.0, 200.0, 20.0]).collect();
        let weights = StemCounts { entries: 1000.0, holders }.weights(&stems);
        assert!(weights.is_sorted(), "the rarer, the more: {weights:?}");
        let chosen = rarest_stems(&stems, &weights);
        assert_eq!(chosen, ["vizhinjam", "customs"]);
        let rest: f64 = weights.iter().take(2).sum();
        assert!(rest < LEAST_SHARED * weights.iter().sum::<f64>());
        let alike = StemCounts::default().weights(&stems);
        assert_eq!(rarest_stems(&stems, &alike).len(), 3, "of an empty table nothing is known, and nothing left out");
    }
}

//! Feeds, who reads them when, and the search over what they published.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::Row as _;

use super::commit::rows;
use super::{Store, StoreError, storable};

/// A feed that is ours to read for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedFeed {
    pub url: String,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Failures in a row before.
    pub failures: u32,
}

/// What a reading of a feed came to.
#[derive(Debug, Clone, Default)]
pub struct FeedReading {
    pub url: String,
    pub title: Option<String>,
    pub language: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// When it may be read again.
    pub next_poll_at: DateTime<Utc>,
    /// `None`: it was read, or had not changed.
    pub error: Option<String>,
    /// It is never to be read again.
    pub gone: bool,
}

/// An entry to be kept.
#[derive(Debug, Clone, Serialize)]
pub struct FeedEntryRow {
    pub url: String,
    pub host: String,
    pub title: String,
    pub summary: String,
    pub language: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub stems: Vec<String>,
    pub strong: Vec<String>,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub struct FeedSearch<'a> {
    pub stems: &'a [String],
    /// Only entries of this language, or of none that is known.
    pub language: Option<&'a str>,
    /// Only entries within so much of that date, the nearer the better.
    pub around: Option<(DateTime<Utc>, Duration)>,
    pub limit: i64,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundEntry {
    pub url: String,
    pub host: String,
    pub title: String,
    pub summary: String,
    pub language: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub score: f64,
}

/// Of what a question's stems tell, an entry must share this part, and two stems at least: one common word is chance.
const LEAST_SHARED: f64 = 0.35;

impl Store {
    /// Adds feeds that are not known yet, to be read at once. Gives how many were new.
    pub async fn add_feeds(&self, feeds: &[(String, String)], now: DateTime<Utc>) -> Result<u64, StoreError> {
        let (urls, hosts): (Vec<&str>, Vec<&str>) =
            feeds.iter().map(|(url, host)| (url.as_str(), host.as_str())).unzip();
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

    /// Takes feeds that are due for this process alone until `until`: what two processes want at once, one gets.
    pub async fn claim_feeds(
        &self,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: i64,
    ) -> Result<Vec<ClaimedFeed>, StoreError> {
        let taken = sqlx::query(
            "UPDATE feeds SET claimed_until = $2, polled_at = $1 WHERE url IN (
                 SELECT url FROM feeds WHERE NOT gone AND next_poll_at <= $1
                     AND (claimed_until IS NULL OR claimed_until <= $1)
                 ORDER BY next_poll_at, url LIMIT $3 FOR UPDATE SKIP LOCKED)
             RETURNING url, etag, last_modified, failures",
        )
        .bind(now)
        .bind(until)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        let mut feeds = Vec::with_capacity(taken.len());
        for row in taken {
            feeds.push(ClaimedFeed {
                url: row.try_get("url")?,
                etag: row.try_get("etag")?,
                last_modified: row.try_get("last_modified")?,
                failures: u32::try_from(row.try_get::<i32, _>("failures")?).unwrap_or(0),
            });
        }
        Ok(feeds)
    }

    /// Writes what a reading came to, with its entries, and gives the feed free.
    pub async fn finish_feed(
        &self,
        reading: &FeedReading,
        entries: &[FeedEntryRow],
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
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
        .bind(reading.language.as_deref())
        .bind(reading.etag.as_deref())
        .bind(reading.last_modified.as_deref())
        .execute(&mut *transaction)
        .await?;
        // A headline that was changed is the entry now.
        sqlx::query(
            "INSERT INTO feed_entries (url, feed_url, host, title, summary, language, published_at, seen_at, stems, strong)
             SELECT url, $2, host, title, summary, language, published_at, $3, stems, strong
             FROM jsonb_to_recordset($1::jsonb) AS row(url text, host text, title text, summary text, language text,
                 published_at timestamptz, stems text[], strong text[]) ORDER BY url
             ON CONFLICT (url) DO UPDATE SET title = excluded.title, summary = excluded.summary,
                 stems = excluded.stems, strong = excluded.strong, language = excluded.language,
                 published_at = coalesce(excluded.published_at, feed_entries.published_at)",
        )
        .bind(rows(entries)?)
        .bind(&reading.url)
        .bind(now)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Takes the sites among these whose home page is due for a look, and sets the next look.
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
                 WHERE seen.host IS NULL OR seen.next_look_at <= $2 ORDER BY wanted.host LIMIT $4) AS due
             ON CONFLICT (host) DO UPDATE SET next_look_at = excluded.next_look_at WHERE known.next_look_at <= $2
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

    /// Sets when a site's home page is looked at next.
    pub async fn finish_feed_site(&self, host: &str, next: DateTime<Utc>) -> Result<(), StoreError> {
        sqlx::query("UPDATE feed_sites SET next_look_at = $2 WHERE host = $1")
            .bind(host)
            .bind(next)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The entries about these stems, best first: rare stems tell more, those of titles and names count double.
    pub async fn search_feed_entries(&self, search: &FeedSearch<'_>) -> Result<Vec<FoundEntry>, StoreError> {
        self.again(|| self.matching_entries(search)).await
    }

    async fn matching_entries(&self, search: &FeedSearch<'_>) -> Result<Vec<FoundEntry>, StoreError> {
        let (around, days) = search.around.map_or((None, 0.0), |(date, window)| (Some(date), window.as_secs_f64()));
        let found = sqlx::query(
            "WITH size AS (SELECT count(*)::float8 AS entries FROM feed_entries),
             asked AS (SELECT stem, ln(1 + (size.entries - holders.n + 0.5) / (holders.n + 0.5)) AS weight
                 FROM unnest($1::text[]) AS wanted(stem), size, LATERAL (
                     SELECT count(*)::float8 AS n FROM feed_entries WHERE stems @> ARRAY[wanted.stem]) AS holders),
             told AS (SELECT sum(weight) AS weight, count(*) AS stems FROM asked),
             matched AS (SELECT e.url, sum(a.weight) AS shared, count(*) AS stems,
                     sum(a.weight * CASE WHEN a.stem = ANY (e.strong) THEN 2 ELSE 1 END) AS score
                 FROM feed_entries AS e JOIN asked AS a ON e.stems @> ARRAY[a.stem]
                 WHERE e.stems && $1::text[] AND ($2::text IS NULL OR e.language IS NULL OR e.language = $2)
                     AND ($3::timestamptz IS NULL OR e.published_at IS NULL
                         OR abs(extract(epoch FROM e.published_at - $3)) <= $4)
                 GROUP BY e.url)
             SELECT e.url, e.host, e.title, e.summary, e.language, e.published_at,
                 m.score / (1 + CASE WHEN $3::timestamptz IS NULL OR e.published_at IS NULL THEN 0
                     ELSE abs(extract(epoch FROM e.published_at - $3))::float8 / greatest($4, 1) END) AS score
             FROM matched AS m JOIN feed_entries AS e USING (url), told
             WHERE m.shared >= $5 * told.weight AND m.stems >= least(2, told.stems)
             ORDER BY score DESC, e.published_at DESC NULLS LAST, e.url LIMIT $6",
        )
        .bind(search.stems)
        .bind(search.language)
        .bind(around)
        .bind(days)
        .bind(LEAST_SHARED)
        .bind(search.limit)
        .fetch_all(&self.pool)
        .await?;
        let mut entries = Vec::with_capacity(found.len());
        for row in found {
            entries.push(FoundEntry {
                url: row.try_get("url")?,
                host: row.try_get("host")?,
                title: row.try_get("title")?,
                summary: row.try_get("summary")?,
                language: row.try_get("language")?,
                published_at: row.try_get("published_at")?,
                score: row.try_get("score")?,
            });
        }
        Ok(entries)
    }

    /// Whether any feed was ever read with success.
    pub async fn has_read_feeds(&self) -> Result<bool, StoreError> {
        let read = "SELECT EXISTS (SELECT 1 FROM feeds WHERE read_at IS NOT NULL)";
        self.again(|| async { Ok(sqlx::query_scalar(read).fetch_one(&self.pool).await?) }).await
    }

    /// Removes entries that are older than `keep`. Gives how many.
    pub async fn clean_feed_entries(&self, now: DateTime<Utc>, keep: Duration) -> Result<u64, StoreError> {
        let oldest = now - TimeDelta::from_std(keep).unwrap_or(TimeDelta::MAX);
        let done = sqlx::query("DELETE FROM feed_entries WHERE coalesce(published_at, seen_at) < $1")
            .bind(oldest)
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected())
    }
}

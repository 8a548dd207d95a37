//! Reads stored pages, similar items of other channels, and the size of the evidence store.
//!
//! Never writes.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::Row as _;
use sqlx::types::Json;

use super::{Store, StoreError, vector_text};
use crate::domain::evidence::Review;

#[derive(Debug, Clone)]
pub struct StoredSource {
    pub id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    pub raw_text: String,
    pub canonical: Option<String>,
    /// Address after redirects, if different.
    pub final_url: Option<String>,
    pub expires_at: DateTime<Utc>,
    pub based_on: Vec<String>,
    pub claim_reviews: Vec<Review>,
    pub publisher: Option<String>,
    pub extraction_failed: bool,
    pub failure: Option<String>,
    /// With `last_modified`, for conditional requests.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    pub fetched_at: DateTime<Utc>,
    /// `kb` for a fact shipped with the program.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecentItem {
    pub item_id: String,
    pub channel: String,
    pub similarity: f64,
}

impl Store {
    /// Returns pages by canonical URL that do not expire within `margin`. Omits pages deleted at their site, which are
    /// kept only for items that cite them. Times are converted to the caller's clock, given by `now`.
    pub async fn sources_by_url(
        &self,
        urls: &[String],
        now: DateTime<Utc>,
        margin: TimeDelta,
    ) -> Result<Vec<StoredSource>, StoreError> {
        if urls.is_empty() {
            return Ok(Vec::new());
        }
        let rows = sqlx::query(
            "SELECT id, url, domain, title, published_at, language, raw_text, canonical, final_url, based_on, claim_reviews,
                 publisher, extraction_failed, failure, etag, last_modified, origin,
                 fetched_at - (now() - $2) AS fetched_at, expires_at - (now() - $2) AS expires_at
             FROM evidence_sources
             WHERE url = ANY($1) AND expires_at > now() + make_interval(secs => $3) AND (extraction_failed OR failure IS DISTINCT FROM 'not_found')",
        )
        .bind(urls)
        .bind(now)
        .bind(margin.as_seconds_f64())
        .fetch_all(&self.pool)
        .await?;
        let mut sources = Vec::with_capacity(rows.len());
        for row in rows {
            sources.push(StoredSource {
                id: row.try_get("id")?,
                url: row.try_get("url")?,
                domain: row.try_get("domain")?,
                title: row.try_get("title")?,
                published_at: row.try_get("published_at")?,
                language: row.try_get("language")?,
                raw_text: row.try_get("raw_text")?,
                canonical: row.try_get("canonical")?,
                final_url: row.try_get("final_url")?,
                expires_at: row.try_get("expires_at")?,
                based_on: row.try_get("based_on")?,
                claim_reviews: row.try_get::<Json<Vec<Review>>, _>("claim_reviews")?.0,
                publisher: row.try_get("publisher")?,
                extraction_failed: row.try_get("extraction_failed")?,
                failure: row.try_get("failure")?,
                etag: row.try_get("etag")?,
                last_modified: row.try_get("last_modified")?,
                fetched_at: row.try_get("fetched_at")?,
                origin: row.try_get("origin")?,
            });
        }
        Ok(sources)
    }

    /// Returns items of other channels with a cosine of at least `similarity`, nearest first, one per channel.
    /// `own_channel`: lower case, without `@`.
    #[expect(clippy::too_many_arguments, reason = "each is one condition of the query")]
    pub async fn similar_items(
        &self,
        embedding: &[f32],
        embedder: &str,
        own_channel: &str,
        own_item: &str,
        since: DateTime<Utc>,
        similarity: f64,
        limit: i64,
    ) -> Result<Vec<RecentItem>, StoreError> {
        // The function searches by bit vectors until enough items match; the exact cosine decides.
        let rows =
            sqlx::query("SELECT item_id, channel, similarity FROM similar_items($1::vector, $2, $3, $4, $5, $6, $7)")
                .bind(vector_text(embedding))
                .bind(embedder)
                .bind(own_channel)
                .bind(own_item)
                .bind(since)
                .bind(similarity)
                .bind(limit)
                .fetch_all(&self.pool)
                .await?;
        let mut items = Vec::with_capacity(rows.len());
        for row in rows {
            items.push(RecentItem {
                item_id: row.try_get("item_id")?,
                channel: row.try_get("channel")?,
                similarity: row.try_get("similarity")?,
            });
        }
        items.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.channel.cmp(&b.channel)));
        Ok(items)
    }

    /// Returns the number of stored sentences; an estimate from 10,000 on, because a count reads all rows.
    pub async fn evidence_claim_count(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT CASE WHEN estimated >= 10000 THEN estimated ELSE (SELECT count(*) FROM evidence_claims) END
             FROM (SELECT reltuples::bigint AS estimated FROM pg_class WHERE oid = 'evidence_claims'::regclass) AS known",
        )
        .fetch_one(&self.pool)
        .await?)
    }
}

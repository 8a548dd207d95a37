//! Reads stored pages, similar items of other channels, and the size of the evidence store.
//!
//! Never writes.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::FromRow;

use super::{Store, StoreError, vector_text};
use crate::domain::evidence::Review;
use crate::domain::limits::serialize_date;
use crate::domain::verdict::Origin;

/// A page, stored once for all items that read it.
#[derive(Debug, Clone, Serialize, FromRow)]
pub struct Source {
    pub id: String,
    pub url: String,
    pub domain: String,
    pub title: Option<String>,
    #[serde(serialize_with = "serialize_date")]
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    /// Main text, one line per paragraph; the operator's own documents unchanged.
    pub raw_text: String,
    pub source_type: String,
    pub content_hash: Option<String>,
    pub independent_group: Option<String>,
    pub canonical: Option<String>,
    /// Address after redirects, if different.
    pub final_url: Option<String>,
    pub based_on: Vec<String>,
    /// Fact-checks (`ClaimReview`) in its markup.
    #[sqlx(json)]
    pub claim_reviews: Vec<Review>,
    pub publisher: Option<String>,
    pub extraction_failed: bool,
    /// Cause of missing text, for example `paywall`.
    pub failure: Option<String>,
    /// With `last_modified`, for conditional requests.
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// `web` for a fetched page, `kb` for a fact shipped with the program.
    #[sqlx(try_from = "String")]
    pub origin: Origin,
    pub fetched_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, FromRow)]
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
    ) -> Result<Vec<Source>, StoreError> {
        if urls.is_empty() {
            return Ok(Vec::new());
        }
        Ok(sqlx::query_as(
            "SELECT id, url, domain, title, published_at, language, raw_text, source_type, content_hash, independent_group,
                 canonical, final_url, based_on, claim_reviews, publisher, extraction_failed, failure, etag, last_modified,
                 origin,
                 fetched_at - (now() - $2) AS fetched_at, expires_at - (now() - $2) AS expires_at
             FROM evidence_sources
             WHERE url = ANY($1) AND expires_at > now() + make_interval(secs => $3) AND (extraction_failed OR failure IS DISTINCT FROM 'not_found')",
        )
        .bind(urls)
        .bind(now)
        .bind(margin.as_seconds_f64())
        .fetch_all(&self.pool)
        .await?)
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
        let mut items: Vec<RecentItem> = sqlx::query_as(
            "SELECT item_id, channel, similarity FROM similar_items($1::vector, $2, $3, $4, $5, $6, $7)",
        )
        .bind(vector_text(embedding))
        .bind(embedder)
        .bind(own_channel)
        .bind(own_item)
        .bind(since)
        .bind(similarity)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
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

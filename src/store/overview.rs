//! Figures per hour for the web UI and the API.
//!
//! Only reads.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::FromRow;

use super::{Store, StoreError};

/// Number of items per hour and answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, FromRow)]
pub struct HourlyVerdicts {
    /// Start of the hour.
    pub hour: DateTime<Utc>,
    /// Verdict of the main claim; null if nothing could be checked.
    pub verdict: Option<String>,
    /// Whether it is decisive.
    pub decisive: bool,
    /// `high`, `medium` or `low`.
    pub tier: Option<String>,
    pub items: i64,
}

/// Number of items degraded by one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, FromRow)]
pub struct CauseCount {
    pub cause: String,
    pub items: i64,
}

/// Calls of a provider in one hour, by all processes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, FromRow)]
pub struct ProviderHour {
    pub provider: String,
    /// Start of the hour.
    pub hour: DateTime<Utc>,
    pub requests: i64,
    pub errors: i64,
    pub usd: f64,
}

impl Store {
    /// Returns answers by hour since then, earliest first.
    pub async fn hourly_verdicts(&self, since: DateTime<Utc>) -> Result<Vec<HourlyVerdicts>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT date_trunc('hour', enriched_at) AS hour, verdict, coalesce(decisive, false) AS decisive,
                 fact_check_tier::text AS tier, count(*) AS items
             FROM items WHERE enriched_at >= $1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
        )
        .bind(since)
        .fetch_all(&self.pool)
        .await?)
    }

    /// Returns the causes of degraded results since then, most frequent first.
    pub async fn degraded_causes(&self, since: DateTime<Utc>) -> Result<Vec<CauseCount>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT cause, count(*) AS items FROM items, unnest(degraded) AS cause
             WHERE enriched_at >= $1 GROUP BY cause ORDER BY items DESC, cause",
        )
        .bind(since)
        .fetch_all(&self.pool)
        .await?)
    }

    pub async fn provider_hours(&self, since: DateTime<Utc>) -> Result<Vec<ProviderHour>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT provider, hour, requests, errors, usd FROM provider_hours WHERE hour >= $1 ORDER BY provider, hour",
        )
        .bind(since)
        .fetch_all(&self.pool)
        .await?)
    }
}

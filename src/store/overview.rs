//! Figures per hour for the web UI and the API.
//!
//! Only reads.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::Row as _;

use super::{Store, StoreError};

/// Number of items per hour and answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CauseCount {
    pub cause: String,
    pub items: i64,
}

/// Calls of a provider in one hour, by all processes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
        let rows = sqlx::query(
            "SELECT date_trunc('hour', enriched_at) AS hour, verdict, coalesce(decisive, false) AS decisive,
                 fact_check_tier::text AS tier, count(*) AS items
             FROM items WHERE enriched_at >= $1 GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
        )
        .bind(since)
        .fetch_all(&self.pool)
        .await?;
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            found.push(HourlyVerdicts {
                hour: row.try_get("hour")?,
                verdict: row.try_get("verdict")?,
                decisive: row.try_get("decisive")?,
                tier: row.try_get("tier")?,
                items: row.try_get("items")?,
            });
        }
        Ok(found)
    }

    /// Returns the causes of degraded results since then, most frequent first.
    pub async fn degraded_causes(&self, since: DateTime<Utc>) -> Result<Vec<CauseCount>, StoreError> {
        let rows = sqlx::query(
            "SELECT cause, count(*) AS items FROM items, unnest(degraded) AS cause
             WHERE enriched_at >= $1 GROUP BY cause ORDER BY items DESC, cause",
        )
        .bind(since)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(|row| Ok(CauseCount { cause: row.try_get("cause")?, items: row.try_get("items")? })).collect()
    }

    pub async fn provider_hours(&self, since: DateTime<Utc>) -> Result<Vec<ProviderHour>, StoreError> {
        let rows = sqlx::query(
            "SELECT provider, hour, requests, errors, usd FROM provider_hours WHERE hour >= $1 ORDER BY provider, hour",
        )
        .bind(since)
        .fetch_all(&self.pool)
        .await?;
        let mut hours = Vec::with_capacity(rows.len());
        for row in rows {
            hours.push(ProviderHour {
                provider: row.try_get("provider")?,
                hour: row.try_get("hour")?,
                requests: row.try_get("requests")?,
                errors: row.try_get("errors")?,
                usd: row.try_get("usd")?,
            });
        }
        Ok(hours)
    }
}

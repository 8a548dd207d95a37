//! Calls, errors and cost of providers per day and hour.
//!
//! For display; no limit depends on them. Times are UTC.

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use serde::Serialize;
use sqlx::Row as _;

use super::{Store, StoreError};

/// Counters since the last flush.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct UsageDelta {
    pub provider: &'static str,
    pub requests: u64,
    pub errors: u64,
    pub usd: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderUsage {
    pub provider: String,
    pub calls_today: i64,
    pub errors_today: i64,
    pub usd_today: f64,
    pub usd_month: f64,
}

impl Store {
    /// Adds the counters of one process.
    pub async fn add_usage(&self, now: DateTime<Utc>, figures: &[UsageDelta]) -> Result<(), StoreError> {
        if figures.is_empty() {
            return Ok(());
        }
        sqlx::query(
            "WITH given AS MATERIALIZED (
                 SELECT provider, requests, errors, usd
                 FROM jsonb_to_recordset($1::jsonb) AS row(provider text, requests bigint, errors bigint,
                     usd double precision)),
             hourly AS (
                 INSERT INTO provider_hours AS stored (provider, hour, requests, errors, usd)
                 SELECT provider, date_trunc('hour', $3::timestamptz), requests, errors, usd FROM given ORDER BY provider
                 ON CONFLICT (provider, hour) DO UPDATE SET requests = stored.requests + excluded.requests,
                     errors = stored.errors + excluded.errors, usd = stored.usd + excluded.usd)
             INSERT INTO provider_usage AS stored (provider, day, requests, errors, usd)
             SELECT provider, $2, requests, errors, usd FROM given ORDER BY provider
             ON CONFLICT (provider, day) DO UPDATE SET requests = stored.requests + excluded.requests,
                 errors = stored.errors + excluded.errors, usd = stored.usd + excluded.usd",
        )
        .bind(super::commit::rows(figures)?)
        .bind(now.date_naive())
        .bind(now)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn usage(&self, now: DateTime<Utc>) -> Result<Vec<ProviderUsage>, StoreError> {
        let today = now.date_naive();
        let month = NaiveDate::from_ymd_opt(today.year(), today.month(), 1).unwrap_or(today);
        let rows = sqlx::query(
            "SELECT provider, coalesce(sum(requests) FILTER (WHERE day = $1), 0)::bigint AS calls,
                 coalesce(sum(errors) FILTER (WHERE day = $1), 0)::bigint AS errors,
                 coalesce(sum(usd) FILTER (WHERE day = $1), 0) AS usd_today,
                 coalesce(sum(usd) FILTER (WHERE day >= $2), 0) AS usd_month
             FROM provider_usage GROUP BY provider ORDER BY provider",
        )
        .bind(today)
        .bind(month)
        .fetch_all(&self.pool)
        .await?;
        let mut usage = Vec::with_capacity(rows.len());
        for row in rows {
            usage.push(ProviderUsage {
                provider: row.try_get("provider")?,
                calls_today: row.try_get("calls")?,
                errors_today: row.try_get("errors")?,
                usd_today: row.try_get("usd_today")?,
                usd_month: row.try_get("usd_month")?,
            });
        }
        Ok(usage)
    }
}

//! The second level of the fact-check cache: what a provider answered for a normalised claim.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{Store, StoreError};

impl Store {
    /// The stored answer, unless it has expired. An empty answer is stored too: it means "asked, nothing found".
    pub async fn cached_fact_checks(
        &self,
        normalized_claim: &str,
        provider: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Value>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT result_json FROM fact_check_cache
             WHERE normalized_claim = $1 AND provider = $2 AND expires_at > $3",
        )
        .bind(normalized_claim)
        .bind(provider)
        .bind(now)
        .fetch_optional(&self.pool)
        .await?)
    }

    /// Remembers an answer until `expires_at`. Never call it for "could not ask".
    pub async fn cache_fact_checks(
        &self,
        normalized_claim: &str,
        provider: &str,
        answer: &Value,
        now: DateTime<Utc>,
        expires_at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO fact_check_cache (normalized_claim, provider, result_json, cached_at, expires_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (normalized_claim, provider) DO UPDATE SET result_json = excluded.result_json,
                 cached_at = excluded.cached_at, expires_at = excluded.expires_at",
        )
        .bind(super::storable(normalized_claim).as_ref())
        .bind(provider)
        .bind(answer)
        .bind(now)
        .bind(expires_at)
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}

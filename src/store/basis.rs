//! The settings and models that verdicts depend on. A change makes earlier results due for re-evaluation.
//!
//! [`Store::judge_by`] first stores the new version, so that writers of old results detect it. A second transaction
//! adds the earlier items; after a crash, the next call continues.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use super::rejudging::{AGAIN, MOST_NOTED};
use super::{Store, StoreError};
use crate::domain::Reason;

/// Version of settings and models, equal for processes with equal configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgingVersion {
    pub settings: String,
    pub models: String,
}

/// Versions a result was judged by. If outdated when it is written, it is due at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgedBy {
    /// Version of the domain lists, if known.
    pub lists: Option<i64>,
    /// `None` if the result is never re-evaluated, for example from a command.
    pub basis: Option<JudgingVersion>,
}

impl JudgingVersion {
    pub(super) fn stored(&self) -> serde_json::Value {
        json!({"settings": self.settings, "models": self.models})
    }
}

impl Store {
    /// Stores the version and makes items due that another one judged since then. Returns their number; `None` at the
    /// first call or without a change.
    pub async fn judge_by(&self, basis: &JudgingVersion, since: DateTime<Utc>) -> Result<Option<u64>, StoreError> {
        self.in_time(self.judge_by_now(basis, since)).await
    }

    async fn judge_by_now(&self, basis: &JudgingVersion, since: DateTime<Utc>) -> Result<Option<u64>, StoreError> {
        self.put_in_force(basis).await?;
        // Includes the work of a process that ended in between.
        let mut transaction = self.transaction().await?;
        let pending: Option<serde_json::Value> =
            sqlx::query_scalar("SELECT value FROM store_settings WHERE key = 'rejudging_pending' FOR UPDATE")
                .fetch_optional(&mut *transaction)
                .await?;
        let Some(pending) = pending else { return Ok(None) };
        let mut noted = 0;
        for reason in [Reason::Settings, Reason::Model] {
            if pending.get(reason.as_str()).is_some() {
                noted += note_all(&mut transaction, reason, since).await?;
            }
        }
        sqlx::query("DELETE FROM store_settings WHERE key = 'rejudging_pending'").execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(Some(noted))
    }

    /// Stores the version: later writers of older results mark them. Earlier items take seconds and get their own
    /// transaction.
    async fn put_in_force(&self, basis: &JudgingVersion) -> Result<(), StoreError> {
        let mut transaction = self.transaction().await?;
        let first = sqlx::query(
            "INSERT INTO store_settings (key, value, updated_at) VALUES ('rejudging_basis', $1, now())
             ON CONFLICT DO NOTHING",
        )
        .bind(basis.stored())
        .execute(&mut *transaction)
        .await?;
        let before: serde_json::Value =
            sqlx::query_scalar("SELECT value FROM store_settings WHERE key = 'rejudging_basis' FOR UPDATE")
                .fetch_one(&mut *transaction)
                .await?;
        if first.rows_affected() == 1 || before == basis.stored() {
            transaction.commit().await?;
            return Ok(());
        }
        let mut pending = serde_json::Map::new();
        for (field, now, reason) in
            [("settings", &basis.settings, Reason::Settings), ("models", &basis.models, Reason::Model)]
        {
            if before.get(field).and_then(serde_json::Value::as_str) != Some(now) {
                pending.insert(reason.as_str().to_owned(), true.into());
            }
        }
        sqlx::query("UPDATE store_settings SET value = $1, updated_at = now() WHERE key = 'rejudging_basis'")
            .bind(basis.stored())
            .execute(&mut *transaction)
            .await?;
        sqlx::query(
            "INSERT INTO store_settings AS s (key, value, updated_at) VALUES ('rejudging_pending', $1, now())
             ON CONFLICT (key) DO UPDATE SET value = s.value || excluded.value, updated_at = now()",
        )
        .bind(serde_json::Value::Object(pending))
        .execute(&mut *transaction)
        .await?;
        // The commit waits for results that are being written (`await_results`).
        transaction.commit().await?;
        Ok(())
    }

    /// Returns true if the stored version is this one. Another process would otherwise revert answers.
    pub async fn is_judged_by(&self, basis: &JudgingVersion) -> Result<bool, StoreError> {
        let same: Option<bool> =
            sqlx::query_scalar("SELECT value = $1 FROM store_settings WHERE key = 'rejudging_basis'")
                .bind(basis.stored())
                .fetch_optional(&self.pool)
                .await?;
        Ok(same.unwrap_or(false))
    }
}

/// Makes the items judged since then due, at most the latest [`MOST_NOTED`].
async fn note_all(connection: &mut PgConnection, reason: Reason, since: DateTime<Utc>) -> Result<u64, StoreError> {
    let noted = sqlx::query(sqlx::AssertSqlSafe(format!(
        "INSERT INTO rejudging (item_id, asks, reason)
         SELECT item_id, $1, $2 FROM (
             SELECT item_id FROM items WHERE enriched_at >= $3 AND evaluated_at >= $3
                 -- Nobody is asked anew about older news.
                 AND (NOT $1 OR coalesce(published_at, evaluated_at) >= $3)
             ORDER BY enriched_at DESC LIMIT $4) AS latest
         ORDER BY item_id
         ON CONFLICT (item_id, asks) DO UPDATE SET {AGAIN}"
    )))
    .bind(reason.asks())
    .bind(reason.as_str())
    .bind(since)
    .bind(MOST_NOTED)
    .execute(connection)
    .await?;
    Ok(noted.rows_affected())
}

//! What results are judged by beside the evidence, and what is due when that is something else than before.

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use super::rejudging::{AGAIN, MOST_NOTED};
use super::{Store, StoreError};
use crate::domain::Reason;

/// What verdicts follow from beside the evidence. Two processes with the same configuration have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// Of everything that judging from the store depends on.
    pub settings: String,
    /// The models at work.
    pub models: String,
}

/// What a result was judged by: one that is written when something else is in force already is due at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgedBy {
    /// The version of the domain lists; `None` where it is not known.
    pub lists: Option<i64>,
    /// `None` where it is nobody's to judge again, as of a command.
    pub basis: Option<Basis>,
}

impl Basis {
    pub(super) fn stored(&self) -> serde_json::Value {
        json!({"settings": self.settings, "models": self.models})
    }
}

impl Store {
    /// Notes what verdicts follow from now on, and the items judged since then by something else as due. The number of these;
    /// `None` where nothing was noted before, or nothing is different.
    pub async fn judge_by(&self, basis: &Basis, since: DateTime<Utc>) -> Result<Option<u64>, StoreError> {
        self.in_time(self.judge_by_now(basis, since)).await
    }

    async fn judge_by_now(&self, basis: &Basis, since: DateTime<Utc>) -> Result<Option<u64>, StoreError> {
        self.put_in_force(basis).await?;
        // Of a process that ended in between as well.
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

    /// From now on whoever writes a result that was judged by something else notes it. What was written before is to be noted,
    /// which may take seconds, in a transaction of its own.
    async fn put_in_force(&self, basis: &Basis) -> Result<(), StoreError> {
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
        // Committing waits for results that are being written (`await_results`).
        transaction.commit().await?;
        Ok(())
    }

    /// Returns true when the process that came last judges by the same: one with other settings would turn answers back.
    pub async fn is_judged_by(&self, basis: &Basis) -> Result<bool, StoreError> {
        let same: Option<bool> =
            sqlx::query_scalar("SELECT value = $1 FROM store_settings WHERE key = 'rejudging_basis'")
                .bind(basis.stored())
                .fetch_optional(&self.pool)
                .await?;
        Ok(same.unwrap_or(false))
    }
}

/// Notes the items judged since then, the latest of them where there are too many.
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

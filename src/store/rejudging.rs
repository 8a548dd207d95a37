//! Items due for re-evaluation.
//!
//! A result is stored with what judged it ([`JudgedWith`]). It is due if that differs from the current value
//! ([`Store::note_outdated`]). Other reasons are noted where they occur, by functions of the schema: an edit of the
//! domain lists, a page that lost a passage, a new fact-check of a similar item. [`Store::take_due`] leases due items and
//! [`Store::settle_due`] removes them.
//!
//! To add a reason: a word in [`Reason`] and in the schema, and the statement that notes it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use sqlx::FromRow;
use sqlx::types::Json;

use super::{Store, StoreError};
use crate::domain::verdict::Phase;
use crate::domain::{Item, ItemResult, Reason};

/// What a result was judged with. A part is `None` if it is unknown or stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JudgedWith {
    /// Equal for processes with equal settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<String>,
    /// Version of the domain lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct DueItem {
    pub item_id: String,
    #[sqlx(try_from = "String")]
    pub reason: Reason,
    /// Number of leases, including this one.
    pub attempts: i32,
    taken_until: DateTime<Utc>,
}

/// A stored item as it was sent, and its result.
#[derive(Debug, Clone)]
pub struct StoredRun {
    pub item: Item,
    /// `None` if this version cannot read it.
    pub result: Option<ItemResult>,
    pub phase: Phase,
    /// Send time of the item, if known. A later edit then wins, even if it is stored during the re-evaluation.
    pub sent_at: Option<DateTime<Utc>>,
    pub evaluated_at: DateTime<Utc>,
}

impl Store {
    /// Stores what workers judge with, without the lists. The last worker to start decides which results are due.
    pub async fn announce_judged_with(&self, own: &JudgedWith) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO store_settings AS s (key, value, updated_at) VALUES ('judged_with', $1, now())
             ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now()",
        )
        .bind(Json(own))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Returns true if the last worker to start judges with the same. Processes would otherwise revert each other.
    pub async fn is_judged_with(&self, own: &JudgedWith) -> Result<bool, StoreError> {
        let same: Option<bool> = sqlx::query_scalar("SELECT value = $1 FROM store_settings WHERE key = 'judged_with'")
            .bind(Json(own))
            .fetch_optional(&self.pool)
            .await?;
        Ok(same.unwrap_or(false))
    }

    /// Adds up to `limit` items, latest first, whose results were stored since then and judged with something else. Returns
    /// their number.
    ///
    /// An edit of the lists notes the items that it concerns. Here it concerns only results that were written at about
    /// the same time, which the edit may not have seen.
    pub async fn note_outdated(
        &self,
        current: &JudgedWith,
        since: DateTime<Utc>,
        oldest_news: DateTime<Utc>,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let noted = sqlx::query(
            "INSERT INTO rejudging (item_id, asks, reason)
             SELECT DISTINCT ON (item_id, asks) item_id, asks, reason FROM (
                 SELECT i.item_id, late.asks, late.reason
                 FROM items i, (SELECT version AS lists, (SELECT max(changed_at) FROM domain_rule_changes) AS edited_at
                         FROM domain_rules_version) AS latest,
                     LATERAL (VALUES (false, 'settings', judged_with->>'settings' <> $3),
                         (true, 'model', judged_with->>'models' <> $4 AND coalesce(published_at, evaluated_at) >= $2),
                         (false, 'domain_lists', (judged_with->>'lists')::bigint < latest.lists
                             AND enriched_at >= latest.edited_at - interval '15 minutes')) AS late (asks, reason, holds)
                 WHERE i.enriched_at >= $1 AND late.holds
                     AND NOT EXISTS (SELECT FROM rejudging due WHERE due.item_id = i.item_id AND due.asks = late.asks)
                 ORDER BY i.enriched_at DESC LIMIT $5) AS outdated
             ORDER BY item_id, asks, reason
             ON CONFLICT DO NOTHING",
        )
        .bind(since)
        .bind(oldest_news)
        .bind(&current.settings)
        .bind(&current.models)
        .bind(limit)
        .execute(&self.pool)
        .await?;
        Ok(noted.rows_affected())
    }

    /// Adds all items judged since then, for a full run. Returns their number.
    pub async fn request_rejudging(&self, since: Option<DateTime<Utc>>) -> Result<u64, StoreError> {
        let noted = sqlx::query(
            "INSERT INTO rejudging (item_id, asks, reason)
             SELECT item_id, true, 'requested' FROM items WHERE $1::timestamptz IS NULL OR evaluated_at >= $1
             ORDER BY item_id
             ON CONFLICT (item_id, asks) DO UPDATE SET reason = excluded.reason, noted_at = now(), taken_until = NULL,
                 attempts = 0",
        )
        .bind(since)
        .execute(&self.pool)
        .await?;
        Ok(noted.rows_affected())
    }

    /// Removes full runs of items that are gone or whose news is older, unless a user requested them.
    pub async fn drop_outdated(&self, oldest_news: DateTime<Utc>) -> Result<u64, StoreError> {
        let dropped = sqlx::query(
            "DELETE FROM rejudging WHERE asks AND item_id = ANY (ARRAY(
                 SELECT due.item_id FROM rejudging due LEFT JOIN items i ON i.item_id = due.item_id
                 WHERE due.asks AND (due.taken_until IS NULL OR due.taken_until < now()) AND (i.item_id IS NULL
                     OR due.reason <> 'requested' AND coalesce(i.published_at, i.evaluated_at) < $1)))",
        )
        .bind(oldest_news)
        .execute(&self.pool)
        .await?;
        Ok(dropped.rows_affected())
    }

    /// Leases up to `limit` items, by the database's clock. Reasons that concern one item alone are first, then the item
    /// due longest.
    pub async fn take_due(&self, asks: bool, limit: u32, lease: Duration) -> Result<Vec<DueItem>, StoreError> {
        Ok(sqlx::query_as(
            "WITH due AS MATERIALIZED (
                 SELECT item_id FROM rejudging WHERE asks = $1
                     AND (taken_until IS NULL OR bounded_until(taken_until, 2 * make_interval(secs => $3), now()) <= now())
                 ORDER BY reason IN ('model', 'settings', 'requested'), due_at, item_id LIMIT $2 FOR UPDATE SKIP LOCKED),
             taken AS (
                 UPDATE rejudging r SET taken_until = now() + make_interval(secs => $3), attempts = r.attempts + 1
                 FROM due WHERE r.item_id = due.item_id AND r.asks = $1 RETURNING r.item_id,
                     r.reason, r.due_at, r.attempts, r.taken_until)
             SELECT item_id, reason, attempts, taken_until FROM taken ORDER BY due_at, item_id",
        )
        .bind(asks)
        .bind(i64::from(limit))
        .bind(lease.as_secs_f64())
        .fetch_all(&self.pool)
        .await?)
    }

    /// Removes an item, unless it got a new reason or another holder meanwhile. Its result counts as judged with
    /// `current`, also if it stays as it was: it is not tried again until something else changes. A result that is not of
    /// `evaluated_at`, the time of the result that was read, keeps its own value.
    pub async fn settle_due(
        &self,
        due: &DueItem,
        current: &JudgedWith,
        evaluated_at: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "WITH settled AS (
                 DELETE FROM rejudging WHERE item_id = $1 AND asks = $2 AND taken_until = $3 RETURNING item_id)
             UPDATE items SET judged_with = judged_with || $4
             FROM settled WHERE items.item_id = settled.item_id AND NOT judged_with @> $4
                 AND items.evaluated_at = coalesce($5, items.evaluated_at)
                 AND coalesce((judged_with->>'lists')::bigint <= ($4->>'lists')::bigint, true)",
        )
        .bind(&due.item_id)
        .bind(due.reason.asks())
        .bind(due.taken_until)
        .bind(Json(current))
        .bind(evaluated_at)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    pub async fn due_counts(&self) -> Result<Vec<(Reason, i64)>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT reason, count(*) FROM rejudging GROUP BY reason").fetch_all(&self.pool).await?;
        Ok(rows.iter().filter_map(|(reason, count)| Some((Reason::parse(reason)?, *count))).collect())
    }

    /// Returns the USD spent on re-evaluation this month (UTC).
    pub async fn rejudging_spent(&self) -> Result<f64, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT coalesce(sum(usd), 0) FROM rejudging_spending WHERE month = date_trunc('month', now(), 'UTC')",
        )
        .fetch_one(&self.pool)
        .await?)
    }

    pub async fn add_rejudging_cost(&self, usd: f64) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO rejudging_spending AS s (month, usd) VALUES (date_trunc('month', now(), 'UTC'), $1)
             ON CONFLICT (month) DO UPDATE SET usd = s.usd + excluded.usd",
        )
        .bind(usd)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Returns the data for a new run of a stored item; `None` if it is gone.
    pub async fn stored_run(&self, item_id: &str) -> Result<Option<StoredRun>, StoreError> {
        #[derive(FromRow)]
        struct StoredRunRow {
            #[sqlx(json)]
            item: Item,
            result: Value,
            phase: Option<String>,
            sent_at: Option<DateTime<Utc>>,
            evaluated_at: DateTime<Utc>,
        }
        // A request without a text of its own has `"text": true`.
        let row: Option<StoredRunRow> = sqlx::query_as(
            "SELECT CASE WHEN request IS NULL THEN jsonb_build_object('schema', 1, 'item_id', item_id, 'text', text,
                     'title', title, 'url', url, 'channel', channel, 'language', language, 'published_at', published_at,
                     'importance', importance, 'cluster_id', cluster_id, 'cluster_members', cluster_members)
                 WHEN request->'text' = 'true' THEN request || jsonb_build_object('text', text)
                 ELSE request END AS item, result, phase, sent_at, evaluated_at
             FROM items WHERE item_id = $1",
        )
        .bind(item_id)
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|StoredRunRow { item, result, phase, sent_at, evaluated_at }| {
            // Without a phase, assume the richer one, so that a poorer result never replaces it.
            let phase = phase.as_deref().and_then(Phase::parse).unwrap_or(Phase::Two);
            StoredRun { item, result: serde_json::from_value(result).ok(), phase, sent_at, evaluated_at }
        }))
    }
}

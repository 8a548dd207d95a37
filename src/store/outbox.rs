//! Results and signals on their way to the broker. Written in the item's transaction, deleted when the broker confirmed.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{PgConnection, Row as _};

use super::{Store, StoreError};
use crate::broker::OutboxMessage;

/// A message to be published once the transaction stands.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct OutboxDraft {
    /// `None` is the default exchange: `routing_key` is then a queue's name (`reply_to`).
    pub exchange: Option<String>,
    pub routing_key: String,
    /// JSON text.
    pub body: String,
    pub correlation_id: Option<String>,
    pub message_id: String,
}

pub(super) async fn write(
    connection: &mut PgConnection,
    drafts: &[OutboxDraft],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO outbox (exchange, routing_key, body, correlation_id, message_id, created_at)
         SELECT exchange, routing_key, body, correlation_id, message_id, $2
         FROM jsonb_to_recordset($1::jsonb) AS row(exchange text, routing_key text, body text, correlation_id text,
             message_id text)",
    )
    .bind(super::commit::rows(drafts)?)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}

/// A batch of messages taken for publishing. They stay locked, and in the table, until [`OutboxBatch::confirm`]; dropping
/// the batch gives them back.
#[derive(Debug)]
pub struct OutboxBatch {
    transaction: sqlx::Transaction<'static, sqlx::Postgres>,
    pub messages: Vec<OutboxMessage>,
}

impl OutboxBatch {
    /// Deletes what the broker confirmed; the rest is offered again.
    pub async fn confirm(mut self, ids: &[i64]) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM outbox WHERE id = ANY($1)").bind(ids).execute(&mut *self.transaction).await?;
        self.transaction.commit().await?;
        Ok(())
    }
}

impl Store {
    /// Takes up to `limit` of the oldest messages that no other process is publishing.
    pub async fn take_outbox(&self, limit: i64) -> Result<Option<OutboxBatch>, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let rows = sqlx::query(
            "SELECT id, exchange, routing_key, body, correlation_id, message_id FROM outbox
             ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED",
        )
        .bind(limit)
        .fetch_all(&mut *transaction)
        .await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut messages = Vec::with_capacity(rows.len());
        for row in rows {
            messages.push(OutboxMessage {
                id: row.try_get("id")?,
                exchange: row.try_get("exchange")?,
                routing_key: row.try_get("routing_key")?,
                body: row.try_get::<String, _>("body")?.into_bytes(),
                correlation_id: row.try_get("correlation_id")?,
                message_id: row.try_get("message_id")?,
            });
        }
        Ok(Some(OutboxBatch { transaction, messages }))
    }

    /// How many messages wait, and since when the oldest does.
    pub async fn outbox_pending(&self) -> Result<(u64, Option<DateTime<Utc>>), StoreError> {
        let (pending, oldest): (i64, Option<DateTime<Utc>>) =
            sqlx::query_as("SELECT count(*), min(created_at) FROM outbox").fetch_one(&self.pool).await?;
        Ok((u64::try_from(pending).unwrap_or(0), oldest))
    }

    /// Writes messages that belong to no result (an item that was dropped or dead-lettered: upstream always hears).
    pub async fn write_outbox(&self, drafts: &[OutboxDraft], now: DateTime<Utc>) -> Result<(), StoreError> {
        if drafts.is_empty() {
            return Ok(());
        }
        let mut connection = self.pool.acquire().await?;
        write(&mut connection, drafts, now).await?;
        self.wake_outbox.notify_one();
        Ok(())
    }
}

//! Results and signals on their way to the broker. Written in the item's transaction, deleted when the broker confirmed.

use chrono::{DateTime, TimeDelta, Utc};
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

/// How long a batch is kept from others while the broker is waited for. A process that died over it leaves it free after
/// this; a broker slower than this may be given a message twice, which readers must bear anyhow.
const CLAIM: TimeDelta = TimeDelta::seconds(30);

/// A batch of messages claimed for publishing. No connection is held while the broker is waited for: the embedded store
/// has only one. The rows stay in the table until [`OutboxBatch::confirm`]; a batch that is dropped is offered again when
/// its claim has run out.
#[derive(Debug)]
pub struct OutboxBatch {
    store: Store,
    /// Names the claim: rows that somebody else has claimed since are left alone.
    until: DateTime<Utc>,
    /// Oldest first.
    pub messages: Vec<OutboxMessage>,
}

impl OutboxBatch {
    /// Deletes what the broker confirmed and gives the rest back. May be called again after an error.
    pub async fn confirm(&self, ids: &[i64]) -> Result<(), StoreError> {
        if !ids.is_empty() {
            sqlx::query("DELETE FROM outbox WHERE id = ANY($1)").bind(ids).execute(&self.store.pool).await?;
        }
        let rest: Vec<i64> = self.messages.iter().map(|message| message.id).filter(|id| !ids.contains(id)).collect();
        if !rest.is_empty() {
            sqlx::query("UPDATE outbox SET locked_until = NULL WHERE id = ANY($1) AND locked_until = $2")
                .bind(&rest)
                .bind(self.until)
                .execute(&self.store.pool)
                .await?;
        }
        Ok(())
    }
}

impl Store {
    /// Claims up to `limit` of the oldest messages that no other process is publishing.
    pub async fn take_outbox(&self, limit: i64) -> Result<Option<OutboxBatch>, StoreError> {
        // By the database's clock: processes share it, whatever their own say.
        let rows = sqlx::query(
            "UPDATE outbox SET locked_until = now() + make_interval(secs => $2) WHERE id IN (
                 SELECT id FROM outbox WHERE locked_until IS NULL OR locked_until < now()
                 ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING id, exchange, routing_key, body, correlation_id, message_id, locked_until",
        )
        .bind(limit)
        .bind(CLAIM.as_seconds_f64())
        .fetch_all(&self.pool)
        .await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let until = first.try_get("locked_until")?;
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
        // RETURNING keeps no order.
        messages.sort_by_key(|message: &OutboxMessage| message.id);
        Ok(Some(OutboxBatch { store: self.clone(), until, messages }))
    }

    /// Writes messages that belong to no new result: the answer to who asks for what is stored already.
    pub async fn write_outbox(&self, drafts: &[OutboxDraft], now: DateTime<Utc>) -> Result<(), StoreError> {
        let mut connection = self.pool.acquire().await?;
        write(&mut connection, drafts, now).await?;
        self.wake_outbox.notify_one();
        Ok(())
    }

    /// How many messages wait, and since when the oldest does.
    pub async fn outbox_pending(&self) -> Result<(u64, Option<DateTime<Utc>>), StoreError> {
        let (pending, oldest): (i64, Option<DateTime<Utc>>) =
            sqlx::query_as("SELECT count(*), min(created_at) FROM outbox").fetch_one(&self.pool).await?;
        Ok((u64::try_from(pending).unwrap_or(0), oldest))
    }
}

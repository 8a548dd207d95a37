//! Dead letters of the table queue.
//!
//! Lists read excerpts, and requeueing moves a few rows per statement, so that memory stays bounded.

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::TableQueue;
use crate::broker::{DeadLetter, DeadSelection, EXCERPT_BYTES, OpenDeadLetter, QueueName, Settlement};
use crate::store::StoreError;

/// Rows per statement: the database holds their bodies.
const BATCH: i64 = 32;

struct Filter<'a> {
    ids: Option<Vec<i64>>,
    reason: Option<&'a str>,
}

impl<'a> From<DeadSelection<'a>> for Filter<'a> {
    fn from(which: DeadSelection<'a>) -> Self {
        match which {
            DeadSelection::All => Self { ids: None, reason: None },
            // Ids that are not numbers match nothing.
            DeadSelection::Ids(ids) => {
                Self { ids: Some(ids.iter().filter_map(|id| id.parse().ok()).collect()), reason: None }
            }
            DeadSelection::Reason(reason) => Self { ids: None, reason: Some(reason) },
        }
    }
}

fn excerpt_bytes() -> i32 {
    i32::try_from(EXCERPT_BYTES).unwrap_or(i32::MAX)
}

#[derive(FromRow)]
struct LetterRow {
    id: i64,
    queue: String,
    /// Empty in lists.
    body: Vec<u8>,
    excerpt: Vec<u8>,
    bytes: i32,
    original_bytes: Option<i64>,
    attempts: i32,
    error_label: String,
    error: String,
    message_id: Option<String>,
    failed_at: DateTime<Utc>,
}

impl From<LetterRow> for DeadLetter {
    fn from(row: LetterRow) -> Self {
        let bytes = row.original_bytes.unwrap_or(row.bytes.into());
        Self {
            id: row.id.to_string(),
            origin: QueueName::parse(&row.queue),
            label: Some(row.error_label),
            error: Some(row.error),
            attempts: u32::try_from(row.attempts).ok(),
            failed_at: Some(row.failed_at),
            message_id: row.message_id,
            excerpt: row.excerpt,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            is_cut: row.original_bytes.is_some(),
        }
    }
}

impl TableQueue {
    /// Moves a message to the dead letters in one statement, so that it is always in exactly one table.
    pub(super) async fn bury(
        &self,
        id: i64,
        attempts: u32,
        how: &Settlement,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let Settlement::Dead { label, error, body } = how else { return Ok(()) };
        let kept = match body {
            crate::broker::DeadBody::Whole => None,
            crate::broker::DeadBody::Excerpt => Some(excerpt_bytes()),
        };
        sqlx::query(
            "WITH gone AS (
                 DELETE FROM queue_messages WHERE id = $1 AND taken_by = $6
                 RETURNING queue, body, message_id, reply_to, correlation_id, enqueued_at)
             INSERT INTO dead_messages (queue, body, original_bytes, attempts, error_label, error, message_id, reply_to,
                 correlation_id, enqueued_at, failed_at)
             SELECT queue, substring(body FROM 1 FOR coalesce($7, octet_length(body))),
                 CASE WHEN octet_length(body) > $7 THEN octet_length(body) END, $2, $3, $4, message_id, reply_to,
                 correlation_id, enqueued_at, $5 FROM gone",
        )
        .bind(id)
        .bind(i32::try_from(attempts).unwrap_or(i32::MAX))
        .bind(label)
        .bind(error)
        .bind(now)
        .bind(&self.name)
        .bind(kept)
        .execute(&self.store.pool)
        .await?;
        Ok(())
    }

    pub(super) async fn letters(&self, limit: i64) -> Result<Vec<DeadLetter>, StoreError> {
        let rows: Vec<LetterRow> = sqlx::query_as(
            "SELECT id, queue, ''::bytea AS body, substring(body FROM 1 FOR $2) AS excerpt, octet_length(body) AS bytes, original_bytes,
                 attempts, error_label, error, message_id, failed_at FROM dead_messages ORDER BY id LIMIT $1",
        )
        .bind(limit)
        .bind(excerpt_bytes())
        .fetch_all(&self.store.pool)
        .await?;
        Ok(rows.into_iter().map(DeadLetter::from).collect())
    }

    pub(super) async fn open_letter(&self, id: i64) -> Result<Option<OpenDeadLetter>, StoreError> {
        let row: Option<LetterRow> = sqlx::query_as(
            "SELECT id, queue, body, substring(body FROM 1 FOR $2) AS excerpt, octet_length(body) AS bytes,
                 original_bytes, attempts, error_label, error, message_id, failed_at FROM dead_messages WHERE id = $1",
        )
        .bind(id)
        .bind(excerpt_bytes())
        .fetch_optional(&self.store.pool)
        .await?;
        Ok(row.map(|mut row| {
            let body = std::mem::take(&mut row.body);
            OpenDeadLetter { letter: row.into(), body }
        }))
    }

    /// Requeues dead letters, oldest first. Skips those added after the start, which may be the same messages.
    pub(super) async fn revive(&self, which: DeadSelection<'_>) -> Result<u64, StoreError> {
        let filter = Filter::from(which);
        let newest: Option<i64> =
            sqlx::query_scalar("SELECT max(id) FROM dead_messages").fetch_one(&self.store.pool).await?;
        let Some(newest) = newest else { return Ok(0) };
        let mut moved = 0;
        loop {
            let batch = sqlx::query(
                "WITH gone AS (
                     DELETE FROM dead_messages WHERE id IN (
                         SELECT id FROM dead_messages WHERE id <= $1 AND original_bytes IS NULL
                             AND ($2::bigint[] IS NULL OR id = ANY($2)) AND ($3::text IS NULL OR error_label = $3)
                         ORDER BY id LIMIT $5 FOR UPDATE SKIP LOCKED)
                     RETURNING id, queue, body, message_id, reply_to, correlation_id, enqueued_at)
                 INSERT INTO queue_messages (queue, body, message_id, reply_to, correlation_id, enqueued_at, available_at)
                 SELECT queue, body, message_id, reply_to, correlation_id, enqueued_at, $4 FROM gone ORDER BY id",
            )
            .bind(newest)
            .bind(&filter.ids)
            .bind(filter.reason)
            .bind(self.clock.now())
            .bind(BATCH)
            .execute(&self.store.pool)
            .await?;
            if batch.rows_affected() == 0 {
                return Ok(moved);
            }
            moved += batch.rows_affected();
            self.store.wake_queue.notify_one();
        }
    }

    pub(super) async fn drop_dead(&self, which: DeadSelection<'_>) -> Result<u64, StoreError> {
        let filter = Filter::from(which);
        let done = sqlx::query(
            "DELETE FROM dead_messages
             WHERE ($1::bigint[] IS NULL OR id = ANY($1)) AND ($2::text IS NULL OR error_label = $2)",
        )
        .bind(&filter.ids)
        .bind(filter.reason)
        .execute(&self.store.pool)
        .await?;
        Ok(done.rows_affected())
    }
}

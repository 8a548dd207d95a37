//! The queue of embedded mode: a table in the same store. It survives a kill: a message leaves it only when it is settled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use sqlx::Row as _;
use tokio::sync::{Mutex, Notify};

use super::{Store, StoreError};
use crate::broker::{
    DeadLetter, DeadSelection, Delivery, OutboxMessage, Queue, QueueDepth, QueueError, QueueName, Receipt, Settle,
};
use crate::domain::Clock;

/// Messages taken with one statement: enough to keep the workers busy, few enough to be handed back quickly.
const FETCH: i64 = 16;

/// After this long without a renewal a message is taken from whoever holds it: that process is dead. Long enough for
/// clocks of several machines that lie a minute apart.
const LEASE: TimeDelta = TimeDelta::minutes(3);

/// How often a living process renews what it holds.
const RENEWAL: Duration = Duration::from_secs(30);

/// A consumer of the table. Its name marks what it has taken; a message taken by a name of another run is free again.
#[derive(Debug)]
pub struct TableQueue {
    store: Store,
    clock: Arc<dyn Clock>,
    name: String,
    poll: Duration,
    fetched: Mutex<Vec<Delivery>>,
    stopped: AtomicBool,
    stop: Notify,
}

impl TableQueue {
    /// Opens the queue. What another process of the embedded store had taken is given back: the folder's lock says that it
    /// is dead. On a server, which several processes may share, its lease has to run out first. An idle
    /// queue waits for `poll` before it looks for messages that have become due.
    pub async fn open(store: Store, clock: Arc<dyn Clock>, poll: Duration) -> Result<Self, StoreError> {
        // Processes in containers share their numbers.
        let name = format!("{}-{:016x}", std::process::id(), rand::random::<u64>());
        if store.is_embedded() {
            sqlx::query("UPDATE queue_messages SET taken_by = NULL WHERE taken_by IS NOT NULL")
                .execute(&store.pool)
                .await?;
        }
        Ok(Self {
            store,
            clock,
            name,
            poll,
            fetched: Mutex::new(Vec::new()),
            stopped: AtomicBool::new(false),
            stop: Notify::new(),
        })
    }

    /// Renews what this consumer holds for as long as it lives. The embedded store needs none of it: its folder has one
    /// owner.
    pub async fn renew_leases(queue: Weak<Self>) {
        loop {
            tokio::time::sleep(RENEWAL).await;
            let Some(queue) = queue.upgrade() else { return };
            if let Err(error) = queue.renew().await {
                tracing::warn!(%error, "what is held of the queue could not be renewed; it is tried again");
            }
        }
    }

    /// Holds on to what was taken for another lease.
    pub async fn renew(&self) -> Result<(), StoreError> {
        sqlx::query("UPDATE queue_messages SET taken_at = $2 WHERE taken_by = $1")
            .bind(&self.name)
            .bind(self.clock.now())
            .execute(&self.store.pool)
            .await?;
        Ok(())
    }

    async fn fetch(&self) -> Result<Vec<Delivery>, StoreError> {
        let rows = sqlx::query(
            "UPDATE queue_messages SET taken_by = $1, taken_at = $2, deliveries = deliveries + 1 WHERE id IN (
                 SELECT id FROM queue_messages
                 WHERE (taken_by IS NULL OR taken_at < $4) AND available_at <= $2
                 ORDER BY available_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
             RETURNING id, queue, body, attempts, deliveries, message_id, reply_to, correlation_id, available_at",
        )
        .bind(&self.name)
        .bind(self.clock.now())
        .bind(FETCH)
        .bind(self.clock.now() - LEASE)
        .fetch_all(&self.store.pool)
        .await?;
        let mut deliveries = Vec::with_capacity(rows.len());
        for row in rows {
            let queue: String = row.try_get("queue")?;
            let available: DateTime<Utc> = row.try_get("available_at")?;
            let attempts: i32 = row.try_get("attempts")?;
            deliveries.push((
                row.try_get::<i64, _>("id")?,
                Delivery {
                    queue: QueueName::parse(&queue)
                        .ok_or_else(|| StoreError::Corrupt { detail: format!("queue {queue}") })?,
                    body: row.try_get("body")?,
                    attempts: u32::try_from(attempts).unwrap_or(0),
                    // Whoever had taken it before may have committed its result and been killed before it was settled.
                    redelivered: row.try_get::<i32, _>("deliveries")? > 1,
                    message_id: row.try_get("message_id")?,
                    reply_to: row.try_get("reply_to")?,
                    correlation_id: row.try_get("correlation_id")?,
                    // Nothing between the API and the table carries one.
                    traceparent: None,
                    enqueued_at: Some(available),
                    receipt: Receipt::Table(row.try_get("id")?),
                },
            ));
        }
        // RETURNING keeps no order; the oldest is handed out first, from the end of the list.
        deliveries.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        Ok(deliveries.into_iter().map(|(_, delivery)| delivery).collect())
    }

    async fn next(&self) -> Result<Delivery, QueueError> {
        let wake = Arc::clone(&self.store.wake_queue);
        loop {
            if self.stopped.load(Ordering::SeqCst) {
                return Err(QueueError::Closed);
            }
            {
                let mut fetched = self.fetched.lock().await;
                if fetched.is_empty() {
                    match self.fetch().await {
                        Ok(messages) => *fetched = messages,
                        Err(error) if error.is_transient() => {
                            tracing::warn!(error = %error, "the table queue could not be read; trying again");
                        }
                        Err(error) => {
                            return Err(QueueError::Failed {
                                action: "reading the table queue",
                                detail: error.to_string(),
                            });
                        }
                    }
                }
                if let Some(delivery) = fetched.pop() {
                    return Ok(delivery);
                }
            }
            // Safe to be cancelled: nothing has been taken here. A missed wake-up costs one poll at most.
            tokio::select! {
                () = wake.notified() => {}
                () = self.stop.notified() => {}
                () = tokio::time::sleep(self.poll) => {}
            }
        }
    }

    /// Settles what this consumer holds; a message whose lease ran out belongs to whoever took it since.
    async fn end(&self, id: i64, how: Settle, delivery: &Delivery) -> Result<(), StoreError> {
        let pool = &self.store.pool;
        let now = self.clock.now();
        let later = |delay: Duration| now + TimeDelta::from_std(delay).unwrap_or(TimeDelta::hours(1));
        match how {
            Settle::Ack => {
                sqlx::query("DELETE FROM queue_messages WHERE id = $1 AND taken_by = $2")
                    .bind(id)
                    .bind(&self.name)
                    .execute(pool)
                    .await?;
            }
            Settle::Retry { error_label, error, delay } => {
                sqlx::query(
                    "UPDATE queue_messages SET taken_by = NULL, attempts = attempts + 1, available_at = $2,
                         last_error = $3 WHERE id = $1 AND taken_by = $4",
                )
                .bind(id)
                .bind(later(delay))
                .bind(format!("{error_label}: {error}"))
                .bind(&self.name)
                .execute(pool)
                .await?;
            }
            Settle::Defer { delay } => {
                sqlx::query(
                    "UPDATE queue_messages SET taken_by = NULL, available_at = $2 WHERE id = $1 AND taken_by = $3",
                )
                .bind(id)
                .bind(later(delay))
                .bind(&self.name)
                .execute(pool)
                .await?;
            }
            Settle::Dead { label, error } => {
                // Moved in one statement: at no moment in both tables or in none.
                sqlx::query(
                    "WITH gone AS (DELETE FROM queue_messages WHERE id = $1 AND taken_by = $6 RETURNING *)
                     INSERT INTO dead_messages (queue, body, attempts, error_label, error, message_id, reply_to,
                         correlation_id, enqueued_at, failed_at)
                     SELECT queue, body, $2, $3, $4, message_id, reply_to, correlation_id, enqueued_at, $5 FROM gone",
                )
                .bind(id)
                .bind(i32::try_from(delivery.attempts).unwrap_or(i32::MAX))
                .bind(label)
                .bind(error)
                .bind(now)
                .bind(&self.name)
                .execute(pool)
                .await?;
            }
            Settle::Requeue => {
                sqlx::query("UPDATE queue_messages SET taken_by = NULL WHERE id = $1 AND taken_by = $2")
                    .bind(id)
                    .bind(&self.name)
                    .execute(pool)
                    .await?;
                self.store.wake_queue.notify_one();
            }
        }
        Ok(())
    }

    async fn put(&self, queue: QueueName, items: &[Vec<u8>]) -> Result<(), StoreError> {
        // A message's own name tells its second delivery from a second message with the same item.
        let names: Vec<String> = items.iter().map(|_| format!("q:{:032x}", rand::random::<u128>())).collect();
        sqlx::query(
            "INSERT INTO queue_messages (queue, body, message_id, enqueued_at, available_at)
             SELECT $1, body, message_id, $4, $4 FROM unnest($2::bytea[], $3::text[]) AS row(body, message_id)",
        )
        .bind(queue.as_str())
        .bind(items)
        .bind(&names)
        .bind(self.clock.now())
        .execute(&self.store.pool)
        .await?;
        self.store.wake_queue.notify_one();
        Ok(())
    }

    async fn count(&self) -> Result<QueueDepth, StoreError> {
        let row: (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM queue_messages WHERE queue = 'enrichment_queue' AND taken_by IS NULL),
                 (SELECT count(*) FROM queue_messages WHERE queue = 'factcheck' AND taken_by IS NULL),
                 (SELECT count(*) FROM dead_messages)",
        )
        .fetch_one(&self.store.pool)
        .await?;
        let unsigned = |count: i64| u64::try_from(count).unwrap_or(0);
        Ok(QueueDepth { enrichment: unsigned(row.0), factcheck: unsigned(row.1), dead: unsigned(row.2) })
    }

    async fn dead(&self, ids: Option<&[i64]>, limit: i64) -> Result<Vec<DeadLetter>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, queue, body, attempts, error_label, error, message_id, failed_at FROM dead_messages
             WHERE $1::bigint[] IS NULL OR id = ANY($1) ORDER BY id LIMIT $2",
        )
        .bind(ids)
        .bind(limit)
        .fetch_all(&self.store.pool)
        .await?;
        let mut letters = Vec::with_capacity(rows.len());
        for row in rows {
            let queue: String = row.try_get("queue")?;
            letters.push(DeadLetter {
                id: row.try_get::<i64, _>("id")?.to_string(),
                origin: QueueName::parse(&queue),
                label: Some(row.try_get("error_label")?),
                error: Some(row.try_get("error")?),
                attempts: u32::try_from(row.try_get::<i32, _>("attempts")?).ok(),
                failed_at: Some(row.try_get("failed_at")?),
                message_id: row.try_get("message_id")?,
                body: row.try_get("body")?,
            });
        }
        Ok(letters)
    }

    async fn revive(&self, ids: Option<Vec<i64>>) -> Result<u64, StoreError> {
        let done = sqlx::query(
            "WITH gone AS (DELETE FROM dead_messages WHERE $1::bigint[] IS NULL OR id = ANY($1) RETURNING *)
             INSERT INTO queue_messages (queue, body, message_id, reply_to, correlation_id, enqueued_at, available_at)
             SELECT queue, body, message_id, reply_to, correlation_id, enqueued_at, $2 FROM gone",
        )
        .bind(ids)
        .bind(self.clock.now())
        .execute(&self.store.pool)
        .await?;
        self.store.wake_queue.notify_one();
        Ok(done.rows_affected())
    }

    async fn drop_dead(&self, ids: Option<Vec<i64>>) -> Result<u64, StoreError> {
        let done = sqlx::query("DELETE FROM dead_messages WHERE $1::bigint[] IS NULL OR id = ANY($1)")
            .bind(ids)
            .execute(&self.store.pool)
            .await?;
        Ok(done.rows_affected())
    }
}

/// `None` for all; ids that are no numbers name nothing.
fn numbers(which: DeadSelection<'_>) -> Option<Vec<i64>> {
    match which {
        DeadSelection::All => None,
        DeadSelection::Ids(ids) => Some(ids.iter().filter_map(|id| id.parse().ok()).collect()),
    }
}

fn failed(action: &'static str) -> impl Fn(StoreError) -> QueueError {
    move |error| QueueError::Failed { action, detail: error.to_string() }
}

fn count(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

impl Queue for TableQueue {
    fn receive(&self) -> BoxFuture<'_, Result<Delivery, QueueError>> {
        Box::pin(self.next())
    }

    fn settle<'a>(&'a self, delivery: &'a Delivery, how: Settle) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            let Receipt::Table(id) = delivery.receipt else {
                return Err(QueueError::Failed {
                    action: "settling a message",
                    detail: "it came from another queue".to_owned(),
                });
            };
            self.end(id, how, delivery).await.map_err(failed("settling a message"))
        })
    }

    fn publish_items<'a>(&'a self, queue: QueueName, items: &'a [Vec<u8>]) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move { self.put(queue, items).await.map_err(failed("queueing items")) })
    }

    fn publish_results<'a>(&'a self, messages: &'a [OutboxMessage]) -> BoxFuture<'a, Result<Vec<i64>, QueueError>> {
        // Without a broker nobody collects messages: results are read from the store. Rows left from a time with a
        // broker are kept for it.
        Box::pin(async move {
            tracing::debug!(messages = messages.len(), "no broker to publish to");
            Ok(Vec::new())
        })
    }

    fn depth(&self) -> BoxFuture<'_, Result<QueueDepth, QueueError>> {
        Box::pin(async move { self.count().await.map_err(failed("counting the queue")) })
    }

    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    fn dead_list(&self, limit: usize) -> BoxFuture<'_, Result<Vec<DeadLetter>, QueueError>> {
        Box::pin(async move {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            self.dead(None, limit).await.map_err(failed("listing dead letters"))
        })
    }

    fn dead_get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<DeadLetter>, QueueError>> {
        Box::pin(async move {
            let Ok(id) = id.parse::<i64>() else { return Ok(None) };
            let mut found = self.dead(Some(&[id]), 1).await.map_err(failed("reading a dead letter"))?;
            Ok(found.pop())
        })
    }

    fn dead_requeue<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        Box::pin(async move { self.revive(numbers(which)).await.map(count).map_err(failed("requeueing dead letters")) })
    }

    fn dead_drop<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        Box::pin(
            async move { self.drop_dead(numbers(which)).await.map(count).map_err(failed("dropping dead letters")) },
        )
    }

    fn stop_receiving(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.stop.notify_waiters();
    }
}

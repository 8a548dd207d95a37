//! The queue of embedded mode, a table of the store. A message stays in it until it is settled.
//!
//! A consumer claims one message at a time, only when it has capacity. If its process ends, the message is delivered
//! again and counted as lost; at the limit it becomes a dead letter.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::BoxFuture;
use sqlx::FromRow;
use tokio_util::sync::CancellationToken;

use super::{Store, StoreError};
use crate::broker::{
    DeadLetter, DeadSelection, Delivery, OpenDeadLetter, OutboxMessage, PublishReport, Queue, QueueDepth, QueueError,
    QueueName, Receipt, Settlement,
};
use crate::domain::Clock;

mod dead;

/// Time without renewal after which a message is free. Tolerates clocks that differ by a minute.
const LEASE: TimeDelta = TimeDelta::minutes(3);

const RENEWAL: Duration = Duration::from_secs(30);

const RECLAIM_EVERY: TimeDelta = TimeDelta::seconds(10);

/// Lost deliveries until a message becomes a dead letter; see [`TableQueue::limited_to`].
const DELIVERY_LIMIT: u32 = 20;

/// Messages lost more than once return one at a time, this far apart, so that only the one that crashes the process is
/// counted again.
const APART: TimeDelta = TimeDelta::seconds(5);

/// A consumer of the table. Its name marks the messages that it leases.
#[derive(Debug)]
pub struct TableQueue {
    store: Store,
    /// Clock for delays and leases.
    clock: Arc<dyn Clock>,
    /// Clock of the consuming process.
    reader_clock: Arc<dyn Clock>,
    name: String,
    poll: Duration,
    delivery_limit: u32,
    in_work: Mutex<BTreeSet<i64>>,
    /// Last search for expired leases; `None` before the first.
    reclaimed: Mutex<Option<DateTime<Utc>>>,
    stopping: CancellationToken,
}

#[derive(FromRow)]
struct MessageRow {
    id: i64,
    queue: String,
    body: Vec<u8>,
    attempts: i32,
    deliveries: i32,
    message_id: Option<String>,
    reply_to: Option<String>,
    correlation_id: Option<String>,
    available_at: DateTime<Utc>,
    enqueued_at: DateTime<Utc>,
}

impl TableQueue {
    /// Opens the queue. In the embedded store, the first receiver frees all leases: the folder lock proves that their
    /// holders ended. On a server, leases must expire. An idle queue looks for due messages every `poll`.
    pub fn open(store: Store, clock: Arc<dyn Clock>, poll: Duration) -> Self {
        // Processes in containers can have equal process ids.
        let name = format!("{}-{:016x}", std::process::id(), rand::random::<u64>());
        Self {
            store,
            reader_clock: Arc::clone(&clock),
            clock,
            name,
            poll,
            delivery_limit: DELIVERY_LIMIT,
            in_work: Mutex::default(),
            reclaimed: Mutex::default(),
            stopping: CancellationToken::new(),
        }
    }

    #[must_use]
    pub fn limited_to(self, delivery_limit: u32) -> Self {
        Self { delivery_limit, ..self }
    }

    /// Converts waiting-since times to this clock.
    #[must_use]
    pub fn read_by(self, reader_clock: Arc<dyn Clock>) -> Self {
        Self { reader_clock, ..self }
    }

    fn by_reader(&self, moment: DateTime<Utc>) -> DateTime<Utc> {
        moment + (self.reader_clock.now() - self.clock.now())
    }

    /// Renews leases while the queue lives; when it stops, releases messages not in work.
    pub async fn attend(queue: Weak<Self>) {
        let Some(stopping) = queue.upgrade().map(|queue| queue.stopping.clone()) else { return };
        let mut stopped = false;
        loop {
            tokio::select! {
                () = stopping.cancelled(), if !stopped => stopped = true,
                () = tokio::time::sleep(RENEWAL) => {}
            }
            let Some(queue) = queue.upgrade() else { return };
            let done = if stopped { queue.hand_back().await } else { Ok(()) };
            if let Err(error) = done.and(queue.renew().await) {
                tracing::warn!(%error, "message lease renewal failed; retrying (messages may be delivered twice)");
            }
        }
    }

    fn working_on(&self) -> Vec<i64> {
        self.in_work.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    /// Renews leases. The embedded store needs none, because its folder has one owner.
    pub async fn renew(&self) -> Result<(), StoreError> {
        if self.store.is_embedded() {
            return Ok(());
        }
        sqlx::query("UPDATE queue_messages SET taken_at = $2 WHERE taken_by = $1 AND id = ANY($3)")
            .bind(&self.name)
            .bind(self.clock.now())
            .bind(self.working_on())
            .execute(&self.store.pool)
            .await?;
        Ok(())
    }

    /// Releases messages that were claimed for a receiver that no longer waits.
    async fn hand_back(&self) -> Result<(), StoreError> {
        if self.reclaimed.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Ok(());
        }
        sqlx::query(
            "UPDATE queue_messages SET taken_by = NULL, deliveries = greatest(deliveries - 1, 0)
             WHERE taken_by = $1 AND id <> ALL($2)",
        )
        .bind(&self.name)
        .bind(self.working_on())
        .execute(&self.store.pool)
        .await?;
        Ok(())
    }

    /// Frees expired leases (all with `everything`), except of messages in work here. Messages at the limit become dead
    /// letters.
    async fn reclaim(&self, everything: bool) -> Result<(), StoreError> {
        let now = self.clock.now();
        let (freed, dead): (i64, i64) = sqlx::query_as(
            "WITH expired AS MATERIALIZED (
                 SELECT id, lost + 1 AS lost FROM queue_messages
                 WHERE taken_by IS NOT NULL AND NOT (taken_by = $7 AND id = ANY($8))
                     AND ($1 OR taken_at NOT BETWEEN $2 AND $5 + ($5 - $2))
                 FOR UPDATE SKIP LOCKED),
             gone AS (
                 DELETE FROM queue_messages q USING expired e WHERE q.id = e.id AND e.lost >= $3
                 RETURNING q.queue, q.body, q.attempts, q.message_id, q.reply_to, q.correlation_id, q.enqueued_at),
             dead AS (
                 INSERT INTO dead_messages (queue, body, attempts, error_label, error, message_id, reply_to,
                     correlation_id, enqueued_at, failed_at)
                 SELECT queue, body, attempts, 'delivery_limit', $4, message_id, reply_to, correlation_id, enqueued_at, $5
                 FROM gone RETURNING id),
             freed AS (
                 UPDATE queue_messages q SET taken_by = NULL, lost = e.lost, available_at = CASE WHEN e.lost > 1
                     THEN greatest(q.available_at, $5 + e.place * make_interval(secs => $6)) ELSE q.available_at END
                 FROM (SELECT id, lost, row_number() OVER (ORDER BY random()) AS place FROM expired WHERE lost < $3) e
                 WHERE q.id = e.id RETURNING q.id)
             SELECT (SELECT count(*) FROM freed), (SELECT count(*) FROM dead)",
        )
        .bind(everything)
        .bind(now - LEASE)
        .bind(i32::try_from(self.delivery_limit).unwrap_or(i32::MAX))
        .bind(format!(
            "the process ended while it worked on this item, {} times: the item may make it run out of memory or stack; \
             please report it",
            self.delivery_limit
        ))
        .bind(now)
        .bind(APART.as_seconds_f64())
        .bind(&self.name)
        .bind(self.working_on())
        .fetch_one(&self.store.pool)
        .await?;
        *self.reclaimed.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        if freed > 0 {
            tracing::info!(messages = freed, "messages of a stopped process redelivered");
        }
        if dead > 0 {
            tracing::warn!(
                messages = dead,
                "items that crash their process became dead letters; run `corroborate dead list`"
            );
        }
        Ok(())
    }

    async fn fetch(&self) -> Result<Option<Delivery>, StoreError> {
        let now = self.clock.now();
        let reclaimed = *self.reclaimed.lock().unwrap_or_else(PoisonError::into_inner);
        match reclaimed {
            None => self.reclaim(self.store.is_embedded()).await?,
            Some(last) if !self.store.is_embedded() && now - last >= RECLAIM_EVERY => self.reclaim(false).await?,
            Some(_) => {}
        }
        let row: Option<MessageRow> = sqlx::query_as(
            "UPDATE queue_messages SET taken_by = $1, taken_at = $2, deliveries = deliveries + 1 WHERE id = coalesce(
                 (SELECT id FROM queue_messages
                  WHERE queue = 'enrichment_important' AND taken_by IS NULL AND available_at <= $2
                  ORDER BY available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED),
                 (SELECT id FROM queue_messages WHERE taken_by IS NULL AND available_at <= $2
                  ORDER BY available_at, id LIMIT 1 FOR UPDATE SKIP LOCKED))
             RETURNING id, queue, body, attempts, deliveries, message_id, reply_to, correlation_id, available_at, enqueued_at",
        )
        .bind(&self.name)
        .bind(now)
        .fetch_optional(&self.store.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        self.in_work.lock().unwrap_or_else(PoisonError::into_inner).insert(row.id);
        let unknown = || StoreError::Corrupt { detail: format!("queue {}", row.queue) };
        Ok(Some(Delivery {
            queue: QueueName::parse(&row.queue).ok_or_else(unknown)?,
            body: row.body,
            attempts: u32::try_from(row.attempts).unwrap_or(0),
            // The previous holder may have committed the result and crashed before settling.
            redelivered: row.deliveries > 1,
            message_id: row.message_id,
            reply_to: row.reply_to,
            reply_refused: false,
            correlation_id: row.correlation_id,
            traceparent: None,
            enqueued_at: Some(self.by_reader(row.available_at)),
            sent_at: Some(row.enqueued_at),
            receipt: Receipt::Table(row.id),
        }))
    }

    async fn next(&self) -> Result<Delivery, QueueError> {
        let wake = Arc::clone(&self.store.wake_queue);
        loop {
            if self.stopping.is_cancelled() {
                return Err(QueueError::Closed);
            }
            match self.fetch().await {
                Ok(Some(delivery)) => return Ok(delivery),
                Ok(None) => {}
                Err(error) if error.is_transient() => {
                    tracing::warn!(error = %error, "reading the table queue failed; retrying");
                }
                Err(error) => {
                    return Err(QueueError::Failed { action: "reading the table queue", detail: error.to_string() });
                }
            }
            // Cancel-safe: nothing is claimed here. A missed wake-up costs at most one poll.
            tokio::select! {
                () = wake.notified() => {}
                () = self.stopping.cancelled() => {}
                () = tokio::time::sleep(self.poll) => {}
            }
        }
    }

    /// Settles a message that this consumer still holds. After an expired lease it belongs to the next holder.
    async fn end(&self, id: i64, how: Settlement, delivery: &Delivery) -> Result<(), StoreError> {
        let pool = &self.store.pool;
        let now = self.clock.now();
        let later = |delay: Duration| now + TimeDelta::from_std(delay).unwrap_or(TimeDelta::hours(1));
        match how {
            Settlement::Ack => {
                sqlx::query("DELETE FROM queue_messages WHERE id = $1 AND taken_by = $2")
                    .bind(id)
                    .bind(&self.name)
                    .execute(pool)
                    .await?;
            }
            Settlement::Retry { error_label, error, delay } => {
                sqlx::query(
                    "UPDATE queue_messages SET taken_by = NULL, attempts = attempts + 1, lost = 0, available_at = $2,
                         last_error = $3 WHERE id = $1 AND taken_by = $4",
                )
                .bind(id)
                .bind(later(delay))
                .bind(format!("{error_label}: {error}"))
                .bind(&self.name)
                .execute(pool)
                .await?;
            }
            Settlement::Defer { delay } => {
                sqlx::query(
                    "UPDATE queue_messages SET taken_by = NULL, lost = 0, available_at = $2 WHERE id = $1 AND taken_by = $3",
                )
                .bind(id)
                .bind(later(delay))
                .bind(&self.name)
                .execute(pool)
                .await?;
            }
            how @ Settlement::Dead { .. } => self.bury(id, delivery.attempts, &how, now).await?,
            Settlement::Requeue => {
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
        // A unique id distinguishes a redelivery from a second message about the same item.
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
        let row: (i64, i64, i64, i64, Option<DateTime<Utc>>) = sqlx::query_as(
            "SELECT count(*) FILTER (WHERE queue = 'enrichment_important'),
                 count(*) FILTER (WHERE queue = 'enrichment_queue'), count(*) FILTER (WHERE queue = 'factcheck'),
                 (SELECT count(*) FROM dead_messages), min(available_at)
             FROM queue_messages WHERE taken_by IS NULL AND available_at <= $1",
        )
        .bind(self.clock.now())
        .fetch_one(&self.store.pool)
        .await?;
        let unsigned = |count: i64| u64::try_from(count).unwrap_or(0);
        Ok(QueueDepth {
            important: unsigned(row.0),
            enrichment: unsigned(row.1),
            factcheck: unsigned(row.2),
            dead: unsigned(row.3),
            oldest: row.4.map(|moment| self.by_reader(moment)),
        })
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

    fn settle<'a>(&'a self, delivery: &'a Delivery, how: Settlement) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move {
            let Receipt::Table(id) = delivery.receipt else {
                return Err(QueueError::Failed {
                    action: "settling a message",
                    detail: "it came from another queue".to_owned(),
                });
            };
            let requeued = how == Settlement::Requeue;
            let ended = self.end(id, how, delivery).await;
            // If even a requeue fails, stop renewing: the lease then expires.
            if ended.is_ok() || requeued {
                self.in_work.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            }
            ended.map_err(failed("settling a message"))
        })
    }

    fn publish_items<'a>(&'a self, queue: QueueName, items: &'a [Vec<u8>]) -> BoxFuture<'a, Result<(), QueueError>> {
        Box::pin(async move { self.put(queue, items).await.map_err(failed("queueing items")) })
    }

    fn publish_results<'a>(
        &'a self,
        messages: &'a [OutboxMessage],
    ) -> BoxFuture<'a, Result<PublishReport, QueueError>> {
        // Without a broker, results are read from the store. Older outbox rows are kept for a broker.
        Box::pin(async move {
            tracing::debug!(messages = messages.len(), "no broker to publish to");
            Ok(PublishReport::default())
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
            self.letters(limit).await.map_err(failed("listing dead letters"))
        })
    }

    fn dead_get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<OpenDeadLetter>, QueueError>> {
        Box::pin(async move {
            let Ok(id) = id.parse::<i64>() else { return Ok(None) };
            self.open_letter(id).await.map_err(failed("reading a dead letter"))
        })
    }

    fn dead_requeue<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        Box::pin(async move { self.revive(which).await.map(count).map_err(failed("requeueing dead letters")) })
    }

    fn dead_drop<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>> {
        Box::pin(async move { self.drop_dead(which).await.map(count).map_err(failed("dropping dead letters")) })
    }

    fn stop_receiving(&self) {
        self.stopping.cancel();
    }
}

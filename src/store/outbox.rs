//! The outbox, written in the item's transaction and deleted after the broker's confirm.
//!
//! A process leases a batch, publishes it and settles it. Refused messages are retried with growing delays and finally
//! parked. A process that keeps up publishes its own new messages from memory ([`FreshMessages`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use super::{Store, StoreError};
use crate::broker::{OutboxMessage, PublishReport};
use crate::domain::MessageId;

#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct OutboxDraft {
    /// `None`: the default exchange; `routing_key` is then a queue name (`reply_to`).
    pub exchange: Option<String>,
    pub routing_key: String,
    /// JSON text.
    pub body: String,
    pub correlation_id: Option<String>,
    pub message_id: MessageId,
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

/// Lease of a batch. With a slower broker, a message may be sent twice.
const CLAIM: TimeDelta = TimeDelta::seconds(30);

/// Longest delay of a refused message; delays start at one second and double. Each retry also sends copies to working
/// queues.
const LONGEST_PAUSE: TimeDelta = TimeDelta::minutes(30);

/// Refusals until a message is parked, after about twelve hours.
const PARKED_AFTER: i32 = 35;

/// Retry interval of parked messages.
const PARKED_PAUSE: TimeDelta = TimeDelta::days(1);

/// Messages counted exactly.
const COUNTED: i64 = 10_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutboxState {
    pub pending: u64,
    /// Creation time of the oldest pending message.
    pub oldest: Option<DateTime<Utc>>,
    /// Refused too often; not included in `pending`.
    pub parked: u64,
}

/// Messages leased for publishing. Holds no connection: the embedded store has only one. Rows stay until
/// [`OutboxBatch::confirm`]; a dropped batch is free after its lease.
#[derive(Debug)]
pub struct OutboxBatch {
    store: Store,
    pub messages: Vec<OutboxMessage>,
    /// Lease ends in message order; rows leased by others since are not changed.
    claims: Vec<DateTime<Utc>>,
}

impl OutboxBatch {
    /// Deletes confirmed messages, delays refused ones, releases the rest. Returns the number parked. Repeatable after
    /// an error.
    pub async fn settle(&self, published: &PublishReport) -> Result<usize, StoreError> {
        let mut parked = 0;
        if !published.refused.is_empty() {
            let (ids, reasons): (Vec<i64>, Vec<String>) = published.refused.iter().cloned().unzip();
            let claims: Vec<Option<DateTime<Utc>>> = ids.iter().map(|id| self.claim(*id)).collect();
            let rows = sqlx::query_scalar::<_, bool>(
                "UPDATE outbox SET attempts = attempts + 1, last_error = row.reason, locked_until = NULL,
                     parked_at = CASE WHEN attempts + 1 >= $4 THEN coalesce(parked_at, now()) END,
                     next_try_at = now() + make_interval(secs => CASE WHEN attempts + 1 >= $4 THEN $6
                         ELSE least(power(2, least(attempts, 20)), $5) END)
                 FROM unnest($1::bigint[], $2::text[], $3::timestamptz[]) AS row(refused, reason, claim)
                 WHERE id = row.refused AND locked_until = row.claim
                 RETURNING attempts = $4",
            )
            .bind(ids)
            .bind(reasons)
            .bind(claims)
            .bind(PARKED_AFTER)
            .bind(LONGEST_PAUSE.as_seconds_f64())
            .bind(PARKED_PAUSE.as_seconds_f64())
            .fetch_all(&self.store.pool)
            .await?;
            parked = rows.into_iter().filter(|parked| *parked).count();
        }
        self.confirm(&published.confirmed).await?;
        Ok(parked)
    }

    fn claim(&self, id: i64) -> Option<DateTime<Utc>> {
        self.messages.iter().position(|message| message.id == id).and_then(|at| self.claims.get(at).copied())
    }

    /// Deletes confirmed messages and releases the rest. Repeatable after an error.
    pub async fn confirm(&self, ids: &[i64]) -> Result<(), StoreError> {
        if !ids.is_empty() {
            sqlx::query("DELETE FROM outbox WHERE id = ANY($1)").bind(ids).execute(&self.store.pool).await?;
        }
        let rest = self.messages.iter().map(|message| message.id).zip(&self.claims).filter(|(id, _)| !ids.contains(id));
        let (rest, claims): (Vec<i64>, Vec<DateTime<Utc>>) = rest.unzip();
        if !rest.is_empty() {
            sqlx::query(
                "UPDATE outbox SET locked_until = NULL FROM unnest($1::bigint[], $2::timestamptz[]) AS row(given, claim)
                 WHERE id = row.given AND locked_until = row.claim",
            )
            .bind(rest)
            .bind(claims)
            .execute(&self.store.pool)
            .await?;
        }
        Ok(())
    }
}

/// Maximum messages in memory; others are read from the table.
const MOST_FRESH: usize = 500;
/// Lease of messages in memory, for a crash or a lost commit reply; publishing takes milliseconds.
const FRESH_CLAIM: TimeDelta = TimeDelta::seconds(5);
/// Older messages are left to the table, because their lease may end during publishing.
const FRESH_FOR: Duration = Duration::from_secs(3);

/// A message, the end of its lease, and its commit time here.
type FreshMessage = (OutboxMessage, DateTime<Utc>, Instant);

#[derive(Debug, Default)]
pub(super) struct FreshMessages {
    messages: Mutex<VecDeque<FreshMessage>>,
    keeps_up: AtomicBool,
    unkept: AtomicBool,
}

impl FreshMessages {
    /// Returns the lease for new messages; `None` if they must wait in the table.
    pub(super) fn claim(&self) -> Option<TimeDelta> {
        let has_room = self.messages.lock().unwrap_or_else(PoisonError::into_inner).len() < MOST_FRESH;
        (has_room && self.keeps_up.load(Ordering::Relaxed)).then_some(FRESH_CLAIM)
    }

    /// Adds messages written since `began`. `until`: end of their lease, if any.
    pub(super) fn written(&self, drafts: &[OutboxDraft], ids: &[i64], until: Option<DateTime<Utc>>, began: Instant) {
        let Some(until) = until else {
            self.unkept.store(true, Ordering::Relaxed);
            return;
        };
        let messages = drafts.iter().zip(ids).map(|(draft, id)| {
            let message = OutboxMessage {
                id: *id,
                exchange: draft.exchange.clone(),
                routing_key: draft.routing_key.clone(),
                body: draft.body.clone().into_bytes(),
                correlation_id: draft.correlation_id.clone(),
                message_id: draft.message_id.clone(),
            };
            (message, until, began)
        });
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).extend(messages);
    }

    fn take(&self, limit: usize) -> Vec<FreshMessage> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let before = messages.len();
        messages.retain(|(_, _, began)| began.elapsed() < FRESH_FOR);
        if messages.len() < before {
            self.unkept.store(true, Ordering::Relaxed);
        }
        let count = messages.len().min(limit);
        messages.drain(..count).collect()
    }
}

impl Store {
    /// Leases up to `limit` due messages, never-refused ones first, in the order of the index `outbox_due`.
    pub async fn take_outbox(&self, limit: i64) -> Result<Option<OutboxBatch>, StoreError> {
        // By the database's clock. A longer lease was made before that clock was set back and is ignored.
        type Row = (i64, Option<String>, String, String, Option<String>, String, DateTime<Utc>);
        let rows: Vec<Row> = sqlx::query_as(
            "UPDATE outbox SET locked_until = now() + make_interval(secs => $2) WHERE id IN (
                 SELECT id FROM outbox
                 WHERE (locked_until IS NULL OR locked_until < now()
                         OR locked_until > now() + 2 * make_interval(secs => $2))
                     AND coalesce(next_try_at, '-infinity'::timestamptz) <= now()
                 ORDER BY coalesce(next_try_at, '-infinity'::timestamptz), id LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING id, exchange, routing_key, body, correlation_id, message_id, locked_until",
        )
        .bind(limit)
        .bind(CLAIM.as_seconds_f64())
        .fetch_all(&self.pool)
        .await?;
        let Some(until) = rows.first().map(|(.., until)| *until) else { return Ok(None) };
        let claims = vec![until; rows.len()];
        let message = |(id, exchange, routing_key, body, correlation_id, message_id, _): Row| OutboxMessage {
            id,
            exchange,
            routing_key,
            body: body.into_bytes(),
            correlation_id,
            message_id: MessageId::new(message_id),
        };
        let mut messages: Vec<OutboxMessage> = rows.into_iter().map(message).collect();
        // `RETURNING` keeps no order.
        messages.sort_by_key(|message: &OutboxMessage| message.id);
        Ok(Some(OutboxBatch { store: self.clone(), messages, claims }))
    }

    /// Returns this process's leased messages from memory, oldest first.
    pub fn take_fresh_outbox(&self, limit: usize) -> Option<OutboxBatch> {
        let fresh = self.fresh.take(limit).into_iter().map(|(message, claim, _)| (message, claim));
        let (messages, claims): (Vec<OutboxMessage>, Vec<DateTime<Utc>>) = fresh.unzip();
        (!messages.is_empty()).then(|| OutboxBatch { store: self.clone(), messages, claims })
    }

    pub fn has_fresh_outbox(&self) -> bool {
        !self.fresh.messages.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Set by the publisher: true if it knows of no other message. Only then are new messages kept in memory, so that
    /// they do not overtake older ones.
    pub fn outbox_keeps_up(&self, keeps_up: bool) {
        self.fresh.keeps_up.store(keeps_up, Ordering::Relaxed);
    }

    /// Returns true if, since the last call, this process wrote messages only to the table.
    pub fn has_unkept_outbox(&self) -> bool {
        self.fresh.unkept.swap(false, Ordering::Relaxed)
    }

    /// Writes messages without a new result: replies about stored results.
    pub async fn write_outbox(&self, drafts: &[OutboxDraft], now: DateTime<Utc>) -> Result<(), StoreError> {
        self.in_time(async { write(&mut *self.pool.acquire().await?, drafts, now).await }).await?;
        self.fresh.unkept.store(true, Ordering::Relaxed);
        self.wake_outbox.notify_one();
        Ok(())
    }

    /// Returns the outbox state. Counts above [`COUNTED`] are estimated from ids, to avoid long scans every few
    /// seconds.
    pub async fn outbox_state(&self) -> Result<OutboxState, StoreError> {
        let (pending, oldest, parked): (i64, Option<DateTime<Utc>>, i64) = sqlx::query_as(
            "WITH waiting AS MATERIALIZED (
                 SELECT id, created_at FROM outbox WHERE parked_at IS NULL ORDER BY id LIMIT $1)
             SELECT count(*) + CASE WHEN count(*) < $1 THEN 0 ELSE greatest((SELECT max(id) FROM outbox) - max(id)
                     - (SELECT count(*) FROM outbox WHERE parked_at IS NOT NULL AND id > (SELECT max(id) FROM waiting)), 0) END,
                 min(created_at), (SELECT count(*) FROM outbox WHERE parked_at IS NOT NULL)
             FROM waiting",
        )
        .bind(COUNTED)
        .fetch_one(&self.pool)
        .await?;
        let count = |rows| u64::try_from(rows).unwrap_or(0);
        Ok(OutboxState { pending: count(pending), oldest, parked: count(parked) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(id: &str) -> OutboxDraft {
        OutboxDraft {
            exchange: None,
            routing_key: "reply".to_owned(),
            body: "{}".to_owned(),
            correlation_id: None,
            message_id: id.into(),
        }
    }

    fn ids(taken: Vec<FreshMessage>) -> Vec<i64> {
        taken.into_iter().map(|(message, ..)| message.id).collect()
    }

    #[test]
    fn what_is_written_is_kept_only_while_it_is_claimed() {
        let fresh = FreshMessages::default();
        let (drafts, until, now) = ([draft("a"), draft("b")], DateTime::<Utc>::MIN_UTC, Instant::now());
        assert_eq!(fresh.claim(), None, "nobody has said that all is out");
        fresh.written(&drafts, &[1, 2], None, now);
        assert!(ids(fresh.take(9)).is_empty() && fresh.unkept.swap(false, Ordering::Relaxed));
        fresh.keeps_up.store(true, Ordering::Relaxed);
        assert_eq!(fresh.claim(), Some(FRESH_CLAIM));
        fresh.written(&drafts, &[3, 4], Some(until), now);
        assert_eq!((ids(fresh.take(1)), ids(fresh.take(9))), (vec![3], vec![4]));
        // Its lease may end before it is sent, so it is read from the table.
        let Some(earlier) = now.checked_sub(FRESH_FOR) else { return };
        fresh.written(&drafts, &[5, 6], Some(until), earlier);
        assert!(ids(fresh.take(9)).is_empty() && fresh.unkept.load(Ordering::Relaxed));
        for id in 0..500 {
            fresh.written(&drafts[..1], &[id], Some(until), now);
        }
        assert_eq!(fresh.claim(), None, "there is no room");
    }
}

//! Results and signals for webhooks, written in the item's transaction and deleted after delivery.
//!
//! A process leases a batch of one webhook, sends it and settles it. After too long a failure, messages become dead
//! letters.

use std::time::Duration;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{FromRow, PgConnection};

use super::{Store, StoreError};
use crate::domain::{Event, MessageId};

#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct WebhookDraft {
    pub webhook: String,
    pub event: Event,
    /// JSON text, signed and sent unchanged.
    pub body: String,
    pub message_id: MessageId,
}

pub(super) async fn write(
    connection: &mut PgConnection,
    drafts: &[WebhookDraft],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO webhook_messages (webhook, event, message_id, body, created_at)
         SELECT webhook, event, message_id, body, $2
         FROM jsonb_to_recordset($1::jsonb) AS row(webhook text, event text, message_id text, body text)",
    )
    .bind(super::commit::rows(drafts)?)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}

/// Longest delay between retries; delays start at one second and double.
const LONGEST_PAUSE: Duration = Duration::from_mins(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookMessage {
    pub id: i64,
    pub message_id: MessageId,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookOutcome {
    Delivered,
    /// Retried after a growing delay, or after a longer `wait` that the receiver requested.
    Failed {
        reason: String,
        wait: Option<Duration>,
    },
    /// The receiver rejects it for good.
    Unwanted {
        reason: String,
    },
}

/// A webhook and its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Webhook {
    pub name: String,
    /// Its events; empty if it is no longer configured.
    pub events: Vec<Event>,
    /// Waiting messages.
    pub pending: i64,
    /// Creation time of the oldest waiting message.
    pub oldest: Option<DateTime<Utc>>,
    /// Dead letters.
    pub dead: i64,
    /// Error of the last failed message.
    pub last_error: Option<String>,
}

impl Webhook {
    fn of(name: String, events: Vec<Event>, state: Option<WebhookState>) -> Self {
        let Some(WebhookState { pending, oldest, dead, last_error, .. }) = state else {
            return Self { name, events, pending: 0, oldest: None, dead: 0, last_error: None };
        };
        Self { name, events, pending, oldest, dead, last_error }
    }
}

/// Bounds a count that runs every few seconds: a receiver may be down for days.
const MOST_COUNTED: i64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, FromRow)]
pub struct WebhookTotals {
    pub pending: i64,
    /// Creation time of the oldest.
    pub oldest: Option<DateTime<Utc>>,
    /// Dead letters.
    pub dead: i64,
}

/// Messages of one webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, FromRow)]
pub struct WebhookState {
    /// The webhook's name; it may no longer be configured.
    pub webhook: String,
    pub pending: i64,
    /// Creation time of the oldest waiting message.
    pub oldest: Option<DateTime<Utc>>,
    /// Dead letters.
    pub dead: i64,
    /// Error of the last failed message that still exists.
    pub last_error: Option<String>,
}

/// A dead letter of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, FromRow)]
pub struct DeadWebhookMessage {
    /// Identifies it in requests.
    pub id: String,
    pub webhook: String,
    pub event: String,
    pub message_id: String,
    pub created_at: DateTime<Utc>,
    pub dead_at: DateTime<Utc>,
    pub attempts: i32,
    pub error: Option<String>,
    /// The message as it was sent.
    pub body: String,
}

#[derive(Debug, Clone, Copy)]
pub enum DeadWebhooks<'a> {
    All,
    Of(&'a str),
    Ids(&'a [i64]),
}

impl<'a> DeadWebhooks<'a> {
    const fn parameters(self) -> (Option<&'a str>, Option<&'a [i64]>) {
        match self {
            Self::All => (None, None),
            Self::Of(webhook) => (Some(webhook), None),
            Self::Ids(ids) => (None, Some(ids)),
        }
    }
}

/// Messages of one webhook, leased. Holds no connection; unsettled messages are free after the lease.
#[derive(Debug)]
pub struct WebhookBatch {
    store: Store,
    until: DateTime<Utc>,
    /// Oldest first.
    pub messages: Vec<WebhookMessage>,
}

impl WebhookBatch {
    /// Deletes delivered messages, delays failed ones, releases untried ones. Returns how many became dead letters,
    /// after failures for `give_up_after`. Repeatable after an error.
    pub async fn settle(
        &self,
        outcomes: &[(i64, WebhookOutcome)],
        give_up_after: Duration,
    ) -> Result<usize, StoreError> {
        let mut delivered = Vec::new();
        let (mut failed, mut reasons, mut waits, mut unwanted) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (id, outcome) in outcomes {
            let (reason, wait, is_unwanted) = match outcome {
                WebhookOutcome::Delivered => {
                    delivered.push(*id);
                    continue;
                }
                WebhookOutcome::Failed { reason, wait } => (reason, wait.unwrap_or_default(), false),
                WebhookOutcome::Unwanted { reason } => (reason, Duration::ZERO, true),
            };
            failed.push(*id);
            reasons.push(reason.as_str());
            waits.push(wait.as_secs_f64());
            unwanted.push(is_unwanted);
        }
        let dead: Vec<bool> = sqlx::query_scalar(
            "UPDATE webhook_messages SET attempts = attempts + 1, last_error = row.reason, locked_until = NULL,
                 dead_at = CASE WHEN row.unwanted OR now() - tried_since >= make_interval(secs => $6) THEN now() END,
                 next_try_at = now() + make_interval(secs => greatest(row.wait, least(power(2, least(attempts, 20)), $7)))
             FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::bool[]) AS row(failed, reason, wait, unwanted)
             WHERE id = row.failed AND locked_until = $5
             RETURNING dead_at IS NOT NULL",
        )
        .bind(&failed)
        .bind(reasons)
        .bind(waits)
        .bind(unwanted)
        .bind(self.until)
        .bind(give_up_after.as_secs_f64())
        .bind(LONGEST_PAUSE.as_secs_f64())
        .fetch_all(&self.store.pool)
        .await?;
        sqlx::query("DELETE FROM webhook_messages WHERE id = ANY($1)")
            .bind(&delivered)
            .execute(&self.store.pool)
            .await?;
        let is_untried = |id: &i64| !failed.contains(id) && !delivered.contains(id);
        let rest: Vec<i64> = self.messages.iter().map(|message| message.id).filter(is_untried).collect();
        if !rest.is_empty() {
            sqlx::query("UPDATE webhook_messages SET locked_until = NULL WHERE id = ANY($1) AND locked_until = $2")
                .bind(&rest)
                .bind(self.until)
                .execute(&self.store.pool)
                .await?;
        }
        Ok(dead.into_iter().filter(|dead| *dead).count())
    }
}

impl Store {
    /// Leases up to `limit` due messages of a webhook for `hold`.
    pub async fn take_webhook(
        &self,
        webhook: &str,
        limit: i64,
        hold: Duration,
    ) -> Result<Option<WebhookBatch>, StoreError> {
        let rows: Vec<(i64, String, String, DateTime<Utc>)> = sqlx::query_as(
            // A longer lease was made before the database's clock was set back.
            "UPDATE webhook_messages SET locked_until = now() + make_interval(secs => $3) WHERE id IN (
                 SELECT id FROM webhook_messages
                 WHERE webhook = $1 AND dead_at IS NULL AND (locked_until IS NULL OR locked_until < now()
                     OR locked_until > now() + 2 * make_interval(secs => $3))
                     AND coalesce(next_try_at, '-infinity'::timestamptz) <= now()
                 ORDER BY coalesce(next_try_at, '-infinity'::timestamptz), id LIMIT $2 FOR UPDATE SKIP LOCKED)
             RETURNING id, message_id, body, locked_until",
        )
        .bind(webhook)
        .bind(limit)
        .bind(hold.as_secs_f64())
        .fetch_all(&self.pool)
        .await?;
        let Some(until) = rows.first().map(|(.., until)| *until) else { return Ok(None) };
        let message = |(id, message_id, body, _): (i64, String, String, DateTime<Utc>)| WebhookMessage {
            id,
            message_id: MessageId::new(message_id),
            body,
        };
        let mut messages: Vec<WebhookMessage> = rows.into_iter().map(message).collect();
        // `RETURNING` keeps no order.
        messages.sort_by_key(|message| message.id);
        Ok(Some(WebhookBatch { store: self.clone(), until, messages }))
    }

    /// Returns totals of all webhooks; `pending` is at most [`MOST_COUNTED`].
    pub async fn webhook_totals(&self) -> Result<WebhookTotals, StoreError> {
        Ok(sqlx::query_as(
            "WITH waiting AS MATERIALIZED (
                 SELECT id, created_at FROM webhook_messages WHERE dead_at IS NULL ORDER BY id LIMIT $1)
             SELECT count(*) AS pending, min(created_at) AS oldest,
                 (SELECT count(*) FROM webhook_messages WHERE dead_at IS NOT NULL) AS dead FROM waiting",
        )
        .bind(MOST_COUNTED)
        .fetch_one(&self.pool)
        .await?)
    }

    pub async fn webhook_states(&self) -> Result<Vec<WebhookState>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT webhook, count(*) FILTER (WHERE dead_at IS NULL) AS pending,
                 min(created_at) FILTER (WHERE dead_at IS NULL) AS oldest, count(dead_at) AS dead,
                 (array_agg(last_error ORDER BY coalesce(dead_at, next_try_at) DESC)
                     FILTER (WHERE last_error IS NOT NULL))[1] AS last_error
             FROM webhook_messages GROUP BY webhook ORDER BY webhook",
        )
        .fetch_all(&self.pool)
        .await?)
    }

    /// Returns the configured webhooks, then others with messages.
    pub async fn webhooks(
        &self,
        configured: impl Iterator<Item = (String, Vec<Event>)>,
    ) -> Result<Vec<Webhook>, StoreError> {
        let mut states = self.webhook_states().await?;
        let mut found: Vec<Webhook> = Vec::new();
        for (name, events) in configured {
            let at = states.iter().position(|state| state.webhook == name);
            found.push(Webhook::of(name, events, at.map(|at| states.remove(at))));
        }
        found.extend(states.into_iter().map(|state| Webhook::of(state.webhook.clone(), Vec::new(), Some(state))));
        Ok(found)
    }

    /// Returns the oldest dead letters with the first `characters` of their bodies.
    pub async fn dead_webhook_messages(
        &self,
        limit: i64,
        characters: Option<i32>,
    ) -> Result<Vec<DeadWebhookMessage>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT id::text AS id, webhook, event, message_id, created_at, dead_at, attempts, last_error AS error, left(body, $2) AS body
             FROM webhook_messages WHERE dead_at IS NOT NULL ORDER BY webhook_messages.id LIMIT $1",
        )
        .bind(limit)
        .bind(characters.unwrap_or(i32::MAX))
        .fetch_all(&self.pool)
        .await?)
    }

    /// Retries dead letters as new messages. Returns their number.
    pub async fn retry_webhooks(&self, which: DeadWebhooks<'_>) -> Result<u64, StoreError> {
        let (webhook, ids) = which.parameters();
        let done = sqlx::query(
            "UPDATE webhook_messages SET dead_at = NULL, next_try_at = NULL, attempts = 0, tried_since = now()
             WHERE dead_at IS NOT NULL AND ($1::text IS NULL OR webhook = $1) AND ($2::bigint[] IS NULL OR id = ANY($2))",
        )
        .bind(webhook)
        .bind(ids)
        .execute(&self.pool)
        .await?;
        self.wake_webhooks.notify_waiters();
        Ok(done.rows_affected())
    }

    /// Deletes dead letters. Returns their number.
    pub async fn drop_webhooks(&self, which: DeadWebhooks<'_>) -> Result<u64, StoreError> {
        let (webhook, ids) = which.parameters();
        let done = sqlx::query(
            "DELETE FROM webhook_messages
             WHERE dead_at IS NOT NULL AND ($1::text IS NULL OR webhook = $1) AND ($2::bigint[] IS NULL OR id = ANY($2))",
        )
        .bind(webhook)
        .bind(ids)
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected())
    }
}

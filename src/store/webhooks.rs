//! Results and signals on their way to webhooks. Written in the item's transaction, deleted when the receiver took them,
//! kept for a person when it did not for long.

use std::time::Duration;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{PgConnection, Row as _};

use super::{Store, StoreError};
use crate::domain::{Event, MessageId};

/// A message for one webhook.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct WebhookDraft {
    /// The endpoint's name.
    pub webhook: String,
    pub event: Event,
    /// JSON text, signed and sent as it stands.
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

/// The longest pause between two tries of a message; the pauses begin at a second and double.
const LONGEST_PAUSE: Duration = Duration::from_mins(30);

/// A message as it is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookMessage {
    pub id: i64,
    pub message_id: MessageId,
    pub body: String,
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookOutcome {
    Delivered,
    /// Tried again after a growing pause, or after `wait` where the receiver asks for a longer one.
    Failed {
        reason: String,
        wait: Option<Duration>,
    },
    /// The receiver wants it no more: given up at once.
    Unwanted {
        reason: String,
    },
}

/// A webhook with what waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Webhook {
    pub name: String,
    /// The events that it wants; empty where the configuration names it no more.
    pub events: Vec<Event>,
    /// Messages that wait.
    pub pending: i64,
    /// Since when the oldest of them waits.
    pub oldest: Option<DateTime<Utc>>,
    /// Messages that were given up.
    pub dead: i64,
    /// Why the last message that failed was not taken.
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

/// Messages for webhooks that are counted: every process does so every few seconds, and one receiver may be away for days.
const MOST_COUNTED: i64 = 100_000;

/// What waits for all webhooks together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookTotals {
    pub pending: i64,
    /// Since when the oldest of them waits.
    pub oldest: Option<DateTime<Utc>>,
    /// Given up.
    pub dead: i64,
}

/// What waits for one webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookState {
    /// The endpoint's name; it may stand in the configuration no more.
    pub webhook: String,
    pub pending: i64,
    /// Since when the oldest of them waits.
    pub oldest: Option<DateTime<Utc>>,
    /// Given up.
    pub dead: i64,
    /// Of the last message that failed and still is here.
    pub last_error: Option<String>,
}

/// A message that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeadWebhookMessage {
    /// For naming it.
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

/// Messages that were given up, as they are named.
#[derive(Debug, Clone, Copy)]
pub enum DeadWebhooks<'a> {
    All,
    /// Of one webhook.
    Of(&'a str),
    Ids(&'a [i64]),
}

impl<'a> DeadWebhooks<'a> {
    /// The two parameters of a statement: the webhook or any, the ids or any.
    const fn parameters(self) -> (Option<&'a str>, Option<&'a [i64]>) {
        match self {
            Self::All => (None, None),
            Self::Of(webhook) => (Some(webhook), None),
            Self::Ids(ids) => (None, Some(ids)),
        }
    }
}

/// Messages of one webhook, claimed. As with the outbox, no connection is held while the receiver is waited for; what is
/// never settled is offered again when its claim has run out.
#[derive(Debug)]
pub struct WebhookBatch {
    store: Store,
    until: DateTime<Utc>,
    /// Oldest first.
    pub messages: Vec<WebhookMessage>,
}

impl WebhookBatch {
    /// Deletes what was delivered, puts off what failed, gives up what failed for longer than `give_up_after`, and frees
    /// what was not tried. Says how many were given up. May be called again after an error.
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
    /// Claims for `hold` up to `limit` messages of a webhook that are due and that no other process is sending.
    pub async fn take_webhook(
        &self,
        webhook: &str,
        limit: i64,
        hold: Duration,
    ) -> Result<Option<WebhookBatch>, StoreError> {
        // By the database's clock: processes share it, whatever their own say.
        let rows = sqlx::query(
            // As in the outbox, a claim that lasts longer than any was made before the server's clock was set back.
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
        let Some(first) = rows.first() else { return Ok(None) };
        let until = first.try_get("locked_until")?;
        let mut messages = Vec::with_capacity(rows.len());
        for row in rows {
            messages.push(WebhookMessage {
                id: row.try_get("id")?,
                message_id: MessageId::new(row.try_get::<String, _>("message_id")?),
                body: row.try_get("body")?,
            });
        }
        // RETURNING keeps no order.
        messages.sort_by_key(|message| message.id);
        Ok(Some(WebhookBatch { store: self.clone(), until, messages }))
    }

    /// What waits for all webhooks together, [`MOST_COUNTED`] at most, and what was given up.
    pub async fn webhook_totals(&self) -> Result<WebhookTotals, StoreError> {
        let (pending, oldest, dead) = sqlx::query_as(
            "WITH waiting AS MATERIALIZED (
                 SELECT id, created_at FROM webhook_messages WHERE dead_at IS NULL ORDER BY id LIMIT $1)
             SELECT count(*), min(created_at), (SELECT count(*) FROM webhook_messages WHERE dead_at IS NOT NULL) FROM waiting",
        )
        .bind(MOST_COUNTED)
        .fetch_one(&self.pool)
        .await?;
        Ok(WebhookTotals { pending, oldest, dead })
    }

    /// Every webhook for which something is stored, by name.
    pub async fn webhook_states(&self) -> Result<Vec<WebhookState>, StoreError> {
        let rows = sqlx::query(
            "SELECT webhook, count(*) FILTER (WHERE dead_at IS NULL) AS pending,
                 min(created_at) FILTER (WHERE dead_at IS NULL) AS oldest, count(dead_at) AS dead,
                 (array_agg(last_error ORDER BY coalesce(dead_at, next_try_at) DESC)
                     FILTER (WHERE last_error IS NOT NULL))[1] AS last_error
             FROM webhook_messages GROUP BY webhook ORDER BY webhook",
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(WebhookState {
                    webhook: row.try_get("webhook")?,
                    pending: row.try_get("pending")?,
                    oldest: row.try_get("oldest")?,
                    dead: row.try_get("dead")?,
                    last_error: row.try_get("last_error")?,
                })
            })
            .collect()
    }

    /// The configured webhooks, given with their events, and then those for which something is still stored.
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

    /// The oldest messages that were given up, with the first `characters` of their bodies.
    pub async fn dead_webhook_messages(
        &self,
        limit: i64,
        characters: Option<i32>,
    ) -> Result<Vec<DeadWebhookMessage>, StoreError> {
        let rows = sqlx::query(
            "SELECT id::text AS id, webhook, event, message_id, created_at, dead_at, attempts, last_error, left(body, $2) AS body
             FROM webhook_messages WHERE dead_at IS NOT NULL ORDER BY webhook_messages.id LIMIT $1",
        )
        .bind(limit)
        .bind(characters.unwrap_or(i32::MAX))
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(DeadWebhookMessage {
                    id: row.try_get("id")?,
                    webhook: row.try_get("webhook")?,
                    event: row.try_get("event")?,
                    message_id: row.try_get("message_id")?,
                    created_at: row.try_get("created_at")?,
                    dead_at: row.try_get("dead_at")?,
                    attempts: row.try_get("attempts")?,
                    error: row.try_get("last_error")?,
                    body: row.try_get("body")?,
                })
            })
            .collect()
    }

    /// Has given-up messages tried again, as if they were new. Says how many.
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

    /// Throws given-up messages away. Says how many.
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

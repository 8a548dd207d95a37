//! The queue that delivers items and takes results. The only module that uses AMQP.
//!
//! [`Queue`] has two implementations: [`AmqpQueue`] (RabbitMQ 3.10 or later) and the table queue of embedded mode in
//! `store`. This module moves bytes and settles deliveries. It never reads an item, never decides on a retry
//! (`worker::disposition` does) and never uses the database.
//!
//! A delivery is settled only after its result is committed. A crash therefore causes a second delivery, and the
//! consumer must accept duplicates.
//!
//! To add a queue: a variant of [`QueueName`], its name in [`AmqpNames`], its binding in `amqp::topology`, its phase in
//! `worker`. To add a broker: implement [`Queue`] and run the tests of `tests/it/broker.rs` with it.

use std::fmt;
use std::fmt::Debug;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;

use crate::domain::MessageId;

mod amqp;
mod observer;

pub use amqp::{AmqpNames, AmqpQueue, AmqpReceipt, AmqpSettings, Clocks};
pub use observer::{NoObserver, Observer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueueName {
    /// Like [`Self::Enrichment`], but taken before all other queues and never shed.
    Important,
    /// Items for Phase 1 and Phase 2.
    Enrichment,
    /// Items for Phase 1 only.
    Factcheck,
}

impl QueueName {
    pub const ALL: [Self; 3] = [Self::Important, Self::Enrichment, Self::Factcheck];

    /// Returns the metric label. The queue's name at the broker is configurable and may differ.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Important => "enrichment_important",
            Self::Enrichment => "enrichment_queue",
            Self::Factcheck => "factcheck",
        }
    }

    pub fn parse(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == label)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

pub struct Delivery {
    pub queue: QueueName,
    /// The message as upstream sent it, unchecked.
    pub body: Vec<u8>,
    /// Number of failed attempts, 0 at first. Deferrals and crashes do not count.
    pub attempts: u32,
    /// The queue delivered the message before: a crash, a lost connection or a return.
    pub redelivered: bool,
    pub message_id: Option<String>,
    /// Queue that also gets the result.
    pub reply_to: Option<String>,
    /// `reply_to` was removed because it names a queue that is not allowed.
    pub reply_refused: bool,
    pub correlation_id: Option<String>,
    /// Upstream's `traceparent` header (W3C Trace Context), unchecked.
    pub traceparent: Option<String>,
    /// When it could first be delivered: its send time, or the due time of its retry. `None`: unknown, as is the lag.
    pub enqueued_at: Option<DateTime<Utc>>,
    /// Send time, or the time of first receipt if upstream gives none. A deferral does not change it.
    pub sent_at: Option<DateTime<Utc>>,
    pub receipt: Receipt,
}

#[derive(Debug)]
pub enum Receipt {
    Amqp(Box<AmqpReceipt>),
    /// Row id in the table queue.
    Table(i64),
}

impl Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The body is upstream's text and must not be logged.
        f.debug_struct("Delivery")
            .field("queue", &self.queue)
            .field("bytes", &self.body.len())
            .field("attempts", &self.attempts)
            .field("redelivered", &self.redelivered)
            .field("message_id", &self.message_id)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Processed; remove it.
    Ack,
    /// Deliver again after the delay and count one attempt.
    Retry {
        /// A word from a closed set.
        error_label: &'static str,
        /// Readable text.
        error: String,
        /// Minimum; a broker with fixed delays uses its next longer one.
        delay: Duration,
    },
    /// Deliver again after the delay without counting an attempt.
    Defer { delay: Duration },
    /// Cannot succeed, or failed too often: keep it as a dead letter.
    Dead { label: String, error: String, body: DeadBody },
    /// Return it unchanged, for immediate delivery to any consumer.
    Requeue,
}

/// The trace line of a result whose answer was not sent to the `reply_to` queue.
pub const REPLY_REFUSED: &str =
    "reply not sent because reply_to names a queue that amqp.reply_to_prefixes does not allow";

/// Bytes of a dead letter in lists, and of an oversized message that is kept.
pub const EXCERPT_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadBody {
    Whole,
    /// The first [`EXCERPT_BYTES`]. Such a dead letter cannot be requeued.
    Excerpt,
}

impl DeadBody {
    pub fn of(self, body: &[u8]) -> &[u8] {
        match self {
            Self::Whole => body,
            Self::Excerpt => excerpt(body),
        }
    }
}

pub fn excerpt(body: &[u8]) -> &[u8] {
    body.get(..EXCERPT_BYTES).unwrap_or(body)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxMessage {
    pub id: i64,
    /// `None`: the default exchange, which routes to the queue named by the routing key (`reply_to`).
    pub exchange: Option<String>,
    pub routing_key: String,
    pub body: Vec<u8>,
    pub correlation_id: Option<String>,
    pub message_id: MessageId,
}

/// Outcomes of sending results. Send those in neither list again: their state is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishReport {
    pub confirmed: Vec<i64>,
    /// With the broker's reason. The broker is up and takes others; a later attempt may succeed.
    pub refused: Vec<(i64, String)>,
}

/// Messages that wait for delivery, without those in work or waiting for a retry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueDepth {
    pub important: u64,
    pub enrichment: u64,
    pub factcheck: u64,
    pub dead: u64,
    /// Since when the oldest message waits. `None` if the queue does not report it (AMQP) or nothing waits.
    pub oldest: Option<DateTime<Utc>>,
}

impl QueueDepth {
    pub const fn of(&self, queue: QueueName) -> u64 {
        match queue {
            QueueName::Important => self.important,
            QueueName::Enrichment => self.enrichment,
            QueueName::Factcheck => self.factcheck,
        }
    }
}

/// The reason of messages that the broker itself made dead letters.
pub const DELIVERY_LIMIT: &str = "delivery_limit";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Identifies it in `dead show|requeue|drop`, and never changes. Two fully equal dead letters share it.
    pub id: String,
    /// The queue that it came from; `None` if unknown.
    pub origin: Option<QueueName>,
    /// A word from a closed set; `None` if the broker itself dead-lettered it (delivery limit).
    pub label: Option<String>,
    pub error: Option<String>,
    pub attempts: Option<u32>,
    pub failed_at: Option<DateTime<Utc>>,
    pub message_id: Option<String>,
    /// The first [`EXCERPT_BYTES`] of the original message.
    pub excerpt: Vec<u8>,
    pub bytes: usize,
    /// The rest was not kept ([`DeadBody::Excerpt`]).
    pub is_cut: bool,
}

impl DeadLetter {
    /// Returns the reason as a word: [`DELIVERY_LIMIT`] if the broker itself dead-lettered it.
    pub fn reason(&self) -> &str {
        self.label.as_deref().unwrap_or(DELIVERY_LIMIT)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDeadLetter {
    pub letter: DeadLetter,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub enum DeadSelection<'a> {
    All,
    Ids(&'a [String]),
    Reason(&'a str),
}

impl DeadSelection<'_> {
    pub fn holds(&self, letter: &DeadLetter) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&letter.id),
            Self::Reason(reason) => letter.reason() == *reason,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The broker refuses the operation. An operator has to change something.
    #[error("the broker at {address} refused {what}: {detail}; {fix}")]
    Refused { address: String, what: String, detail: String, fix: String },
    #[error("{key}: {detail}")]
    BadSettings { key: &'static str, detail: String },
    #[error("the broker at {address} cannot be reached: {detail}; start it, or correct AMQP_URL")]
    Unreachable { address: String, detail: String },
    /// The connection is lost and is being opened again.
    #[error("the broker is unavailable ({detail}); reconnecting")]
    Away { detail: String },
    /// A message was sent, but the broker did not confirm it.
    #[error("a message to {target} was not confirmed: {detail}")]
    NotConfirmed { target: String, detail: String },
    #[error("{action} failed: {detail}")]
    Failed { action: &'static str, detail: String },
    /// `stop_receiving` was called, or the queue is closed.
    #[error("the queue is closed")]
    Closed,
}

impl QueueError {
    /// Returns a word from a closed set, for logs and metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::BadSettings { .. } => "bad_settings",
            Self::Unreachable { .. } => "unreachable",
            Self::Away { .. } => "away",
            Self::NotConfirmed { .. } => "not_confirmed",
            Self::Failed { .. } => "failed",
            Self::Closed => "closed",
        }
    }

    /// Returns true if a later attempt may succeed.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Away { .. } | Self::NotConfirmed { .. } | Self::Failed { .. } => true,
            Self::Refused { .. } | Self::BadSettings { .. } | Self::Closed => false,
        }
    }
}

/// A queue that delivers items and takes results.
///
/// Every future may be dropped at any await without losing a message; at worst the message is delivered twice.
pub trait Queue: Send + Sync + Debug {
    /// Waits for the next delivery and reconnects by itself. `Err` only if there will never be another one (`Closed`).
    fn receive(&self) -> BoxFuture<'_, Result<Delivery, QueueError>>;

    /// Settles a delivery. Does nothing if its connection is lost, because the broker delivers it again. After `Err`
    /// the delivery is still unsettled.
    fn settle<'a>(&'a self, delivery: &'a Delivery, how: Settlement) -> BoxFuture<'a, Result<(), QueueError>>;

    /// Publishes messages to a queue. `Ok`: all are stored there. `Err`: some may be.
    fn publish_items<'a>(&'a self, queue: QueueName, items: &'a [Vec<u8>]) -> BoxFuture<'a, Result<(), QueueError>>;

    /// Sends results and returns their outcomes by `OutboxMessage::id`. `Err` if no outcome is known.
    fn publish_results<'a>(&'a self, messages: &'a [OutboxMessage])
    -> BoxFuture<'a, Result<PublishReport, QueueError>>;

    /// Pauses or resumes receiving. Prefetched deliveries return without counting as attempts; settling and publishing
    /// go on.
    fn pause_receiving(&self, _paused: bool) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn depth(&self) -> BoxFuture<'_, Result<QueueDepth, QueueError>>;

    /// Returns an error with the cause if items cannot be taken now, for `/readyz`.
    fn ready(&self) -> Result<(), String>;

    /// Returns at most `limit` of the oldest dead letters, without removing them.
    fn dead_list(&self, limit: usize) -> BoxFuture<'_, Result<Vec<DeadLetter>, QueueError>>;

    fn dead_get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<OpenDeadLetter>, QueueError>>;

    /// Returns dead letters to their queue without attempts; returns their number. Skips those of unknown origin, those
    /// with only an excerpt, and duplicates of fully equal ones. Holds only a few bodies in memory.
    fn dead_requeue<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>>;

    fn dead_drop<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>>;

    /// Stops receiving for good: `receive` returns `Closed`, prefetched messages return. Settling and publishing go on.
    fn stop_receiving(&self);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_leads_back_to_its_queue() {
        for name in QueueName::ALL {
            assert_eq!(QueueName::parse(name.as_str()), Some(name));
        }
        assert_eq!(QueueName::parse("other"), None);
    }

    #[test]
    fn a_delivery_never_shows_its_body() {
        let delivery = Delivery {
            queue: QueueName::Factcheck,
            body: b"private words".to_vec(),
            attempts: 0,
            redelivered: false,
            message_id: None,
            reply_to: None,
            reply_refused: false,
            correlation_id: None,
            traceparent: None,
            enqueued_at: None,
            sent_at: None,
            receipt: Receipt::Table(1),
        };
        let shown = format!("{delivery:?}");
        assert!(shown.contains("bytes: 13"), "{shown}");
        assert!(!shown.contains("private") && !shown.contains("112"), "{shown}");
    }
}

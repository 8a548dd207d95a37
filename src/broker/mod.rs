//! The queue: where items come from and where results go. The only AMQP.
//!
//! [`Queue`] is the seam between two implementations: [`AmqpQueue`] here (`RabbitMQ` 3.10 or later), and the table queue of
//! embedded mode in `store`. This room moves bytes and settles deliveries; it never reads an item, never decides whether
//! something is retried (that is `worker::disposition`) and never touches the database.
//!
//! A delivery is settled only after what came of it is committed, so a crash at any moment delivers it again: whoever
//! processes deliveries must bear doubles.
//!
//! To add a queue: a value of [`QueueName`], its name in [`AmqpNames`], its binding in `amqp::topology`, its phase in
//! `worker`. To add another broker: implement [`Queue`] and run the promises of `tests/it/broker.rs` against it.

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

/// The queues that are consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueueName {
    /// The same work as [`Self::Enrichment`], taken before everything else and never shed.
    Important,
    /// Items for Phase 1 and Phase 2.
    Enrichment,
    /// Items for Phase 1 only.
    Factcheck,
}

impl QueueName {
    /// All, in declaration order.
    pub const ALL: [Self; 3] = [Self::Important, Self::Enrichment, Self::Factcheck];

    /// The metric label. The broker's own name of the queue is configurable and may differ.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Important => "enrichment_important",
            Self::Enrichment => "enrichment_queue",
            Self::Factcheck => "factcheck",
        }
    }

    /// The queue of that label; `None` for any other text.
    pub fn parse(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == label)
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One message, as it was taken from a queue and not yet settled.
pub struct Delivery {
    pub queue: QueueName,
    /// The message as upstream sent it; nothing has been checked.
    pub body: Vec<u8>,
    /// How often it was tried before and failed; 0 the first time. Deferrals and crashes do not count.
    pub attempts: u32,
    /// The queue has handed it out before: a crash, a lost connection or a hand-back.
    pub redelivered: bool,
    pub message_id: Option<String>,
    /// Where a result is wanted besides the results exchange.
    pub reply_to: Option<String>,
    /// The message names a queue that may get no answer, so `reply_to` is left out.
    pub reply_refused: bool,
    pub correlation_id: Option<String>,
    /// Upstream's trace, as its header says it (W3C Trace Context); nothing has been checked.
    pub traceparent: Option<String>,
    /// Since when it could have been delivered: when upstream says it sent it, or when its retry fell due. `None` when
    /// upstream gives no time, which makes the lag unknown.
    pub enqueued_at: Option<DateTime<Utc>>,
    /// When it was sent, or first seen where upstream gives no time. Putting it off does not change it.
    pub sent_at: Option<DateTime<Utc>>,
    pub receipt: Receipt,
}

/// What the queue needs to settle a delivery again.
#[derive(Debug)]
pub enum Receipt {
    Amqp(Box<AmqpReceipt>),
    /// The row's id in the table queue.
    Table(i64),
}

impl Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The body is upstream's text and has no place in a log.
        f.debug_struct("Delivery")
            .field("queue", &self.queue)
            .field("bytes", &self.body.len())
            .field("attempts", &self.attempts)
            .field("redelivered", &self.redelivered)
            .field("message_id", &self.message_id)
            .finish_non_exhaustive()
    }
}

/// How a delivery ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settle {
    /// Done; forget it.
    Ack,
    /// Failed for now: deliver it again after the delay, with one attempt more.
    Retry {
        /// A word from a closed set.
        error_label: &'static str,
        /// For a person.
        error: String,
        /// At least this long; a broker with fixed delays takes its next longer one.
        delay: Duration,
    },
    /// Not now: deliver it again after the delay. No attempt is counted.
    Defer { delay: Duration },
    /// It can never succeed, or has failed too often: keep it for a person, with the reason.
    Dead { label: String, error: String, body: DeadBody },
    /// Hand it back as it is, to be delivered again at once, to anybody.
    Requeue,
}

/// The line of a result's trace that says why no answer was sent to the queue that `reply_to` names.
pub const REPLY_REFUSED: &str =
    "reply not sent because reply_to names a queue that amqp.reply_to_prefixes does not allow";

/// Bytes that a list shows of a dead letter, and that are kept of a message which is refused for its size.
pub const EXCERPT_BYTES: usize = 16 * 1024;

/// How much of a message a dead letter keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadBody {
    Whole,
    /// The first [`EXCERPT_BYTES`]. Such a letter cannot be requeued.
    Excerpt,
}

impl DeadBody {
    /// What is kept of a message.
    pub fn of(self, body: &[u8]) -> &[u8] {
        match self {
            Self::Whole => body,
            Self::Excerpt => excerpt(body),
        }
    }
}

/// The first [`EXCERPT_BYTES`] of a message.
pub fn excerpt(body: &[u8]) -> &[u8] {
    body.get(..EXCERPT_BYTES).unwrap_or(body)
}

/// A result on its way out, as the outbox holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxMessage {
    /// The outbox row.
    pub id: i64,
    /// `None`: the default exchange, which delivers to the queue named by the routing key (`reply_to`).
    pub exchange: Option<String>,
    pub routing_key: String,
    /// JSON.
    pub body: Vec<u8>,
    pub correlation_id: Option<String>,
    pub message_id: MessageId,
}

/// What became of results that were sent. Those in neither list are to be sent again: nothing is known of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Published {
    /// Safe at the broker.
    pub confirmed: Vec<i64>,
    /// Refused, each with the broker's reason. The broker is there and takes others; these it may take another time.
    pub refused: Vec<(i64, String)>,
}

/// Messages that wait to be delivered. Those being worked on, and those waiting for a retry, are not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueDepth {
    pub important: u64,
    pub enrichment: u64,
    pub factcheck: u64,
    /// Dead letters.
    pub dead: u64,
    /// Since when the oldest message of all queues waits. `None` where the queue cannot tell (AMQP), or nothing waits.
    pub oldest: Option<DateTime<Utc>>,
}

impl QueueDepth {
    /// The messages that wait in one of the consumed queues.
    pub const fn of(&self, queue: QueueName) -> u64 {
        match queue {
            QueueName::Important => self.important,
            QueueName::Enrichment => self.enrichment,
            QueueName::Factcheck => self.factcheck,
        }
    }
}

/// The label of letters that the broker gave up by itself.
pub const DELIVERY_LIMIT: &str = "delivery_limit";

/// A message that was given up, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Names it in `dead show|requeue|drop`; stays the same while it lies there. Two wholly equal letters share it.
    pub id: String,
    /// The queue it came from; `None` when nothing tells.
    pub origin: Option<QueueName>,
    /// The reason as a word from a closed set; `None` for a letter the broker itself gave up (delivery limit).
    pub label: Option<String>,
    /// The reason for a person.
    pub error: Option<String>,
    pub attempts: Option<u32>,
    pub failed_at: Option<DateTime<Utc>>,
    pub message_id: Option<String>,
    /// The first [`EXCERPT_BYTES`] of the message as upstream sent it.
    pub excerpt: Vec<u8>,
    /// Length of the message as upstream sent it.
    pub bytes: usize,
    /// The rest of the message was not kept ([`DeadBody::Excerpt`]).
    pub is_cut: bool,
}

impl DeadLetter {
    /// The reason as a word, [`DELIVERY_LIMIT`] for a letter that the broker gave up.
    pub fn reason(&self) -> &str {
        self.label.as_deref().unwrap_or(DELIVERY_LIMIT)
    }
}

/// A dead letter with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDeadLetter {
    pub letter: DeadLetter,
    /// What is kept of the message.
    pub body: Vec<u8>,
}

/// Which dead letters an operation is about.
#[derive(Debug, Clone, Copy)]
pub enum DeadSelection<'a> {
    All,
    Ids(&'a [String]),
    /// Those of one [`DeadLetter::reason`].
    Reason(&'a str),
}

impl DeadSelection<'_> {
    /// Whether that letter is selected.
    pub fn holds(&self, letter: &DeadLetter) -> bool {
        match self {
            Self::All => true,
            Self::Ids(ids) => ids.contains(&letter.id),
            Self::Reason(reason) => letter.reason() == *reason,
        }
    }
}

/// What a queue could not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The broker is there and says no. Trying again does not help; somebody has to change something.
    #[error("the broker at {address} refused {what}: {detail}; {mend}")]
    Refused { address: String, what: String, detail: String, mend: String },
    /// The settings make no sense.
    #[error("{key}: {detail}")]
    BadSettings { key: &'static str, detail: String },
    /// Nobody answered.
    #[error("the broker at {address} cannot be reached: {detail}; start it, or correct AMQP_URL")]
    Unreachable { address: String, detail: String },
    /// There is no connection at the moment; it is being rebuilt.
    #[error("the broker is away ({detail}); reconnecting")]
    Away { detail: String },
    /// A message was sent and the broker did not say that it has it.
    #[error("a message to {target} was not confirmed: {detail}")]
    NotConfirmed { target: String, detail: String },
    /// Anything else, in the words of the queue.
    #[error("{action} failed: {detail}")]
    Failed { action: &'static str, detail: String },
    /// `stop_receiving` was called, or the queue is closed.
    #[error("the queue is closed")]
    Closed,
}

impl QueueError {
    /// A word from a closed set, for logs and metrics.
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

    /// Whether waiting can mend it.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Away { .. } | Self::NotConfirmed { .. } | Self::Failed { .. } => true,
            Self::Refused { .. } | Self::BadSettings { .. } | Self::Closed => false,
        }
    }
}

/// A place that items are taken from and results are given to.
///
/// Every future may be dropped at any await without losing a message: at worst it is delivered twice.
pub trait Queue: Send + Sync + Debug {
    /// The next delivery of any queue; waits for one, and reconnects by itself meanwhile. `Err` only when there will
    /// never be another one (`Closed`).
    fn receive(&self) -> BoxFuture<'_, Result<Delivery, QueueError>>;

    /// Ends a delivery. A delivery whose connection is gone is dropped silently: the broker hands it out again. On `Err`
    /// it is still unsettled, and may be settled in another way.
    fn settle<'a>(&'a self, delivery: &'a Delivery, how: Settle) -> BoxFuture<'a, Result<(), QueueError>>;

    /// Puts messages into a queue; `Ok` when all of them are safe there. After `Err` some of them may be.
    fn publish_items<'a>(&'a self, queue: QueueName, items: &'a [Vec<u8>]) -> BoxFuture<'a, Result<(), QueueError>>;

    /// Sends results out and says what became of them, by `OutboxMessage::id`. `Err` when nothing is known of any.
    fn publish_results<'a>(&'a self, messages: &'a [OutboxMessage]) -> BoxFuture<'a, Result<Published, QueueError>>;

    /// Takes no more deliveries for now, or takes them again. Where deliveries are fetched ahead, those that were not handed
    /// out go back, and nothing counts against them. `receive` waits meanwhile; settling and publishing go on.
    fn pause_receiving(&self, _paused: bool) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    /// How much is waiting.
    fn depth(&self) -> BoxFuture<'_, Result<QueueDepth, QueueError>>;

    /// Why items cannot be taken at the moment, for `/readyz`.
    fn ready(&self) -> Result<(), String>;

    /// The oldest dead letters, at most `limit` of them, without taking them away.
    fn dead_list(&self, limit: usize) -> BoxFuture<'_, Result<Vec<DeadLetter>, QueueError>>;

    /// One dead letter; `None` when it is not there.
    fn dead_get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<OpenDeadLetter>, QueueError>>;

    /// Gives dead letters back to the queue they came from, with no attempts counted. Those of unknown origin stay,
    /// those of which an excerpt is kept, and of wholly equal messages all but one. Returns how many went. At no time are
    /// more than a few bodies in memory.
    fn dead_requeue<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>>;

    /// Throws dead letters away. Returns how many.
    fn dead_drop<'a>(&'a self, which: DeadSelection<'a>) -> BoxFuture<'a, Result<usize, QueueError>>;

    /// Takes no more deliveries: `receive` returns `Closed` from now on, what was fetched and not handed out goes back.
    /// Settling and publishing go on.
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

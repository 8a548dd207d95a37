//! What the broker and the worker tell whoever counts.

use std::fmt::Debug;
use std::time::Duration;

use super::{QueueDepth, QueueName};

/// Hears of what happens to deliveries. Every method does nothing unless it is overridden. Implementations must be quick:
/// they are called from the hot path.
pub trait Observer: Send + Sync + Debug {
    /// The age of the oldest message that waits or is worked on, looked at now and then.
    fn lag(&self, _lag: Duration) {}

    /// Work is paused, because the store is away, or goes on.
    fn paused(&self, _paused: bool) {}

    /// Intake is paused, because recent items failed with one error, or goes on.
    fn braked(&self, _braked: bool) {}

    /// A message named a queue in `reply_to` that may get no answer.
    fn reply_refused(&self) {}

    /// How many items are being worked on now.
    fn in_flight(&self, _items: usize) {}

    /// An item was worked on for this long and ended so (`worker::Outcome::label`).
    fn finished(&self, _queue: QueueName, _outcome: &'static str, _duration: Duration) {}

    /// A delivery goes back for another try.
    fn retried(&self, _reason: &'static str) {}

    /// A delivery was given up.
    fn dead(&self, _reason: &'static str) {}

    /// A delivery was put off or dropped for overload, or is done with Phase 1 only.
    fn shed(&self, _how: &'static str) {}

    /// What waits in the queues.
    fn depth(&self, _depth: QueueDepth) {}

    /// A lost connection to the broker is up again.
    fn reconnected(&self) {}
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

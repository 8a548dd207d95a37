//! The interface through which broker and worker report events to metrics.
//!
//! To add an event, add a method with an empty body.

use std::fmt::Debug;
use std::time::Duration;

use super::{QueueDepth, QueueName};

/// Methods do nothing by default. Implementations must be fast: they run in the hot path.
pub trait Observer: Send + Sync + Debug {
    /// Age of the oldest message that waits or is in work; sampled.
    fn lag(&self, _lag: Duration) {}

    /// Work pauses because the store is unavailable, or resumes.
    fn paused(&self, _paused: bool) {}

    /// Intake pauses because recent items failed with one error, or resumes.
    fn braked(&self, _braked: bool) {}

    fn reply_refused(&self) {}

    fn in_flight(&self, _items: usize) {}

    /// An item ended with this outcome (`worker::Outcome::label`).
    fn finished(&self, _queue: QueueName, _outcome: &'static str, _duration: Duration) {}

    fn retried(&self, _reason: &'static str) {}

    fn dead(&self, _reason: &'static str) {}

    /// A delivery was deferred or dropped because of overload, or got Phase 1 only.
    fn shed(&self, _how: &'static str) {}

    fn depth(&self, _depth: QueueDepth) {}

    fn reconnected(&self) {}
}

#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

//! How much may still be shed, by all processes together: each of them sees the whole excess of the queues they share.

use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::broker::QueueName;

/// What may be shed. `Err` says in words why it is not known.
pub trait Allowance: Send + Sync + Debug {
    /// How many items of a queue were shed so far. Asked before the queue is counted.
    fn shed(&self, queue: QueueName) -> BoxFuture<'_, Result<u64, String>>;

    /// The queue was counted, and so many are too many; `shed_before` were shed before the count. What was shed since is
    /// taken off. Nothing changes where a count of another process is younger than `every`: what it shed is still in hand,
    /// and would be shed a second time.
    fn allow(
        &self,
        queue: QueueName,
        excess: u64,
        shed_before: u64,
        every: Duration,
    ) -> BoxFuture<'_, Result<(), String>>;

    /// Takes the permit to shed one item; returns false when none is left.
    fn take(&self, queue: QueueName) -> BoxFuture<'_, Result<bool, String>>;
}

#[derive(Debug, Default, Clone, Copy)]
struct Shedding {
    allowed: u64,
    shed: u64,
}

/// The allowance of a process that has the queue to itself.
#[derive(Debug, Default)]
pub struct OwnAllowance {
    important: Mutex<Shedding>,
    enrichment: Mutex<Shedding>,
    factcheck: Mutex<Shedding>,
}

impl OwnAllowance {
    fn of(&self, queue: QueueName) -> MutexGuard<'_, Shedding> {
        let shedding = match queue {
            QueueName::Important => &self.important,
            QueueName::Enrichment => &self.enrichment,
            QueueName::Factcheck => &self.factcheck,
        };
        // Two numbers are whole after every statement.
        shedding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allowance for OwnAllowance {
    fn shed(&self, queue: QueueName) -> BoxFuture<'_, Result<u64, String>> {
        let shed = self.of(queue).shed;
        async move { Ok(shed) }.boxed()
    }

    fn allow(
        &self,
        queue: QueueName,
        excess: u64,
        shed_before: u64,
        _every: Duration,
    ) -> BoxFuture<'_, Result<(), String>> {
        let mut shedding = self.of(queue);
        shedding.allowed = excess.saturating_sub(shedding.shed.saturating_sub(shed_before));
        async { Ok(()) }.boxed()
    }

    fn take(&self, queue: QueueName) -> BoxFuture<'_, Result<bool, String>> {
        let mut shedding = self.of(queue);
        let taken = shedding.allowed > 0;
        if taken {
            shedding.allowed -= 1;
            shedding.shed += 1;
        }
        async move { Ok(taken) }.boxed()
    }
}

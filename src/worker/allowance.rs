//! The number of items that may still be shed. All processes share it, because each of them counts the whole excess of
//! the shared queues.

use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::broker::QueueName;

/// An `Err` holds the reason as text.
pub trait Allowance: Send + Sync + Debug {
    /// Returns the number of shed items of a queue. Call it before the queue is counted.
    fn shed(&self, queue: QueueName) -> BoxFuture<'_, Result<u64, String>>;

    /// Sets the allowance to `excess`, less the items shed since `shed_before`. Nothing changes if another process
    /// counted less than `every` ago, because its items would be shed twice.
    fn allow(
        &self,
        queue: QueueName,
        excess: u64,
        shed_before: u64,
        every: Duration,
    ) -> BoxFuture<'_, Result<(), String>>;

    /// Takes the permit to shed one item; returns false if none is left.
    fn take(&self, queue: QueueName) -> BoxFuture<'_, Result<bool, String>>;
}

#[derive(Debug, Default, Clone, Copy)]
struct Shedding {
    allowed: u64,
    shed: u64,
}

/// The allowance of a process that is alone at its queues.
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
        // Poisoning is harmless, because both numbers are consistent after every statement.
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

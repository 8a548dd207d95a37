//! Limits concurrent calls, because a small server handles one or two.
//!
//! Waiting calls are ordered by priority, then by arrival.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Highest priority first, then arrival.
type Rank = (Reverse<u8>, u64);

#[derive(Debug, Default)]
struct Queue {
    free: usize,
    arrivals: u64,
    waiting: BTreeSet<Rank>,
}

/// A fixed number of concurrent calls, with a queue.
#[derive(Debug)]
pub(super) struct CallSlots {
    queue: Mutex<Queue>,
    changed: Notify,
}

/// A caller that waits for a slot or has one. Dropping it leaves the queue or frees the slot.
#[derive(Debug)]
pub(super) struct CallSlot<'a> {
    slots: &'a CallSlots,
    rank: Rank,
}

impl CallSlots {
    pub(super) fn new(slots: usize) -> Self {
        let queue = Queue { free: slots.max(1), ..Queue::default() };
        Self { queue: Mutex::new(queue), changed: Notify::new() }
    }

    /// Waits for a slot; `None` if `until` passes first.
    pub(super) async fn take(&self, priority: u8, until: Instant) -> Option<CallSlot<'_>> {
        let caller = {
            let mut queue = self.lock();
            queue.arrivals += 1;
            let rank = (Reverse(priority), queue.arrivals);
            queue.waiting.insert(rank);
            CallSlot { slots: self, rank }
        };
        loop {
            // Created before the look at the queue, so that no change is missed.
            let changed = self.changed.notified();
            {
                let mut queue = self.lock();
                if queue.free > 0 && queue.waiting.first() == Some(&caller.rank) {
                    queue.free -= 1;
                    queue.waiting.remove(&caller.rank);
                    break;
                }
            }
            timeout_at(until, changed).await.ok()?;
        }
        // Another slot may be free for the next caller.
        self.changed.notify_waiters();
        Some(caller)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No change can be interrupted by a panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        let mut queue = self.slots.lock();
        let was_waiting = queue.waiting.remove(&self.rank);
        if !was_waiting {
            queue.free += 1;
        }
        drop(queue);
        self.slots.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;
    use tokio::time::sleep;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[tokio::test]
    async fn the_highest_priority_goes_first_then_who_came_first() {
        let slots = CallSlots::new(1);
        let held = slots.take(0, later()).await.unwrap();
        let order = Mutex::new(Vec::new());
        let wait = async |name: &'static str, priority| {
            let slot = slots.take(priority, later()).await.unwrap();
            order.lock().unwrap().push(name);
            sleep(Duration::from_millis(10)).await;
            drop(slot);
        };
        let all = futures::future::join_all([wait("late", 3), wait("first", 10), wait("second", 10), wait("mid", 6)]);
        let release = async {
            sleep(Duration::from_millis(50)).await;
            drop(held);
        };
        futures::future::join(all, release).await;
        assert_eq!(*order.lock().unwrap(), ["first", "second", "mid", "late"]);
        assert_eq!(slots.lock().free, 1);
    }

    #[tokio::test]
    async fn caller_takes_no_slot_when_it_times_out_or_leaves() {
        let slots = CallSlots::new(2);
        let held = [slots.take(1, later()).await.unwrap(), slots.take(1, later()).await.unwrap()];
        let began = Instant::now();
        assert!(slots.take(9, began + Duration::from_millis(100)).await.is_none());
        assert!(began.elapsed() >= Duration::from_millis(100) && began.elapsed() < Duration::from_secs(5));
        let mut gone = Box::pin(slots.take(9, later()));
        assert!(gone.as_mut().now_or_never().is_none());
        assert_eq!(slots.lock().waiting.len(), 1);
        drop(gone);
        assert!(slots.lock().waiting.is_empty());
        drop(held);
        assert_eq!(slots.lock().free, 2);
    }
}

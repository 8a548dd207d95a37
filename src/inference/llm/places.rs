//! Limits concurrent calls, because a small server handles one or two.
//!
//! Waiting calls are ordered by priority, then by arrival.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// Highest priority first, then arrival.
type Rank = (Reverse<u8>, u64);

#[derive(Debug, Default)]
struct Queue {
    free: usize,
    came: u64,
    waiting: BTreeMap<Rank, oneshot::Sender<CallSlot>>,
}

/// A fixed number of concurrent calls, with a queue.
#[derive(Debug, Clone)]
pub(super) struct CallSlots(Arc<Mutex<Queue>>);

/// When dropped, it goes to the next caller.
#[derive(Debug)]
pub(super) struct CallSlot(Option<CallSlots>);

/// A waiting caller. Dropping it leaves the queue.
struct Waiter<'a> {
    slots: &'a CallSlots,
    rank: Rank,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.slots.lock().waiting.remove(&self.rank);
    }
}

impl CallSlots {
    pub(super) fn new(slots: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue { free: slots.max(1), ..Queue::default() })))
    }

    /// Waits for a slot; `None` if `until` passes first.
    pub(super) async fn take(&self, priority: u8, until: Instant) -> Option<CallSlot> {
        let (_waiting, given) = {
            let mut queue = self.lock();
            if queue.free > 0 {
                queue.free -= 1;
                return Some(CallSlot(Some(self.clone())));
            }
            queue.came += 1;
            let rank = (Reverse(priority), queue.came);
            let (give, given) = oneshot::channel();
            queue.waiting.insert(rank, give);
            (Waiter { slots: self, rank }, given)
        };
        // On cancellation, the slot is dropped with the channel and goes to the next.
        timeout_at(until, given).await.ok()?.ok()
    }

    fn give_on(&self) {
        loop {
            let next = {
                let mut queue = self.lock();
                let next = queue.waiting.pop_first();
                if next.is_none() {
                    queue.free += 1;
                }
                next
            };
            let Some((_, give)) = next else { return };
            match give.send(CallSlot(Some(self.clone()))) {
                Ok(()) => return,
                // Cancelled. The slot is emptied, because its drop would recurse.
                Err(mut slot) => slot.0 = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No change can be interrupted by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.give_on();
        }
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
        let order = Arc::new(Mutex::new(Vec::new()));
        let wait = |name: &'static str, priority| {
            let (slots, order) = (slots.clone(), Arc::clone(&order));
            async move {
                let slot = slots.take(priority, later()).await.unwrap();
                order.lock().unwrap().push(name);
                sleep(Duration::from_millis(10)).await;
                drop(slot);
            }
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
        {
            let mut gone = Box::pin(slots.take(9, later()));
            assert!(gone.as_mut().now_or_never().is_none());
            assert_eq!(slots.lock().waiting.len(), 1);
        }
        assert!(slots.lock().waiting.is_empty());
        // Cancelled after it got a slot.
        let mut given = Box::pin(slots.take(9, later()));
        assert!(given.as_mut().now_or_never().is_none());
        drop(held);
        drop(given);
        assert_eq!(slots.lock().free, 2);
    }
}

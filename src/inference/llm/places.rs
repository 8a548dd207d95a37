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
    waiting: BTreeMap<Rank, oneshot::Sender<Place>>,
}

/// A fixed number of places, with a queue.
#[derive(Debug, Clone)]
pub(super) struct Places(Arc<Mutex<Queue>>);

/// When dropped, it goes to the next caller.
#[derive(Debug)]
pub(super) struct Place(Option<Places>);

/// A waiting caller. Dropping it leaves the queue.
struct Waiting<'a> {
    places: &'a Places,
    rank: Rank,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.places.lock().waiting.remove(&self.rank);
    }
}

impl Places {
    pub(super) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue { free: places.max(1), ..Queue::default() })))
    }

    /// Waits for a place; `None` if `until` passes first.
    pub(super) async fn take(&self, priority: u8, until: Instant) -> Option<Place> {
        let (_waiting, given) = {
            let mut queue = self.lock();
            if queue.free > 0 {
                queue.free -= 1;
                return Some(Place(Some(self.clone())));
            }
            queue.came += 1;
            let rank = (Reverse(priority), queue.came);
            let (give, given) = oneshot::channel();
            queue.waiting.insert(rank, give);
            (Waiting { places: self, rank }, given)
        };
        // On cancellation, the place is dropped with the channel and goes to the next.
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
            match give.send(Place(Some(self.clone()))) {
                Ok(()) => return,
                // Cancelled. The place is emptied, because its drop would recurse.
                Err(mut place) => place.0 = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No change can be interrupted by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            places.give_on();
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
        let places = Places::new(1);
        let held = places.take(0, later()).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let wait = |name: &'static str, priority| {
            let (places, order) = (places.clone(), Arc::clone(&order));
            async move {
                let place = places.take(priority, later()).await.unwrap();
                order.lock().unwrap().push(name);
                sleep(Duration::from_millis(10)).await;
                drop(place);
            }
        };
        let all = futures::future::join_all([wait("late", 3), wait("first", 10), wait("second", 10), wait("mid", 6)]);
        let release = async {
            sleep(Duration::from_millis(50)).await;
            drop(held);
        };
        futures::future::join(all, release).await;
        assert_eq!(*order.lock().unwrap(), ["first", "second", "mid", "late"]);
        assert_eq!(places.lock().free, 1);
    }

    #[tokio::test]
    async fn nobody_waits_past_his_time_and_who_goes_away_takes_no_place() {
        let places = Places::new(2);
        let held = [places.take(1, later()).await.unwrap(), places.take(1, later()).await.unwrap()];
        let began = Instant::now();
        assert!(places.take(9, began + Duration::from_millis(100)).await.is_none());
        assert!(began.elapsed() >= Duration::from_millis(100) && began.elapsed() < Duration::from_secs(5));
        {
            let mut gone = Box::pin(places.take(9, later()));
            assert!(gone.as_mut().now_or_never().is_none());
            assert_eq!(places.lock().waiting.len(), 1);
        }
        assert!(places.lock().waiting.is_empty());
        // Cancelled after it got a place.
        let mut given = Box::pin(places.take(9, later()));
        assert!(given.as_mut().now_or_never().is_none());
        drop(held);
        drop(given);
        assert_eq!(places.lock().free, 2);
    }
}

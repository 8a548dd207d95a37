//! Spaces this process's calls in order of arrival, with a governor limiter.
//!
//! The fleet's permits apply in addition. It never lets a caller wait past its deadline.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout_at};

/// At high rates the calls of this time may start together, because timers have a resolution of 1 ms. Up to 600 a
/// minute calls are evenly spaced: some providers demand "one every 5 seconds".
const EVENLY_SPACED: Duration = Duration::from_millis(100);

/// The runtime's clock instead of governor's, because waiting and counting must agree.
#[derive(Debug, Clone, Copy)]
struct RuntimeClock(Instant);

impl GovernorClock for RuntimeClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        // 584 years fit.
        Nanos::new(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

#[derive(Debug)]
pub(super) struct Limiter {
    cells: RateLimiter<NotKeyed, InMemoryState, RuntimeClock, NoOpMiddleware<Nanos>>,
    clock: RuntimeClock,
    period: Duration,
    /// Held by the queue's head. The lock is fair, so callers are served in order.
    slot: Mutex<()>,
    waiting: AtomicU32,
}

#[derive(Debug)]
struct WaitingGuard<'a>(&'a AtomicU32);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The head of the queue. A drop admits the next caller.
#[derive(Debug)]
pub(super) struct QueueHead<'a> {
    limiter: &'a Limiter,
    _waiting: WaitingGuard<'a>,
    _slot: MutexGuard<'a, ()>,
}

impl Limiter {
    pub(super) fn new(period: Duration) -> Self {
        let burst = EVENLY_SPACED.as_nanos() / period.as_nanos().max(1);
        let burst = NonZeroU32::new(u32::try_from(burst).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN);
        let clock = RuntimeClock(Instant::now());
        let quota = Quota::with_period(period).unwrap_or_else(|| Quota::per_minute(NonZeroU32::MIN)).allow_burst(burst);
        Self {
            cells: RateLimiter::direct_with_clock(quota, clock),
            clock,
            period,
            slot: Mutex::new(()),
            waiting: AtomicU32::new(0),
        }
    }

    /// Waits for earlier callers. Fails at once with the estimated wait if that would take past the deadline.
    pub(super) async fn enter(&self, deadline: Instant) -> Result<QueueHead<'_>, Duration> {
        let ahead = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = WaitingGuard(&self.waiting);
        let estimate = self.period.saturating_mul(ahead);
        if Instant::now() + estimate > deadline {
            return Err(estimate);
        }
        let slot = timeout_at(deadline, self.slot.lock()).await.map_err(|_elapsed| estimate)?;
        Ok(QueueHead { limiter: self, _waiting: waiting, _slot: slot })
    }
}

impl QueueHead<'_> {
    /// Takes a permit of this process, or returns the wait.
    pub(super) fn take(&self) -> Result<(), Duration> {
        let cells = &self.limiter.cells;
        cells.check().map_err(|not_until| not_until.wait_time_from(self.limiter.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::join_all;

    use super::*;

    impl Limiter {
        fn per_minute(rpm: u32) -> Self {
            Self::new(Duration::from_mins(1) / rpm)
        }

        /// Waits like [`super::super::call_control::CallControl`] without a store.
        async fn slot(&self, deadline: Instant) -> Result<(), Duration> {
            let head = self.enter(deadline).await?;
            while let Err(wait) = head.take() {
                if Instant::now() + wait > deadline {
                    return Err(wait);
                }
                tokio::time::sleep(wait).await;
            }
            Ok(())
        }
    }

    fn soon(millis: u64) -> Instant {
        Instant::now() + Duration::from_millis(millis)
    }

    #[tokio::test]
    async fn calls_are_spaced_evenly_from_the_first() {
        let limiter = Limiter::per_minute(600);
        let start = Instant::now();
        for _ in 0..4 {
            limiter.slot(soon(5_000)).await.unwrap();
        }
        // The first goes at once, three more a tenth of a second apart. Only the lower bound holds on a busy machine.
        assert!(start.elapsed() >= Duration::from_millis(299), "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn a_slot_past_the_deadline_is_refused_at_once() {
        let limiter = Limiter::per_minute(6);
        limiter.slot(soon(100)).await.unwrap();
        let start = Instant::now();
        let late = limiter.slot(soon(5_000)).await.unwrap_err();
        assert!(late > Duration::from_secs(8), "{late:?}");
        assert!(start.elapsed() < Duration::from_secs(4), "it did not wait for nothing");
    }

    #[tokio::test]
    async fn a_long_queue_refuses_those_it_cannot_serve_in_time() {
        let limiter = Arc::new(Limiter::per_minute(600));
        let start = Instant::now();
        let outcomes = join_all((0..50).map(|_| async {
            let outcome = limiter.slot(soon(450)).await;
            (outcome, start.elapsed())
        }))
        .await;
        let served = outcomes.iter().filter(|(outcome, _)| outcome.is_ok()).count();
        let quickly = |(_, took): &&(_, Duration)| *took < Duration::from_millis(400);
        let refused = outcomes.iter().filter(|(outcome, _)| outcome.is_err());
        assert!(refused.filter(quickly).count() >= 40, "they do not stand in the queue for nothing");
        assert!((1..=5).contains(&served), "{served} in 450 ms at one each 100 ms");
        assert_eq!(limiter.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_leaves_no_trace() {
        let limiter = Limiter::per_minute(600);
        limiter.slot(soon(1_000)).await.unwrap();
        drop(tokio::time::timeout(Duration::from_millis(5), limiter.slot(soon(1_000))).await);
        assert_eq!(limiter.waiting.load(Ordering::Relaxed), 0);
        limiter.slot(soon(5_000)).await.unwrap();
    }

    #[tokio::test]
    async fn a_high_rate_is_reached_in_spite_of_coarse_timers() {
        let limiter = Limiter::per_minute(600_000);
        let start = Instant::now();
        for _ in 0..2_000 {
            limiter.slot(soon(20_000)).await.unwrap();
        }
        // 10,000 a second: 0.2 s; without the burst 2,000 timers of at least 1 ms.
        assert!(start.elapsed() < Duration::from_millis(1_900), "{:?}", start.elapsed());
    }
}

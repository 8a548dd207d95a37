//! The difference between the database's clock and this machine's, and clocks that use it.
//!
//! The difference is learned from [`Store::fleet`].

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Store, StoreError};
use crate::domain::{Clock, SystemClock};

/// Maximum difference of process and database clocks. Beyond it, clean-up removes nothing and the process is not ready.
pub const MAX_CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(5);

impl Store {
    /// Compares the process clock with the database's.
    ///
    /// # Errors
    /// [`StoreError::ClocksDiffer`] if they differ by more than [`MAX_CLOCK_DIFFERENCE`].
    pub async fn check_clock(&self, now: DateTime<Utc>) -> Result<(), StoreError> {
        let moment: DateTime<Utc> = sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&self.pool).await?;
        let ahead = now - moment;
        if ahead.abs() > MAX_CLOCK_DIFFERENCE {
            return Err(StoreError::ClocksDiffer { ahead });
        }
        Ok(())
    }
}

/// Whole seconds by which the database's clock was last ahead of this machine's; negative if behind.
#[derive(Debug, Clone, Default)]
pub(super) struct ServerClock(Arc<AtomicI64>);

impl ServerClock {
    pub(super) fn learn(&self, moment: DateTime<Utc>) {
        self.0.store((moment - SystemClock.now()).num_seconds(), Ordering::Relaxed);
    }

    fn ahead(&self) -> TimeDelta {
        TimeDelta::seconds(self.0.load(Ordering::Relaxed))
    }
}

/// The later of this machine's clock and the database's: a time ahead of it is ahead of both, even if one was set back.
#[derive(Debug)]
pub struct LaterClock {
    own: Arc<dyn Clock>,
    server: ServerClock,
}

impl LaterClock {
    pub(super) fn new(own: Arc<dyn Clock>, server: ServerClock) -> Self {
        Self { own, server }
    }
}

impl Clock for LaterClock {
    fn now(&self) -> DateTime<Utc> {
        self.own.now() + self.server.ahead().max(TimeDelta::zero())
    }
}

/// The database's clock, computed from this machine's, for delays and leases that processes share.
#[derive(Debug)]
pub(super) struct CommonClock {
    own: Arc<dyn Clock>,
    server: ServerClock,
}

impl CommonClock {
    pub(super) fn new(own: Arc<dyn Clock>, server: ServerClock) -> Self {
        Self { own, server }
    }
}

impl Clock for CommonClock {
    fn now(&self) -> DateTime<Utc> {
        self.own.now() + self.server.ahead()
    }
}

/// A clock that never goes back, so that a delay of a minute does not become an hour.
#[derive(Debug)]
pub(super) struct SteadyClock {
    own: Arc<dyn Clock>,
    last: Mutex<(DateTime<Utc>, Instant)>,
}

impl SteadyClock {
    pub(super) fn new(own: Arc<dyn Clock>) -> Self {
        let last = Mutex::new((own.now(), Instant::now()));
        Self { own, last }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> DateTime<Utc> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let since = TimeDelta::from_std(last.1.elapsed()).unwrap_or_default();
        *last = (self.own.now().max(last.0 + since), Instant::now());
        last.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_clock_is_the_one_that_was_not_set_back() {
        let server = ServerClock::default();
        let later = LaterClock::new(Arc::new(SystemClock), server.clone());
        let hour = TimeDelta::hours(1);
        for (server_is_at, expected) in
            [(SystemClock.now() + hour, hour), (SystemClock.now() - hour, TimeDelta::zero())]
        {
            server.learn(server_is_at);
            let off = later.now() - SystemClock.now() - expected;
            assert!(off.abs() < TimeDelta::seconds(5), "{off}");
            let common = CommonClock::new(Arc::new(SystemClock), server.clone());
            assert!((common.now() - server_is_at).abs() < TimeDelta::seconds(5), "by the server's, ahead or behind");
        }
    }

    #[derive(Debug)]
    struct SettableClock(Mutex<DateTime<Utc>>);

    impl Clock for SettableClock {
        fn now(&self) -> DateTime<Utc> {
            *self.0.lock().unwrap()
        }
    }

    #[test]
    fn the_steady_clock_goes_on_when_the_machines_is_set_back() {
        let start = SystemClock.now();
        let clock = Arc::new(SettableClock(Mutex::new(start)));
        let steady = SteadyClock::new(Arc::clone(&clock) as Arc<dyn Clock>);
        *clock.0.lock().unwrap() = start - TimeDelta::hours(1);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (first, then) = (steady.now(), steady.now());
        assert!(first >= start + TimeDelta::milliseconds(20) && first < start + TimeDelta::minutes(1) && then >= first);
        *clock.0.lock().unwrap() = start + TimeDelta::hours(1);
        assert!(steady.now() >= start + TimeDelta::hours(1), "it follows one that is put forward");
    }
}

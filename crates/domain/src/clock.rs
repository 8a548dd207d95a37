//! Time as a parameter: everything that needs "now" is handed a clock.

use std::fmt::Debug;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

/// Tells the time. The system's, a fixed one in tests and the demo, and one that
/// goes on from a day of the past.
pub trait Clock: Send + Sync + Debug {
    /// The present moment, UTC.
    fn now(&self) -> DateTime<Utc>;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system clock")]
    fn now(&self) -> DateTime<Utc> {
        // As fine as the store keeps it: a moment is the same one when it is read back, and "until now" means the same
        // there and here. What is bound to a statement is cut off at the microsecond, what goes in as JSON is rounded.
        Utc::now().trunc_subsecs(6)
    }
}

/// A clock that stands still: the demo's recordings are judged as of the day they describe.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub DateTime<Utc>);

impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        self.0
    }
}

/// A clock that starts at another moment and ticks: a daemon that answers from recordings lives in their days.
#[derive(Debug, Clone, Copy)]
pub struct ShiftedClock {
    ahead: TimeDelta,
}

impl ShiftedClock {
    /// Now is `start`.
    pub fn starting_at(start: DateTime<Utc>) -> Self {
        Self { ahead: start - SystemClock.now() }
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> DateTime<Utc> {
        SystemClock.now() + self.ahead
    }
}

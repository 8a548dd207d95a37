//! The current time as a parameter: code that needs "now" takes a [`Clock`].

use std::fmt::Debug;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

/// A source of the current time.
pub trait Clock: Send + Sync + Debug {
    /// The current time in UTC.
    fn now(&self) -> DateTime<Utc>;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system clock")]
    fn now(&self) -> DateTime<Utc> {
        // The store has microseconds: it truncates bound values and rounds JSON. Truncating here keeps a time equal
        // after reading it back.
        Utc::now().trunc_subsecs(6)
    }
}

/// A clock with a constant time. The demo's recordings are judged as of their own day.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub DateTime<Utc>);

impl Clock for FixedClock {
    fn now(&self) -> DateTime<Utc> {
        self.0
    }
}

/// A clock that starts at a given time, for a daemon that answers from recordings.
#[derive(Debug, Clone, Copy)]
pub struct ShiftedClock {
    ahead: TimeDelta,
}

impl ShiftedClock {
    /// Returns a clock whose current time is `start`.
    pub fn starting_at(start: DateTime<Utc>) -> Self {
        Self { ahead: start - SystemClock.now() }
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> DateTime<Utc> {
        SystemClock.now() + self.ahead
    }
}

//! Time as a parameter: everything that needs "now" is handed a clock.

use std::fmt::Debug;

use chrono::{DateTime, Utc};

/// Tells the time. Two implementations: the system's, and a fixed one in tests and the demo.
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
        Utc::now()
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

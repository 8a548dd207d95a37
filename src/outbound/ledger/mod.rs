//! Leases permits: how often and for how much money a provider may be called.
//!
//! A permit counts when it is leased, before its call. So a killed process loses a few permits, but the fleet never
//! exceeds a limit. Unused permits are refunded.
//!
//! [`LocalLedger`] is for a single process, [`StoreLedger`] for a fleet. A ledger never waits for a permit or calls a
//! provider. If it is unavailable, nothing is called.

mod local;
mod shared;

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

pub use crate::store::{
    BreakerKind, LeaseAnswer, LeaseDecision, LeaseTerms, Limit, Opening, ReturnedPermits, SharedBreaker,
};
pub use local::LocalLedger;
pub use shared::StoreLedger;

/// Validity of a permit after its time. Covers a busy process and a database on another continent.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// Maximum difference between travel times to the provider.
pub(super) const MARGIN: Duration = Duration::from_secs(1);

/// The times of permits.
///
/// Guarantee: at most `calls` requests reach the provider within any `window`, for any interleaving of processes. A
/// request leaves within `grace` after its permit and travels for at most `margin`. So of `calls + 1` successive
/// requests, the last arrives at least `calls * period - grace - margin` = `window` after the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub window: Duration,
    pub calls: u32,
    pub grace: Duration,
    pub margin: Duration,
}

impl Pace {
    /// At most `calls` in any sliding minute; 0 counts as 1. The guarantee costs 3 % of the rate.
    pub const fn per_minute(calls: u32) -> Self {
        Self { window: Duration::from_mins(1), calls, grace: GRACE, margin: MARGIN }
    }

    pub fn period(&self) -> Duration {
        (self.window + self.grace + self.margin) / self.calls.max(1)
    }
}

/// A response. The ledger decided between `sent` and `received`.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaseResponse {
    pub sent: Instant,
    pub received: Instant,
    pub answer: LeaseAnswer,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct LedgerError {
    pub detail: String,
    /// Whether the ledger may have processed the request. A refund is then not repeated.
    pub may_be_done: bool,
}

/// Keeps rates, quotas, money and breakers by [`LeaseTerms::provider`]. Dropped futures may have had their effect.
pub trait Ledger: Send + Sync + Debug {
    fn lease(&self, terms: LeaseTerms) -> BoxFuture<'_, Result<LeaseResponse, LedgerError>>;
    fn give_back<'a>(&'a self, provider: &'a str, back: ReturnedPermits) -> BoxFuture<'a, Result<(), LedgerError>>;
    /// Opens the breaker. Returns its current state.
    fn open<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>>;
    /// Closes the breaker after that version's probe succeeded. Returns its current state.
    fn close<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        version: i64,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sliding_minute_holds_no_more_than_the_rate_however_late_calls_are() {
        for calls in [1, 6, 60, 600, 60_000, 1_000_000] {
            let pace = Pace::per_minute(calls);
            let span = pace.period() * calls;
            // The first as late as possible, the last as early as possible.
            let apart = span.saturating_sub(pace.grace + pace.margin);
            assert!(apart + Duration::from_millis(2) >= pace.window, "{calls}: {apart:?}");
            assert!(span <= Duration::from_secs(62), "{calls}: nine tenths of the rate and more are left");
        }
        assert_eq!(Pace::per_minute(0).period(), Pace::per_minute(1).period());
    }
}

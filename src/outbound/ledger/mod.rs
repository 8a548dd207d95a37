//! Where slots come from: a lease says how often, how many and for how much money a provider may be asked now.
//!
//! A slot is counted (rate, quotas, money) when it is leased, which is before the call it is for. So a process that is
//! killed between the two loses a few slots, and never lets the fleet exceed anything. What is not used is given back.
//!
//! [`LocalLedger`] is for a process on its own, [`StoreLedger`] for a fleet that shares a store. A ledger never waits for
//! a slot, never asks a provider and never makes up an answer: where it cannot be asked, nobody is.

mod local;
mod shared;

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

pub use crate::store::{BreakerKind, LeaseAnswer, LeaseDecision, LeaseTerms, Limit, Opening, Returned, SharedBreaker};
pub use local::LocalLedger;
pub use shared::StoreLedger;

/// How long after its moment a slot may be used. Long enough for a busy process to get to it, and for the way to a
/// database on another continent.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// By how much the way to the provider may differ from one call to the next.
pub(super) const MARGIN: Duration = Duration::from_secs(1);

/// How slots lie in time.
///
/// Promise: whatever the interleaving of processes, no more than `calls` arrive at the provider within any `window`. Slots
/// come `period` apart. A call leaves between its slot and `grace` later, and is under way between no time and `margin`;
/// so of `calls + 1` successive ones, the last arrives at least `calls * period - grace - margin` after the first, and
/// that is the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub window: Duration,
    pub calls: u32,
    pub grace: Duration,
    pub margin: Duration,
}

impl Pace {
    /// So many calls in any sliding minute; 0 is read as 1. It costs 3 % of the rate.
    pub const fn per_minute(calls: u32) -> Self {
        Self { window: Duration::from_mins(1), calls, grace: GRACE, margin: MARGIN }
    }

    /// From one slot to the next.
    pub fn period(&self) -> Duration {
        (self.window + self.grace + self.margin) / self.calls.max(1)
    }
}

/// An answer with the moments between which the ledger gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Leased {
    pub sent: Instant,
    pub received: Instant,
    pub answer: LeaseAnswer,
}

/// The ledger could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct LedgerError {
    pub detail: String,
    /// Whether it may have heard of it all the same: what was to be given back is not given back twice.
    pub may_be_done: bool,
}

/// Keeps the fleet's rates, quotas, money and breakers, by [`LeaseTerms::provider`]. Futures that are dropped may have had their effect.
pub trait Ledger: Send + Sync + Debug {
    /// Takes slots, or says why there are none.
    fn lease(&self, terms: LeaseTerms) -> BoxFuture<'_, Result<Leased, LedgerError>>;
    /// Takes back what was not used.
    fn give_back<'a>(&'a self, provider: &'a str, back: Returned) -> BoxFuture<'a, Result<(), LedgerError>>;
    /// The provider is to be left alone. Gives what holds now.
    fn open<'a>(
        &'a self,
        provider: &'a str,
        identity: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<SharedBreaker, LedgerError>>;
    /// The probe of that version succeeded. Gives what holds now.
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
            // The first as late as it can be, the one after the last of the rate as early.
            let apart = span.saturating_sub(pace.grace + pace.margin);
            assert!(apart + Duration::from_millis(2) >= pace.window, "{calls}: {apart:?}");
            assert!(span <= Duration::from_secs(62), "{calls}: nine tenths of the rate and more are left");
        }
        assert_eq!(Pace::per_minute(0).period(), Pace::per_minute(1).period());
    }
}

//! What a call costs, and whom it is made for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::tenants::Purse;

/// Counts what one question led to: the attempts sent, retries and further pages included, and what they cost in US
/// dollars. Refused before sending, or answered from a cache, counts nothing.
#[derive(Debug, Default)]
pub struct AskMeter {
    sums: Mutex<Sums>,
    purse: Option<Purse>,
}

#[derive(Debug, Default)]
struct Sums {
    attempts: u32,
    usd: f64,
    worth: Option<f64>,
    patience: Option<Duration>,
}

impl AskMeter {
    /// One for an item of a tenant, whose share of the month's cap pays; `None`: nobody's share, the cap alone bounds it.
    pub(crate) fn paid_from(purse: Option<Purse>) -> Self {
        Self { purse, ..Self::default() }
    }

    /// Whether the tenant's share is used up, so that nothing that costs may be asked.
    pub(super) fn is_out_of_money(&self) -> bool {
        self.purse.as_ref().is_some_and(Purse::is_empty)
    }

    fn pay(&self, usd: f64) {
        if let Some(purse) = &self.purse {
            purse.spend(usd);
        }
    }

    pub(super) fn sent(&self, usd: f64) {
        self.pay(usd);
        let mut sums = self.lock();
        sums.attempts += 1;
        sums.usd += usd;
    }

    pub(super) fn not_billed(&self, usd: f64) {
        self.pay(-usd);
        self.lock().usd -= usd;
    }

    /// What the present attempt costs, as far as is known by now, US dollars: where the gate's price is what is set aside
    /// before anything is known, and whoever reads the answer knows better.
    pub fn worth(&self, usd: f64) {
        self.lock().worth = Some(usd);
    }

    /// The same, or the gate's price.
    pub(super) fn worth_or(&self, price: f64) -> f64 {
        self.lock().worth.unwrap_or(price)
    }

    /// An attempt that takes longer than this failed, where the gate would wait longer: a question that others wait for.
    pub fn hurry(&self, patience: Option<Duration>) {
        self.lock().patience = patience;
    }

    /// The same, or the gate's time where that is shorter.
    pub(super) fn patience_or(&self, timeout: Duration) -> Duration {
        self.lock().patience.map_or(timeout, |patience| patience.min(timeout))
    }

    /// Attempts sent.
    pub fn attempts(&self) -> u32 {
        self.lock().attempts
    }

    /// US dollars they cost.
    pub fn usd(&self) -> f64 {
        self.lock().usd.max(0.0)
    }

    fn lock(&self) -> MutexGuard<'_, Sums> {
        // Numbers: nothing that a panic could leave half done.
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whom a call is made for: how long it may take, and where it is counted.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub until: Instant,
    pub meter: &'a AskMeter,
}

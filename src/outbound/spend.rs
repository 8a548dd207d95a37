//! Counts what a call costs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Counts the attempts for one question, with retries and further pages, and their cost. Refused calls and cache hits
/// do not count.
#[derive(Debug, Default)]
pub struct AskMeter {
    sums: Mutex<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    attempts: u32,
    usd: f64,
    worth: Option<f64>,
    patience: Option<Duration>,
}

impl AskMeter {
    pub(super) fn sent(&self, usd: f64) {
        let mut sums = self.lock();
        sums.attempts += 1;
        sums.usd += usd;
    }

    pub(super) fn not_billed(&self, usd: f64) {
        self.lock().usd -= usd;
    }

    /// Sets the attempt's actual cost, US dollars, if the response shows it. The gate's price is only reserved.
    pub fn worth(&self, usd: f64) {
        self.lock().worth = Some(usd);
    }

    pub(super) fn worth_or(&self, price: f64) -> f64 {
        self.lock().worth.unwrap_or(price)
    }

    /// Sets a shorter timeout than the gate's, for a question that others wait for.
    pub fn hurry(&self, patience: Option<Duration>) {
        self.lock().patience = patience;
    }

    pub(super) fn patience_or(&self, timeout: Duration) -> Duration {
        self.lock().patience.map_or(timeout, |patience| patience.min(timeout))
    }

    pub fn attempts(&self) -> u32 {
        self.lock().attempts
    }

    /// US dollars.
    pub fn usd(&self) -> f64 {
        self.lock().usd.max(0.0)
    }

    fn lock(&self) -> MutexGuard<'_, Sums> {
        // Plain numbers: a panic breaks no invariant.
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call's deadline and counter.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub until: Instant,
    pub meter: &'a AskMeter,
}

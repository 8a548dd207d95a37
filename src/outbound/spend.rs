//! What a call costs, and whom it is made for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// Counts what one question led to: the attempts sent, retries and further pages included, and what they cost in US
/// dollars. Refused before sending, or answered from a cache, counts nothing.
#[derive(Debug, Default)]
pub struct AskMeter(Mutex<(u32, f64)>);

impl AskMeter {
    pub(super) fn sent(&self, usd: f64) {
        let mut sums = self.lock();
        sums.0 += 1;
        sums.1 += usd;
    }

    pub(super) fn not_billed(&self, usd: f64) {
        self.lock().1 -= usd;
    }

    /// Attempts sent.
    pub fn attempts(&self) -> u32 {
        self.lock().0
    }

    /// US dollars they cost.
    pub fn usd(&self) -> f64 {
        self.lock().1.max(0.0)
    }

    fn lock(&self) -> MutexGuard<'_, (u32, f64)> {
        // Two numbers: nothing that a panic could leave half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whom a call is made for: how long it may take, and where it is counted.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    pub until: Instant,
    pub meter: &'a AskMeter,
}

//! Counts what a call costs and for whom it is made.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::tenants::TenantBudget;

/// Counts the attempts for one question, with retries and further pages, and their cost. Refused calls and cache hits
/// do not count.
#[derive(Debug, Default)]
pub struct AskMeter {
    sums: Mutex<Sums>,
    tenant_budget: Option<TenantBudget>,
}

#[derive(Debug, Default)]
struct Sums {
    attempts: u32,
    usd: f64,
    worth: Option<f64>,
    patience: Option<Duration>,
}

impl AskMeter {
    /// Returns a meter for an item. `tenant_budget` is `None` if only the monthly cap limits it.
    pub(crate) fn paid_from(tenant_budget: Option<TenantBudget>) -> Self {
        Self { tenant_budget, ..Self::default() }
    }

    /// Whether the tenant's share is used up. Then no paid call is allowed.
    pub(super) fn is_out_of_money(&self) -> bool {
        self.tenant_budget.as_ref().is_some_and(TenantBudget::is_empty)
    }

    fn pay(&self, usd: f64) {
        if let Some(tenant_budget) = &self.tenant_budget {
            tenant_budget.spend(usd);
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

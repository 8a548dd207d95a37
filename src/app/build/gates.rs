//! How providers are asked: the provider's own habits with the operator's limits on top.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{OutboundObserver, observer};
use crate::config::{Config, ProviderConfig};
use crate::domain::Clock;
use crate::outbound::{DayUsage, Gate, GateSettings, HttpClient, Spend};
use crate::pipeline::Budget;
use crate::providers::{Storage, profile};
use crate::store::ProviderUsage;

/// What every gate is made of.
pub(super) struct Gates<'a> {
    pub(super) config: &'a Config,
    pub(super) http: &'a HttpClient,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) usage: &'a Arc<OutboundObserver>,
    pub(super) budget: &'a Arc<Budget>,
    /// By provider.
    pub(super) accounts: HashMap<String, DayUsage>,
}

impl Gates<'_> {
    /// A gate with the provider's own habits (attempts that cost, a throttle that lasts) and the operator's limits.
    pub(super) fn gate(&self, habits: fn(Duration) -> GateSettings, one: &ProviderConfig) -> Gate {
        let all = &self.config.providers;
        let habits = habits(one.cooldown.unwrap_or(self.config.enrichment.provider_cooldown));
        self.guard(GateSettings {
            rpm: one.rpm.get(),
            max_wait: all.max_wait,
            timeout: one.timeout,
            max_bytes: one.max_bytes,
            max_attempts: habits.max_attempts.min(all.retries + 1),
            failures_to_open: all.breaker_failures,
            daily_limit: one.daily_limit,
            cost_usd: one.cost_usd,
            ..habits
        })
    }

    /// A gate with settings that are complete.
    pub(super) fn guard(&self, settings: GateSettings) -> Gate {
        let account = self.accounts.get(settings.name);
        let is_transient = profile(settings.name).is_some_and(|profile| profile.storage == Storage::Transient);
        let http = if is_transient { self.http.transient() } else { self.http.clone() };
        let purse = Arc::clone(self.budget) as Arc<dyn Spend>;
        let gate = Gate::new(settings, http, Arc::clone(self.clock), observer(self.usage)).with_purse(purse);
        if let Some(account) = account {
            gate.restore(*account);
        }
        gate
    }
}

/// What each provider was asked today before this start, so that a restart does not give the day's allowance anew.
pub(super) fn accounts(usage: &[ProviderUsage], now: DateTime<Utc>) -> HashMap<String, DayUsage> {
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let account = |row: &ProviderUsage| DayUsage {
        day: now.date_naive(),
        calls: count(row.calls_today),
        errors: count(row.errors_today),
        usd: row.usd_today,
    };
    usage.iter().map(|row| (row.provider.clone(), account(row))).collect()
}

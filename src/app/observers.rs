//! What the lower rooms report, turned into metrics and usage counters.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::broker::{QueueDepth, QueueName};
use crate::store::UsageDelta;
use crate::telemetry::{CircuitState, metrics};

/// Counts outbound calls until a job writes them to the store.
#[derive(Debug, Default)]
pub struct OutboundObserver {
    usage: Mutex<HashMap<&'static str, UsageDelta>>,
}

impl OutboundObserver {
    fn change(&self, provider: &'static str, change: impl FnOnce(&mut UsageDelta)) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        change(usage.entry(provider).or_insert_with(|| UsageDelta {
            provider: provider.to_owned(),
            requests: 0,
            errors: 0,
            usd: 0.0,
        }));
    }

    /// The counters since the last call.
    pub fn take(&self) -> Vec<UsageDelta> {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.drain().map(|(_, delta)| delta).collect()
    }

    /// Puts counters back that could not be written.
    pub fn give_back(&self, deltas: Vec<UsageDelta>) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        for delta in deltas {
            let known = usage.iter_mut().find(|(name, _)| **name == delta.provider);
            if let Some((_, known)) = known {
                known.requests += delta.requests;
                known.errors += delta.errors;
                known.usd += delta.usd;
            } else if let Some(name) = PROVIDERS.iter().find(|name| **name == delta.provider) {
                usage.insert(name, delta);
            }
        }
    }
}

/// Every provider that can report, so that counters given back find their name.
const PROVIDERS: &[&str] = &["google_factcheck", "gdelt", "searxng", "brave"];

impl crate::outbound::Observer for OutboundObserver {
    fn request(&self, provider: &'static str, outcome: &'static str, took: Duration) {
        metrics::provider_request(provider, outcome, took);
        self.change(provider, |usage| {
            usage.requests += 1;
            usage.errors += u64::from(outcome != "ok");
        });
    }

    fn not_asked(&self, provider: &'static str, reason: &'static str) {
        metrics::provider_not_asked(provider, reason);
    }

    fn rate_wait(&self, provider: &'static str, waited: Duration) {
        metrics::provider_rate_limit_wait(provider, waited);
    }

    fn circuit(&self, provider: &'static str, state: &'static str) {
        let state = match state {
            "ready" => CircuitState::Closed,
            "half_open" => CircuitState::HalfOpen,
            _ => CircuitState::Open,
        };
        metrics::provider_circuit_state(provider, state);
    }

    fn circuit_opened(&self, provider: &'static str, reason: &'static str) {
        metrics::provider_circuit_opened(provider, reason);
    }

    fn cost(&self, provider: &'static str, usd: f64) {
        metrics::provider_cost(provider, usd);
        self.change(provider, |usage| usage.usd += usd);
    }

    fn cache(&self, cache: &'static str, hit: bool) {
        metrics::cache_request(cache, if hit { "hit" } else { "miss" });
    }
}

/// Counts what happens to deliveries.
#[derive(Debug, Default)]
pub struct QueueObserver;

impl crate::broker::Observer for QueueObserver {
    fn received(&self, _queue: QueueName, lag: Option<Duration>) {
        if let Some(lag) = lag {
            metrics::queue_lag(lag);
        }
    }

    fn in_flight(&self, items: usize) {
        metrics::items_in_flight(items);
    }

    fn finished(&self, queue: QueueName, outcome: &'static str, duration: Duration) {
        metrics::item_finished(queue.as_str(), outcome, duration);
    }

    fn retried(&self, reason: &'static str) {
        metrics::item_retried(reason);
    }

    fn dead(&self, reason: &'static str) {
        metrics::item_dead(reason);
    }

    fn depth(&self, depth: QueueDepth) {
        for queue in QueueName::ALL {
            metrics::queue_depth(queue.as_str(), depth.of(queue));
        }
        metrics::dead_letters(depth.dead);
    }

    fn reconnected(&self) {
        metrics::broker_reconnected();
    }
}

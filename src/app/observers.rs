//! Observers that turn reports of lower modules into metrics and usage counters.
//!
//! They never write to the store. A job takes the usage with [`OutboundObserver::take`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::broker::{QueueDepth, QueueName};
use crate::outbound::CacheResult;
use crate::store::UsageDelta;
use crate::telemetry::{CircuitState, metrics};

/// Counts outbound calls until a job writes them to the store.
#[derive(Debug, Default)]
pub(super) struct OutboundObserver {
    usage: Mutex<HashMap<&'static str, UsageDelta>>,
}

impl OutboundObserver {
    fn change(&self, provider: &'static str, change: impl FnOnce(&mut UsageDelta)) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        change(usage.entry(provider).or_insert(UsageDelta { provider, requests: 0, errors: 0, usd: 0.0 }));
    }

    /// Returns the counters since the last call.
    pub(super) fn take(&self) -> Vec<UsageDelta> {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.drain().map(|(_, counters)| counters).collect()
    }

    /// Adds counters that could not be written.
    pub(super) fn put_back(&self, counters: Vec<UsageDelta>) {
        for kept in counters {
            self.change(kept.provider, |usage| {
                usage.requests += kept.requests;
                usage.errors += kept.errors;
                usage.usd += kept.usd;
            });
        }
    }
}

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

    fn cache(&self, cache: &'static str, result: CacheResult) {
        metrics::cache_requests(cache, result.as_str(), 1);
    }
}

#[derive(Debug, Default)]
pub(super) struct QueueObserver;

impl crate::broker::Observer for QueueObserver {
    fn lag(&self, lag: Duration) {
        metrics::queue_lag(lag);
    }

    fn paused(&self, paused: bool) {
        metrics::worker_paused(paused);
    }

    fn braked(&self, braked: bool) {
        metrics::intake_braked(braked);
    }

    fn reply_refused(&self) {
        metrics::reply_refused();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Settlement;
    use crate::domain::{Degradation, RejectReason};
    use crate::outbound::{every_ask_error, every_fetch_error};
    use crate::parsing::ParseError;
    use crate::pipeline::PipelineError;
    use crate::reading::Junk;
    use crate::store::{StoreError, of_code};
    use crate::telemetry::catalogue::{self as c, Metric, OTHER};
    use crate::worker::{Outcome, ProcessError, ProcessOutcome, RetryPolicy, disposition};

    #[test]
    fn usage_is_kept_when_it_could_not_be_written() {
        use crate::outbound::Observer as _;
        let observer = OutboundObserver::default();
        observer.cost("brave", 0.5);
        let first = observer.take();
        observer.cost("brave", 0.25);
        observer.put_back(first);
        let usage = observer.take();
        assert!(usage.len() == 1 && (usage[0].usd - 0.75).abs() < 1e-9, "{usage:?}");
        assert_eq!(observer.take(), []);
    }

    fn is_known(metric: &Metric, label: &str, value: &str) {
        assert_eq!(metric.label_value(label, value), value, "{} of {}", label, metric.name);
        assert_ne!(value, OTHER);
    }

    #[test]
    fn every_way_a_page_can_end_is_counted_under_its_own_name() {
        for error in every_fetch_error() {
            is_known(&c::PAGE_FETCHES, "outcome", error.label());
        }
        for junk in Junk::ALL {
            is_known(&c::PAGE_FETCHES, "outcome", junk.as_str());
        }
        for outcome in ["ok", "not_modified", "reader_crashed", "reader_too_slow"] {
            is_known(&c::PAGE_FETCHES, "outcome", outcome);
        }
        is_known(&c::CACHE_REQUESTS, "cache", "robots");
    }

    /// Errors of statements while the daemon runs; the others stop its start.
    fn store_errors() -> Vec<StoreError> {
        let away = || sqlx::Error::PoolTimedOut;
        vec![
            StoreError::WrongPassword(away()),
            StoreError::NoDatabase(away()),
            StoreError::Unreachable(away()),
            StoreError::NotPermitted { action: "write", source: away() },
            StoreError::NoEvidence { detail: String::new() },
            StoreError::Statement(away()),
            of_code("22008"),
            of_code("54000"),
            of_code("0A000"),
            of_code("XX001"),
            StoreError::Corrupt { detail: String::new() },
        ]
    }

    fn rejects() -> Vec<RejectReason> {
        let detail = || "why".to_owned();
        vec![
            RejectReason::Empty,
            RejectReason::TooLarge { bytes: 1 },
            RejectReason::NotUtf8 { at: 1 },
            RejectReason::NotJson { detail: detail() },
            RejectReason::WrongSchema { detail: detail() },
            RejectReason::UnknownSchema { found: 2 },
            RejectReason::NoText,
        ]
    }

    /// Returns every end of a delivery, with every reason of the pipeline.
    fn outcomes() -> Vec<Outcome> {
        let mut all = vec![
            Outcome::Processed(ProcessOutcome::Committed),
            Outcome::Processed(ProcessOutcome::AlreadyDone),
            Outcome::Panicked(String::new()),
            Outcome::Stuck(Duration::ZERO),
            Outcome::HandedBack,
            Outcome::Deferred,
            Outcome::Dropped,
        ];
        all.extend(rejects().into_iter().map(Outcome::Rejected));
        let model = crate::inference::InferenceError::Failed { model: "m".into(), detail: "d".into() };
        let errors = store_errors().into_iter().map(PipelineError::Store).chain([PipelineError::Inference(model)]);
        let errors = errors.chain([ParseError::NoPlace, ParseError::TooSlow].map(PipelineError::Texts));
        all.extend(errors.flat_map(|error| {
            let (label, detail) = (error.label(), String::new());
            let away = matches!(&error, PipelineError::Store(error) if error.is_away())
                .then(|| ProcessError::Away { label, detail: String::new() });
            let counted = if error.is_transient() {
                ProcessError::Transient { label, detail }
            } else {
                ProcessError::Permanent { label, detail }
            };
            away.into_iter().chain([counted]).map(Outcome::Failed)
        }));
        all
    }

    #[test]
    fn every_label_that_is_recorded_is_in_the_catalogue() {
        for error in every_ask_error() {
            is_known(&c::PROVIDER_REQUESTS, "outcome", error.label());
            if error.counts_for_breaker() {
                is_known(&c::PROVIDER_CIRCUIT_OPENS, "reason", error.label());
            }
        }
        is_known(&c::PROVIDER_REQUESTS, "outcome", "ok");
        for reason in ["throttled", "quota_gone", "bad_key", "disabled"] {
            is_known(&c::PROVIDER_CIRCUIT_OPENS, "reason", reason);
        }
        for provider in crate::providers::NAMES {
            is_known(&c::PROVIDER_REQUESTS, "provider", provider);
        }
        for cause in [
            Degradation::ProviderOpen(String::new()),
            Degradation::ProviderBusy(String::new()),
            Degradation::ProviderFailed(String::new()),
            Degradation::ProviderDisabled(String::new()),
            Degradation::Deadline,
            Degradation::StoreAway(String::new()),
            Degradation::Budget,
            Degradation::Overload,
            Degradation::NoPageRead,
            Degradation::NoProvider,
        ] {
            is_known(&c::ITEMS_DEGRADED, "reason", cause.label());
        }
        for cache in ["search", "fact_check", "page"] {
            is_known(&c::CACHE_REQUESTS, "cache", cache);
        }
        for result in CacheResult::ALL {
            is_known(&c::CACHE_REQUESTS, "result", result.as_str());
        }
        for job in ["answers", "cleanup", "outbox", "domains", "fleet", "providers", "reload", "usage"] {
            is_known(&c::JOB_RUNS, "job", job);
        }
        for queue in QueueName::ALL {
            is_known(&c::ITEM_DURATION, "queue", queue.as_str());
        }
    }

    #[test]
    fn every_label_of_a_provider_knows_all_of_them_and_no_others() {
        let mut names: Vec<&str> = crate::providers::NAMES.iter().copied().chain([OTHER]).collect();
        names.sort_unstable();
        let labels = c::ALL.iter().flat_map(|metric| metric.labels.iter()).filter(|label| label.name == "provider");
        let mut sets = 0;
        for label in labels {
            let mut known = label.values.to_vec();
            known.sort_unstable();
            assert_eq!(known, names);
            sets += 1;
        }
        assert!(sets > 5, "{sets}");
    }

    #[test]
    fn every_end_of_a_delivery_is_in_the_catalogue() {
        // The first attempt is retried; the last becomes a dead letter.
        for (outcome, attempts) in outcomes().into_iter().flat_map(|outcome| [(outcome.clone(), 0), (outcome, 99)]) {
            is_known(&c::ITEM_DURATION, "outcome", outcome.label());
            match disposition(&outcome, attempts, &RetryPolicy::default()) {
                Settlement::Retry { error_label, .. } => is_known(&c::ITEM_RETRIES, "reason", error_label),
                Settlement::Dead { .. } => is_known(&c::ITEMS_DEAD, "reason", outcome.reason()),
                Settlement::Ack | Settlement::Defer { .. } | Settlement::Requeue => {}
            }
        }
    }
}

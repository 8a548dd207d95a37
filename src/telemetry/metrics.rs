//! Records metrics: one function per metric of the catalogue, and no other way to record.
//!
//! A text value (`outcome`, `reason` …) outside the label's closed set is recorded as `other`.

use std::time::Duration;

use metrics::{Label, counter, gauge, histogram};

use super::catalogue::{self as c, Metric, MetricKind};
use crate::domain::Reason;
use crate::domain::degradation::Degradation;
use crate::domain::verdict::{Tier, Verdict};

/// Series of one counter that are written as 0 at start. Without a 0, the rate misses the first count; too many would
/// fill the page.
const MOST_ZEROS: usize = 100;

fn labels<const N: usize>(metric: &Metric, given: [(&'static str, &str); N]) -> Vec<Label> {
    given.map(|(name, value)| Label::from_static_parts(name, metric.label_value(name, value))).into()
}

fn count<const N: usize>(metric: &Metric, given: [(&'static str, &str); N], by: u64) {
    counter!(metric.name, labels(metric, given)).increment(by);
}

fn set<const N: usize>(metric: &Metric, given: [(&'static str, &str); N], value: f64) {
    gauge!(metric.name, labels(metric, given)).set(value);
}

fn observe<const N: usize>(metric: &Metric, given: [(&'static str, &str); N], value: f64) {
    histogram!(metric.name, labels(metric, given)).record(value);
}

pub(super) fn record_zeros() {
    for metric in c::ALL.iter().filter(|metric| metric.kind == MetricKind::Counter && metric.series() <= MOST_ZEROS) {
        for combination in combinations(metric) {
            counter!(metric.name, combination).increment(0);
        }
    }
    set(&c::BUILD_INFO, [("version", env!("CARGO_PKG_VERSION"))], 1.0);
    // Nothing runs or waits before the first item.
    set(&c::ITEMS_IN_FLIGHT, [], 0.0);
    set(&c::QUEUE_LAG, [], 0.0);
    set(&c::WORKER_PAUSED, [], 0.0);
    set(&c::INTAKE_BRAKED, [], 0.0);
}

fn combinations(metric: &Metric) -> Vec<Vec<Label>> {
    metric.labels.iter().fold(vec![Vec::new()], |so_far, label| {
        so_far
            .iter()
            .flat_map(|labels| {
                label.values.iter().map(|value| {
                    let mut longer: Vec<Label> = labels.clone();
                    longer.push(Label::from_static_parts(label.name, value));
                    longer
                })
            })
            .collect()
    })
}

/// `queue` is one of [`c::QUEUES`], `outcome` one of [`c::ITEM_OUTCOMES`].
pub fn item_finished(queue: &str, outcome: &str, took: Duration) {
    observe(&c::ITEM_DURATION, [("queue", queue), ("outcome", outcome)], took.as_secs_f64());
}

pub fn items_in_flight(items: usize) {
    set(&c::ITEMS_IN_FLIGHT, [], items as f64);
}

/// `reason` is one of [`c::RETRY_REASONS`].
pub fn item_retried(reason: &str) {
    count(&c::ITEM_RETRIES, [("reason", reason)], 1);
}

/// `reason` is one of [`c::DEAD_REASONS`].
pub fn item_dead(reason: &str) {
    count(&c::ITEMS_DEAD, [("reason", reason)], 1);
}

/// Counts each reason of a degraded result once, even if several providers share it.
pub fn item_degraded(causes: &[Degradation]) {
    let mut reasons: Vec<&str> = causes.iter().map(Degradation::label).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        count(&c::ITEMS_DEGRADED, [("reason", reason)], 1);
    }
}

/// `stage` is one of [`c::STAGES`].
pub fn stage(stage: &str, took: Duration) {
    observe(&c::STAGE_DURATION, [("stage", stage)], took.as_secs_f64());
}

pub fn worker_paused(paused: bool) {
    set(&c::WORKER_PAUSED, [], f64::from(u8::from(paused)));
}

/// Whether intake is paused by the failure brake.
pub fn intake_braked(braked: bool) {
    set(&c::INTAKE_BRAKED, [], f64::from(u8::from(braked)));
}

/// A message named a reply queue that is not allowed.
pub fn reply_refused() {
    count(&c::REPLIES_REFUSED, [], 1);
}

/// Age of the oldest message that waits or is processed.
pub fn queue_lag(lag: Duration) {
    set(&c::QUEUE_LAG, [], lag.as_secs_f64());
}

/// `queue` is one of [`c::QUEUES`].
pub fn queue_depth(queue: &str, messages: u64) {
    set(&c::QUEUE_DEPTH, [("queue", queue)], messages as f64);
}

pub fn dead_letters(messages: u64) {
    set(&c::DEAD_LETTERS, [], messages as f64);
}

pub fn broker_reconnected() {
    count(&c::BROKER_RECONNECTS, [], 1);
}

pub fn broker_connected(connected: bool) {
    set(&c::BROKER_CONNECTED, [], f64::from(u8::from(connected)));
}

/// Unconfirmed results, the age of the oldest, and those that were refused too often.
pub fn outbox(pending: u64, oldest: Option<Duration>, parked: u64) {
    set(&c::OUTBOX_PENDING, [], pending as f64);
    set(&c::OUTBOX_AGE, [], oldest.unwrap_or_default().as_secs_f64());
    set(&c::OUTBOX_PARKED, [], parked as f64);
}

pub fn outbox_refused(messages: usize) {
    count(&c::OUTBOX_REFUSED, [], u64::try_from(messages).unwrap_or(u64::MAX));
}

/// Messages that wait for webhooks, the age of the oldest, and those that were given up.
pub fn webhooks(pending: i64, oldest: Option<Duration>, dead: i64) {
    set(&c::WEBHOOKS_PENDING, [], pending as f64);
    set(&c::WEBHOOKS_AGE, [], oldest.unwrap_or_default().as_secs_f64());
    set(&c::WEBHOOKS_DEAD, [], dead as f64);
}

pub fn webhook_delivered(messages: usize) {
    webhook("delivered", messages);
}

/// Webhooks did not accept these messages, which are retried.
pub fn webhook_failed(messages: usize) {
    webhook("failed", messages);
}

pub fn webhook_gave_up(messages: usize) {
    webhook("gave_up", messages);
}

fn webhook(outcome: &str, messages: usize) {
    if messages > 0 {
        count(&c::WEBHOOK_DELIVERIES, [("outcome", outcome)], u64::try_from(messages).unwrap_or(u64::MAX));
    }
}

/// `provider` is one of [`c::PROVIDERS`], `outcome` one of [`c::PROVIDER_OUTCOMES`].
pub fn provider_request(provider: &str, outcome: &str, took: Duration) {
    count(&c::PROVIDER_REQUESTS, [("provider", provider), ("outcome", outcome)], 1);
    observe(&c::PROVIDER_REQUEST_DURATION, [("provider", provider)], took.as_secs_f64());
}

/// A call was prevented by the circuit breaker, the budget or the deadline; counted without a time.
pub fn provider_not_asked(provider: &str, outcome: &str) {
    count(&c::PROVIDER_REQUESTS, [("provider", provider), ("outcome", outcome)], 1);
}

/// A call waited for its rate-limit permit.
pub fn provider_rate_limit_wait(provider: &str, waited: Duration) {
    observe(&c::PROVIDER_RATE_LIMIT_WAIT, [("provider", provider)], waited.as_secs_f64());
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    Closed,
    HalfOpen,
    Open,
}

pub fn provider_circuit_state(provider: &str, state: CircuitState) {
    let value = match state {
        CircuitState::Closed => 0.0,
        CircuitState::HalfOpen => 1.0,
        CircuitState::Open => 2.0,
    };
    set(&c::PROVIDER_CIRCUIT_STATE, [("provider", provider)], value);
}

/// `reason` is one of [`c::OPEN_REASONS`].
pub fn provider_circuit_opened(provider: &str, reason: &str) {
    count(&c::PROVIDER_CIRCUIT_OPENS, [("provider", provider), ("reason", reason)], 1);
}

/// Adds the cost of a call in millionths of a dollar, because exporter counters are integers; the exporter shows
/// dollars.
pub fn provider_cost(provider: &str, usd: f64) {
    if usd.is_finite() && usd > 0.0 {
        count(&c::PROVIDER_COST, [("provider", provider)], (usd * c::MICROS).round() as u64);
    }
}

/// US dollars that all processes spent, with the daily budget and the monthly cap.
pub fn spend(day_usd: f64, month_usd: f64, daily_budget_usd: f64, monthly_cap_usd: f64) {
    set(&c::SPEND, [("period", "day")], day_usd);
    set(&c::SPEND, [("period", "month")], month_usd);
    set(&c::SPEND_LIMIT, [("period", "day")], daily_budget_usd);
    set(&c::SPEND_LIMIT, [("period", "month")], monthly_cap_usd);
}

/// `outcome` is one of [`c::PAGE_OUTCOMES`].
pub fn page_fetched(outcome: &str) {
    count(&c::PAGE_FETCHES, [("outcome", outcome)], 1);
}

pub fn page_read(bytes: usize) {
    count(&c::PAGE_BYTES, [], bytes as u64);
}

/// The number of wanted feeds that were read recently enough, and of those that were not.
pub fn feeds(fresh: u64, stale: u64) {
    set(&c::FEEDS, [("state", "fresh")], fresh as f64);
    set(&c::FEEDS, [("state", "stale")], stale as f64);
}

/// `cache` is one of [`c::CACHES`], `result` one of [`c::CACHE_RESULTS`].
pub fn cache_request(cache: &str, result: &str) {
    count(&c::CACHE_REQUESTS, [("cache", cache), ("result", result)], 1);
}

pub fn cache_requests(cache: &str, result: &str, times: usize) {
    if times > 0 {
        count(&c::CACHE_REQUESTS, [("cache", cache), ("result", result)], times as u64);
    }
}

/// A fact-check lookup: matched, unmatched, none, skipped or failed.
pub fn fact_check_lookup(result: &str) {
    count(&c::FACT_CHECK_LOOKUPS, [("result", result)], 1);
}

/// The evidence of an item: corroborated, contradicted or none.
pub fn evidence_match(result: &str) {
    count(&c::EVIDENCE_MATCHES, [("result", result)], 1);
}

pub fn channel_corroboration(corroborated: bool) {
    count(&c::CHANNEL_CORROBORATION, [("result", if corroborated { "corroborated" } else { "alone" })], 1);
}

pub fn verdict(verdict: Verdict) {
    count(&c::VERDICTS_TOTAL, [("verdict", verdict.as_str())], 1);
}

pub fn tier(tier: Tier) {
    count(&c::TIERS_TOTAL, [("tier", tier.as_str())], 1);
}

/// `model` is one of [`c::MODELS`].
pub fn model_batch(model: &str, size: usize, took: Duration) {
    observe(&c::MODEL_BATCH_SIZE, [], size as f64);
    observe(&c::MODEL_DURATION, [("model", model)], took.as_secs_f64());
}

/// `purpose` is one of [`c::LLM_PURPOSES`].
pub fn llm_call(purpose: &str, outcome: &str) {
    count(&c::LLM_CALLS, [("purpose", purpose), ("outcome", outcome)], 1);
}

pub fn llm_discarded(purpose: &str) {
    count(&c::LLM_DISCARDED, [("purpose", purpose)], 1);
}

pub fn llm_tokens(purpose: &str, read: u64, written: u64) {
    count(&c::LLM_TOKENS, [("purpose", purpose), ("direction", "in")], read);
    count(&c::LLM_TOKENS, [("purpose", purpose), ("direction", "out")], written);
}

pub fn llm_call_took(purpose: &str, took: Duration) {
    observe(&c::LLM_CALL_DURATION, [("purpose", purpose)], took.as_secs_f64());
}

/// A text or pair waited for its batch.
pub fn model_waited(model: &str, waited: Duration) {
    observe(&c::MODEL_WAIT, [("model", model)], waited.as_secs_f64());
}

/// Texts or pairs were dropped because no caller waited for them any longer.
pub fn model_entries_dropped(model: &str, entries: usize) {
    if entries > 0 {
        count(&c::MODEL_ENTRIES_DROPPED, [("model", model)], entries as u64);
    }
}

pub fn evidence_rows_deleted(rows: u64) {
    count(&c::EVIDENCE_ROWS_DELETED, [], rows);
}

/// Database connections of this process: for work (idle, used, maximum), and for pages and lists.
pub fn db_pools(work: (usize, usize, usize), reads: Option<(usize, usize, usize)>) {
    let pools = [(&c::DB_POOL_CONNECTIONS, Some(work)), (&c::DB_READ_POOL_CONNECTIONS, reads)];
    for (gauge, pool) in pools {
        let Some((idle, used, max)) = pool else { continue };
        for (state, connections) in [("idle", idle), ("used", used), ("max", max)] {
            set(gauge, [("state", state)], connections as f64);
        }
    }
}

/// Memory in use and its limit in bytes; without a limit the second gauge is 0.
pub fn memory(resident: u64, limit: Option<u64>) {
    set(&c::MEMORY_RESIDENT, [], resident as f64);
    set(&c::MEMORY_LIMIT, [], limit.unwrap_or(0) as f64);
}

pub fn db_commit(took: Duration) {
    observe(&c::DB_COMMIT_DURATION, [], took.as_secs_f64());
}

/// Finished spans; `outcome` is one of the catalogue's.
pub fn trace_spans(outcome: &str, spans: usize) {
    count(&c::TRACE_SPANS, [("outcome", outcome)], u64::try_from(spans).unwrap_or(u64::MAX));
}

/// `job` is one of [`c::JOBS`].
pub fn job_run(job: &str, succeeded: bool) {
    count(&c::JOB_RUNS, [("job", job), ("outcome", if succeeded { "ok" } else { "failed" })], 1);
}

/// `outcome` is one of [`c::REJUDGED_OUTCOMES`].
pub fn rejudged(reason: Reason, outcome: &str) {
    count(&c::REJUDGED, [("reason", reason.as_str()), ("outcome", outcome)], 1);
}

/// Number of stored items due for re-evaluation, by reason; a missing reason is 0.
pub fn rejudging_due(due: &[(Reason, i64)]) {
    for reason in Reason::ALL {
        let items = due.iter().find(|(known, _)| known == reason).map_or(0, |(_, items)| *items);
        set(&c::REJUDGING_DUE, [("reason", reason.as_str())], items as f64);
    }
}

pub fn http_request(status: u16, took: Duration) {
    let class = match status {
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => c::OTHER,
    };
    count(&c::HTTP_REQUESTS, [("class", class)], 1);
    observe(&c::HTTP_REQUEST_DURATION, [], took.as_secs_f64());
}

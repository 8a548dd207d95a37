//! Records metrics: one function per metric or group of metrics, and no other way to record. Functions of one metric
//! are in the catalogue's table.

use std::time::Duration;

use metrics::{Label, counter};

use super::catalogue::{self as c, Metric, MetricKind};
use crate::domain::Reason;
use crate::domain::degradation::Degradation;
use crate::domain::verdict::{Tier, Verdict};

pub use c::recorders::*;

/// Series of one counter that are written as 0 at start. Without a 0, the rate misses the first count; too many would
/// fill the page.
const MAX_ZEROS: usize = 100;

pub(super) fn record_zeros() {
    for metric in c::ALL.iter().filter(|metric| metric.kind == MetricKind::Counter && metric.series() <= MAX_ZEROS) {
        for combination in combinations(metric) {
            counter!(metric.name, combination).increment(0);
        }
    }
    c::BUILD_INFO.record([("version", env!("CARGO_PKG_VERSION"))], 1.0);
    // Nothing runs or waits before the first item.
    for gauge in [c::ITEMS_IN_FLIGHT, c::QUEUE_LAG, c::WORKER_PAUSED, c::INTAKE_BRAKED] {
        gauge.record([], 0.0);
    }
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

/// Counts each reason of a degraded result once, even if several providers share it.
pub fn item_degraded(causes: &[Degradation]) {
    let mut reasons: Vec<&str> = causes.iter().map(Degradation::label).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        c::ITEMS_DEGRADED.record([("reason", reason)], 1.0);
    }
}

/// Unconfirmed results, the age of the oldest, and those that were refused too often.
pub fn outbox(pending: u64, oldest: Option<Duration>, parked: u64) {
    c::OUTBOX_PENDING.record([], pending as f64);
    c::OUTBOX_AGE.record([], oldest.unwrap_or_default().as_secs_f64());
    c::OUTBOX_PARKED.record([], parked as f64);
}

/// Messages that wait for webhooks, the age of the oldest, and those that were given up.
pub fn webhooks(pending: i64, oldest: Option<Duration>, dead: i64) {
    c::WEBHOOKS_PENDING.record([], pending as f64);
    c::WEBHOOKS_AGE.record([], oldest.unwrap_or_default().as_secs_f64());
    c::WEBHOOKS_DEAD.record([], dead as f64);
}

pub fn webhook_delivered(messages: usize) {
    c::WEBHOOK_DELIVERIES.record([("outcome", "delivered")], messages as f64);
}

/// Webhooks did not accept these messages, which are retried.
pub fn webhook_failed(messages: usize) {
    c::WEBHOOK_DELIVERIES.record([("outcome", "failed")], messages as f64);
}

pub fn webhook_gave_up(messages: usize) {
    c::WEBHOOK_DELIVERIES.record([("outcome", "gave_up")], messages as f64);
}

pub fn provider_request(provider: &str, outcome: &str, took: Duration) {
    c::PROVIDER_REQUESTS.record([("provider", provider), ("outcome", outcome)], 1.0);
    c::PROVIDER_REQUEST_DURATION.record([("provider", provider)], took.as_secs_f64());
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
    c::PROVIDER_CIRCUIT_STATE.record([("provider", provider)], value);
}

/// Adds the cost of a call in millionths of a dollar, because exporter counters are integers; the exporter shows
/// dollars.
pub fn provider_cost(provider: &str, usd: f64) {
    if usd.is_finite() && usd > 0.0 {
        c::PROVIDER_COST.record([("provider", provider)], (usd * c::MICROS).round());
    }
}

/// US dollars that all processes spent, with the daily budget and the monthly cap.
pub fn spend(day_usd: f64, month_usd: f64, daily_budget_usd: f64, monthly_cap_usd: f64) {
    c::SPEND.record([("period", "day")], day_usd);
    c::SPEND.record([("period", "month")], month_usd);
    c::SPEND_LIMIT.record([("period", "day")], daily_budget_usd);
    c::SPEND_LIMIT.record([("period", "month")], monthly_cap_usd);
}

/// The number of wanted feeds that were read recently enough, and of those that were not.
pub fn feeds(fresh: u64, stale: u64) {
    c::FEEDS.record([("state", "fresh")], fresh as f64);
    c::FEEDS.record([("state", "stale")], stale as f64);
}

pub fn channel_corroboration(corroborated: bool) {
    c::CHANNEL_CORROBORATION.record([("result", if corroborated { "corroborated" } else { "alone" })], 1.0);
}

pub fn verdict(verdict: Verdict) {
    c::VERDICTS_TOTAL.record([("verdict", verdict.as_str())], 1.0);
}

pub fn tier(tier: Tier) {
    c::TIERS_TOTAL.record([("tier", tier.as_str())], 1.0);
}

pub fn model_batch(model: &str, size: usize, took: Duration) {
    c::MODEL_BATCH_SIZE.record([], size as f64);
    c::MODEL_DURATION.record([("model", model)], took.as_secs_f64());
}

pub fn llm_tokens(purpose: &str, read: u64, written: u64) {
    c::LLM_TOKENS.record([("purpose", purpose), ("direction", "in")], read as f64);
    c::LLM_TOKENS.record([("purpose", purpose), ("direction", "out")], written as f64);
}

/// Database connections of this process: for work (idle, used, maximum), and for pages and lists.
pub fn db_pools(work: (usize, usize, usize), reads: Option<(usize, usize, usize)>) {
    let pools = [(&c::DB_POOL_CONNECTIONS, Some(work)), (&c::DB_READ_POOL_CONNECTIONS, reads)];
    for (gauge, pool) in pools {
        let Some((idle, used, max)) = pool else { continue };
        for (state, connections) in [("idle", idle), ("used", used), ("max", max)] {
            gauge.record([("state", state)], connections as f64);
        }
    }
}

/// Memory in use and its limit in bytes; without a limit the second gauge is 0.
pub fn memory(resident: u64, limit: Option<u64>) {
    c::MEMORY_RESIDENT.record([], resident as f64);
    c::MEMORY_LIMIT.record([], limit.unwrap_or(0) as f64);
}

pub fn job_run(job: &str, succeeded: bool) {
    c::JOB_RUNS.record([("job", job), ("outcome", if succeeded { "ok" } else { "failed" })], 1.0);
}

pub fn rejudged(reason: Reason, outcome: &str) {
    c::REJUDGED.record([("reason", reason.as_str()), ("outcome", outcome)], 1.0);
}

/// Number of stored items due for re-evaluation, by reason; a missing reason is 0.
pub fn rejudging_due(due: &[(Reason, i64)]) {
    for reason in Reason::ALL {
        let items = due.iter().find(|(known, _)| known == reason).map_or(0, |(_, items)| *items);
        c::REJUDGING_DUE.record([("reason", reason.as_str())], items as f64);
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
    c::HTTP_REQUESTS.record([("class", class)], 1.0);
    c::HTTP_REQUEST_DURATION.record([], took.as_secs_f64());
}

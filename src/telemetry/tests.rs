//! Dashboards and alerts use only existing metrics, labels and values. `promtool` checks the syntax of the alerts (tests/run).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::catalogue::{ALL, Metric, MetricKind};

const DASHBOARDS: [&str; 4] = [
    include_str!("../../grafana/overview.json"),
    include_str!("../../grafana/providers.json"),
    include_str!("../../grafana/quality.json"),
    include_str!("../../grafana/runtime.json"),
];
const RUNBOOK: &str = include_str!("../../docs/runbook.md");
const ALERTS: &str = include_str!("../../grafana/alerts.yml");

/// Labels that Prometheus adds, and the bound of a bucket.
const FOREIGN_LABELS: [&str; 3] = ["job", "instance", "le"];

/// Prometheus renames a metric's label if it adds one with the same name.
fn scraped(label: &str) -> String {
    if FOREIGN_LABELS.contains(&label) { format!("exported_{label}") } else { label.to_owned() }
}

/// A metric's name with its matchers.
static USE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(corroborate_[a-z0-9_]+)(?:\{([^}]*)\})?").unwrap());
static MATCHER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)""#).unwrap());
static GROUPING: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:by|ignoring|without|on)\s*\(([^)]*)\)").unwrap());

/// Returns the metric of a used name; a histogram has three series.
fn metric_of(used: &str) -> Option<&'static Metric> {
    ALL.iter().find(|metric| match metric.kind {
        MetricKind::Histogram(_) => {
            used.strip_prefix(metric.name).is_some_and(|series| matches!(series, "_bucket" | "_sum" | "_count"))
        }
        MetricKind::Counter | MetricKind::Gauge => metric.name == used,
    })
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(elements) => elements.iter().for_each(|element| strings(element, found)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every text that names a metric: the dashboards' strings, and the alert file by rule.
fn expressions() -> Vec<String> {
    let mut found = Vec::new();
    for text in DASHBOARDS {
        strings(&serde_json::from_str(text).unwrap(), &mut found);
    }
    found.extend(ALERTS.split("- alert:").map(str::to_owned));
    found.retain(|text| text.contains("corroborate_"));
    found
}

#[test]
fn every_metric_label_and_value_used_exists() {
    for text in expressions() {
        let mut labels: BTreeSet<String> = FOREIGN_LABELS.map(str::to_owned).into();
        for used in USE.captures_iter(&text) {
            let name = used.get(1).unwrap().as_str();
            let metric = metric_of(name).unwrap_or_else(|| panic!("{name} is not in the catalogue, used in {text}"));
            labels.extend(metric.labels.iter().map(|label| scraped(label.name)));
            let matchers = used.get(2).map_or("", |matchers| matchers.as_str());
            for matcher in MATCHER.captures_iter(matchers) {
                let (label, values) = (matcher.get(1).unwrap().as_str(), matcher.get(3).unwrap().as_str());
                if FOREIGN_LABELS.contains(&label) {
                    continue;
                }
                let known = metric.labels.iter().find(|known| scraped(known.name) == label);
                let known = known.unwrap_or_else(|| panic!("{name} has no label {label}, used in {text}"));
                for value in values.split('|') {
                    assert!(known.values.contains(&value), "{label} of {name} is never {value}, used in {text}");
                }
            }
        }
        for grouping in GROUPING.captures_iter(&text) {
            // `on ()` names no label.
            for label in grouping.get(1).unwrap().as_str().split(',').map(str::trim).filter(|label| !label.is_empty()) {
                assert!(labels.contains(label), "nothing has the label {label} in {text}");
                // A hidden label of the metric is meant.
                let is_hidden = FOREIGN_LABELS.contains(&label) && labels.contains(&format!("exported_{label}"));
                assert!(!is_hidden, "{label} is Prometheus's own; ours is exported_{label} in {text}");
            }
        }
    }
}

#[test]
fn every_alert_leads_to_its_section_of_the_runbook() {
    let alerts: Vec<&str> = ALERTS.split("- alert: ").skip(1).collect();
    for alert in &alerts {
        let name = alert.lines().next().unwrap();
        assert!(
            alert.contains(&format!("runbook_url: docs/runbook.md#{}\n", name.to_lowercase())),
            "{name} has no link"
        );
        assert!(RUNBOOK.lines().any(|line| line == format!("### {name}")), "the runbook has no section {name}");
    }
    assert_eq!(RUNBOOK.matches("### Corroborate").count(), alerts.len(), "a section speaks of no alert");
}

/// The names that operators rely on, with their labels.
const CONTRACT: &str = "item_duration_seconds{queue,outcome} items_in_flight item_retries_total{reason} \
    items_dead_total{reason} items_degraded_total{reason} queue_lag_seconds provider_requests_total{provider,outcome} \
    provider_request_duration_seconds{provider} provider_rate_limit_wait_seconds{provider} \
    provider_circuit_state{provider} provider_circuit_opens_total{provider,reason} provider_cost_usd_total{provider} \
    cache_requests_total{cache,result} fact_check_lookups_total{result} evidence_matches_total{result} \
    channel_corroboration_total{result} verdicts_total{verdict} tiers_total{tier} model_batch_size \
    model_duration_seconds{model} llm_calls_total{purpose,outcome} llm_tokens_total{purpose,direction} \
    evidence_rows_deleted_total broker_reconnects_total outbox_pending db_pool_connections{state}";

#[test]
fn the_contract_is_kept_by_name_and_label() {
    for entry in CONTRACT.split_whitespace() {
        let (name, labels) = entry.split_once('{').unwrap_or((entry, "}"));
        let name = format!("corroborate_{name}");
        let metric = ALL.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name} is missing"));
        let known: Vec<&str> = metric.labels.iter().map(|label| label.name).collect();
        let wanted: Vec<&str> = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty()).collect();
        assert_eq!(known, wanted, "{name}");
    }
}

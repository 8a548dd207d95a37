//! Dashboards and alerts use only existing metrics, labels and values, and they use every metric. A test of the running
//! daemon checks that Prometheus reads them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::catalogue::{ALL, JOBS, Metric, MetricKind, OTHER, Unit};

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

fn dashboards() -> impl Iterator<Item = Value> {
    DASHBOARDS.into_iter().map(|text| serde_json::from_str(text).unwrap())
}

fn all_strings() -> Vec<String> {
    let mut found = Vec::new();
    dashboards().for_each(|dashboard| strings(&dashboard, &mut found));
    found
}

/// Every text that names a metric: the dashboards' strings, and the alert file by rule.
fn expressions() -> Vec<String> {
    let mut found = all_strings();
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
fn every_metric_of_the_catalogue_has_a_panel() {
    let texts = all_strings();
    let used: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| USE.captures_iter(text).filter_map(|used| metric_of(used.get(1)?.as_str())))
        .map(|metric| metric.name)
        .collect();
    for metric in ALL {
        assert!(used.contains(metric.name), "no panel shows {}", metric.name);
    }
}

#[test]
fn the_dashboards_can_be_imported_and_lead_to_each_other() {
    let mut uids = BTreeSet::new();
    for dashboard in dashboards() {
        assert!(uids.insert(dashboard.get("uid").unwrap().to_string()));
        let panels = dashboard.get("panels").unwrap().as_array().unwrap();
        let ids: BTreeSet<u64> = panels.iter().map(|panel| panel.get("id").unwrap().as_u64().unwrap()).collect();
        assert_eq!(ids.len(), panels.len());
        let first_variable = dashboard.pointer("/templating/list/0").unwrap();
        assert_eq!(first_variable.get("type").unwrap(), "datasource");
        assert_eq!(dashboard.pointer("/links/0/tags"), dashboard.get("tags"));
        for panel in panels.iter().filter(|panel| panel.get("type").unwrap() != "row") {
            assert_eq!(panel.pointer("/datasource/uid").unwrap(), "${datasource}");
            assert!(!panel.get("description").unwrap().as_str().unwrap().is_empty());
            assert!(!panel.get("targets").unwrap().as_array().unwrap().is_empty());
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

#[test]
fn an_alert_and_its_section_of_the_runbook_give_the_same_statements() {
    // The files break lines in different places.
    let [alerts, runbook] = [ALERTS, RUNBOOK].map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let is_statement = |text: &&str| text.starts_with("SELECT ") || text.starts_with("UPDATE ");
    let statements: Vec<&str> = alerts.split('`').filter(is_statement).collect();
    assert!(!statements.is_empty());
    for statement in statements {
        assert!(runbook.contains(&format!("`{statement}`")), "the runbook has no `{statement}`");
    }
}

#[test]
fn the_runbook_names_every_piece_of_background_work() {
    let section = RUNBOOK.split("\n### CorroborateJobFails\n").nth(1).unwrap().split("\n### ").next().unwrap();
    for job in JOBS.iter().filter(|job| **job != OTHER) {
        assert!(section.contains(&format!("`{job}`")), "the runbook does not say what {job} does");
    }
}

#[test]
fn a_target_that_is_gone_raises_an_alert() {
    let rule = |name: &str| ALERTS.split("- alert: ").find(|rule| rule.lines().next() == Some(name)).unwrap();
    // Down: the scrape fails. Gone: the target is missing, so nothing is scraped.
    assert!(rule("CorroborateDown").contains(r#"up{job="corroborate"} == 0"#));
    assert!(rule("CorroborateGone").contains(r#"absent(up{job="corroborate"})"#));
}

#[test]
fn no_time_is_beyond_the_last_bucket() {
    let options = crate::config::LoadOptions { file: None, env: Vec::new() };
    let item = crate::config::load(options).unwrap().config.enrichment.max_time.as_secs_f64();
    for metric in ALL {
        if let MetricKind::Histogram(bounds) = metric.kind
            && metric.unit == Unit::Seconds
        {
            let last = bounds.last().copied().unwrap();
            assert!(last >= item, "{} ends at {last} s, where an item may take {item} s", metric.name);
        }
    }
    let stage = ALL.iter().find(|metric| metric.name == "corroborate_stage_duration_seconds").unwrap();
    let MetricKind::Histogram(bounds) = stage.kind else { panic!() };
    assert!(bounds.iter().any(|bound| *bound > item), "a stage that overruns the item's time is seen");
}

#[test]
fn an_unknown_name_would_be_found() {
    assert!(metric_of("corroborate_items_total").is_none());
    assert!(metric_of("corroborate_item_duration_seconds").is_none(), "a histogram has no series of its own name");
    assert!(metric_of("corroborate_item_duration_seconds_bucket").is_some());
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

#[test]
fn names_follow_the_conventions() {
    let mut names = BTreeSet::new();
    for metric in ALL {
        assert!(names.insert(metric.name), "{} is there twice", metric.name);
        assert!(metric.name.starts_with("corroborate_"));
        assert_eq!(metric.name.ends_with("_total"), metric.kind == MetricKind::Counter, "{}", metric.name);
        let base = metric.name.trim_end_matches("_total");
        match metric.unit {
            Unit::Seconds => assert!(base.ends_with("_seconds"), "{} is in seconds", metric.name),
            Unit::Bytes => assert!(base.ends_with("_bytes"), "{} is in bytes", metric.name),
            Unit::Usd => assert!(base.ends_with("_usd"), "{} is in dollars", metric.name),
            Unit::Count => {
                let units = ["_seconds", "_bytes", "_usd", "_ms", "_millis", "_minutes", "_percent"];
                assert!(!units.iter().any(|unit| base.ends_with(unit)), "{}", metric.name);
            }
        }
        assert!(metric.help.ends_with('.') && metric.help.len() > 15, "{} needs a help sentence", metric.name);
        for label in metric.labels {
            assert!(!label.values.is_empty(), "{} of {}", label.name, metric.name);
            let distinct: BTreeSet<&&str> = label.values.iter().collect();
            assert_eq!(distinct.len(), label.values.len(), "{} of {}", label.name, metric.name);
        }
        if let MetricKind::Histogram(bounds) = metric.kind {
            assert!(bounds.is_sorted_by(|a, b| a < b) && bounds.len() <= 24, "{}", metric.name);
        }
    }
}

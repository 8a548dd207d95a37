//! The Prometheus page: installs the recorder, describes the catalogue, and renders the metrics.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Unit as ExportUnit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tokio_util::sync::CancellationToken;

use super::catalogue::{ALL, MICROS, Metric, MetricKind, PROVIDER_COST, Unit};
use super::metrics::record_zeros;

pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Histogram values wait unsorted until upkeep. At 100 items a second with 20 values each, five seconds hold 10,000
/// values (a few hundred kB).
pub const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

static INSTALLED: OnceLock<Exporter> = OnceLock::new();

#[derive(Debug, Clone)]
pub struct Exporter {
    handle: PrometheusHandle,
}

/// Installs the recorder for the process. A second call returns the first exporter.
pub fn install() -> Exporter {
    INSTALLED
        .get_or_init(|| {
            let recorder = recorder();
            let exporter = Exporter { handle: recorder.handle() };
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another metrics recorder is installed; /metrics stays empty");
            }
            describe();
            record_zeros();
            exporter
        })
        .clone()
}

fn recorder() -> PrometheusRecorder {
    let mut builder = PrometheusBuilder::new();
    for metric in ALL {
        if let MetricKind::Histogram(bounds) = metric.kind {
            builder = builder
                .set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), bounds)
                .expect("every histogram of the catalogue has bounds");
        }
    }
    builder.build_recorder()
}

fn describe() {
    for metric in ALL {
        let unit = export_unit(metric.unit);
        match metric.kind {
            MetricKind::Counter => describe_counter!(metric.name, unit, metric.help),
            MetricKind::Gauge => describe_gauge!(metric.name, unit, metric.help),
            MetricKind::Histogram(_) => describe_histogram!(metric.name, unit, metric.help),
        }
    }
}

const fn export_unit(unit: Unit) -> ExportUnit {
    match unit {
        Unit::Seconds => ExportUnit::Seconds,
        Unit::Bytes => ExportUnit::Bytes,
        Unit::Count | Unit::Usd => ExportUnit::Count,
    }
}

impl Exporter {
    pub fn render(&self) -> String {
        in_dollars(&self.handle.render(), &PROVIDER_COST)
    }

    /// Sorts values into buckets. Call it every [`UPKEEP_INTERVAL`], or use [`Exporter::keep_up`].
    pub fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }

    pub async fn keep_up(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(UPKEEP_INTERVAL);
        loop {
            // Both arms are cancel-safe: the next tick replaces a missed one.
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => self.run_upkeep(),
            }
        }
    }
}

/// Converts a counter from millionths to whole units.
fn in_dollars(page: &str, metric: &Metric) -> String {
    let mut shown = String::with_capacity(page.len());
    for line in page.split_inclusive('\n') {
        match line.strip_prefix(metric.name).filter(|rest| rest.starts_with(['{', ' '])).and_then(scaled) {
            Some(rest) => {
                shown.push_str(metric.name);
                shown.push_str(&rest);
            }
            None => shown.push_str(line),
        }
    }
    shown
}

/// `{labels} 5000\n` → `{labels} 0.005\n`
fn scaled(rest: &str) -> Option<String> {
    let (labels, value) = rest.trim_end().rsplit_once(' ')?;
    let micros: f64 = value.parse().ok()?;
    Some(format!("{labels} {}\n", micros / MICROS))
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::Reason;
    use crate::domain::degradation::Degradation;
    use crate::domain::verdict::{Tier, Verdict};
    use crate::telemetry::catalogue as c;
    use crate::telemetry::metrics::{self as record, CircuitState};

    /// Records into a separate recorder and returns the page.
    pub(in crate::telemetry) fn page_of(recording: impl FnOnce()) -> String {
        let recorder = recorder();
        let exporter = Exporter { handle: recorder.handle() };
        ::metrics::with_local_recorder(&recorder, || {
            describe();
            record_zeros();
            recording();
        });
        exporter.run_upkeep();
        exporter.render()
    }

    fn record_everything() {
        let took = Duration::from_millis(20);
        record::item_finished("enrichment_queue", "committed", took);
        record::items_in_flight(3);
        record::item_retried("store_unreachable");
        record::item_dead("not_json");
        record::item_degraded(&[
            Degradation::ProviderOpen("gdelt".into()),
            Degradation::ProviderOpen("brave".into()),
            Degradation::Deadline,
        ]);
        record::stage("judge", took);
        record::queue_lag(took);
        record::worker_paused(true);
        record::intake_braked(true);
        record::reply_refused();
        record::queue_depth("enrichment_queue", 7);
        record::dead_letters(1);
        record::broker_reconnected();
        record::broker_connected(true);
        record::outbox(3, Some(took), 2);
        record::outbox_refused(1);
        record::webhooks(2, Some(took), 1);
        record::webhook_delivered(3);
        record::webhook_failed(2);
        record::webhook_gave_up(1);
        record::provider_request("gdelt", "ok", took);
        record::provider_not_asked("gdelt", "open");
        record::provider_rate_limit_wait("gdelt", took);
        record::provider_circuit_state("gdelt", CircuitState::Open);
        record::provider_circuit_opened("gdelt", "throttled");
        record::provider_cost("brave", 0.005);
        record::provider_cost("brave", 0.005);
        record::provider_cost("brave", f64::NAN);
        record::spend(1.5, 20.0, 100.0, 2000.0);
        record::page_fetched("ok");
        record::page_read(30_000);
        record::feeds(12, 1);
        record::cache_requests("page", "hit", 1);
        record::fact_check_lookup("matched");
        record::evidence_match("corroborated");
        record::channel_corroboration(true);
        record::verdict(Verdict::Supported);
        record::tier(Tier::High);
        record::model_batch("stance", 8, took);
        record::model_waited("stance", took);
        record::llm_call_took("claims", took);
        record::model_entries_dropped("stance", 2);
        record::cache_requests("stance", "hit", 3);
        record::evidence_rows_deleted(5);
        record::db_pools((1, 2, 8), Some((2, 0, 2)));
        record::memory(1 << 28, None);
        record::db_commit(took);
        record::job_run("cleanup", true);
        record::trace_spans("exported", 3);
        record::rejudged(Reason::DomainLists, "changed");
        record::rejudging_due(&[(Reason::Settings, 4)]);
        record::http_request(404, took);
    }

    #[test]
    fn every_metric_of_the_catalogue_can_be_recorded_and_is_described() {
        let page = page_of(record_everything);
        for metric in ALL {
            let kind = match metric.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram(_) => "histogram",
            };
            assert!(page.contains(&format!("# HELP {} {}", metric.name, metric.help)), "{} has no help", metric.name);
            assert!(page.contains(&format!("# TYPE {} {kind}\n", metric.name)), "{} is not recorded", metric.name);
        }
        let recorded: BTreeSet<&str> =
            page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        let known: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(recorded, known);
    }

    #[test]
    fn money_is_shown_in_dollars_and_reasons_count_once() {
        let page = page_of(record_everything);
        assert!(page.contains("corroborate_provider_cost_usd_total{provider=\"brave\"} 0.01\n"), "{page}");
        assert!(page.contains("corroborate_items_degraded_total{reason=\"provider_open\"} 1\n"));
        assert!(page.contains("corroborate_items_degraded_total{reason=\"deadline\"} 1\n"));
        assert!(page.contains(
            "corroborate_item_duration_seconds_bucket{queue=\"enrichment_queue\",outcome=\"committed\",le=\"0.02\"} 1"
        ));
        assert!(page.contains("corroborate_http_requests_total{class=\"4xx\"} 1"));
    }

    #[test]
    fn a_word_outside_its_set_makes_no_new_series() {
        let page = page_of(|| {
            record::item_dead("a sentence somebody sent us");
            record::provider_request("evil.example", "<script>", Duration::ZERO);
        });
        assert!(page.contains("corroborate_items_dead_total{reason=\"other\"} 1"));
        assert!(page.contains("corroborate_provider_requests_total{provider=\"other\",outcome=\"other\"} 1"));
        assert!(!page.contains("evil"));
    }

    #[test]
    fn small_counters_start_at_zero() {
        let page = page_of(|| {});
        for name in
            ["corroborate_verdicts_total{verdict=\"refuted\"} 0", "corroborate_items_dead_total{reason=\"panic\"} 0"]
        {
            assert!(page.contains(name), "{name} is missing");
        }
        assert!(page.lines().count() < 580);
        assert!(!page.contains("corroborate_provider_requests_total{"));
    }

    #[test]
    fn the_domain_words_are_in_the_catalogue() {
        for verdict in Verdict::ALL {
            assert_eq!(c::VERDICTS_TOTAL.label_value("verdict", verdict.as_str()), verdict.as_str());
        }
        for tier in Tier::ALL {
            assert_eq!(c::TIERS_TOTAL.label_value("tier", tier.as_str()), tier.as_str());
        }
        let causes = [
            Degradation::ProviderOpen(String::new()),
            Degradation::ProviderBusy(String::new()),
            Degradation::ProviderFailed(String::new()),
            Degradation::ProviderDisabled(String::new()),
            Degradation::Deadline,
            Degradation::StoreAway(String::new()),
            Degradation::ModelFailed(String::new()),
            Degradation::Budget,
            Degradation::Overload,
            Degradation::NoPageRead,
            Degradation::NoProvider,
        ];
        for cause in causes {
            assert_eq!(c::ITEMS_DEGRADED.label_value("reason", cause.label()), cause.label());
        }
    }

    #[test]
    fn installing_twice_gives_the_same_page() {
        let (one, two) = (install(), install());
        record::broker_reconnected();
        assert!(one.render().contains("corroborate_broker_reconnects_total"));
        assert!(two.render().contains("corroborate_broker_reconnects_total"));
    }
}

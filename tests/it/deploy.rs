//! What `deploy/` ships, and the configuration that explains itself, say what the program understands.
#![cfg(test)]

use std::time::Duration;

use corroborate::broker::AmqpNames;
use corroborate::config::{Config, LoadOptions, load};

const KUBERNETES: &str = include_str!("../../deploy/kubernetes/corroborate.yml");
const KEDA: &str = include_str!("../../deploy/kubernetes/keda.yml");
const PODMONITOR: &str = include_str!("../../deploy/kubernetes/podmonitor.yml");
/// How Prometheus finds the processes: in a cluster without its operator, and in Compose.
const SCRAPES: [&str; 2] =
    [include_str!("../../deploy/kubernetes/prometheus.yml"), include_str!("../../deploy/prometheus.yml")];
const ALERTS: &str = include_str!("../../grafana/alerts.yml");
const COMPOSE: &str = include_str!("../../deploy/compose.yml");
const UNIT: &str = include_str!("../../deploy/corroborate.service");
const DOCKERFILE: &str = include_str!("../../deploy/Dockerfile");
/// What a Postgres with its defaults has for others than its owner: `max_connections` without `superuser_reserved_connections`.
const CONNECTIONS: u32 = 100 - 3;

fn defaults() -> Config {
    load(LoadOptions { file: None, env: Vec::new() }).unwrap().config
}

/// What stands behind a key, the first time.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(key));
    line.unwrap_or_else(|| panic!("{key} is missing")).trim().trim_matches('"')
}

#[test]
fn a_process_is_given_longer_to_end_than_it_takes_to_hand_its_items_back() {
    let longest = defaults().worker.grace + Duration::from_secs(45);
    for (text, key) in
        [(KUBERNETES, "terminationGracePeriodSeconds:"), (COMPOSE, "stop_grace_period:"), (UNIT, "TimeoutStopSec=")]
    {
        let given: u64 = value(text, key).trim_end_matches('s').parse().unwrap();
        assert!(Duration::from_secs(given) > longest, "{key} {given}, where ending may take {longest:?}");
    }
}

#[test]
fn the_settings_of_the_manifests_are_the_programs() {
    let settings = KUBERNETES.split("\ndata:").nth(1).unwrap().split("---").next().unwrap();
    let env: Vec<(String, String)> = settings
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.trim().split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect();
    assert!(env.len() >= 3, "{env:?}");
    load(LoadOptions { file: None, env }).expect("every name is known");
    let names = AmqpNames::default();
    for queue in [&names.important_queue, &names.enrichment_queue, &names.factcheck_queue] {
        assert!(KEDA.contains(&format!("queueName: {queue},")), "{queue} scales nothing");
    }
    assert!(KEDA.contains("max(corroborate_queue_lag_seconds)"));
}

#[test]
fn workers_are_added_long_before_load_is_shed() {
    let lag = KEDA.split("- type: ").find(|trigger| trigger.starts_with("prometheus\n")).unwrap();
    // By the default the age would be divided by the workers there are. Messages are to be: they are counted for each worker.
    assert_eq!(value(lag, "metricType:"), "Value");
    assert_eq!(KEDA.matches("metricType:").count(), 1);
    let threshold = Duration::from_secs(value(lag, "threshold:").parse().unwrap());
    let shed = defaults().enrichment.max_lag;
    assert!(threshold * 2 <= shed, "at twice {threshold:?} there are twice as many workers; load is shed at {shed:?}");
}

#[test]
fn a_rolling_upgrade_of_all_workers_finds_its_connections() {
    let number = |text: &str, key: &str| -> u32 { value(text, key).parse().unwrap() };
    let surge = value(KUBERNETES, "rollingUpdate:").split("maxSurge: ").nth(1).unwrap().split(',').next().unwrap();
    let workers = number(KEDA, "maxReplicaCount:") + surge.parse::<u32>().unwrap();
    let pool = number(KUBERNETES, "CORROBORATE_DATABASE_POOL_SIZE:");
    // One listens.
    let each = pool + defaults().database.read_pool_size + 1;
    // The migration's job has a pool as well.
    let all = workers * each + pool;
    assert!(
        all <= CONNECTIONS,
        "{workers} workers with {each} connections and the migration take {all} of {CONNECTIONS}"
    );
}

#[test]
fn prometheus_finds_the_workers_under_the_job_that_the_alerts_look_for() {
    let job = ALERTS.split("up{job=\"").nth(1).unwrap().split('"').next().unwrap();
    let workers = value(KUBERNETES.split("kind: Deployment").nth(1).unwrap(), "matchLabels:");
    assert_eq!(value(PODMONITOR, "matchLabels:"), workers);
    let label = value(PODMONITOR, "jobLabel:");
    assert!(workers.contains(&format!("{label}: {job},")), "{label} of {workers} names another job than {job}");
    assert!(PODMONITOR.contains("port: http,") && KUBERNETES.contains("- { name: http, containerPort: 8080 }"));
    for scrape in SCRAPES {
        assert_eq!(value(scrape, "- job_name:"), job);
    }
    assert!(SCRAPES[0].contains(&format!("regex: {job};worker;http\n")));
    // Whoever goes by annotations gives them a job of another name, and each figure counts twice.
    assert!(!KUBERNETES.contains("prometheus.io/scrape"));
}

#[test]
fn processes_run_without_rights_that_they_do_not_need() {
    let user = value(DOCKERFILE, "USER");
    assert_eq!(value(KUBERNETES, "runAsUser:"), user);
    for needed in ["runAsNonRoot: true", "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true"] {
        // The migration and the workers.
        assert_eq!(KUBERNETES.matches(needed).count(), 2, "{needed}");
    }
    for probe in ["livenessProbe", "startupProbe"] {
        let path = KUBERNETES.split(probe).nth(1).unwrap();
        assert!(value(path.trim_start_matches(':'), "httpGet:").contains("/healthz"), "{probe}");
    }
    let ready = KUBERNETES.split("readinessProbe:").nth(1).unwrap();
    assert!(value(ready, "httpGet:").contains("/readyz"));
    for hardened in ["NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=\n"] {
        assert!(UNIT.contains(hardened), "{hardened}");
    }
}

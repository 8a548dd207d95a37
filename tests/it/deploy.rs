//! What `deploy/` ships says what the program understands.
#![cfg(test)]

use std::time::Duration;

use corroborate::broker::AmqpNames;
use corroborate::config::{LoadOptions, load};

const KUBERNETES: &str = include_str!("../../deploy/kubernetes/corroborate.yml");
const KEDA: &str = include_str!("../../deploy/kubernetes/keda.yml");
const COMPOSE: &str = include_str!("../../deploy/compose.yml");
const UNIT: &str = include_str!("../../deploy/corroborate.service");
const DOCKERFILE: &str = include_str!("../../deploy/Dockerfile");

/// What stands behind a key, the first time.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(key));
    line.unwrap_or_else(|| panic!("{key} is missing")).trim().trim_matches('"')
}

#[test]
fn a_process_is_given_longer_to_end_than_it_takes_to_hand_its_items_back() {
    let grace = load(LoadOptions { file: None, env: Vec::new() }).unwrap().config.worker.grace;
    let longest = grace + Duration::from_secs(30);
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

//! A gate whose key changes in use.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::HttpClient;
use super::error::AskError;
use super::fleet::Fleet;
use super::gate::Gate;
use super::identity::Identity;
use super::ledger::LocalLedger;
use super::observer::NoObserver;
use super::spend::{AskMeter, Asker};
use super::terms::{GateSettings, GateState};
use crate::config::ApiKey;
use crate::domain::{Clock, SystemClock};

/// Gates of two processes with one ledger, each with its own copy of the key.
fn gates(keys: [&ApiKey; 2]) -> [Gate; 2] {
    let settings = GateSettings {
        name: "test",
        rpm: 60_000,
        max_wait: Duration::from_mins(5),
        timeout: Duration::from_secs(5),
        max_bytes: 1024,
        max_attempts: 1,
        cooldown: Duration::from_mins(10),
        failures_to_open: 3,
        daily_limit: None,
        cost_usd: 0.0,
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ledger = Arc::new(LocalLedger::new(Arc::clone(&clock)));
    keys.map(|key| {
        let identity = Identity::new("https://api.example/", Some(key));
        let fleet = Fleet { identity, ..Fleet::at(Arc::clone(&ledger) as _) };
        let http = HttpClient::live("corroborate-test").unwrap();
        Gate::in_fleet(settings.clone(), http, Arc::clone(&clock), Arc::new(NoObserver), fleet)
    })
}

async fn call(gate: &Gate, outcome: impl Fn() -> Result<(), AskError>) -> Result<(), AskError> {
    let meter = AskMeter::default();
    let asker = Asker { until: Instant::now() + Duration::from_secs(1), meter: &meter };
    gate.run(asker, || std::future::ready(outcome())).await
}

fn refused() -> Result<(), AskError> {
    Err(AskError::BadKey { detail: "no such key".to_owned() })
}

#[tokio::test]
async fn a_new_key_is_tried_at_once_and_the_old_one_stays_refused_where_it_is_in_use() {
    let (here, there) = (ApiKey::from("s3cret-old"), ApiKey::from("s3cret-old"));
    let [gate, other] = gates([&here, &there]);
    assert!(call(&gate, refused).await.is_err());
    assert_eq!(gate.status().state, GateState::Disabled);
    assert_eq!(call(&gate, || Ok(())).await.unwrap_err().label(), "disabled");

    assert!(here.replace(&"s3cret-new".into()));
    assert_eq!(gate.status().state, GateState::Ready, "nobody has to be told");
    assert!(call(&gate, || Ok(())).await.is_ok());
    assert_eq!(call(&other, || Ok(())).await.unwrap_err().label(), "disabled", "it still has the key that was refused");
    assert!(there.replace(&"s3cret-new".into()));
    assert!(call(&other, || Ok(())).await.is_ok());
}

#[tokio::test]
async fn what_the_old_key_met_with_is_not_held_against_the_new_one() {
    let key = ApiKey::from("s3cret-old");
    let [gate, _] = gates([&key, &key]);
    let late = call(&gate, || {
        assert!(key.replace(&"s3cret-new".into()));
        refused()
    });
    assert_eq!(late.await.unwrap_err().label(), "bad_key");
    assert_eq!(gate.status().state, GateState::Ready);
    assert!(call(&gate, || Ok(())).await.is_ok());
    assert!(call(&gate, refused).await.is_err());
    assert_eq!(gate.status().state, GateState::Disabled);
}

//! A gate whose key changes in use.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::HttpClient;
use super::call_control::Fleet;
use super::error::AskError;
use super::gate::{Gate, GateSettings};
use super::identity::Identity;
use super::observer::NoObserver;
use super::spend::{AskMeter, Asker};
use crate::config::ApiKey;
use crate::domain::SystemClock;
use crate::store::GateState;

fn gate_with(key: &ApiKey) -> Gate {
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
    let identity = Identity::new("https://api.example/", Some(key));
    let fleet = Fleet { identity, ..Fleet::default() };
    let http = HttpClient::live("corroborate-test").unwrap();
    Gate::in_fleet(settings, http, Arc::new(SystemClock), Arc::new(NoObserver), fleet)
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
async fn a_new_key_is_tried_at_once() {
    let key = ApiKey::from("s3cret-old");
    let gate = gate_with(&key);
    assert!(call(&gate, refused).await.is_err());
    assert_eq!(gate.status().state, GateState::Disabled);
    assert_eq!(call(&gate, || Ok(())).await.unwrap_err().label(), "disabled");

    assert!(key.replace(&"s3cret-new".into()));
    assert_eq!(gate.status().state, GateState::Ready, "nobody has to be told");
    assert!(call(&gate, || Ok(())).await.is_ok());
}

#[tokio::test]
async fn what_the_old_key_met_with_is_not_held_against_the_new_one() {
    let key = ApiKey::from("s3cret-old");
    let gate = gate_with(&key);
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

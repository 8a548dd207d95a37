//! `cleanup`: deletes expired rows now.

use std::sync::Arc;

use serde_json::{Value, json};

use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach};
use crate::config::Config;
use crate::domain::SystemClock;
use crate::domain::clock::Clock as _;
use crate::outbound::Method;

pub(super) async fn run(config: Arc<Config>, dry_run: bool, output: Output) -> Result<(), Failure> {
    let cleaned: Value = match reach::store(&config).await? {
        Reach::Here(opened) => {
            let now = SystemClock.now();
            let cleaned =
                if dry_run { opened.store.cleanup_preview(now).await } else { opened.store.cleanup(now).await };
            opened.close().await?;
            serde_json::to_value(cleaned?)?
        }
        Reach::Daemon(daemon) => {
            daemon.call(Method::POST, "/api/cleanup", Some(&json!({ "dry_run": dry_run }))).await?
        }
    };
    if output.json {
        return output.value(&cleaned);
    }
    let count = |key: &str| cleaned.get(key).and_then(Value::as_i64).unwrap_or(0);
    output.text(&format!(
        "{}: {} item(s), {} page(s) with {} sentence(s), {} cached fact-check and {} search answer(s), \
         {} row(s) of feeds, {} of providers and {} of webhooks\n",
        if dry_run { "would be removed" } else { "removed" },
        count("items"),
        count("evidence_sources"),
        count("evidence_claims"),
        count("fact_check_cache"),
        count("answers"),
        count("feeds"),
        count("provider_state"),
        count("webhook_messages"),
    ))
}

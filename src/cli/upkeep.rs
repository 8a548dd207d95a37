//! `migrate` and `cleanup`: upkeep of the store.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::Api;
use super::failure::Failure;
use super::output::Output;
use crate::app::{OpenStore, Upkeep};
use crate::config::Config;
use crate::outbound::Method;

/// Brings the database schema up to date.
pub(super) async fn migrate(config: &Config, output: Output) -> Result<(), Failure> {
    let opened = OpenStore::open(config, Upkeep::None).await?;
    let report = opened.store.migrate().await;
    opened.close().await?;
    let report = report?;
    if output.json {
        return output.value(&json!({ "applied": report.applied, "version": report.version }));
    }
    output.text(&match report.applied {
        0 => format!("the schema is up to date (version {})\n", report.version),
        applied => format!("{applied} migration(s) applied; the schema is at version {}\n", report.version),
    })
}

/// Deletes expired rows now.
pub(super) async fn cleanup(config: Arc<Config>, dry_run: bool, output: Output) -> Result<(), Failure> {
    let api = Api::administer(&config, false).await?;
    let cleaned = api.call(Method::POST, "/api/cleanup", Some(&json!({ "dry_run": dry_run }))).await;
    let cleaned = api.close_after(cleaned.map_err(Failure::from)).await?;
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

//! `migrate`: brings the database schema up to date.

use super::failure::Failure;
use super::output::Output;
use crate::app::{OpenStore, Upkeep};
use crate::config::Config;

pub(super) async fn run(config: &Config, output: Output) -> Result<(), Failure> {
    let opened = OpenStore::open(config, Upkeep::None).await?;
    let report = opened.store.migrate().await;
    opened.close().await?;
    let report = report?;
    if output.json {
        return output.value(&serde_json::json!({ "applied": report.applied, "version": report.version }));
    }
    output.text(&match report.applied {
        0 => format!("the schema is up to date (version {})\n", report.version),
        applied => format!("{applied} migration(s) applied; the schema is at version {}\n", report.version),
    })
}

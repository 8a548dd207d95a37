//! `enqueue`: items from a file into the queue.

use std::path::Path;
use std::sync::Arc;

use super::arguments::QueueChoice;
use super::failure::Failure;
use super::lines;
use super::output::Output;
use super::reach::{self, Reach};
use crate::app::Purpose;
use crate::broker::QueueName;
use crate::config::Config;
use crate::outbound::Method;

/// Messages put into the queue with one call.
const BATCH: usize = 200;

pub(super) async fn run(config: Arc<Config>, file: &Path, queue: QueueChoice, output: Output) -> Result<(), Failure> {
    let lines = lines::read(file)?;
    let bad = lines::report_bad(&lines, output);
    let bodies: Vec<Vec<u8>> = lines.into_iter().filter(|line| line.item.is_ok()).map(|line| line.bytes).collect();
    let name = match queue {
        QueueChoice::Enrichment => QueueName::Enrichment,
        QueueChoice::Factcheck => QueueName::Factcheck,
    };
    match reach::app(&config, Purpose::Command).await? {
        Reach::Here(app) => {
            let mut queued = Ok(());
            for batch in bodies.chunks(BATCH) {
                queued = app.queue.publish_items(name, batch).await;
                if queued.is_err() {
                    break;
                }
            }
            app.close().await?;
            queued?;
        }
        Reach::Daemon(daemon) => {
            let path = format!(
                "/api/items?queue={}",
                if matches!(name, QueueName::Factcheck) { "factcheck" } else { "enrichment" }
            );
            for batch in bodies.chunks(BATCH) {
                let body = batch.join(&b'\n');
                daemon.send(Method::POST, &path, Some((body, "application/x-ndjson"))).await?;
            }
        }
    }
    output.hint(&format!("{} item(s) queued, {bad} bad line(s)", bodies.len()));
    if bad > 0 {
        return Err(Failure::failed(format!("{bad} line(s) were no items; mend them and enqueue them again")));
    }
    Ok(())
}

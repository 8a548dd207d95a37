//! `enqueue`: puts items from a file into the queue.
//!
//! Bad lines are reported and left out. If a daemon holds the data folder, the command uses its API.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::QueueChoice;
use super::failure::Failure;
use super::lines;
use super::output::Output;
use super::reach::{self, Reach};
use crate::app::Purpose;
use crate::broker::QueueName;
use crate::config::Config;
use crate::outbound::Method;
use crate::outbound::local::{LocalDaemon, LocalError};

/// Messages and bytes per call; well below the daemon's body limit.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Pause and number of retries after the daemon's rate limit.
const SLOWER: Duration = Duration::from_secs(2);
const PATIENCE: usize = 60;

pub(super) async fn run(config: Arc<Config>, file: &Path, queue: QueueChoice, output: Output) -> Result<(), Failure> {
    let lines = lines::read(file)?;
    let bad = lines::report_bad(&lines, output);
    let bodies: Vec<Vec<u8>> = lines.into_iter().filter(|line| line.item.is_ok()).map(|line| line.bytes).collect();
    let name = match queue {
        QueueChoice::Important => QueueName::Important,
        QueueChoice::Enrichment => QueueName::Enrichment,
        QueueChoice::Factcheck => QueueName::Factcheck,
    };
    match reach::app(&config, Purpose::Command).await? {
        Reach::Here(app) => {
            let mut queued = Ok(());
            for batch in batches(&bodies) {
                queued = app.queue.publish_items(name, batch).await;
                if queued.is_err() {
                    break;
                }
            }
            app.close().await?;
            queued?;
        }
        Reach::Daemon(daemon) => {
            let path = format!("/api/items?queue={name}");
            for batch in batches(&bodies) {
                send(&daemon, &path, &batch.join(&b'\n')).await?;
            }
        }
    }
    output.hint(&format!("{} item(s) queued, {bad} bad line(s)", bodies.len()));
    if bad > 0 {
        return Err(Failure::failed(format!("{bad} line(s) were no items; mend them and enqueue them again")));
    }
    Ok(())
}

/// Groups that fit into one call.
fn batches(bodies: &[Vec<u8>]) -> Vec<&[Vec<u8>]> {
    let mut batches = Vec::new();
    let mut rest = bodies;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest
            .iter()
            .take(BATCH)
            .take_while(|body| {
                bytes += body.len() + 1;
                bytes <= BATCH_BYTES
            })
            .count();
        // A message is at most a quarter of the limit.
        let (batch, others) = rest.split_at(fits.max(1));
        batches.push(batch);
        rest = others;
    }
    batches
}

/// Retries while the daemon limits the rate.
async fn send(daemon: &LocalDaemon, path: &str, body: &[u8]) -> Result<(), Failure> {
    for _ in 0..PATIENCE {
        match daemon.send(Method::POST, path, Some((body.to_vec(), "application/x-ndjson"))).await {
            Ok(_accepted) => return Ok(()),
            Err(LocalError::Refused { status: 429, .. }) => tokio::time::sleep(SLOWER).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::unavailable("the daemon takes no more items for now; run the rest again later"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_bounded_by_messages_and_by_bytes_and_none_is_lost() {
        let small = vec![vec![b'x'; 10]; 450];
        assert_eq!(batches(&small).iter().map(|batch| batch.len()).collect::<Vec<_>>(), [200, 200, 50]);
        let large = vec![vec![b'x'; 1024 * 1024]; 7];
        assert_eq!(batches(&large).iter().map(|batch| batch.len()).collect::<Vec<_>>(), [3, 3, 1]);
        assert!(batches(&[]).is_empty());
    }
}

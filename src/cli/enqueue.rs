//! `enqueue`: puts items from a file into the queue. Bad lines are reported and left out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::api::{Api, ApiError};
use super::arguments::QueueChoice;
use super::failure::Failure;
use super::lines;
use super::output::Output;
use crate::broker::QueueName;
use crate::config::Config;
use crate::outbound::Method;

/// Messages and bytes per call; well below the API's body limit.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Pause and number of attempts after the daemon's rate limit.
const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(2);
const MAX_ATTEMPTS: usize = 60;

pub(super) async fn run(config: Arc<Config>, file: &Path, queue: QueueChoice, output: Output) -> Result<(), Failure> {
    let lines = lines::read(file)?;
    let bad = lines::report_bad(&lines, output);
    let bodies: Vec<Vec<u8>> = lines.into_iter().filter(|line| line.item.is_ok()).map(|line| line.bytes).collect();
    let name = match queue {
        QueueChoice::Important => QueueName::Important,
        QueueChoice::Enrichment => QueueName::Enrichment,
        QueueChoice::Factcheck => QueueName::Factcheck,
    };
    let api = Api::administer(&config, true).await?;
    let sent = send_all(&api, &format!("/api/items?queue={name}"), &bodies).await;
    api.close_after(sent).await?;
    output.hint(&format!("{} item(s) queued, {bad} bad line(s)", bodies.len()));
    if bad > 0 {
        return Err(Failure::failed(format!("{bad} line(s) were no items; correct them and enqueue them again")));
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

async fn send_all(api: &Api, path: &str, bodies: &[Vec<u8>]) -> Result<(), Failure> {
    for batch in batches(bodies) {
        send(api, path, &batch.join(&b'\n')).await?;
    }
    Ok(())
}

/// Retries while the daemon limits the rate.
async fn send(api: &Api, path: &str, body: &[u8]) -> Result<(), Failure> {
    for _ in 0..MAX_ATTEMPTS {
        match api.send(Method::POST, path, Some((body.to_vec(), "application/x-ndjson"))).await {
            Ok(_accepted) => return Ok(()),
            Err(ApiError::Refused { status: 429, .. }) => tokio::time::sleep(RATE_LIMIT_PAUSE).await,
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

//! The end of a pause: the store is asked until it is back.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::delivery::Bench;
use super::pause::Probe;

/// The wait before the store is asked for the first time; it doubles after each failure.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait: a store that is back is found within it.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// An answer that takes longer is none.
const PROBE_PATIENCE: Duration = Duration::from_secs(10);

/// Ends each pause when the store is back. Runs until `stop`.
pub(super) async fn end_pauses(bench: Arc<Bench>, stop: CancellationToken) {
    loop {
        // Both arms only wait.
        let why = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            why = bench.pause.begun() => why,
        };
        let since = Instant::now();
        tracing::warn!(
            why,
            "the store is away; nothing is taken from the queue until it is back, and no attempt counts"
        );
        bench.parts.observer.paused(true);
        let waiting = async {
            bench.parts.queue.pause_receiving(true).await;
            wait_for_the_store(&bench.parts.probe).await;
        };
        // Dropping it halfway is harmless: what was fetched and not handed back comes again when the queue is closed, and a
        // probe writes nothing that matters.
        let back = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = waiting => true,
        };
        if !back {
            return;
        }
        bench.parts.queue.pause_receiving(false).await;
        bench.parts.observer.paused(false);
        bench.pause.end();
        tracing::info!(after = ?since.elapsed(), "the store is back; work goes on");
    }
}

async fn wait_for_the_store(probe: &Probe) {
    // Short at first: a pool that was busy for a moment looks like a store that is away.
    let mut wait = FIRST_WAIT;
    loop {
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
        match timeout(PROBE_PATIENCE, probe()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::info!(error, "the store is still away"),
            Err(_elapsed) => tracing::info!("the store does not answer"),
        }
    }
}

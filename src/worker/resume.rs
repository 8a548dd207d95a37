//! Ends pauses: probes an unavailable store until it is back, and tries items one by one after a pause of the brake.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::delivery::WorkerContext;
use super::pause::{PauseReason, Probe};

/// The delay before the first probe; it doubles after each failure.
const FIRST_WAIT: Duration = Duration::from_secs(1);

const LONGEST_WAIT: Duration = Duration::from_secs(15);

const PROBE_PATIENCE: Duration = Duration::from_secs(10);

/// Ends each pause, until `stop`.
pub(super) async fn end_pauses(bench: Arc<WorkerContext>, stop: CancellationToken) {
    loop {
        let reason = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            reason = bench.pause.begun() => reason,
        };
        let pause_over = async {
            match &reason {
                PauseReason::StoreAway(why) => wait_for_store(&bench, why).await,
                PauseReason::Failing { label, failures, delay } => {
                    wait_for_brake(&bench, label, *failures, *delay).await;
                }
            }
        };
        // Cancellation is harmless: an unreturned delivery comes again when the queue is closed, and a probe writes
        // nothing important.
        let is_over = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = pause_over => true,
        };
        if !is_over {
            return;
        }
    }
}

async fn wait_for_store(bench: &WorkerContext, why: &str) {
    let since = Instant::now();
    tracing::warn!(why, "store unavailable; intake paused, no attempt counted");
    bench.parts.observer.paused(true);
    bench.parts.queue.pause_receiving(true).await;
    poll_store(&bench.parts.probe).await;
    bench.parts.queue.pause_receiving(false).await;
    bench.parts.observer.paused(false);
    bench.pause.store_is_back(bench.brake.is_engaged());
    tracing::info!(after = ?since.elapsed(), "store available again; work resumed");
}

/// Waits for the delay, then admits one item; its outcome decides what follows.
async fn wait_for_brake(bench: &WorkerContext, label: &str, failures: usize, delay: Duration) {
    tracing::error!(label, failures, ?delay, "intake paused: recent items failed with one error");
    bench.parts.queue.pause_receiving(true).await;
    sleep(delay).await;
    bench.parts.queue.pause_receiving(false).await;
    tracing::info!(label, "intake pause ended; trying items one by one");
    bench.pause.offer_one();
}

async fn poll_store(probe: &Probe) {
    // Short at first, because a busy pool looks like an unavailable store.
    let mut wait = FIRST_WAIT;
    loop {
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
        match timeout(PROBE_PATIENCE, probe()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::info!(error, "store still unavailable"),
            Err(_elapsed) => tracing::info!("store does not respond"),
        }
    }
}

//! The end of a pause: a store that is away is asked until it is back, after the brake's pause items are tried one by one.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::delivery::Bench;
use super::pause::{PauseReason, Probe};

/// The wait before the store is asked for the first time; it doubles after each failure.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait: a store that is back is found within it.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// An answer that takes longer is none.
const PROBE_PATIENCE: Duration = Duration::from_secs(10);

/// Ends each pause: that of a store which is away when it is back, that of the brake by trying items one by one. Runs until `stop`.
pub(super) async fn end_pauses(bench: Arc<Bench>, stop: CancellationToken) {
    loop {
        // Both arms only wait.
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
        // Dropping it halfway is harmless: what was fetched and not handed back comes again when the queue is closed, and a
        // probe writes nothing that matters.
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

/// Waits until the store is back, then resumes intake.
async fn wait_for_store(bench: &Bench, why: &str) {
    let since = Instant::now();
    tracing::warn!(why, "the store is away; nothing is taken from the queue until it is back, and no attempt counts");
    bench.parts.observer.paused(true);
    bench.parts.queue.pause_receiving(true).await;
    poll_store(&bench.parts.probe).await;
    bench.parts.queue.pause_receiving(false).await;
    bench.parts.observer.paused(false);
    bench.pause.store_is_back(bench.brake.is_engaged());
    tracing::info!(after = ?since.elapsed(), "the store is back; work goes on");
}

/// Takes nothing for the delay, then lets one item in. Its end decides what follows.
async fn wait_for_brake(bench: &Bench, label: &str, failures: usize, delay: Duration) {
    tracing::error!(label, failures, ?delay, "intake paused: recent items failed with one error");
    bench.parts.queue.pause_receiving(true).await;
    sleep(delay).await;
    bench.parts.queue.pause_receiving(false).await;
    tracing::info!(label, "brake pause ended; trying items one by one");
    bench.pause.offer_one();
}

async fn poll_store(probe: &Probe) {
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

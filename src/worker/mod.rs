//! The worker: takes deliveries, processes each, and settles it by its outcome.
//!
//! 1. A permit comes first, then a delivery, so nothing is fetched without capacity.
//! 2. No delivery is fetched while the store is unavailable (`pause`) or recent items failed with one error (`brake`).
//! 3. [`ItemProcessor`] processes the item; [`overload`] decides which items are shed.
//! 4. [`disposition()`] decides whether a failed item is retried.
//!
//! The worker never queries a provider, writes a row or judges a claim. An item that panics becomes a dead letter. A
//! panic of the worker itself ends [`run`] with an error and so the process, because a restart is better than silently
//! lost capacity.
//!
//! To add an outcome: add a labelled variant to [`Outcome`], an arm to [`disposition()`] and a row to its test table.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::broker::{Delivery, Observer, Queue, QueueError, QueueName};
use crate::domain::verdict::Phase;
use crate::domain::{Clock, Item};

mod allowance;
mod brake;
mod delivery;
mod disposition;
mod in_flight;
mod lag;
mod notice;
pub mod overload;
mod pause;
mod resume;
#[cfg(test)]
mod tests;

pub use self::allowance::{Allowance, OwnAllowance};
pub use self::brake::BrakePolicy;
pub use self::disposition::{Outcome, RetryPolicy, disposition};
pub use self::notice::{Announcer, FAILED_KEY, Notice, NoticeKind, SKIPPED_KEY, announce_over};
pub use self::overload::{Load, OverloadLimits, OverloadPolicy};
pub use self::pause::{IntakeStatus, Probe};

use self::brake::Brake;
use self::delivery::WorkerContext;
use self::in_flight::InFlight;
use self::lag::Lag;
use self::overload::Overload;
use self::pause::Pause;
use self::resume::end_pauses;

/// Time to settle the returned deliveries after the grace; then they are left to the broker.
const HAND_BACK_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub item: Item,
    /// The most work that may be done for the item.
    pub phase: Phase,
    pub message_id: Option<String>,
    pub reply_to: Option<String>,
    /// The message names a reply queue that is not allowed.
    pub reply_refused: bool,
    pub correlation_id: Option<String>,
    pub sent_at: Option<DateTime<Utc>>,
    /// The producer's `traceparent`, unchecked.
    pub traceparent: Option<String>,
    pub attempts: u32,
    /// The queue delivered it before, so its result may already be committed.
    pub redelivered: bool,
    /// [`Load::Degrade`] runs Phase 1 only and adds `overload` to the result.
    pub load: Load,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessOutcome {
    Committed,
    /// The same message was processed before; nothing changed.
    AlreadyDone,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// A retry may help.
    #[error("{label}: {detail}")]
    Transient { label: &'static str, detail: String },
    /// The store is unavailable. Work pauses until it returns, and the attempt does not count.
    #[error("{label}: {detail}")]
    Away { label: &'static str, detail: String },
    /// A retry cannot help.
    #[error("{label}: {detail}")]
    Permanent { label: &'static str, detail: String },
}

/// Processes one item. Error labels come from a closed set. It must survive cancellation at any await and a second call
/// for the same item.
pub type ItemProcessor = Arc<dyn Fn(Work) -> BoxFuture<'static, Result<ProcessOutcome, ProcessError>> + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSettings {
    /// Items processed at the same time, at least 1.
    pub concurrency: usize,
    /// Time that running items have after the stop signal.
    pub grace: Duration,
    /// Maximum time of one item, far beyond its own deadline; it frees a permit that hangs.
    pub item_limit: Duration,
    pub retry: RetryPolicy,
    pub brake: BrakePolicy,
    pub overload: OverloadLimits,
    pub poll_every: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            concurrency: 16,
            grace: Duration::from_secs(30),
            item_limit: Duration::from_mins(5),
            retry: RetryPolicy::default(),
            brake: BrakePolicy::default(),
            overload: OverloadLimits::default(),
            poll_every: Duration::from_secs(2),
        }
    }
}

#[derive(Clone)]
pub struct WorkerParts {
    pub queue: Arc<dyn Queue>,
    pub process: ItemProcessor,
    pub announce: Announcer,
    pub probe: Probe,
    /// The number of items that all processes may shed under overload.
    pub allowance: Arc<dyn Allowance>,
    pub clock: Arc<dyn Clock>,
    pub observer: Arc<dyn Observer>,
    pub status: IntakeStatus,
}

impl fmt::Debug for WorkerParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerParts").field("queue", &self.queue).finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A worker task panicked outside an item.
    #[error("a worker task crashed, which is a defect; please report it: {detail}")]
    Crashed { detail: String },
    #[error("the queue consumer stopped: {0}; check the broker, then restart")]
    Queue(#[source] QueueError),
}

/// Runs until `shutdown`, lets running items finish within the grace, and requeues the rest. The caller closes the
/// queue, which can still settle and publish.
///
/// # Errors
/// If a worker task crashed or another part closed the queue; the process should then exit with an error.
pub async fn run(
    settings: WorkerSettings,
    parts: WorkerParts,
    shutdown: CancellationToken,
    tracker: TaskTracker,
) -> Result<(), WorkerError> {
    let queue = Arc::clone(&parts.queue);
    let bench = Arc::new(WorkerContext {
        overload: Overload::new(settings.overload, Arc::clone(&parts.allowance)),
        brake: Brake::new(settings.brake.clone()),
        pause: Pause::new(parts.status.clone()),
        lag: Lag::default(),
        hand_back: CancellationToken::new(),
        in_flight: InFlight::default(),
        settings,
        parts,
    });
    let mut tasks = JoinSet::new();
    // A separate token, because counting also ends if taking ends without a shutdown.
    let counting = shutdown.child_token();
    tasks.spawn(tracker.track_future(count_queues(Arc::clone(&bench), counting.clone())));
    tasks.spawn(tracker.track_future(end_pauses(Arc::clone(&bench), counting.clone())));
    let taken = take(&bench, &mut tasks, &shutdown, &tracker).await;
    counting.cancel();
    queue.stop_receiving();
    let drained = drain(&bench, tasks).await;
    taken.and(drained)
}

async fn take(
    bench: &Arc<WorkerContext>,
    tasks: &mut JoinSet<()>,
    shutdown: &CancellationToken,
    tracker: &TaskTracker,
) -> Result<(), WorkerError> {
    let permits = Arc::new(Semaphore::new(bench.settings.concurrency.max(1)));
    loop {
        let permit = loop {
            // Every arm only waits; a permit that was not returned was not taken.
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                Some(ended) = tasks.join_next() => crash(ended)?,
                permit = Arc::clone(&permits).acquire_owned() => break permit,
            }
        };
        let Ok(permit) = permit else { return Ok(()) };
        let admitted = loop {
            // All arms are cancel-safe. The value of `admit` is used because its arm ends the loop.
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                Some(ended) = tasks.join_next() => crash(ended)?,
                admitted = bench.pause.admit() => break admitted,
            }
        };
        // Kept across the inner loop, so that it is dropped only at shutdown.
        let mut receiving = bench.parts.queue.receive();
        let delivery = loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                Some(ended) = tasks.join_next() => crash(ended)?,
                delivery = &mut receiving => break delivery,
            }
        };
        drop(receiving);
        let delivery: Delivery = match delivery {
            Ok(delivery) => delivery,
            Err(_closed) if shutdown.is_cancelled() => return Ok(()),
            Err(error) => return Err(WorkerError::Queue(error)),
        };
        let bench = Arc::clone(bench);
        let confirmed = bench.pause.confirm(admitted);
        tasks.spawn(tracker.track_future(async move {
            match confirmed {
                Some(admitted) => bench.handle(delivery, admitted).await,
                None => bench.return_unused(&delivery).await,
            }
            drop(permit);
        }));
    }
}

async fn drain(bench: &WorkerContext, mut tasks: JoinSet<()>) -> Result<(), WorkerError> {
    let mut result = Ok(());
    let mut finish = async |tasks: &mut JoinSet<()>| {
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = crash(ended) {
                result = Err(error);
            }
        }
    };
    if timeout(bench.settings.grace, finish(&mut tasks)).await.is_err() {
        let left = bench.in_flight.now();
        tracing::info!(items = left, "grace period over; returning items to the queue");
        bench.hand_back.cancel();
        if timeout(HAND_BACK_PATIENCE, finish(&mut tasks)).await.is_err() {
            tracing::warn!("some items could not be returned; the queue redelivers them");
        }
    }
    result
}

/// Returns an error for a task that panicked. An aborted task ended with its runtime.
fn crash(ended: Result<(), JoinError>) -> Result<(), WorkerError> {
    match ended {
        Err(error) if error.is_panic() => Err(WorkerError::Crashed { detail: error.to_string() }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Counts the queues at intervals for overload decisions and metrics.
async fn count_queues(bench: Arc<WorkerContext>, stop: CancellationToken) {
    let mut was_over = [false; QueueName::ALL.len()];
    loop {
        // Read the number of shed items before the count: items shed meanwhile then reduce the excess instead of adding
        // to it.
        let counted = async {
            let shed = bench.overload.shed().await;
            (shed, bench.parts.queue.depth().await)
        };
        let (shed, depth) = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            counted = counted => counted,
        };
        match depth {
            Ok(depth) => {
                bench.parts.observer.depth(depth);
                bench.lag.counted(&depth, bench.parts.clock.now());
                for (queue, was_over) in QueueName::ALL.into_iter().zip(&mut was_over) {
                    let waiting = depth.of(queue);
                    let over = bench.overload.look(queue, waiting);
                    if over != *was_over {
                        let policy = bench.settings.overload.policy;
                        tracing::warn!(%queue, waiting, over, ?policy, "overload state changed");
                    }
                    *was_over = over;
                }
                bench.overload.allow(shed, bench.settings.poll_every).await;
            }
            Err(error) => tracing::debug!(%error, "counting queues failed"),
        }
        bench.parts.observer.lag(bench.lag.look(bench.parts.clock.now()));
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(bench.settings.poll_every) => {}
        }
    }
}

//! The worker: takes deliveries, has each worked on, and settles it by what came of it.
//!
//! A permit first, then a delivery: nothing is fetched that nobody has time for, nor while the store is away or recent
//! items failed with one error (`pause`, `brake`).
//! What is done with an item is a function handed in ([`Process`]); this room never asks a provider, writes a row or judges a
//! claim. [`disposition()`] alone decides whether something is tried again, [`overload`] alone what is shed.
//!
//! An item that panics is given up, and the worker goes on. A panic of the worker's own code ends [`run`] with an error,
//! and the process with it: a daemon that silently works with fewer hands is worse than one that is restarted.
//!
//! To add an outcome: a variant of [`Outcome`] with its label, and its line in [`disposition()`] and the table of its test.

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
pub use self::notice::{Announce, FAILED_KEY, Notice, NoticeKind, SKIPPED_KEY, announce_over};
pub use self::overload::{Load, OverloadLimits, OverloadPolicy};
pub use self::pause::{IntakeStatus, Probe};

use self::brake::Brake;
use self::delivery::Bench;
use self::in_flight::InFlight;
use self::lag::Lag;
use self::overload::Overload;
use self::pause::Pause;
use self::resume::end_pauses;

/// After the grace everything is handed back; settling that may take this long before it is left to the broker.
const HAND_BACK_PATIENCE: Duration = Duration::from_secs(5);

/// One item to be worked on.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub item: Item,
    /// The most that may be done for it.
    pub phase: Phase,
    pub message_id: Option<String>,
    pub reply_to: Option<String>,
    /// The message names a queue that may get no answer.
    pub reply_refused: bool,
    pub correlation_id: Option<String>,
    /// When the message was sent.
    pub sent_at: Option<DateTime<Utc>>,
    /// The producer's trace, unchecked.
    pub traceparent: Option<String>,
    /// How often it was tried before.
    pub attempts: u32,
    /// The queue handed it out before: what came of it may be committed already.
    pub redelivered: bool,
    /// With [`Load::Degrade`] Phase 1 only, and the result says `overload`.
    pub load: Load,
}

/// What was done. In each case all of it is committed, with what is to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processed {
    Committed,
    /// The same message was done before: nothing changed.
    AlreadyDone,
}

/// Why an item could not be done. Nothing of it is committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// Trying again later may help.
    #[error("{label}: {detail}")]
    Transient { label: &'static str, detail: String },
    /// The store is away, whatever the item: work is paused until it is back, and no attempt counts.
    #[error("{label}: {detail}")]
    Away { label: &'static str, detail: String },
    /// Trying again cannot help.
    #[error("{label}: {detail}")]
    Permanent { label: &'static str, detail: String },
}

/// Does one item. Labels of its errors come from a closed set. It must bear being dropped at any await and being called
/// again for the same item.
pub type Process = Arc<dyn Fn(Work) -> BoxFuture<'static, Result<Processed, ProcessError>> + Send + Sync>;

/// How the worker works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSettings {
    /// Items worked on at the same time, at least 1.
    pub concurrency: usize,
    /// How long items may go on after the stop signal.
    pub grace: Duration,
    /// Longest time any item may take, far beyond its own deadline: it frees a hand that hangs.
    pub item_limit: Duration,
    pub retry: RetryPolicy,
    pub brake: BrakePolicy,
    pub overload: OverloadLimits,
    /// How often the queues are counted.
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

/// What the worker works with.
#[derive(Clone)]
pub struct WorkerParts {
    pub queue: Arc<dyn Queue>,
    pub process: Process,
    /// Tells upstream of items that get no result.
    pub announce: Announce,
    /// Asked whether the store is back.
    pub probe: Probe,
    /// What may be shed under overload, by all processes of the queue together.
    pub allowance: Arc<dyn Allowance>,
    pub clock: Arc<dyn Clock>,
    pub observer: Arc<dyn Observer>,
    /// Says why no items are taken.
    pub status: IntakeStatus,
}

impl fmt::Debug for WorkerParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerParts").field("queue", &self.queue).finish_non_exhaustive()
    }
}

/// Why a worker ended other than by being told to.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A task of the worker panicked, outside of any item.
    #[error("a worker task crashed, which is a defect; please report it: {detail}")]
    Crashed { detail: String },
    #[error("no more deliveries can be had: {0}")]
    Queue(#[source] QueueError),
}

/// Works until `shutdown`, then lets what was begun finish within the grace and hands the rest back. The queue still
/// settles and publishes afterwards; closing it is the caller's.
///
/// # Errors
/// When a task of the worker itself crashed, or the queue was closed by somebody else; the process should then end non-zero.
pub async fn run(
    settings: WorkerSettings,
    parts: WorkerParts,
    shutdown: CancellationToken,
    tracker: TaskTracker,
) -> Result<(), WorkerError> {
    let queue = Arc::clone(&parts.queue);
    let bench = Arc::new(Bench {
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
    // A token of its own: counting also ends when taking ends for another reason than the shutdown.
    let counting = shutdown.child_token();
    tasks.spawn(tracker.track_future(count_queues(Arc::clone(&bench), counting.clone())));
    tasks.spawn(tracker.track_future(end_pauses(Arc::clone(&bench), counting.clone())));
    let taken = take(&bench, &mut tasks, &shutdown, &tracker).await;
    counting.cancel();
    queue.stop_receiving();
    let drained = drain(&bench, tasks).await;
    taken.and(drained)
}

/// Takes deliveries until the shutdown, a crash, or the end of the queue.
async fn take(
    bench: &Arc<Bench>,
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
        // The semaphore is never closed.
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
        // Kept across the inner loop, so that it is dropped at the shutdown only.
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

/// Waits for what was begun; after the grace tells it to hand back.
async fn drain(bench: &Bench, mut tasks: JoinSet<()>) -> Result<(), WorkerError> {
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
        tracing::info!(items = left, "the grace is over; items are handed back");
        bench.hand_back.cancel();
        if timeout(HAND_BACK_PATIENCE, finish(&mut tasks)).await.is_err() {
            tracing::warn!("some items could not be handed back; the queue will notice by itself");
        }
    }
    result
}

/// A task that panicked ends the worker. One that was aborted did so with its runtime.
fn crash(ended: Result<(), JoinError>) -> Result<(), WorkerError> {
    match ended {
        Err(error) if error.is_panic() => Err(WorkerError::Crashed { detail: error.to_string() }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Looks at the queues now and then, for the overload's decisions and the metrics.
async fn count_queues(bench: Arc<Bench>, stop: CancellationToken) {
    let mut was_over = [false; QueueName::ALL.len()];
    loop {
        // What was shed is asked before the count: what is shed meanwhile is then taken off the excess, not added to it.
        let counted = async {
            let shed = bench.overload.shed().await;
            (shed, bench.parts.queue.depth().await)
        };
        // Asking only reads: dropping it halfway is harmless.
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
                        tracing::warn!(%queue, waiting, over, ?policy, "the queue's overload changed");
                    }
                    *was_over = over;
                }
                bench.overload.allow(shed, bench.settings.poll_every).await;
            }
            Err(error) => tracing::debug!(%error, "the queues could not be counted"),
        }
        bench.parts.observer.lag(bench.lag.look(bench.parts.clock.now()));
        // Both arms only wait.
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(bench.settings.poll_every) => {}
        }
    }
}

//! Spans that wait to be sent: bounded, and never waited for. What does not fit is dropped and counted.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::span::FinishedSpan;
use crate::telemetry::metrics;

/// Spans that wait at most. An item has some thirty: at 100 items a second, a collector that hesitates for a second costs
/// none. A span takes about 1 kB.
const MOST_WAITING: usize = 4096;

/// Spans sent at once, some 100 kB of them; what collectors are used to.
const MOST_IN_BATCH: usize = 512;

/// How long the first span of a batch waits for others.
const GATHERING: Duration = Duration::from_secs(2);

/// The queue of the recorder that is installed, until whoever sends takes it. `tracing` has one recorder for the whole
/// process, which is installed before anything else is built.
static INSTALLED: Mutex<Option<SpanQueue>> = Mutex::new(None);

/// Takes the queue of the installed recorder; `None` where spans are not recorded, or somebody has it.
pub fn take_queue() -> Option<SpanQueue> {
    INSTALLED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

pub(in crate::telemetry) fn leave_queue(queue: SpanQueue) {
    *INSTALLED.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
}

/// Where spans are put.
#[derive(Debug, Clone)]
pub(super) struct Inlet(Sender<FinishedSpan>);

/// Where they are taken from.
#[derive(Debug)]
pub struct SpanQueue {
    spans: Receiver<FinishedSpan>,
    gathering: Duration,
}

pub(super) fn queue() -> (Inlet, SpanQueue) {
    sized(MOST_WAITING, GATHERING)
}

fn sized(most: usize, gathering: Duration) -> (Inlet, SpanQueue) {
    let (sender, spans) = mpsc::channel(most);
    (Inlet(sender), SpanQueue { spans, gathering })
}

impl Inlet {
    /// Never waits: whoever ends a span has an item to do.
    pub(super) fn put(&self, span: FinishedSpan) {
        match self.0.try_send(span) {
            Ok(()) => {}
            // After the end nobody sends any more.
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => metrics::trace_spans("dropped", 1),
        }
    }
}

impl SpanQueue {
    /// The next batch: full, or all that came in a moment. `None` when told to stop, with what has gathered left in `batch`.
    pub async fn gather(&mut self, batch: &mut Vec<FinishedSpan>, stop: &CancellationToken) -> Option<()> {
        // Nothing is lost in any arm: what was received stands in the batch.
        let first = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            first = self.spans.recv() => first?,
        };
        batch.push(first);
        let until = Instant::now() + self.gathering;
        while batch.len() < MOST_IN_BATCH {
            let room = MOST_IN_BATCH - batch.len();
            // Receiving many may be given up without loss.
            let received = tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                () = sleep_until(until) => return Some(()),
                received = self.spans.recv_many(batch, room) => received,
            };
            if received == 0 {
                return None;
            }
        }
        Some(())
    }

    /// What waits now, a batch of it at most.
    pub fn rest(&mut self, batch: &mut Vec<FinishedSpan>) {
        while batch.len() < MOST_IN_BATCH
            && let Ok(span) = self.spans.try_recv()
        {
            batch.push(span);
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.spans.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::exporter::tests::page_of;

    #[test]
    fn what_does_not_fit_is_dropped_and_counted_and_nobody_waits() {
        let page = page_of(|| {
            let (inlet, queue) = sized(2, GATHERING);
            for name in ["a", "b", "c", "d"] {
                inlet.put(FinishedSpan::bare(name));
            }
            assert_eq!(queue.waiting(), 2);
        });
        assert!(page.contains("corroborate_trace_spans_total{outcome=\"dropped\"} 2\n"), "{page}");
    }

    #[tokio::test]
    async fn a_batch_is_full_or_what_came_in_a_moment() {
        let moment = Duration::from_millis(30);
        let (inlet, mut queue) = sized(MOST_WAITING, moment);
        let (mut batch, stop) = (Vec::new(), CancellationToken::new());
        (0..MOST_IN_BATCH + 3).for_each(|_| inlet.put(FinishedSpan::bare("many")));
        assert!(queue.gather(&mut batch, &stop).await.is_some());
        assert_eq!(batch.len(), MOST_IN_BATCH);
        batch.clear();
        let began = Instant::now();
        assert!(queue.gather(&mut batch, &stop).await.is_some());
        assert_eq!(batch.len(), 3);
        assert!(began.elapsed() >= moment);
        inlet.put(FinishedSpan::bare("last"));
        stop.cancel();
        assert!(queue.gather(&mut batch, &stop).await.is_none());
        queue.rest(&mut batch);
        assert_eq!(batch.len(), 4, "nothing is lost by stopping");
    }
}

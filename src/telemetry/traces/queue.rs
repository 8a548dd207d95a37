//! A bounded queue of finished spans. Senders never wait; a span that does not fit is dropped and counted.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::span::FinishedSpan;
use crate::telemetry::metrics;

/// Maximum of waiting spans, about 1 kB each. An item has about 30, so at 100 items a second a collector may stop for a
/// second without loss.
const MOST_WAITING: usize = 4096;

/// Spans per request, about 100 kB; a usual size for collectors.
const MOST_IN_BATCH: usize = 512;

/// Time that the first span of a batch waits for others.
const GATHERING: Duration = Duration::from_secs(2);

/// The queue of the installed recorder, until the sender takes it. `tracing` has one recorder per process, which is
/// installed first.
static INSTALLED: Mutex<Option<SpanQueue>> = Mutex::new(None);

/// Takes the queue of the installed recorder; `None` if spans are not recorded or the queue was taken.
pub fn take_queue() -> Option<SpanQueue> {
    INSTALLED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

pub(in crate::telemetry) fn leave_queue(queue: SpanQueue) {
    *INSTALLED.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
}

#[derive(Debug, Clone)]
pub(super) struct SpanSender(Sender<FinishedSpan>);

#[derive(Debug)]
pub struct SpanQueue {
    spans: Receiver<FinishedSpan>,
    gathering: Duration,
}

pub(super) fn queue() -> (SpanSender, SpanQueue) {
    sized(MOST_WAITING, GATHERING)
}

fn sized(most: usize, gathering: Duration) -> (SpanSender, SpanQueue) {
    let (sender, spans) = mpsc::channel(most);
    (SpanSender(sender), SpanQueue { spans, gathering })
}

impl SpanSender {
    /// Never waits, because the caller processes an item.
    pub(super) fn put(&self, span: FinishedSpan) {
        match self.0.try_send(span) {
            Ok(()) => {}
            // After shutdown there is no receiver.
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => metrics::trace_spans("dropped", 1),
        }
    }
}

impl SpanQueue {
    /// Adds the next spans to `batch`, until it is full or the gathering time ends. Returns `None` at the stop, with
    /// the gathered spans in `batch`.
    pub async fn gather(&mut self, batch: &mut Vec<FinishedSpan>, stop: &CancellationToken) -> Option<()> {
        // No arm loses a span: received spans are in the batch.
        let first = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            first = self.spans.recv() => first?,
        };
        batch.push(first);
        let until = Instant::now() + self.gathering;
        while batch.len() < MOST_IN_BATCH {
            let room = MOST_IN_BATCH - batch.len();
            // `recv_many` is cancel-safe.
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

    /// Adds the waiting spans, up to a full batch.
    pub fn rest(&mut self, batch: &mut Vec<FinishedSpan>) {
        while batch.len() < MOST_IN_BATCH
            && let Ok(span) = self.spans.try_recv()
        {
            batch.push(span);
        }
    }

    pub fn waiting(&self) -> usize {
        self.spans.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::exporter::tests::page_of;

    #[test]
    fn queue_drops_and_counts_span_when_it_is_full() {
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

//! Write-behind for provider responses: notes wait in memory and are written in batches, so that no item waits.
//! A failed write is retried. Notes beyond the limit are dropped, because it is only a cache.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::domain::Clock;
use crate::store::{AnswerNote, Store, StoreError};
use crate::telemetry::metrics;

/// Short, because other processes may wait for one of the responses.
const GATHER: Duration = Duration::from_millis(50);
const BATCH: usize = 200;
/// About 10 MB. While the store is unavailable, further notes are dropped; claims expire.
const MOST_WAITING: usize = 2_000;
const REST: Duration = Duration::from_secs(2);
/// Responses live for minutes, but the general clean-up runs once a day.
const TIDY_EVERY: Duration = Duration::from_mins(1);
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

struct Inner {
    store: Store,
    clock: Arc<dyn Clock>,
    waiting: Mutex<Vec<AnswerNote>>,
    wake: Notify,
    stop: CancellationToken,
}

/// The only writer of a process. Cheap to clone.
#[derive(Clone)]
pub struct WriteBehind(Arc<Inner>);

impl fmt::Debug for WriteBehind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBehind").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

impl WriteBehind {
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        let stop = CancellationToken::new();
        Self(Arc::new(Inner { store, clock, waiting: Mutex::default(), wake: Notify::new(), stop }))
    }

    pub(super) fn write(&self, note: AnswerNote) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST_WAITING {
            waiting.push(note);
            drop(waiting);
            self.0.wake.notify_one();
        }
    }

    fn waiting(&self) -> usize {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The token that [`WriteBehind::close`] cancels to end [`WriteBehind::run`].
    pub fn stopping(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    /// Writes notes until [`WriteBehind::close`]. Run it once per process.
    pub async fn run(self) {
        let mut tidied = Instant::now();
        loop {
            tokio::select! {
                () = self.0.stop.cancelled() => return,
                () = self.0.wake.notified() => {}
            }
            sleep(GATHER).await;
            let written = self.flush().await;
            metrics::job_run("answers", written.is_ok());
            if let Err(error) = written {
                tracing::warn!(%error, waiting = self.waiting(), "sharing provider responses failed; retrying shortly");
                tokio::select! {
                    () = self.0.stop.cancelled() => return,
                    () = sleep(REST) => self.0.wake.notify_one(),
                }
            } else if tidied.elapsed() >= TIDY_EVERY {
                tidied = Instant::now();
                self.tidy().await;
            }
        }
    }

    /// Deletes expired responses. Only one process does so, because it scans the index of all responses.
    async fn tidy(&self) {
        let tidied = async {
            if self.0.store.take_turn("last_tidying", TIDY_EVERY).await? {
                self.0.store.tidy_answers().await
            } else {
                Ok(0)
            }
        };
        match tidied.await {
            Ok(removed) => metrics::evidence_rows_deleted(u64::try_from(removed).unwrap_or(0)),
            Err(error) => tracing::warn!(%error, "deleting expired provider responses failed; retrying in a minute"),
        }
    }

    /// Writes the waiting notes. After an error that is not about the values of a note, the notes wait for the next
    /// flush.
    pub async fn flush(&self) -> Result<(), StoreError> {
        loop {
            let batch: Vec<AnswerNote> = {
                let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let end = waiting.len().min(BATCH);
                waiting.drain(..end).collect()
            };
            if batch.is_empty() {
                return Ok(());
            }
            match self.0.store.note_answers(&batch, self.0.clock.now()).await {
                Ok(()) => {}
                // One note that the store rejects must not lose the others.
                Err(error) if error.is_of_values() => self.flush_singly(batch).await?,
                Err(error) => {
                    self.put_back(batch);
                    return Err(error);
                }
            }
        }
    }

    /// Writes notes one by one and drops those that the store rejects.
    async fn flush_singly(&self, batch: Vec<AnswerNote>) -> Result<(), StoreError> {
        let (all, mut refused) = (batch.len(), None);
        let mut notes = batch.into_iter();
        while let Some(note) = notes.next() {
            match self.0.store.note_answers(std::slice::from_ref(&note), self.0.clock.now()).await {
                Ok(()) => {}
                Err(error) if error.is_of_values() => {
                    let (count, _) = refused.get_or_insert((0_usize, error));
                    *count += 1;
                }
                Err(error) => {
                    self.put_back(std::iter::once(note).chain(notes).collect());
                    return Err(error);
                }
            }
        }
        match refused {
            // Every note failed, so the cause is not a single note.
            Some((notes, error)) if notes == all => Err(error),
            Some((notes, error)) => {
                tracing::warn!(notes, label = error.label(), %error, "provider responses rejected by the store");
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Puts notes back, oldest first, up to the limit.
    fn put_back(&self, batch: Vec<AnswerNote>) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_WAITING.saturating_sub(waiting.len());
        waiting.splice(..0, batch.into_iter().take(room));
    }

    /// Ends [`WriteBehind::run`] and writes the remaining notes.
    pub async fn close(&self) {
        self.0.stop.cancel();
        match timeout(FLUSH_TIMEOUT, self.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "could not save provider responses at shutdown; they will be requested again");
            }
            Err(_elapsed) => {
                tracing::warn!("saving provider responses at shutdown timed out; they will be requested again");
            }
        }
    }
}

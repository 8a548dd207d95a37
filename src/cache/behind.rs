//! Writing behind: what was learnt goes to the store a moment later, many answers at a time, and nobody waits for it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::domain::Clock;
use crate::store::{AnswerNote, Store, StoreError};
use crate::telemetry::metrics;

/// How long notes are gathered. Others may be waiting for the answer among them, so it is short.
const GATHER: Duration = Duration::from_millis(50);
/// Notes in one statement.
const BATCH: usize = 200;
/// Notes kept while the store is away; at a few kB each some ten megabytes. Further ones are lost: it is a cache, and
/// claims end by themselves.
const MOST_WAITING: usize = 2_000;
/// After a failed statement.
const REST: Duration = Duration::from_secs(2);
/// Between two removals of what has expired: answers live for minutes, the big clean-up comes once a day.
const TIDY_EVERY: Duration = Duration::from_mins(1);
/// The longest the last notes are waited for at the end.
const LAST_WORD: Duration = Duration::from_secs(3);

struct Inner {
    store: Store,
    clock: Arc<dyn Clock>,
    waiting: Mutex<Vec<AnswerNote>>,
    wake: Notify,
    stop: CancellationToken,
}

/// The one writer of a process. Cheap to clone.
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

    /// Takes a note and returns at once.
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

    /// Cancelled by [`WriteBehind::close`], which ends [`WriteBehind::run`].
    pub fn stopping(&self) -> CancellationToken {
        self.0.stop.clone()
    }

    /// Writes notes until [`WriteBehind::close`]. Run it once in a process.
    pub async fn run(self) {
        let mut tidied = Instant::now();
        loop {
            // Both arms only wait: nothing is lost whichever wins.
            tokio::select! {
                () = self.0.stop.cancelled() => return,
                () = self.0.wake.notified() => {}
            }
            sleep(GATHER).await;
            let written = self.flush().await;
            metrics::job_run("answers", written.is_ok());
            if let Err(error) = written {
                tracing::warn!(%error, waiting = self.waiting(), "answers could not be shared; tried again shortly");
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

    /// One process of the fleet does it: it walks the index of all answers.
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
            Err(error) => tracing::warn!(%error, "expired answers could not be removed; tried again in a minute"),
        }
    }

    /// Writes what waits now. After an error that is not about the values of a note, the notes wait for the next flush.
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
                // One note that the store refuses must not lose the others.
                Err(error) if error.is_of_values() => self.flush_singly(batch).await?,
                Err(error) => {
                    self.put_back(batch);
                    return Err(error);
                }
            }
        }
    }

    /// Writes notes one by one. A note that the store refuses is dropped: its question is asked again.
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
                tracing::warn!(notes, label = error.label(), %error, "answers refused by the store");
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Keeps notes for the next flush, the oldest first, as far as there is room.
    fn put_back(&self, batch: Vec<AnswerNote>) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_WAITING.saturating_sub(waiting.len());
        waiting.splice(..0, batch.into_iter().take(room));
    }

    /// Ends [`WriteBehind::run`] and writes the rest.
    pub async fn close(&self) {
        self.0.stop.cancel();
        match timeout(LAST_WORD, self.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last answers could not be shared; they are asked again"),
            Err(_elapsed) => tracing::warn!("the store was too slow for the last answers; they are asked again"),
        }
    }
}

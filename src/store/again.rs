//! Repeats reads after a lost connection: a restart or failover of the database breaks all connections for a moment.
//!
//! Never for writes, because a lost write may have taken effect; items are retried as a whole.

use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::{Postgres, Transaction};
use tokio::time::sleep;

use super::{Store, StoreError, bounded};

/// No wait before the first retry: after a loss, connections are tested before use. The second allows for a quick
/// restart.
const PAUSES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(100)];

/// Limit of a transaction, in statement limits.
const TRANSACTION: u32 = 3;

impl Store {
    /// Reads, and retries on another connection after a loss. Other errors are returned.
    pub(super) async fn again<T, F>(&self, read: impl Fn() -> F + Send) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        for pause in PAUSES {
            match read().await {
                Err(error) if error.lost_its_connection() && !self.is_embedded() => {
                    self.tested.one_is_broken();
                    sleep(pause).await;
                }
                read => return read,
            }
        }
        read().await
    }

    /// Marks other connections for a test after a loss.
    pub(super) fn note_loss(&self, error: &StoreError) {
        if error.lost_its_connection() {
            self.tested.one_is_broken();
        }
    }

    /// Runs work in a [`Store::transaction`] with a time limit. On timeout nothing is written, unless only the reply to
    /// the commit was lost.
    pub(super) fn in_time<'a, T: Send + 'a>(
        &'a self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        // Boxed, because many statements make a large future.
        let work = Box::pin(work);
        Box::pin(
            async move { self.pool.ended(TRANSACTION, work).await.unwrap_or_else(|| Err(bounded::silence().into())) },
        )
    }

    /// Begins a transaction, for [`Store::in_time`]. Retries on a lost connection, because nothing is done yet.
    pub(super) async fn transaction(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        self.again(|| async { Ok(self.pool.begin().await?) }).await
    }
}

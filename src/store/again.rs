//! Reads that outlast a lost connection. A database that restarts, or fails over, cuts every connection at once, and is
//! there again a moment later: a read need not fail for that, and what was asked through it need not count as not asked.
//!
//! Only reads go through here: a write that was cut off may have had its effect. Items are tried again as a whole.

use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;
use sqlx::{Postgres, Transaction};
use tokio::time::sleep;

use super::{Store, StoreError, bounded};

/// Before the first further try there is no wait: once a connection is known to be broken the others are tested before they
/// are handed out, so the next one works where the database does. The second one has missed two, and gets the time of a
/// quick restart.
const PAUSES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(100)];

/// A whole transaction gets the time of so many statements that take as long as one may: most take a thousandth of that.
const TRANSACTION: u32 = 3;

impl Store {
    /// Reads, and where the connection was lost meanwhile reads again on another one. A database that is slow, busy or
    /// away for longer is an error as ever.
    pub(super) async fn again<T, F>(&self, read: impl Fn() -> F + Send) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        for pause in PAUSES {
            match read().await {
                // The one session of the embedded server has no other beside it.
                Err(error) if error.lost_its_connection() && !self.is_embedded() => {
                    self.tested.one_is_broken();
                    sleep(pause).await;
                }
                read => return read,
            }
        }
        read().await
    }

    /// Has the other connections tested where this one was found broken.
    pub(super) fn note_loss(&self, error: &StoreError) {
        if error.lost_its_connection() {
            self.tested.one_is_broken();
        }
    }

    /// What is done in a [`Store::transaction`], or an error where the database fell silent in it; nothing is written then,
    /// unless only the answer to the commit was lost.
    pub(super) fn in_time<'a, T: Send + 'a>(
        &'a self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        // Boxed here, since many statements make a large future.
        let work = Box::pin(work);
        Box::pin(
            async move { self.pool.ended(TRANSACTION, work).await.unwrap_or_else(|| Err(bounded::silence().into())) },
        )
    }

    /// A transaction, for [`Store::in_time`]. Where the connection broke since it was last used another one is taken: nothing has been done yet.
    pub(super) async fn transaction(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        self.again(|| async { Ok(self.pool.begin().await?) }).await
    }
}

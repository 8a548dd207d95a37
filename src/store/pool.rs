//! The connection pool: a time limit on each statement and transaction, tests of doubtful connections, and retries.
//!
//! The server cancels long statements. If no answer comes some time later, the connection was lost silently, for
//! example by a firewall. The operating system notices after 15 minutes, or never behind a proxy. Waiting callers would
//! soon hold the whole pool.
//!
//! A restart or failover of the database breaks all connections for a moment. Reads are then repeated, writes never,
//! because a lost write may have taken effect; items are retried as a whole.

use std::future::Future;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt as _, unfold};
use sqlx::postgres::{PgConnection, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Describe, Either, Execute, Executor, PgPool, Postgres, SqlStr, Transaction};
use tokio::time::{Instant, sleep, timeout};

use super::{Store, StoreError};

/// Added to server and pool limits for network delay.
const MARGIN: Duration = Duration::from_secs(5);
/// Limit for testing a returned, idle connection.
const ROUND_TRIP: Duration = Duration::from_secs(5);
/// Time within which a connection is returned after a cancelled statement.
const LATELY: Duration = Duration::from_secs(2);
/// Idle time up to which no test is needed: the pool tests a connection on return.
const FRESH: Duration = Duration::from_secs(1);

/// No wait before the first retry: after a loss, connections are tested before use. The second allows for a quick
/// restart.
const PAUSES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(100)];

/// Limit of a transaction, in statement limits.
const TRANSACTION: u32 = 3;

/// A pool with limited statements. Callers must limit work on an acquired connection.
#[derive(Debug, Clone)]
pub(super) struct BoundedPool {
    pool: PgPool,
    /// `None`: the embedded server, which has no limit.
    limit: Option<Duration>,
    cuts: LastCancellation,
}

/// Time of the last statement that ran out of time or was dropped.
///
/// The pool pings a returned connection without a limit. After a recent cancellation, connections are first tested here
/// with one; at other times that would waste a round trip.
#[derive(Debug, Clone, Default)]
pub(super) struct LastCancellation(Arc<Mutex<Option<Instant>>>);

impl LastCancellation {
    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Tests a returned connection if a statement was cancelled recently.
    pub(super) async fn spared(&self, connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() > LATELY) {
            return Ok(true);
        }
        match timeout(ROUND_TRIP, sqlx::Connection::ping(connection)).await {
            Ok(answer) => answer.map(|()| true),
            Err(_elapsed) => Err(silence()),
        }
    }
}

/// Records a cancellation unless the statement ended.
struct RunningStatement {
    cuts: LastCancellation,
    has_ended: bool,
}

impl Drop for RunningStatement {
    fn drop(&mut self) {
        if !self.has_ended {
            self.cuts.note();
        }
    }
}

pub(super) fn silence() -> sqlx::Error {
    let silent = "the database did not answer, long after it should have given the statement up";
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, silent))
}

impl BoundedPool {
    /// `statement`: server's limit; `acquire`: wait for a free connection.
    pub(super) fn new(pool: PgPool, statement: Option<Duration>, acquire: Duration, cuts: LastCancellation) -> Self {
        Self { pool, limit: statement.map(|statement| statement + acquire + MARGIN), cuts }
    }

    /// Numbers of connections: idle, in use, maximum.
    pub(super) fn state(&self) -> (usize, usize, usize) {
        let count = |connections: u32| usize::try_from(connections).unwrap_or(usize::MAX);
        let idle = self.pool.num_idle();
        (idle, count(self.pool.size()).saturating_sub(idle), count(self.pool.options().get_max_connections()))
    }

    fn running(&self) -> RunningStatement {
        RunningStatement { cuts: self.cuts.clone(), has_ended: false }
    }

    /// Returns the answer of one statement, or an error after the limit.
    pub(super) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        self.ended(1, answer).await.unwrap_or_else(|| Err(silence()))
    }

    /// Runs work of up to `statements` statements; `None` after the limit.
    pub(super) async fn ended<T>(&self, statements: u32, work: impl Future<Output = T>) -> Option<T> {
        // Dropped after `running`: the cancellation is recorded before the connection returns.
        let mut work = std::pin::pin!(work);
        let mut running = self.running();
        let done = before(self.limit.map(|limit| limit * statements), &mut work).await;
        running.has_ended = done.is_some();
        done
    }
}

async fn before<T>(limit: Option<Duration>, answer: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => timeout(limit, answer).await.ok(),
        None => Some(answer.await),
    }
}

/// Drop order: the cancellation is recorded first, as above.
struct Parts<S> {
    running: RunningStatement,
    parts: S,
}

impl Deref for BoundedPool {
    type Target = PgPool;

    fn deref(&self) -> &PgPool {
        &self.pool
    }
}

impl<'p> Executor<'p> for &BoundedPool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let limit = self.limit;
        let begun = Parts { running: self.running(), parts: self.pool.fetch_many(query) };
        // The limit applies to each part, because rows arrive as the server makes them.
        let parts = unfold(Some(begun), move |begun| async move {
            let mut begun = begun?;
            let Some(part) = before(limit, begun.parts.next()).await else { return Some((Err(silence()), None)) };
            begun.running.has_ended = !matches!(part, Some(Ok(_)));
            part.map(|part| (part, Some(begun)))
        });
        parts.boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let bounded = self.clone();
        Box::pin(async move { bounded.within(bounded.pool.fetch_optional(query)).await })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        let bounded = self.clone();
        Box::pin(async move { bounded.within(bounded.pool.prepare_with(sql, parameters)).await })
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'p: 'e,
    {
        let bounded = self.clone();
        Box::pin(async move { bounded.within(bounded.pool.describe(sql)).await })
    }
}

/// Time of the last broken connection. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct LastBrokenConnection(Arc<Mutex<Option<Instant>>>);

impl LastBrokenConnection {
    /// A restart breaks all connections, so those idle since before now are tested.
    pub(super) fn one_is_broken(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    pub(super) fn is_in_doubt(&self, idle_for: Duration) -> bool {
        idle_for >= FRESH
            || self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|broken| broken.elapsed() <= idle_for)
    }
}

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
        Box::pin(async move { self.pool.ended(TRANSACTION, work).await.unwrap_or_else(|| Err(silence().into())) })
    }

    /// Begins a transaction, for [`Store::in_time`]. Retries on a lost connection, because nothing is done yet.
    pub(super) async fn transaction(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        self.again(|| async { Ok(self.pool.begin().await?) }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_tested_after_a_pause_and_after_another_was_found_broken() {
        let tested = LastBrokenConnection::default();
        assert!(!tested.is_in_doubt(Duration::from_millis(500)) && tested.is_in_doubt(Duration::from_secs(2)));
        tested.one_is_broken();
        assert!(tested.is_in_doubt(Duration::from_millis(500)), "it was idle already then");
        std::thread::sleep(Duration::from_millis(20));
        assert!(!tested.is_in_doubt(Duration::from_millis(1)), "it was used since");
    }
}

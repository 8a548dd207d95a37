//! The pool, with an end to every wait for an answer to a statement on it, and to work of several statements on a connection
//! that is taken out of it, as in a transaction.
//!
//! The server ends a statement after its own limit, so an answer that has not come some time after will never come: the
//! connection was lost without a word, as firewalls and proxies do that forget what is idle or hang themselves. The system
//! gives such a connection up after a quarter of an hour, and never while somebody between takes what is sent. Until then
//! whoever waits would hold its place in the pool, and soon all places were held.

use std::future::Future;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt as _, unfold};
use sqlx::postgres::{PgConnection, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Describe, Either, Execute, Executor, PgPool, Postgres, SqlStr};
use tokio::time::{Instant, timeout};

/// Beyond what the server and the pool may take, for the way there and back on a busy machine.
const MARGIN: Duration = Duration::from_secs(5);
/// A connection that is given back is idle: its round trip is a moment.
const ROUND_TRIP: Duration = Duration::from_secs(5);
/// So long after a statement was cut off its connection has been given back.
const LATELY: Duration = Duration::from_secs(2);

/// A pool whose statements end. What is done on a connection that was taken out of it is bounded by its taker.
#[derive(Debug, Clone)]
pub(super) struct BoundedPool {
    pool: PgPool,
    /// None: the server has no limit of its own, and runs inside this process.
    limit: Option<Duration>,
    cuts: Cuts,
}

/// When a statement was last cut off, by its limit or since nobody waits for it any more.
///
/// The pool tests a connection that is given back by a round trip, and would wait for the answer for ever, in the connection's
/// place. So whatever is given back soon after a cut is tested here before that, with an end; at other times a second round
/// trip would be for nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Cuts(Arc<Mutex<Option<Instant>>>);

impl Cuts {
    fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection that is given back is good, as far as that has to be asked.
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

/// Notes a cut unless its statement came to an end.
struct Running {
    cuts: Cuts,
    has_ended: bool,
}

impl Drop for Running {
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
    /// `statement`: when the server ends a statement; `acquire`: how long a free connection is waited for.
    pub(super) fn new(pool: PgPool, statement: Option<Duration>, acquire: Duration, cuts: Cuts) -> Self {
        Self { pool, limit: statement.map(|statement| statement + acquire + MARGIN), cuts }
    }

    /// Connections: idle, in use, at most.
    pub(super) fn state(&self) -> (usize, usize, usize) {
        let count = |connections: u32| usize::try_from(connections).unwrap_or(usize::MAX);
        let idle = self.pool.num_idle();
        (idle, count(self.pool.size()).saturating_sub(idle), count(self.pool.options().get_max_connections()))
    }

    fn running(&self) -> Running {
        Running { cuts: self.cuts.clone(), has_ended: false }
    }

    /// The answer to a statement on one of the pool's connections, or an error where none comes.
    pub(super) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        self.ended(1, answer).await.unwrap_or_else(|| Err(silence()))
    }

    /// What comes of work that takes as long as so many of the longest statements at most; `None` where it did not end by then.
    pub(super) async fn ended<T>(&self, statements: u32, work: impl Future<Output = T>) -> Option<T> {
        // Dropped after `running`, so that its connection is given back when the cut is noted.
        let mut work = std::pin::pin!(work);
        let mut running = self.running();
        let done = before(self.limit.map(|limit| limit * statements), &mut work).await;
        running.has_ended = done.is_some();
        done
    }
}

/// None: not within the limit.
async fn before<T>(limit: Option<Duration>, answer: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => timeout(limit, answer).await.ok(),
        None => Some(answer.await),
    }
}

/// The parts of an answer. They are dropped behind the note of the cut, as above.
struct Parts<S> {
    running: Running,
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
        // Each part of an answer has the whole limit: rows come in when the server has made them.
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

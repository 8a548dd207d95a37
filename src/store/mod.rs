//! The store: the only module with SQL. The embedded store and a Postgres server have the same schema.
//!
//! Rules:
//! - Few multi-row statements.
//! - Never hold one connection while waiting for another: the embedded pool has exactly one.
//! - Locks are transaction locks.
//!
//! A new table needs a migration, a file here, and tests that run on both kinds of store.

mod answers;
mod audit;
mod cleanup;
mod commit;
mod configured_rules;
mod domains;
#[cfg(feature = "embedded")]
mod embedded;
mod error;
mod evidence;
mod external;
mod feeds;
mod fleet;
mod hosts;
mod http_sessions;
mod items;
mod knowledge;
mod listening;
mod lock;
mod outbox;
mod overview;
mod pool;
mod queue;
mod rejudging;
mod rescore;
mod schema;
mod server_clock;
mod session;
mod shedding;
mod tokens;
mod usage;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use secrecy::SecretString;
use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::domain::Clock;

use self::pool::{BoundedPool, LastBrokenConnection, LastCancellation};
use self::server_clock::{CommonClock, ServerClock, SteadyClock};
use self::session::connect_options;

pub use answers::{AnswerKey, CachedAnswer};
pub use audit::AuditEntry;
pub use cleanup::CleanupReport;
pub use commit::{ClaimCommit, Commit, CommitOutcome, EvidenceClaimRow};
pub use configured_rules::FollowedRules;
pub use domains::{RuleChange, RuleChangeAction};
#[cfg(feature = "embedded")]
pub use embedded::EmbeddedPostgres;
pub use error::StoreError;
#[cfg(test)]
pub(crate) use error::samples::of_code;
pub use evidence::{RecentItem, Source};
pub use external::{ExternalDatabase, ExternalError, ExternalSettings, ReadQuery};
pub use feeds::{ClaimedFeed, FeedEntryRow, FeedFreshness, FeedReading, FeedSearch, FoundEntry, WantedFeeds};
pub use fleet::{
    CallAnswer, CallDecision, CallEnd, CallOutcome, CallSnapshot, CallTerms, GateState, Limit, ProviderCalls,
    SharedBreaker,
};
pub use hosts::HostVisit;
pub use http_sessions::{NewSession, SessionOrigin, SessionToken, StoredSession};
pub use items::{DonePhase, ItemFilter, ItemSummary, Page, RunStart, StoredEvidence, StoredItem};
pub use knowledge::{EvidenceIndex, EvidenceUse, NearEvidence, NearestQuery, SeedRow};
pub use listening::Listener;
pub use lock::{DataLock, Holder};
pub use outbox::{OutboxBatch, OutboxDraft, OutboxState};
pub use overview::{CauseCount, HourlyVerdicts, ProviderHour};
pub use queue::TableQueue;
pub use rejudging::{DueItem, JudgedWith, StoredRun};
pub use rescore::{
    EarlierVerdict, Judgements, RejudgedClaim, Rewrite, RewriteOutcome, StoredClaim, StoredJudgement, StoredPassage,
};
pub use schema::{MigrationReport, VectorMemory};
pub use server_clock::{LaterClock, MAX_CLOCK_DIFFERENCE};
pub use tokens::{NewToken, StoredToken};
pub use usage::{ProviderUsage, UsageDelta};
pub use webhooks::{
    DeadWebhookMessage, DeadWebhooks, Webhook, WebhookBatch, WebhookDraft, WebhookMessage, WebhookOutcome,
    WebhookState, WebhookTotals,
};

/// Dimensions of all vectors in the schema.
pub const EMBEDDING_DIMENSION: usize = 384;

#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub pool_size: u32,
    /// How long a statement waits for a free connection.
    pub acquire_timeout: Duration,
    /// The server cancels longer statements. `None`: the server's setting.
    pub statement_timeout: Option<Duration>,
    /// The schema to use. `None`: the user's default.
    pub schema: Option<String>,
    /// The database's own address if the main one is a pooler in transaction mode.
    pub direct: Option<SecretString>,
}

/// Separate connections for pages and lists.
#[derive(Debug, Clone)]
struct ReadPool {
    pool: BoundedPool,
    tested: LastBrokenConnection,
    /// True for a read replica, which may lag.
    is_copy: bool,
}

#[derive(Debug, Clone)]
pub struct Store {
    pool: BoundedPool,
    /// For pages and lists. `None`: the main pool.
    reads: Option<ReadPool>,
    /// Bypasses the pooler, if any.
    direct: Option<Arc<PgConnectOptions>>,
    /// This process owns the only connection: no `LISTEN`, one pool slot.
    embedded: bool,
    /// Notified when this process adds rows to the table queue or outbox.
    pub(crate) wake_queue: Arc<Notify>,
    pub(crate) wake_outbox: Arc<Notify>,
    /// Notified when this process writes webhook messages; each webhook waits for it.
    pub(crate) wake_webhooks: Arc<Notify>,
    pub(crate) wake_rules: Arc<Notify>,
    pub(crate) wake_fleet: Arc<Notify>,
    tested: LastBrokenConnection,
    server_clock: ServerClock,
    fresh: Arc<outbox::FreshMessages>,
    counted_stems: Arc<feeds::CountedStems>,
}

impl Store {
    /// Connects to a Postgres server. Creates nothing; see [`Store::migrate`] and [`Store::check_schema`].
    ///
    /// # Errors
    /// [`StoreError::Pooler`] if the address is a pooler and [`StoreSettings::direct`] is not set.
    pub async fn connect(url: &SecretString, settings: &StoreSettings) -> Result<Self, StoreError> {
        let options = connect_options(url, settings)?;
        // The pool would retry a refused connection and lose the cause.
        match tokio::time::timeout(settings.acquire_timeout, session::probe(&options, settings)).await {
            Ok(probed) => probed?,
            Err(_elapsed) => return Err(StoreError::Unreachable(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()))),
        }
        let mut store = Self::open(options, settings, false).await?;
        if let Some(direct) = &settings.direct {
            let settings = StoreSettings { direct: None, ..settings.clone() };
            store.direct = Some(Arc::new(connect_options(direct, &settings)?));
        }
        Ok(store)
    }

    #[cfg(feature = "embedded")]
    pub async fn connect_embedded(server: &EmbeddedPostgres) -> Result<Self, StoreError> {
        let settings = StoreSettings {
            pool_size: 1,
            acquire_timeout: Duration::from_mins(1),
            statement_timeout: None,
            schema: None,
            direct: None,
        };
        Self::open(server.connect_options()?, &settings, true).await
    }

    /// Reads pages and lists from a read replica, which may lag. Connects on first use.
    ///
    /// # Errors
    /// [`StoreError::BadUrl`] if `url` is not a Postgres address.
    pub fn reads_from_copy(&mut self, url: &SecretString, settings: &StoreSettings) -> Result<(), StoreError> {
        self.reads(url, settings, true)
    }

    /// Reads pages and lists through separate connections.
    ///
    /// # Errors
    /// As [`Store::reads_from_copy`].
    pub fn reads_apart(&mut self, url: &SecretString, settings: &StoreSettings) -> Result<(), StoreError> {
        self.reads(url, settings, false)
    }

    fn reads(&mut self, url: &SecretString, settings: &StoreSettings, is_copy: bool) -> Result<(), StoreError> {
        let Self { pool, tested, .. } = Self::over(connect_options(url, settings)?, settings, false);
        self.reads = Some(ReadPool { pool, tested, is_copy });
        Ok(())
    }

    /// Returns the store for reading pages and lists. Decisions and writes need the main store.
    #[must_use]
    pub fn reading(&self) -> Self {
        match &self.reads {
            Some(reads) => Self { pool: reads.pool.clone(), tested: reads.tested.clone(), ..self.clone() },
            None => self.clone(),
        }
    }

    /// Returns one item. If the read replica lacks it, reads the main database.
    pub async fn item_to_show(&self, item_id: &str) -> Result<Option<StoredItem>, StoreError> {
        match self.reading().item(item_id).await? {
            None if self.reads.as_ref().is_some_and(|reads| reads.is_copy) => self.item(item_id).await,
            found => Ok(found),
        }
    }

    pub async fn evidence_to_show(&self, item_id: &str) -> Result<Vec<StoredEvidence>, StoreError> {
        let found = self.reading().item_evidence(item_id).await?;
        if found.is_empty() && self.reads.as_ref().is_some_and(|reads| reads.is_copy) {
            return self.item_evidence(item_id).await;
        }
        Ok(found)
    }

    async fn open(options: PgConnectOptions, settings: &StoreSettings, embedded: bool) -> Result<Self, StoreError> {
        let store = Self::over(options, settings, embedded);
        store.ping().await?;
        Ok(store)
    }

    /// Returns a store without a server: each statement fails at once.
    pub fn detached() -> Self {
        let settings = StoreSettings {
            pool_size: 1,
            acquire_timeout: Duration::from_millis(1),
            statement_timeout: None,
            schema: None,
            direct: None,
        };
        Self::over(PgConnectOptions::new_without_pgpass().host("detached.invalid"), &settings, false)
    }

    /// Connects on first use.
    fn over(options: PgConnectOptions, settings: &StoreSettings, embedded: bool) -> Self {
        let tested = LastBrokenConnection::default();
        let in_doubt = tested.clone();
        let cuts = LastCancellation::default();
        let cut_off = cuts.clone();
        let pool = PgPoolOptions::new()
            .max_connections(settings.pool_size)
            .min_connections(u32::from(embedded))
            .acquire_timeout(settings.acquire_timeout)
            // A remote server may drop idle connections unnoticed; the embedded session lasts.
            .test_before_acquire(false)
            .before_acquire(move |connection, meta| {
                let is_in_doubt = !embedded && in_doubt.is_in_doubt(meta.idle_for);
                Box::pin(async move { if is_in_doubt { connection.ping().await.map(|()| true) } else { Ok(true) } })
            })
            .after_release(move |connection, _| {
                let cuts = cut_off.clone();
                // The embedded session is in this process and cannot be lost unnoticed.
                Box::pin(async move { if embedded { Ok(true) } else { cuts.spared(connection).await } })
            })
            .idle_timeout(if embedded { None } else { Some(Duration::from_mins(10)) })
            .max_lifetime(if embedded { None } else { Some(Duration::from_mins(30)) })
            .connect_lazy_with(options);
        let pool = BoundedPool::new(pool, settings.statement_timeout, settings.acquire_timeout, cuts);
        Self {
            tested,
            server_clock: ServerClock::default(),
            fresh: Arc::default(),
            counted_stems: Arc::default(),
            pool,
            reads: None,
            direct: None,
            embedded,
            wake_queue: Arc::new(Notify::new()),
            wake_outbox: Arc::new(Notify::new()),
            wake_webhooks: Arc::new(Notify::new()),
            wake_rules: Arc::new(Notify::new()),
            wake_fleet: Arc::new(Notify::new()),
        }
    }

    /// Returns the later of this machine's clock and the database's, as last read by [`Store::calls`].
    pub fn later_clock(&self, own: Arc<dyn Clock>) -> LaterClock {
        LaterClock::new(own, self.server_clock.clone())
    }

    pub fn queue_clock(&self, own: Arc<dyn Clock>) -> Arc<dyn Clock> {
        if self.embedded {
            Arc::new(SteadyClock::new(own))
        } else {
            Arc::new(CommonClock::new(own, self.server_clock.clone()))
        }
    }

    pub fn is_embedded(&self) -> bool {
        self.embedded
    }

    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").execute(&self.pool).await?;
        Ok(())
    }

    /// Rejects a missing or too old `vector` extension.
    pub async fn check_vector(&self) -> Result<(), StoreError> {
        let found: Option<String> = sqlx::query_scalar(
            "SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = 'vector'",
        )
        .fetch_optional(&self.pool)
        .await?;
        match found {
            None => Err(StoreError::MissingVector),
            Some(version) if is_too_old(&version) => Err(StoreError::OldVector { found: version }),
            Some(_) => Ok(()),
        }
    }

    pub fn check_dimension(&self, dimension: usize) -> Result<(), StoreError> {
        if dimension == EMBEDDING_DIMENSION {
            Ok(())
        } else {
            Err(StoreError::Dimension { stored: EMBEDDING_DIMENSION, configured: dimension })
        }
    }

    /// Returns the numbers of connections (idle, in use, maximum).
    pub fn pool_state(&self) -> (usize, usize, usize) {
        self.pool.state()
    }

    /// Returns the same for the separate read connections.
    pub fn read_pool_state(&self) -> Option<(usize, usize, usize)> {
        self.reads.as_ref().map(|reads| reads.pool.state())
    }

    /// Returns the versions of the server and its `vector` extension, for `doctor`.
    pub async fn server_version(&self) -> Result<(String, Option<String>), StoreError> {
        let server: String = sqlx::query_scalar("SHOW server_version").fetch_one(&self.pool).await?;
        let vector: Option<String> = sqlx::query_scalar("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            .fetch_optional(&self.pool)
            .await?;
        Ok((server, vector))
    }

    /// Closes all connections, so that the embedded server may stop.
    pub async fn close(&self) {
        self.pool.close().await;
        if let Some(reads) = &self.reads {
            reads.pool.close().await;
        }
    }

    /// Closes the pool without waiting; idle connections close in the background.
    pub fn end(&self) {
        let pool = self.pool.clone();
        let mut closing = Box::pin(async move { pool.close().await });
        // The first poll marks the pool as closed. A runtime, if there is one, does the rest.
        let is_closed = closing.as_mut().now_or_never().is_some();
        if !is_closed && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            TaskTracker::new().spawn_on(closing, &runtime);
        }
    }

    pub fn webhooks_written(&self) -> Arc<Notify> {
        Arc::clone(&self.wake_webhooks)
    }

    pub fn outbox_written(&self) -> Arc<Notify> {
        Arc::clone(&self.wake_outbox)
    }
}

/// Oldest pgvector with bit vectors, which the schema compares.
const OLDEST_VECTOR: (u32, u32) = (0, 7);

fn is_too_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < OLDEST_VECTOR
}

/// Returns a vector as pgvector reads it: `[0.1,0.2]`.
pub(crate) fn vector_text(vector: &[f32]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(vector.len() * 8 + 2);
    text.push('[');
    for (position, value) in vector.iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        if *value == 0.0 {
            text.push('0');
        } else {
            // Five digits exceed the precision of an int8 model. Writing to a `String` cannot fail.
            let _infallible = write!(text, "{value:.5}");
        }
    }
    text.push(']');
    text
}

/// Removes NUL, the only character that Postgres cannot store.
pub(crate) fn storable(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_without_bits_is_too_old() {
        for (version, old) in [("0.5.1", true), ("0.6", true), ("0.7.0", false), ("0.8.1", false), ("1.0", false)] {
            assert_eq!(is_too_old(version), old, "{version}");
        }
    }

    #[test]
    fn a_vector_is_written_as_pgvector_reads_it() {
        assert_eq!(vector_text(&[0.0, 0.5, -1.0]), "[0,0.50000,-1.00000]");
    }
}

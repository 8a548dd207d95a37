//! The schema: who brings it up to date, and which programs may run on it.
//!
//! Migrations go forward only, in two steps where a program of the version before could not live with one: first what is
//! new is added, and a release later what nobody uses any more is removed. Processes of both versions so run side by side.
//! The second step raises the floor (`oldest_program` in `store_settings`) to the last migration of the oldest program
//! that can live with it.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::migrate::{Migrate as _, Migrator};
use sqlx::{Connection as _, PgConnection};

use super::session::past_pooler;
use super::{Store, StoreError};

static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!();
    // What a newer program has run is no fault; the floor decides. The lock is taken before, see `run_migrations`.
    migrator.set_ignore_missing(true).set_locking(false);
    migrator
});

/// How long a migration waits for a table that somebody else uses. Everybody who comes after it waits behind it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// What a migration run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigrationReport {
    pub applied: usize,
    /// The number of the newest migration, as its file and the documents have it; 0 where there is none. Numbers have gaps.
    pub version: i64,
}

/// What the indexes of vectors take, and what the server keeps in memory itself; bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorMemory {
    pub indexes: i64,
    pub shared_buffers: i64,
}

impl Store {
    /// How large the indexes of vectors are beside the server's own memory.
    pub async fn vector_memory(&self) -> Result<VectorMemory, StoreError> {
        let (indexes, shared_buffers) = sqlx::query_as(
            "SELECT coalesce(sum(pg_relation_size(one.oid)), 0)::bigint, pg_size_bytes(current_setting('shared_buffers'))
             FROM pg_class one JOIN pg_am method ON method.oid = one.relam WHERE method.amname = 'hnsw'",
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(VectorMemory { indexes, shared_buffers })
    }

    /// Brings the schema up to date. Safe to run by many processes at once: migrations hold an advisory lock.
    ///
    /// # Errors
    /// `SchemaBusy` when a table stays in use; what was migrated until then stays. `SchemaNewer` below the floor.
    pub async fn migrate(&self) -> Result<MigrationReport, StoreError> {
        self.check_vector().await?;
        let before = self.applied().await?;
        self.check_floor(&before).await?;
        self.run_migrations().await?;
        let after = self.applied().await?;
        Ok(MigrationReport {
            applied: after.len().saturating_sub(before.len()),
            version: after.into_iter().max().unwrap_or(0),
        })
    }

    /// Whether this program can run on the schema as it is. Changes nothing.
    ///
    /// # Errors
    /// `SchemaBehind` when migrations are to be run first, `SchemaNewer` when this program is below the floor.
    pub async fn check_schema(&self) -> Result<(), StoreError> {
        let applied = self.applied().await?;
        self.check_floor(&applied).await?;
        match pending(&applied) {
            0 => Ok(()),
            pending => Err(StoreError::SchemaBehind { pending }),
        }
    }

    /// Migrations that this build brings and the store has not had.
    pub async fn pending_migrations(&self) -> Result<usize, StoreError> {
        Ok(pending(&self.applied().await?))
    }

    /// On a connection without the statement timeout: building an index takes as long as the table is large, and the lock
    /// that another process's migration holds is waited for.
    async fn run_migrations(&self) -> Result<(), StoreError> {
        if let Some(direct) = &self.direct {
            // The lock and the settings are the session's, which a pooler gives to others between two transactions.
            let mut own = past_pooler(direct, self.pool.options().get_acquire_timeout()).await?;
            let done = locked(&mut own).await;
            own.close().await?;
            return done;
        }
        let mut connection = self.pool.acquire().await?;
        let done = locked(&mut connection).await;
        let reset = async {
            connection.unlock().await.map_err(StoreError::from_migration)?;
            sqlx::raw_sql("RESET statement_timeout; RESET lock_timeout").execute(&mut *connection).await?;
            Ok::<_, StoreError>(())
        };
        let reset = reset.await;
        if let Err(error) = reset {
            tracing::warn!(%error, "a connection could not be given its settings back; it is closed");
            drop(connection.detach());
        }
        done
    }

    async fn applied(&self) -> Result<BTreeSet<i64>, StoreError> {
        let exists: bool =
            sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&self.pool).await?;
        if !exists {
            return Ok(BTreeSet::new());
        }
        let versions: Vec<i64> =
            sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success").fetch_all(&self.pool).await?;
        Ok(versions.into_iter().collect())
    }

    /// Refuses a schema that a newer program has changed so that this one cannot run on it any more.
    async fn check_floor(&self, applied: &BTreeSet<i64>) -> Result<(), StoreError> {
        let known = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or(0);
        if applied.last().is_none_or(|last| *last <= known) {
            return Ok(());
        }
        let floor: Option<i64> =
            sqlx::query_scalar("SELECT (value #>> '{}')::bigint FROM store_settings WHERE key = 'oldest_program'")
                .fetch_optional(&self.pool)
                .await?
                .flatten();
        match floor {
            Some(floor) if floor > known => Err(StoreError::SchemaNewer { floor, known }),
            _ => Ok(()),
        }
    }
}

fn pending(applied: &BTreeSet<i64>) -> usize {
    MIGRATOR.iter().filter(|migration| !applied.contains(&migration.version)).count()
}

/// The lock of those that migrate is waited for as long as it takes; a table's only for [`LOCK_TIMEOUT`].
async fn locked(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("SET statement_timeout = 0").execute(&mut *connection).await?;
    connection.lock().await.map_err(StoreError::from_migration)?;
    sqlx::query(sqlx::AssertSqlSafe(format!("SET lock_timeout = {}", LOCK_TIMEOUT.as_millis())))
        .execute(&mut *connection)
        .await?;
    MIGRATOR.run(&mut *connection).await.map_err(StoreError::from_migration)
}

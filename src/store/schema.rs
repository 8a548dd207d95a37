//! The schema: its migrations, and which program versions may use it.
//!
//! Migrations go forward only, in two steps if the previous version could not run on the result. One release adds new
//! objects; the next removes the old, so both versions run concurrently. The second step raises the floor
//! (`oldest_program` in `store_settings`) to the last migration of the oldest program that still works.
//!
//! The first migration is the whole schema of release 0.1. Databases of earlier development versions are rejected.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::migrate::{Migrate as _, Migrator};
use sqlx::{Connection as _, PgConnection};

use super::session::past_pooler;
use super::{Store, StoreError};

static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let mut migrator = sqlx::migrate!();
    // Migrations of newer programs are ignored; the floor decides. `run_migrations` takes the lock.
    migrator.set_ignore_missing(true).set_locking(false);
    migrator
});

/// Number of the migration that creates the schema.
pub(super) const FIRST_MIGRATION: i64 = 1;

/// How long a migration waits for a table lock. Later statements wait behind it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigrationReport {
    pub applied: usize,
    /// Number of the newest migration; 0 without any.
    pub version: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorMemory {
    pub indexes: i64,
    pub shared_buffers: i64,
}

impl Store {
    pub async fn vector_memory(&self) -> Result<VectorMemory, StoreError> {
        let (indexes, shared_buffers) = sqlx::query_as(
            "SELECT coalesce(sum(pg_relation_size(one.oid)), 0)::bigint, pg_size_bytes(current_setting('shared_buffers'))
             FROM pg_class one JOIN pg_am method ON method.oid = one.relam WHERE method.amname = 'hnsw'",
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(VectorMemory { indexes, shared_buffers })
    }

    /// Runs pending migrations; an advisory lock serialises concurrent calls.
    ///
    /// # Errors
    /// `SchemaBusy` if a table stays locked; completed migrations remain. `SchemaNewer` below the floor.
    /// `SchemaUnreleased` for a database of a development version.
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

    /// Checks that this program can use the schema. Changes nothing.
    ///
    /// # Errors
    /// `SchemaBehind` if migrations are pending, `SchemaNewer` below the floor, `SchemaUnreleased` for a database of a
    /// development version.
    pub async fn check_schema(&self) -> Result<(), StoreError> {
        let applied = self.applied().await?;
        self.check_floor(&applied).await?;
        match pending(&applied) {
            0 => Ok(()),
            pending => Err(StoreError::SchemaBehind { pending }),
        }
    }

    pub async fn pending_migrations(&self) -> Result<usize, StoreError> {
        Ok(pending(&self.applied().await?))
    }

    /// Runs without a statement timeout: an index build takes long on a large table, and another process may hold the
    /// lock.
    async fn run_migrations(&self) -> Result<(), StoreError> {
        if let Some(direct) = &self.direct {
            // Lock and settings belong to the session, which a pooler reassigns between transactions.
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
            tracing::warn!(%error, "resetting a connection failed; closing it");
            drop(connection.detach());
        }
        done
    }

    /// Returns the numbers of the migrations in the database.
    async fn applied(&self) -> Result<BTreeSet<i64>, StoreError> {
        let exists: bool =
            sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&self.pool).await?;
        if !exists {
            return Ok(BTreeSet::new());
        }
        let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success")
            .fetch_all(&self.pool)
            .await?;
        if rows.iter().any(|(version, checksum)| *version == FIRST_MIGRATION && !is_first_migration(checksum)) {
            return Err(StoreError::SchemaUnreleased);
        }
        Ok(rows.into_iter().map(|(version, _)| version).collect())
    }

    /// Rejects a schema that a newer program made incompatible.
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

fn is_first_migration(checksum: &[u8]) -> bool {
    MIGRATOR.iter().any(|migration| migration.version == FIRST_MIGRATION && *migration.checksum == *checksum)
}

fn pending(applied: &BTreeSet<i64>) -> usize {
    MIGRATOR.iter().filter(|migration| !applied.contains(&migration.version)).count()
}

/// Waits without limit for the migration lock, but only [`LOCK_TIMEOUT`] for a table.
async fn locked(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("SET statement_timeout = 0").execute(&mut *connection).await?;
    connection.lock().await.map_err(StoreError::from_migration)?;
    sqlx::query(sqlx::AssertSqlSafe(format!("SET lock_timeout = {}", LOCK_TIMEOUT.as_millis())))
        .execute(&mut *connection)
        .await?;
    MIGRATOR.run(&mut *connection).await.map_err(StoreError::from_migration)
}

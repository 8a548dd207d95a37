//! What can go wrong with the store, and what to do about it.

/// A failed statement or start.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("DATABASE_URL is not a Postgres address; write it like postgres://user:password@host:5432/name")]
    BadUrl,
    #[error("the database refused the user or password; check DATABASE_URL (or DATABASE_URL_FILE)")]
    WrongPassword(#[source] sqlx::Error),
    #[error("the database named in DATABASE_URL does not exist; create it, for example: createdb corroborate")]
    NoDatabase(#[source] sqlx::Error),
    #[error("the database cannot be reached; check that it runs and that DATABASE_URL names its host and port")]
    Unreachable(#[source] sqlx::Error),
    #[error(
        "a pooler stands between this program and the database that DATABASE_URL (or DATABASE_READ_URL) names; set DATABASE_DIRECT_URL to the database itself (docs/operating.md, Connections)"
    )]
    Pooler(#[source] sqlx::Error),
    #[error("past the pooler, at DATABASE_DIRECT_URL: {0}")]
    Direct(Box<StoreError>),
    #[error(
        "the extension `vector` is not installed on the database server; install pgvector there (package \
         postgresql-NN-pgvector, or the image pgvector/pgvector), then run `corroborate migrate`"
    )]
    MissingVector,
    #[error(
        "the extension `vector` on the database server is {found}, at least 0.7 is needed; update pgvector there, then run `corroborate migrate`"
    )]
    OldVector { found: String },
    #[error("the user in DATABASE_URL may not {action}; let an owner run `corroborate migrate` once, or grant it")]
    NotPermitted {
        action: &'static str,
        #[source]
        source: sqlx::Error,
    },
    #[error(
        "a newer corroborate has changed the schema so that this one cannot run on it any more (it knows migration {known}, {floor} is needed); install the newer version"
    )]
    SchemaNewer { floor: i64, known: i64 },
    #[error(
        "{pending} migration(s) of the schema have not been run; run `corroborate migrate`, or let `serve` do it with CORROBORATE_DATABASE_MIGRATE=true"
    )]
    SchemaBehind { pending: usize },
    #[error(
        "the schema was not changed, since another session holds a lock on a table and waiting longer would hold up everybody else; run `corroborate migrate` again at a quiet hour, or end that session (pg_stat_activity names it)"
    )]
    SchemaBusy(#[source] sqlx::Error),
    #[error("the schema could not be brought up to date")]
    Migration(#[source] sqlx::migrate::MigrateError),
    #[error(
        "the store holds vectors of {stored} dimensions, the configured embedder gives {configured}; configure an embedder of {stored} dimensions, or start with an empty database"
    )]
    Dimension { stored: usize, configured: usize },
    #[error("the store refused a verdict without evidence behind it: {detail}")]
    NoEvidence { detail: String },
    #[error("the data folder {path} cannot be used: {detail}")]
    DataFolder { path: String, detail: String },
    #[error(
        "the data folder {path} is in use by process {pid}; stop that process, or give this one another CORROBORATE_DATA_DIR"
    )]
    Locked { path: String, pid: u32 },
    #[error("the embedded database could not be started: {detail}")]
    Embedded { detail: String },
    #[error("a statement failed")]
    Statement(#[source] sqlx::Error),
    #[error("a stored value could not be read: {detail}")]
    Corrupt { detail: String },
    /// Of a statement in which several questions were put.
    #[error(transparent)]
    Shared(std::sync::Arc<StoreError>),
}

impl StoreError {
    /// Whether the same statement may succeed later without a change.
    pub fn is_transient(&self) -> bool {
        match self {
            // A password being changed, a database being restored: to the daemon that runs, all of it is an outage, and
            // what waits in the queue must not be given up for it. The number of tries bounds the rest.
            Self::Unreachable(_)
            | Self::WrongPassword(_)
            | Self::NoDatabase(_)
            | Self::NotPermitted { .. }
            | Self::Pooler(_) => true,
            Self::Statement(error) => transient(error),
            Self::Direct(error) => error.is_transient(),
            Self::Shared(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Whether the error speaks of the database more than of the statement: nobody answers, nobody is let in, or nothing
    /// can be written. One statement can cause most of these by itself, so ask [`super::Store::check_writable`] before the
    /// database is held to be away.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::WrongPassword(_)
            | Self::NoDatabase(_)
            | Self::NotPermitted { .. }
            | Self::Pooler(_) => true,
            Self::Statement(error) => away(error),
            Self::Shared(error) => error.is_away(),
            _ => false,
        }
    }

    /// Whether the connection broke while the statement ran: on another one it may succeed at once.
    pub fn lost_its_connection(&self) -> bool {
        match self {
            Self::Unreachable(error) | Self::Statement(error) => cut_off(error),
            Self::Shared(error) => error.lost_its_connection(),
            _ => false,
        }
    }

    /// A bounded word for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::BadUrl => "store_url",
            Self::WrongPassword(_) => "store_password",
            Self::NoDatabase(_) => "store_no_database",
            Self::Unreachable(_) => "store_unreachable",
            Self::Pooler(_) => "store_pooler",
            Self::MissingVector | Self::OldVector { .. } => "store_no_vector",
            Self::NotPermitted { .. } => "store_permission",
            Self::SchemaNewer { .. } => "store_newer",
            Self::SchemaBehind { .. } => "store_behind",
            Self::SchemaBusy(_) => "store_busy",
            Self::Migration(_) => "store_migration",
            Self::Dimension { .. } => "store_dimension",
            Self::NoEvidence { .. } => "store_no_evidence",
            Self::DataFolder { .. } => "store_folder",
            Self::Locked { .. } => "store_locked",
            Self::Embedded { .. } => "store_embedded",
            Self::Statement(_) => "store_statement",
            Self::Corrupt { .. } => "store_corrupt",
            Self::Direct(error) => error.label(),
            Self::Shared(error) => error.label(),
        }
    }

    pub(crate) fn from_migration(error: sqlx::migrate::MigrateError) -> Self {
        use sqlx::migrate::MigrateError;
        match error {
            // Lock not available: the timeout of the migrations' own connection.
            MigrateError::Execute(inner) | MigrateError::ExecuteMigration(inner, _)
                if inner.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() == Some("55P03") =>
            {
                Self::SchemaBusy(inner)
            }
            MigrateError::Execute(inner) | MigrateError::ExecuteMigration(inner, _) => match Self::from(inner) {
                Self::Statement(inner) => Self::Migration(MigrateError::Execute(inner)),
                other => other,
            },
            other => Self::Migration(other),
        }
    }
}

/// Deadlocks, serialisation failures, a server that restarts or lets nobody in, a lost connection, a page cleaned away
/// under a result, a row somebody else wrote at the same moment.
fn transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(database) => database.code().is_some_and(|code| {
            code.starts_with("40")
                || code.starts_with("57P")
                || code.starts_with("08")
                || code.starts_with("53")
                || code.starts_with("55")
                || away_code(&code)
                // The third is our own statement timeout: a busy server may be quicker next time.
                || ["23503", "23505", "57014"].contains(&code.as_ref())
                // The server took back a session that did nothing in a transaction: this process was stopped for a while.
                || code == "25P03"
                // A table, column or function that is not there: a backup is being restored, and items must not be given up.
                || ["42P01", "42703", "42883"].contains(&code.as_ref())
        }),
        _ => false,
    }
}

/// Connections that break, a server that starts, stops, lets nobody in, has run out of something or reads only.
fn away(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(database) => database.code().is_some_and(|code| away_code(&code)),
        _ => false,
    }
}

/// Postgres' classes 08 (connection), 53 (no room, no memory, too many connections), 57P (going down, starting) and 58
/// (disk), and what a standby or a database that is closed to everybody answers.
fn away_code(code: &str) -> bool {
    ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) || ["25006", "55000"].contains(&code)
}

/// The server ended the session or went down, or the line broke. Waiting in vain for a connection is none of these.
fn cut_off(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(database) => database
            .code()
            .is_some_and(|code| code.starts_with("08") || ["57P01", "57P02", "25P03"].contains(&code.as_ref())),
        _ => false,
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if let sqlx::Error::Database(database) = &error {
            match database.code().as_deref() {
                Some("28P01" | "28000") => return Self::WrongPassword(error),
                Some("3D000") => return Self::NoDatabase(error),
                // What a session starts with is refused by a pooler alone.
                Some("08P01") if database.message().contains("startup parameter") => return Self::Pooler(error),
                Some("42501") => return Self::NotPermitted { action: "do this", source: error },
                Some("23514") if database.constraint() == Some("claim_has_evidence") => {
                    return Self::NoEvidence { detail: database.message().to_owned() };
                }
                _ => {}
            }
        }
        match error {
            // The pool is closed when the process ends, or its embedded database has: what was asked is not refused.
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Tls(_) => {
                Self::Unreachable(error)
            }
            other => Self::Statement(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_the_database_alone_is_an_outage_and_can_be_tried_again() {
        for code in ["08006", "53100", "53300", "57P01", "57P03", "58030", "25006", "55000"] {
            assert!(away_code(code), "{code}");
        }
        // A deadlock, a lock not had, our own timeout, a double, a check: of the statement.
        for code in ["40P01", "40001", "55P03", "57014", "23505", "23514", "22021"] {
            assert!(!away_code(code), "{code}");
        }
        for error in [
            StoreError::Unreachable(sqlx::Error::PoolTimedOut),
            StoreError::Statement(sqlx::Error::WorkerCrashed),
            sqlx::Error::PoolClosed.into(),
        ] {
            assert!(error.is_away() && error.is_transient(), "{error}");
        }
        assert!(!StoreError::Corrupt { detail: String::new() }.is_away());
    }
}

//! Errors of the store, and their classes: transient, caused by values, outage.
//!
//! SQLSTATE codes decide the class. An error message names the fix.

use chrono::TimeDelta;

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
        "the database of DATABASE_URL (or DATABASE_READ_URL) is behind a connection pooler; set DATABASE_DIRECT_URL to the database itself (docs/operate.md, Connections)"
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
    /// The first migration in the database is not the program's.
    #[error(
        "this database was created by a development version before 0.1; dump what you need, drop it and create it empty (an embedded store: remove its folder), then run `corroborate migrate`"
    )]
    SchemaUnreleased,
    #[error(
        "{pending} migration(s) of the schema have not been run; run `corroborate migrate`, or let `serve` do it with CORROBORATE_DATABASE_MIGRATE=true"
    )]
    SchemaBehind { pending: usize },
    #[error(
        "the schema was not changed, because another session holds a lock on a table; run `corroborate migrate` again at a quiet hour, or end that session (pg_stat_activity names it)"
    )]
    SchemaBusy(#[source] sqlx::Error),
    #[error("the schema migration failed")]
    Migration(#[source] sqlx::migrate::MigrateError),
    #[error(
        "the store holds vectors of {stored} dimensions, the configured embedder gives {configured}; configure an embedder of {stored} dimensions, or start with an empty database"
    )]
    Dimension { stored: usize, configured: usize },
    #[error("the store rejected a verdict without evidence: {detail}")]
    NoEvidence { detail: String },
    #[error("the data folder {path} cannot be used: {detail}")]
    DataFolder { path: String, detail: String },
    #[error(
        "the data folder {path} is in use by process {pid}; stop that process, or give this one another CORROBORATE_DATA_DIR"
    )]
    Locked { path: String, pid: u32 },
    #[error("the embedded database could not be started: {detail}")]
    Embedded { detail: String },
    /// Process clock minus database clock; negative if the process is behind.
    #[error(
        "the clock of this machine is {} the clock of the database; synchronise both clocks, for example by NTP",
        difference(*.ahead)
    )]
    ClocksDiffer { ahead: TimeDelta },
    #[error("a statement failed")]
    Statement(#[source] sqlx::Error),
    #[error("a stored value could not be read: {detail}")]
    Corrupt { detail: String },
}

impl StoreError {
    /// Returns true if a retry may succeed. Only errors about values are permanent: others, such as a damaged index,
    /// affect all items. The number of attempts bounds retries.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::WrongPassword(_)
            | Self::NoDatabase(_)
            | Self::NotPermitted { .. }
            | Self::Pooler(_) => true,
            Self::Statement(error) => !Fault::of(error).is_of_values(),
            Self::Direct(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Returns true if the database refused a value. In a batch, the other rows can still be written.
    pub fn is_of_values(&self) -> bool {
        match self {
            Self::Statement(error) => Fault::of(error).is_of_values(),
            Self::Direct(error) => error.is_of_values(),
            _ => false,
        }
    }

    /// Returns true if the database is unavailable or busy for a while: lock, restart, restore.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Statement(error) => matches!(Fault::of(error), Fault::Away | Fault::Passing),
            Self::Direct(error) => error.is_outage(),
            other => other.is_away(),
        }
    }

    /// Returns true if the database is probably unavailable: no answer, no access or no writes. One statement alone can
    /// cause these, so confirm with [`super::Store::check_writable`].
    pub fn is_away(&self) -> bool {
        match self {
            Self::Unreachable(_)
            | Self::WrongPassword(_)
            | Self::NoDatabase(_)
            | Self::NotPermitted { .. }
            | Self::Pooler(_) => true,
            Self::Statement(error) => Fault::of(error) == Fault::Away,
            _ => false,
        }
    }

    /// Returns true if the connection broke; a retry on another one may succeed at once.
    pub fn lost_its_connection(&self) -> bool {
        match self {
            Self::Unreachable(error) | Self::Statement(error) => cut_off(error),
            _ => false,
        }
    }

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
            Self::SchemaUnreleased => "store_unreleased",
            Self::SchemaBehind { .. } => "store_behind",
            Self::SchemaBusy(_) => "store_busy",
            Self::Migration(_) => "store_migration",
            Self::Dimension { .. } => "store_dimension",
            Self::NoEvidence { .. } => "store_no_evidence",
            Self::DataFolder { .. } => "store_folder",
            Self::Locked { .. } => "store_locked",
            Self::Embedded { .. } => "store_embedded",
            Self::ClocksDiffer { .. } => "store_clock",
            Self::Statement(error) => Fault::of(error).label(),
            Self::Corrupt { .. } => "store_corrupt",
            Self::Direct(error) => error.label(),
        }
    }

    pub(crate) fn from_migration(error: sqlx::migrate::MigrateError) -> Self {
        use sqlx::migrate::MigrateError;
        match error {
            // `lock_not_available`: the timeout of the migration connection.
            MigrateError::Execute(inner) | MigrateError::ExecuteMigration(inner, _)
                if inner.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() == Some("55P03") =>
            {
                Self::SchemaBusy(inner)
            }
            MigrateError::Execute(inner) | MigrateError::ExecuteMigration(inner, _) => match Self::from(inner) {
                Self::Statement(inner) => Self::Migration(MigrateError::Execute(inner)),
                other => other,
            },
            // Another program created the schema while this one waited for the migration lock.
            MigrateError::VersionMismatch(super::schema::FIRST_MIGRATION) => Self::SchemaUnreleased,
            other => Self::Migration(other),
        }
    }
}

fn difference(ahead: TimeDelta) -> String {
    let words = match ahead.abs() {
        long if long >= TimeDelta::days(2) => format!("{} days", (long + TimeDelta::hours(12)).num_days()),
        long if long >= TimeDelta::hours(2) => format!("{} hours", (long + TimeDelta::minutes(30)).num_hours()),
        long => format!("{} minutes", (long + TimeDelta::seconds(30)).num_minutes()),
    };
    format!("{words} {}", if ahead > TimeDelta::zero() { "ahead of" } else { "behind" })
}

/// Cause of a failed statement, by SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Unreachable, refuses connections, or cannot write.
    Away,
    /// Temporary: deadlock, lock, timeout, or a concurrent write of the same row.
    Passing,
    /// A column, constraint or conversion refused a value.
    Values,
    /// A value is too long for an index.
    IndexedValue,
    /// A database object is missing or different: a migration or restore is in progress.
    Schema,
    /// The server's files are damaged.
    Damaged,
    Unknown,
}

impl Fault {
    fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                Self::Away
            }
            sqlx::Error::Database(database) => database.code().map_or(Self::Unknown, |code| Self::of_code(&code)),
            _ => Self::Unknown,
        }
    }

    /// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
    fn of_code(code: &str) -> Self {
        match code {
            code if away_code(code) => Self::Away,
            // An invalid parameter belongs to the statement, not to a row.
            "22023" => Self::Unknown,
            "23502" | "23514" => Self::Values,
            "54000" => Self::IndexedValue,
            // Foreign key, unique index, exclusion constraint; statement timeout; idle session timeout.
            "23503" | "23505" | "23P01" | "57014" | "25P03" => Self::Passing,
            "0A000" | "26000" => Self::Schema,
            "XX001" | "XX002" => Self::Damaged,
            code if code.starts_with("22") => Self::Values,
            code if code.starts_with("40") || code.starts_with("55") => Self::Passing,
            code if code.starts_with("42") => Self::Schema,
            _ => Self::Unknown,
        }
    }

    const fn is_of_values(self) -> bool {
        matches!(self, Self::Values | Self::IndexedValue)
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Values => "store_data",
            Self::IndexedValue => "store_index",
            Self::Schema => "store_schema",
            Self::Damaged => "store_damaged",
            Self::Away | Self::Passing | Self::Unknown => "store_statement",
        }
    }
}

/// Classes 08 (connection), 53 (resources), 57P (shutdown, startup), 58 (disk); also a standby (25006) and a database
/// that accepts no connections (55000).
fn away_code(code: &str) -> bool {
    ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class)) || ["25006", "55000"].contains(&code)
}

/// Server shutdown, ended session or broken connection; not a timeout of the pool.
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
                // Only a pooler refuses startup parameters.
                Some("08P01") if database.message().contains("startup parameter") => return Self::Pooler(error),
                Some("42501") => return Self::NotPermitted { action: "do this", source: error },
                Some("23514") if database.constraint() == Some("claim_has_evidence") => {
                    return Self::NoEvidence { detail: database.message().to_owned() };
                }
                _ => {}
            }
        }
        match error {
            // The pool closes at process end or after a fault of the embedded database; the statement itself was not
            // refused.
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Tls(_) => {
                Self::Unreachable(error)
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Self::Corrupt { detail: error.to_string() },
            other => Self::Statement(other),
        }
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use std::borrow::Cow;
    use std::error::Error as StdError;

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::StoreError;

    #[derive(Debug, thiserror::Error)]
    #[error("code {0}")]
    struct CodedError(&'static str);

    impl DatabaseError for CodedError {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    pub(crate) fn of_code(code: &'static str) -> StoreError {
        sqlx::Error::Database(Box::new(CodedError(code))).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outage_is_recognised_and_transient_when_the_database_is_at_fault() {
        for code in ["08006", "53100", "53300", "57P01", "57P03", "58030", "25006", "55000"] {
            assert!(away_code(code), "{code}");
        }
        for code in ["40P01", "40001", "55P03", "57014", "23505", "23514", "22021"] {
            assert!(!away_code(code), "{code}");
        }
        for error in [
            StoreError::Unreachable(sqlx::Error::PoolTimedOut),
            StoreError::Statement(sqlx::Error::WorkerCrashed),
            sqlx::Error::PoolClosed.into(),
        ] {
            assert!(error.is_away() && error.is_transient() && error.is_outage(), "{error}");
        }
        assert!(!StoreError::Corrupt { detail: String::new() }.is_away());
    }

    #[test]
    fn clock_error_names_the_difference_and_its_direction() {
        let text = |ahead| StoreError::ClocksDiffer { ahead }.to_string();
        assert!(
            text(TimeDelta::milliseconds(60 * 86_400_000 - 5))
                .starts_with("the clock of this machine is 60 days ahead of the clock of")
        );
        assert!(text(TimeDelta::minutes(-7)).starts_with("the clock of this machine is 7 minutes behind the clock of"));
    }

    #[test]
    fn database_error_is_permanent_only_when_it_is_about_the_values() {
        for (code, label) in [
            ("22001", "store_data"),
            ("22008", "store_data"),
            ("22021", "store_data"),
            ("22P05", "store_data"),
            ("23502", "store_data"),
            ("23514", "store_data"),
            ("54000", "store_index"),
        ] {
            let error = samples::of_code(code);
            assert!(!error.is_transient() && error.is_of_values() && !error.is_outage(), "{code}");
            assert_eq!(error.label(), label, "{code}");
        }
        for (code, label) in [
            ("0A000", "store_schema"),
            ("26000", "store_schema"),
            ("42P01", "store_schema"),
            ("42703", "store_schema"),
            ("42804", "store_schema"),
            ("XX000", "store_statement"),
            ("XX001", "store_damaged"),
            ("XX002", "store_damaged"),
            ("22023", "store_statement"),
            ("23503", "store_statement"),
            ("23P01", "store_statement"),
            ("40P01", "store_statement"),
            ("54001", "store_statement"),
            ("P0001", "store_statement"),
        ] {
            let error = samples::of_code(code);
            assert!(error.is_transient() && !error.is_of_values(), "{code}");
            assert_eq!(error.label(), label, "{code}");
        }
        assert!(StoreError::Statement(sqlx::Error::Decode("of another version".into())).is_transient());
    }
}

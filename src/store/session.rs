//! Sessions: connection options, a probe that detects a pooler, and ephemeral schemas.
//!
//! Behind a declared pooler, no startup parameters are set. An ephemeral schema is for a command that must start empty and
//! leave nothing; nothing else in the database is changed, except that the extension `vector` is created.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection as _, Row as _};

use super::{Store, StoreError, StoreSettings};

/// Prefix of an ephemeral schema's name, which also identifies left-overs of a killed command.
const EPHEMERAL_PREFIX: &str = "corroborate_throw_away_";

pub(super) fn connect_options(url: &SecretString, settings: &StoreSettings) -> Result<PgConnectOptions, StoreError> {
    let text = url.expose_secret();
    // The driver accepts any scheme and would try the host of a `mysql://` address.
    if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
        return Err(StoreError::BadUrl);
    }
    let options: PgConnectOptions = text.parse().map_err(|_error: sqlx::Error| StoreError::BadUrl)?;
    // The default is exact since Postgres 12, and PgBouncer refuses the parameter.
    let options = options.application_name("corroborate").extra_float_digits(None);
    if settings.direct.is_some() {
        // Behind a pooler, session settings would affect other clients, and PgBouncer refuses most. There, limits come
        // from `ALTER ROLE … SET statement_timeout`.
        return Ok(options);
    }
    let options = match settings.statement_timeout {
        // The second ends a transaction whose process is disconnected; otherwise it holds locks for two hours, until
        // the system notices.
        Some(limit) => ["statement_timeout", "idle_in_transaction_session_timeout"]
            .into_iter()
            .fold(options, |options, name| options.options([(name, format!("{}ms", limit.as_millis()))])),
        None => options,
    };
    Ok(match &settings.schema {
        // The extension `vector` may be in the later schemas.
        Some(schema) => options.options([("search_path", format!("{schema},public,extensions"))]),
        None => options,
    })
}

/// Connects once. An undeclared pooler refuses or drops startup parameters.
pub(super) async fn probe(options: &PgConnectOptions, settings: &StoreSettings) -> Result<(), StoreError> {
    if settings.direct.is_some() {
        return Ok(PgConnection::connect_with(options).await?.close().await?);
    }
    // A parameter that only this probe sets.
    let mark = format!("{:016x}", rand::random::<u64>());
    let marked = options.clone().options([("corroborate.session", mark.as_str())]);
    let mut connection = PgConnection::connect_with(&marked).await?;
    // Simple protocol: a pooler may not support prepared statements.
    let found = sqlx::raw_sql("SELECT current_setting('corroborate.session', true)").fetch_one(&mut connection).await?;
    if found.try_get::<Option<String>, _>(0)?.as_deref() != Some(mark.as_str()) {
        let left_out = "what the session was to start with was left out on the way";
        return Err(StoreError::Pooler(sqlx::Error::Configuration(left_out.into())));
    }
    Ok(connection.close().await?)
}

/// Opens a session that bypasses the pooler. `patience`: connect timeout.
pub(super) async fn past_pooler(direct: &PgConnectOptions, patience: Duration) -> Result<PgConnection, StoreError> {
    let connected = tokio::time::timeout(patience, PgConnection::connect_with(direct)).await;
    let connected = connected.unwrap_or_else(|_elapsed| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())));
    connected.map_err(|error| StoreError::Direct(Box::new(error.into())))
}

impl Store {
    pub async fn connect_apart(url: &SecretString, settings: &StoreSettings) -> Result<Self, StoreError> {
        let schema = format!("{EPHEMERAL_PREFIX}{:016x}", rand::random::<u64>());
        let outside = Self::connect(url, settings).await?;
        // In the main schema, because the extension would be dropped with the new one.
        let made = async {
            sqlx::query("CREATE EXTENSION IF NOT EXISTS vector").execute(&outside.pool).await?;
            sqlx::query(sqlx::AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&outside.pool).await
        };
        let made = made.await;
        outside.close().await;
        made?;
        Self::connect(url, &StoreSettings { schema: Some(schema), ..settings.clone() }).await
    }

    /// Takes a connection out of the pool until it is dropped.
    #[cfg(test)]
    pub(crate) async fn hold_connection(&self) -> Result<impl Drop + use<>, StoreError> {
        Ok(self.pool.acquire().await?)
    }

    /// Drops the ephemeral schema. Does nothing on other stores.
    pub async fn throw_away(&self) -> Result<(), StoreError> {
        let schema: Option<String> = sqlx::query_scalar("SELECT current_schema()").fetch_one(&self.pool).await?;
        let Some(schema) = schema.filter(|schema| schema.starts_with(EPHEMERAL_PREFIX)) else { return Ok(()) };
        sqlx::query(sqlx::AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"))).execute(&self.pool).await?;
        Ok(())
    }
}

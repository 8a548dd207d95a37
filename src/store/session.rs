//! Connection options, and a probe that detects a pooler.
//!
//! Behind a declared pooler, no startup parameters are set.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection as _, Row as _};

use super::{StoreError, StoreSettings};

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

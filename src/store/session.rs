//! What a connection is opened with, and whether it reaches the server itself.

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection as _, Row as _};

use super::{StoreError, StoreSettings};

pub(super) fn connect_options(url: &SecretString, settings: &StoreSettings) -> Result<PgConnectOptions, StoreError> {
    let text = url.expose_secret();
    // The driver takes any scheme, and would go looking for the host of a mysql:// address.
    if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
        return Err(StoreError::BadUrl);
    }
    let options: PgConnectOptions = text.parse().map_err(|_error: sqlx::Error| StoreError::BadUrl)?;
    // Its default is the most exact one since Postgres 12, and PgBouncer refuses it.
    let options = options.application_name("corroborate").extra_float_digits(None);
    if settings.direct.is_some() {
        // What is set at the start of a session holds for whoever has that connection to the server next; most of it PgBouncer
        // refuses. The user's own settings bound a statement there (ALTER ROLE … SET statement_timeout).
        return Ok(options);
    }
    let options = match settings.statement_timeout {
        // The second is for a session whose process is cut off from it in the middle of a transaction: it holds its locks until
        // the server notices, which takes the system two hours.
        Some(limit) => ["statement_timeout", "idle_in_transaction_session_timeout"]
            .into_iter()
            .fold(options, |options, name| options.options([(name, format!("{}ms", limit.as_millis()))])),
        None => options,
    };
    Ok(match &settings.schema {
        // Behind it the place where the extension `vector` may be.
        Some(schema) => options.options([("search_path", format!("{schema},public,extensions"))]),
        None => options,
    })
}

/// Connects once. A pooler that was not said to be there refuses what a session is to start with, or leaves it out.
pub(super) async fn probe(options: &PgConnectOptions, settings: &StoreSettings) -> Result<(), StoreError> {
    if settings.direct.is_some() {
        return Ok(PgConnection::connect_with(options).await?.close().await?);
    }
    // Nobody else sets this.
    let mark = format!("{:016x}", rand::random::<u64>());
    let marked = options.clone().options([("corroborate.session", mark.as_str())]);
    let mut connection = PgConnection::connect_with(&marked).await?;
    // In the simple protocol: a pooler that is there after all may keep no prepared statements.
    let found = sqlx::raw_sql("SELECT current_setting('corroborate.session', true)").fetch_one(&mut connection).await?;
    if found.try_get::<Option<String>, _>(0)?.as_deref() != Some(mark.as_str()) {
        let left_out = "what the session was to start with was left out on the way";
        return Err(StoreError::Pooler(sqlx::Error::Configuration(left_out.into())));
    }
    Ok(connection.close().await?)
}

/// A connection for what needs a session of its own, past the pooler. `patience`: how long it is waited for.
pub(super) async fn past_pooler(direct: &PgConnectOptions, patience: Duration) -> Result<PgConnection, StoreError> {
    let connected = tokio::time::timeout(patience, PgConnection::connect_with(direct)).await;
    let connected = connected.unwrap_or_else(|_elapsed| Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())));
    connected.map_err(|error| StoreError::Direct(Box::new(error.into())))
}

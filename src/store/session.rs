//! What a connection is opened with, and whether it reaches the server itself.

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};

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
        Some(limit) => options.options([("statement_timeout", format!("{}ms", limit.as_millis()))]),
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
    let mut connection = match PgConnection::connect_with(options).await {
        Err(sqlx::Error::Database(error)) if error.message().contains("startup parameter") => {
            return Err(StoreError::Pooler(sqlx::Error::Database(error)));
        }
        connected => connected?,
    };
    if let Some(limit) = settings.statement_timeout.filter(|_| settings.direct.is_none()) {
        let millis: Option<String> =
            sqlx::query_scalar("SELECT setting FROM pg_settings WHERE name = 'statement_timeout'")
                .persistent(false)
                .fetch_optional(&mut connection)
                .await?;
        if millis.is_some_and(|millis| millis != limit.as_millis().to_string()) {
            let left_out = "the limit of a statement that a session starts with was left out on the way";
            return Err(StoreError::Pooler(sqlx::Error::Configuration(left_out.into())));
        }
    }
    connection.close().await?;
    Ok(())
}

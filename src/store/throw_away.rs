//! An ephemeral schema on a Postgres server, for a command that must start empty and leave nothing.
//!
//! Nothing else in the database is changed, except that the extension `vector` is created.

use secrecy::SecretString;

use super::{Store, StoreError, StoreSettings};

/// Prefix of its name, which also identifies left-overs of a killed command.
const PREFIX: &str = "corroborate_throw_away_";

impl Store {
    pub async fn connect_apart(url: &SecretString, settings: &StoreSettings) -> Result<Self, StoreError> {
        let schema = format!("{PREFIX}{:016x}", rand::random::<u64>());
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

    /// Drops the ephemeral schema. Does nothing on other stores.
    pub async fn throw_away(&self) -> Result<(), StoreError> {
        let schema: Option<String> = sqlx::query_scalar("SELECT current_schema()").fetch_one(&self.pool).await?;
        let Some(schema) = schema.filter(|schema| schema.starts_with(PREFIX)) else { return Ok(()) };
        sqlx::query(sqlx::AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"))).execute(&self.pool).await?;
        Ok(())
    }
}

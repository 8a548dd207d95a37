//! A schema of its own in a server's database, for a run that must leave nothing behind and find nothing.

use secrecy::SecretString;

use super::{Store, StoreError, StoreSettings};

/// What such a schema's name begins with; what a killed run left behind is known by it.
const PREFIX: &str = "corroborate_throw_away_";

impl Store {
    /// Connects to a new, empty schema. Nothing else of the database is touched. See [`Store::throw_away`].
    pub async fn connect_apart(url: &SecretString, settings: &StoreSettings) -> Result<Self, StoreError> {
        let schema = format!("{PREFIX}{:016x}", rand::random::<u64>());
        let outside = Self::connect(url, settings).await?;
        // In the database itself, or the extension would go with the schema.
        let made = async {
            sqlx::query("CREATE EXTENSION IF NOT EXISTS vector").execute(&outside.pool).await?;
            sqlx::query(sqlx::AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&outside.pool).await
        };
        let made = made.await;
        outside.close().await;
        made?;
        Self::connect(url, &StoreSettings { schema: Some(schema), ..settings.clone() }).await
    }

    /// Holds a table, until the guard is dropped, so that nobody else can read it.
    #[cfg(test)]
    pub(crate) async fn held(
        &self,
        table: &'static str,
    ) -> Result<sqlx::Transaction<'static, sqlx::Postgres>, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let lock = sqlx::AssertSqlSafe(format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"));
        sqlx::query(lock).execute(&mut *transaction).await?;
        Ok(transaction)
    }

    /// Removes the schema with everything in it. Does nothing to a store that is not apart.
    pub async fn throw_away(&self) -> Result<(), StoreError> {
        let schema: Option<String> = sqlx::query_scalar("SELECT current_schema()").fetch_one(&self.pool).await?;
        let Some(schema) = schema.filter(|schema| schema.starts_with(PREFIX)) else { return Ok(()) };
        sqlx::query(sqlx::AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"))).execute(&self.pool).await?;
        Ok(())
    }
}

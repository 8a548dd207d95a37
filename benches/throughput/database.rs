//! Databases of their own for each measurement.

use anyhow::Context as _;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

/// A database made for one measurement.
#[derive(Debug)]
pub(crate) struct Scratch {
    server: PgConnectOptions,
    name: String,
}

impl Scratch {
    /// Creates it beside the one the URL names.
    pub(crate) async fn create(url: &str, purpose: &str) -> anyhow::Result<Self> {
        let server: PgConnectOptions = url.parse().context("reading --database")?;
        // The name is made of letters and digits only.
        let name = format!("corroborate_bench_{purpose}_{}", std::process::id());
        let mut connection = server.connect().await.context("connecting to the database")?;
        sqlx::raw_sql(AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name}"))).execute(&mut connection).await?;
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut connection).await?;
        connection.close().await?;
        Ok(Self { server, name })
    }

    /// One that is there already, beside the one the URL names.
    pub(crate) fn existing(url: &str, name: &str) -> anyhow::Result<Self> {
        Ok(Self { server: url.parse().context("reading --database")?, name: name.to_owned() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// For `DATABASE_URL`.
    pub(crate) fn url(&self) -> String {
        self.server.clone().database(&self.name).to_url_lossy().to_string()
    }

    pub(crate) async fn pool(&self, connections: u32) -> anyhow::Result<PgPool> {
        let options = self.server.clone().database(&self.name);
        PgPoolOptions::new()
            .max_connections(connections)
            .connect_with(options)
            .await
            .context("connecting to the database")
    }

    /// Removes it, with whoever still uses it.
    pub(crate) async fn drop(self) -> anyhow::Result<()> {
        let mut connection = self.server.connect().await?;
        let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
        Ok(connection.close().await?)
    }
}

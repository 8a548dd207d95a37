//! A simulator, a database of its own and the settings of the daemons of one measurement.

use anyhow::Context as _;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::Arguments;
use crate::process::{Daemon, Environment, NO_LIMIT, Setup, environment, pairs, remove_log};
use crate::simulator::{Simulator, Target, World};
use crate::upstream::{Batch, Item, Upstream};

/// Loopback addresses that the pages are spread over.
pub(crate) const HOSTS: u8 = 16;

/// Everything that a measurement needs beside its daemons.
pub(crate) struct Bed<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) simulator: Simulator,
    name: &'static str,
    server: PgConnectOptions,
    /// Letters, digits and underscores only.
    database: String,
    environment: Environment,
}

impl<'a> Bed<'a> {
    /// Creates a database next to the one that `--database` names.
    pub(crate) async fn new(
        arguments: &'a Arguments,
        name: &'static str,
        world: impl World,
        settings: &[&str],
    ) -> anyhow::Result<Self> {
        remove_log(name);
        let simulator = Simulator::start_on_hosts(world, HOSTS).await;
        let server: PgConnectOptions = arguments.database()?.parse().context("reading --database")?;
        let database = format!("corroborate_bench_{name}_{}", std::process::id());
        let mut environment = environment(&simulator);
        let others = [
            ("ENRICHMENT_PROVIDERS", "gdelt,eventregistry,newsapi,opensearch".to_owned()),
            ("ENRICHMENT_GDELT_BASE_URL", simulator.base_url(Target::Gdelt)),
            ("ENRICHMENT_GDELT_RPM", NO_LIMIT.to_owned()),
            ("ENRICHMENT_EVENTREGISTRY_BASE_URL", simulator.base_url(Target::EventRegistry)),
            ("ENRICHMENT_NEWSAPI_BASE_URL", simulator.base_url(Target::NewsApi)),
            ("AMQP_URL", arguments.amqp()?.to_owned()),
            ("DATABASE_URL", server.clone().database(&database).to_url_lossy().to_string()),
        ];
        environment.extend(others.map(|(name, value)| (name.to_owned(), value)));
        environment.extend(pairs(settings.iter().copied().chain(arguments.env.iter().map(String::as_str)))?);
        let bed = Self { arguments, simulator, name, server, database, environment };
        bed.on_server(&["DROP DATABASE IF EXISTS", "CREATE DATABASE"], "").await?;
        Ok(bed)
    }

    async fn on_server(&self, statements: &[&str], options: &str) -> anyhow::Result<()> {
        let mut connection = self.server.connect().await.context("connecting to the database")?;
        for statement in statements {
            let statement = format!("{statement} {} {options}", self.database);
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
        }
        Ok(connection.close().await?)
    }

    /// The setup of a daemon on these servers.
    pub(crate) fn setup(&self) -> Setup {
        Setup::new(self.name, self.environment.clone())
    }

    /// The same without servers: an embedded store in this folder.
    pub(crate) fn embedded_setup(&self, folder: &std::path::Path) -> Setup {
        let mut environment = self.environment.clone();
        environment.retain(|(name, _)| name != "AMQP_URL" && name != "DATABASE_URL");
        environment.push(("CORROBORATE_DATA_DIR".to_owned(), folder.display().to_string()));
        Setup::new(self.name, environment)
    }

    /// Starts a daemon.
    pub(crate) async fn daemon(&self) -> anyhow::Result<Daemon> {
        Ok(Daemon::start(self.setup()).await?.0)
    }

    /// Starts a daemon, and connects to its broker.
    pub(crate) async fn daemon_and_upstream(&self) -> anyhow::Result<(Daemon, Upstream)> {
        Ok((self.daemon().await?, Upstream::connect(self.arguments.amqp()?).await?))
    }

    pub(crate) fn url(&self) -> String {
        self.server.clone().database(&self.database).to_url_lossy().to_string()
    }

    pub(crate) async fn pool(&self, connections: u32) -> anyhow::Result<PgPool> {
        let options = self.server.clone().database(&self.database);
        let pool = PgPoolOptions::new().max_connections(connections).connect_with(options);
        pool.await.context("connecting to the database")
    }

    /// Removes the database, also if it is in use.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        self.on_server(&["DROP DATABASE IF EXISTS"], "WITH (FORCE)").await
    }
}

/// Publishes items and waits for their results; an error names the end of the daemon's log.
pub(crate) async fn process(daemon: &Daemon, upstream: &mut Upstream, items: &[Item]) -> anyhow::Result<Batch> {
    upstream.run("item.new", items).await.with_context(|| daemon.log_end())
}

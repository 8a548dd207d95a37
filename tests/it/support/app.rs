//! The whole application for one test: a simulated world around it, a database and names at the broker of its own, and
//! the real program started as often as the test likes.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, Row as _};

use super::daemon::{Daemon, Finished, finish, until};
use super::database;
use super::simulator::{Simulator, Target, World};
use super::upstream::{Upstream, broker_url};

/// So high that no limit of ours is in the way; requests a minute.
const NO_LIMIT: &str = "1000000";

pub(crate) struct TestApp {
    pub(crate) simulator: Simulator,
    pub(crate) upstream: Upstream,
    pub(crate) database: PgPool,
    pub(crate) database_url: url::Url,
    environment: Vec<(String, String)>,
}

/// What every daemon and command is told: where the simulated world is, and to fetch from it.
pub(crate) fn environment(simulator: &Simulator) -> Vec<(String, String)> {
    let base = |target| simulator.base_url(target);
    [
        ("RUST_LOG", "info".to_owned()),
        ("CORROBORATE_HTTP_REQUESTS_PER_MINUTE", NO_LIMIT.to_owned()),
        ("FACTCHECK_GOOGLE_BASE_URL", base(Target::GoogleFactCheck)),
        ("FACTCHECK_GOOGLE_API_KEY", "simulated-key".to_owned()),
        ("FACTCHECK_GOOGLE_RPM", NO_LIMIT.to_owned()),
        ("ENRICHMENT_GDELT_BASE_URL", base(Target::Gdelt)),
        ("ENRICHMENT_GDELT_RPM", NO_LIMIT.to_owned()),
        ("ENRICHMENT_SEARXNG_BASE_URL", base(Target::Searxng)),
        ("ENRICHMENT_SEARXNG_RPM", NO_LIMIT.to_owned()),
        // The trusted sites are real ones.
        ("ENRICHMENT_FEEDS_ENABLED", "false".to_owned()),
        ("ENRICHMENT_WIKIPEDIA_BASE_URL", base(Target::Wikipedia)),
        ("ENRICHMENT_WIKIPEDIA_RPM", NO_LIMIT.to_owned()),
        // Without Wikipedia, which the tests of its own choose: the others count the calls of the news providers.
        ("ENRICHMENT_PROVIDERS", "gdelt,eventregistry,newsapi,opensearch".to_owned()),
        ("ENRICHMENT_BRAVE_BASE_URL", base(Target::Brave)),
        ("ENRICHMENT_BRAVE_API_KEY", "simulated-key".to_owned()),
        ("ENRICHMENT_BRAVE_RPM", NO_LIMIT.to_owned()),
        ("FETCH_ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
        // What a model says moves with its weights; the tests of the models choose them.
        ("INFERENCE_EMBEDDER", "hashed".to_owned()),
        ("INFERENCE_STANCE", "rules".to_owned()),
        ("INFERENCE_RERANKER", "lexical".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

impl TestApp {
    /// Real broker, real database, nothing started yet. `None`, said aloud: skip.
    pub(crate) async fn new(world: impl World) -> Option<Self> {
        let url = broker_url()?;
        Self::at(&url, world).await
    }

    /// The same at a broker of the test's own.
    pub(crate) async fn at(url: &str, world: impl World) -> Option<Self> {
        Some(Self::on(url, &database::migrated_database().await?, world).await)
    }

    /// With a database that is empty.
    pub(crate) async fn unmigrated(url: &str, world: impl World) -> Option<Self> {
        Some(Self::on(url, &database::empty_database().await?, world).await)
    }

    async fn on(url: &str, database_url: &str, world: impl World) -> Self {
        let upstream = Upstream::connect(url).await;
        let simulator = Simulator::start_on_hosts(world, 4).await;
        let mut environment = environment(&simulator);
        environment.extend(upstream.environment());
        environment.push(("DATABASE_URL".to_owned(), database_url.to_owned()));
        let database = PgPool::connect(database_url).await.unwrap();
        Self { simulator, upstream, database, database_url: database_url.parse().unwrap(), environment }
    }

    /// Sets what every process started from now on sees.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// The environment without a name.
    pub(crate) fn unset(&mut self, name: &str) {
        self.environment.retain(|(known, _)| known != name);
    }

    pub(crate) async fn start(&self) -> Daemon {
        self.start_with(&[]).await
    }

    pub(crate) async fn start_with(&self, arguments: &[&str]) -> Daemon {
        Daemon::spawn(&self.environment, arguments).ready().await
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(arguments, "").await
    }

    pub(crate) async fn run_with(&self, arguments: &[&str], stdin: &str) -> Finished {
        finish(&self.environment, arguments, stdin).await
    }

    /// Runs a command with one name set differently.
    pub(crate) async fn run_set(&self, set: &[(&str, &str)], arguments: &[&str]) -> Finished {
        let mut environment = self.environment.clone();
        environment.retain(|(known, _)| !set.iter().any(|(name, _)| known == name));
        environment.extend(set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        finish(&environment, arguments, "").await
    }

    /// Ends every connection to this test's database but the one that does it.
    pub(crate) async fn cut_database(&self) {
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        sqlx::query(cut).execute(&self.database).await.unwrap();
    }

    /// Lets nobody in any more, and throws out who is in: to the daemon the database is away.
    pub(crate) async fn close_database(&self) {
        self.allow_connections(false).await;
    }

    pub(crate) async fn open_database(&self) {
        self.allow_connections(true).await;
    }

    async fn allow_connections(&self, allow: bool) {
        let name = self.database_url.path().trim_start_matches('/').to_owned();
        let mut server = PgConnection::connect(&database::server_url().unwrap()).await.unwrap();
        let change = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {allow}");
        server.execute(AssertSqlSafe(change)).await.unwrap();
        if !allow {
            let cut = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
            server.execute(AssertSqlSafe(cut)).await.unwrap();
        }
        server.close().await.unwrap();
    }

    /// A count from the database.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let row = sqlx::query(AssertSqlSafe(format!("SELECT count(*) FROM {sql}"))).fetch_one(&self.database).await;
        row.unwrap().get(0)
    }

    /// Requests to all search providers so far.
    pub(crate) fn searches(&self) -> u64 {
        [Target::Gdelt, Target::Searxng, Target::Brave].map(|target| self.simulator.calls(target)).iter().sum()
    }

    /// Requests to everything outside so far.
    pub(crate) fn calls(&self) -> u64 {
        self.searches() + self.simulator.calls(Target::GoogleFactCheck) + self.simulator.calls(Target::Page)
    }

    /// Ends a daemon in order; nothing may be left in the queues or the outbox. Then the broker is as it was.
    pub(crate) async fn finish(self, daemon: Daemon) {
        daemon.stop().await;
        self.upstream.assert_drained().await;
        assert_eq!(self.count("outbox").await, 0, "messages are left in the outbox");
        self.clear().await;
    }

    /// Waits until everything that was published is settled, while the daemon runs.
    pub(crate) async fn settled(&self, daemon: &Daemon) {
        // A message that has left the queue and is not yet in flight is seen by neither: the next look finds it.
        let mut looks = 0;
        until("the queue is empty and nothing is in flight", async || {
            let is_idle =
                self.upstream.queued().await == 0 && daemon.metric("corroborate_items_in_flight", "").await == 0.0;
            looks = if is_idle { looks + 1 } else { 0 };
            looks == 3
        })
        .await;
        // A claim on outbox rows whose answer was cut off with its connection, or its process, runs out by itself.
        until("the outbox is empty", async || self.count("outbox").await == 0).await;
    }

    /// Leaves the broker as it was; all that is left to do after tests that started no daemon.
    pub(crate) async fn clear(self) {
        self.upstream.clear().await;
        self.database.close().await;
    }
}

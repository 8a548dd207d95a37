//! Long runs under faults, on private servers. The guarantees: every item is complete, degraded with a cause, or a dead
//! letter with a reason; an older edit never replaces a newer one; results are published at least once, and copies share
//! an id.

mod account;
pub(crate) mod chaos;
mod fleet;
pub(crate) mod quorum;
mod results;
mod servers;
pub(crate) mod soak;
mod traffic;
pub(crate) mod upgrade;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use sqlx::postgres::{PgPool, PgPoolOptions};

use crate::Arguments;
use crate::bed::HOSTS;
use crate::process::{RULES, Setup, environment, pairs, remove_log};
use crate::proxy::Proxy;
use crate::report::Report;
use crate::simulator::Simulator;
use account::Broker;
use fleet::Fleet;
use results::SharedMessages;
use servers::{Clock, Disk, Postgres, Rabbit, at_port};
use traffic::{Message, WORLD};

/// Pauses before an item is retried: as many as by default, and short.
const RETRY_DELAYS: [&str; 5] = ["1s", "5s", "15s", "30s", "45s"];
/// A run without progress for this long is stuck: longer than the longest retry and every timeout of a process.
const MAX_SILENCE: Duration = Duration::from_mins(4);
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The servers of a run beside the usual ones.
#[derive(Debug, Default, Clone, Copy)]
struct Servers {
    /// Nodes of the broker; at least one.
    nodes: usize,
    /// A disk of its own for the database, with room for this many items.
    disk_for: Option<u64>,
    clocks: bool,
}

/// Servers, a proxy of each process before each of them, the simulated world and the processes.
struct Stage {
    postgres: Postgres,
    /// Each process prefers another node.
    rabbits: Vec<Rabbit>,
    /// One for each process.
    database_proxies: Vec<Proxy>,
    broker_proxies: Vec<Proxy>,
    /// For upstream and the reader of the results.
    own_proxy: Proxy,
    simulator: Simulator,
    fleet: Fleet,
    messages: SharedMessages,
    disk: Option<Disk>,
    /// One for each process, if clocks can be shifted here.
    clocks: Vec<Clock>,
    database_clock: Option<Clock>,
    published: Arc<AtomicU64>,
}

impl Stage {
    /// Starts the servers, and declares the reader's queue; the processes are not started yet.
    async fn start(
        arguments: &Arguments,
        servers: Servers,
        settings: &[&str],
        report: &mut Report,
    ) -> anyhow::Result<Self> {
        let folder = arguments.folder()?;
        let disk = servers.disk_for.map(|items| Disk::mount(folder, items)).transpose().unwrap_or_else(|reason| {
            report.skip(format!("the full disk, because nothing can be mounted here ({reason:#})"));
            None
        });
        let home = disk.as_ref().map_or_else(|| folder.join("postgres"), |disk| disk.folder.join("postgres"));
        let names: Vec<String> = (1..=arguments.processes).map(|number| format!("process-{number}")).collect();
        let (mut clocks, mut database_clock) = (Vec::new(), None);
        if servers.clocks {
            for name in &names {
                clocks.extend(Clock::new(folder, name)?);
            }
            database_clock = Clock::new(folder, "database")?;
            if database_clock.is_none() {
                report.skip("the shifted clocks, because libfaketime is not installed".to_owned());
            }
        }
        eprintln!("starting Postgres and {} node(s) of RabbitMQ", servers.nodes.max(1));
        let postgres = Postgres::start(home, database_clock.as_ref()).await?;
        let mut rabbits: Vec<Rabbit> = Vec::new();
        for number in 1..=servers.nodes.max(1) {
            rabbits.push(Rabbit::start(folder.join(format!("rabbitmq-{number}")), rabbits.first()).await?);
        }
        let ports: Vec<u16> = rabbits.iter().map(|node| node.port).collect();
        let simulator = Simulator::start_on_hosts(WORLD, HOSTS).await;
        let retry_delays = format!("CORROBORATE_QUEUE_RETRY_DELAYS={}", RETRY_DELAYS.join(","));
        let own = [
            "ENRICHMENT_PROVIDERS=opensearch",
            "ENRICHMENT_PROVIDER_COOLDOWN=2s",
            "ENRICHMENT_MAX_SOURCES=3",
            retry_delays.as_str(),
        ];
        let own = own.into_iter().chain(RULES).chain(settings.iter().copied());
        let own = pairs(own.chain(arguments.env.iter().map(String::as_str)))?;
        let (mut database_proxies, mut broker_proxies, mut setups) = (Vec::new(), Vec::new(), Vec::new());
        for (place, name) in names.iter().enumerate() {
            let database = Proxy::before(vec![postgres.port]).await?;
            let mut nodes = ports.clone();
            nodes.rotate_left(place % ports.len());
            let broker = Proxy::before(nodes).await?;
            let mut environment = environment(&simulator);
            environment.push(("DATABASE_URL".to_owned(), at_port(&postgres.url, database.port())?));
            environment.push(("AMQP_URL".to_owned(), at_port(&rabbits[0].url, broker.port())?));
            environment.extend(clocks.get(place).map(Clock::environment).unwrap_or_default());
            environment.extend(own.clone());
            remove_log(name);
            setups.push(Setup::new(name, environment));
            database_proxies.push(database);
            broker_proxies.push(broker);
        }
        let stage = Self {
            postgres,
            rabbits,
            database_proxies,
            broker_proxies,
            own_proxy: Proxy::before(ports).await?,
            simulator,
            fleet: Fleet::new(setups),
            messages: SharedMessages::default(),
            disk,
            clocks,
            database_clock,
            published: Arc::default(),
        };
        results::declare_queue(&stage.broker_url()?).await?;
        Ok(stage)
    }

    /// The broker's address for upstream and the reader.
    fn broker_url(&self) -> anyhow::Result<String> {
        at_port(&self.rabbits[0].url, self.own_proxy.port())
    }

    /// Publishes, reads the results and restarts ended processes during `events`; then waits until everything is done, and
    /// compares the outcome with the messages, `before` included.
    async fn run(
        &mut self,
        messages: &[Message],
        before: &[Message],
        span: Duration,
        report: &mut Report,
        events: impl AsyncFnOnce(&mut Self, &mut Report) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (url, results, fleet) = (self.broker_url()?, Arc::clone(&self.messages), self.fleet.clone());
        let published = Arc::clone(&self.published);
        let began = Instant::now();
        let acting = async {
            let (sent, happened) =
                tokio::join!(traffic::publish(&url, messages, span, &published), events(&mut *self, &mut *report));
            sent?;
            happened?;
            eprintln!("everything is published and no more faults follow, after {} s", began.elapsed().as_secs());
            self.wait_until_done(messages, report).await
        };
        // The first two never end, except for an error of the second.
        tokio::select! {
            () = results::read(&url, &results) => {}
            ended = fleet.restart_ended() => ended?,
            acted = acting => acted?,
        }
        report.note("items/s over all", round(messages.len() as f64 / began.elapsed().as_secs_f64()));
        self.end(report).await?;
        let pool = self.pool().await?;
        let (stored, unpublished) = (account::stored(&pool).await?, account::count(&pool, "outbox").await?);
        let broker = Broker::connect(&url).await?;
        let (dead, queued) = (broker.dead_letters().await?, broker.waiting().await?);
        report.require(queued == 0 && unpublished == 0, || {
            format!("{queued} messages are in queues and {unpublished} in the outbox")
        });
        account::check(&[before, messages].concat(), &stored, &dead, &self.messages, report);
        Ok(())
    }

    /// Waits until no work is left, with a limit for silence and for the whole time.
    async fn wait_until_done(&self, messages: &[Message], report: &mut Report) -> anyhow::Result<()> {
        let began = Instant::now();
        let limit = Duration::from_secs(600 + messages.len() as u64 / 2);
        let (mut last, mut since, mut calm, mut printed) = (0, Instant::now(), 0, Instant::now());
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let poll = async {
                let pool = self.pool().await?;
                let (done, outbox) = (account::count(&pool, "items").await?, account::count(&pool, "outbox").await?);
                let waiting = Broker::connect(&self.broker_url()?).await?.waiting().await?;
                anyhow::Ok((done, outbox, waiting))
            };
            // A server that is just coming back responds at the next poll.
            let Ok((done, outbox, waiting)) = poll.await else { continue };
            let working = self.fleet.metric("items_in_flight").await;
            let state =
                format!("{done} items stored, {waiting} messages wait, {outbox} in the outbox, {working:?} in work");
            if printed.elapsed() > Duration::from_secs(20) {
                printed = Instant::now();
                eprintln!("{state}");
            }
            let read = self.messages.lock().unwrap_or_else(PoisonError::into_inner).bodies.len() as u64;
            let now = done + waiting + outbox + read;
            if now != last {
                (last, since) = (now, Instant::now());
            }
            calm = if (outbox, waiting, working) == (0, 0, Some(0.0)) { calm + 1 } else { 0 };
            if calm >= 3 {
                return Ok(());
            }
            if since.elapsed() > MAX_SILENCE || began.elapsed() > limit {
                report.fail(format!("not finished after {} s: {state}", began.elapsed().as_secs()));
                return Ok(());
            }
        }
    }

    /// Stops the processes, and reads their last messages.
    async fn end(&self, report: &mut Report) -> anyhow::Result<()> {
        if let Err(error) = self.fleet.stop().await {
            report.fail(format!("{error:#}"));
        }
        // Reading never ends by itself: the last messages arrive within this time.
        drop(tokio::time::timeout(Duration::from_secs(5), results::read(&self.broker_url()?, &self.messages)).await);
        let (crashes, failed_starts) = self.fleet.record().await;
        report.note("starts that found a server down", failed_starts);
        for crash in crashes {
            report.fail(crash);
        }
        Ok(())
    }

    /// A connection to the database that bypasses every proxy.
    async fn pool(&self) -> anyhow::Result<PgPool> {
        let options = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(10));
        options.connect(&self.postgres.url).await.context("connecting to the database")
    }

    fn publish_count(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }
}

fn round(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

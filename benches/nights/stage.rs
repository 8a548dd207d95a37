//! What every night stands on: servers, a proxy of each process's own before each of them, the simulated world, the fleet.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use sqlx::postgres::{PgPool, PgPoolOptions};

use crate::Options;
use crate::account::{self, Broker};
use crate::daemon::Recipe;
use crate::disk::Disk;
use crate::fleet::Fleet;
use crate::heard::{self, Ears};
use crate::line::Line;
use crate::proxy::Proxy;
use crate::servers::{Clock, Postgres, Rabbit, at_port};
use crate::simulator::{Simulator, Target};
use crate::traffic::{self, Message, WORLD};

/// So high that no limit of ours is what is met; requests a minute, and the most the configuration takes.
const NO_LIMIT: &str = "1000000";
/// Loopback addresses the pages are spread over.
const HOSTS: u8 = 16;
/// Pauses before an item is tried again: as many as by default, and short, since a night is.
pub(crate) const RETRY_DELAYS: [&str; 5] = ["1s", "5s", "15s", "30s", "45s"];
/// Nothing done for so long means that nothing will be. Longer than the longest retry and whatever a process waits for.
const SILENCE: Duration = Duration::from_mins(4);
const LOOK: Duration = Duration::from_secs(2);

/// Everything that is there.
pub(crate) struct Stage {
    pub(crate) postgres: Postgres,
    /// The first one is every process's first choice.
    pub(crate) rabbits: Vec<Rabbit>,
    /// One for each process.
    pub(crate) database_proxies: Vec<Proxy>,
    pub(crate) broker_proxies: Vec<Proxy>,
    /// For upstream and the reader, who only want some node.
    own_proxy: Proxy,
    pub(crate) simulator: Simulator,
    pub(crate) fleet: Fleet,
    pub(crate) ears: Ears,
    pub(crate) disk: Option<Disk>,
    /// Of the processes, where clocks can be shifted here.
    pub(crate) clocks: Vec<Clock>,
    pub(crate) database_clock: Option<Clock>,
    pub(crate) published: Arc<AtomicU64>,
}

/// What a night wants beside the usual.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) nodes: usize,
    /// A disk of its own for the database, with room for so many items.
    pub(crate) disk_for: Option<u64>,
    pub(crate) clocks: bool,
}

impl Stage {
    /// Starts the servers; the fleet is there and not started yet.
    pub(crate) async fn set(options: &Options, wanted: Wanted, line: &mut Line) -> anyhow::Result<Self> {
        let folder = &options.folder;
        let disk = match wanted.disk_for.map(|items| Disk::mount(folder, items)).transpose() {
            Ok(disk) => disk,
            Err(reason) => {
                line.skips(format!("the full disk, since nothing can be mounted here ({reason:#})"));
                None
            }
        };
        let home = disk.as_ref().map_or_else(|| folder.join("postgres"), |disk| disk.folder.join("postgres"));
        let names: Vec<String> = (1..=options.processes).map(|number| format!("process-{number}")).collect();
        let (mut clocks, mut database_clock) = (Vec::new(), None);
        if wanted.clocks {
            for name in &names {
                clocks.extend(Clock::new(folder, name)?);
            }
            database_clock = Clock::new(folder, "database")?;
            if database_clock.is_none() {
                line.skips("the jumping clocks, since libfaketime is not installed".to_owned());
            }
        }
        eprintln!("starting Postgres and {} node(s) of RabbitMQ", wanted.nodes.max(1));
        let postgres = Postgres::start(home, database_clock.as_ref()).await?;
        let mut rabbits = vec![Rabbit::start(folder.join("rabbitmq-1")).await?];
        for number in 2..=wanted.nodes {
            rabbits.push(Rabbit::join(folder.join(format!("rabbitmq-{number}")), &rabbits[0]).await?);
        }
        let ports: Vec<u16> = rabbits.iter().map(|node| node.port).collect();
        let simulator = Simulator::start_on_hosts(WORLD, HOSTS).await;
        let (mut database_proxies, mut broker_proxies, mut recipes) = (Vec::new(), Vec::new(), Vec::new());
        for (place, name) in names.iter().enumerate() {
            let database = Proxy::before(vec![postgres.port]).await?;
            // Each begins with another node where there are several.
            let mut own = ports.clone();
            own.rotate_left(place % ports.len());
            let broker = Proxy::before(own).await?;
            let mut environment = environment(&simulator);
            environment.push(("DATABASE_URL".to_owned(), at_port(&postgres.url, database.port())?));
            environment.push(("AMQP_URL".to_owned(), at_port(&rabbits[0].url, broker.port())?));
            environment.extend(clocks.get(place).map(Clock::environment).unwrap_or_default());
            for pair in &options.env {
                let (name, value) = pair.split_once('=').with_context(|| format!("--env {pair}: NAME=VALUE"))?;
                environment.push((name.to_owned(), value.to_owned()));
            }
            let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("night-{name}.log"));
            // The log of an earlier night; there may be none.
            drop(std::fs::remove_file(&log));
            recipes.push(Recipe { program: options.program(), environment, log });
            database_proxies.push(database);
            broker_proxies.push(broker);
        }
        let own_proxy = Proxy::before(ports).await?;
        Ok(Self {
            postgres,
            rabbits,
            database_proxies,
            broker_proxies,
            own_proxy,
            simulator,
            fleet: Fleet::new(recipes),
            ears: Ears::default(),
            disk,
            clocks,
            database_clock,
            published: Arc::default(),
        })
    }

    /// Where upstream and the reader find the broker.
    pub(crate) fn broker_url(&self) -> anyhow::Result<String> {
        at_port(&self.rabbits[0].url, self.own_proxy.port())
    }

    /// Declares what the reader listens to.
    pub(crate) async fn prepare(&self) -> anyhow::Result<()> {
        heard::prepare(&self.broker_url()?).await
    }

    /// Plays a night: publishes, listens, starts again what ends, and meanwhile lets happen what is to happen; then waits
    /// until everything is done, and holds it against what was sent, `before` included.
    pub(crate) async fn play(
        &mut self,
        messages: &[Message],
        before: &[Message],
        span: Duration,
        line: &mut Line,
        happening: impl AsyncFnOnce(&mut Self, &mut Line) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (url, ears, fleet) = (self.broker_url()?, Arc::clone(&self.ears), self.fleet.clone());
        let published = Arc::clone(&self.published);
        let began = Instant::now();
        let acting = async {
            let (sent, happened) =
                tokio::join!(traffic::publish(&url, messages, span, &published), happening(&mut *self, &mut *line));
            sent?;
            happened?;
            eprintln!("everything is published and nothing more happens, after {} s", began.elapsed().as_secs());
            self.settle(messages, line).await
        };
        // The first two arms never end by themselves but for an error of the second.
        tokio::select! {
            () = heard::listen(&url, &ears) => {}
            tended = fleet.tend() => tended?,
            acted = acting => acted?,
        }
        line.figure("items/s over all", round(messages.len() as f64 / began.elapsed().as_secs_f64()));
        self.end(line).await?;
        let (stored, rest) = (account::stored(&self.pool().await?).await?, account::left(&self.pool().await?).await?);
        let broker = Broker::connect(&url).await?;
        let (dead, queued) = (broker.dead().await?, broker.waiting().await?);
        line.insists(queued == 0 && rest == 0, || format!("{queued} messages are in queues and {rest} in the outbox"));
        account::hold(&[before, messages].concat(), &stored, &dead, &self.ears, line);
        Ok(())
    }

    /// Waits until nothing is left to do: bounded by a silence, and by a time that a slow machine keeps easily.
    async fn settle(&self, messages: &[Message], line: &mut Line) -> anyhow::Result<()> {
        let began = Instant::now();
        let most = Duration::from_secs(600 + messages.len() as u64 / 2);
        let (mut last, mut since, mut calm, mut told) = (0, Instant::now(), 0, Instant::now());
        loop {
            tokio::time::sleep(LOOK).await;
            let look = async {
                let (done, left) =
                    (account::count(&self.pool().await?).await?, account::left(&self.pool().await?).await?);
                let waiting = Broker::connect(&self.broker_url()?).await?.waiting().await?;
                anyhow::Ok((done, left, waiting))
            };
            // A server that is just coming back answers at the next look.
            let Ok((done, left, waiting)) = look.await else { continue };
            let working = self.fleet.metric("items_in_flight").await;
            if told.elapsed() > Duration::from_secs(20) {
                told = Instant::now();
                eprintln!("{done} items stored, {waiting} messages wait, {left} in the outbox, {working:?} in work");
            }
            let (heard, state) = (self.heard(), (done, left, waiting));
            let now = done + waiting + left + heard;
            if now != last {
                (last, since) = (now, Instant::now());
            }
            calm = if (left, waiting, working) == (0, 0, Some(0.0)) { calm + 1 } else { 0 };
            if calm >= 3 {
                return Ok(());
            }
            if since.elapsed() > SILENCE || began.elapsed() > most {
                line.fails(format!(
                    "not finished after {} s: (stored, outbox, waiting) is {state:?}, in work {working:?}",
                    began.elapsed().as_secs()
                ));
                return Ok(());
            }
        }
    }

    fn heard(&self) -> u64 {
        self.ears.lock().unwrap_or_else(std::sync::PoisonError::into_inner).bodies.len() as u64
    }

    /// Stops the fleet, and hears what is still to be heard.
    async fn end(&self, line: &mut Line) -> anyhow::Result<()> {
        if let Err(error) = self.fleet.stop().await {
            line.fails(format!("{error:#}"));
        }
        let (url, ears) = (self.broker_url()?, Arc::clone(&self.ears));
        // Listening never ends by itself: what the fleet published last is there within this.
        drop(tokio::time::timeout(Duration::from_secs(5), heard::listen(&url, &ears)).await);
        let (crashes, failed_starts) = self.fleet.record().await;
        if failed_starts > 0 {
            line.figure("starts that found a server away", failed_starts);
        }
        for crash in crashes {
            line.fails(crash);
        }
        Ok(())
    }

    /// A connection of our own to the database, past every proxy.
    pub(crate) async fn pool(&self) -> anyhow::Result<PgPool> {
        let options = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(10));
        options.connect(&self.postgres.url).await.context("connecting to the database")
    }

    pub(crate) fn publish_count(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }
}

pub(crate) fn round(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

/// Settings of every daemon. The rules judge alone: the models are not what is tested, and more items are done.
fn environment(simulator: &Simulator) -> Vec<(String, String)> {
    let base = |target| simulator.base_url(target);
    [
        ("RUST_LOG", "warn".to_owned()),
        ("CORROBORATE_DATABASE_MIGRATE", "true".to_owned()),
        ("CORROBORATE_HTTP_REQUESTS_PER_MINUTE", NO_LIMIT.to_owned()),
        ("FACTCHECK_GOOGLE_BASE_URL", base(Target::GoogleFactCheck)),
        ("FACTCHECK_GOOGLE_API_KEY", "simulated".to_owned()),
        ("FACTCHECK_GOOGLE_RPM", NO_LIMIT.to_owned()),
        ("ENRICHMENT_SEARXNG_BASE_URL", base(Target::Searxng)),
        ("ENRICHMENT_SEARXNG_RPM", NO_LIMIT.to_owned()),
        ("ENRICHMENT_PROVIDERS", "opensearch".to_owned()),
        ("ENRICHMENT_PROVIDER_COOLDOWN", "2s".to_owned()),
        ("ENRICHMENT_MAX_SOURCES", "3".to_owned()),
        // Real sites are not asked.
        ("ENRICHMENT_FEEDS_ENABLED", "false".to_owned()),
        ("FETCH_ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
        ("INFERENCE_STANCE", "rules".to_owned()),
        ("INFERENCE_EMBEDDER", "hashed".to_owned()),
        ("INFERENCE_RERANKER", "lexical".to_owned()),
        // What is tried is whether everything is done, not what is left out for want of time.
        ("ENRICHMENT_MAX_QUEUE_LENGTH", "1000000".to_owned()),
        ("ENRICHMENT_MAX_LAG", "24h".to_owned()),
        ("CORROBORATE_QUEUE_RETRY_DELAYS", RETRY_DELAYS.join(",")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

//! Builds the parts of the application, one function per part.
//!
//! [`open`] opens the store and builds all parts for a [`Purpose`]. Gates, caches, models and providers have their own
//! files.

mod caches;
mod checkup;
pub(super) mod curves;
mod gates;
mod language_model;
mod models;
mod own;
mod providers;
mod settings;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};

pub use self::checkup::Checkup;

use self::caches::Caches;
use self::gates::Gates;
use self::providers::Parts;
use self::settings::{page_settings, settings};
use super::observers::{OutboundObserver, QueueObserver};
use super::{App, AppError, OpenStore, Upkeep};
use crate::broker::{AmqpNames, AmqpQueue, AmqpSettings, Clocks, Queue};
use crate::config::Config;
use crate::domain::clock::{FixedClock, ShiftedClock};
use crate::domain::rules::DomainRules;
use crate::domain::{Clock, SystemClock};
use crate::inference::languages::advice;
use crate::inference::remote::Patience;
use crate::inference::translation::{self, Translator};
use crate::inference::{Fallback, Models};
use crate::outbound::pages::{PageFetcher, PageSource};
use crate::outbound::record::Recorder;
use crate::outbound::replay::Archive;
use crate::outbound::{BreakerSync, BuildError, HttpClient};
use crate::parsing::Parsers;
use crate::pipeline::rescore::Terms;
use crate::pipeline::{ItemLocks, Latencies, RulesHandle, SearchProviders, Services, Settings, Steps};
use crate::providers::Provider;
use crate::providers::knowledge::seeds;
use crate::providers::wikipedia;
use crate::store::{JudgedWith, Store, StoreError, TableQueue};
use crate::supervisor::Supervisor;

#[derive(Debug)]
pub enum Purpose {
    /// The daemon, with its own broker connection. Without a worker it takes nothing from the queues.
    Daemon { worker: bool },
    /// One command that uses no queue, so a missing broker does not stop it.
    Check,
    /// An administrative command. It judges and asks nothing, so it has neither models nor providers. Without `broker`,
    /// a missing broker does not stop it.
    Command { broker: bool },
    /// Works like [`Purpose::Command`] for a command that edits the domain lists, without the broker. It first installs
    /// the configured lists, because otherwise the edit would be taken for them.
    EditDomains,
    /// Answers come from recordings.
    Recorded(Recorded),
}

#[derive(Debug)]
pub struct Recorded {
    pub archive: Arc<Archive>,
    pub folder: PathBuf,
}

#[derive(Debug, Clone)]
pub enum Exchanges {
    Live,
    /// Caches are off, so that the recording is complete.
    Record(Arc<Recorder>),
    /// With the date of the recordings and an ephemeral database.
    Replay(Arc<Archive>),
}

struct Environment {
    http: HttpClient,
    pages: PageSource,
    clock: Arc<dyn Clock>,
    opened: OpenStore,
}

impl Environment {
    async fn open(config: &Config, purpose: &Purpose, exchanges: &Exchanges) -> Result<Self, AppError> {
        let client = |made: Result<HttpClient, BuildError>| made.map_err(|error| setup("the HTTP client", error));
        let agent = &config.fetch.user_agent;
        let upkeep = match purpose {
            Purpose::Daemon { .. } => Upkeep::Serve,
            Purpose::Check | Purpose::Command { .. } | Purpose::EditDomains | Purpose::Recorded(_) => Upkeep::Command,
        };
        Ok(match (purpose, exchanges) {
            (Purpose::Recorded(recorded), _) => {
                let archive = Arc::clone(&recorded.archive);
                let clock = Arc::new(FixedClock(recording_time(&archive)));
                let opened = OpenStore::embedded(&recorded.folder).await?;
                Self {
                    http: HttpClient::replay(Arc::clone(&archive)),
                    pages: PageSource::Replay(archive),
                    clock,
                    opened,
                }
            }
            (_, Exchanges::Replay(archive)) => {
                let now = recording_time(archive);
                let clock: Arc<dyn Clock> = match purpose {
                    // A daemon's leases and delays need a running clock.
                    Purpose::Daemon { .. } => Arc::new(ShiftedClock::starting_at(now)),
                    _ => Arc::new(FixedClock(now)),
                };
                let opened = OpenStore::throw_away(config).await?;
                let pages = PageSource::Replay(Arc::clone(archive));
                Self { http: HttpClient::replay(Arc::clone(archive)), pages, clock, opened }
            }
            (_, Exchanges::Record(recorder)) => Self {
                http: client(HttpClient::recording(agent, Arc::clone(recorder)))?,
                pages: PageSource::Record(Arc::clone(recorder)),
                clock: Arc::new(SystemClock),
                opened: OpenStore::open(config, upkeep).await?,
            },
            (_, Exchanges::Live) => Self {
                http: client(HttpClient::live(agent))?,
                pages: PageSource::Live,
                clock: Arc::new(SystemClock),
                opened: OpenStore::open(config, upkeep).await?,
            },
        })
    }
}

fn recording_time(archive: &Archive) -> DateTime<Utc> {
    archive.recorded_at().unwrap_or_else(|| SystemClock.now())
}

/// Adds placeholder keys for recorded providers, so that a replay needs no keys.
fn with_recorded_keys(config: Arc<Config>, archive: &Archive) -> Arc<Config> {
    let mut config = Arc::unwrap_or_clone(config);
    let keyed = &mut config.providers;
    for provider in
        [&mut keyed.google, &mut keyed.brave, &mut keyed.eventregistry, &mut keyed.newsapi, &mut keyed.serpapi]
    {
        let recorded = provider.base_url.as_ref().is_some_and(|base| archive.contains(base));
        if provider.api_key.is_none() && recorded {
            provider.api_key = Some("recorded".into());
        }
    }
    Arc::new(config)
}

struct Clients {
    http: HttpClient,
    pages: PageSource,
    clock: Arc<dyn Clock>,
}

struct Assembled {
    services: Arc<Services>,
    queue: Arc<dyn Queue>,
    usage: Arc<OutboundObserver>,
    followers: Vec<BreakerSync>,
}

/// Opens the store and builds the parts on it. Closes the store on an error.
pub(super) async fn open(
    config: Arc<Config>,
    purpose: Purpose,
    exchanges: Exchanges,
    steps: Steps,
) -> Result<App, AppError> {
    let config = if let Exchanges::Replay(archive) = &exchanges { with_recorded_keys(config, archive) } else { config };
    let Environment { http, pages, clock, opened } = Environment::open(&config, &purpose, &exchanges).await?;
    let store = opened.store.clone();
    let outside = Clients { http, pages, clock };
    let supervisor = Supervisor::default();
    let close_on_drop = supervisor.closing().clone().drop_guard();
    opened.watch(&supervisor);
    let assembled = match purpose {
        Purpose::Command { .. } | Purpose::EditDomains => {
            administration(&config, &purpose, &store, outside.clock, &supervisor).await
        }
        _ => assemble(&config, &purpose, &exchanges, &store, outside, steps, &supervisor).await,
    };
    match assembled {
        Ok(Assembled { services, queue, usage, followers }) => Ok(App {
            config,
            store,
            services,
            queue,
            usage,
            followers,
            supervisor,
            _close_on_drop: close_on_drop,
            opened,
        }),
        Err(error) => Err(opened.close_after(error).await),
    }
}

async fn assemble(
    config: &Arc<Config>,
    purpose: &Purpose,
    exchanges: &Exchanges,
    store: &Store,
    outside: Clients,
    steps: Steps,
    supervisor: &Supervisor,
) -> Result<Assembled, AppError> {
    let Clients { http, pages, clock } = outside;
    let now = clock.now();
    let fallback = Fallback::new(config.inference.embedding_dimension, config.enrichment.min_agreement);
    let models = models::build(config, &clock, &fallback, patience(purpose), supervisor).await?;
    curves::warn_of_another_judge(&config.scoring, models.stance.name());
    store.check_dimension(models.embedder.dimension())?;
    store.install_domain_rules(&config.enrichment.first_rules(), now).await?;
    let (rules, version) = store.domain_rules().await?;
    let rules = DomainRules::new(rules, config.enrichment.allowlist_only);
    let rules = Arc::new(RulesHandle::new(rules, Some(version)));
    let usage = Arc::new(OutboundObserver::default());
    seeds::install(store, &models.embedder).await?;
    let followers = Mutex::default();
    let pages = PageFetcher::new(page_settings(config), pages).map_err(|error| setup("the page fetcher", error))?;
    // A replay sends no requests to hosts.
    let pages = if matches!(exchanges, Exchanges::Replay(_)) { pages } else { pages.in_fleet(store) };
    let pages = Arc::new(pages.observed_by(Arc::clone(&usage) as _));
    let parsers: Arc<Parsers> = Arc::default();
    supervisor.spawn("page parsing", supervisor.closing(), Arc::clone(&parsers).watch(supervisor.closing().clone()));
    let gates = Gates { config, http: &http, clock: &clock, usage: &usage, store: Some(store), followers: &followers };
    let is_live = matches!(exchanges, Exchanges::Live);
    let caches = Caches { config, usage: &usage, store: is_live.then_some(store) };
    let language_model = language_model::build(&config.llm, &gates, caches.language_model());
    let translator = translation::configured(&config.translate, language_model.as_ref(), &|one| gates.unobserved(one));
    let parts = Parts { gates, store, embedder: &models.embedder, pages: &pages, parsers: &parsers, rules: &rules };
    let mut providers = providers::build(&parts)?;
    own::gatherers(&parts, &steps.gatherers, &mut providers);
    let followers = followers.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Before the first call.
    learn(store, &followers).await?;
    if !is_live {
        apart(&mut providers, exchanges);
    }
    let is_daemon = matches!(purpose, Purpose::Daemon { .. });
    let mut settings = settings(config, is_daemon)?;
    if matches!(exchanges, Exchanges::Record(_)) {
        settings.page_ttl = Duration::ZERO;
    }
    let services = Arc::new(Services {
        settings: Settings { redo: redoes(purpose, exchanges), ..settings },
        store: store.clone(),
        providers,
        pages,
        parsers,
        models,
        fallback,
        language_model,
        steps,
        translator,
        rules,
        clock: Arc::clone(&clock),
        search_cache: caches.search(),
        fact_check_cache: caches.fact_check(),
        page_cache: caches::page(config, &usage),
        item_locks: ItemLocks::default(),
        latencies: Latencies::default(),
        judged_with: OnceLock::new(),
    });
    if is_daemon {
        log_parts(&services);
    }
    let queue = queue(config, purpose, store, clock, supervisor, None).await?;
    Ok(Assembled { services, queue, usage, followers })
}

/// Builds what an administrative command needs: the store, the domain lists and the queue.
async fn administration(
    config: &Config,
    purpose: &Purpose,
    store: &Store,
    clock: Arc<dyn Clock>,
    supervisor: &Supervisor,
) -> Result<Assembled, AppError> {
    if matches!(purpose, Purpose::EditDomains) {
        store.install_domain_rules(&config.enrichment.first_rules(), clock.now()).await?;
    }
    let (rules, version) = store.domain_rules().await?;
    let rules = DomainRules::new(rules, config.enrichment.allowlist_only);
    let models = Models::rules(config.inference.embedding_dimension, config.enrichment.min_agreement);
    let usage = Arc::new(OutboundObserver::default());
    // Nothing is scored, so a missing fitted file does not stop the command.
    let mut unfitted = Config::clone(config);
    (unfitted.scoring.calibration, unfitted.scoring.decision) = (None, None);
    let bare = bare(&unfitted, models, &clock, &usage)?;
    // The webhooks are only listed: no item is processed.
    let settings = Settings { webhooks: settings::listeners(config).webhooks, ..bare.settings };
    let rules = Arc::new(RulesHandle::new(rules, Some(version)));
    let services = Arc::new(Services { settings, store: store.clone(), rules, ..bare });
    let queue = queue(config, purpose, store, clock, supervisor, None).await?;
    Ok(Assembled { services, queue, usage, followers: Vec::new() })
}

/// Services without a store, providers, a translator and a language model.
fn bare(
    config: &Config,
    models: Models,
    clock: &Arc<dyn Clock>,
    usage: &Arc<OutboundObserver>,
) -> Result<Services, AppError> {
    let pages = PageFetcher::new(page_settings(config), PageSource::Live);
    let caches = Caches { config, usage, store: None };
    let rules = DomainRules::new(config.enrichment.first_rules(), config.enrichment.allowlist_only);
    Ok(Services {
        settings: settings(config, false)?,
        store: Store::detached(),
        providers: SearchProviders::default(),
        pages: Arc::new(pages.map_err(|error| setup("the page fetcher", error))?),
        parsers: Arc::default(),
        models,
        fallback: Fallback::new(config.inference.embedding_dimension, config.enrichment.min_agreement),
        language_model: None,
        steps: Steps::default(),
        translator: None,
        rules: Arc::new(RulesHandle::new(rules, None)),
        clock: Arc::clone(clock),
        search_cache: caches.search(),
        fact_check_cache: caches.fact_check(),
        page_cache: caches::page(config, usage),
        item_locks: ItemLocks::default(),
        latencies: Latencies::default(),
        judged_with: OnceLock::new(),
    })
}

fn log_parts(services: &Services) {
    let Models { embedder, stance, reranker } = &services.models;
    tracing::info!(
        model.embedder = embedder.name(),
        model.stance = stance.name(),
        model.reranker = reranker.name(),
        model.translator = services.translator.as_ref().map(|translator| translator.name()),
        "models loaded"
    );
    if let Some(advice) = advice(stance.as_ref(), services.translator.is_some()) {
        tracing::info!("{advice}");
    }
    for name in &services.providers.unconfigured {
        tracing::info!(provider = *name, "{name} is not configured: {}", providers::how_to_configure(name));
    }
}

/// Returns the configured numbers and the store's lists. Installs the configured lists first if no process has.
pub(super) async fn rescore_terms(config: &Config, store: &Store) -> Result<Terms, AppError> {
    store.install_domain_rules(&config.enrichment.first_rules(), SystemClock.now()).await?;
    let (rules, version) = store.domain_rules().await?;
    let settings = settings(config, false)?;
    Ok(Terms {
        scoring: settings.scoring,
        rules: DomainRules::new(rules, config.enrichment.allowlist_only),
        passages_shown: settings.passages_shown,
        claims_per_item: settings.claims_per_item,
        listeners: settings::listeners(config),
        judged_with: JudgedWith { lists: Some(version), ..JudgedWith::default() },
    })
}

/// Services that judge given texts, without store, providers or queue. Only a language model that adjudicates is
/// called. The labelled file may bring a translator.
pub(super) async fn judging(
    config: &Config,
    translator: Option<Arc<dyn Translator>>,
) -> Result<Arc<Services>, AppError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let fallback = Fallback::new(config.inference.embedding_dimension, config.enrichment.min_agreement);
    let models = models::build(config, &clock, &fallback, Patience::NONE, &Supervisor::default()).await?;
    let usage = Arc::new(OutboundObserver::default());
    let language_model = language_model::of_process(config, &clock, &usage)?;
    Ok(Arc::new(Services { language_model, translator, ..bare(config, models, &clock, &usage)? }))
}

/// Returns how long to wait for model servers, which may start together with a daemon.
const fn patience(purpose: &Purpose) -> Patience {
    match purpose {
        Purpose::Daemon { .. } => Patience::DAEMON,
        Purpose::Check | Purpose::Command { .. } | Purpose::EditDomains | Purpose::Recorded(_) => Patience::NONE,
    }
}

/// Reads the shared state once and applies it to every gate.
pub(super) async fn learn(store: &Store, followers: &[BreakerSync]) -> Result<(), StoreError> {
    let snapshot = store.calls().await?;
    let received = tokio::time::Instant::now();
    for follower in followers {
        follower.learn(&snapshot, received);
    }
    Ok(())
}

/// Removes sources that a recording cannot hold: built-in knowledge, and a database outside the outbound client. Feeds
/// are read into the store before the run, and a replay lacks that store.
fn apart(providers: &mut SearchProviders, exchanges: &Exchanges) {
    providers.knowledge = None;
    let what = if matches!(exchanges, Exchanges::Record(_)) { "recorded" } else { "replayed" };
    let without = |list: &mut Vec<Arc<dyn Provider>>, name: &str, holds: &str| {
        let before = list.len();
        list.retain(|provider| provider.name() != name);
        if list.len() < before {
            tracing::warn!(provider = name, "{holds} cannot be {what}; it is skipped in this run");
        }
    };
    without(&mut providers.own, "database", "what a database answers");
    without(&mut providers.search, "feeds", "what feeds held before this run");
    // Recordings of earlier versions have none of its answers.
    if matches!(exchanges, Exchanges::Replay(archive) if !archive.contains_path(wikipedia::PATH)) {
        providers.search.retain(|provider| provider.name() != wikipedia::NAME);
    }
}

/// Returns true for a recorded check, which repeats work. Queue messages are processed once.
const fn redoes(purpose: &Purpose, exchanges: &Exchanges) -> bool {
    matches!((purpose, exchanges), (Purpose::Check, Exchanges::Record(_)))
}

fn observer(usage: &Arc<OutboundObserver>) -> Arc<dyn crate::outbound::Observer> {
    Arc::clone(usage) as Arc<dyn crate::outbound::Observer>
}

pub(super) fn setup(component: &'static str, error: impl std::fmt::Display) -> AppError {
    AppError::Setup { component, detail: error.to_string() }
}

/// Opens RabbitMQ if an address is configured, else the table queue. Waits for the broker up to `patience`, else up to
/// the broker's own setting.
async fn queue(
    config: &Config,
    purpose: &Purpose,
    store: &Store,
    clock: Arc<dyn Clock>,
    supervisor: &Supervisor,
    patience: Option<Duration>,
) -> Result<Arc<dyn Queue>, AppError> {
    if let (Some(url), Purpose::Daemon { .. } | Purpose::Command { broker: true }) = (&config.amqp.url, purpose) {
        let prefetch = u16::try_from(config.worker.concurrency).unwrap_or(u16::MAX);
        let mut settings = AmqpSettings {
            names: AmqpNames {
                exchange: config.amqp.exchange.clone(),
                important_queue: config.amqp.important_queue.clone(),
                important_binding: config.amqp.important_binding.clone(),
                enrichment_queue: config.amqp.enrichment_queue.clone(),
                enrichment_binding: config.amqp.enrichment_binding.clone(),
                factcheck_queue: config.amqp.factcheck_queue.clone(),
                factcheck_binding: config.amqp.factcheck_binding.clone(),
                dead_exchange: config.amqp.dead_exchange.clone(),
                dead_queue: config.amqp.dead_queue.clone(),
                results_exchange: config.amqp.results_exchange.clone(),
            },
            reply_to_prefixes: config.amqp.reply_to_prefixes.clone(),
            retry_delays: config.queue.retry_delays.clone(),
            delivery_limit: config.queue.delivery_limit,
            confirm_timeout: config.amqp.confirm_timeout,
            reconnect_max: config.amqp.reconnect_max,
            consume: matches!(purpose, Purpose::Daemon { worker: true }),
            ..AmqpSettings::new(url.clone(), prefetch)
        };
        settings.start_patience = patience.unwrap_or(settings.start_patience);
        let clocks = Clocks { latest: Arc::new(store.later_clock(Arc::clone(&clock))), own: clock };
        let connected = AmqpQueue::connect(settings, clocks, Arc::new(QueueObserver), supervisor).await?;
        return Ok(Arc::new(connected));
    }
    let table = TableQueue::open(store.clone(), store.queue_clock(Arc::clone(&clock)), config.queue.poll_interval);
    let table = Arc::new(table.read_by(clock).limited_to(config.queue.delivery_limit));
    let (attend, closing) = (TableQueue::attend(Arc::downgrade(&table)), supervisor.closing().clone());
    supervisor.spawn("the queue lease renewal", supervisor.closing(), async move {
        // Ends some time after the queue was dropped.
        let _attended = closing.run_until_cancelled(attend).await;
    });
    Ok(table)
}

//! Wiring: one function per part, each a list of what it is made of. Gates and providers have files of their own.

mod caches;
pub(super) mod curves;
mod gates;
mod models;
mod own;
mod providers;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::task::TaskTracker;

use self::caches::Caches;
use self::gates::Gates;
use self::providers::Parts;
use super::observers::{OutboundObserver, QueueObserver};
use super::{App, AppError, OpenStore};
use crate::broker::{AmqpNames, AmqpQueue, AmqpSettings, Queue};
use crate::cache::WriteBehind;
use crate::config::{Config, EnrichmentConfig, ScoringConfig};
use crate::domain::clock::{FixedClock, ShiftedClock};
use crate::domain::rules::DomainRules;
use crate::domain::{Clock, SystemClock};
use crate::inference::remote::Patience;
use crate::inference::{Fallback, Models, translation};
use crate::judging::scoring::{FeatureWeights, HalfLives, QualityShares, ScoreCurve, Scoring, VerdictLimits};
use crate::outbound::ledger::{Ledger, StoreLedger};
use crate::outbound::pages::{PageFetcher, PageSettings, PageSource};
use crate::outbound::record::Recorder;
use crate::outbound::replay::Archive;
use crate::outbound::{BuildError, Follower, HttpClient};
use crate::pipeline::rescore::Terms;
use crate::pipeline::{
    LanguagePolicy, LanguageRule, Latencies, Pilot, RulesHandle, SearchProviders, Services, Settings, Turns,
};
use crate::providers::Provider;
use crate::providers::knowledge::seeds;
use crate::store::{Store, StoreError, TableQueue};

/// What the application is opened for.
#[derive(Debug)]
pub enum Purpose {
    /// The daemon: its own broker connection, all providers. Without a worker it takes nothing from the queues.
    Daemon { worker: bool },
    /// One command that neither reads nor feeds a queue: a broker that is away must not stop it.
    Check,
    /// One command: no broker consumer, results are not published.
    Command,
    /// Answers come from recordings, in a folder of its own, on the day the recordings speak of.
    Recorded(Recorded),
}

/// A recorded world.
#[derive(Debug)]
pub struct Recorded {
    pub archive: Arc<Archive>,
    pub folder: PathBuf,
    pub now: DateTime<Utc>,
}

/// What becomes of the exchanges with providers and pages.
#[derive(Debug, Clone)]
pub enum Exchanges {
    Live,
    /// Every one is kept. Nothing that is known already stands in for asking, or the recording would lack it.
    Record(Arc<Recorder>),
    /// All of them come from recordings, on the day these were made, in a store that is thrown away.
    Replay(Arc<Archive>),
}

/// Where answers and pages come from, what time it is, and where what is learnt goes.
struct World {
    http: HttpClient,
    pages: PageSource,
    clock: Arc<dyn Clock>,
    opened: OpenStore,
}

impl World {
    async fn open(config: &Config, purpose: &Purpose, exchanges: &Exchanges) -> Result<Self, AppError> {
        let client = |made: Result<HttpClient, BuildError>| made.map_err(|error| setup("the HTTP client", error));
        let agent = &config.fetch.user_agent;
        Ok(match (purpose, exchanges) {
            (Purpose::Recorded(recorded), _) => {
                let archive = Arc::clone(&recorded.archive);
                let clock = Arc::new(FixedClock(recorded.now));
                let opened = OpenStore::embedded(&recorded.folder).await?;
                Self {
                    http: HttpClient::replay(Arc::clone(&archive)),
                    pages: PageSource::Replay(archive),
                    clock,
                    opened,
                }
            }
            (_, Exchanges::Replay(archive)) => {
                let now = archive.recorded_at().unwrap_or_else(|| SystemClock.now());
                let clock: Arc<dyn Clock> = match purpose {
                    // A daemon's leases and delays need a time that passes.
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
                opened: OpenStore::open(config).await?,
            },
            (_, Exchanges::Live) => Self {
                http: client(HttpClient::live(agent))?,
                pages: PageSource::Live,
                clock: Arc::new(SystemClock),
                opened: OpenStore::open(config).await?,
            },
        })
    }
}

/// A replay needs no keys: a provider that was recorded is asked again without its own.
fn with_recorded_keys(config: Arc<Config>, archive: &Archive) -> Arc<Config> {
    let mut config = Arc::unwrap_or_clone(config);
    let keyed = &mut config.providers;
    for provider in
        [&mut keyed.google, &mut keyed.brave, &mut keyed.eventregistry, &mut keyed.newsapi, &mut keyed.serpapi]
    {
        let recorded = provider.base_url.as_ref().is_some_and(|base| archive.knows(base));
        if provider.api_key.is_none() && recorded {
            provider.api_key = Some("recorded".into());
        }
    }
    Arc::new(config)
}

pub(super) async fn open(config: Arc<Config>, purpose: Purpose, exchanges: Exchanges) -> Result<App, AppError> {
    let config = if let Exchanges::Replay(archive) = &exchanges { with_recorded_keys(config, archive) } else { config };
    let World { http, pages, clock, opened } = World::open(&config, &purpose, &exchanges).await?;
    let store = opened.store.clone();
    store.migrate().await?;
    let now = clock.now();
    let fallback = Fallback::new(config.inference.embedding_dimension, config.enrichment.min_agreement);
    let models = models::build(&config, &clock, &fallback, patience(&purpose)).await?;
    curves::warn_of_another_judge(&config.scoring, models.stance.name());
    store.check_dimension(models.embedder.dimension())?;
    store.install_domain_rules(&config.enrichment.first_rules(), now).await?;
    let (rules, _version) = store.domain_rules().await?;
    let rules = Arc::new(RulesHandle::new(DomainRules::new(rules, config.enrichment.allowlist_only)));
    let usage = Arc::new(OutboundObserver::default());
    seeds::install(&store, &models.embedder, now).await?;
    let (ledger, followers): (Arc<dyn Ledger>, _) = (Arc::new(StoreLedger::new(store.clone())), Mutex::default());
    let pages = PageFetcher::new(page_settings(&config), pages).map_err(|error| setup("the page fetcher", error))?;
    let pages = Arc::new(pages.observed_by(Arc::clone(&usage) as _));
    let gates =
        Gates { config: &config, http: &http, clock: &clock, usage: &usage, ledger: &ledger, followers: &followers };
    let translator = translation::configured(&config.translate, &config.llm, &|settings| gates.unobserved(settings));
    let mut providers =
        providers::build(&Parts { gates, store: &store, embedder: &models.embedder, pages: &pages, rules: &rules })?;
    let followers = followers.into_inner().unwrap_or_else(PoisonError::into_inner);
    // What others found is known before the first call.
    learn(&store, &followers).await?;
    let is_live = matches!(exchanges, Exchanges::Live);
    if !is_live {
        apart(&mut providers, &exchanges);
    }
    let behind = WriteBehind::new(store.clone(), Arc::clone(&clock));
    let caches = Caches { config: &config, usage: &usage, clock: &clock, fleet: is_live.then_some((&store, &behind)) };
    let broker = config.amqp.url.is_some() && matches!(purpose, Purpose::Daemon { .. });
    let mut settings = settings(&config, broker)?;
    if matches!(exchanges, Exchanges::Record(_)) {
        settings.page_ttl = Duration::ZERO;
    }
    let services = Arc::new(Services {
        settings: Settings { redo: redoes(&purpose, &exchanges), ..settings },
        store: store.clone(),
        providers,
        pages,
        models,
        fallback,
        translator,
        rules,
        clock: Arc::clone(&clock),
        search_cache: caches.search(),
        fact_check_cache: caches.fact_check(),
        page_cache: caches::page(&config, &usage),
        turns: Turns::default(),
        latencies: Latencies::default(),
    });
    if matches!(purpose, Purpose::Daemon { .. }) {
        let Models { embedder, stance, reranker } = &services.models;
        tracing::info!(
            model.embedder = embedder.name(),
            model.stance = stance.name(),
            model.reranker = reranker.name(),
            model.translator = services.translator.as_ref().map(|translator| translator.name()),
            "the models at work"
        );
        for name in &services.providers.unconfigured {
            tracing::info!(provider = *name, "{name} is not configured: {}", providers::how_to_configure(name));
        }
    }
    let tracker = TaskTracker::new();
    tracker.spawn(behind.clone().run());
    let queue = queue(&config, &purpose, &store, clock, &tracker).await?;
    Ok(App { config, store, services, queue, usage, followers, behind, tracker, opened })
}

/// The configuration's numbers and the store's lists. The configured lists are installed first where no process has done so.
pub(super) async fn rescore_terms(config: &Config, store: &Store) -> Result<Terms, AppError> {
    store.install_domain_rules(&config.enrichment.first_rules(), SystemClock.now()).await?;
    let (rules, _version) = store.domain_rules().await?;
    let settings = settings(config, false)?;
    Ok(Terms {
        scoring: settings.scoring,
        rules: DomainRules::new(rules, config.enrichment.allowlist_only),
        passages_shown: settings.passages_shown,
        claims_per_item: settings.claims_per_item,
    })
}

/// What judges texts that are given: models, rules and settings, without a store, providers or a queue.
pub(super) async fn judging(config: &Config) -> Result<Arc<Services>, AppError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let fallback = Fallback::new(config.inference.embedding_dimension, config.enrichment.min_agreement);
    let models = models::build(config, &clock, &fallback, Patience::NONE).await?;
    let pages = PageFetcher::new(page_settings(config), PageSource::Live);
    let usage = Arc::new(OutboundObserver::default());
    let caches = Caches { config, usage: &usage, clock: &clock, fleet: None };
    let rules = config.enrichment.first_rules();
    Ok(Arc::new(Services {
        settings: settings(config, false)?,
        store: Store::detached(),
        providers: SearchProviders::default(),
        pages: Arc::new(pages.map_err(|error| setup("the page fetcher", error))?),
        models,
        fallback,
        translator: None,
        rules: Arc::new(RulesHandle::new(DomainRules::new(rules, config.enrichment.allowlist_only))),
        clock: Arc::clone(&clock),
        search_cache: caches.search(),
        fact_check_cache: caches.fact_check(),
        page_cache: caches::page(config, &usage),
        turns: Turns::default(),
        latencies: Latencies::default(),
    }))
}

/// A daemon starts beside its model servers, a person waits for nobody.
const fn patience(purpose: &Purpose) -> Patience {
    match purpose {
        Purpose::Daemon { .. } => Patience::DAEMON,
        Purpose::Check | Purpose::Command | Purpose::Recorded(_) => Patience::NONE,
    }
}

/// One look at what the fleet shares, taken over by every gate.
pub(super) async fn learn(store: &Store, followers: &[Follower]) -> Result<(), StoreError> {
    let asked = tokio::time::Instant::now();
    let snapshot = store.fleet().await?;
    let received = tokio::time::Instant::now();
    for follower in followers {
        follower.learn(&snapshot, asked, received);
    }
    Ok(())
}

/// Recordings hold what came from outside. What we know ourselves is not in them, and what goes past the outbound client
/// could be neither recorded nor kept offline. Feeds are read beforehand into our own store, which a replay lacks.
fn apart(providers: &mut SearchProviders, exchanges: &Exchanges) {
    providers.knowledge = None;
    let what = if matches!(exchanges, Exchanges::Record(_)) { "recorded" } else { "replayed" };
    let without = |list: &mut Vec<Arc<dyn Provider>>, name: &str, holds: &str| {
        let before = list.len();
        list.retain(|provider| provider.name() != name);
        if list.len() < before {
            tracing::warn!(provider = name, "{holds} cannot be {what}; it is not asked in this run");
        }
    };
    without(&mut providers.own, "database", "what a database answers");
    without(&mut providers.search, "feeds", "what feeds held before this run");
}

/// Whether a command does again what was done before; a queue's messages are done once.
const fn redoes(purpose: &Purpose, exchanges: &Exchanges) -> bool {
    matches!((purpose, exchanges), (Purpose::Check, Exchanges::Record(_)))
}

fn observer(usage: &Arc<OutboundObserver>) -> Arc<dyn crate::outbound::Observer> {
    Arc::clone(usage) as Arc<dyn crate::outbound::Observer>
}

fn setup(component: &'static str, error: impl std::fmt::Display) -> AppError {
    AppError::Setup { component, detail: error.to_string() }
}

/// RabbitMQ where an address is given, else the table.
async fn queue(
    config: &Config,
    purpose: &Purpose,
    store: &Store,
    clock: Arc<dyn Clock>,
    tracker: &TaskTracker,
) -> Result<Arc<dyn Queue>, AppError> {
    if let (Some(url), Purpose::Daemon { .. } | Purpose::Command) = (&config.amqp.url, purpose) {
        let prefetch = u16::try_from(config.worker.concurrency).unwrap_or(u16::MAX);
        let settings = AmqpSettings {
            names: AmqpNames {
                exchange: config.amqp.exchange.clone(),
                enrichment_queue: config.amqp.enrichment_queue.clone(),
                enrichment_binding: config.amqp.enrichment_binding.clone(),
                factcheck_queue: config.amqp.factcheck_queue.clone(),
                factcheck_binding: config.amqp.factcheck_binding.clone(),
                dead_exchange: config.amqp.dead_exchange.clone(),
                dead_queue: config.amqp.dead_queue.clone(),
                results_exchange: config.amqp.results_exchange.clone(),
            },
            retry_delays: config.queue.retry_delays.clone(),
            delivery_limit: config.queue.delivery_limit,
            confirm_timeout: config.amqp.confirm_timeout,
            reconnect_max: config.amqp.reconnect_max,
            consume: matches!(purpose, Purpose::Daemon { worker: true }),
            ..AmqpSettings::new(url.clone(), prefetch)
        };
        let connected = AmqpQueue::connect(settings, clock, Arc::new(QueueObserver), tracker).await?;
        return Ok(Arc::new(connected));
    }
    let table = Arc::new(TableQueue::open(store.clone(), clock, config.queue.poll_interval).await?);
    if !store.is_embedded() {
        tracker.spawn(TableQueue::renew_leases(Arc::downgrade(&table)));
    }
    Ok(table)
}

fn settings(config: &Config, broker: bool) -> Result<Settings, AppError> {
    let enrichment = &config.enrichment;
    Ok(Settings {
        enrichment_enabled: enrichment.enabled,
        pilot: Pilot::new(&enrichment.pilot_channels),
        min_importance: enrichment.min_importance,
        max_sources: enrichment.max_sources,
        max_time: enrichment.max_time,
        min_claim_chars: config.fact_check.min_claim_length,
        fact_check_results: config.fact_check.max_results,
        claims_per_item: enrichment.claims_per_item,
        queries_per_claim: enrichment.queries_max,
        languages: languages(enrichment),
        passages_per_claim: enrichment.passages_per_claim,
        judged_passages: enrichment.judged_passages,
        passages_per_group: enrichment.passages_per_group,
        passages_shown: enrichment.evidence_max_per_item,
        scoring: scoring(&config.scoring)?,
        evidence_ttl: enrichment.evidence_ttl,
        negative_ttl: config.cache.page_failure_ttl,
        page_ttl: config.cache.page_ttl,
        dedup_similarity: enrichment.evidence_dedup_similarity,
        similar_item_window: enrichment.similar_window,
        similar_item_threshold: enrichment.similar_threshold,
        sufficient_relevance: enrichment.sufficient_relevance,
        sufficient_age: enrichment.sufficient_age,
        results_exchange: broker.then(|| config.amqp.results_exchange.clone()),
        search_results: enrichment.candidate_pages,
        redo: false,
    })
}

/// The operator's words on languages.
fn languages(config: &EnrichmentConfig) -> LanguagePolicy {
    let rule = |rule: &crate::config::LanguageRule| LanguageRule {
        name: rule.name.clone(),
        channels: rule.channels.clone(),
        keywords: rule.keywords.clone(),
        languages: rule.languages.clone(),
    };
    LanguagePolicy {
        always: config.query_languages.clone(),
        rules: config.language_rules.iter().map(rule).collect(),
        into_english: config.query_translate,
    }
}

/// The operator's numbers as the rules take them.
fn scoring(config: &ScoringConfig) -> Result<Scoring, AppError> {
    let days = |span: Duration| span.as_secs_f64() / 86_400.0;
    let ScoringConfig { quality, weights, score, verdict, .. } = config;
    Ok(Scoring {
        calibration: config.calibration.as_deref().map(curves::read).transpose()?.map(|fitted| fitted.curves),
        relevance_floor: config.relevance_floor,
        half_lives: HalfLives {
            usual: days(config.half_life),
            breaking: days(config.half_life_breaking),
            lasting: days(config.half_life_lasting),
        },
        quality: QualityShares {
            credibility: quality.credibility,
            freshness: quality.freshness,
            relevance: quality.relevance,
            specificity: quality.specificity,
        },
        weights: FeatureWeights {
            e_max: weights.e_max,
            e_mean3: weights.e_mean3,
            agree_dom: weights.agree_dom,
            agree_dom_full: weights.agree_dom_full,
            rel_avg: weights.rel_avg,
            rec_max: weights.rec_max,
            c_max: weights.c_max,
            num_ok: weights.num_ok,
        },
        curve: ScoreCurve {
            center: score.center,
            scale: score.scale,
            cap_unsupported: score.cap_unsupported,
            cap_refuted: score.cap_refuted,
        },
        limits: VerdictLimits {
            support: verdict.support,
            groups: usize::try_from(verdict.groups).unwrap_or(usize::MAX),
            conflict: verdict.conflict,
            contest: verdict.contest,
            refute: verdict.refute,
            lone_credibility: verdict.single_source_credibility,
        },
    })
}

fn page_settings(config: &Config) -> PageSettings {
    PageSettings {
        timeout: config.fetch.timeout,
        connect_timeout: config.fetch.connect_timeout,
        max_bytes: config.fetch.max_bytes,
        allow_private: config.fetch.allow_private_addresses,
        user_agent: config.fetch.user_agent.clone(),
        max_redirects: config.fetch.max_redirects,
        concurrency: config.fetch.concurrency,
        per_host: config.fetch.per_host,
        host_pause: config.fetch.host_pause,
        respect_robots: config.fetch.respect_robots,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_and_the_rules_name_the_same_numbers() {
        assert_eq!(scoring(&Config::built_in().scoring).unwrap(), Scoring::default());
    }

    #[test]
    fn a_calibration_that_cannot_be_read_stops_the_start_and_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("calibration.json");
        let with = || scoring(&ScoringConfig { calibration: Some(file.clone()), ..Config::built_in().scoring.clone() });
        let told = |found: Result<Scoring, AppError>| {
            let error = found.unwrap_err();
            (error.exit_code(), error.to_string())
        };
        let (code, message) = told(with());
        assert!(
            code == 64 && message.contains("calibration.json") && message.contains("--calibration OUT"),
            "{message}"
        );
        std::fs::write(&file, "{\"curves\": 1}").unwrap();
        assert_eq!(told(with()).0, 64);
        let curve = r#"{"slope":2.0,"offset":-1.0}"#;
        let text = format!(
            r#"{{"data":"c.jsonl","judge":"rules","rows":1,"curves":{{"score":{curve},"supported":{curve},"refuted":{curve},"contested":{curve}}},
            "confidence_error":0.1,"confidence_reliability":[],"score_error":0.1,"score_reliability":[]}}"#
        );
        std::fs::write(&file, text).unwrap();
        assert!(with().unwrap().calibration.is_some_and(|fitted| fitted.score.slope > 1.9));
    }
}

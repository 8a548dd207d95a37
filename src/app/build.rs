//! Wiring: one function per part, each a list of what it is made of.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::task::TaskTracker;
use url::Url;

use super::observers::{OutboundObserver, QueueObserver};
use super::{App, AppError, OpenStore};
use crate::broker::{AmqpNames, AmqpQueue, AmqpSettings, Queue};
use crate::cache::{AnswerCacheSettings, FactCheckCache, PageCache, PageCacheSettings, SearchCache};
use crate::config::{Config, OpenSearchBackend, ProviderConfig, ScoringConfig, SearchProvider};
use crate::domain::clock::FixedClock;
use crate::domain::rules::DomainRules;
use crate::domain::{Clock, SystemClock};
use crate::inference::Models;
use crate::judging::scoring::{FeatureWeights, HalfLives, QualityShares, ScoreCurve, Scoring, VerdictLimits};
use crate::outbound::pages::{PageFetcher, PageSettings, PageSource};
use crate::outbound::replay::Archive;
use crate::outbound::{DayUsage, Gate, GateSettings, HttpClient, Spend};
use crate::pipeline::{Budget, Pilot, RulesHandle, SearchProviders, Services, Settings, Turns};
use crate::providers::{Answer, Provider, brave, gdelt, google, searxng};
use crate::store::{ProviderUsage, Store, TableQueue};

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

pub(super) async fn open(config: Arc<Config>, purpose: Purpose) -> Result<App, AppError> {
    let (http, pages, clock, opened): (_, _, Arc<dyn Clock>, _) = match &purpose {
        Purpose::Daemon { .. } | Purpose::Command | Purpose::Check => {
            let http = HttpClient::live(&config.fetch.user_agent).map_err(|error| setup("the HTTP client", error))?;
            (http, PageSource::Live, Arc::new(SystemClock), OpenStore::open(&config).await?)
        }
        Purpose::Recorded(recorded) => {
            let archive = Arc::clone(&recorded.archive);
            let clock = Arc::new(FixedClock(recorded.now));
            let opened = OpenStore::embedded(&recorded.folder).await?;
            (HttpClient::replay(Arc::clone(&archive)), PageSource::Replay(archive), clock, opened)
        }
    };
    let store = opened.store.clone();
    store.migrate().await?;
    let models = Models::rules(config.inference.embedding_dimension, config.enrichment.min_agreement);
    store.check_dimension(models.embedder.dimension())?;
    let now = clock.now();
    store.install_domain_rules(&config.enrichment.first_rules(), now).await?;
    let (rules, _version) = store.domain_rules().await?;
    let rules = Arc::new(RulesHandle::new(DomainRules::new(rules, config.enrichment.allowlist_only)));
    let usage = Arc::new(OutboundObserver::default());
    let month = store.month_spend(now).await?;
    let budget = Arc::new(Budget::new(month, config.enrichment.monthly_cap_usd));
    let accounts = accounts(&store.usage(now).await?, now);
    let providers = providers(&config, &http, &clock, &usage, &budget, &accounts)?;
    let broker = config.amqp.url.is_some() && matches!(purpose, Purpose::Daemon { .. });
    let services = Arc::new(Services {
        settings: settings(&config, broker),
        store: store.clone(),
        providers,
        pages: PageFetcher::new(page_settings(&config), pages).map_err(|error| setup("the page fetcher", error))?,
        models,
        rules,
        clock: Arc::clone(&clock),
        budget,
        search_cache: SearchCache::new(
            "search",
            AnswerCacheSettings {
                capacity: config.cache.search_entries,
                ttl: config.cache.search_ttl,
                ..AnswerCacheSettings::default()
            },
            Answer::is_empty,
            observer(&usage),
        ),
        fact_check_cache: FactCheckCache::new(
            "fact_check",
            AnswerCacheSettings {
                capacity: config.cache.fact_check_entries,
                ttl: config.fact_check.cache_ttl,
                empty_ttl: config.cache.page_failure_ttl,
            },
            Answer::is_empty,
            observer(&usage),
        ),
        turns: Turns::default(),
        page_cache: PageCache::new(
            PageCacheSettings {
                max_bytes: u64::try_from(config.cache.page_bytes).unwrap_or(u64::MAX),
                ttl: config.cache.page_ttl,
            },
            observer(&usage),
        ),
    });
    if matches!(purpose, Purpose::Daemon { .. }) {
        for name in &services.providers.unconfigured {
            tracing::info!(provider = *name, "{name} is not configured: {}", how_to_configure(name));
        }
    }
    let tracker = TaskTracker::new();
    let queue = queue(&config, &purpose, &store, clock, &tracker).await?;
    Ok(App { config, store, services, queue, usage, tracker, opened })
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
    Ok(Arc::new(TableQueue::open(store.clone(), clock, config.queue.poll_interval).await?))
}

fn settings(config: &Config, broker: bool) -> Settings {
    let enrichment = &config.enrichment;
    Settings {
        enrichment_enabled: enrichment.enabled,
        pilot: Pilot::new(&enrichment.pilot_channels),
        min_importance: enrichment.min_importance,
        max_sources: enrichment.max_sources,
        max_time: enrichment.max_time,
        min_claim_chars: config.fact_check.min_claim_length,
        fact_check_ttl: config.fact_check.cache_ttl,
        fact_check_results: config.fact_check.max_results,
        claims_per_item: enrichment.claims_per_item,
        queries_per_claim: enrichment.queries_max,
        passages_per_claim: enrichment.passages_per_claim,
        judged_passages: enrichment.judged_passages,
        passages_per_group: enrichment.passages_per_group,
        passages_shown: enrichment.evidence_max_per_item,
        scoring: scoring(&config.scoring),
        evidence_ttl: enrichment.evidence_ttl,
        negative_ttl: config.cache.page_failure_ttl,
        page_ttl: config.cache.page_ttl,
        dedup_similarity: enrichment.evidence_dedup_similarity,
        similar_item_window: enrichment.similar_window,
        similar_item_threshold: enrichment.similar_threshold,
        results_exchange: broker.then(|| config.amqp.results_exchange.clone()),
        search_results: enrichment.candidate_pages,
    }
}

/// The operator's numbers as the rules take them.
fn scoring(config: &ScoringConfig) -> Scoring {
    let days = |span: Duration| span.as_secs_f64() / 86_400.0;
    let ScoringConfig { quality, weights, score, verdict, .. } = config;
    Scoring {
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
    }
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
    }
}

/// What each provider was asked today before this start, so that a restart does not give the day's allowance anew.
fn accounts(usage: &[ProviderUsage], now: DateTime<Utc>) -> HashMap<String, DayUsage> {
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let account = |row: &ProviderUsage| DayUsage {
        day: now.date_naive(),
        calls: count(row.calls_today),
        errors: count(row.errors_today),
        usd: row.usd_today,
    };
    usage.iter().map(|row| (row.provider.clone(), account(row))).collect()
}

/// What an unconfigured provider lacks, as an instruction.
fn how_to_configure(provider: &str) -> &'static str {
    match provider {
        "google_factcheck" => "set FACTCHECK_GOOGLE_API_KEY, or FACTCHECK_GOOGLE_ENABLED=false to do without it",
        "searxng" => "set ENRICHMENT_SEARXNG_BASE_URL to your own instance",
        "brave" => "set ENRICHMENT_BRAVE_API_KEY",
        _ => "this version does not ask it; take it out of the list of providers",
    }
}

/// Builds the gates and providers, in the order they are asked. One without its key or address is named as
/// unconfigured and left out.
fn providers(
    config: &Config,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
    usage: &Arc<OutboundObserver>,
    budget: &Arc<Budget>,
    accounts: &HashMap<String, DayUsage>,
) -> Result<SearchProviders, AppError> {
    let settings = &config.providers;
    // The provider's own habits (attempts that cost, a throttle that lasts) with the operator's limits on top.
    let gate = |habits: fn(Duration) -> GateSettings, one: &ProviderConfig| {
        let habits = habits(one.cooldown.unwrap_or(config.enrichment.provider_cooldown));
        let settings = GateSettings {
            rpm: one.rpm.get(),
            max_wait: settings.max_wait,
            timeout: one.timeout,
            max_bytes: one.max_bytes,
            max_attempts: habits.max_attempts.min(settings.retries + 1),
            failures_to_open: settings.breaker_failures,
            daily_limit: one.daily_limit,
            cost_usd: one.cost_usd,
            ..habits
        };
        let purse = Arc::clone(budget) as Arc<dyn Spend>;
        let account = accounts.get(settings.name);
        let gate = Gate::new(settings, http.clone(), Arc::clone(clock), observer(usage)).with_purse(purse);
        if let Some(account) = account {
            gate.restore(*account);
        }
        gate
    };
    let mut found = SearchProviders::default();
    let google = &settings.google;
    match (config.fact_check.google_enabled, &google.api_key) {
        (false, _) => found.disabled.push("google_factcheck"),
        (true, None) => found.unconfigured.push("google_factcheck"),
        (true, Some(key)) => {
            let settings = google::GoogleSettings { base_url: base(google, "google")?, api_key: Some(key.clone()) };
            found.fact_check = Some(Arc::new(google::new(settings, gate(google::gate_settings, google))));
        }
    }
    for wanted in &config.enrichment.providers {
        match wanted {
            SearchProvider::OpenSearch => {
                for backend in &config.enrichment.opensearch_backends {
                    open_search(*backend, settings, &gate, &mut found)?;
                }
            }
            SearchProvider::Gdelt => {
                let one = &settings.gdelt;
                let settings = gdelt::GdeltSettings { base_url: base(one, "gdelt")? };
                found.search.push(Arc::new(gdelt::new(settings, gate(gdelt::gate_settings, one))));
            }
            SearchProvider::EventRegistry => found.unconfigured.push("eventregistry"),
            SearchProvider::NewsApi => found.unconfigured.push("newsapi"),
        }
    }
    // The fallback order of the core document: OpenSearch first, whatever order the names were written in.
    found.search.sort_by_key(|provider| order(provider.name()));
    Ok(found)
}

fn order(name: &str) -> usize {
    ["searxng", "brave", "serpapi", "gdelt", "eventregistry", "newsapi"]
        .iter()
        .position(|known| *known == name)
        .unwrap_or(usize::MAX)
}

fn open_search(
    backend: OpenSearchBackend,
    settings: &crate::config::ProvidersConfig,
    gate: &impl Fn(fn(Duration) -> GateSettings, &ProviderConfig) -> Gate,
    found: &mut SearchProviders,
) -> Result<(), AppError> {
    match backend {
        OpenSearchBackend::Searxng => match &settings.searxng.base_url {
            Some(address) => {
                let own = searxng::SearxngSettings { base_url: address.clone(), categories: "general,news".to_owned() };
                found
                    .search
                    .push(Arc::new(searxng::new(own, gate(searxng::gate_settings, &settings.searxng)))
                        as Arc<dyn Provider>);
            }
            None => found.unconfigured.push("searxng"),
        },
        OpenSearchBackend::Brave => match &settings.brave.api_key {
            Some(key) => {
                let own =
                    brave::BraveSettings { base_url: base(&settings.brave, "brave")?, api_key: Some(key.clone()) };
                found.search.push(Arc::new(brave::new(own, gate(brave::gate_settings, &settings.brave))));
            }
            None => found.unconfigured.push("brave"),
        },
        OpenSearchBackend::SerpApi => found.unconfigured.push("serpapi"),
    }
    Ok(())
}

fn base(one: &ProviderConfig, name: &'static str) -> Result<Url, AppError> {
    one.base_url.clone().ok_or_else(|| setup(name, "its base URL is empty; leave it out to use the public one"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::GateState;

    fn built(config: &Config, accounts: &HashMap<String, DayUsage>, now: DateTime<Utc>) -> SearchProviders {
        let http = HttpClient::live("corroborate-test").unwrap();
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(now));
        let budget = Arc::new(Budget::new(0.0, 0.0));
        providers(config, &http, &clock, &Arc::default(), &budget, accounts).unwrap()
    }

    #[tokio::test]
    async fn a_restart_does_not_give_the_days_allowance_anew() {
        let mut config = Config::built_in();
        config.enrichment.providers = vec![SearchProvider::Gdelt];
        config.providers.gdelt.daily_limit = Some(5);
        let now = DateTime::UNIX_EPOCH;
        let usage = |calls| {
            let row = ProviderUsage { provider: "gdelt".into(), calls_today: calls, ..ProviderUsage::default() };
            accounts(&[row], now)
        };
        for (calls, state) in [(4, GateState::Ready), (5, GateState::Exhausted)] {
            let status = built(&config, &usage(calls), now).search[0].status();
            assert_eq!((status.calls_today, status.state), (u64::try_from(calls).unwrap(), state));
        }
        assert_eq!(built(&config, &HashMap::new(), now).search[0].status().calls_today, 0);
    }

    #[test]
    fn what_is_switched_off_is_not_merely_unconfigured() {
        let mut config = Config::built_in();
        let shown = |config: &Config| {
            let found = built(config, &HashMap::new(), DateTime::UNIX_EPOCH);
            (found.fact_check.is_some(), found.disabled, found.unconfigured.contains(&"google_factcheck"))
        };
        config.fact_check.google_enabled = true;
        assert_eq!(shown(&config), (false, vec![], true));
        config.fact_check.google_enabled = false;
        assert_eq!(shown(&config), (false, vec!["google_factcheck"], false));
        config.providers.google.api_key = Some("key".into());
        assert_eq!(shown(&config), (false, vec!["google_factcheck"], false));
        config.fact_check.google_enabled = true;
        assert_eq!(shown(&config), (true, vec![], false));
    }

    #[test]
    fn how_to_configure_names_variables_that_exist() {
        let known: Vec<_> = crate::config::KEYS.iter().map(crate::config::Key::env).collect();
        for provider in ["google_factcheck", "searxng", "brave"] {
            let told = how_to_configure(provider);
            let is_variable = |word: &&str| word.len() > 4 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            let words: Vec<&str> = told.split([' ', ',', '=']).filter(is_variable).collect();
            assert!(!words.is_empty() && words.iter().all(|word| known.iter().any(|known| known == word)), "{told}");
        }
    }

    #[test]
    fn the_reference_and_the_rules_name_the_same_numbers() {
        assert_eq!(scoring(&Config::built_in().scoring), Scoring::default());
    }
}

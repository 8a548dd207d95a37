//! The typed tree: what the rest of the house reads. Durations are durations, secrets never print.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::api_key::ApiKey;
use super::deserialize::{api_key, durations, secret};
use super::language_model::LlmConfig;
use super::links::LinksConfig;
use super::own::{ApiConfig, CorpusConfig, DatabaseSourceConfig, FeedsConfig};
use super::rejudge::RejudgeConfig;
use super::scoring::ScoringConfig;
use super::tenants::TenantsConfig;
use super::traces::TracesConfig;
use super::webhooks::WebhooksConfig;
use crate::domain::rules::{DomainList, DomainRule};
use crate::domain::verdict::{SourceType, words};

/// All settings. `Debug` shows secrets as redacted; nothing here can be serialised.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// See [`super::data_dir`] for the folder that is meant when this is unset.
    pub data_dir: Option<PathBuf>,
    /// Each folder in it with a `model.toml` is a model. Unset: the models that ship with the program alone.
    pub models_dir: Option<PathBuf>,
    pub database: DatabaseConfig,
    pub amqp: AmqpConfig,
    pub queue: QueueConfig,
    pub http: HttpConfig,
    pub worker: WorkerConfig,
    pub jobs: JobsConfig,
    pub tenants: TenantsConfig,
    pub webhooks: WebhooksConfig,
    pub rejudge: RejudgeConfig,
    pub log: LogConfig,
    pub traces: TracesConfig,
    pub fact_check: FactCheckConfig,
    pub enrichment: EnrichmentConfig,
    pub providers: ProvidersConfig,
    pub fetch: FetchConfig,
    pub cache: CacheConfig,
    pub scoring: ScoringConfig,
    pub llm: LlmConfig,
    /// Its keys have no defaults, so the built-in file has no such table.
    #[serde(default)]
    pub translate: TranslateConfig,
    pub inference: InferenceConfig,
}

/// Where the store is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseConfig {
    /// Unset: the embedded database.
    #[serde(default, deserialize_with = "secret")]
    pub url: Option<SecretString>,
    /// A copy that pages and lists are read from. Unset: none.
    #[serde(default, deserialize_with = "secret")]
    pub read_url: Option<SecretString>,
    /// The same database past a pooler in transaction mode, which `url` names then. Unset: `url` names the server itself.
    #[serde(default, deserialize_with = "secret")]
    pub direct_url: Option<SecretString>,
    /// Connections at most for the work; the embedded database has one, whatever this says.
    pub pool_size: u32,
    /// Connections at most for pages and lists, beside those.
    pub read_pool_size: u32,
    #[serde(with = "humantime_serde")]
    pub acquire_timeout: Duration,
    #[serde(with = "humantime_serde")]
    pub statement_timeout: Duration,
    /// Unset: yes for the embedded database, no for a server.
    #[serde(default)]
    pub migrate: Option<bool>,
}

/// The broker and its names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmqpConfig {
    /// Unset: the queue is a table in the store.
    #[serde(default, deserialize_with = "secret")]
    pub url: Option<SecretString>,
    pub exchange: String,
    pub important_queue: String,
    pub important_binding: String,
    pub enrichment_queue: String,
    pub enrichment_binding: String,
    pub factcheck_queue: String,
    pub factcheck_binding: String,
    pub dead_exchange: String,
    pub dead_queue: String,
    pub results_exchange: String,
    /// Allowed prefixes of the queue names that `reply_to` may name.
    pub reply_to_prefixes: Vec<String>,
    #[serde(with = "humantime_serde")]
    pub confirm_timeout: Duration,
    #[serde(with = "humantime_serde")]
    pub reconnect_max: Duration,
}

/// What holds for both kinds of queue.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueConfig {
    /// One pause per further attempt, growing; after the last an item is dead-lettered.
    #[serde(deserialize_with = "durations")]
    pub retry_delays: Vec<Duration>,
    pub delivery_limit: u32,
    /// Of the table queue.
    #[serde(with = "humantime_serde")]
    pub poll_interval: Duration,
}

/// The HTTP server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    pub bind: SocketAddr,
    /// Unset: on another bind than loopback nobody may change anything or spend money, nor look, unless `open_reading` lets them.
    #[serde(default, deserialize_with = "secret")]
    pub admin_token: Option<SecretString>,
    /// May look and not change; unset: there is none.
    #[serde(default, deserialize_with = "secret")]
    pub read_token: Option<SecretString>,
    /// Anybody who reaches the server may look at items, evidence, lists and providers.
    pub open_reading: bool,
    pub cors_origins: Vec<Url>,
    /// Names without port.
    pub allowed_hosts: Vec<String>,
    /// Bytes; of items and imports.
    pub max_body: usize,
    pub requests_per_minute: NonZeroU32,
    pub connections_per_client: usize,
    #[serde(with = "humantime_serde")]
    pub request_timeout: Duration,
}

impl HttpConfig {
    /// Whether what changes something is served at all: with a token, or on loopback.
    pub fn admin_open(&self) -> bool {
        self.admin_token.is_some() || self.bind.ip().is_loopback()
    }
}

/// The items in work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// Items at the same time, and the prefetch.
    pub concurrency: usize,
    #[serde(with = "humantime_serde")]
    pub grace: Duration,
}

/// Background work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobsConfig {
    #[serde(with = "humantime_serde")]
    pub cleanup_interval: Duration,
    #[serde(with = "humantime_serde")]
    pub outbox_interval: Duration,
    pub outbox_batch: u32,
    #[serde(with = "humantime_serde")]
    pub domains_interval: Duration,
}

words! {
    /// Form of the log lines.
    LogFormat { Text => "text", Json => "json" }
}

/// What is logged and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    pub format: LogFormat,
    /// Tracing directives, already checked. Unset: `info` for the daemon, `warn` for other commands.
    pub filter: Option<String>,
}

/// Phase 1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactCheckConfig {
    pub google_enabled: bool,
    /// Reviews per claim.
    pub max_results: usize,
    #[serde(with = "humantime_serde")]
    pub cache_ttl: Duration,
    /// Characters.
    pub min_claim_length: usize,
}

words! {
    /// A search provider as operators name it.
    SearchProvider {
        Gdelt => "gdelt",
        EventRegistry => "eventregistry",
        NewsApi => "newsapi",
        /// The backends of `opensearch_backends`, in fallback order.
        OpenSearch => "opensearch",
    }
}

words! {
    /// What `opensearch` stands for.
    OpenSearchBackend { Searxng => "searxng", Brave => "brave", SerpApi => "serpapi" }
}

words! {
    /// What happens to new items while the daemon is overloaded.
    Overload {
        /// The evidence search is left out and the result says so.
        Degrade => "degrade",
        /// The item is tried later.
        Defer => "defer",
        /// The item is given up; upstream is told.
        Drop => "drop",
    }
}

/// Phase 2.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnrichmentConfig {
    pub enabled: bool,
    /// `["all"]`, or the channels of a pilot.
    pub pilot_channels: Vec<String>,
    pub min_importance: f64,
    pub max_sources: usize,
    #[serde(with = "humantime_serde")]
    pub max_time: Duration,
    pub min_agreement: f64,
    /// For the first start; see [`EnrichmentConfig::first_rules`].
    pub allowlist_domains: Vec<DomainEntry>,
    /// For the first start; see [`EnrichmentConfig::first_rules`].
    pub denylist_domains: Vec<DomainEntry>,
    pub allowlist_only: bool,
    pub query_translate: bool,
    /// Searched in beside an item's own; ISO 639-1.
    pub query_languages: Vec<String>,
    pub language_rules: Vec<LanguageRule>,
    pub providers: Vec<SearchProvider>,
    pub opensearch_backends: Vec<OpenSearchBackend>,
    #[serde(with = "humantime_serde")]
    pub evidence_ttl: Duration,
    pub evidence_dedup_similarity: f64,
    pub evidence_max_per_item: usize,
    pub daily_budget_usd: f64,
    pub monthly_cap_usd: f64,
    #[serde(with = "humantime_serde")]
    pub provider_cooldown: Duration,
    #[serde(with = "humantime_serde")]
    pub max_lag: Duration,
    pub max_queue_length: u64,
    pub overload: Overload,
    pub claims_per_item: usize,
    pub queries_max: usize,
    pub candidate_pages: usize,
    pub passages_per_claim: usize,
    pub judged_passages: usize,
    pub passages_per_group: usize,
    #[serde(with = "humantime_serde")]
    pub similar_window: Duration,
    pub similar_threshold: f64,
    pub sufficient_relevance: f64,
    #[serde(with = "humantime_serde")]
    pub sufficient_age: Duration,
    pub links: LinksConfig,
}

/// Which languages the items of a channel or of a subject are searched in beside their own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageRule {
    pub name: String,
    #[serde(default)]
    pub channels: Vec<String>,
    #[serde(default)]
    pub keywords: Vec<String>,
    /// ISO 639-1.
    pub languages: Vec<String>,
}

/// A domain as written in a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainEntry {
    /// Normalised: lower case, no scheme, `*.gov` for everything below gov.
    pub domain: String,
    #[serde(default)]
    pub source_type: Option<SourceType>,
    #[serde(default)]
    pub credibility: Option<f64>,
    #[serde(default)]
    pub why: Option<String>,
}

impl EnrichmentConfig {
    /// The rules of the first start. A domain on both lists is denied: whoever denies it has said so, while the allow
    /// list may be the built-in one.
    pub fn first_rules(&self) -> Vec<DomainRule> {
        let rule = |entry: &DomainEntry, list| DomainRule {
            domain: entry.domain.clone(),
            list,
            credibility: entry.credibility,
            source_type: entry.source_type,
            why: Some(entry.why.clone().unwrap_or_else(|| "from the configuration".to_owned())),
        };
        let denied = |entry: &DomainEntry| self.denylist_domains.iter().any(|other| other.domain == entry.domain);
        let allowed = self.allowlist_domains.iter().filter(|entry| !denied(entry));
        let mut rules: Vec<DomainRule> = allowed.map(|entry| rule(entry, DomainList::Allow)).collect();
        rules.extend(self.denylist_domains.iter().map(|entry| rule(entry, DomainList::Deny)));
        rules
    }
}

/// Limits of all providers, and each provider's own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvidersConfig {
    pub breaker_failures: u32,
    pub retries: u32,
    #[serde(with = "humantime_serde")]
    pub max_wait: Duration,
    pub google: ProviderConfig,
    pub gdelt: ProviderConfig,
    pub eventregistry: ProviderConfig,
    pub newsapi: ProviderConfig,
    pub brave: ProviderConfig,
    pub serpapi: ProviderConfig,
    pub searxng: ProviderConfig,
    pub feeds: FeedsConfig,
    pub corpus: CorpusConfig,
    pub api: ApiConfig,
    pub database: DatabaseSourceConfig,
}

impl ProvidersConfig {
    /// Every provider with its name as used in metrics, tables and settings.
    pub fn named(&self) -> [(&'static str, &ProviderConfig); 7] {
        [
            ("google", &self.google),
            ("gdelt", &self.gdelt),
            ("eventregistry", &self.eventregistry),
            ("newsapi", &self.newsapi),
            ("brave", &self.brave),
            ("serpapi", &self.serpapi),
            ("searxng", &self.searxng),
        ]
    }
}

/// One provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Requests a minute.
    pub rpm: NonZeroU32,
    /// Requests per UTC day, and per month, of all processes together.
    pub daily_limit: Option<u32>,
    pub monthly_limit: Option<u32>,
    /// Origin with an optional prefix; the documented path is appended.
    pub base_url: Option<Url>,
    #[serde(default, deserialize_with = "api_key")]
    pub api_key: Option<ApiKey>,
    /// Whether the operator confirms that the plan permits production. Only `NewsAPI` is asked about it.
    #[serde(default)]
    pub licensed: bool,
    /// US dollars a call.
    pub cost_usd: f64,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    pub max_bytes: usize,
    /// Unset: `enrichment.provider_cooldown`.
    #[serde(default, with = "humantime_serde")]
    pub cooldown: Option<Duration>,
}

/// Reading pages.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchConfig {
    pub allow_private_addresses: bool,
    /// Ports that pages may be fetched from beside 80 and 443.
    pub extra_ports: Vec<u16>,
    /// Bytes, decompressed.
    pub max_bytes: usize,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    #[serde(with = "humantime_serde")]
    pub connect_timeout: Duration,
    pub max_redirects: usize,
    pub concurrency: usize,
    pub per_host: usize,
    /// Between two requests to one host; zero is none.
    #[serde(with = "humantime_serde")]
    pub host_pause: Duration,
    pub respect_robots: bool,
    pub user_agent: String,
}

/// What is kept in memory, and for how long.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    pub search_entries: u64,
    #[serde(with = "humantime_serde")]
    pub search_ttl: Duration,
    /// Bytes.
    pub page_bytes: usize,
    #[serde(with = "humantime_serde")]
    pub page_ttl: Duration,
    #[serde(with = "humantime_serde")]
    pub page_failure_ttl: Duration,
    /// For answers of every kind that found nothing.
    #[serde(with = "humantime_serde")]
    pub empty_ttl: Duration,
    /// Their time to live is `fact_check.cache_ttl`.
    pub fact_check_entries: u64,
}

/// A `LibreTranslate` or `DeepL` server, and how much of an item is put to whichever translator there is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranslateConfig {
    pub base_url: Option<Url>,
    #[serde(default, deserialize_with = "api_key")]
    pub api_key: Option<ApiKey>,
    /// Passages of a claim that no model reads and that are translated for it.
    pub passages: usize,
    /// Characters of such passages, of an item in all.
    pub chars_per_item: usize,
}

/// Models: which ones judge, and where those are that run elsewhere.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferenceConfig {
    /// `auto`, `hashed`, or the name of a model.
    pub embedder: String,
    /// `auto`, `rules`, or the name of a model.
    pub stance: String,
    /// `auto`, `lexical`, or the name of a model.
    pub reranker: String,
    /// A text-embeddings-inference or OpenAI-compatible server. Unset: in-process.
    pub base_url: Option<Url>,
    /// A text-embeddings-inference server with an NLI model.
    pub stance_url: Option<Url>,
    /// A text-embeddings-inference server with a reranker.
    pub rerank_url: Option<Url>,
    /// Bearer token of these servers.
    #[serde(default, deserialize_with = "api_key")]
    pub api_key: Option<ApiKey>,
    /// The model's name for servers that hold several. Only OpenAI-compatible ones are asked by it.
    pub embedding_model: Option<String>,
    /// Bearer token of the hub that `corroborate models pull` fetches from.
    #[serde(default, deserialize_with = "secret")]
    pub hub_token: Option<SecretString>,
    /// For one call to such a server.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Numbers in one embedding.
    pub embedding_dimension: usize,
}

impl InferenceConfig {
    /// Its servers that are set, each with the variable that names it.
    pub fn servers(&self) -> impl Iterator<Item = (&'static str, &Url)> {
        [
            ("INFERENCE_BASE_URL", &self.base_url),
            ("INFERENCE_STANCE_URL", &self.stance_url),
            ("INFERENCE_RERANK_URL", &self.rerank_url),
        ]
        .into_iter()
        .filter_map(|(name, url)| Some((name, url.as_ref()?)))
    }
}

//! The typed configuration tree that other modules read.
//!
//! `Debug` redacts secrets, and no type is serialisable. A new field needs a row in `names.rs`.

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
use super::traces::TracesConfig;
use super::webhooks::WebhooksConfig;
use crate::domain::rules::{DomainList, DomainRule};
use crate::domain::verdict::{SourceType, words};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Unset: see [`super::data_dir`].
    pub data_dir: Option<PathBuf>,
    /// Each folder in it with a `model.toml` is a model. Unset: bundled models only.
    pub models_dir: Option<PathBuf>,
    pub database: DatabaseConfig,
    pub amqp: AmqpConfig,
    pub queue: QueueConfig,
    pub http: HttpConfig,
    pub worker: WorkerConfig,
    pub jobs: JobsConfig,
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

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseConfig {
    /// Unset: the embedded database.
    #[serde(default, deserialize_with = "secret")]
    pub url: Option<SecretString>,
    /// A read replica for pages and lists.
    #[serde(default, deserialize_with = "secret")]
    pub read_url: Option<SecretString>,
    /// The server, if `url` names a pooler in transaction mode. Unset: `url` names the server.
    #[serde(default, deserialize_with = "secret")]
    pub direct_url: Option<SecretString>,
    /// The embedded database always has one.
    pub pool_size: u32,
    /// For pages and lists.
    pub read_pool_size: u32,
    #[serde(with = "humantime_serde")]
    pub acquire_timeout: Duration,
    #[serde(with = "humantime_serde")]
    pub statement_timeout: Duration,
    /// Unset: yes for the embedded database, no for a server.
    #[serde(default)]
    pub migrate: Option<bool>,
}

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
    /// Of queue names in `reply_to`.
    pub reply_to_prefixes: Vec<String>,
    #[serde(with = "humantime_serde")]
    pub confirm_timeout: Duration,
    #[serde(with = "humantime_serde")]
    pub reconnect_max: Duration,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueConfig {
    /// One increasing pause per retry. After the last the item becomes a dead letter.
    #[serde(deserialize_with = "durations")]
    pub retry_delays: Vec<Duration>,
    pub delivery_limit: u32,
    /// Of the table queue.
    #[serde(with = "humantime_serde")]
    pub poll_interval: Duration,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    pub bind: SocketAddr,
    /// Unset: on a non-loopback bind, changes and paid calls are refused, and also reading unless `open_reading` is
    /// set.
    #[serde(default, deserialize_with = "secret")]
    pub admin_token: Option<SecretString>,
    /// Allows reading only.
    #[serde(default, deserialize_with = "secret")]
    pub read_token: Option<SecretString>,
    /// Allows everyone to read items, evidence, lists and providers.
    pub open_reading: bool,
    pub cors_origins: Vec<Url>,
    /// Names without port.
    pub allowed_hosts: Vec<String>,
    /// Bytes, for items and imports.
    pub max_body: usize,
    pub requests_per_minute: NonZeroU32,
    pub connections_per_client: usize,
    #[serde(with = "humantime_serde")]
    pub request_timeout: Duration,
}

impl HttpConfig {
    /// Returns true with a token, or on loopback.
    pub fn admin_open(&self) -> bool {
        self.admin_token.is_some() || self.bind.ip().is_loopback()
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// Concurrent items, and the prefetch.
    pub concurrency: usize,
    #[serde(with = "humantime_serde")]
    pub grace: Duration,
}

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
    LogFormat { Text => "text", Json => "json" }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    pub format: LogFormat,
    /// Unset: `info` for the daemon, `warn` for commands.
    pub filter: Option<String>,
}

/// Phase 1.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactCheckConfig {
    pub google_enabled: bool,
    /// Per claim.
    pub max_results: usize,
    #[serde(with = "humantime_serde")]
    pub cache_ttl: Duration,
    /// Characters.
    pub min_claim_length: usize,
}

words! {
    SearchProvider {
        Gdelt => "gdelt",
        EventRegistry => "eventregistry",
        NewsApi => "newsapi",
        Wikipedia => "wikipedia",
        OpenSearch => "opensearch",
    }
}

words! {
    OpenSearchBackend { Searxng => "searxng", Brave => "brave", SerpApi => "serpapi" }
}

words! {
    /// During overload.
    Overload {
        /// Leaves the evidence search out and marks the result.
        Degrade => "degrade",
        Defer => "defer",
        /// Drops the item and notifies upstream.
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
    /// In addition to the item's language; ISO 639-1.
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

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainEntry {
    /// Lower case, no scheme. `*.gov` matches everything below gov.
    pub domain: String,
    #[serde(default)]
    pub source_type: Option<SourceType>,
    #[serde(default)]
    pub credibility: Option<f64>,
    #[serde(default)]
    pub why: Option<String>,
}

impl EnrichmentConfig {
    /// Returns the rules of the first start. A domain on both lists is denied, because the allow list may be the
    /// built-in one.
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
    pub wikipedia: ProviderConfig,
    pub feeds: FeedsConfig,
    pub corpus: CorpusConfig,
    pub api: ApiConfig,
    pub database: DatabaseSourceConfig,
}

impl ProvidersConfig {
    /// Returns the providers by their name in metrics, tables and settings.
    pub fn named(&self) -> [(&'static str, &ProviderConfig); 8] {
        [
            ("google", &self.google),
            ("gdelt", &self.gdelt),
            ("eventregistry", &self.eventregistry),
            ("newsapi", &self.newsapi),
            ("brave", &self.brave),
            ("serpapi", &self.serpapi),
            ("searxng", &self.searxng),
            ("wikipedia", &self.wikipedia),
        ]
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Per minute.
    pub rpm: NonZeroU32,
    /// Per UTC day and per month, of all processes.
    pub daily_limit: Option<u32>,
    pub monthly_limit: Option<u32>,
    /// Origin with an optional prefix; the documented path is appended.
    pub base_url: Option<Url>,
    #[serde(default, deserialize_with = "api_key")]
    pub api_key: Option<ApiKey>,
    /// The plan allows production use. Only for `NewsAPI`.
    #[serde(default)]
    pub licensed: bool,
    /// US dollars per call.
    pub cost_usd: f64,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    pub max_bytes: usize,
    /// Unset: `enrichment.provider_cooldown`.
    #[serde(default, with = "humantime_serde")]
    pub cooldown: Option<Duration>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchConfig {
    pub allow_private_addresses: bool,
    /// In addition to 80 and 443.
    pub extra_ports: Vec<u16>,
    /// Bytes after decompression.
    pub max_bytes: usize,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    #[serde(with = "humantime_serde")]
    pub connect_timeout: Duration,
    pub max_redirects: usize,
    pub concurrency: usize,
    pub per_host: usize,
    /// Per host; zero: none.
    #[serde(with = "humantime_serde")]
    pub host_pause: Duration,
    pub respect_robots: bool,
    pub user_agent: String,
}

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
    /// For empty answers of every kind.
    #[serde(with = "humantime_serde")]
    pub empty_ttl: Duration,
    /// Their lifetime is `fact_check.cache_ttl`.
    pub fact_check_entries: u64,
}

/// A `LibreTranslate` or `DeepL` server, and limits for every translator.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranslateConfig {
    pub base_url: Option<Url>,
    #[serde(default, deserialize_with = "api_key")]
    pub api_key: Option<ApiKey>,
    /// Per claim; for languages that no model reads.
    pub passages: usize,
    /// Per item.
    pub chars_per_item: usize,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferenceConfig {
    /// `auto`, `hashed`, or a model name.
    pub embedder: String,
    /// `auto`, `rules`, or a model name.
    pub stance: String,
    /// `auto`, `lexical`, or a model name.
    pub reranker: String,
    /// A text-embeddings-inference or OpenAI-compatible server. Unset: in-process.
    pub base_url: Option<Url>,
    /// A text-embeddings-inference server.
    pub stance_url: Option<Url>,
    /// A text-embeddings-inference server.
    pub rerank_url: Option<Url>,
    /// Bearer token of these servers.
    #[serde(default, deserialize_with = "api_key")]
    pub api_key: Option<ApiKey>,
    /// Per call.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    pub embedding_dimension: usize,
}

impl InferenceConfig {
    /// Returns the configured servers with their variables.
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

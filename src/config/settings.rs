//! The typed tree that other modules read.
//!
//! `Debug` redacts secrets, and no type is serialisable. `config/default.toml` describes each key.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

use super::api_key::ApiKey;
use super::kind::{
    ADDRESS, ANSWER, Bare, CALL, CALL_SECONDS, DOMAIN, FILE, HEADER, KEY, KIB, Kind, LOG_FILTER, MIB, MONEY, NAME,
    ORIGINS, PAUSE, PAUSES, PORTS, POSTGRES, RPM, SLUG, SPAN, Shape, TEXT, TEXTS, UNIT, URL, count, span, table,
    words_of,
};
use super::own::{ApiConfig, CorpusConfig, DatabaseSourceConfig, FeedsConfig};
use crate::domain::Event;
use crate::domain::rules::{DomainList, DomainRule};
use crate::domain::verdict::{SourceType, words};

table! {
    Config {
        /// Unset: see [`super::data_dir`].
        data_dir: Option<PathBuf> = FILE,
        /// Each folder in it with a `model.toml` is a model. Unset: bundled models only.
        models_dir: Option<PathBuf> = FILE,
        database: DatabaseConfig = Kind::Table(DatabaseConfig::FIELDS),
        amqp: AmqpConfig = Kind::Table(AmqpConfig::FIELDS),
        queue: QueueConfig = Kind::Table(QueueConfig::FIELDS),
        http: HttpConfig = Kind::Table(HttpConfig::FIELDS),
        worker: WorkerConfig = Kind::Table(WorkerConfig::FIELDS),
        jobs: JobsConfig = Kind::Table(JobsConfig::FIELDS),
        webhooks: WebhooksConfig = Kind::Table(WebhooksConfig::FIELDS),
        rejudge: RejudgeConfig = Kind::Table(RejudgeConfig::FIELDS),
        log: LogConfig = Kind::Table(LogConfig::FIELDS),
        traces: TracesConfig = Kind::Table(TracesConfig::FIELDS),
        fact_check: FactCheckConfig = Kind::Table(FactCheckConfig::FIELDS),
        enrichment: EnrichmentConfig = Kind::Table(EnrichmentConfig::FIELDS),
        providers: ProvidersConfig = Kind::Table(ProvidersConfig::FIELDS),
        fetch: FetchConfig = Kind::Table(FetchConfig::FIELDS),
        cache: CacheConfig = Kind::Table(CacheConfig::FIELDS),
        scoring: ScoringConfig = Kind::Table(ScoringConfig::FIELDS),
        llm: LlmConfig = Kind::Table(LlmConfig::FIELDS),
        translate: TranslateConfig = Kind::Table(TranslateConfig::FIELDS),
        inference: InferenceConfig = Kind::Table(InferenceConfig::FIELDS),
    }
}

table! {
    DatabaseConfig {
        /// Unset: the embedded database.
        url: Option<SecretString> = POSTGRES,
        /// A read replica for pages and lists.
        read_url: Option<SecretString> = POSTGRES,
        /// The server, if `url` names a pooler in transaction mode. Unset: `url` names the server.
        direct_url: Option<SecretString> = POSTGRES,
        /// The embedded database always has one.
        pool_size: u32 = count(1, 1000),
        /// For pages and lists.
        read_pool_size: u32 = count(1, 1000),
        acquire_timeout: Duration = CALL,
        statement_timeout: Duration = CALL,
        /// Unset: yes for the embedded database, no for a server.
        migrate: Option<bool> = Kind::Flag,
    }
}

table! {
    AmqpConfig {
        /// Unset: the queue is a table in the store.
        url: Option<SecretString> = Kind::Secret { schemes: &["amqp", "amqps"] },
        exchange: String = NAME,
        important_queue: String = NAME,
        important_binding: String = NAME,
        enrichment_queue: String = NAME,
        enrichment_binding: String = NAME,
        factcheck_queue: String = NAME,
        factcheck_binding: String = NAME,
        dead_exchange: String = NAME,
        dead_queue: String = NAME,
        results_exchange: String = NAME,
        /// Of queue names in `reply_to`.
        reply_to_prefixes: Vec<String> = TEXTS,
        confirm_timeout: Duration = CALL,
        reconnect_max: Duration = CALL,
    }
}

table! {
    QueueConfig {
        /// One increasing pause per retry. After the last the item becomes a dead letter.
        retry_delays: Vec<Duration> = PAUSES,
        delivery_limit: u32 = count(1, 10_000),
        /// Of the table queue.
        poll_interval: Duration = PAUSE,
    }
}

table! {
    HttpConfig {
        bind: SocketAddr = ADDRESS,
        /// Unset: on a non-loopback bind, changes and paid calls are refused, and also reading unless `open_reading` is
        /// set.
        admin_token: Option<SecretString> = KEY,
        /// Allows reading only.
        read_token: Option<SecretString> = KEY,
        /// Allows everyone to read items, evidence, lists and providers.
        open_reading: bool = Kind::Flag,
        cors_origins: Vec<Url> = ORIGINS,
        /// Names without port.
        allowed_hosts: Vec<String> = TEXTS,
        /// Bytes, for items and imports.
        max_body: usize = Kind::Bytes { min: KIB, max: 1024 * MIB },
        requests_per_minute: NonZeroU32 = RPM,
        connections_per_client: usize = count(1, 512),
    }
}

impl HttpConfig {
    /// Returns true with a token, or on loopback.
    pub fn admin_open(&self) -> bool {
        self.admin_token.is_some() || self.bind.ip().is_loopback()
    }
}

table! {
    WorkerConfig {
        /// Concurrent items, and the prefetch.
        concurrency: usize = count(1, 1024),
        grace: Duration = span(Duration::ZERO, Duration::from_hours(1)),
    }
}

table! {
    JobsConfig {
        outbox_interval: Duration = PAUSE,
        outbox_batch: u32 = count(1, 10_000),
        domains_interval: Duration = PAUSE,
    }
}

table! {
    /// Web servers that receive results.
    WebhooksConfig {
        endpoints: Vec<WebhookEndpoint> = Kind::Tables(&WEBHOOK),
        timeout: Duration = CALL,
        give_up_after: Duration = span(Duration::from_secs(1), Duration::from_hours(7 * 24)),
    }
}

table! {
    WebhookEndpoint {
        name: String = SLUG,
        url: Url = URL,
        /// Unset: all events.
        events: Option<Vec<Event>> = Kind::List(&Kind::Word(words_of!(Event))),
        secret: Option<SecretString> = KEY,
        /// The key before, while a receiver changes keys.
        old_secret: Option<SecretString> = KEY,
    }
}

static WEBHOOK: Shape = Shape {
    what: "webhook",
    secret_prefix: "CORROBORATE_WEBHOOK",
    fields: WebhookEndpoint::FIELDS,
    required: &["name", "url"],
};

impl WebhookEndpoint {
    pub fn events(&self) -> Vec<Event> {
        self.events.clone().unwrap_or_else(|| Event::ALL.to_vec())
    }

    pub fn secret_env(&self) -> String {
        WEBHOOK.secret_env(&self.name, "secret")
    }
}

table! {
    /// Re-evaluation of stored items.
    RejudgeConfig {
        enabled: bool = Kind::Flag,
        interval: Duration = PAUSE,
        max_age: Duration = SPAN,
        /// Of all processes, with a full new run.
        asked_per_hour: u32 = count(0, 1_000_000),
        /// Share of `enrichment.monthly_cap_usd`, 0–1.
        monthly_share: f64 = UNIT,
    }
}

words! {
    LogFormat { Text => "text", Json => "json" }
}

table! {
    LogConfig {
        format: LogFormat = Kind::Word(words_of!(LogFormat)),
        /// Unset: `info` for the daemon, `warn` for commands.
        filter: Option<String> = LOG_FILTER,
    }
}

table! {
    /// Trace export. The variables of the first three keys have the standard OpenTelemetry names.
    TracesConfig {
        /// Without `/v1/traces`. Unset: no spans are recorded.
        endpoint: Option<Url> = URL,
        headers: Option<SecretString> = KEY,
        service_name: String = TEXT,
        share: f64 = UNIT,
    }
}

table! {
    /// Phase 1.
    FactCheckConfig {
        google_enabled: bool = Kind::Flag,
        /// Per claim.
        max_results: usize = count(1, 100),
        cache_ttl: Duration =
            Kind::Duration { min: Duration::from_secs(1), max: Duration::from_hours(365 * 24), bare: Some(Bare::Hours) },
        /// Characters.
        min_claim_length: usize = count(0, 10_000),
    }
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

table! {
    /// Phase 2.
    EnrichmentConfig {
        enabled: bool = Kind::Flag,
        /// `["all"]`, or the channels of a pilot.
        pilot_channels: Vec<String> = TEXTS,
        min_importance: f64 = UNIT,
        max_sources: usize = count(1, 100),
        max_time: Duration = Kind::Duration {
            min: Duration::from_secs(1),
            max: Duration::from_hours(1),
            bare: Some(Bare::Seconds),
        },
        min_agreement: f64 = UNIT,
        /// For the first start; see [`EnrichmentConfig::first_rules`].
        allowlist_domains: Vec<DomainEntry> = DOMAINS,
        /// For the first start; see [`EnrichmentConfig::first_rules`].
        denylist_domains: Vec<DomainEntry> = DOMAINS,
        allowlist_only: bool = Kind::Flag,
        query_translate: bool = Kind::Flag,
        /// In addition to the item's language; ISO 639-1.
        query_languages: Vec<String> = TEXTS,
        language_rules: Vec<LanguageRule> = Kind::Tables(&LANGUAGE_RULE),
        providers: Vec<SearchProvider> = Kind::List(&Kind::Word(words_of!(SearchProvider))),
        opensearch_backends: Vec<OpenSearchBackend> = Kind::List(&Kind::Word(words_of!(OpenSearchBackend))),
        evidence_ttl: Duration = Kind::Duration {
            min: Duration::from_secs(1),
            max: Duration::from_hours(100 * 365 * 24),
            bare: Some(Bare::Days),
        },
        evidence_dedup_similarity: f64 = UNIT,
        evidence_max_per_item: usize = count(1, 1000),
        daily_budget_usd: f64 = MONEY,
        monthly_cap_usd: f64 = MONEY,
        provider_cooldown: Duration = SPAN,
        max_lag: Duration = SPAN,
        max_queue_length: u64 = count(1, 1_000_000_000),
        overload: Overload = Kind::Word(words_of!(Overload)),
        claims_per_item: usize = count(1, 100),
        queries_max: usize = count(1, 20),
        similar_threshold: f64 = UNIT,
        links: LinksConfig = Kind::Table(LinksConfig::FIELDS),
    }
}

table! {
    /// Pages that items link to.
    LinksConfig {
        expand: bool = Kind::Flag,
    }
}

table! {
    #[derive(Default, PartialEq, Eq)]
    LanguageRule {
        name: String = SLUG,
        /// ISO 639-1.
        languages: Vec<String> = TEXTS,
        #[serde(default)]
        channels: Vec<String> = TEXTS,
        #[serde(default)]
        keywords: Vec<String> = TEXTS,
    }
}

static LANGUAGE_RULE: Shape = Shape {
    what: "rule",
    secret_prefix: "ENRICHMENT_LANGUAGE_RULE",
    fields: LanguageRule::FIELDS,
    required: &["name", "languages"],
};

table! {
    #[derive(PartialEq)]
    DomainEntry {
        /// Lower case, no scheme. `*.gov` matches everything below gov.
        domain: String = DOMAIN,
        source_type: Option<SourceType> = Kind::Word(words_of!(SourceType)),
        credibility: Option<f64> = UNIT,
        why: Option<String> = TEXT,
    }
}

const DOMAINS: Kind = Kind::List(&Kind::Entry(&Shape {
    what: "entry",
    secret_prefix: "",
    fields: DomainEntry::FIELDS,
    required: &["domain"],
}));

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

table! {
    ProvidersConfig {
        breaker_failures: u32 = count(1, 1000),
        retries: u32 = count(0, 10),
        max_wait: Duration = CALL,
        google: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        gdelt: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        eventregistry: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        newsapi: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        brave: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        serpapi: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        searxng: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        wikipedia: ProviderConfig = Kind::Table(ProviderConfig::FIELDS),
        feeds: FeedsConfig = Kind::Table(FeedsConfig::FIELDS),
        corpus: CorpusConfig = Kind::Table(CorpusConfig::FIELDS),
        api: ApiConfig = Kind::Table(ApiConfig::FIELDS),
        database: DatabaseSourceConfig = Kind::Table(DatabaseSourceConfig::FIELDS),
    }
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

table! {
    ProviderConfig {
        /// Per minute.
        rpm: NonZeroU32 = RPM,
        /// Per UTC day and per month, of all processes.
        daily_limit: Option<u32> = count(1, 1_000_000_000),
        monthly_limit: Option<u32> = count(1, 1_000_000_000),
        /// Origin with an optional prefix; the documented path is appended.
        base_url: Option<Url> = URL,
        api_key: Option<ApiKey> = KEY,
        /// The plan allows production use. A key of `NewsAPI` alone.
        #[serde(default)]
        licensed: bool = Kind::Flag,
        /// US dollars per call.
        cost_usd: f64 = MONEY,
        timeout: Duration = CALL,
        max_bytes: usize = ANSWER,
        /// Unset: `enrichment.provider_cooldown`.
        cooldown: Option<Duration> = SPAN,
    }
}

table! {
    FetchConfig {
        allow_private_addresses: bool = Kind::Flag,
        /// In addition to 80 and 443.
        extra_ports: Vec<u16> = PORTS,
        /// Bytes after decompression.
        max_bytes: usize = ANSWER,
        timeout: Duration = CALL_SECONDS,
        respect_robots: bool = Kind::Flag,
        user_agent: String = HEADER,
    }
}

table! {
    CacheConfig {
        /// Bytes.
        page_bytes: usize = ANSWER,
        page_ttl: Duration = SPAN,
        /// For empty answers of every kind.
        empty_ttl: Duration = SPAN,
    }
}

table! {
    ScoringConfig {
        /// Written by `eval --decision`.
        decision: Option<PathBuf> = FILE,
        /// Written by `eval --calibration`.
        calibration: Option<PathBuf> = FILE,
    }
}

table! {
    LlmConfig {
        /// With `/v1`. Unset: no language model.
        base_url: Option<Url> = URL,
        api_key: Option<ApiKey> = KEY,
        model: Option<String> = TEXT,
        /// Each use has its own switch.
        claims_enabled: bool = Kind::Flag,
        sufficiency_enabled: bool = Kind::Flag,
        adjudicate_enabled: bool = Kind::Flag,
        search_enabled: bool = Kind::Flag,
        explain_enabled: bool = Kind::Flag,
        summary_enabled: bool = Kind::Flag,
        correct_enabled: bool = Kind::Flag,
        translate_enabled: bool = Kind::Flag,
        /// Expected share of correct stances; 1/3 is chance. A judge that is never wrong could not be outvoted.
        reliability: f64 = Kind::Number { min: 0.34, max: 0.98 },
        /// US dollars in addition to tokens. Counts towards the monthly cap.
        cost_usd: f64 = MONEY,
        /// US dollars per million tokens.
        input_usd_per_million: f64 = MONEY,
        output_usd_per_million: f64 = MONEY,
        /// US dollars in addition to tokens.
        search_cost_usd: f64 = MONEY,
        /// Limits per item.
        calls_per_item: u32 = count(0, 1000),
        usd_per_item: f64 = MONEY,
        /// Calls per minute of all processes; concurrent calls of this process.
        rpm: NonZeroU32 = RPM,
        concurrency: usize = count(1, 1000),
        timeout: Duration = CALL,
        /// Per answer.
        max_tokens: u32 = count(64, 100_000),
        /// Delay from the start of a search to the model's own search.
        search_after: Duration = span(Duration::ZERO, Duration::from_mins(10)),
        answer_ttl: Duration = SPAN,
    }
}

impl LlmConfig {
    /// Returns the uses except translation, with their keys.
    pub fn switches(&self) -> [(&'static str, bool); 7] {
        [
            ("llm.claims_enabled", self.claims_enabled),
            ("llm.sufficiency_enabled", self.sufficiency_enabled),
            ("llm.adjudicate_enabled", self.adjudicate_enabled),
            ("llm.search_enabled", self.search_enabled),
            ("llm.explain_enabled", self.explain_enabled),
            ("llm.summary_enabled", self.summary_enabled),
            ("llm.correct_enabled", self.correct_enabled),
        ]
    }

    /// Returns true if the model translates when no translation server is set.
    pub fn translates(&self) -> bool {
        self.translate_enabled && self.base_url.is_some() && self.model.is_some()
    }
}

table! {
    /// A `LibreTranslate` or `DeepL` server, and limits for every translator.
    #[derive(Default)]
    TranslateConfig {
        base_url: Option<Url> = URL,
        api_key: Option<ApiKey> = KEY,
        /// Per claim; for languages that no model reads.
        passages: usize = count(0, 20),
        /// Per item.
        chars_per_item: usize = count(0, 100_000),
    }
}

table! {
    InferenceConfig {
        /// `auto`, `hashed`, or a model name.
        embedder: String = NAME,
        /// `auto`, `rules`, or a model name.
        stance: String = NAME,
        /// `auto`, `lexical`, or a model name.
        reranker: String = NAME,
        /// A text-embeddings-inference server. Unset: in-process.
        base_url: Option<Url> = URL,
        /// A text-embeddings-inference server.
        stance_url: Option<Url> = URL,
        /// A text-embeddings-inference server.
        rerank_url: Option<Url> = URL,
        /// Bearer token of these servers.
        api_key: Option<ApiKey> = KEY,
        /// Per call.
        timeout: Duration = CALL,
        /// pgvector indexes at most 2,000.
        embedding_dimension: usize = count(8, 2000),
    }
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

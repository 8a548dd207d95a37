//! The table of all keys: path, variable, kind of value and one line of help.
//!
//! Reading, checking, `config show`, the JSON Schema and suggestions for misspelt names use it.

use std::sync::LazyLock;
use std::time::Duration;

use super::key::{ANSWER, CALL, KIB, Key, MIB, MONEY, PAUSE, RPM, SECOND, SPAN, UNIT, count};
use super::kind::{Bare, Kind, SecretKind};
use super::own::LANGUAGE_RULE;

pub const CONFIG_FILE_ENV: &str = "CORROBORATE_CONFIG";

/// Suffix of the variable that holds the path of a secret's file.
pub const FILE_TWIN: &str = "_FILE";

pub(super) fn by_path(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

const DAY: Duration = Duration::from_hours(24);
const YEAR: Duration = Duration::from_hours(365 * 24);

/// From chance to nearly always: a judge that is never wrong could not be outvoted.
const RELIABILITY: Kind = Kind::Number { min: 0.34, max: 0.98 };
const HEAD_START: Kind = Kind::Duration { min: Duration::ZERO, max: Duration::from_mins(10), bare: None };

/// The settings of every provider. The last three have no fixed variable name.
macro_rules! provider {
    ($name:literal, $prefix:literal) => {
        [
            Key::named(concat!("providers.", $name, ".rpm"), concat!($prefix, "_RPM"), RPM, "requests a minute"),
            Key::named(
                concat!("providers.", $name, ".daily_limit"),
                concat!($prefix, "_DAILY_LIMIT"),
                count(1, 1_000_000_000),
                "requests a day at most",
            ),
            Key::named(
                concat!("providers.", $name, ".monthly_limit"),
                concat!($prefix, "_MONTHLY_LIMIT"),
                count(1, 1_000_000_000),
                "requests a month at most",
            ),
            Key::named(
                concat!("providers.", $name, ".base_url"),
                concat!($prefix, "_BASE_URL"),
                Kind::Url,
                "origin with an optional prefix; the documented path is appended",
            ),
            Key::named(
                concat!("providers.", $name, ".api_key"),
                concat!($prefix, "_API_KEY"),
                Kind::Secret(SecretKind::Header),
                "key of the service",
            ),
            Key::named(
                concat!("providers.", $name, ".cost_usd"),
                concat!($prefix, "_COST_USD"),
                MONEY,
                "US dollars a call",
            ),
            Key::own(concat!("providers.", $name, ".timeout"), CALL, "longest time one call may take"),
            Key::own(concat!("providers.", $name, ".max_bytes"), ANSWER, "largest answer"),
            Key::own(concat!("providers.", $name, ".cooldown"), SPAN, "rest after too many failures"),
        ]
    };
}

/// In the order of `config/default.toml`.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Vec::with_capacity(220);
    keys.extend(service_keys());
    keys.extend(http_and_work_keys());
    keys.extend(super::webhooks::keys());
    keys.extend(super::traces::keys());
    keys.extend(super::rejudge::keys());
    keys.extend(fact_check_keys());
    keys.extend(enrichment_keys());
    keys.extend(enrichment_detail_keys());
    keys.extend(provider_keys());
    keys.extend(super::own::keys());
    keys.extend(fetch_and_cache_keys());
    keys.extend(scoring_keys());
    keys.extend(language_model_keys());
    keys.extend(model_keys());
    keys
});

fn service_keys() -> Vec<Key> {
    vec![
        Key::named("data_dir", "CORROBORATE_DATA_DIR", Kind::Path, "folder of the embedded database"),
        Key::named("models_dir", "MODELS_DIR", Kind::Path, "folder of models"),
        Key::named("database.url", "DATABASE_URL", Kind::Secret(SecretKind::Postgres), "Postgres; unset: embedded"),
        Key::named(
            "database.read_url",
            "DATABASE_READ_URL",
            Kind::Secret(SecretKind::Postgres),
            "a copy of it for pages and lists",
        ),
        Key::named(
            "database.direct_url",
            "DATABASE_DIRECT_URL",
            Kind::Secret(SecretKind::Postgres),
            "past the pooler that DATABASE_URL names",
        ),
        Key::own("database.pool_size", count(1, 1000), "connections at most for the work"),
        Key::own("database.read_pool_size", count(1, 1000), "connections at most for pages and lists"),
        Key::own("database.acquire_timeout", CALL, "longest wait for a connection"),
        Key::own("database.statement_timeout", CALL, "longest time of one statement"),
        Key::own("database.migrate", Kind::Flag, "whether a start brings the schema up to date"),
        Key::named("amqp.url", "AMQP_URL", Kind::Secret(SecretKind::Amqp), "RabbitMQ; unset: queue in the database"),
        Key::own("amqp.exchange", Kind::Name, "exchange upstream publishes to"),
        Key::own("amqp.important_queue", Kind::Name, "queue of priority items"),
        Key::own("amqp.important_binding", Kind::Name, "binding key of the queue"),
        Key::own("amqp.enrichment_queue", Kind::Name, "queue of Phase 1 and Phase 2"),
        Key::own("amqp.enrichment_binding", Kind::Name, "binding key of the queue"),
        Key::own("amqp.factcheck_queue", Kind::Name, "queue for the fact-check lookup only"),
        Key::own("amqp.factcheck_binding", Kind::Name, "binding key of the queue"),
        Key::own("amqp.dead_exchange", Kind::Name, "exchange of dead letters"),
        Key::own("amqp.dead_queue", Kind::Name, "queue of dead letters"),
        Key::own("amqp.results_exchange", Kind::Name, "exchange of results and signals"),
        Key::own("amqp.reply_to_prefixes", Kind::Texts, "allowed prefixes of `reply_to` queue names"),
        Key::own("amqp.confirm_timeout", CALL, "longest wait for a publisher confirm"),
        Key::own("amqp.reconnect_max", CALL, "longest pause between attempts to connect"),
        Key::own("queue.retry_delays", Kind::Durations { max: DAY }, "pauses before another attempt"),
        Key::own("queue.delivery_limit", count(1, 10_000), "deliveries before a message is given up"),
        Key::own("queue.poll_interval", PAUSE, "pause between looks at the table queue"),
    ]
}

fn http_and_work_keys() -> Vec<Key> {
    vec![
        Key::named("http.bind", "HTTP_BIND", Kind::Address, "address and port of the HTTP server"),
        Key::named("http.admin_token", "ADMIN_TOKEN", Kind::Secret(SecretKind::Header), "bearer token for writes"),
        Key::own("http.read_token", Kind::Secret(SecretKind::Header), "bearer token for looking only"),
        Key::own("http.open_reading", Kind::Flag, "stored items can be read without a token"),
        Key::own("http.cors_origins", Kind::Origins, "web origins that may call the API"),
        Key::own("http.allowed_hosts", Kind::Texts, "further names in the Host header"),
        Key::own("http.max_body", Kind::Bytes { min: KIB, max: 1024 * MIB }, "largest request body"),
        Key::own("http.requests_per_minute", RPM, "requests a minute from one client"),
        Key::own("http.connections_per_client", count(1, 512), "connections at a time of one client"),
        Key::own("http.request_timeout", CALL, "longest time of one request"),
        Key::named("worker.concurrency", "WORKER_CONCURRENCY", count(1, 1024), "items in work at the same time"),
        Key::own(
            "worker.grace",
            Kind::Duration { min: Duration::ZERO, max: Duration::from_hours(1), bare: None },
            "time to finish after SIGTERM",
        ),
        Key::own("jobs.cleanup_interval", PAUSE, "pause between deletions of expired evidence"),
        Key::own("jobs.outbox_interval", PAUSE, "pause between looks at the outbox"),
        Key::own("jobs.outbox_batch", count(1, 10_000), "results sent in one round"),
        Key::own("jobs.domains_interval", PAUSE, "pause between reads of the domain lists"),
        Key::named("log.format", "LOG_FORMAT", Kind::Word(&["text", "json"]), "form of the log"),
        Key::named("log.filter", "RUST_LOG", Kind::LogFilter, "log filter, tracing directives"),
    ]
}

fn fact_check_keys() -> Vec<Key> {
    vec![
        Key::named(
            "fact_check.google_enabled",
            "FACTCHECK_GOOGLE_ENABLED",
            Kind::Flag,
            "whether Google Fact Check is queried",
        ),
        Key::named("fact_check.max_results", "FACTCHECK_GOOGLE_MAX_RESULTS", count(1, 100), "reviews taken per claim"),
        Key::named(
            "fact_check.cache_ttl",
            "FACTCHECK_CACHE_TTL_HOURS",
            Kind::Duration { min: SECOND, max: YEAR, bare: Some(Bare::Hours) },
            "how long an answer is reused",
        ),
        Key::named(
            "fact_check.min_claim_length",
            "FACTCHECK_MIN_CLAIM_LENGTH",
            count(0, 10_000),
            "characters; shorter claims of queue items are not looked up",
        ),
    ]
}

fn enrichment_keys() -> Vec<Key> {
    vec![
        Key::named("enrichment.enabled", "ENRICHMENT_ENABLED", Kind::Flag, "whether evidence is searched"),
        Key::named("enrichment.pilot_channels", "ENRICHMENT_PILOT_CHANNELS", Kind::Texts, "channels, or all"),
        Key::named("enrichment.min_importance", "ENRICHMENT_MIN_IMPORTANCE", UNIT, "least importance for evidence"),
        Key::named("enrichment.max_sources", "ENRICHMENT_MAX_SOURCES", count(1, 100), "pages read per item"),
        Key::named(
            "enrichment.max_time",
            "ENRICHMENT_MAX_SECONDS",
            Kind::Duration { min: SECOND, max: Duration::from_hours(1), bare: Some(Bare::Seconds) },
            "time one item may take",
        ),
        Key::named("enrichment.min_agreement", "ENRICHMENT_MIN_AGREEMENT", UNIT, "similarity that counts as support"),
        Key::named(
            "enrichment.allowlist_domains",
            "ENRICHMENT_ALLOWLIST_DOMAINS",
            Kind::Domains,
            "trusted domains, for the first start",
        ),
        Key::named(
            "enrichment.denylist_domains",
            "ENRICHMENT_DENYLIST_DOMAINS",
            Kind::Domains,
            "domains never used, for the first start",
        ),
        Key::named("enrichment.allowlist_only", "ENRICHMENT_ALLOWLIST_ONLY", Kind::Flag, "use nothing but the trusted"),
        Key::named("enrichment.query_translate", "ENRICHMENT_QUERY_TRANSLATE", Kind::Flag, "also ask in English"),
        Key::named(
            "enrichment.providers",
            "ENRICHMENT_PROVIDERS",
            Kind::Words(&["gdelt", "eventregistry", "newsapi", "wikipedia", "opensearch"]),
            "search providers in use",
        ),
        Key::named(
            "enrichment.opensearch_backends",
            "ENRICHMENT_OPENSEARCH_BACKENDS",
            Kind::Words(&["searxng", "brave", "serpapi"]),
            "providers of opensearch, in fallback order",
        ),
        Key::named(
            "enrichment.evidence_ttl",
            "ENRICHMENT_EVIDENCE_TTL_DAYS",
            Kind::Duration { min: SECOND, max: Duration::from_hours(100 * 365 * 24), bare: Some(Bare::Days) },
            "how long evidence is kept",
        ),
        Key::named(
            "enrichment.evidence_dedup_similarity",
            "ENRICHMENT_EVIDENCE_DEDUP_SIM",
            UNIT,
            "cosine from which an evidence claim is not stored again",
        ),
        Key::named(
            "enrichment.evidence_max_per_item",
            "ENRICHMENT_EVIDENCE_MAX_PER_ITEM",
            count(1, 1000),
            "passages shown per item, over all its claims",
        ),
        Key::named("enrichment.daily_budget_usd", "ENRICHMENT_DAILY_BUDGET_USD", MONEY, "dollars a day, warns"),
        Key::named(
            "enrichment.monthly_cap_usd",
            "ENRICHMENT_MONTHLY_CAP_USD",
            MONEY,
            "dollars a month, stops paid calls",
        ),
        Key::named("enrichment.provider_cooldown", "ENRICHMENT_PROVIDER_COOLDOWN", SPAN, "rest of a failing provider"),
        Key::named("enrichment.max_lag", "ENRICHMENT_MAX_LAG", SPAN, "age of a message that means overload"),
        Key::named(
            "enrichment.max_queue_length",
            "ENRICHMENT_MAX_QUEUE_LENGTH",
            count(1, 1_000_000_000),
            "waiting messages that mean overload",
        ),
        Key::named(
            "enrichment.overload",
            "ENRICHMENT_OVERLOAD",
            Kind::Word(&["degrade", "defer", "drop"]),
            "policy for items under overload",
        ),
    ]
}

fn enrichment_detail_keys() -> Vec<Key> {
    vec![
        Key::named(
            "enrichment.query_languages",
            "ENRICHMENT_QUERY_LANGUAGES",
            Kind::Texts,
            "languages every item is searched in as well",
        ),
        Key::named(
            "enrichment.language_rules",
            "ENRICHMENT_LANGUAGE_RULES",
            Kind::Tables(&LANGUAGE_RULE),
            "languages the items of a channel or a subject are searched in as well",
        ),
        Key::own("enrichment.claims_per_item", count(1, 100), "claims taken from one item"),
        Key::own("enrichment.queries_max", count(1, 20), "maximum queries per claim"),
        Key::own("enrichment.candidate_pages", count(1, 1000), "search results taken per query"),
        Key::own("enrichment.passages_per_claim", count(1, 1000), "passages looked at closely per claim"),
        Key::own("enrichment.judged_passages", count(1, 100), "passages judged per claim"),
        Key::own("enrichment.passages_per_group", count(1, 100), "passages of one independent group"),
        Key::own("enrichment.similar_window", SPAN, "longest time between items of one story"),
        Key::own("enrichment.similar_threshold", UNIT, "cosine from which items are of one story"),
        Key::own("enrichment.sufficient_relevance", UNIT, "mean relevance from which stored evidence may suffice"),
        Key::own("enrichment.sufficient_age", SPAN, "maximum age of stored evidence for a claim that may change daily"),
        Key::named("enrichment.links.expand", "ENRICHMENT_LINKS_EXPAND", Kind::Flag, "read pages that items link to"),
        Key::own("enrichment.links.max", count(1, 20), "links read per item"),
        Key::own("enrichment.links.timeout_per_link", CALL, "time for one link"),
        Key::own("enrichment.links.timeout", CALL, "time for all links of an item"),
        Key::own("enrichment.links.max_chars", count(100, 100_000), "characters taken of a linked page"),
    ]
}

fn provider_keys() -> Vec<Key> {
    let mut keys = vec![
        Key::own("providers.breaker_failures", count(1, 1000), "failures in a row before a rest"),
        Key::own("providers.retries", count(0, 10), "further attempts after a failed call"),
        Key::own("providers.max_wait", CALL, "longest wait for a slot under the rate limit"),
    ];
    keys.extend(provider!("google", "FACTCHECK_GOOGLE"));
    keys.extend(provider!("gdelt", "ENRICHMENT_GDELT"));
    keys.extend(provider!("eventregistry", "ENRICHMENT_EVENTREGISTRY"));
    keys.extend(provider!("newsapi", "ENRICHMENT_NEWSAPI"));
    keys.push(Key::named(
        "providers.newsapi.licensed",
        "ENRICHMENT_NEWSAPI_LICENSED",
        Kind::Flag,
        "the plan of NewsAPI's key permits production",
    ));
    keys.extend(provider!("brave", "ENRICHMENT_BRAVE"));
    keys.extend(provider!("serpapi", "ENRICHMENT_SERPAPI"));
    keys.extend(provider!("searxng", "ENRICHMENT_SEARXNG"));
    keys.extend(provider!("wikipedia", "ENRICHMENT_WIKIPEDIA"));
    keys
}

fn fetch_and_cache_keys() -> Vec<Key> {
    vec![
        Key::named(
            "fetch.allow_private_addresses",
            "FETCH_ALLOW_PRIVATE_ADDRESSES",
            Kind::Flag,
            "read pages on private addresses; for tests",
        ),
        Key::named(
            "fetch.extra_ports",
            "FETCH_EXTRA_PORTS",
            Kind::Ports,
            "page ports allowed in addition to 80 and 443",
        ),
        Key::named("fetch.max_bytes", "FETCH_MAX_BYTES", ANSWER, "largest page, decompressed"),
        Key::named(
            "fetch.timeout",
            "FETCH_TIMEOUT",
            Kind::Duration { min: Duration::from_millis(10), max: Duration::from_mins(10), bare: Some(Bare::Seconds) },
            "longest time of one page",
        ),
        Key::own("fetch.connect_timeout", CALL, "longest time to connect"),
        Key::own("fetch.max_redirects", count(0, 20), "redirects followed per page"),
        Key::own("fetch.concurrency", count(1, 10_000), "pages fetched at the same time"),
        Key::own("fetch.per_host", count(1, 100), "pages fetched from one host at the same time"),
        Key::own(
            "fetch.host_pause",
            Kind::Duration { min: Duration::ZERO, max: Duration::from_mins(10), bare: None },
            "pause between two requests to one host",
        ),
        Key::own("fetch.respect_robots", Kind::Flag, "respect robots.txt"),
        Key::own("fetch.user_agent", Kind::Header, "how the daemon names itself"),
        Key::own("cache.search_entries", count(0, 10_000_000), "search answers kept in memory"),
        Key::own("cache.search_ttl", SPAN, "how long a search answer is reused"),
        Key::own("cache.empty_ttl", SPAN, "how long an answer without a result is reused"),
        Key::own("cache.page_bytes", ANSWER, "memory for pages read lately"),
        Key::own("cache.page_ttl", SPAN, "how long a stored page is not fetched again"),
        Key::own("cache.page_failure_ttl", SPAN, "time until an unreadable page is fetched again"),
        Key::own("cache.fact_check_entries", count(0, 10_000_000), "fact-check answers kept in memory"),
    ]
}

fn scoring_keys() -> Vec<Key> {
    vec![
        Key::own("scoring.relevance_floor", UNIT, "relevance under which a passage decides nothing"),
        Key::own("scoring.calibration", Kind::Path, "curves fitted on labelled claims"),
        Key::own("scoring.decision", Kind::Path, "coefficients of the decision model"),
        Key::own("scoring.half_life", SPAN, "age at which a source is half as fresh"),
        Key::own("scoring.half_life_breaking", SPAN, "the same for breaking news"),
        Key::own("scoring.half_life_lasting", SPAN, "the same for science and history"),
        Key::own("scoring.quality.credibility", UNIT, "share of credibility in quality"),
        Key::own("scoring.quality.freshness", UNIT, "share of freshness in quality"),
        Key::own("scoring.quality.relevance", UNIT, "share of relevance in quality"),
        Key::own("scoring.quality.specificity", UNIT, "share of specificity in quality"),
        Key::own("scoring.weights.e_max", UNIT, "weight of the strongest entailment"),
        Key::own("scoring.weights.e_mean3", UNIT, "weight of the mean entailment"),
        Key::own("scoring.weights.agree_dom", UNIT, "weight of independent support"),
        Key::own("scoring.weights.agree_dom_full", count(1, 100), "groups from which more add nothing"),
        Key::own("scoring.weights.rel_avg", UNIT, "weight of credibility"),
        Key::own("scoring.weights.rec_max", UNIT, "weight of freshness"),
        Key::own("scoring.weights.c_max", UNIT, "weight of the strongest contradiction, subtracted"),
        Key::own("scoring.weights.num_ok", UNIT, "weight of numbers that agree"),
        Key::own("scoring.score.center", UNIT, "raw score that gives 50"),
        Key::own("scoring.score.scale", Kind::Number { min: 0.001, max: 10.0 }, "steepness of the sigmoid"),
        Key::own("scoring.score.cap_unsupported", count(0, 100), "highest score unless supported"),
        Key::own("scoring.score.cap_refuted", count(0, 100), "highest score when refuted"),
        Key::own("scoring.verdict.lean", UNIT, "posterior from which a side is the verdict"),
        Key::own("scoring.verdict.conflict", UNIT, "contradiction against which nothing is decisive"),
        Key::own("scoring.verdict.single_source_credibility", UNIT, "credibility a single decisive source needs"),
        Key::own("scoring.sufficiency.support", UNIT, "entailment by which a stored passage clearly supports"),
        Key::own("scoring.sufficiency.refute", UNIT, "contradiction by which one clearly contradicts"),
        Key::own(
            "scoring.sufficiency.groups",
            count(1, 100),
            "independent sources in the store that settle a claim without a search",
        ),
    ]
}

fn language_model_keys() -> Vec<Key> {
    vec![
        Key::named("llm.base_url", "LLM_BASE_URL", Kind::Url, "OpenAI-compatible server, /v1 included"),
        Key::named(
            "llm.api_key",
            "LLM_API_KEY",
            Kind::Secret(SecretKind::Header),
            "bearer token of the language model",
        ),
        Key::named("llm.model", "LLM_MODEL", Kind::Text, "model name"),
        Key::named("llm.reliability", "LLM_RELIABILITY", RELIABILITY, "share of stances in which it is right"),
        Key::named("llm.cost_usd", "LLM_COST_USD", MONEY, "price of one call, counted towards the cap"),
        Key::named("llm.input_usd_per_million", "LLM_INPUT_USD_PER_MILLION", MONEY, "price of a million tokens read"),
        Key::named("llm.output_usd_per_million", "LLM_OUTPUT_USD_PER_MILLION", MONEY, "price of a million written"),
        Key::named("llm.search_cost_usd", "LLM_SEARCH_COST_USD", MONEY, "price of one web search of the model"),
        Key::named("llm.calls_per_item", "LLM_CALLS_PER_ITEM", count(0, 1000), "calls an item may make"),
        Key::named("llm.usd_per_item", "LLM_USD_PER_ITEM", MONEY, "US dollars an item may spend on the model"),
        Key::named("llm.rpm", "LLM_RPM", RPM, "calls a minute of the whole fleet"),
        Key::named("llm.concurrency", "LLM_CONCURRENCY", count(1, 1000), "calls at the same time, of a process"),
        Key::named("llm.timeout", "LLM_TIMEOUT", CALL, "time for one call"),
        Key::named("llm.max_tokens", "LLM_MAX_TOKENS", count(64, 100_000), "tokens an answer may have"),
        Key::named("llm.answer_ttl", "LLM_ANSWER_TTL", SPAN, "how long an answer is kept"),
        Key::named("llm.claims_enabled", "LLM_CLAIMS_ENABLED", Kind::Flag, "claims are found by the model"),
        Key::named("llm.sufficiency_enabled", "LLM_SUFFICIENCY_ENABLED", Kind::Flag, "it says whether we know enough"),
        Key::named(
            "llm.adjudicate_enabled",
            "LLM_ADJUDICATE_ENABLED",
            Kind::Flag,
            "the language model is a second judge",
        ),
        Key::named("llm.search_enabled", "LLM_SEARCH_ENABLED", Kind::Flag, "ask the model's own web search"),
        Key::named("llm.search_after", "LLM_SEARCH_AFTER", HEAD_START, "head start of the providers"),
        Key::named("llm.explain_enabled", "LLM_EXPLAIN_ENABLED", Kind::Flag, "it says why nothing can be checked"),
        Key::named("llm.summary_enabled", "LLM_SUMMARY_ENABLED", Kind::Flag, "it sums up an item of several claims"),
        Key::named("llm.correct_enabled", "LLM_CORRECT_ENABLED", Kind::Flag, "it words corrections"),
        Key::named(
            "llm.translate_enabled",
            "LLM_TRANSLATE_ENABLED",
            Kind::Flag,
            "the language model translates if no translator is set",
        ),
    ]
}

fn model_keys() -> Vec<Key> {
    vec![
        Key::named("translate.base_url", "TRANSLATE_BASE_URL", Kind::Url, "LibreTranslate or DeepL server"),
        Key::named("translate.api_key", "TRANSLATE_API_KEY", Kind::Secret(SecretKind::Header), "key of the translator"),
        Key::own("translate.passages", count(0, 20), "passages of a claim that are translated"),
        Key::own("translate.chars_per_item", count(0, 100_000), "characters of an item that are"),
        Key::named("inference.embedder", "INFERENCE_EMBEDDER", Kind::Name, "embedding model, or auto or hashed"),
        Key::named("inference.stance", "INFERENCE_STANCE", Kind::Name, "stance model, or auto or rules"),
        Key::named("inference.reranker", "INFERENCE_RERANKER", Kind::Name, "relevance model, or auto or lexical"),
        Key::named("inference.base_url", "INFERENCE_BASE_URL", Kind::Url, "embedding server"),
        Key::named("inference.stance_url", "INFERENCE_STANCE_URL", Kind::Url, "stance server"),
        Key::named("inference.rerank_url", "INFERENCE_RERANK_URL", Kind::Url, "relevance server"),
        Key::named("inference.api_key", "INFERENCE_API_KEY", Kind::Secret(SecretKind::Header), "their bearer token"),
        Key::named("inference.timeout", "INFERENCE_TIMEOUT", CALL, "longest time of one call to these servers"),
        // pgvector indexes at most 2,000 dimensions.
        Key::own("inference.embedding_dimension", count(8, 2000), "numbers in one embedding"),
    ]
}

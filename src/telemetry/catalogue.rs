//! All metrics: name, kind, unit, help, and labels with closed value sets.
//!
//! Names begin with `corroborate_` and use base units (seconds, bytes, ratios, US dollars); counters end in `_total`. A
//! label value outside its set is recorded as `other`, so that input cannot create series.

use std::time::Duration;

use MetricKind::{Counter, Gauge, Histogram};

use crate::config::{OpenSearchBackend, SearchProvider};
use crate::domain::Reason;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram(&'static [f64]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    Count,
    Usd,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Label {
    pub name: &'static str,
    pub values: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    pub name: &'static str,
    pub kind: MetricKind,
    pub unit: Unit,
    pub help: &'static str,
    pub labels: &'static [Label],
}

/// Factor of counters of money, which are stored in millionths.
pub(super) const MICROS: f64 = 1e6;

/// The value of everything outside a set.
pub const OTHER: &str = "other";

impl Metric {
    pub fn label_value(&self, label: &str, value: &str) -> &'static str {
        self.labels
            .iter()
            .find(|known| known.name == label)
            .and_then(|known| known.values.iter().find(|known| **known == value))
            .copied()
            .unwrap_or(OTHER)
    }

    /// Adds to a counter, sets a gauge, or observes a value.
    pub(super) fn record<const N: usize>(&self, given: [(&'static str, &str); N], value: f64) {
        let labels: Vec<metrics::Label> =
            given.map(|(name, value)| metrics::Label::from_static_parts(name, self.label_value(name, value))).into();
        match self.kind {
            Counter => metrics::counter!(self.name, labels).increment(value as u64),
            Gauge => metrics::gauge!(self.name, labels).set(value),
            Histogram(_) => metrics::histogram!(self.name, labels).record(value),
        }
    }

    pub fn series(&self) -> usize {
        self.labels.iter().map(|label| label.values.len()).product()
    }
}

/// A recorded value; durations in seconds.
trait Amount {
    fn amount(self) -> f64;
}

impl Amount for Duration {
    fn amount(self) -> f64 {
        self.as_secs_f64()
    }
}

impl Amount for bool {
    fn amount(self) -> f64 {
        f64::from(u8::from(self))
    }
}

impl Amount for u32 {
    fn amount(self) -> f64 {
        f64::from(self)
    }
}

impl Amount for u64 {
    fn amount(self) -> f64 {
        self as f64
    }
}

impl Amount for usize {
    fn amount(self) -> f64 {
        self as f64
    }
}

/// Providers of evidence, as in tables and `/api/providers`.
pub const PROVIDERS: &[&str] = &[
    "google_factcheck",
    "knowledge",
    SearchProvider::Gdelt.as_str(),
    SearchProvider::EventRegistry.as_str(),
    SearchProvider::NewsApi.as_str(),
    SearchProvider::Wikipedia.as_str(),
    OpenSearchBackend::Brave.as_str(),
    OpenSearchBackend::SerpApi.as_str(),
    OpenSearchBackend::Searxng.as_str(),
    "feeds",
    "corpus",
    "api",
    "database",
    "gatherer",
    OTHER,
];

/// How a call ended, or why it was not made; from `throttled` on there is no response.
pub const PROVIDER_OUTCOMES: &[&str] = &[
    "ok",
    "throttled",
    "quota_gone",
    "bad_key",
    "server_error",
    "timeout",
    "connect",
    "connection_lost",
    "malformed",
    "refused",
    "could_not_ask",
    "not_ready",
    "too_large",
    "open",
    "busy",
    "disabled",
    "daily_limit",
    "monthly_limit",
    "store_away",
    "deadline",
    "no_recording",
    "budget",
    OTHER,
];

pub const OPEN_REASONS: &[&str] = &[
    "throttled",
    "quota_gone",
    "bad_key",
    "server_error",
    "timeout",
    "connect",
    "connection_lost",
    "malformed",
    "could_not_ask",
    "too_large",
    "disabled",
    OTHER,
];

pub const QUEUES: &[&str] = &["enrichment_important", "enrichment_queue", "factcheck"];

pub const ITEM_OUTCOMES: &[&str] = &[
    "committed",
    "already_done",
    "skipped",
    "rejected",
    "transient",
    "away",
    "permanent",
    "panic",
    "stuck",
    "handed_back",
    "deferred",
    "dropped",
];

pub const RETRY_REASONS: &[&str] = &[
    "store_unreachable",
    "store_password",
    "store_no_database",
    "store_permission",
    "store_statement",
    "store_schema",
    "store_damaged",
    "inference",
    "text_work",
    "stuck",
    OTHER,
];

pub const DEAD_REASONS: &[&str] = &[
    "empty",
    "too_large",
    "not_utf8",
    "not_json",
    "wrong_schema",
    "unknown_schema",
    "no_text",
    "store_no_evidence",
    "store_data",
    "store_index",
    "store_statement",
    "store_schema",
    "store_damaged",
    "store_unreachable",
    "store_corrupt",
    "store_permission",
    "store_password",
    "store_no_database",
    "inference",
    "text_work",
    "panic",
    "stuck",
    OTHER,
];

/// Why a result is degraded; the labels of `domain::degradation`.
pub const DEGRADED_REASONS: &[&str] = &[
    "provider_open",
    "provider_busy",
    "provider_failed",
    "provider_disabled",
    "store_away",
    "model_failed",
    "deadline",
    "budget",
    "overload",
    "no_page_read",
    "pages_failed",
    "no_provider",
    OTHER,
];

pub const CACHES: &[&str] =
    &["search", "fact_check", "page", "robots", "embedding", "stance", "relevance", "llm", OTHER];

pub const MODELS: &[&str] = &["embedder", "stance", "reranker"];

/// The outcome of a page request: read, unchanged, or why there is no page.
pub const PAGE_OUTCOMES: &[&str] = &[
    "ok",
    "not_modified",
    // Not fetched.
    "bad_url",
    "scheme",
    "private_address",
    "own_address",
    "port",
    "dns",
    "timeout",
    "too_slow",
    "connect",
    "tls",
    "too_many_redirects",
    "status",
    "too_large",
    "not_a_page",
    "encoding",
    "denied",
    "robots",
    "robots_unreachable",
    "host_resting",
    "host_busy",
    "readers_busy",
    "deadline",
    "no_recording",
    "reader_crashed",
    "reader_too_slow",
    // Fetched, but not an article.
    "consent_wall",
    "paywall",
    "login_wall",
    "bot_wall",
    "soft_404",
    "error_page",
    "parked",
    "script_only",
    "redirect_page",
    "too_costly",
    "empty",
    "too_short",
    "not_html",
    OTHER,
];

pub const CACHE_RESULTS: &[&str] = &["hit", "hit_shared", "waited", "miss", "miss_unshared"];

/// The stages of the pipeline, in order.
pub const STAGES: &[&str] = &[
    "admit",
    "expand",
    "normalise",
    "claims",
    "fact_check",
    "corroborate",
    "retrieve",
    "read",
    "rank",
    "judge",
    "adjudicate",
    "decide",
    "explain",
    "context",
    "commit",
    OTHER,
];

pub const JOBS: &[&str] = &[
    "answers",
    "cleanup",
    "outbox",
    "domains",
    "fleet",
    "providers",
    "rejudging",
    "reload",
    "usage",
    "webhooks",
    OTHER,
];

pub const REASONS: &[&str] = &[
    Reason::Settings.as_str(),
    Reason::DomainLists.as_str(),
    Reason::Model.as_str(),
    Reason::EvidenceCorrected.as_str(),
    Reason::FactCheck.as_str(),
    Reason::Requested.as_str(),
];

pub const REJUDGED_OUTCOMES: &[&str] = &["changed", "same", "left", "later"];

pub const LLM_PURPOSES: &[&str] =
    &["claims", "sufficiency", "adjudicate", "search", "explain", "summary", "correct", "translate", OTHER];

const VERDICTS: &[&str] =
    &["supported", "refuted", "contested", "misleading", "outdated", "not_enough_evidence", "not_verifiable"];
const TIERS: &[&str] = &["high", "medium", "low"];

/// An item may take one minute by default and is ended after ten. The bounds are dense around 150 ms, the target for
/// p99 of a single item.
const ITEM_SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0,
    20.0, 30.0, 60.0, 120.0, 600.0,
];
/// 1 ms (local simulator) to one minute (the slowest provider's timeout and a retry).
const CALL_SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0];
/// Most statements, batches and stages are short, but a stage may use an item's whole time, and so may the wait for a
/// slow model.
const SHORT_SECONDS: &[f64] = &[
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    20.0, 30.0, 60.0, 120.0, 300.0,
];
/// Batch sizes are powers of two.
const BATCH: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

const QUEUE: Label = Label { name: "queue", values: QUEUES };
const PROVIDER: Label = Label { name: "provider", values: PROVIDERS };

/// Defines the metrics, and for those with `=> name(labels; value)` the function that records them.
macro_rules! metrics {
    ($($constant:ident = $kind:expr, $unit:ident, $name:literal, [$($label:expr),*], $help:literal
        $(, => $recorder:ident($($given:ident),* $(; $value:ident: $type:ty)?))?;)+) => {
        $(
            #[doc = $help]
            pub const $constant: Metric = Metric {
                name: concat!("corroborate_", $name),
                kind: $kind,
                unit: Unit::$unit,
                help: $help,
                labels: &[$($label),*],
            };
        )+

        pub const ALL: &[Metric] = &[$($constant),+];

        /// A value outside a label's closed set is recorded as `other`.
        pub mod recorders {
            use std::time::Duration;

            use super::Amount as _;

            $($(
                #[doc = $help]
                pub fn $recorder($($given: &str,)* $($value: $type)?) {
                    super::$constant.record([$((stringify!($given), $given)),*], 1.0 $(* $value.amount())?);
                }
            )?)+
        }
    };
}

const fn label(name: &'static str, values: &'static [&'static str]) -> Label {
    Label { name, values }
}

metrics! {
    BUILD_INFO = Gauge, Count, "build_info", [label("version", &[env!("CARGO_PKG_VERSION")])],
        "Always 1; the label version says which program this is.";

    ITEM_DURATION = Histogram(ITEM_SECONDS), Seconds, "item_duration_seconds", [QUEUE, label("outcome", ITEM_OUTCOMES)],
        "Time from taking an item to the end of its work, by queue and outcome.",
        => item_finished(queue, outcome; took: Duration);
    ITEMS_IN_FLIGHT = Gauge, Count, "items_in_flight", [], "Items in work now.",
        => items_in_flight(; items: usize);
    ITEM_RETRIES = Counter, Count, "item_retries_total", [label("reason", RETRY_REASONS)],
        "Items put back for another attempt, by reason.",
        => item_retried(reason);
    ITEMS_DEAD = Counter, Count, "items_dead_total", [label("reason", DEAD_REASONS)],
        "Items that can never succeed and wait for a person, by reason.",
        => item_dead(reason);
    ITEMS_DEGRADED = Counter, Count, "items_degraded_total", [label("reason", DEGRADED_REASONS)],
        "Results that are less than they could be, by reason; an item with two reasons counts under both.";
    STAGE_DURATION = Histogram(SHORT_SECONDS), Seconds, "stage_duration_seconds", [label("stage", STAGES)],
        "Time of one pipeline stage for one item.",
        => stage(stage; took: Duration);

    QUEUE_LAG = Gauge, Seconds, "queue_lag_seconds", [],
        "Age of the oldest message that waits or is worked on. It grows during a standstill; if the broker does not report a message's age, it is at most this.",
        => queue_lag(; lag: Duration);
    WORKER_PAUSED = Gauge, Count, "worker_paused", [],
        "1 while this process takes nothing from the queue because the store is away, else 0.",
        => worker_paused(; is_paused: bool);
    INTAKE_BRAKED = Gauge, Count, "intake_braked", [],
        "1 while this process takes nothing from the queue, or one item at a time, because recent items failed with one error, else 0.",
        => intake_braked(; is_braked: bool);
    REPLIES_REFUSED = Counter, Count, "replies_refused_total", [],
        "Messages that ask for a reply in a queue that may get none; their results go to the exchange alone.",
        => reply_refused();
    QUEUE_DEPTH = Gauge, Count, "queue_depth", [QUEUE], "Messages that wait, by queue.",
        => queue_depth(queue; messages: u64);
    DEAD_LETTERS = Gauge, Count, "dead_letters", [], "Messages that wait for a person now.",
        => dead_letters(; messages: u64);
    BROKER_RECONNECTS = Counter, Count, "broker_reconnects_total", [], "Reconnections to the broker after a connection loss.",
        => broker_reconnected();
    BROKER_CONNECTED = Gauge, Count, "broker_connected", [], "1 while the queue can be reached, else 0.",
        => broker_connected(; is_connected: bool);
    OUTBOX_PENDING = Gauge, Count, "outbox_pending", [], "Results stored and not yet confirmed by the broker.";
    OUTBOX_AGE = Gauge, Seconds, "outbox_oldest_seconds", [], "Age of the oldest result not yet confirmed; 0 without one.";
    OUTBOX_REFUSED = Counter, Count, "outbox_refused_total", [], "Results that the broker refused; each is tried again later.",
        => outbox_refused(; messages: usize);
    OUTBOX_PARKED = Gauge, Count, "outbox_parked", [], "Results refused for half a day, which are tried once a day.";

    WEBHOOK_DELIVERIES = Counter, Count, "webhook_deliveries_total", [label("outcome", &["delivered", "failed", "gave_up"])],
        "Messages sent to webhooks, by outcome; a failed one is tried again, one that was given up waits for a person.";
    WEBHOOKS_PENDING = Gauge, Count, "webhooks_pending", [], "Messages that wait for webhooks.";
    WEBHOOKS_AGE = Gauge, Seconds, "webhooks_oldest_seconds", [], "Age of the oldest message that waits for a webhook; 0 without one.";
    WEBHOOKS_DEAD = Gauge, Count, "webhooks_dead", [], "Messages for webhooks that were given up and wait for a person now.";

    PROVIDER_REQUESTS = Counter, Count, "provider_requests_total",
        [PROVIDER, label("outcome", PROVIDER_OUTCOMES)], "Calls to providers and servers, by outcome.",
        => provider_not_asked(provider, outcome);
    PROVIDER_REQUEST_DURATION = Histogram(CALL_SECONDS), Seconds, "provider_request_duration_seconds", [PROVIDER],
        "Time of calls that reached the network, retries included.";
    PROVIDER_RATE_LIMIT_WAIT = Histogram(CALL_SECONDS), Seconds, "provider_rate_limit_wait_seconds", [PROVIDER],
        "Time calls waited for their slot under the rate limit.",
        => provider_rate_limit_wait(provider; waited: Duration);
    PROVIDER_CIRCUIT_STATE = Gauge, Count, "provider_circuit_state", [PROVIDER],
        "0 closed, 1 half open (being tried), 2 open (not asked).";
    PROVIDER_CIRCUIT_OPENS = Counter, Count, "provider_circuit_opens_total", [PROVIDER, label("reason", OPEN_REASONS)],
        "Times a provider was put to rest, by reason.",
        => provider_circuit_opened(provider, reason);
    PROVIDER_COST = Counter, Usd, "provider_cost_usd_total", [PROVIDER], "US dollars spent on calls, by the configured prices.";
    SPEND = Gauge, Usd, "spend_usd", [label("period", &["day", "month"])], "US dollars all processes spent today and this month.";
    SPEND_LIMIT = Gauge, Usd, "spend_limit_usd", [label("period", &["day", "month"])],
        "The daily budget, which warns, and the monthly cap, which stops paid calls.";
    PAGE_FETCHES = Counter, Count, "page_fetches_total", [label("outcome", PAGE_OUTCOMES)],
        "Pages asked for: read, unchanged since they were stored, or why there is none.",
        => page_fetched(outcome);
    PAGE_BYTES = Counter, Bytes, "page_read_bytes_total", [], "Bytes of pages read, decompressed.",
        => page_read(; bytes: usize);
    FEEDS = Gauge, Count, "feeds", [label("state", &["fresh", "stale"])],
        "Feeds of trusted sites that are wanted: read as lately as they should be, and not.";
    CACHE_REQUESTS = Counter, Count, "cache_requests_total",
        [label("cache", CACHES), label("result", CACHE_RESULTS)],
        "Looks into a cache: known to the process, known to the store, waited for another's call, asked, asked with the store away. All but the last two spared a call.",
        => cache_requests(cache, result; times: usize);

    FACT_CHECK_LOOKUPS = Counter, Count, "fact_check_lookups_total",
        [label("result", &["matched", "unmatched", "none", "skipped", "failed"])],
        "Claims looked up: matched one of the reviews, reviews but none of this claim, no review, not looked up, not askable.",
        => fact_check_lookup(result);
    EVIDENCE_MATCHES = Counter, Count, "evidence_matches_total", [label("result", &["corroborated", "contradicted", "none"])],
        "Items with at least one source that agrees, with none that agrees and one that contradicts, and without either.",
        => evidence_match(result);
    CHANNEL_CORROBORATION = Counter, Count, "channel_corroboration_total", [label("result", &["corroborated", "alone"])],
        "Items that at least one other channel reported, and those that none did.";
    VERDICTS_TOTAL = Counter, Count, "verdicts_total", [label("verdict", VERDICTS)], "Verdicts on claims, also those not decisive.";
    TIERS_TOTAL = Counter, Count, "tiers_total", [label("tier", TIERS)], "Tiers of items: how well they are corroborated.";

    MODEL_BATCH_SIZE = Histogram(BATCH), Count, "model_batch_size", [], "Texts or pairs a model was given at a time.";
    MODEL_DURATION = Histogram(SHORT_SECONDS), Seconds, "model_duration_seconds",
        [label("model", MODELS)], "Time of one batch of a model.";
    MODEL_WAIT = Histogram(SHORT_SECONDS), Seconds, "model_wait_seconds", [label("model", MODELS)],
        "Time a text or pair waited for its batch. In-process models alone: servers queue by themselves.",
        => model_waited(model; waited: Duration);
    MODEL_ENTRIES_DROPPED = Counter, Count, "model_entries_dropped_total", [label("model", MODELS)],
        "Texts and pairs skipped because the caller left before their batch.",
        => model_entries_dropped(model; entries: usize);
    LLM_CALLS = Counter, Count, "llm_calls_total",
        [
            label("purpose", LLM_PURPOSES),
            label("outcome", &["ok", "cached", "malformed", "unsupported", "declined", "timeout", "dropped", "failed", OTHER])
        ],
        "Questions to the language model; cached ones were answered before, unsupported answers were not believed.",
        => llm_call(purpose, outcome);
    LLM_DISCARDED = Counter, Count, "llm_discarded_total", [label("purpose", LLM_PURPOSES)],
        "Claims and texts of the language model that were read and then thrown away, for nothing bears them out.",
        => llm_discarded(purpose);
    LLM_TOKENS = Counter, Count, "llm_tokens_total",
        [
            label("purpose", LLM_PURPOSES),
            label("direction", &["in", "out"])
        ],
        "Tokens read (in) and written (out) by the language model.";
    LLM_CALL_DURATION = Histogram(CALL_SECONDS), Seconds, "llm_call_duration_seconds", [label("purpose", LLM_PURPOSES)],
        "Time of a request to the language model, its wait for the rate included.",
        => llm_call_took(purpose; took: Duration);

    EVIDENCE_ROWS_DELETED = Counter, Count, "evidence_rows_deleted_total", [], "Rows of expired evidence deleted.",
        => evidence_rows_deleted(; rows: u64);
    DB_POOL_CONNECTIONS = Gauge, Count, "db_pool_connections", [label("state", &["idle", "used", "max"])],
        "Connections of this process to the database for its work.";
    DB_READ_POOL_CONNECTIONS = Gauge, Count, "db_read_pool_connections", [label("state", &["idle", "used", "max"])],
        "Connections of this process to the database, or to its copy, for pages and lists.";
    DB_COMMIT_DURATION = Histogram(SHORT_SECONDS), Seconds, "db_commit_duration_seconds", [],
        "Time of the transaction that stores an item's result.",
        => db_commit(; took: Duration);
    JOB_RUNS = Counter, Count, "job_runs_total", [label("job", JOBS), label("outcome", &["ok", "failed"])],
        "Runs of background work, by outcome.";
    REJUDGED = Counter, Count, "rejudged_total", [label("reason", REASONS), label("outcome", REJUDGED_OUTCOMES)],
        "Stored items judged again, by reason and outcome: an answer changed, none did, left as it is, to be tried later.";
    REJUDGING_DUE = Gauge, Count, "rejudging_due", [label("reason", REASONS)],
        "Stored items that are to be judged again, by reason.";

    TRACE_SPANS = Counter, Count, "trace_spans_total", [label("outcome", &["exported", "failed"])],
        "Spans of traces that the collector took or did not take.",
        => trace_spans(outcome; spans: usize);

    MEMORY_RESIDENT = Gauge, Bytes, "memory_resident_bytes", [], "Memory of this process that is in use (Linux).";
    MEMORY_LIMIT = Gauge, Bytes, "memory_limit_bytes", [],
        "What the control group of this process may use; 0 where nothing limits it (Linux).";

    HTTP_REQUESTS = Counter, Count, "http_requests_total",
        [label("class", &["2xx", "3xx", "4xx", "5xx", OTHER])], "HTTP requests answered, by class of status.";
    HTTP_REQUEST_DURATION = Histogram(CALL_SECONDS), Seconds, "http_request_duration_seconds", [],
        "Time of answering an HTTP request.";
}

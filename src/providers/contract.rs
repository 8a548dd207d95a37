//! What every provider promises, tried against a server that misbehaves. Each provider brings its own words.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use url::Url;

use super::{Answer, Provider, Query};
use crate::domain::{Clock as _, SystemClock};
use crate::outbound::test_server::{Reply, TestServer, answer, head_promising, json, truncated};
use crate::outbound::{AskError, AskMeter, Asker, Gate, GateSettings, GateState, HttpClient, NoObserver};

/// The key all providers under test are given. It may appear in one request header and nowhere else.
pub(super) const KEY: &str = "s3cret-key-0123456789";

/// Where real answers lie that cannot be shipped.
#[expect(clippy::disallowed_methods, reason = "where test data lies is no configuration of the product")]
pub(super) fn shared_data() -> PathBuf {
    std::env::var_os("CORROBORATE_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from)
}

/// One provider and its words.
pub(super) struct Subject {
    pub(super) build: fn(Url, Gate) -> Box<dyn Provider>,
    pub(super) gate: fn(Duration) -> GateSettings,
    /// The key's header, where there is a key.
    pub(super) key_header: Option<&'static str>,
    /// A body with at least one usable result.
    pub(super) success: &'static str,
    /// Bodies that mean "nothing was found".
    pub(super) nothing: Vec<&'static str>,
    /// A throttle without a word on how long.
    pub(super) throttle: Reply,
    pub(super) quota_gone: Option<Reply>,
    /// Each echoes [`KEY`].
    pub(super) bad_key: Vec<Reply>,
}

pub(super) fn query() -> Query {
    Query {
        text: "Customs grants approval to Vizhinjam International Seaport".to_owned(),
        terms: vec!["Vizhinjam".to_owned(), "International Seaport".to_owned()],
        language: Some("en".to_owned()),
        domains: Vec::new(),
        around: None,
        limit: 5,
        source_document: None,
    }
}

pub(super) fn now() -> DateTime<Utc> {
    SystemClock.now()
}

fn in_seconds(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

/// The provider's own gate, hastened for tests.
fn gate(settings: GateSettings) -> Gate {
    let mut settings = settings;
    settings.rpm = 60_000;
    settings.timeout = Duration::from_secs(4);
    settings.max_bytes = 64 * 1024;
    settings.max_attempts = 1;
    settings.failures_to_open = 3;
    let http = HttpClient::live("corroborate-test").unwrap();
    Gate::new(settings, http, Arc::new(SystemClock), Arc::new(NoObserver))
}

/// A provider in front of a server.
pub(super) struct Bench {
    pub(super) provider: Box<dyn Provider>,
    pub(super) server: TestServer,
}

impl Bench {
    pub(super) async fn start(subject: &Subject, replies: impl IntoIterator<Item = Reply>) -> Self {
        let server = TestServer::start(replies).await;
        let gate = gate((subject.gate)(Duration::from_mins(10)));
        Self { provider: (subject.build)(server.url.clone(), gate), server }
    }

    pub(super) async fn ask(&self, query: &Query) -> Result<Answer, AskError> {
        let meter = AskMeter::default();
        let outcome = self.provider.ask(query, Asker { until: in_seconds(30), meter: &meter }).await;
        assert!(meter.attempts() <= 3, "one question is not put so often");
        outcome
    }
}

async fn one(subject: &Subject, reply: Reply) -> (Bench, Result<Answer, AskError>) {
    let bench = Bench::start(subject, [reply]).await;
    let outcome = bench.ask(&query()).await;
    let shown = format!("{:?} {:?}", bench.provider, outcome);
    assert!(!shown.contains(KEY), "the key is shown: {shown}");
    if let Err(error) = &outcome {
        assert!(!error.to_string().contains(KEY), "the key is told: {error}");
    }
    for seen in bench.server.seen() {
        assert!(!seen.target().contains(KEY), "the key is in the URL: {}", seen.target());
        let carriers = seen.head.lines().filter(|line| line.contains(KEY)).count();
        assert_eq!(carriers, usize::from(subject.key_header.is_some()), "{}", seen.head);
        if let Some(header) = subject.key_header {
            assert_eq!(seen.header(header), Some(KEY));
        }
    }
    (bench, outcome)
}

pub(super) async fn keeps_the_contract(subject: Subject) {
    answers(&subject).await;
    refusals(&subject).await;
    nonsense(&subject).await;
    slowness(&subject).await;
}

async fn answers(subject: &Subject) {
    let (bench, outcome) = one(subject, json(subject.success)).await;
    let found = outcome.unwrap();
    assert!(!found.is_empty());
    assert!(found.hits.iter().all(|hit| hit.provider == bench.provider.name() && hit.url.starts_with("http")));
    assert!(
        found.hits.iter().all(|hit| hit.storage == bench.provider.storage()),
        "a hit is kept as its provider allows"
    );
    assert_eq!(bench.provider.status().state, GateState::Ready);
    assert_eq!(bench.provider.status().calls_today, 1);
    for body in &subject.nothing {
        let (bench, outcome) = one(subject, json(body)).await;
        assert_eq!(outcome.unwrap(), Answer::default(), "{body}");
        assert_eq!(bench.provider.status().errors_today, 0, "nothing found is no error");
    }
}

async fn refusals(subject: &Subject) {
    let (bench, outcome) = one(subject, subject.throttle.clone()).await;
    assert_eq!(outcome.unwrap_err().label(), "throttled", "{:?}", subject.throttle);
    assert_eq!(bench.ask(&query()).await.unwrap_err().label(), "open");
    assert_eq!(bench.server.seen().len(), 1, "a throttled provider is left alone");

    let (bench, outcome) = one(subject, answer(429, &[("retry-after", "120")], "slow down")).await;
    assert_eq!(outcome.unwrap_err(), AskError::Throttled { retry_after: Some(Duration::from_mins(2)) });
    let status = bench.provider.status();
    let wait = (status.until.unwrap() - now()).num_seconds();
    assert!(status.state == GateState::Open && (60..=133).contains(&wait), "{status:?}");

    if let Some(reply) = &subject.quota_gone {
        let (bench, outcome) = one(subject, reply.clone()).await;
        assert_eq!(outcome.unwrap_err().label(), "quota_gone");
        assert_eq!(bench.provider.status().state, GateState::Exhausted);
        assert_eq!(bench.ask(&query()).await.unwrap_err().label(), "quota_gone");
        assert_eq!(bench.server.seen().len(), 1);
    }
    for reply in &subject.bad_key {
        let (bench, outcome) = one(subject, reply.clone()).await;
        assert_eq!(outcome.unwrap_err().label(), "bad_key", "{reply:?}");
        assert_eq!(bench.provider.status().state, GateState::Disabled);
        assert_eq!(bench.ask(&query()).await.unwrap_err().label(), "disabled");
        assert_eq!(bench.server.seen().len(), 1, "a refused key is not tried again");
    }
    for status in [500, 502, 503, 524] {
        let page = answer(status, &[("content-type", "text/html")], "<html><title>Error</title>");
        let (bench, outcome) = one(subject, page).await;
        assert_eq!(outcome.unwrap_err(), AskError::Server { status });
        bench.ask(&query()).await.unwrap_err();
        assert_eq!(bench.provider.status().state, GateState::Ready, "two failures are not three");
        bench.ask(&query()).await.unwrap_err();
        assert_eq!(bench.provider.status().state, GateState::Open);
    }
}

async fn nonsense(subject: &Subject) {
    let html = [("content-type", "text/html")];
    let cases = [
        (answer(200, &html, "Something went wrong, please try later."), "could_not_ask"),
        (answer(200, &html, "<!doctype html><title>Just a moment…</title>"), "could_not_ask"),
        (json("<!doctype html><title>Sign in</title>"), "could_not_ask"),
        (json(""), "could_not_ask"),
        (answer(204, &[], ""), "could_not_ask"),
        (answer(302, &[("location", "/login")], ""), "could_not_ask"),
        (truncated(subject.success), "malformed"),
        (json(&subject.success.chars().take(subject.success.chars().count() / 2).collect::<String>()), "malformed"),
        (json(&format!("{{\"x\":{}", "[".repeat(10_000))), "malformed"),
        (json(&format!("{{\"x\":\"{}\"}}", "a".repeat(70_000))), "too_large"),
        (Reply::Endless(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n".to_vec()), "too_large"),
        (answer(200, &[("content-encoding", "gzip, gzip")], "x"), "malformed"),
        (Reply::Raw(Vec::new()), "connect"),
    ];
    for (reply, label) in cases {
        let what: String = format!("{reply:?}").chars().take(80).collect();
        let (_, outcome) = one(subject, reply).await;
        assert_eq!(outcome.unwrap_err().label(), label, "{what}");
    }
}

async fn slowness(subject: &Subject) {
    for reply in [Reply::Hang, Reply::Trickle(head_promising(1000, "application/json"), Duration::from_millis(10))] {
        let bench = Bench::start(subject, [reply]).await;
        let start = Instant::now();
        let soon = start + Duration::from_millis(200);
        let asker = Asker { until: soon, meter: &AskMeter::default() };
        assert_eq!(bench.provider.ask(&query(), asker).await.unwrap_err(), AskError::Deadline);
        assert!(start.elapsed() < Duration::from_secs(3));
        assert_eq!(bench.provider.status().state, GateState::Ready, "an impatient caller is not its fault");
    }
}

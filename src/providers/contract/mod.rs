//! Tests that every HTTP provider passes against a server that misbehaves. Each provider brings its own responses; the
//! cases are the same.
//!
//! To add a case, write a function in the file of its subject and a line in `cases.rs`. To add a provider, write its
//! [`Subject`] and a call of [`keeps_the_contract_with`] in its `tests.rs`, and a line in [`SUITES`].
//! `docs/providers.md` takes its table of cases from [`SUITES`].

pub(in crate::providers) mod cases;
mod json;
mod lists;
mod nonsense;
mod refusals;
mod secrets;
mod transport;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;
use url::Url;

use super::{Answer, Provider, Query, api, brave, eventregistry, gdelt, google, newsapi, searxng, serpapi, wikipedia};
use crate::domain::{Clock as _, SystemClock};
use crate::outbound::test_server::{Reply, SeenRequest, TestServer};
use crate::outbound::{AskError, AskMeter, Asker, Gate, GateSettings, HttpClient, NoObserver};

/// The key of all tested providers. It may be only in its place in a request.
pub(super) const KEY: &str = "s3cret-key-0123456789";

const AT_ONCE: usize = 8;

type Suite = (&'static str, fn() -> TestedProvider);

pub(super) static SUITES: [Suite; 9] = [
    ("google_factcheck", google::tests::tested),
    ("api", api::tests::tested),
    ("searxng", searxng::tests::tested),
    ("brave", brave::tests::tested),
    ("serpapi", serpapi::tests::tested),
    ("gdelt", gdelt::tests::tested),
    ("eventregistry", eventregistry::tests::tested),
    ("newsapi", newsapi::tests::tested),
    ("wikipedia", wikipedia::tests::tested),
];

pub(super) struct Subject {
    pub(super) build: fn(Url, Gate) -> Box<dyn Provider>,
    pub(super) gate: fn(Duration) -> GateSettings,
    pub(super) key_header: Option<&'static str>,
    pub(super) success: &'static str,
    pub(super) nothing: Vec<&'static str>,
    pub(super) throttle: Reply,
    pub(super) quota_gone: Option<Reply>,
    /// Each echoes [`KEY`].
    pub(super) bad_key: Vec<Reply>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPlace {
    Parameter(&'static str),
    Field(&'static str),
}

#[derive(Default)]
pub(super) struct Habits {
    pub(super) key: Option<KeyPlace>,
    pub(super) no_content_is_nothing: bool,
    pub(super) title: Option<&'static str>,
    pub(super) endless: Option<&'static str>,
    /// The path and body of the account lookup after a doubtful refusal.
    pub(super) account: Option<(&'static str, &'static str)>,
    /// The error class of HTML at status 403, if it is not "could not ask".
    pub(super) wall: Option<&'static str>,
    /// The provider returns one value, under the requested URL and with the time of the response.
    pub(super) returns_one_value: bool,
}

pub(super) struct TestedProvider {
    pub(super) subject: Subject,
    pub(super) habits: Habits,
}

impl TestedProvider {
    fn has_key(&self) -> bool {
        self.subject.key_header.is_some() || self.habits.key.is_some()
    }
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

/// The provider's gate with test settings: one attempt, three failures.
fn hastened(mut settings: GateSettings) -> GateSettings {
    settings.rpm = 60_000;
    settings.timeout = Duration::from_secs(4);
    settings.max_bytes = 64 * 1024;
    settings.max_attempts = 1;
    settings.failures_to_open = 3;
    settings
}

pub(super) struct Setup {
    pub(super) provider: Box<dyn Provider>,
    pub(super) server: TestServer,
}

impl Setup {
    pub(super) async fn start(subject: &Subject, replies: impl IntoIterator<Item = Reply>) -> Self {
        let server = TestServer::start(replies).await;
        Self::before(subject, server, |settings| settings)
    }

    fn before(subject: &Subject, server: TestServer, change: impl FnOnce(GateSettings) -> GateSettings) -> Self {
        Self { provider: subject.at(server.url.clone(), change), server }
    }

    pub(super) async fn ask(&self, query: &Query) -> Result<Answer, AskError> {
        let meter = AskMeter::default();
        let outcome = self.provider.ask(query, Asker { until: in_seconds(30), meter: &meter }).await;
        assert!(meter.attempts() <= 3, "one question is not put so often");
        outcome
    }
}

impl Subject {
    fn at(&self, url: Url, change: impl FnOnce(GateSettings) -> GateSettings) -> Box<dyn Provider> {
        let settings = change(hastened((self.gate)(Duration::from_mins(10))));
        let http = HttpClient::live("corroborate-test").unwrap();
        (self.build)(url, Gate::new(settings, http, Arc::new(SystemClock), Arc::new(NoObserver)))
    }
}

/// The setup of a case; requests to the account path are not counted.
struct Trial {
    setup: Setup,
    account: Option<&'static str>,
}

impl TestedProvider {
    async fn trial(&self, reply: Reply) -> Trial {
        self.trial_with(reply, |settings| settings).await
    }

    async fn trial_with(&self, reply: Reply, change: impl FnOnce(GateSettings) -> GateSettings) -> Trial {
        let account = self.habits.account;
        let server = TestServer::answering(move |_, seen| match account {
            Some((path, body)) if seen.path() == path => crate::outbound::test_server::json(body),
            _ => reply.clone(),
        });
        let setup = Setup::before(&self.subject, server.await, change);
        Trial { setup, account: account.map(|(path, _)| path) }
    }

    /// Queries once and checks that the key is only in its place.
    async fn one(&self, reply: Reply) -> (Trial, Result<Answer, AskError>) {
        let trial = self.trial(reply).await;
        let outcome = trial.setup.ask(&query()).await;
        let shown = format!("{:?} {outcome:?} {:?}", trial.setup.provider, trial.setup.provider.status());
        assert!(!shown.contains(KEY), "the key is shown: {shown}");
        if let Err(error) = &outcome {
            assert!(!error.to_string().contains(KEY), "the key is told: {error}");
        }
        for seen in trial.setup.server.seen() {
            self.key_is_in_its_place(&seen);
        }
        let outcome = outcome.map(|found| self.comparable(found, &trial.setup.server.url));
        (trial, outcome)
    }

    /// Removes what differs by server and time, after a check.
    fn comparable(&self, mut found: Answer, server: &Url) -> Answer {
        for hit in found.hits.iter_mut().filter(|_| self.habits.returns_one_value) {
            assert!(!hit.url.contains(server.authority()), "a value of ours is no page of the web: {}", hit.url);
            let came = hit.published_at.take().expect("the moment when it came");
            assert!((now() - came).num_seconds().abs() < 60, "{came}");
        }
        found
    }

    fn key_is_in_its_place(&self, seen: &SeenRequest) {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let whole = format!("{}{body}", seen.head);
        assert_eq!(whole.matches(KEY).count(), usize::from(self.has_key()), "{whole}");
        if let Some(header) = self.subject.key_header {
            assert_eq!(seen.header(header), Some(KEY));
        }
        match self.habits.key {
            Some(KeyPlace::Parameter(name)) => assert_eq!(seen.parameter(name).as_deref(), Some(KEY)),
            Some(KeyPlace::Field(name)) => {
                let body: serde_json::Value = serde_json::from_str(&body).unwrap();
                assert_eq!(body[name], KEY);
            }
            None => {}
        }
    }
}

impl Trial {
    fn asked(&self) -> usize {
        self.setup.server.seen().iter().filter(|seen| Some(seen.path()) != self.account).count()
    }
}

/// Runs every case that applies; a panic is a failed case.
pub(super) async fn keeps_the_contract_with(tested: TestedProvider) {
    let tested = &tested;
    let outcomes = futures::stream::iter(&cases::CASES).map(|case| async move {
        if (case.excused)(tested).is_some() {
            return None;
        }
        let held = AssertUnwindSafe((case.run)(tested)).catch_unwind().await.is_ok();
        (!held).then_some(case.name)
    });
    let broken: Vec<&str> = outcomes.buffer_unordered(AT_ONCE).filter_map(|name| async move { name }).collect().await;
    assert!(broken.is_empty(), "broken promises: {}", broken.join(", "));
}

#[test]
fn every_suite_is_of_a_provider_and_names_it_once() {
    for (name, tested) in SUITES {
        assert!(super::profile(name).is_some(), "{name}");
        assert!(!(tested().subject.nothing).is_empty(), "{name} never finds nothing");
        assert_eq!(SUITES.iter().filter(|(other, _)| *other == name).count(), 1, "{name}");
    }
}

//! Tests that every provider without HTTP passes: one that reads a store, a folder or a database. Each provides its
//! data in four states. An operator's endpoint uses HTTP and so the other contract.
//!
//! To add a case, write a function and a line in [`OWN_CASES`]. To add a provider, write `own_subject` in its
//! `tests.rs` and add its name to `suites!`, which creates its test and its entry in `docs/providers.md`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, LocalBoxFuture};
use tokio::time::Instant;
use url::Url;

use super::contract::now;
use super::{
    Answer, Hit, NAMES, PROFILES, Provider, ProviderKind, Query, corpus, database, feeds, gatherer, knowledge, profile,
};
use crate::domain::SystemClock;
use crate::domain::verdict::Origin;
use crate::outbound::{AskError, AskMeter, Asker, Gate, GateSettings, GateState, HttpClient, NoObserver};

/// One provider with its data in four states. Each has its own gate from [`gate`].
pub(super) struct OwnSubject {
    pub(super) kind: ProviderKind,
    pub(super) query: Query,
    pub(super) full: Box<dyn Provider>,
    /// The data is readable and has no match.
    pub(super) empty: Box<dyn Provider>,
    /// The data is not readable: a missing folder or table, a server that refuses.
    pub(super) broken: Box<dyn Provider>,
    /// Reading the data takes at least five seconds.
    pub(super) slow: Box<dyn Provider>,
    /// The origin of the texts in hits; `None` if hits lead to pages without texts.
    pub(super) content: Option<Origin>,
    pub(super) clear: BoxFuture<'static, ()>,
}

pub(super) struct OwnCase {
    pub(super) name: &'static str,
    run: for<'a> fn(&'a OwnSubject) -> LocalBoxFuture<'a, ()>,
}

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        [$(OwnCase { name: stringify!($name), run: |subject| Box::pin($name(subject)) }),*]
    };
}

pub(super) static OWN_CASES: [OwnCase; 5] = cases![
    it_has_one_profile_and_costs_nothing,
    what_it_holds_is_found_well_formed_and_the_best_first,
    nothing_found_is_an_empty_answer,
    what_cannot_be_looked_at_is_an_error_and_then_left_alone,
    a_look_that_takes_too_long_ends_with_the_caller,
];

/// The providers of this contract with their tests. One without its server is skipped with a message.
macro_rules! suites {
    ($($provider:ident),* $(,)?) => {
        pub(super) static OWN_SUITES: &[&str] = &[$(stringify!($provider)),*];

        mod keeps_the_own_contract {
            $(#[tokio::test]
            async fn $provider() {
                if let Some(subject) = super::$provider::tests::own_subject().await {
                    super::keeps_the_own_contract(stringify!($provider), subject).await;
                }
            })*
        }
    };
}

suites![knowledge, corpus, database, gatherer, feeds];

/// The provider's gate with test settings: three failures open it, and nothing is retried.
#[expect(clippy::needless_pass_by_value, reason = "a provider's settings as its own function gives them")]
pub(super) fn gate(settings: GateSettings) -> Gate {
    let settings =
        GateSettings { rpm: 60_000, timeout: Duration::from_secs(4), max_attempts: 1, failures_to_open: 3, ..settings };
    Gate::new(settings, HttpClient::live("corroborate-test").unwrap(), Arc::new(SystemClock), Arc::new(NoObserver))
}

async fn keeps_the_own_contract(name: &str, subject: OwnSubject) {
    assert_eq!(subject.full.name(), name);
    for case in &OWN_CASES {
        (case.run)(&subject).await;
    }
    subject.clear.await;
}

async fn ask(provider: &dyn Provider, query: &Query, patience: Duration) -> (Result<Answer, AskError>, u32) {
    let meter = AskMeter::default();
    let outcome = provider.ask(query, Asker { until: Instant::now() + patience, meter: &meter }).await;
    (outcome, meter.attempts())
}

async fn it_has_one_profile_and_costs_nothing(subject: &OwnSubject) {
    for provider in [&subject.full, &subject.empty, &subject.broken, &subject.slow] {
        let name = provider.name();
        assert!(NAMES.contains(&name), "{name} is in no list of names");
        let known = profile(name).expect("its profile is in the list of profiles");
        assert!(std::ptr::eq(known, provider.profile()), "{name} has one profile");
        assert_eq!(PROFILES.iter().filter(|one| one.name == name).count(), 1);
        assert_eq!(provider.kind(), subject.kind);
        assert!(!provider.paid(), "what is our own costs nothing");
        let status = provider.status();
        assert_eq!((status.name, status.state), (name, GateState::Ready));
    }
}

async fn what_it_holds_is_found_well_formed_and_the_best_first(subject: &OwnSubject) {
    let provider = subject.full.as_ref();
    let (outcome, attempts) = ask(provider, &subject.query, Duration::from_secs(4)).await;
    let found = outcome.unwrap();
    assert!(!found.hits.is_empty() && found.reviews.is_empty());
    assert!(found.hits.len() <= subject.query.limit, "no more than was asked for");
    assert_eq!(attempts, 1, "one look is counted as one");
    assert_eq!(provider.status().calls_today, 1);
    let places: HashSet<&str> = found.hits.iter().map(|hit| hit.url.as_str()).collect();
    assert_eq!(places.len(), found.hits.len(), "a place is named once");
    for hit in &found.hits {
        is_well_formed(hit, provider, subject.content);
    }
    let kept = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Answer>(&kept).unwrap(), found, "a kept answer is the answer");

    let (one, _) = ask(provider, &Query { limit: 1, ..subject.query.clone() }, Duration::from_secs(4)).await;
    assert_eq!(one.unwrap().hits.as_slice(), &found.hits[..1], "the best one first, the same one each time");
}

fn is_well_formed(hit: &Hit, provider: &dyn Provider, origin: Option<Origin>) {
    assert_eq!(hit.provider, provider.name());
    assert_eq!(hit.storage, provider.storage(), "a hit is kept as its provider allows");
    let url = Url::parse(&hit.url).unwrap_or_else(|error| panic!("{}: {error}", hit.url));
    assert!(url.username().is_empty() && url.password().is_none(), "no credentials in {url}");
    assert!(hit.published_at.is_none_or(|date| date <= now()), "nothing is from tomorrow");
    for words in [&hit.title, &hit.snippet] {
        assert!(!words.contains('\0') && words.trim() == words, "{words:?}");
    }
    match (&hit.content, origin) {
        (None, None) => assert!(matches!(url.scheme(), "http" | "https"), "a page has a web address: {url}"),
        (Some(content), Some(origin)) => {
            assert!(!content.text.trim().is_empty(), "a hit with content has a text");
            assert_eq!(content.origin, origin);
            assert!(content.credibility.is_none_or(|figure| (0.0..=1.0).contains(&figure)));
        }
        (brought, promised) => panic!("{}: {brought:?} where {promised:?} was promised", hit.url),
    }
}

async fn nothing_found_is_an_empty_answer(subject: &OwnSubject) {
    let (outcome, _) = ask(subject.empty.as_ref(), &subject.query, Duration::from_secs(4)).await;
    assert_eq!(outcome.unwrap(), Answer::default());
    let status = subject.empty.status();
    assert_eq!((status.errors_today, status.state), (0, GateState::Ready), "nothing found is no error");
}

async fn what_cannot_be_looked_at_is_an_error_and_then_left_alone(subject: &OwnSubject) {
    let provider = subject.broken.as_ref();
    for left in (0..3).rev() {
        let (outcome, _) = ask(provider, &subject.query, Duration::from_secs(4)).await;
        let error = outcome.expect_err("what could not be looked at is no empty answer");
        assert!(!matches!(error, AskError::Deadline | AskError::Open { .. }), "{left} more: {error}");
    }
    assert_eq!(provider.status().errors_today, 3);
    assert_eq!(provider.status().state, GateState::Open, "it is left alone for a while");
    let (outcome, attempts) = ask(provider, &subject.query, Duration::from_secs(4)).await;
    assert_eq!((outcome.unwrap_err().label(), attempts), ("open", 0));
}

async fn a_look_that_takes_too_long_ends_with_the_caller(subject: &OwnSubject) {
    let start = Instant::now();
    let (outcome, _) = ask(subject.slow.as_ref(), &subject.query, Duration::from_millis(200)).await;
    assert_eq!(outcome.unwrap_err(), AskError::Deadline);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(subject.slow.status().state, GateState::Ready, "an impatient caller is not its fault");
}

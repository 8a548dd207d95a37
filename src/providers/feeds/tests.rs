use chrono::{DateTime, Utc};

use super::super::contract;
use super::super::contract_own::{OwnSubject, gate, keeps_the_own_contract};
use super::*;
use crate::domain::rules::{DomainList, DomainRule};
use crate::domain::{Clock as _, SystemClock};
use crate::outbound::{PageSettings, PageSource};
use crate::store::{FeedEntryRow, FeedReading, StoreSettings};

const FEED: &str = "https://news.example/rss";

/// A schema of its own on the real server that the tests of the store run on.
#[expect(clippy::disallowed_methods, reason = "the address comes from tests/run")]
async fn store() -> Option<Store> {
    let Ok(url) = std::env::var("TEST_DATABASE_URL") else {
        eprintln!("skipped: TEST_DATABASE_URL is not set");
        return None;
    };
    let acquire_timeout = Duration::from_secs(20);
    let settings = StoreSettings { pool_size: 4, acquire_timeout, statement_timeout: None, schema: None };
    let store = Store::connect_apart(&url.into(), &settings).await.unwrap();
    store.migrate().await.unwrap();
    Some(store)
}

/// Feeds that were read just now, with these headlines.
async fn read(store: &Store, headlines: &[&str]) {
    let now = SystemClock.now();
    store.add_feeds(&[(FEED.to_owned(), String::new())], now).await.unwrap();
    let entries: Vec<FeedEntryRow> =
        headlines.iter().zip(1..).map(|(title, number)| entry(title, number, now)).collect();
    let next_poll_at = now + TimeDelta::minutes(15);
    let reading = FeedReading { url: FEED.to_owned(), next_poll_at, ..FeedReading::default() };
    store.finish_feed(&reading, &entries, now).await.unwrap();
}

fn entry(title: &str, number: usize, now: DateTime<Utc>) -> FeedEntryRow {
    let stems = tokens::content_stems(title, None);
    FeedEntryRow {
        url: format!("https://news.example/{number}"),
        host: "news.example".to_owned(),
        title: title.to_owned(),
        summary: String::new(),
        language: None,
        published_at: Some(now - TimeDelta::hours(1)),
        strong: stems.clone(),
        stems,
    }
}

fn over(store: &Store, urls: Vec<Url>) -> Feeds {
    let rule = |domain: &str| DomainRule {
        domain: domain.to_owned(),
        list: DomainList::Allow,
        credibility: None,
        source_type: None,
        why: None,
    };
    let rules = Arc::new(DomainRules::new(vec![rule("news.example")], false));
    let settings =
        FeedsSettings { urls, discover: false, interval: Duration::from_mins(15), keep: Duration::from_hours(14 * 24) };
    let parts = FeedsParts {
        store: store.clone(),
        pages: Arc::new(PageFetcher::new(PageSettings::default(), PageSource::Replay(Arc::default())).unwrap()),
        rules: Arc::new(move || Arc::clone(&rules)),
        clock: Arc::new(SystemClock),
        gate: gate(gate_settings(Duration::from_mins(10))),
    };
    new(settings, parts)
}

fn one_feed() -> Vec<Url> {
    vec![FEED.parse().unwrap()]
}

#[tokio::test]
async fn it_keeps_the_contract_of_own_sources() {
    let (Some(full), Some(empty), Some(broken), Some(slow)) =
        (store().await, store().await, store().await, store().await)
    else {
        return;
    };
    read(
        &full,
        &["Customs granted approval to Vizhinjam International Seaport", "Vizhinjam International Seaport opens"],
    )
    .await;
    read(&empty, &["The weather of June"]).await;
    broken.throw_away().await.unwrap();
    read(&slow, &["The weather of June"]).await;
    let held = slow.held("feeds").await.unwrap();
    keeps_the_own_contract(OwnSubject {
        kind: ProviderKind::Search,
        query: contract::query(),
        full: Box::new(over(&full, one_feed())),
        empty: Box::new(over(&empty, one_feed())),
        broken: Box::new(over(&broken, one_feed())),
        slow: Box::new(over(&slow, one_feed())),
        content: None,
    })
    .await;
    drop(held);
    for store in [full, empty, slow] {
        store.throw_away().await.unwrap();
    }
}

#[tokio::test]
async fn feeds_that_were_never_read_are_not_ready_and_no_breaker_opens() {
    let Some(store) = store().await else { return };
    let feeds = over(&store, one_feed());
    for _ in 0..8 {
        let asker =
            Asker { until: Instant::now() + Duration::from_secs(4), meter: &crate::outbound::AskMeter::default() };
        let error = feeds.ask(&contract::query(), asker).await.unwrap_err();
        assert_eq!(error.label(), "not_ready");
    }
    assert_eq!(feeds.status().state, crate::outbound::GateState::Ready);
    store.throw_away().await.unwrap();
}

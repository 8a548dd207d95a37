//! The feeds on the real server; integration tests check their own behaviour.

use secrecy::SecretString;

use super::super::contract_own::{OwnSubject, gate};
use super::super::{contract, database};
use super::*;
use crate::domain::SystemClock;
use crate::domain::rules::{DomainList, DomainRule};
use crate::outbound::test_server::{TestServer, answer};
use crate::outbound::{PageSettings, PageSource};
use crate::store::StoreSettings;

/// A migrated schema of its own; `None` without a server.
async fn store(pool_size: u32) -> Option<Store> {
    let url = SecretString::from(database::tests::server()?);
    let acquire_timeout = Duration::from_secs(20);
    let settings = StoreSettings { pool_size, acquire_timeout, statement_timeout: None, schema: None, direct: None };
    let store = Store::connect_apart(&url, &settings).await.unwrap();
    store.migrate().await.unwrap();
    Some(store)
}

fn over(store: &Store, urls: Vec<Url>) -> Feeds {
    let allowed = |domain: &str| DomainRule {
        domain: domain.to_owned(),
        list: DomainList::Allow,
        credibility: None,
        source_type: None,
        why: None,
    };
    let rules = Arc::new(DomainRules::new(vec![allowed("news.example")], false));
    let pages = PageSettings { allow_private: true, ..PageSettings::default() };
    let parts = FeedsParts {
        store: store.clone(),
        pages: Arc::new(PageFetcher::new(pages, PageSource::Live).unwrap()),
        parsers: Arc::default(),
        rules: Arc::new(move || Arc::clone(&rules)),
        clock: Arc::new(SystemClock),
        gate: gate(gate_settings(Duration::from_mins(10))),
    };
    let settings =
        FeedsSettings { urls, discover: false, interval: Duration::from_mins(15), keep: Duration::from_hours(14 * 24) };
    new(settings, parts)
}

/// A store that has read a feed with these headlines.
async fn read(headlines: &[&str]) -> Option<(Feeds, Store)> {
    let store = store(4).await?;
    let date = (contract::now() - chrono::Duration::hours(5)).to_rfc2822();
    let items: Vec<String> = (0..)
        .zip(headlines)
        .map(|(number, title)| {
            let link = format!("https://news.example/{number}");
            format!("<item><title>{title}</title><link>{link}</link><pubDate>{date}</pubDate></item>")
        })
        .collect();
    let rss = format!("<rss version=\"2.0\"><channel><title>News</title>{}</channel></rss>", items.concat());
    let site = TestServer::start([answer(200, &[("content-type", "application/rss+xml")], rss)]).await;
    let feeds = over(&store, vec![site.url.join("all").unwrap()]);
    feeds.keep_up().await.unwrap();
    Some((feeds, store))
}

pub(in crate::providers) async fn own_subject() -> Option<OwnSubject> {
    let (full, full_store) = read(&[
        "Customs grants approval to Vizhinjam seaport",
        "Vizhinjam seaport is still without approval of customs",
        "Rain in June",
    ])
    .await?;
    let (empty, empty_store) = read(&["Rain in June", "Snow in May"]).await?;
    // Its connections are closed. (Without its tables, those of another schema might be found.)
    let broken = store(4).await?;
    broken.throw_away().await.unwrap();
    broken.close().await;
    // Another holder has its only connection.
    let slow = store(1).await?;
    let taken = slow.hold_connection().await.unwrap();
    Some(OwnSubject {
        kind: ProviderKind::Search,
        query: contract::query(),
        full: Box::new(full),
        empty: Box::new(empty),
        broken: Box::new(over(&broken, Vec::new())),
        slow: Box::new(over(&slow, Vec::new())),
        content: None,
        clear: Box::pin(async move {
            drop(taken);
            for store in [full_store, empty_store, slow] {
                store.throw_away().await.unwrap();
            }
        }),
    })
}

#[tokio::test]
async fn feeds_that_were_never_read_are_not_ready_and_no_breaker_opens() {
    let Some(store) = store(4).await else { return };
    // There is no listener.
    let feeds = over(&store, vec!["http://127.0.0.1:9/rss".parse().unwrap()]);
    for _ in 0..8 {
        let asker =
            Asker { until: Instant::now() + Duration::from_secs(4), meter: &crate::outbound::AskMeter::default() };
        let error = feeds.ask(&contract::query(), asker).await.unwrap_err();
        assert_eq!(error.label(), "not_ready");
    }
    assert_eq!(feeds.status().state, crate::outbound::GateState::Ready);
    store.throw_away().await.unwrap();
}

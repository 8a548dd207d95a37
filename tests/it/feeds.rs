//! The feeds' promises: a real server that serves them, a real database that holds what they published.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};
use corroborate::domain::clock::FixedClock;
use corroborate::domain::rules::{DomainList, DomainRule, DomainRules};
use corroborate::domain::{Clock as _, SystemClock};
use corroborate::outbound::{
    AskError, AskMeter, Asker, Gate, HttpClient, NoObserver, PageFetcher, PageSettings, PageSource,
};
use corroborate::providers::feeds::{self, Feeds, FeedsParts, FeedsSettings};
use corroborate::providers::{Answer, Provider, Query};
use corroborate::store::{FeedEntryRow, FeedReading, FeedSearch, Store};
use tokio::time::Instant;
use url::Url;

use crate::support::database;

/// Status and body by path.
type Pages = HashMap<String, (u16, Vec<u8>)>;
/// A path, and what it was known by.
type Asked = (String, Option<String>);

/// What the site serves by path, and what it was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Site {
    pages: Arc<Mutex<Pages>>,
    /// Path and `If-None-Match` of each request.
    seen: Arc<Mutex<Vec<Asked>>>,
    version: Arc<Mutex<u32>>,
}

impl Site {
    pub(crate) fn serve(&self, path: &str, status: u16, body: impl Into<Vec<u8>>) {
        self.pages.lock().unwrap().insert(path.to_owned(), (status, body.into()));
    }

    pub(crate) fn asked(&self, path: &str) -> Vec<Option<String>> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|(asked, _)| asked == path).map(|(_, etag)| etag.clone()).collect()
    }

    /// From now on everything has changed.
    fn forget_versions(&self) {
        *self.version.lock().unwrap() += 1;
    }

    fn answer(&self, request: &Request) -> Response {
        let path = request.uri().path().to_owned();
        let etag = request.headers().get("if-none-match").map(|value| value.to_str().unwrap().to_owned());
        self.seen.lock().unwrap().push((path.clone(), etag.clone()));
        let (status, body) = self.pages.lock().unwrap().get(&path).cloned().unwrap_or((404, Vec::new()));
        let version = format!("\"v{}\"", *self.version.lock().unwrap() + 1);
        let (status, body) = if etag.as_ref() == Some(&version) { (304, Vec::new()) } else { (status, body) };
        let response = Response::builder().status(status).header("etag", version);
        response.header("content-type", "application/rss+xml").body(body.into()).unwrap()
    }

    pub(crate) async fn start(&self) -> Url {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let site = self.clone();
        let router = Router::new().fallback(move |request: Request| async move { site.answer(&request) });
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Url::parse(&url).unwrap()
    }
}

fn now() -> DateTime<Utc> {
    // The database removes entries by its own clock. One moment for all tests, in whole seconds as feeds are dated.
    static NOW: LazyLock<DateTime<Utc>> = LazyLock::new(|| SystemClock.now().trunc_subsecs(0));
    *NOW
}

fn rule(domain: &str, list: DomainList) -> DomainRule {
    DomainRule { domain: domain.to_owned(), list, credibility: None, source_type: None, why: None }
}

fn feed(items: &[(&str, &str, &str)]) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|(link, title, summary)| {
            let date = (now() - TimeDelta::hours(5)).to_rfc2822();
            format!("<item><title>{title}</title><link>{link}</link><description>{summary}</description><pubDate>{date}</pubDate></item>")
        })
        .collect();
    format!(
        "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title>{}</channel></rss>",
        items.concat()
    )
}

fn over(store: &Store, urls: Vec<Url>, rules: Vec<DomainRule>, now: DateTime<Utc>) -> Feeds {
    let clock = Arc::new(FixedClock(now));
    let pages = PageSettings { allow_private: true, ..PageSettings::default() };
    let rules = Arc::new(DomainRules::new(rules, false));
    let http = HttpClient::live("corroborate-test").unwrap();
    let settings =
        FeedsSettings { urls, discover: false, interval: Duration::from_mins(15), keep: Duration::from_hours(14 * 24) };
    let parts = FeedsParts {
        store: store.clone(),
        pages: Arc::new(PageFetcher::new(pages, PageSource::Live).unwrap()),
        parsers: Arc::default(),
        rules: Arc::new(move || Arc::clone(&rules)),
        clock: Arc::clone(&clock) as Arc<dyn corroborate::domain::Clock>,
        gate: Gate::new(feeds::gate_settings(Duration::from_mins(10)), http, clock, Arc::new(NoObserver)),
    };
    feeds::new(settings, parts)
}

fn trusted() -> Vec<DomainRule> {
    vec![rule("news.example", DomainList::Allow), rule("bad.example", DomainList::Deny)]
}

fn query(text: &str) -> Query {
    Query {
        text: text.to_owned(),
        terms: Vec::new(),
        language: None,
        domains: Vec::new(),
        around: None,
        limit: 5,
        source_document: None,
    }
}

async fn ask(feeds: &Feeds, query: &Query) -> Result<Answer, AskError> {
    let asker = Asker { until: Instant::now() + Duration::from_secs(20), meter: &AskMeter::default() };
    feeds.ask(query, asker).await
}

async fn titles(feeds: &Feeds, query: &Query) -> Vec<String> {
    ask(feeds, query).await.unwrap().hits.into_iter().map(|hit| hit.title).collect()
}

#[tokio::test]
async fn what_trusted_sites_published_is_found_in_three_languages_and_nothing_of_others() {
    let Some(test) = database::database().await else { return };
    let site = Site::default();
    let base = site.start().await;
    let items = feed(&[
        ("https://news.example/1", "Customs grants approval to Vizhinjam seaport", "The port opens in June."),
        ("https://news.example/2", "The weather of June", "Rain in the port."),
        ("https://bad.example/3", "Customs grants approval to Vizhinjam seaport", ""),
        ("https://other.example/4", "Customs grants approval to Vizhinjam seaport", ""),
        ("https://news.example/5", "Митниця надала дозвіл порту Візінджам", "Порт відкриють у червні."),
    ]);
    site.serve("/all", 200, items);
    let russian = feed(&[("https://news.example/6", "Таможня выдала разрешение порту Визинджам", "")]);
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(&russian);
    site.serve("/ru", 200, bytes.into_owned());
    let urls = vec![base.join("all").unwrap(), base.join("ru").unwrap()];
    // Nothing was read before: the question reads them itself.
    let feeds = over(&test.store, urls.clone(), trusted(), now());
    let hits = ask(&feeds, &query("Customs approved the Vizhinjam seaport")).await.unwrap().hits;
    let found: Vec<&str> = hits.iter().map(|hit| hit.url.as_str()).collect();
    assert_eq!(found, ["https://news.example/1"]);
    assert_eq!(hits[0].published_at, Some(now() - TimeDelta::hours(5)));
    assert!(hits[0].content.is_none() && hits[0].provider == "feeds");
    assert_eq!(
        titles(&feeds, &query("Порту Візінджам дали дозвіл митниці")).await,
        ["Митниця надала дозвіл порту Візінджам"]
    );
    assert_eq!(
        titles(&feeds, &query("разрешение порта Визинджам")).await,
        ["Таможня выдала разрешение порту Визинджам"]
    );
    assert!(titles(&feeds, &query("A June festival of light in Paris")).await.is_empty(), "one common word is no hit");
    let elsewhere = Query { domains: vec!["else.example".into()], ..query("Customs approved Vizhinjam") };
    assert!(titles(&feeds, &elsewhere).await.is_empty());
    let long_ago = Query { around: Some(now() - TimeDelta::days(90)), ..query("Customs approved Vizhinjam") };
    assert!(titles(&feeds, &long_ago).await.is_empty());
    // The rules of now decide, not those of when it was read.
    let denied = over(&test.store, urls, vec![rule("news.example", DomainList::Deny)], now());
    assert!(titles(&denied, &query("Customs approved the Vizhinjam seaport")).await.is_empty());
}

#[tokio::test]
async fn a_feed_is_read_once_a_pause_by_the_whole_fleet_and_asked_whether_it_changed() {
    let Some(address) = database::empty_database().await else { return };
    let test = database::TestDatabase { store: database::connect(&address).await };
    test.store.migrate().await.unwrap();
    let site = Site::default();
    let base = site.start().await;
    site.serve("/all", 200, feed(&[("https://news.example/1", "Customs grants approval to Vizhinjam", "")]));
    let url = base.join("all").unwrap();
    let processes: Vec<Feeds> = (0..4).map(|_| over(&test.store, vec![url.clone()], trusted(), now())).collect();
    let rounds = futures::future::join_all(processes.iter().map(Provider::keep_up)).await;
    assert!(rounds.iter().all(Result::is_ok), "{rounds:?}");
    processes[0].keep_up().await.unwrap();
    assert_eq!(site.asked("/all"), [None], "four processes and two rounds are one request");
    let later = over(&test.store, vec![url.clone()], trusted(), now() + TimeDelta::minutes(16));
    later.keep_up().await.unwrap();
    assert_eq!(site.asked("/all"), [None, Some("\"v1\"".to_owned())]);
    assert_eq!(titles(&later, &query("Customs approved Vizhinjam")).await.len(), 1, "unchanged is still there");
    // A process whose clock is ahead removes nothing; what is old by the clock of the database goes.
    let ahead = over(&test.store, vec![url.clone()], trusted(), now() + TimeDelta::days(15));
    ahead.keep_up().await.unwrap();
    let rows = sqlx::PgPool::connect(&address).await.unwrap();
    let entries =
        async || -> i64 { sqlx::query_scalar("SELECT count(*) FROM feed_entries").fetch_one(&rows).await.unwrap() };
    assert_eq!(entries().await, 1);
    let aged = "UPDATE feed_entries SET published_at = published_at - interval '15 days'";
    sqlx::query(aged).execute(&rows).await.unwrap();
    over(&test.store, vec![url], trusted(), now()).keep_up().await.unwrap();
    assert_eq!(entries().await, 0, "old entries are removed");
}

#[tokio::test]
async fn what_was_read_weeks_ago_is_no_answer_of_today() {
    let Some(test) = database::database().await else { return };
    let site = Site::default();
    let base = site.start().await;
    site.serve("/all", 200, feed(&[("https://news.example/1", "Customs grants approval to Vizhinjam", "")]));
    let urls = vec![base.join("all").unwrap()];
    let asked = query("Customs approved Vizhinjam");
    assert_eq!(titles(&over(&test.store, urls.clone(), trusted(), now()), &asked).await.len(), 1);
    let soon = over(&test.store, urls.clone(), trusted(), now() + TimeDelta::minutes(25));
    assert_eq!(titles(&soon, &asked).await.len(), 1, "25 minutes late is lately");
    assert_eq!(site.asked("/all").len(), 1);
    // Nobody read it for a week: the question does, and where that fails it could not be asked.
    let late = over(&test.store, urls.clone(), trusted(), now() + TimeDelta::days(7));
    assert_eq!(titles(&late, &asked).await.len(), 1);
    assert_eq!(site.asked("/all").len(), 2, "it is read again");
    site.serve("/all", 503, "");
    site.forget_versions();
    let later = over(&test.store, urls.clone(), trusted(), now() + TimeDelta::days(10));
    for _ in 0..8 {
        let error = ask(&later, &asked).await.unwrap_err();
        assert_eq!(error.label(), "not_ready", "{error}");
        assert!(error.to_string().contains("none of 1 feed"), "{error}");
    }
    assert_eq!(site.asked("/all").len(), 3, "what fails is not hammered");
    assert_eq!(later.status().state, corroborate::outbound::GateState::Ready, "no breaker opens");
    let unwanted = over(&test.store, vec![], trusted(), now() + TimeDelta::days(10));
    assert!(ask(&unwanted, &asked).await.unwrap_err().to_string().contains("no feed of a trusted site is known"));
}

#[tokio::test]
async fn a_feed_nobody_wants_is_read_no_more_and_cleaned_up() {
    let Some(url) = database::empty_database().await else { return };
    let test = database::TestDatabase { store: database::connect(&url).await };
    test.store.migrate().await.unwrap();
    let site = Site::default();
    let base = site.start().await;
    site.serve("/kept", 200, feed(&[("https://news.example/1", "Customs grants approval to Vizhinjam", "")]));
    site.serve("/dropped", 200, feed(&[("https://news.example/2", "Rain over Vizhinjam", "")]));
    let (kept, dropped) = (base.join("kept").unwrap(), base.join("dropped").unwrap());
    let later = |hours| now() + TimeDelta::hours(hours);
    over(&test.store, vec![kept.clone(), dropped], trusted(), now()).keep_up().await.unwrap();
    for hours in [1, 24 * 29] {
        over(&test.store, vec![kept.clone()], trusted(), later(hours)).keep_up().await.unwrap();
    }
    assert_eq!((site.asked("/kept").len(), site.asked("/dropped").len()), (3, 1));
    // A feed found at a site that is trusted no more is in the same place.
    let found = [("https://gone.example/rss".to_owned(), "gone.example".to_owned())];
    test.store.add_feeds(&found, now()).await.unwrap();
    test.store.claim_feed_sites(&["gone.example".to_owned()], now(), now(), 5).await.unwrap();
    let rows = sqlx::PgPool::connect(&url).await.unwrap();
    let age = async |days: u32| {
        let aged = format!(
            "WITH sites AS (UPDATE feed_sites SET next_look_at = now() - interval '{days} days')
             UPDATE feeds SET polled_at = now() - interval '{days} days' WHERE url NOT LIKE '%/kept'"
        );
        sqlx::query(sqlx::AssertSqlSafe(aged)).execute(&rows).await.unwrap();
    };
    age(29).await;
    assert_eq!(test.store.cleanup_preview(SystemClock.now()).await.unwrap().feeds, 0);
    age(31).await;
    let preview = test.store.cleanup_preview(SystemClock.now()).await.unwrap();
    let cleaned = test.store.cleanup(SystemClock.now()).await.unwrap();
    assert_eq!((preview, cleaned.feeds), (cleaned, 3), "two feeds and a site: {cleaned:?}");
    let wanted = corroborate::store::WantedFeeds {
        urls: vec![kept.to_string(), found[0].0.clone()],
        sites: vec!["gone.example".to_owned()],
    };
    let left = test.store.feed_freshness(&wanted, later(24 * 31), TimeDelta::days(9)).await.unwrap();
    assert_eq!((left.fresh, left.stale), (1, 0), "what is wanted stays");
}

/// Fifty thousand entries of a Zipf-like vocabulary, as a full store of two weeks would hold them.
async fn fill(store: &Store, entries: usize) {
    let word = |rank: usize| format!("stem{rank}");
    for start in (0..entries).step_by(5_000) {
        let rows: Vec<FeedEntryRow> = (start..(start + 5_000).min(entries))
            .map(|number| {
                // Ranks spread so that stem1 is in nearly all entries and stem2000 in a handful.
                let mut state = number as u64;
                let mut stems: Vec<String> = (0..30_u64)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
                        word((5000_f64.powf(unit)) as usize)
                    })
                    .collect();
                stems.sort();
                stems.dedup();
                FeedEntryRow {
                    url: format!("https://news.example/{number}"),
                    host: "news.example".to_owned(),
                    title: format!("Title {number}"),
                    summary: "A summary of some length, as feeds have them. ".repeat(8),
                    language: Some("en".to_owned()),
                    published_at: Some(now() - Duration::from_hours(14 * 24).mul_f64(number as f64 / entries as f64)),
                    strong: stems.iter().take(6).cloned().collect(),
                    stems,
                }
            })
            .collect();
        let reading = FeedReading { url: "https://news.example/rss".to_owned(), ..FeedReading::default() };
        store.finish_feed(&reading, &rows, now()).await.unwrap();
    }
}

/// Counting every stem and weighing every match took 360 ms for the first and 540 ms for the second question.
const ENOUGH: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_question_is_quick_over_fifty_thousand_entries() {
    let Some(test) = database::database().await else { return };
    fill(&test.store, 50_000).await;
    let mut slowest = Duration::ZERO;
    for (what, ranks) in [
        ("of every rank", vec![1, 2, 3, 5, 8, 13, 40, 90, 300, 900, 2_000, 4_000]),
        ("of common words", (1..=12).collect()),
        ("of rare words", (3_000..3_012).collect()),
    ] {
        let stems: Vec<String> = ranks.iter().map(|rank| format!("stem{rank}")).collect();
        let window = Some((now(), Duration::from_hours(14 * 24)));
        let search = FeedSearch { stems: &stems, language: Some("en"), around: window, limit: 100 };
        let mut quickest = Duration::MAX;
        let mut found = 0;
        for _ in 0..10 {
            let started = Instant::now();
            found = test.store.search_feed_entries(&search).await.unwrap().len();
            quickest = quickest.min(started.elapsed());
            // What else the machine does slows some down, not all.
            if quickest < ENOUGH {
                break;
            }
        }
        println!("a question {what} over 50,000 entries: {quickest:.0?}, {found} found");
        slowest = slowest.max(quickest);
    }
    assert!(slowest < ENOUGH, "{slowest:?}");
}

#[tokio::test]
async fn what_is_no_feed_any_more_rests_and_what_is_gone_is_dropped() {
    let Some(test) = database::database().await else { return };
    let site = Site::default();
    let base = site.start().await;
    site.serve("/page", 200, "<!doctype html><html><body>Sign in</body></html>");
    site.serve("/gone", 410, "");
    let urls = vec![base.join("page").unwrap(), base.join("gone").unwrap()];
    let first = over(&test.store, urls.clone(), trusted(), now());
    let error = ask(&first, &query("Customs approved Vizhinjam")).await.unwrap_err();
    assert_eq!(error.label(), "not_ready", "nothing could be read, which is not nothing found");
    over(&test.store, urls.clone(), trusted(), now() + TimeDelta::minutes(16)).keep_up().await.unwrap();
    over(&test.store, urls.clone(), trusted(), now() + TimeDelta::minutes(32)).keep_up().await.unwrap();
    assert_eq!(site.asked("/page").len(), 2, "after the second failure it rests twice as long");
    assert_eq!(site.asked("/gone").len(), 1, "gone is gone");
    site.serve("/page", 200, feed(&[("https://news.example/1", "Customs grants approval to Vizhinjam", "")]));
    let healed = over(&test.store, urls, trusted(), now() + TimeDelta::days(2));
    healed.keep_up().await.unwrap();
    assert_eq!(site.asked("/gone").len(), 1);
}

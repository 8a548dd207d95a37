use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use tokio::time::sleep;

use super::*;
use crate::outbound::{AskError, CacheResult, FetchError, NoObserver};

type Words = Vec<&'static str>;

fn found() -> Words {
    vec!["found"]
}

fn cache(ttl: Duration, empty_ttl: Duration) -> SearchCache<Words> {
    SearchCache::new(
        "search",
        AnswerCacheSettings { capacity: 100, ttl, empty_ttl },
        Vec::is_empty,
        None,
        Arc::new(NoObserver),
    )
}

fn about(key: &str) -> Question<'_> {
    Question {
        provider: "test",
        key,
        claim: None,
        shared: true,
        until: Instant::now() + LONG,
        keep_at_least: Duration::ZERO,
    }
}

/// Whether the response is cached; the request itself fails.
async fn has(cache: &SearchCache<Words>, key: &str) -> bool {
    cache.get_or_ask(&about(key), || async { Err(AskError::Timeout) }).await.is_ok()
}

const LONG: Duration = Duration::from_mins(10);

#[tokio::test]
async fn many_who_ask_the_same_cost_one_call() {
    let (cache, calls) = (cache(LONG, LONG), AtomicUsize::new(0));
    let ask = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(20)).await;
        Ok::<_, AskError>(found())
    };
    let question = about("key");
    let outcomes = join_all((0..4).map(|_| cache.get_or_ask(&question, ask))).await;
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|(answer, _)| !answer.is_empty())));
    let how: Vec<CacheResult> = outcomes.into_iter().map(|outcome| outcome.unwrap().1).collect();
    assert_eq!(how, [CacheResult::Miss, CacheResult::Waited, CacheResult::Waited, CacheResult::Waited]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    cache.get_or_ask(&about("other"), ask).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert_eq!(cache.get_or_ask(&question, ask).await.unwrap().1, CacheResult::Hit);
}

#[tokio::test]
async fn nothing_found_is_kept_for_a_shorter_time() {
    let (cache, calls) = (cache(LONG, Duration::from_millis(30)), AtomicUsize::new(0));
    let empty = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        Ok::<_, AskError>(Words::new())
    };
    let full = || async { Ok::<_, AskError>(found()) };
    cache.get_or_ask(&about("full"), full).await.unwrap();
    cache.get_or_ask(&about("empty"), empty).await.unwrap();
    let spared = Question { keep_at_least: LONG, ..about("spared") };
    cache.get_or_ask(&spared, empty).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    sleep(Duration::from_millis(60)).await;
    assert_eq!(cache.get_or_ask(&about("empty"), empty).await.unwrap().1, CacheResult::Miss);
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    assert!(has(&cache, "full").await);
    assert!(has(&cache, "spared").await, "a provider that wants to be spared is spared");
}

#[tokio::test]
async fn an_error_is_shared_by_those_who_wait_and_never_kept() {
    let (cache, calls) = (cache(LONG, LONG), AtomicUsize::new(0));
    let fail = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(20)).await;
        Err(AskError::Server { status: 503 })
    };
    let question = about("x");
    let outcomes = join_all((0..3).map(|_| cache.get_or_ask(&question, fail))).await;
    assert!(outcomes.iter().all(|outcome| outcome == &Err(AskError::Server { status: 503 })));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let (_, how) = cache.get_or_ask(&question, || async { Ok::<_, AskError>(found()) }).await.unwrap();
    assert_eq!(how, CacheResult::Miss, "the failure was not kept");
}

#[tokio::test]
async fn who_waits_for_one_out_of_time_asks_with_its_own() {
    let cache = cache(LONG, LONG);
    let question = about("x");
    let first = cache.get_or_ask(&question, || async {
        sleep(Duration::from_millis(20)).await;
        Err(AskError::Deadline)
    });
    let second = cache.get_or_ask(&question, || async { Ok::<_, AskError>(found()) });
    let (first, second) = futures::join!(first, second);
    assert_eq!(first.unwrap_err(), AskError::Deadline);
    assert_eq!(second.unwrap().1, CacheResult::Miss);
}

#[tokio::test]
async fn who_waits_for_a_slow_one_waits_no_longer_than_its_own_time() {
    let cache = cache(LONG, LONG);
    let question = about("x");
    let mut slow = Box::pin(cache.get_or_ask(&question, std::future::pending::<Result<Words, AskError>>));
    assert!(futures::poll!(slow.as_mut()).is_pending());
    let hurried = Question { until: Instant::now() + Duration::from_millis(20), ..question };
    let waits = cache.get_or_ask(&hurried, || async { Ok::<_, AskError>(found()) });
    let waited = tokio::time::timeout(Duration::from_secs(5), waits).await.expect("it does not wait for the slow one");
    assert_eq!(waited.unwrap_err(), AskError::Deadline);
}

#[tokio::test]
async fn who_waits_for_one_that_goes_away_asks_itself() {
    let cache = cache(LONG, LONG);
    let question = about("x");
    let mut gone = Box::pin(cache.get_or_ask(&question, std::future::pending::<Result<Words, AskError>>));
    assert!(futures::poll!(gone.as_mut()).is_pending());
    let mut waits = Box::pin(cache.get_or_ask(&question, || async { Ok::<_, AskError>(found()) }));
    assert!(futures::poll!(waits.as_mut()).is_pending());
    drop(gone);
    assert_eq!(waits.await.unwrap().1, CacheResult::Miss);
}

#[tokio::test]
async fn pages_are_bounded_in_bytes() {
    let settings = PageCacheSettings { max_bytes: 100_000, ttl: LONG };
    let cache = PageCache::<String>::new(settings, Arc::new(NoObserver));
    for number in 0..50 {
        let url = format!("https://a.example/{number}");
        let fetch = || async { Ok::<_, FetchError>(("page".to_owned(), 10_000)) };
        cache.get_or_fetch(&url, fetch).await.unwrap();
    }
    let held = cache.held().await;
    assert!(held > 0 && held <= 100_000, "{held}");
}

#[tokio::test]
async fn a_page_is_fetched_once_and_forgotten_on_demand() {
    let cache = PageCache::<String>::new(PageCacheSettings::default(), Arc::new(NoObserver));
    let fetches = AtomicUsize::new(0);
    let fetch = || async {
        let number = fetches.fetch_add(1, Ordering::SeqCst);
        Ok::<_, FetchError>((format!("page {number}"), 100))
    };
    let url = "https://a.example/";
    assert_eq!(cache.get_or_fetch(url, fetch).await.unwrap(), (Arc::new("page 0".to_owned()), false));
    assert_eq!(cache.get_or_fetch(url, fetch).await.unwrap(), (Arc::new("page 0".to_owned()), true));
    cache.forget(url).await;
    assert!(cache.get(url).await.is_none());
    assert_eq!(*cache.get_or_fetch(url, fetch).await.unwrap().0, "page 1");
    cache.insert("https://b.example/", Arc::new("stored".to_owned()), 6).await;
    assert!(cache.get_or_fetch("https://b.example/", fetch).await.unwrap().1);
}

#[derive(Debug, Default)]
struct RecordedResults(Mutex<Vec<(&'static str, CacheResult)>>);

impl Observer for RecordedResults {
    fn request(&self, _: &'static str, _: &'static str, _: Duration) {}
    fn not_asked(&self, _: &'static str, _: &'static str) {}
    fn rate_wait(&self, _: &'static str, _: Duration) {}
    fn circuit(&self, _: &'static str, _: &'static str) {}
    fn circuit_opened(&self, _: &'static str, _: &'static str) {}
    fn cost(&self, _: &'static str, _: f64) {}
    fn cache(&self, cache: &'static str, result: CacheResult) {
        self.0.lock().unwrap().push((cache, result));
    }
}

#[tokio::test]
async fn hit_is_reported_when_the_answer_is_cached() {
    let recorded = Arc::new(RecordedResults::default());
    let cache = SearchCache::new(
        "search",
        AnswerCacheSettings::default(),
        Vec::is_empty,
        None,
        Arc::clone(&recorded) as Arc<dyn Observer>,
    );
    let ask = || async { Ok::<_, AskError>(found()) };
    cache.get_or_ask(&about("x"), ask).await.unwrap();
    cache.get_or_ask(&about("x"), ask).await.unwrap();
    assert_eq!(*recorded.0.lock().unwrap(), [("search", CacheResult::Miss), ("search", CacheResult::Hit)]);
}

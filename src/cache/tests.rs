use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use tokio::time::sleep;

use super::*;
use crate::outbound::{AskError, FetchError, NoObserver};

type Words = Vec<&'static str>;

fn found() -> Words {
    vec!["found"]
}

fn cache(ttl: Duration, empty_ttl: Duration) -> SearchCache<Words> {
    SearchCache::new(
        "search",
        AnswerCacheSettings { capacity: 100, ttl, empty_ttl },
        Vec::is_empty,
        Arc::new(NoObserver),
    )
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
    let outcomes = join_all((0..4).map(|_| cache.get_or_ask("key", ask))).await;
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|(answer, _)| !answer.is_empty())));
    let asked = outcomes.iter().filter(|outcome| outcome.as_ref().is_ok_and(|(_, spared)| !spared)).count();
    assert_eq!((calls.load(Ordering::SeqCst), asked), (1, 1));
    cache.get_or_ask("other", ask).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert!(cache.get("key").await.is_some());
    cache.insert("stored", Arc::new(found())).await;
    assert!(cache.get_or_ask("stored", ask).await.unwrap().1);
}

#[tokio::test]
async fn nothing_found_is_kept_for_a_shorter_time() {
    let (cache, calls) = (cache(LONG, Duration::from_millis(30)), AtomicUsize::new(0));
    let empty = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        Ok::<_, AskError>(Words::new())
    };
    let full = || async { Ok::<_, AskError>(found()) };
    cache.get_or_ask("full", full).await.unwrap();
    cache.get_or_ask("empty", empty).await.unwrap();
    assert!(cache.get_or_ask("empty", empty).await.unwrap().1 || calls.load(Ordering::SeqCst) == 2);
    let before = calls.load(Ordering::SeqCst);
    sleep(Duration::from_millis(60)).await;
    assert!(!cache.get_or_ask("empty", empty).await.unwrap().1);
    assert_eq!(calls.load(Ordering::SeqCst), before + 1);
    assert!(cache.get("full").await.is_some());
}

#[tokio::test]
async fn an_error_is_shared_by_those_who_wait_and_never_kept() {
    let (cache, calls) = (cache(LONG, LONG), AtomicUsize::new(0));
    let fail = || async {
        calls.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_millis(20)).await;
        Err(AskError::Server { status: 503 })
    };
    let outcomes = join_all((0..3).map(|_| cache.get_or_ask("x", fail))).await;
    assert!(outcomes.iter().all(|outcome| outcome == &Err(AskError::Server { status: 503 })));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let (_, spared) = cache.get_or_ask("x", || async { Ok::<_, AskError>(found()) }).await.unwrap();
    assert!(!spared, "the failure was not kept");
}

#[tokio::test]
async fn who_waits_for_one_out_of_time_asks_with_its_own() {
    let cache = cache(LONG, LONG);
    let first = cache.get_or_ask("x", || async {
        sleep(Duration::from_millis(20)).await;
        Err(AskError::Deadline)
    });
    let second = cache.get_or_ask("x", || async { Ok::<_, AskError>(found()) });
    let (first, second) = futures::join!(first, second);
    assert_eq!(first.unwrap_err(), AskError::Deadline);
    assert!(!second.unwrap().1);
}

#[tokio::test]
async fn who_waits_for_one_that_goes_away_asks_itself() {
    let cache = cache(LONG, LONG);
    let mut gone = Box::pin(cache.get_or_ask("x", std::future::pending::<Result<Words, AskError>>));
    assert!(futures::poll!(gone.as_mut()).is_pending());
    let mut waits = Box::pin(cache.get_or_ask("x", || async { Ok::<_, AskError>(found()) }));
    assert!(futures::poll!(waits.as_mut()).is_pending());
    drop(gone);
    assert!(!waits.await.unwrap().1);
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
struct Heard(Mutex<Vec<(&'static str, bool)>>);

impl Observer for Heard {
    fn request(&self, _: &'static str, _: &'static str, _: Duration) {}
    fn not_asked(&self, _: &'static str, _: &'static str) {}
    fn rate_wait(&self, _: &'static str, _: Duration) {}
    fn circuit(&self, _: &'static str, _: &'static str) {}
    fn circuit_opened(&self, _: &'static str, _: &'static str) {}
    fn cost(&self, _: &'static str, _: f64) {}
    fn cache(&self, cache: &'static str, hit: bool) {
        self.0.lock().unwrap().push((cache, hit));
    }
}

#[tokio::test]
async fn hits_and_misses_are_told() {
    let heard = Arc::new(Heard::default());
    let cache = SearchCache::new(
        "search",
        AnswerCacheSettings::default(),
        Vec::is_empty,
        Arc::clone(&heard) as Arc<dyn Observer>,
    );
    let ask = || async { Ok::<_, AskError>(found()) };
    cache.get_or_ask("x", ask).await.unwrap();
    cache.get_or_ask("x", ask).await.unwrap();
    assert_eq!(*heard.0.lock().unwrap(), [("search", false), ("search", true)]);
}

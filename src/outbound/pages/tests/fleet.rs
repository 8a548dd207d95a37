//! Two processes with one Postgres: a host sees one visitor.

use secrecy::SecretString;

use super::*;
use crate::store::{Store, StoreSettings};

const PAUSE: Duration = Duration::from_millis(200);

/// A migrated schema for one test. `None` without a server.
#[expect(clippy::disallowed_methods, reason = "the address comes from tests/run")]
async fn store() -> Option<Store> {
    let Ok(url) = std::env::var("TEST_DATABASE_URL") else {
        assert!(std::env::var_os("CORROBORATE_TEST_REQUIRE_SERVICES").is_none(), "TEST_DATABASE_URL is not set");
        eprintln!("skipped: TEST_DATABASE_URL is not set");
        return None;
    };
    let settings = StoreSettings {
        pool_size: 4,
        acquire_timeout: Duration::from_secs(20),
        statement_timeout: None,
        schema: None,
        direct: None,
    };
    let store = Store::connect_apart(&SecretString::from(url), &settings).await.unwrap();
    store.migrate().await.unwrap();
    Some(store)
}

/// A process that resolves every name to the server's address.
fn process(settings: &PageSettings, server: &TestServer, store: &Store) -> PageFetcher {
    let lookup = named(vec![SocketAddr::from(([127, 0, 0, 1], server.port()))]);
    PageFetcher::with_guard(settings.clone(), PageSource::Live, lookup, Guard::open()).unwrap().in_fleet(store)
}

fn spared() -> PageSettings {
    PageSettings { host_pause: PAUSE, ..settings() }
}

async fn timed() -> (TestServer, Arc<std::sync::Mutex<Vec<Instant>>>) {
    let times = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let server = TestServer::answering(move |_, _| {
        seen.lock().unwrap().push(Instant::now());
        answer(200, &[HTML], "<p>page")
    })
    .await;
    (server, times)
}

#[tokio::test]
async fn two_processes_ask_a_host_at_the_pace_of_one() {
    let Some(store) = store().await else { return };
    let (server, times) = timed().await;
    let processes = [process(&spared(), &server, &store), process(&spared(), &server, &store)];
    let url = format!("http://shared.example:{}/page", server.port());
    let start = Instant::now();
    let all = processes.iter().flat_map(|process| [process; 3]).map(|process| fetch_with(process, &url));
    for page in futures::future::join_all(all).await {
        page.unwrap();
    }
    let times = times.lock().unwrap().clone();
    assert_eq!(times.len(), 6);
    // A request may be late, but never early.
    for (number, time) in (0..).zip(&times) {
        assert!(*time - start >= PAUSE * number, "request {number} came after {:?}", *time - start);
    }
    store.throw_away().await.unwrap();
}

#[tokio::test]
async fn a_host_that_sends_one_process_away_is_left_alone_by_the_others() {
    let Some(store) = store().await else { return };
    let server = TestServer::start([answer(429, &[HTML, ("retry-after", "60")], "")]).await;
    let [first, second] = [process(&spared(), &server, &store), process(&spared(), &server, &store)];
    let url = format!("http://tired.example:{}/page", server.port());
    assert_eq!(fetch_with(&first, &url).await.unwrap_err(), FetchError::Status(429));
    for process in [&second, &first, &second] {
        let error = fetch_with(process, &url).await.unwrap_err();
        assert_eq!(error.label(), "host_resting", "{error}");
    }
    assert_eq!(server.seen().len(), 1);
    store.throw_away().await.unwrap();
}

#[tokio::test]
async fn without_the_database_no_host_is_asked() {
    let (server, times) = timed().await;
    let lost = process(&spared(), &server, &Store::detached());
    let url = format!("http://shared.example:{}/page", server.port());
    assert_eq!(fetch_with(&lost, &url).await.unwrap_err().label(), "host_busy");
    assert!(times.lock().unwrap().is_empty());
}

//! Starting, draining, being killed, and not starting.

#![expect(clippy::float_cmp, reason = "counters are whole numbers, which floats hold exactly")]

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::app::TestApp;
use crate::support::daemon::{free_address, until};
use crate::support::simulator::{EventWorld, Fault, Target};
use crate::support::stories;

const WORLD: EventWorld = EventWorld { items_per_event: 3, offset: 0 };

async fn publish(app: &TestApp, items: u64) {
    for number in 0..items {
        app.upstream.publish("item.new", &WORLD.item(number)).await;
    }
}

/// How often each item's result was heard.
async fn heard(app: &TestApp) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for heard in app.upstream.all(|heard| heard.key == "item.enriched").await {
        *counts.entry(heard.body["item_id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn told_to_stop_it_finishes_what_it_began_and_hands_back_the_rest() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("WORKER_CONCURRENCY", "4");
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_millis(800)));
    let daemon = app.start().await;
    publish(&app, 12).await;
    until("four items are in flight", async || daemon.metric("corroborate_items_in_flight", "").await == 4.0).await;
    daemon.stop().await;
    let done = app.count("items WHERE status = 'complete'").await;
    assert!(done >= 4, "the four in flight are done, {done} are");
    assert!(done < 12, "it took new ones after the signal");
    assert_eq!(app.count("outbox").await, 0, "what was done is published");
    assert_eq!(i64::try_from(heard(&app).await.len()).unwrap(), done);
    assert_eq!(
        i64::from(app.upstream.waiting("enrichment_queue").await),
        12 - done,
        "the rest waits for the next start"
    );

    app.simulator.set_fault(Target::Searxng, None);
    let daemon = app.start().await;
    until("all are done", async || heard(&app).await.len() == 12).await;
    assert!(heard(&app).await.values().all(|times| *times == 1), "{:?}", heard(&app).await);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_it_loses_nothing_and_does_nothing_twice() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("WORKER_CONCURRENCY", "8");
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_millis(60)));
    let mut daemon = app.start().await;
    publish(&app, 60).await;
    for done in [6, 24] {
        until("some are done", async || app.count("items").await >= done).await;
        daemon.kill().await;
        assert!(app.count("items").await < 60, "it was killed in the middle");
        daemon = app.start().await;
    }
    until("all are done", async || app.count("items WHERE status = 'complete'").await == 60).await;
    until("upstream hears of all", async || heard(&app).await.len() == 60).await;
    app.settled(&daemon).await;
    // One row each, and one set of claims: nothing was written twice.
    assert_eq!(app.count("items").await, 60);
    assert_eq!(app.count("item_phases").await, 60);
    assert_eq!(app.count("(SELECT item_id, position FROM claims GROUP BY 1, 2 HAVING count(*) > 1) AS twice").await, 0);
    assert_eq!(app.upstream.waiting("dead").await, 0);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stops_the_start_is_said_in_a_line_with_the_exit_code_of_the_contract() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let nobody = free_address();
    let amqp = crate::support::upstream::broker_url().unwrap();
    let wrong_user = amqp.replace("guest:guest", "guest:secret-of-mine");
    let mut other = app.database_url.clone();
    other.set_password(Some("secret-of-mine")).unwrap();
    let mut missing = app.database_url.clone();
    missing.set_path("/no_such_database");
    let away_broker = format!("amqp://guest:secret-of-mine@{nobody}/%2f");
    let away_database = format!("postgres://u:secret-of-mine@{nobody}/x");
    let cases: [(&str, &str, &str, i32, &str); 9] = [
        ("port in use", "HTTP_BIND", &port, 69, "HTTP_BIND"),
        ("the broker refuses the password", "AMQP_URL", &wrong_user, 69, "AMQP_URL"),
        ("no broker there", "AMQP_URL", &away_broker, 69, "AMQP_URL"),
        ("the database refuses the password", "DATABASE_URL", other.as_str(), 69, "DATABASE_URL"),
        ("no such database", "DATABASE_URL", missing.as_str(), 69, "no_such_database"),
        ("no database server there", "DATABASE_URL", &away_database, 69, "DATABASE_URL"),
        ("an unknown key", "ENRICHMENT_MAX_SECOND", "5", 78, "ENRICHMENT_MAX_SECONDS"),
        ("a bad value", "ENRICHMENT_MAX_SECONDS", "soon", 78, "soon"),
        ("a bad number", "WORKER_CONCURRENCY", "0", 78, "WORKER_CONCURRENCY"),
    ];
    let mut problems = Vec::new();
    for (what, name, value, code, says) in cases {
        let bind = free_address().to_string();
        let mut set = vec![(name, value)];
        if name != "HTTP_BIND" {
            set.push(("HTTP_BIND", &bind));
        }
        set.push(("CORROBORATE_DATABASE_ACQUIRE_TIMEOUT", "3s"));
        let done = app.run_set(&set, &["serve"]).await;
        let error = done.stderr.lines().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>();
        if done.code != code
            || error.len() != 1
            || !done.stderr.contains(says)
            || done.stderr.contains("secret-of-mine")
        {
            problems.push(format!("{what}: ended with {} instead of {code}, and says:\n{}", done.code, done.stderr));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let daemon = app.start().await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_worker_takes_nothing_and_no_http_serves_only_probes() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let idle = app.start_with(&["--no-worker"]).await;
    app.upstream.publish("item.new", &stories::item("waits", stories::TOLD)).await;
    assert_eq!(idle.get("/readyz").await.json()["worker"], false);
    assert_eq!(idle.get("/api/items").await.status, 200);
    until("it waits in the queue", async || app.upstream.waiting("enrichment_queue").await == 1).await;

    let bare = app.start_with(&["--no-http"]).await;
    app.upstream.result("waits", 1).await;
    for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/api/items", 404), ("/", 404)] {
        assert_eq!(bare.get(path).await.status, status, "{path}");
    }
    assert_eq!(bare.post("/api/items", &stories::item("x", "y")).await.status, 404);
    idle.stop().await;
    app.finish(bare).await;
}

//! Several processes over one store: limits, money, breakers and answers are the fleet's, not a process's.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::away_from_midnight;
use crate::support::daemon::{Daemon, until};
use crate::support::simulator::{EventWorld, Fault, Target};
use crate::support::stories::{self, TOLD, item};

/// Every item asks something nobody asked before.
const WORLD: EventWorld = EventWorld { items_per_event: 1, offset: 0 };
const PROCESSES: usize = 4;

async fn fleet(app: &TestApp) -> Vec<Daemon> {
    away_from_midnight().await;
    let mut daemons = Vec::new();
    for _ in 0..PROCESSES {
        daemons.push(app.start().await);
    }
    daemons
}

async fn publish(app: &TestApp, items: u64) {
    for number in 0..items {
        app.upstream.publish("item.new", &WORLD.item(number)).await;
    }
}

/// Waits until all are stored, and ends the fleet in order.
async fn finished(app: TestApp, mut daemons: Vec<Daemon>, items: i64) {
    until("every item is stored", async || app.count("items").await == items).await;
    let last = daemons.pop().unwrap();
    for daemon in daemons {
        daemon.stop().await;
    }
    app.settled(&last).await;
    app.finish(last).await;
}

/// The causes named by any stored item.
async fn causes(app: &TestApp) -> BTreeSet<String> {
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT DISTINCT unnest(degraded) FROM items").fetch_all(&app.database).await.unwrap();
    rows.into_iter().collect()
}

async fn provider(daemon: &Daemon, name: &str) -> Value {
    let list = daemon.get("/api/providers").await.json();
    list.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_processes_together_keep_one_rate_and_use_it() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("FACTCHECK_GOOGLE_RPM", "600");
    let daemons = fleet(&app).await;
    publish(&app, 120).await;
    until("every item is stored", async || app.count("items").await == 120).await;
    // What holds for any minute (`tests/it/fleet.rs` has that) holds for six seconds but for a slot's grace and the
    // network's margin, a second each: slots lie 62 s / 600 apart, and those of eight seconds may arrive within six.
    let most = app.simulator.most_within(Target::GoogleFactCheck, Duration::from_secs(6));
    assert!(most <= 78, "{most} calls within six seconds of a rate of 600 a minute");
    assert!(most >= 30, "the rate is used: {most} calls within the fullest six seconds");
    finished(app, daemons, 120).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_processes_spend_the_cap_and_not_a_cent_more() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("ENRICHMENT_PROVIDERS", "opensearch");
    app.set("ENRICHMENT_OPENSEARCH_BACKENDS", "brave");
    app.unset("ENRICHMENT_SEARXNG_BASE_URL");
    app.set("ENRICHMENT_BRAVE_COST_USD", "0.01");
    app.set("ENRICHMENT_MONTHLY_CAP_USD", "0.25");
    let daemons = fleet(&app).await;
    publish(&app, 100).await;
    until("every item is stored", async || app.count("items").await == 100).await;
    assert_eq!(app.simulator.calls(Target::Brave), 25, "a quarter of a dollar at a cent each");
    assert!(causes(&app).await.contains("budget"), "{:?}", causes(&app).await);
    assert!(app.count("items WHERE status = 'degraded' AND 'budget' = ANY(degraded)").await >= 70);
    finished(app, daemons, 100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_processes_share_one_daily_allowance() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("ENRICHMENT_PROVIDERS", "gdelt");
    app.set("ENRICHMENT_GDELT_DAILY_LIMIT", "20");
    let daemons = fleet(&app).await;
    publish(&app, 80).await;
    until("every item is stored", async || app.count("items").await == 80).await;
    assert_eq!(app.simulator.calls(Target::Gdelt), 20);
    for daemon in &daemons {
        until("it says so, with the calls of all four", async || {
            let shown = provider(daemon, "gdelt").await;
            shown["status"] == "exhausted" && shown["calls_today"] == json!(20) && shown["until"].is_string()
        })
        .await;
    }
    finished(app, daemons, 80).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_learnt_of_a_provider_the_next_does_not_learn_anew() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.set("ENRICHMENT_PROVIDERS", "gdelt");
    let first = app.start().await;
    let beside = app.start_with(&["--no-worker"]).await;
    app.simulator.set_fault(Target::Gdelt, Fault::status(429));
    app.upstream.publish("item.new", &item("one", TOLD)).await;
    app.upstream.result("one", 1).await;
    assert_eq!(app.simulator.calls(Target::Gdelt), 1);
    until("the process beside it knows", async || provider(&beside, "gdelt").await["status"] == "open").await;
    app.simulator.set_fault(Target::Gdelt, None);
    first.stop().await;
    beside.stop().await;

    let new = app.start().await;
    let shown = provider(&new, "gdelt").await;
    assert_eq!(shown["status"], "open", "{shown}");
    app.upstream.publish("item.new", &item("two", TOLD)).await;
    let result = app.upstream.result("two", 1).await;
    assert_eq!(app.simulator.calls(Target::Gdelt), 1, "it is left alone by the new process too");
    assert!(result["degraded"].to_string().contains("provider_open:gdelt"), "{result:#}");
    assert!(new.get("/readyz").await.json()["providers"]["open"].to_string().contains("gdelt"));
    app.finish(new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_processes_together_drop_the_excess_and_no_more() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("ENRICHMENT_OVERLOAD", "drop");
    app.set("ENRICHMENT_MAX_QUEUE_LENGTH", "20");
    app.set("WORKER_CONCURRENCY", "1");
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_millis(300)));
    let daemons = fleet(&app).await;
    publish(&app, 80).await;
    let heard = async |key: &str| app.upstream.all(|heard| heard.key == key).await.len();
    until("each item is stored or dropped", async || {
        let stored = app.count("items").await;
        heard("item.skipped").await + usize::try_from(stored).unwrap() >= 80
    })
    .await;
    let dropped = heard("item.skipped").await;
    assert!((1..=60).contains(&dropped), "{dropped} of 80 were dropped, where 20 may wait");
    finished(app, daemons, i64::try_from(80 - dropped).unwrap()).await;
}

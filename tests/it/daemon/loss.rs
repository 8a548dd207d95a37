//! Losing the broker or the database in the middle of work. Nothing may get lost with them, and nobody restarts anything.

#![expect(clippy::float_cmp, reason = "counters are whole numbers, which floats hold exactly")]

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::node::Node;
use crate::support::proxy::Proxy;
use crate::support::simulator::{EventWorld, Fault, Target};
use crate::support::upstream::broker_url;

const WORLD: EventWorld = EventWorld { items_per_event: 5, offset: 0 };

async fn publish(app: &TestApp, items: std::ops::Range<u64>) {
    for number in items {
        app.upstream.publish("item.new", &WORLD.item(number)).await;
    }
}

async fn heard(app: &TestApp) -> BTreeSet<String> {
    let heard = app.upstream.all(|heard| heard.key == "item.enriched").await;
    heard.iter().map(|heard| heard.body["item_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_connections_cut_again_and_again_lose_nothing() {
    let Some(app) = TestApp::new(WORLD).await else { return };
    let daemon = app.start().await;
    publish(&app, 0..10).await;
    for round in 1..=5_u64 {
        let enough = i64::try_from(round * 6).unwrap();
        until("work goes on", async || app.count("items").await >= enough).await;
        publish(&app, round * 10..(round + 1) * 10).await;
        app.cut_database().await;
    }
    until("all are done", async || app.count("items WHERE status = 'complete'").await == 60).await;
    until("upstream hears of all", async || heard(&app).await.len() == 60).await;
    assert_eq!(app.upstream.waiting("dead").await, 0);
    until("it is ready", async || daemon.get("/readyz").await.status == 200).await;
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_away_it_says_so_and_afterwards_everything_is_done() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("CORROBORATE_DATABASE_ACQUIRE_TIMEOUT", "2s");
    let daemon = app.start().await;
    publish(&app, 0..3).await;
    until("it works", async || app.count("items").await == 3).await;

    app.close_database().await;
    publish(&app, 3..9).await;
    until("it says that it is not ready", async || daemon.get("/readyz").await.status == 503).await;
    let answer = daemon.get("/readyz").await;
    assert!(answer.head.contains("application/problem+json"), "{}", answer.head);
    assert!(answer.json()["reasons"].to_string().contains("store"), "{}", answer.body);
    assert_eq!(daemon.get("/healthz").await.status, 200);
    until("work is paused", async || daemon.metric("corroborate_worker_paused", "").await == 1.0).await;

    app.open_database().await;
    until("all are done", async || app.count("items WHERE status = 'complete'").await == 9).await;
    until("it is ready again", async || daemon.get("/readyz").await.status == 200).await;
    until("upstream hears of all", async || heard(&app).await.len() == 9).await;
    assert_eq!(app.upstream.waiting("dead").await, 0);
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_longer_than_all_retries_gives_nothing_up() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("CORROBORATE_DATABASE_ACQUIRE_TIMEOUT", "2s");
    let daemon = app.start().await;
    publish(&app, 0..3).await;
    until("it works", async || app.count("items").await == 3).await;

    app.close_database().await;
    publish(&app, 3..30).await;
    // Longer than all of the tests' retries together.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(app.upstream.waiting("dead").await, 0);
    assert_eq!(daemon.metric("corroborate_item_retries_total", "").await, 0.0, "no attempt counts");
    assert_eq!(daemon.metric("corroborate_items_in_flight", "").await, 0.0);
    assert!(app.upstream.waiting("enrichment_queue").await >= 20, "nothing is consumed, nor fetched ahead");

    app.open_database().await;
    until("all are done", async || app.count("items").await == 30).await;
    assert_eq!(app.upstream.waiting("dead").await, 0);
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_to_the_database_that_fall_silent_are_given_up() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    let proxy = Proxy::before(vec![app.database_url.port().unwrap()]).await.unwrap();
    let mut behind = app.database_url.clone();
    behind.set_port(Some(proxy.port())).unwrap();
    app.set("DATABASE_URL", behind.as_str());
    app.set("CORROBORATE_DATABASE_ACQUIRE_TIMEOUT", "2s");
    app.set("CORROBORATE_DATABASE_STATEMENT_TIMEOUT", "2s");
    let daemon = app.start().await;
    publish(&app, 0..20).await;
    until("it works", async || app.count("items").await >= 3).await;
    // Nothing is closed, and nothing of these connections is ever answered again; new ones work.
    proxy.forgets();
    publish(&app, 20..30).await;
    until("all are done on new connections", async || app.count("items WHERE status = 'complete'").await == 30).await;
    until("upstream hears of all", async || heard(&app).await.len() == 30).await;
    assert_eq!(app.upstream.waiting("dead").await, 0);
    until("it is ready", async || daemon.get("/readyz").await.status == 200).await;
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_throws_it_out_or_goes_away_loses_nothing() {
    if broker_url().is_none() {
        return;
    }
    let Some((node, url)) = Node::start().await else { return };
    let Some(mut app) = TestApp::at(url.as_str(), WORLD).await else { return };
    app.set("WORKER_CONCURRENCY", "4");
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_millis(50)));
    let daemon = app.start().await;

    publish(&app, 0..30).await;
    until("some are done", async || app.count("items").await >= 5).await;
    node.done("ctl", &["close_all_connections", "the test says so"]).await;
    app.upstream.reconnect().await;
    until("all are done after it was thrown out", async || heard(&app).await.len() == 30).await;

    // What is in flight when the broker goes away is committed, and its result waits in the outbox.
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_secs(8)));
    publish(&app, 30..34).await;
    until("four are in flight", async || daemon.metric("corroborate_items_in_flight", "").await == 4.0).await;
    node.done("stop", &[]).await;
    until("it says that the broker is away", async || daemon.get("/readyz").await.status == 503).await;
    assert!(daemon.get("/readyz").await.json()["reasons"].to_string().contains("queue"));
    until("the results wait in the outbox", async || {
        app.count("outbox WHERE routing_key = 'item.enriched'").await == 4
    })
    .await;
    app.simulator.set_fault(Target::Searxng, None);
    let pages = app.simulator.calls(Target::Page);
    node.done("start", &[]).await;
    app.upstream.reconnect().await;
    until("the outbox is delivered", async || heard(&app).await.len() == 34).await;
    until("it is ready again", async || daemon.get("/readyz").await.status == 200).await;
    publish(&app, 34..40).await;
    until("new ones are done", async || heard(&app).await.len() == 40).await;
    app.settled(&daemon).await;
    assert_eq!(app.count("items").await, 40);
    // Six new items have at most one page of their own each and share those of two events.
    assert!(app.simulator.calls(Target::Page) - pages <= 6 + 4, "what came again was not done again");
    assert_eq!(app.upstream.waiting("dead").await, 0);
    assert!(daemon.metric("corroborate_broker_reconnects_total", "").await >= 2.0);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_takes_no_messages_is_still_asked_what_waits() {
    if broker_url().is_none() {
        return;
    }
    let Some((node, url)) = Node::start().await else { return };
    let Some(app) = TestApp::at(url.as_str(), WORLD).await else { return };
    let daemon = app.start().await;
    // Only who publishes during the alarm is told of it.
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_secs(8)));
    app.simulator.set_fault(Target::Page, Fault::slow(Duration::from_secs(8)));
    publish(&app, 0..3).await;
    until("they are in work", async || daemon.metric("corroborate_items_in_flight", "").await == 3.0).await;
    node.done("ctl", &["set_vm_memory_high_watermark", "0.000001"]).await;
    until("it says that it is full", async || daemon.get("/readyz").await.body.contains("takes no messages")).await;
    let asked = std::time::Instant::now();
    let dead = daemon.get("/api/dead").await;
    assert_eq!(dead.status, 200, "{}", dead.body);
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    node.done("ctl", &["set_vm_memory_high_watermark", "0.9"]).await;
    until("it is ready again", async || daemon.get("/readyz").await.status == 200).await;
    until("all are done", async || heard(&app).await.len() == 3).await;
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

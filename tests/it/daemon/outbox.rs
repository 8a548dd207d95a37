//! Results on their way out, when somebody's queue does not take them.

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, ONCE, TOLD, UNTOLD, item};
use crate::support::wire::{Trip, Wire};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_a_full_queue_refuses_holds_up_no_other_and_is_sent_ever_more_rarely() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    // With one message a round the refused one is alone at the head of the line.
    app.set("CORROBORATE_JOBS_OUTBOX_BATCH", "1");
    let full = app.upstream.full_queue("claim.#").await;
    let daemon = app.start().await;
    for (id, text) in [("first", TOLD), ("second", ONCE), ("third", UNTOLD)] {
        app.upstream.publish("item.new", &item(id, text)).await;
    }
    for id in ["first", "second", "third"] {
        app.upstream.result(id, 1).await;
    }
    until("the refusal is counted", async || {
        app.count("outbox WHERE attempts >= 3 AND last_error IS NOT NULL").await > 0
    })
    .await;
    // Who else listens hears a refused signal once for each try: after 1, 2, 4 … seconds.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    for id in ["first", "second", "third"] {
        let copies = app.upstream.all(|heard| heard.key.starts_with("claim.") && heard.body["item_id"] == id).await;
        assert!((1..=6).contains(&copies.len()), "{} copies of the signal of {id}", copies.len());
    }
    assert!(daemon.metric("corroborate_outbox_refused_total", "").await >= 3.0);
    app.upstream.delete_queue(&full).await;
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_was_claimed_before_the_databases_clock_was_set_back_goes_out() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    // As a process leaves it that died over it while the clock was an hour ahead.
    let claimed = "INSERT INTO outbox (exchange, routing_key, body, message_id, created_at, locked_until)
         VALUES (NULL, $1, '{\"of\": \"before\"}', 'claimed', now(), now() + interval '1 hour')";
    sqlx::query(claimed).bind(app.upstream.reply_to()).execute(&app.database).await.unwrap();
    let daemon = app.start().await;
    assert_eq!(app.upstream.reply().await.body["of"], "before");
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_that_come_while_others_are_sent_are_not_read_back() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let wire = Wire::before(&app.database_url).await;
    app.set("DATABASE_URL", wire.url().as_str());
    app.set("WORKER_CONCURRENCY", "8");
    // The slow tick looks for what other processes left, and would be counted.
    app.set("CORROBORATE_JOBS_OUTBOX_INTERVAL", "10m");
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    app.upstream.result("first", 1).await;
    app.settled(&daemon).await;
    wire.take();
    // Answers are known by now: they end close together, while results are on their way to the broker.
    let ids: Vec<String> = (0..120).map(|number| format!("burst-{number}")).collect();
    for id in &ids {
        app.upstream.publish("item.new", &item(id, TOLD)).await;
    }
    for id in &ids {
        app.upstream.result(id, 1).await;
    }
    app.settled(&daemon).await;
    let is_read =
        |trip: &&Trip| matches!(trip, Trip::Ran(sql) if sql.starts_with("UPDATE outbox SET locked_until = now()"));
    let reads = wire.take().iter().filter(is_read).count();
    println!("{reads} reads for {} results", ids.len());
    // One that lay for seconds on a busy machine may be. Were every round that found more taken for a slow one, about each
    // seventh would be.
    assert!(reads <= 4, "the outbox was read {reads} times for {} results", ids.len());
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_check_writes_while_the_daemon_ends_goes_out_before_it_does() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let mut daemon = app.start().await;
    app.simulator.set_fault(Target::Page, Fault::slow(std::time::Duration::from_secs(5)));
    let claim = serde_json::json!({"claim": TOLD, "vocabulary": "ours"});
    let (checked, ()) = tokio::join!(daemon.post("/api/verify", &claim), async {
        until("its pages are asked for", async || app.simulator.calls(Target::Page) > 0).await;
        daemon.signal("TERM");
    });
    assert_eq!(checked.status, 200, "{}", checked.body);
    assert!(daemon.ended().await.success());
    assert_eq!(app.count("items").await, 1, "it was stored");
    assert_eq!(app.count("outbox").await, 0, "and nothing waits for another start");
    assert!(!app.upstream.all(|heard| heard.key == "item.enriched").await.is_empty(), "upstream has heard of it");
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_to_a_missing_exchange_is_refused_alone_and_costs_no_connection() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let lost = "INSERT INTO outbox (exchange, routing_key, body, message_id, created_at)
         VALUES ('no.such.exchange', 'item.enriched', '{}', 'lost', now())";
    sqlx::query(lost).execute(&app.database).await.unwrap();
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    app.upstream.result("first", 1).await;
    until("it was refused three times", async || app.count("outbox WHERE attempts >= 3").await == 1).await;
    app.upstream.publish("item.new", &item("second", ONCE)).await;
    app.upstream.result("second", 1).await;
    let reason: String = sqlx::query_scalar("SELECT last_error FROM outbox").fetch_one(&app.database).await.unwrap();
    assert!(reason.contains("NOT_FOUND") || reason.contains("NOT-FOUND"), "{reason}");
    let reconnects = daemon.metric("corroborate_broker_reconnects_total", "").await;
    assert!(reconnects < 0.5, "{reconnects} reconnects for one message that no exchange takes");
    sqlx::query("DELETE FROM outbox").execute(&app.database).await.unwrap();
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

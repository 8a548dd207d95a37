//! A failure that hits every item alike: intake pauses, few items die, and work resumes by itself.

use std::time::Duration;

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::simulator::EventWorld;

const ITEMS: u32 = 200;

const WORLD: EventWorld = EventWorld { items_per_event: 1, offset: 0 };

/// Failed attempts that engage the brake.
const FAILURES: i64 = 20;

/// Items in work when the brake engages.
const CONCURRENCY: i64 = 8;

/// What a damaged index answers to each write.
const DAMAGED: &str = "CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'index is damaged' USING ERRCODE = 'XX001'; END $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intake_pauses_when_every_item_fails_with_one_error_and_resumes_when_one_succeeds() {
    let Some(mut app) = TestApp::new(WORLD).await else { return };
    app.set("WORKER_CONCURRENCY", &CONCURRENCY.to_string());
    let execute = async |sql: &'static str| {
        sqlx::query(sql).execute(&app.database).await.unwrap();
    };
    execute(DAMAGED).await;
    execute("CREATE TRIGGER damaged BEFORE INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION damaged()").await;
    let daemon = app.start().await;
    for number in 0..ITEMS {
        app.upstream.publish("item.new", &WORLD.item(number.into())).await;
    }
    until("items fail", async || daemon.metric("corroborate_item_duration_seconds_count", "").await >= 20.0).await;
    // Without a brake all of them are dead by then.
    tokio::time::sleep(Duration::from_secs(7)).await;
    let dead = i64::from(app.upstream.waiting("dead").await);
    let failed = daemon.metric("corroborate_item_duration_seconds_count", "").await;
    let calls = app.calls();
    println!("{dead} dead, {failed} attempts, {calls} calls");
    assert!(dead <= FAILURES, "{dead} of {ITEMS} items are dead");
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let most = (FAILURES + CONCURRENCY) as f64;
    assert!(failed <= most, "{failed} attempts");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(app.calls(), calls, "a paused intake asks no provider");
    let ready = daemon.get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert!(ready.json()["paused"].as_str().is_some_and(|reason| reason.contains("store")), "{}", ready.body);
    assert!(daemon.metric("corroborate_intake_braked", "").await > 0.5);
    assert!(app.upstream.queued().await >= 150, "the rest waits in the queue");

    execute("DROP TRIGGER damaged ON items").await;
    let rest = i64::from(ITEMS) - dead;
    until("the rest is done", async || app.count("items WHERE status = 'complete'").await == rest).await;
    assert!(daemon.metric("corroborate_intake_braked", "").await < 0.5);
    assert!(daemon.get("/readyz").await.json()["paused"].is_null());
    if dead > 0 {
        app.run(&["dead", "requeue", "--all"]).await.ok();
    }
    until("all are done", async || app.count("items WHERE status = 'complete'").await == i64::from(ITEMS)).await;
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intake_does_not_pause_when_messages_are_malformed() {
    let Some(app) = TestApp::new(WORLD).await else { return };
    let daemon = app.start().await;
    for number in 0..60 {
        app.upstream.publish_bytes("item.new", format!("{{\"item_id\": {number}").as_bytes()).await;
    }
    app.upstream.publish("item.new", &WORLD.item(1)).await;
    until("the good item is done", async || app.count("items").await == 1).await;
    until("the bad ones are dead", async || app.upstream.waiting("dead").await == 60).await;
    assert!(daemon.metric("corroborate_intake_braked", "").await < 0.5);
    app.finish(daemon).await;
}

//! Two processes at work on one item: what is stored and told is the later text and the richer result, whoever ends last.

use std::time::Duration;

use sqlx::Row as _;

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, ONCE, TOLD, searched};

async fn stored_text(app: &TestApp) -> Option<String> {
    let row =
        sqlx::query("SELECT text FROM items WHERE item_id = 'edited'").fetch_optional(&app.database).await.unwrap();
    row.map(|row| row.get(0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_text_that_took_long_never_replaces_the_edit_that_another_process_did() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.set("WORKER_CONCURRENCY", "1");
    let (one, other) = (app.start().await, app.start().await);
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_secs(9)));
    app.upstream.publish("item.new", &searched("edited", TOLD)).await;
    until("the old text is searched for", async || app.simulator.calls(Target::Searxng) > 0).await;
    app.simulator.set_fault(Target::Searxng, None);
    app.upstream
        .publish_as("item.new", searched("edited", ONCE).to_string().as_bytes(), |properties| {
            properties.with_reply_to(app.upstream.reply_to().into())
        })
        .await;
    until("the edit is stored", async || stored_text(&app).await.as_deref() == Some(ONCE)).await;
    app.settled(&one).await;
    app.settled(&other).await;
    assert_eq!(stored_text(&app).await.as_deref(), Some(ONCE), "the old text came last and is not what stands");
    assert_eq!(app.count("claims WHERE claim_text LIKE '%Velmora%'").await, 0, "nor is any claim of it");
    let told = app.upstream.all(|heard| heard.key == "item.enriched").await;
    assert_eq!(told.len(), 1, "what lost is published to nobody: {told:?}");
    assert!(told[0].body.to_string().contains("Osterik") && app.upstream.reply().await.body == told[0].body);
    other.stop().await;
    app.finish(one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_is_dated_after_what_it_replaces_though_the_clock_was_set_back() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &searched("edited", TOLD)).await;
    app.upstream.result("edited", 1).await;
    // As a process would have written it whose clock is an hour ahead of this one's.
    let ahead: chrono::DateTime<chrono::Utc> =
        sqlx::query_scalar("UPDATE items SET enriched_at = enriched_at + interval '1 hour' RETURNING enriched_at")
            .fetch_one(&app.database)
            .await
            .unwrap();
    app.upstream.publish("item.new", &searched("edited", ONCE)).await;
    let result = app.upstream.result("edited", 2).await;
    assert_eq!(stored_text(&app).await.as_deref(), Some(ONCE));
    let dated = result["enriched_at"].as_str().unwrap().parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    assert!(dated > ahead && dated - ahead < chrono::TimeDelta::seconds(1), "{dated} replaces {ahead}");
    app.finish(daemon).await;
}

//! What one process learnt, another one knows: answers and pages, also the pages that could not be read.

use serde_json::json;

use crate::support::app::TestApp;
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, TOLD, TOLD_PAGES, item, searched};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_read_once_and_an_answer_given_once_serve_every_process() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    // Its answers must not be stored, so each process asks it anew.
    app.unset("ENRICHMENT_BRAVE_API_KEY");
    let first = app.start().await;
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    assert_eq!(app.upstream.result("first", 1).await["claims"][0]["verdict"], "supported");
    first.stop().await;
    assert!(
        app.count("answers").await > 0 && app.count("fact_check_cache").await > 0,
        "written at the end at the latest"
    );
    let calls = app.calls();

    let second = app.start().await;
    // What is known would settle it without a question.
    app.upstream.publish("item.new", &searched("second", TOLD)).await;
    let result = app.upstream.result("second", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    assert_eq!(app.calls(), calls, "nobody outside was asked again");
    assert_eq!(result["cost"]["provider_calls"], json!({}));
    assert!(TOLD_PAGES.iter().all(|page| app.simulator.page_calls(*page) == 1));
    let shared = second.metric("corroborate_cache_requests_total", "result=\"hit_shared\"").await;
    assert!(shared >= 2.0, "{shared} answers came from the store");
    app.finish(second).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_could_not_be_read_is_left_alone_by_every_process_until_its_shorter_time_is_up() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    app.simulator.set_fault(Target::Page, Fault::status(500));
    let first = app.start().await;
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    app.upstream.result("first", 1).await;
    assert_eq!(app.count("evidence_sources WHERE extraction_failed").await, 3);
    let short = "evidence_sources WHERE extraction_failed AND expires_at < fetched_at + interval '1 hour'";
    assert_eq!(app.count(short).await, 3);
    first.stop().await;

    let calls = app.simulator.calls(Target::Page);
    app.simulator.set_fault(Target::Page, None);
    let second = app.start().await;
    app.upstream.publish("item.new", &item("second", TOLD)).await;
    let result = app.upstream.result("second", 1).await;
    assert_eq!((&result["degraded"], app.simulator.calls(Target::Page)), (&json!(["no_page_read"]), calls));
    second.stop().await;

    sqlx::query("UPDATE evidence_sources SET expires_at = now()").execute(&app.database).await.unwrap();
    let third = app.start().await;
    app.upstream.publish("item.new", &item("third", TOLD)).await;
    assert_eq!(app.upstream.result("third", 1).await["claims"][0]["verdict"], "supported");
    app.finish(third).await;
}

//! Pages that forbid themselves, wall themselves in, ask for rest, or have not changed: what is stored, and what is said.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, TOLD_PAGES, item, searched};

fn html(title: &str, text: &str) -> Fault {
    Fault::answer(
        200,
        "text/html; charset=utf-8",
        format!("<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"),
    )
}

/// How many pages are stored with this failure; each must be without text and without evidence.
async fn stored(app: &TestApp, failure: &str) -> i64 {
    let rows = format!("evidence_sources WHERE failure = '{failure}' AND extraction_failed AND raw_text = ''");
    app.count(&rows).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_robots_txt_forbids_is_never_asked_for_and_stored_as_such() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator
        .set_fault(Target::Unknown, Fault::answer(200, "text/plain", "User-agent: corroborate\nDisallow: /page/"));
    app.upstream.publish("item.new", &item("forbidden", TOLD)).await;
    let result = app.upstream.result("forbidden", 1).await;
    assert_eq!((&result["tier"], &result["degraded"]), (&json!("low"), &json!(["no_page_read"])), "{result:#}");
    assert_eq!(stored(&app, "robots").await, 3);
    assert_eq!(app.count("item_evidence").await, 0);
    assert_eq!(app.simulator.calls(Target::Page), 0, "no page was asked for");
    // The three pages are of three hosts.
    assert_eq!(app.simulator.calls(Target::Unknown), 3, "and its rules once");
    app.upstream.publish("item.new", &item("again", ONCE)).await;
    app.upstream.result("again", 1).await;
    assert_eq!(stored(&app, "robots").await, 4);
    assert_eq!(app.simulator.calls(Target::Unknown), 3, "the fourth page is of a host that was asked");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_wall_is_stored_with_its_kind_and_is_no_evidence() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let words = "The port of Velmora shipped 4200 tonnes of grain in October 2026, the harbour master said.";
    let walls = [
        (
            "told",
            TOLD,
            "paywall",
            html("Grain", &format!("{words} Subscribe to continue reading. This article is for subscribers only.")),
        ),
        ("disputed", DISPUTED, "bot_wall", html("Just a moment...", &format!("{words} Verify you are human."))),
        (
            "once",
            ONCE,
            "soft_404",
            html("Page not found", &format!("{words} It is not here any more, try our search.")),
        ),
    ];
    for (id, text, failure, fault) in walls {
        app.simulator.set_fault(Target::Page, fault);
        app.upstream.publish("item.new", &item(id, text)).await;
        let result = app.upstream.result(id, 1).await;
        assert_eq!(result["claims"][0]["verdict"], "not_enough_evidence", "{failure}: {result:#}");
        assert_eq!(result["degraded"], json!(["no_page_read"]), "{failure}: nothing was read, whatever the reason");
        assert!(stored(&app, failure).await > 0, "{failure}");
    }
    // The facts that come with the program are there from the start.
    assert_eq!(app.count("evidence_sources WHERE NOT extraction_failed AND origin <> 'kb'").await, 0);
    assert_eq!(app.count("item_evidence").await, 0);
    let learnt = "evidence_claims c JOIN evidence_sources s ON s.id = c.evidence_id WHERE s.origin <> 'kb'";
    assert_eq!(app.count(learnt).await, 0, "nor is it knowledge");
    app.finish(daemon).await;
}

/// The first page is read, the others are as the fault says.
async fn degraded_by(fault: Fault) -> Option<Value> {
    let app = TestApp::new(stories::world()).await?;
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Page, fault.after(1));
    app.upstream.publish("item.new", &item("partly", TOLD)).await;
    let result = app.upstream.result("partly", 1).await;
    app.finish(daemon).await;
    Some(result["degraded"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paywall_is_the_pages_nature_and_an_outage_is_not() {
    let Some(walled) = degraded_by(html("Grain", "Some words. Subscribe to continue reading, and more.")).await else {
        return;
    };
    assert_eq!(walled, json!([]));
    assert_eq!(degraded_by(Fault::status(500)).await.unwrap(), json!(["pages_failed"]));
    assert_eq!(degraded_by(Fault::status(404)).await.unwrap(), json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_asks_for_rest_gets_it() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Page, Fault::status(429).retry_after("600"));
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    app.upstream.result("first", 1).await;
    let asked = app.simulator.calls(Target::Page);
    assert_eq!((asked, stored(&app, "throttled").await), (3, 3), "each of three hosts said so once");
    app.simulator.set_fault(Target::Page, None);
    app.upstream.publish("item.new", &item("second", ONCE)).await;
    let second = app.upstream.result("second", 1).await;
    assert_eq!(second["degraded"], json!(["no_page_read"]));
    assert_eq!(app.simulator.calls(Target::Page), asked, "other items leave it alone too");
    assert_eq!(stored(&app, "host_resting").await, 1);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_has_not_changed_is_renewed_without_being_sent() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    // Also how long a page stays in memory. As evidence it is known for longer, so later items are searched for.
    app.set("CORROBORATE_CACHE_PAGE_TTL", "1s");
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    let first = app.upstream.result("first", 1).await;
    let read = app.count("evidence_sources WHERE etag IS NOT NULL AND NOT extraction_failed").await;
    assert_eq!(read, 3);
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    app.upstream.publish("item.new", &searched("second", TOLD)).await;
    let second = app.upstream.result("second", 1).await;
    let asked = app.simulator.requests(Target::Page);
    let conditional = asked.iter().filter(|request| request.headers.contains_key("if-none-match")).count();
    assert_eq!((asked.len(), conditional), (6, 3), "each was asked whether it changed, and none was sent");
    assert_eq!(
        second["claims"][0]["evidence"].as_array().unwrap().len(),
        first["claims"][0]["evidence"].as_array().unwrap().len()
    );
    assert_eq!(second["degraded"], json!([]));
    let renewed = "evidence_sources s WHERE fetched_at = (SELECT enriched_at FROM items WHERE item_id = 'second')
        OR fetched_at > (SELECT enriched_at FROM items WHERE item_id = 'first')";
    assert_eq!(app.count(renewed).await, 3);

    // One that changed is read anew, and what was taken from it before is no longer known of it.
    let before = app.count("evidence_claims").await;
    assert!(before > 0);
    let text = "The harbour of Velmora was closed all year, and nothing left it, the harbour master said on Friday.";
    app.simulator.set_fault(Target::Page, html("Closed", &text.repeat(3)));
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    app.upstream.publish("item.new", &searched("third", TOLD)).await;
    app.upstream.result("third", 1).await;
    assert_eq!(app.count("evidence_sources WHERE raw_text LIKE '%closed all year%' AND etag IS NULL").await, 3);
    assert_eq!(app.count("evidence_claims WHERE claim_text LIKE '%4200 tonnes%'").await, 0);

    // And while its server is down, what was read counts on.
    app.simulator.set_fault(Target::Page, Fault::outage());
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    app.upstream.publish("item.new", &searched("fourth", TOLD)).await;
    let fourth = app.upstream.result("fourth", 1).await;
    assert_eq!(fourth["degraded"], json!([]), "{fourth:#}");
    assert_eq!(app.count("evidence_sources WHERE extraction_failed").await, 0);
    assert_eq!(TOLD_PAGES.map(|page| app.simulator.page_calls(page) >= 4), [true; 3], "each was tried");
    app.finish(daemon).await;
}

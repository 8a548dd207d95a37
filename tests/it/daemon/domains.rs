//! The live domain lists, and what may be fetched at all.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, until};
use crate::support::simulator::Target;
use crate::support::stories::{self, ONCE, ONCE_PAGE, TOLD, TOLD_PAGES, item};

/// "Within seconds", items and all, on a busy machine.
const SECONDS: Duration = Duration::from_secs(30);

pub(super) async fn lists(daemon: &Daemon, domain: &str, list: &str) -> bool {
    let rules = daemon.get("/api/domains").await.json();
    rules["items"].as_array().unwrap().iter().any(|rule| rule["domain"] == domain && rule["list"] == list)
}

/// The address a page is served under, without the port.
fn host(app: &TestApp, page: u64) -> String {
    let url: url::Url = app.simulator.page_url(page).parse().unwrap();
    url.host_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_domain_is_never_fetched_and_never_evidence_on_any_process() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    // Nobody looks by itself in that time: processes are told.
    app.set("CORROBORATE_JOBS_DOMAINS_INTERVAL", "1h");
    // Only the second process works on items, only the first one is told of the rules.
    let told = app.start_with(&["--no-worker"]).await;
    let works = app.start().await;
    let denied = host(&app, TOLD_PAGES[0]);
    let rule = json!({"domain": denied, "list": "deny", "why": "it invents harbours"});
    assert_eq!(told.post("/api/domains", &rule).await.status, 201);
    let since = Instant::now();
    // The only page of this one stands there too.
    assert_eq!(host(&app, ONCE_PAGE), denied);
    until("the rule is in force", async || {
        let id = format!("probe {}", rand::random::<u32>());
        app.upstream.publish("item.new", &item(&id, ONCE)).await;
        app.upstream.result(&id, 1).await["claims"][0]["evidence"] == json!([])
    })
    .await;
    assert!(since.elapsed() < SECONDS, "it took {:?}", since.elapsed());

    app.upstream.publish("item.new", &item("denied", TOLD)).await;
    let result = app.upstream.result("denied", 1).await;
    assert_eq!(app.simulator.page_calls(TOLD_PAGES[0]), 0, "a denied page was fetched");
    assert_eq!(app.simulator.page_calls(TOLD_PAGES[1]), 1);
    assert!(!result["claims"].to_string().contains(&denied), "{result:#}");
    assert_eq!(app.count(&format!("evidence_sources WHERE domain = '{denied}'")).await, 0);
    assert_eq!(
        app.count(&format!(
            "domain_rule_changes WHERE domain = '{denied}' AND action = 'add' AND why = 'it invents harbours'"
        ))
        .await,
        1
    );

    // Taken away again, it is used again.
    assert_eq!(works.send("DELETE", &format!("/api/domains/{denied}"), &[], "").await.status, 200);
    until("it is fetched again", async || {
        let id = format!("back {}", rand::random::<u32>());
        // What the other two say is stored and would be enough: the promise is about what a search leads to.
        let mut searched = item(&id, TOLD);
        searched["source_types"] = json!(["web"]);
        app.upstream.publish("item.new", &searched).await;
        app.upstream.result(&id, 1).await;
        app.simulator.page_calls(TOLD_PAGES[0]) == 1
    })
    .await;
    told.stop().await;
    app.finish(works).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_evidence_of_a_domain_denied_later_decides_nothing_any_more() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("before", TOLD)).await;
    assert_eq!(app.upstream.result("before", 1).await["claims"][0]["verdict"], "supported");
    for page in TOLD_PAGES {
        let rule = json!({"domain": host(&app, page), "list": "deny"});
        assert_eq!(daemon.post("/api/domains", &rule).await.status, 201);
    }
    // This process made the edit itself: it is in force when the answer comes, or a moment later.
    until("nothing of it is used", async || {
        let id = format!("after {}", rand::random::<u32>());
        app.upstream.publish("item.new", &item(&id, TOLD)).await;
        let result = app.upstream.result(&id, 1).await;
        result["claims"][0]["evidence"] == json!([]) && result["tier"] == "low"
    })
    .await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configured_lists_are_installed_once_and_edits_survive_a_restart() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.set("ENRICHMENT_DENYLIST_DOMAINS", "bad.example,worse.example");
    let daemon = app.start().await;
    assert!(lists(&daemon, "bad.example", "deny").await && lists(&daemon, "worse.example", "deny").await);
    assert_eq!(daemon.send("DELETE", "/api/domains/bad.example?why=mended", &[], "").await.status, 200);
    assert_eq!(daemon.post("/api/domains", &json!({"domain": "worse.example", "list": "allow"})).await.status, 200);
    daemon.stop().await;
    let daemon = app.start().await;
    assert!(!lists(&daemon, "bad.example", "deny").await, "an admin's removal was undone");
    assert!(lists(&daemon, "worse.example", "allow").await);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_allow_list_alone_nothing_else_is_fetched() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.set("ENRICHMENT_ALLOWLIST_ONLY", "true");
    app.set("ENRICHMENT_ALLOWLIST_DOMAINS", &host(&app, TOLD_PAGES[1]));
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("trusted", TOLD)).await;
    let result = app.upstream.result("trusted", 1).await;
    let fetched = TOLD_PAGES.map(|page| app.simulator.page_calls(page));
    assert_eq!(fetched, [0, 1, 0], "{result:#}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_addresses_are_never_fetched_unless_that_was_opened_for_tests() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.unset("FETCH_ALLOW_PRIVATE_ADDRESSES");
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("guarded", TOLD)).await;
    let result = app.upstream.result("guarded", 1).await;
    assert!(app.searches() > 0, "base URLs the operator configured are exempt");
    assert_eq!(
        app.simulator.calls(Target::Page) + app.simulator.calls(Target::Unknown),
        0,
        "a private page was fetched"
    );
    assert_eq!(result["claims"][0]["evidence"], json!([]));
    assert_eq!(result["tier"], "low");
    assert_eq!(result["status"], "degraded", "pages were found and none could be read: {result:#}");
    app.finish(daemon).await;
}

//! The daemon with its feeds on: they are read by its job, searched by its items, and left out of recordings.

use std::collections::BTreeSet;

use serde_json::json;

use crate::feeds::Site;
use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::simulator::Target;
use crate::support::stories::{self, TOLD, TOLD_PAGES, item};

/// A feed of the pages that tell [`TOLD`], without dates, so that it is as new on any day.
fn feed(app: &TestApp) -> String {
    let items = TOLD_PAGES.map(|page| {
        let link = app.simulator.page_url(page);
        format!("<item><title>{TOLD}</title><link>{link}</link></item>")
    });
    format!(
        "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title>{}</channel></rss>",
        items.concat()
    )
}

/// The world with a site that has a feed, which is configured.
async fn app_with_feed() -> Option<(TestApp, Site)> {
    let mut app = TestApp::new(stories::world()).await?;
    let site = Site::default();
    let base = site.start().await;
    site.serve("/rss", 200, feed(&app));
    app.set("ENRICHMENT_FEEDS_ENABLED", "true");
    app.set("ENRICHMENT_FEEDS_DISCOVER", "false");
    app.set("ENRICHMENT_FEEDS_URLS", base.join("rss").unwrap().as_str());
    let hosts: BTreeSet<String> = TOLD_PAGES
        .iter()
        .map(|page| url::Url::parse(&app.simulator.page_url(*page)).unwrap().host_str().unwrap().to_owned())
        .collect();
    app.set("ENRICHMENT_ALLOWLIST_DOMAINS", &hosts.into_iter().collect::<Vec<_>>().join(","));
    Some((app, site))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_is_answered_from_feeds_that_the_daemon_read_and_the_fleet_shares_no_slots_of_them() {
    let Some((app, site)) = app_with_feed().await else { return };
    let daemon = app.start().await;
    until("the feed is read", async || daemon.metric("corroborate_feeds", "state=\"fresh\"").await > 0.0).await;
    assert_eq!((site.asked("/rss").len(), app.count("feed_entries").await), (1, 3));
    let mut told = item("fed", TOLD);
    told["source_types"] = json!(["feeds"]);
    app.upstream.publish("item.new", &told).await;
    let result = app.upstream.result("fed", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    assert!(result["sources_checked"].as_array().unwrap().contains(&json!("feeds")), "{result:#}");
    assert_eq!(result["degraded"], json!([]), "{result:#}");
    assert_eq!((app.searches(), app.simulator.calls(Target::Page)), (0, 3));
    assert_eq!(app.count("provider_quota WHERE provider = 'feeds'").await, 0);
    assert_eq!(site.asked("/rss").len(), 1, "the item read none itself");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feeds_are_left_out_of_a_recorded_run_and_of_its_replay_and_both_say_so() {
    let Some((app, site)) = app_with_feed().await else { return };
    let daemon = app.start().await;
    until("the feed is read", async || app.count("feed_entries").await == 3).await;
    daemon.stop().await;
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let recorded = app.run(&["check", "--json", "--record", dir, "--record-transient", TOLD]).await;
    assert!(recorded.stderr.contains("what feeds held before this run cannot be recorded"), "{}", recorded.stderr);
    let first = recorded.json();
    let checked = |result: &serde_json::Value| result["sources_checked"].clone();
    assert!(!checked(&first).as_array().unwrap().contains(&json!("feeds")), "{first:#}");
    let replayed = app.run(&["check", "--json", "--replay", dir, TOLD]).await;
    assert!(replayed.stderr.contains("what feeds held before this run cannot be replayed"), "{}", replayed.stderr);
    let again = replayed.json();
    assert_eq!((checked(&again), &again["claims"]), (checked(&first), &first["claims"]));
    assert_eq!(site.asked("/rss").len(), 1);
    app.clear().await;
}

//! Channels that share one fleet and its money.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::simulator::Target;
use crate::support::stories::{self, ONCE, TOLD, UNTOLD, item};

fn of(channel: &str, id: &str, text: &str) -> Value {
    let mut item = item(id, text);
    item["channel"] = json!(channel);
    item
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_spends_its_share_and_nobody_elses() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.set("ENRICHMENT_PROVIDERS", "opensearch");
    app.set("ENRICHMENT_OPENSEARCH_BACKENDS", "brave");
    app.set("ENRICHMENT_BRAVE_COST_USD", "0.5");
    app.set("ENRICHMENT_MONTHLY_CAP_USD", "100");
    app.set("ENRICHMENT_DAILY_BUDGET_USD", "100");
    app.set("CORROBORATE_TENANTS_SHARES", r#"[{"name": "north", "channels": "@North/", "share": 0.005}]"#);
    let daemon = app.start().await;
    let asked = || app.simulator.calls(Target::Brave);

    app.upstream.publish("item.new", &of("north/news", "first", TOLD)).await;
    // The share is one call; what is asked beyond that is not.
    let first = app.upstream.result("first", 1).await;
    assert_eq!((&first["cost"]["usd"], asked()), (&json!(0.5), 1), "{first:#}");
    let spent = "tenant_spending WHERE tenant = 'north' AND usd >= 0.5";
    until("what was spent is in the store", async || app.count(spent).await == 1).await;

    let before = asked();
    app.upstream.publish("item.new", &of("NORTH/live", "second", ONCE)).await;
    let second = app.upstream.result("second", 1).await;
    assert_eq!((&second["degraded"], asked()), (&json!(["budget"]), before), "{second:#}");
    app.upstream.publish("item.new", &of("south/news", "third", UNTOLD)).await;
    let third = app.upstream.result("third", 1).await;
    assert!(third["degraded"] == json!([]) && asked() > before + 1, "{third:#}");

    // Another process knows it from the store.
    daemon.stop().await;
    let daemon = app.start().await;
    until("the share is known to be used up", async || {
        daemon.metric("corroborate_job_runs_total", "usage").await >= 1.0
    })
    .await;
    let before = asked();
    app.upstream.publish("item.new", &of("north/news", "fourth", ONCE)).await;
    let fourth = app.upstream.result("fourth", 1).await;
    assert_eq!((&fourth["degraded"], asked()), (&json!(["budget"]), before), "{fourth:#}");
    app.finish(daemon).await;
}

#[tokio::test]
async fn shares_that_cannot_be_given_stop_the_start() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let north = json!({"name": "north", "channels": "north/", "share": 0.7});
    let south = json!({"name": "south", "channels": "south/", "share": 0.7});
    for (shares, cap, why) in [
        (json!([north, south]), "100", "more than the whole"),
        (json!([north, north]), "100", "another tenant"),
        (json!([north, {"name": "south", "channels": "@North/", "share": 0.1}]), "100", "channels of another tenant"),
        (json!([{"name": "all", "channels": "@", "share": 0.1}]), "100", "matches every channel"),
        (json!([north]), "0", "needs a cap"),
    ] {
        let set = [("CORROBORATE_TENANTS_SHARES", shares.to_string()), ("ENRICHMENT_MONTHLY_CAP_USD", cap.to_owned())];
        let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let refused = app.run_set(&set, &["config", "check"]).await;
        assert!(refused.code != 0 && format!("{}{}", refused.stdout, refused.stderr).contains(why), "{refused:?}");
    }
    app.clear().await;
}

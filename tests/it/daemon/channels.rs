//! Who else reported it.

use serde_json::json;

use crate::support::app::TestApp;
use crate::support::stories::{self, TOLD, UNTOLD, item};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstreams_cluster_names_the_other_channels_three_of_them_shown() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let mut clustered = item("clustered", UNTOLD);
    let member = |channel: &str| json!({"channel": channel, "item_id": format!("{channel}:1")});
    clustered["cluster_id"] = json!("c1");
    clustered["cluster_members"] =
        json!([member("@b"), member("@own"), member("@c"), member("@b"), member("@d"), member("@e")]);
    app.upstream.publish("item.new", &clustered).await;
    let result = app.upstream.result("clustered", 1).await;
    assert_eq!(result["also_reported_by"], json!(["@b", "@c", "@d", "@e"]), "its own channel is no other");
    assert_eq!(result["context"]["digest_lines"][0], "Also reported by: @b, @c, @d");
    assert_eq!(result["tier"], "low", "channels are context, never agreement");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_cluster_similar_recent_items_of_other_channels_are_found() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let told = |id: &str, channel: &str, text: &str| {
        let mut told = item(id, text);
        told["channel"] = json!(channel);
        told["cluster_id"] = if id == "z:1" { json!(null) } else { json!("c7") };
        told
    };
    app.upstream.publish("item.new", &told("a:1", "@a", TOLD)).await;
    let first = app.upstream.result("a:1", 1).await;
    assert_eq!(first["also_reported_by"], json!([]));
    app.upstream
        .publish("item.new", &told("z:1", "@z", "The museum of Brelloch reopens its gallery of clocks on Friday."))
        .await;
    app.upstream.result("z:1", 1).await;
    let alike = format!("Breaking: {TOLD}");
    app.upstream.publish("item.new", &told("b:1", "@b", &alike)).await;
    let second = app.upstream.result("b:1", 1).await;
    assert_eq!(second["also_reported_by"], json!(["@a"]), "{second:#}");
    app.upstream.publish("item.new", &told("b:2", "@b", TOLD)).await;
    let third = app.upstream.result("b:2", 1).await;
    assert_eq!(third["also_reported_by"], json!(["@a"]), "the same channel again is no other");

    // Clusters grow: read later, the first item knows of the second.
    let context = daemon.get("/api/items/a:1/context").await.json();
    assert_eq!(context["also_reported_by"], json!(["@b"]), "{context:#}");
    assert_eq!(context["digest_lines"][0], "Also reported by: @b", "{context:#}");
    app.finish(daemon).await;
}

//! One story of a provider, in every process and at every place that tells it.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, until};
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, TOLD, UNTOLD, item};

async fn disabled(daemon: &Daemon) -> Value {
    daemon.get("/readyz").await.json()["providers"]["disabled"].clone()
}

fn brave(rows: &Value) -> Value {
    rows.as_array().unwrap().iter().find(|row| row["name"] == "brave").unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_without_any_key_is_answered_from_wikipedia() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    for key in ["FACTCHECK_GOOGLE_API_KEY", "ENRICHMENT_SEARXNG_BASE_URL", "ENRICHMENT_BRAVE_API_KEY"] {
        app.unset(key);
    }
    app.set("ENRICHMENT_PROVIDERS", "wikipedia");
    let result = app.run(&["check", "--json", TOLD]).await.json();
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    assert_eq!(result["claims"][0]["evidence"][0]["provider"], "wikipedia", "{result:#}");
    assert_eq!(app.simulator.calls(Target::Searxng) + app.simulator.calls(Target::Brave), 0);
    app.simulator
        .set_fault(Target::Wikipedia, Fault::answer(200, "application/json", r#"{"error":{"code":"maxlag"}}"#));
    let failed = app.run(&["check", UNTOLD]).await;
    assert!(failed.code == 69 && failed.stderr.contains("nothing could be asked"), "{failed:?}");
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_key_is_one_story_everywhere_until_it_is_reset() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let refusal = r#"{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The key was refused","status":422}}"#;
    app.simulator.set_fault(Target::Brave, Fault::answer(422, "application/json", refusal));
    let first = app.start().await;
    app.upstream.publish("item.new", &item("refused", UNTOLD)).await;
    let result = app.upstream.result("refused", 1).await;
    assert!(result["degraded"].as_array().unwrap().contains(&json!("provider_disabled:brave")), "{result:#}");
    assert_eq!(disabled(&first).await, json!(["brave"]));
    let row = brave(&first.get("/api/providers").await.json());
    assert_eq!(row["status"], "disabled", "{row:#}");
    assert!(row["until"].is_string() && row["reason"].as_str().unwrap().contains("key"), "{row:#}");
    assert_eq!(first.log().matches("provider disabled").count(), 1, "one clear line");

    // Written at once: a second process knows before it asked anybody, and commands tell the same.
    let calls = app.simulator.calls(Target::Brave);
    let second = app.start().await;
    assert_eq!(disabled(&second).await, json!(["brave"]));
    assert_eq!(second.log().matches("provider disabled").count(), 0);
    let told = brave(&app.run(&["providers", "--json"]).await.json());
    assert_eq!((&told["status"], &told["until"], &told["reason"]), (&row["status"], &row["until"], &row["reason"]));
    assert!(app.run(&["providers"]).await.ok().lines().any(|line| line.contains("brave") && line.contains("disabled")));
    assert!(app.run(&["doctor"]).await.stdout.contains("brave is disabled until"));
    assert_eq!(app.simulator.calls(Target::Brave), calls, "nobody asked to find out");

    app.simulator.set_fault(Target::Brave, None);
    assert_eq!(second.post("/api/providers/nobody/reset", &json!({})).await.status, 404);
    let answer = second.post("/api/providers/brave/reset", &json!({})).await;
    assert_eq!((answer.status, answer.json()), (200, json!({"provider": "brave", "closed": 1})));
    for daemon in [&first, &second] {
        until("the provider is ready again", async || disabled(daemon).await == json!([])).await;
    }
    assert!(app.run(&["providers", "reset", "brave"]).await.ok().contains("was not paused, so nothing changed"));
    assert_eq!(app.run(&["providers", "reset", "nobody"]).await.code, 2);
    second.stop().await;
    app.finish(first).await;
}

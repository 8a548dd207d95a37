//! New keys and lists, taken over by a daemon that goes on working.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::domains::lists;
use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, until};
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, DISPUTED, ONCE, UNTOLD, searched};

fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Sends SIGHUP and waits for what the daemon says of it, the `count`th time.
async fn reload(daemon: &Daemon, words: &str, count: usize) {
    daemon.signal("HUP");
    until(words, async || daemon.log().matches(words).count() >= count).await;
}

/// The keys Brave was asked with, in order.
fn keys(app: &TestApp) -> Vec<String> {
    let requests = app.simulator.requests(Target::Brave);
    requests.iter().map(|asked| asked.headers["x-subscription-token"].to_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_key_is_asked_with_at_once_and_is_not_blamed_for_the_old_one() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let key = write(&folder, "brave", "the-old-key-0001\n");
    app.unset("ENRICHMENT_BRAVE_API_KEY");
    app.set("ENRICHMENT_BRAVE_API_KEY_FILE", &shown(&key));
    let refusal = r#"{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The key was refused","status":422}}"#;
    app.simulator.set_fault(Target::Brave, Fault::answer(422, "application/json", refusal));
    let daemon = app.start().await;
    let disabled = async || daemon.get("/readyz").await.json()["providers"]["disabled"].clone();
    app.upstream.publish("item.new", &searched("refused", UNTOLD)).await;
    let result = app.upstream.result("refused", 1).await;
    assert!(result["degraded"].as_array().unwrap().contains(&json!("provider_disabled:brave")), "{result:#}");
    assert_eq!(disabled().await, json!(["brave"]));
    let refused = keys(&app).len();
    // A refused key is not tried again by itself: only a new key, or a reset, does that.
    app.simulator.set_fault(Target::Brave, None);
    reload(&daemon, "configuration reloaded without changes", 1).await;
    assert_eq!(disabled().await, json!(["brave"]));

    // A file that cannot be a key leaves the one in force, and says so.
    write(&folder, "brave", "\n");
    reload(&daemon, "ENRICHMENT_BRAVE_API_KEY_FILE", 1).await;
    assert!(daemon.log().contains("keeping the current one"), "{}", daemon.log());
    assert!(daemon.metric("corroborate_job_runs_total", r#"job="reload",outcome="failed""#).await > 0.0);
    assert_eq!(disabled().await, json!(["brave"]));

    write(&folder, "brave", "the-new-key-0002\n");
    reload(&daemon, "keys reloaded", 1).await;
    assert_eq!(disabled().await, json!([]), "another key has refused nobody yet");
    app.upstream.publish("item.new", &searched("asked", ONCE)).await;
    let result = app.upstream.result("asked", 1).await;
    assert_eq!(result["status"], "complete", "{result:#}");
    let asked = keys(&app);
    assert!(asked.len() > refused, "it was asked again");
    assert!(asked.iter().take(refused).all(|key| key == "the-old-key-0001"), "{asked:?}");
    assert!(asked.iter().skip(refused).all(|key| key == "the-new-key-0002"), "{asked:?}");
    let gauge = r#"provider="brave""#;
    until("the gauge shows it", async || daemon.metric("corroborate_provider_circuit_state", gauge).await == 0.0).await;

    // The next key is one more file away, and no restart.
    write(&folder, "brave", "the-next-key-0003");
    reload(&daemon, "keys reloaded", 2).await;
    app.upstream.publish("item.new", &searched("asked once more", DISPUTED)).await;
    app.upstream.result("asked once more", 1).await;
    assert_eq!(keys(&app).last().unwrap(), "the-next-key-0003");
    let log = daemon.log();
    assert!(log.contains("providers.brave.api_key"), "{log}");
    assert!(!log.contains("key-000"), "a key stands in the log: {log}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_lists_of_the_file_are_taken_over_and_the_admins_keep_theirs() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let lists_of = |allowed: &str, denied: &str, more: &str| {
        let text = format!("{more}\n[enrichment]\nallowlist_domains = [{allowed}]\ndenylist_domains = [{denied}]\n");
        write(&folder, "corroborate.toml", &text)
    };
    let file = lists_of(r#""stays.example", "goes.example", "edited.example""#, "", "");
    app.set("CORROBORATE_CONFIG", &shown(&file));
    let daemon = app.start().await;
    let other = app.start_with(&["--no-worker"]).await;
    until("the lists are installed", async || lists(&daemon, "goes.example", "allow").await).await;
    let edited = json!({"domain": "edited.example", "list": "deny", "why": "it was sold"});
    assert!(daemon.post("/api/domains", &edited).await.status < 300);

    lists_of(r#""stays.example", "comes.example""#, r#""harms.example""#, "[worker]\nconcurrency = 3");
    reload(&daemon, "configured domain lists applied", 1).await;
    for (domain, list, on) in [
        ("stays.example", "allow", true),
        ("comes.example", "allow", true),
        ("harms.example", "deny", true),
        ("goes.example", "allow", false),
        ("edited.example", "deny", true),
    ] {
        assert_eq!(lists(&other, domain, list).await, on, "{domain}");
    }
    let log = daemon.log();
    assert!(log.contains("reload skipped domains that an admin edited") && log.contains("edited.example"), "{log}");
    assert!(log.contains("need a restart") && log.contains("worker.concurrency"), "{log}");
    // Another process that reads the same file finds it done, and does nothing twice.
    let written = app.count("domain_rule_changes").await;
    reload(&other, "configured domain lists applied", 1).await;
    assert_eq!(app.count("domain_rule_changes").await, written);

    // A file that is cut off changes nothing.
    std::fs::write(&file, "[enrichment]\nallowlist_domains = [").unwrap();
    reload(&daemon, "keeping the current one", 1).await;
    assert!(lists(&daemon, "comes.example", "allow").await);
    other.stop().await;
    app.finish(daemon).await;
}

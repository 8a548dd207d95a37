//! `--record` and `--replay`: what was asked once is answered again offline, and nothing that is secret is kept.
#![cfg(test)]

use std::path::Path;

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::{Finished, finish};
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, ONCE, TOLD, item};

const KEY: &str = "simulated-key";

fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            *value = json!((number.as_f64().unwrap() * 1e4).round() / 1e4);
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

/// What two runs must agree in: everything but the times.
fn timeless(mut result: Value) -> Value {
    for field in ["enriched_at", "cost", "trace"] {
        result.as_object_mut().unwrap().remove(field);
    }
    round(&mut result);
    result
}

fn files(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

async fn check(app: &TestApp, how: &[&str], claim: &str) -> Finished {
    let mut arguments = vec!["check", "--json"];
    arguments.extend(how);
    arguments.push(claim);
    app.run(&arguments).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_check_is_answered_again_with_everybody_away() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let dir = runs.to_str().unwrap();
    // Known already: the recording must hold everything all the same.
    check(&app, &[], TOLD).await.ok();
    let recorded = check(&app, &["--record", dir, "--record-transient"], TOLD).await;
    assert!(recorded.stderr.contains("exchange(s) recorded in"), "{}", recorded.stderr);
    let first = recorded.json();
    assert_eq!(first["claims"][0]["verdict"], "supported", "{first:#}");
    for text in files(&runs) {
        for form in [KEY, "c2ltdWxhdGVkLWtle", "simulated%2Dkey"] {
            assert!(!text.contains(form), "{form} is in the recordings");
        }
        assert!(text.contains("\"recorded_at\"") && text.contains("/page/"), "{text}");
    }
    let stored = app.count("items").await;
    let calls = app.calls();
    app.simulator.stop().await;
    // Nobody's keys are needed to hear it again.
    app.unset("FACTCHECK_GOOGLE_API_KEY");
    app.unset("ENRICHMENT_BRAVE_API_KEY");
    let again = check(&app, &["--replay", dir], TOLD).await;
    assert_eq!(timeless(again.json()), timeless(first), "{}", again.stderr);
    let twice = check(&app, &["--replay", dir], TOLD).await.json();
    let bare = |mut result: Value| {
        result["cost"].as_object_mut().unwrap().remove("millis");
        result
    };
    assert_eq!(bare(again.json()), bare(twice), "two replays say the same");
    assert_eq!((app.calls(), app.count("items").await), (calls, stored), "nothing is asked, and nothing stored");
    let schemas = "information_schema.schemata WHERE schema_name LIKE 'corroborate_throw_away%'";
    assert_eq!(app.count(schemas).await, 0);
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_recorded_is_named_and_never_taken_for_nothing() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let recorded = check(&app, &["--record", dir], TOLD).await;
    assert!(recorded.stderr.contains("terms forbid storing"), "{}", recorded.stderr);
    recorded.ok();
    assert!(files(folder.path()).iter().all(|text| !text.contains("/brave/")));

    let other = check(&app, &["--replay", dir], ONCE).await;
    assert_eq!(other.code, 69, "nothing could be asked: {}", other.stderr);
    let result: Value = serde_json::from_str(&other.stdout).unwrap();
    assert_eq!(result["status"], "degraded", "{result:#}");
    for provider in ["gdelt", "searxng", "brave", "google_factcheck"] {
        let cause = json!(format!("provider_failed:{provider}"));
        assert!(result["degraded"].as_array().unwrap().contains(&cause), "{provider}: {result:#}");
    }
    assert!(result["trace"].to_string().contains("no recording for GET http://127.0.0.1"), "{result:#}");
    assert!(other.stderr.contains("no recording for GET http://127.0.0.1"), "{}", other.stderr);
    assert!(!other.stderr.contains(KEY) && !other.stdout.contains(KEY));

    // A page that is not there any more: what is left is not the whole.
    let name = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&name).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("/page/1\"")).collect();
    assert_eq!(lines.len() + 1, text.lines().count());
    std::fs::write(&name, lines.join("\n")).unwrap();
    let less = check(&app, &["--replay", dir], TOLD).await;
    let result = less.json();
    assert!(result["degraded"].as_array().unwrap().contains(&json!("pages_failed")), "{result:#}");
    assert!(less.stderr.contains("/page/1"), "{}", less.stderr);
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_items_and_a_daemon_replay_too() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.unset("ENRICHMENT_BRAVE_API_KEY");
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    app.simulator.set_fault(Target::Searxng, Fault::status(503).times(1));
    let lines = format!("{}\n{}\n", item("a", TOLD), item("b", ONCE));
    let recorded = app.run_with(&["enrich", "-", "--record", dir], &lines).await;
    app.simulator.stop().await;
    let replayed = app.run_with(&["enrich", "-", "--replay", dir], &lines).await;
    let results = |done: &Finished| -> Vec<Value> {
        let mut results: Vec<Value> =
            done.ok().lines().map(|line| timeless(serde_json::from_str(line).unwrap())).collect();
        results.sort_by_key(|result| result["item_id"].to_string());
        results
    };
    assert_eq!(results(&replayed), results(&recorded), "{}", replayed.stderr);

    let daemon = app.start_with(&["--replay", dir]).await;
    app.upstream.publish("item.new", &item("a", TOLD)).await;
    let result = app.upstream.result("a", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    daemon.stop().await;
    app.upstream.assert_drained().await;
    assert_eq!(app.count("pg_tables WHERE tablename = 'items' AND schemaname <> 'public'").await, 0);
    app.clear().await;
}

#[tokio::test]
async fn wrong_calls_are_told_before_work_begins() {
    let alone = async |arguments: &[&str]| finish(&[], arguments, "").await;
    let both = alone(&["check", "--record", "a", "--replay", "b", "x"]).await;
    assert_eq!(both.code, 2, "{}", both.stderr);
    assert_eq!(alone(&["check", "--record-transient", "x"]).await.code, 2);
    let unwritable = alone(&["check", "--record", "/proc/nowhere", "It rained."]).await;
    assert_eq!(unwritable.code, 1);
    assert!(
        unwritable.stderr.contains("--record") && unwritable.stderr.contains("/proc/nowhere"),
        "{}",
        unwritable.stderr
    );
    let empty = tempfile::tempdir().unwrap();
    let nothing = alone(&["check", "--replay", empty.path().to_str().unwrap(), "It rained."]).await;
    assert_eq!(nothing.code, 1);
    assert!(nothing.stderr.contains("no recordings in"), "{}", nothing.stderr);
    for command in ["check", "enrich", "serve"] {
        let help = alone(&[command, "--help"]).await;
        assert!(help.ok().contains("--record <DIR>") && help.stdout.contains("--replay <DIR>"), "{}", help.stdout);
    }
}

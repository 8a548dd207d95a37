//! `rescore`: what the demo stored, judged again.
#![cfg(all(test, feature = "embedded"))]

use serde_json::Value;

use crate::support::app::TestApp;
use crate::support::daemon::finish;
use crate::support::stories::{self, TOLD, item};

/// Runs it on the store of a demo that was run in that folder.
async fn rescored(folder: &std::path::Path, config: &str, arguments: &[&str]) -> Value {
    let file = folder.join("settings.toml");
    std::fs::write(&file, config).unwrap();
    let data = folder.join("demo");
    let environment = [("CORROBORATE_DATA_DIR".to_owned(), data.to_str().unwrap().to_owned())];
    let all: Vec<&str> =
        ["--config", file.to_str().unwrap(), "--json", "rescore"].iter().chain(arguments).copied().collect();
    finish(&environment, &all, "").await.json()
}

fn count(found: &Value, key: &str) -> u64 {
    found[key].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_the_same_settings_change_nothing_and_others_only_what_follows_from_them() {
    let folder = tempfile::tempdir().unwrap();
    let environment = [("CORROBORATE_DATA_DIR".to_owned(), folder.path().to_str().unwrap().to_owned())];
    finish(&environment, &["demo"], "").await.ok();

    let same = rescored(folder.path(), "", &[]).await;
    assert!(count(&same, "items") >= 24 && count(&same, "changed") == 0, "{same:#}");

    // Nothing is refuted any more by what was sure enough before.
    let strict = "[scoring.verdict]\nrefute = 1.0\n";
    let shown = rescored(folder.path(), strict, &["--dry-run"]).await;
    let gone = |found: &Value| {
        let changes = found["changes"].as_array().unwrap().clone();
        changes
            .iter()
            .filter(|change| change["before"]["verdict"] == "refuted" && change["after"]["verdict"] != "refuted")
            .count()
    };
    assert!(gone(&shown) > 0, "{shown:#}");
    assert_eq!(count(&rescored(folder.path(), "", &[]).await, "changed"), 0, "a dry run writes nothing");
    let written = rescored(folder.path(), strict, &[]).await;
    assert_eq!(written["changes"], shown["changes"], "what was shown is what is done");
    assert_eq!(count(&rescored(folder.path(), strict, &[]).await, "changed"), 0, "done once it is done");

    // The way back leads to where it began.
    let back = rescored(folder.path(), "", &[]).await;
    assert_eq!(count(&back, "changed"), count(&written, "changed"));
    for (there, here) in written["changes"].as_array().unwrap().iter().zip(back["changes"].as_array().unwrap()) {
        assert_eq!((&there["before"], &there["after"]), (&here["after"], &here["before"]));
    }

    // With nobody allowed, only what needs no passage still stands.
    let nobody = rescored(folder.path(), "[enrichment]\nallowlist_only = true\n", &["--dry-run"]).await;
    let changes = nobody["changes"].as_array().unwrap();
    assert!(changes.iter().any(|change| change["after"]["verdict"] == "not_enough_evidence"), "{nobody:#}");

    let none = rescored(folder.path(), "", &["--since", "2999-01-01"]).await;
    assert_eq!(count(&none, "items"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_named_and_costs_only_itself() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    for (id, text) in [("first", TOLD.to_owned()), ("second", TOLD.replace("4200", "4,200"))] {
        app.upstream.publish("item.new", &item(id, &text)).await;
        app.upstream.result(id, 1).await;
    }
    daemon.stop().await;
    let broken = "UPDATE items SET result = jsonb_set(result, '{claims}', '\"none\"') WHERE item_id = 'first'";
    sqlx::query(broken).execute(&app.database).await.unwrap();
    let done = app.run(&["--json", "rescore"]).await;
    assert_eq!(done.code, 1, "{done:?}");
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&told["items"], &told["left"][0]["item_id"]), (&1.into(), &"first".into()), "{told:#}");
    assert!(done.stderr.contains("1 item(s) were left as they are"), "{}", done.stderr);
    app.clear().await;
}

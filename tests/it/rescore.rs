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

    // Without allowed domains, only what needs no passage is left.
    let strict = "[enrichment]\nallowlist_only = true\n";
    let shown = rescored(folder.path(), strict, &["--dry-run"]).await;
    let changes = shown["changes"].as_array().unwrap();
    assert!(changes.iter().any(|change| change["after"]["verdict"] == "not_enough_evidence"), "{shown:#}");
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

/// Two items judged, and both stored with a score that is not theirs: judging them again changes both.
async fn two_with_another_score() -> Option<TestApp> {
    let app = TestApp::new(stories::world()).await?;
    let daemon = app.start().await;
    for (id, text) in [("first", TOLD.to_owned()), ("second", TOLD.replace("4200", "4,200"))] {
        app.upstream.publish("item.new", &item(id, &text)).await;
        app.upstream.result(id, 1).await;
    }
    daemon.stop().await;
    let other = "UPDATE items SET result = jsonb_set(result, '{claims,0,score}', '1')";
    sqlx::query(other).execute(&app.database).await.unwrap();
    Some(app)
}

/// The score in the item's stored result.
async fn stored_score(app: &TestApp, id: &str) -> i32 {
    let score = "SELECT (result #>> '{claims,0,score}')::integer FROM items WHERE item_id = $1";
    sqlx::query_scalar(score).bind(id).fetch_one(&app.database).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_tells_what_the_store_would_refuse() {
    let Some(app) = two_with_another_score().await else { return };
    // Only a model's verdict can be conclusive. No passage supports the first verdict.
    let bare = "UPDATE items SET result = jsonb_set(result, '{claims,0,decision,table}', '\"model\"');
        UPDATE item_evidence SET judge = 'model:test';
        UPDATE item_evidence SET stance = 'neutral' WHERE item_id = 'first'";
    sqlx::raw_sql(bare).execute(&app.database).await.unwrap();
    let mut told: Vec<Value> = Vec::new();
    for dry_run in [true, false] {
        let arguments: &[&str] = if dry_run { &["--json", "rescore", "--dry-run"] } else { &["--json", "rescore"] };
        let done = app.run(arguments).await;
        assert_eq!(done.code, 1, "{done:?}");
        told.push(serde_json::from_str(&done.stdout).unwrap());
        assert_eq!(stored_score(&app, "first").await, 1, "what is refused is left as it was");
        assert_eq!(stored_score(&app, "second").await == 1, dry_run, "and costs only itself");
    }
    let left = &told[0]["left"][0];
    assert_eq!(
        (&left["item_id"], &told[0]["changed"], &told[0]["complete"]),
        (&"first".into(), &1.into(), &true.into())
    );
    assert!(left["why"].as_str().is_some_and(|why| why.contains("without a stored passage")), "{left}");
    assert_eq!((&told[0]["left"], &told[0]["changes"]), (&told[1]["left"], &told[1]["changes"]));
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_before_a_failure_is_told_and_the_rest_is_done_later() {
    let Some(app) = two_with_another_score().await else { return };
    let full = "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no room left' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER no_room BEFORE UPDATE ON items FOR EACH ROW WHEN (old.item_id = 'second') EXECUTE FUNCTION no_room()";
    sqlx::raw_sql(full).execute(&app.database).await.unwrap();
    let broken = app.run(&["--json", "rescore"]).await;
    assert_ne!(broken.code, 0, "{broken:?}");
    let told: Value = serde_json::from_str(&broken.stdout).unwrap();
    assert_eq!((&told["complete"], &told["changed"]), (&false.into(), &1.into()), "{told:#}");
    assert_ne!(stored_score(&app, "first").await, 1);
    assert_eq!(stored_score(&app, "second").await, 1);
    sqlx::raw_sql("DROP TRIGGER no_room ON items; DROP FUNCTION no_room()").execute(&app.database).await.unwrap();
    let rest: Value = app.run(&["--json", "rescore"]).await.json();
    assert_eq!((&rest["complete"], &rest["changed"]), (&true.into(), &1.into()), "{rest:#}");
    assert_ne!(stored_score(&app, "second").await, 1);
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_listens_hears_of_another_answer_and_why() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("changed", TOLD)).await;
    let told = app.upstream.result("changed", 1).await;
    assert_eq!(told["claims"][0]["verdict"], "supported");
    app.settled(&daemon).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "[enrichment]\nallowlist_only = true\n").unwrap();
    let arguments = ["--config", file.to_str().unwrap(), "--json", "rescore"];
    app.run(&[&arguments[..], &["--dry-run"]].concat()).await.ok();
    let done = app.run(&arguments).await.json();
    assert_eq!(count(&done, "changed"), 1, "{done:#}");
    let heard = app.upstream.hear("the item", 1, |heard| heard.key == "item.updated").await;
    assert_eq!(heard[0].body["why"], "settings", "{:#}", heard[0].body);
    assert_eq!(heard[0].body["result"]["claims"][0]["verdict"], "not_enough_evidence");
    let heard = app.upstream.hear("the claim", 1, |heard| heard.key == "claim.changed").await;
    let (before, after) = (&heard[0].body["before"], &heard[0].body["after"]);
    assert_eq!((&before["verdict"], &after["verdict"]), (&"supported".into(), &"not_enough_evidence".into()));
    assert_eq!(heard[0].body["claim_id"], told["claims"][0]["claim_id"]);
    // The same again changes nothing, and tells nothing.
    assert_eq!(count(&app.run(&arguments).await.json(), "changed"), 0);
    app.settled(&daemon).await;
    assert_eq!(app.upstream.all(|heard| heard.key.ends_with(".changed")).await.len(), 1);
    let earlier = daemon.get("/evidence/changed").await.body;
    assert!(earlier.contains("Supported"), "the page shows what it was: {earlier}");
    app.finish(daemon).await;
}

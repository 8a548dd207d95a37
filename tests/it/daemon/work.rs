//! An item's way from upstream through the daemon and back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::schema;
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, item, searched};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_becomes_a_stored_result_that_upstream_hears_of() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let text = format!("{TOLD} {}", stories::REVIEWED);
    let body = item("tg:own:1", &text).to_string();
    let reply_to = app.upstream.reply_to().to_owned();
    app.upstream
        .publish_as("item.new", body.as_bytes(), |properties| {
            let to = properties.with_reply_to(reply_to.as_str().into()).with_correlation_id("asked-1".into());
            to.with_message_id("message-1".into())
        })
        .await;

    let result = app.upstream.result("tg:own:1", 1).await;
    assert_eq!(result["status"], "complete", "{result:#}");
    assert_eq!(result["message_id"], "message-1");
    let claims = result["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 2, "{claims:#?}");
    assert_eq!(claims[0]["verdict"], "supported", "{:#}", claims[0]);
    assert_eq!((&claims[0]["tier"], &claims[0]["judge"]), (&json!("high"), &json!("rules")));
    assert_eq!(claims[1]["verdict"], "refuted", "{:#}", claims[1]);
    assert_eq!(claims[1]["judge"], "fact_check");
    let lines = result["context"]["digest_lines"].to_string();
    assert!(lines.contains(&format!("Related fact-check: {}", stories::REVIEW_URL)), "{lines}");
    assert!(lines.contains("Evidence: 3 sources, confidence: High"), "{lines}");
    assert!(result["trace"].as_array().unwrap().len() > 5);

    let schema = app.run(&["schema", "result"]).await.json();
    assert_eq!(schema::faults(&schema, &result), Vec::<String>::new());

    let reply = app.upstream.reply().await;
    assert_eq!(reply.correlation_id.as_deref(), Some("asked-1"));
    assert_eq!(reply.body, result);
    let signals = app.upstream.hear("a signal per claim", 2, |heard| heard.key.starts_with("claim.")).await;
    for claim in claims {
        let signal = signals.iter().find(|signal| signal.body["claim_id"] == claim["claim_id"]).expect("a signal");
        assert_eq!(signal.body["item_id"], "tg:own:1");
        assert_eq!(signal.body["verdict"], claim["verdict"]);
        assert_eq!(signal.body["confidence"], claim["confidence"]);
        let key = match (claim["verdict"].as_str().unwrap(), claim["decisive"].as_bool().unwrap()) {
            ("supported", true) => "claim.verified",
            ("refuted", true) => "claim.contradicted",
            _ => "claim.contested",
        };
        assert_eq!(signal.key, key);
    }

    for table in [
        "items WHERE status = 'complete' AND fact_check_tier = 'high' AND embedding IS NOT NULL AND evaluated_at IS NOT NULL",
        "claims WHERE verdict = 'supported' AND features IS NOT NULL AND justification <> ''",
        "item_fact_checks WHERE relation = 'same' AND rating_class = 'false' AND claim_id IS NOT NULL",
        "fact_check_cache WHERE expires_at > cached_at",
        "evidence_sources WHERE raw_text <> '' AND content_hash IS NOT NULL AND expires_at > fetched_at",
        "evidence_claims WHERE avg_relevance > 0",
        "item_evidence WHERE stance = 'supports' AND entail >= 0.6 AND passage <> '' AND independent_group <> ''",
        "domain_rules",
        "domain_rule_changes WHERE action = 'install'",
    ] {
        assert!(app.count(table).await > 0, "no row: {table}");
    }
    until("usage is written", async || app.count("provider_usage WHERE requests > 0").await > 0).await;
    assert!(daemon.log().contains("tg:own:1"), "an item has its line in the log:\n{}", daemon.log());
    assert!(!daemon.log().contains("simulated-key"), "a key stands in the log");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_message_again_changes_nothing_and_costs_no_call() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("again", TOLD)).await;
    let first = app.upstream.result("again", 1).await;
    let calls = app.calls();
    assert!(app.searches() > 0 && app.simulator.calls(Target::Page) >= 3);
    let rows: Vec<i64> = rows(&app).await;

    for _ in 0..3 {
        app.upstream.publish("item.new", &item("again", TOLD)).await;
    }
    app.settled(&daemon).await;
    // Something behind it in the queue is done: it was looked at, not merely late.
    app.upstream.publish("item.new", &item("behind", stories::UNTOLD)).await;
    app.upstream.result("behind", 1).await;
    app.upstream.result("again", 1).await;
    let after = app.simulator.calls(Target::Page);
    assert_eq!(app.simulator.page_calls(1), 1);
    assert!(after >= 3 && app.calls() > calls, "only the other item asked");
    assert_eq!(app.count("items WHERE item_id = 'again'").await, 1);
    assert_eq!(rows, self::rows(&app).await);
    let stored = daemon.get("/api/items/again").await.json();
    assert_eq!(stored["enriched_at"], first["enriched_at"]);

    // The same page through another item is not fetched again.
    app.upstream.publish("item.new", &item("same event", TOLD)).await;
    assert_eq!(app.upstream.result("same event", 1).await["claims"][0]["verdict"], "supported");
    assert_eq!(app.simulator.page_calls(1), 1);
    app.finish(daemon).await;
}

/// Rows about the item `again`.
async fn rows(app: &TestApp) -> Vec<i64> {
    let mut rows = Vec::new();
    for table in ["items", "claims", "item_evidence", "item_fact_checks", "item_phases"] {
        rows.push(app.count(&format!("{table} WHERE item_id = 'again'")).await);
    }
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edited_text_is_judged_anew() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("edited", TOLD)).await;
    assert_eq!(app.upstream.result("edited", 1).await["claims"][0]["verdict"], "supported");
    app.upstream.publish("item.new", &item("edited", stories::UNTOLD)).await;
    let second = app.upstream.result("edited", 2).await;
    assert_eq!(second["claims"][0]["text"], stories::UNTOLD);
    assert_eq!(second["claims"][0]["verdict"], "not_enough_evidence");
    assert_eq!(app.count("claims WHERE item_id = 'edited'").await, 1, "claims of the old text are gone");
    assert_eq!(app.count("item_evidence WHERE item_id = 'edited' AND stance = 'supports'").await, 0);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn phase_1_does_not_stand_in_for_phase_2_but_phase_2_contains_it() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("factcheck.new", &item("both", TOLD)).await;
    let first = app.upstream.result("both", 1).await;
    assert_eq!(app.searches(), 0, "phase 1 searches nothing");
    assert!(app.simulator.calls(Target::GoogleFactCheck) > 0);
    assert!(notes(&first).contains(&"phase1_only".to_owned()), "{first:#}");
    assert_eq!(first["claims"][0]["evidence"], json!([]));

    app.upstream.publish("item.new", &item("both", TOLD)).await;
    let second = app.upstream.result("both", 2).await;
    assert_eq!(second["claims"][0]["verdict"], "supported");
    assert!(app.searches() > 0);

    // And Phase 1 once more adds nothing to what Phase 2 found.
    let calls = app.calls();
    app.upstream.publish("factcheck.again", &item("both", TOLD)).await;
    app.upstream.publish("factcheck.new", &item("behind", stories::REVIEWED)).await;
    assert_eq!(app.upstream.result("behind", 1).await["claims"][0]["verdict"], "refuted");
    app.upstream.result("both", 2).await;
    assert_eq!(app.calls(), calls + 1, "one lookup, for the other item");
    assert_eq!(app.count("item_evidence WHERE item_id = 'both' AND stance = 'supports'").await, 3);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_important_is_done_before_what_waited_longer() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.set("WORKER_CONCURRENCY", "1");
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_secs(8)));
    app.upstream.publish("item.new", &searched("first", TOLD)).await;
    until("the first is in work", async || app.simulator.calls(Target::Searxng) > 0).await;
    for number in 0..3 {
        app.upstream.publish("item.new", &item(&format!("waits {number}"), ONCE)).await;
    }
    app.upstream.publish("important.new", &item("important", DISPUTED)).await;
    app.simulator.set_fault(Target::Searxng, None);
    for number in 0..3 {
        app.upstream.result(&format!("waits {number}"), 1).await;
    }
    let done = "SELECT item_id FROM items ORDER BY enriched_at";
    let done: Vec<String> = sqlx::query_scalar(done).fetch_all(&app.database).await.unwrap();
    assert_eq!(done, ["first", "important", "waits 0", "waits 1", "waits 2"]);
    let result = app.upstream.result("important", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "contested", "it is searched for like any other: {result:#}");
    app.finish(daemon).await;
}

pub(super) fn notes(result: &Value) -> Vec<String> {
    let mut notes: Vec<String> =
        result["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned()).collect();
    notes.sort();
    notes
}

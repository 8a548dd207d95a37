//! "Low because we could not ask" is not "low because nobody reports it" (`docs/scoring.md`, rule 3; the core document's section on
//! degradation).

use std::time::Duration;

use serde_json::{Value, json};

use super::work::notes;
use crate::support::app::TestApp;
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, UNTOLD, item};

fn degraded(result: &Value) -> Vec<String> {
    result["degraded"].as_array().unwrap().iter().map(|cause| cause.as_str().unwrap().to_owned()).collect()
}

/// A low item without evidence: no bullets, no evidence line, no score.
fn assert_low_and_silent(result: &Value) {
    assert_eq!(result["tier"], "low", "{result:#}");
    assert_eq!(result["score"], Value::Null);
    assert_eq!(result["claims"][0]["verdict"], "not_enough_evidence");
    assert_eq!(result["context"]["evidence"], json!([]));
    assert!(!result["context"]["digest_lines"].to_string().contains("Evidence:"), "{result:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_found_is_low_complete_and_says_so() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("untold", UNTOLD)).await;
    let result = app.upstream.result("untold", 1).await;
    assert_low_and_silent(&result);
    assert_eq!((&result["status"], degraded(&result)), (&json!("complete"), Vec::new()));
    assert_eq!(notes(&result), ["no_corroboration", "no_sources"]);
    for provider in ["gdelt", "searxng", "brave"] {
        assert!(result["sources_checked"].as_array().unwrap().contains(&json!(provider)), "{provider} was asked");
    }
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_source_is_medium_and_a_lean_at_most() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("once", ONCE)).await;
    let result = app.upstream.result("once", 1).await;
    assert_eq!((&result["status"], &result["tier"]), (&json!("complete"), &json!("medium")), "{result:#}");
    assert_eq!(
        (&result["claims"][0]["verdict"], &result["claims"][0]["decisive"]),
        (&json!("supported"), &json!(false)),
        "{result:#}"
    );
    assert_eq!(notes(&result), ["single_source", "words_only"], "no model is at work in these tests");
    assert!(result["score"].as_u64().unwrap() <= 69);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_that_disagree_make_it_low_with_a_note() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("disputed", DISPUTED)).await;
    let result = app.upstream.result("disputed", 1).await;
    assert_eq!((&result["status"], &result["tier"]), (&json!("complete"), &json!("low")), "{result:#}");
    assert_eq!(result["contradiction"], json!(true));
    assert!(notes(&result).contains(&"conflicting_sources".to_owned()), "{result:#}");
    assert_eq!(result["claims"][0]["verdict"], "contested");
    assert_eq!(result["claims"][0]["decisive"], json!(false));
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_cannot_be_asked_degrades_the_item_until_it_is_asked_again() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    // Open breakers close after this; a person waits ten minutes, a test does not.
    app.set("ENRICHMENT_PROVIDER_COOLDOWN", "1s");
    let daemon = app.start().await;
    let prose = "Please limit requests to one every 5 seconds.\n";
    let faults: [(&str, Fault); 4] = [
        ("down", Fault::outage()),
        ("failing", Fault::status(503)),
        ("throttled", Fault::status(429).retry_after("1")),
        ("prose", Fault::answer(200, "text/html", prose)),
    ];
    for (name, fault) in faults {
        for target in [Target::Gdelt, Target::Searxng, Target::Brave] {
            app.simulator.set_fault(target, fault.clone());
        }
        app.upstream.publish("item.new", &item(name, TOLD)).await;
        let result = app.upstream.result(name, 1).await;
        assert_low_and_silent(&result);
        assert_eq!(result["status"], "degraded", "{name}: {result:#}");
        let causes = degraded(&result);
        for provider in ["gdelt", "searxng", "brave"] {
            assert!(causes.iter().any(|cause| cause.ends_with(&format!(":{provider}"))), "{name}: {causes:?}");
        }
        assert!(notes(&result).contains(&"degraded".to_owned()), "{name}: {result:#}");
        assert_eq!(app.count(&format!("items WHERE item_id = '{name}' AND cardinality(degraded) > 0")).await, 1);
    }
    assert_eq!(app.simulator.calls(Target::Page), 0);

    for target in [Target::Gdelt, Target::Searxng, Target::Brave] {
        app.simulator.set_fault(target, None);
    }
    // The providers rest for a second; until then a new run is degraded as well, and may be repeated again.
    let mut runs = 1;
    loop {
        app.upstream.publish("item.new", &item("prose", TOLD)).await;
        runs += 1;
        let again = app.upstream.result("prose", runs).await;
        if again["status"] == "complete" {
            assert_eq!(again["claims"][0]["verdict"], "supported", "{again:#}");
            assert_eq!(again["tier"], "high");
            break;
        }
        assert!(runs < 40, "the providers are back and still not asked: {again:#}");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_another_makes_up_for_degrades_nothing() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Searxng, Fault::status(503));
    app.upstream.publish("item.new", &item("made up for", TOLD)).await;
    let result = app.upstream.result("made up for", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    // Three sites are all there are, fewer than an item may read: not everything could be asked, and the row says so.
    assert_eq!(degraded(&result), ["provider_failed:searxng"]);
    assert_ne!(result["tier"], "high", "a degraded item is never high");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fact_checker_that_cannot_be_asked_is_no_clean_bill() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator.set_fault(Target::GoogleFactCheck, Fault::status(500));
    app.upstream.publish("factcheck.new", &item("unchecked", stories::REVIEWED)).await;
    let result = app.upstream.result("unchecked", 1).await;
    assert_eq!(result["status"], "degraded", "{result:#}");
    assert!(degraded(&result).iter().all(|cause| cause.ends_with(":google_factcheck")), "{result:#}");
    assert_eq!(result["fact_checks"], json!([]));
    assert_eq!(app.count("fact_check_cache").await, 0, "a failure is not remembered as an answer");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_whose_time_is_up_goes_on_with_what_there_is() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    for target in [Target::Gdelt, Target::Searxng, Target::Brave] {
        app.simulator.set_fault(target, Fault::slow(Duration::from_secs(20)));
    }
    let mut slow = item("slow", TOLD);
    slow["options"] = json!({"max_seconds": 1});
    app.upstream.publish("item.new", &slow).await;
    let result = app.upstream.result("slow", 1).await;
    assert_low_and_silent(&result);
    assert_eq!(result["status"], "degraded");
    assert!(degraded(&result).contains(&"deadline".to_owned()), "{result:#}");
    let millis = result["cost"]["millis"].as_u64().unwrap();
    assert!(millis < 5_000, "it had one second and took {millis} ms");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_cannot_be_read_are_kept_as_such_and_decide_nothing() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Page, Fault::status(500));
    app.upstream.publish("item.new", &item("unread", TOLD)).await;
    let result = app.upstream.result("unread", 1).await;
    assert_low_and_silent(&result);
    assert_eq!(degraded(&result), ["no_page_read"], "{result:#}");
    assert_eq!(app.count("evidence_sources WHERE extraction_failed").await, 3);
    assert_eq!(app.count("item_evidence WHERE item_id = 'unread'").await, 0);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_any_search_provider_the_row_says_so() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.unset("ENRICHMENT_SEARXNG_BASE_URL");
    app.unset("ENRICHMENT_BRAVE_API_KEY");
    app.set("ENRICHMENT_PROVIDERS", "opensearch");
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("unasked", TOLD)).await;
    let result = app.upstream.result("unasked", 1).await;
    assert_low_and_silent(&result);
    assert_eq!(degraded(&result), ["no_provider"]);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn phase_1_works_alone_when_enrichment_is_off() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    app.set("ENRICHMENT_ENABLED", "false");
    let daemon = app.start().await;
    let mut reviewed = item("phase 1", stories::REVIEWED);
    reviewed["cluster_members"] = json!([{"channel": "@other", "item_id": "o:1"}]);
    app.upstream.publish("item.new", &reviewed).await;
    let result = app.upstream.result("phase 1", 1).await;
    assert_eq!(result["status"], "complete", "{result:#}");
    assert_eq!(result["also_reported_by"], json!(["@other"]));
    assert_eq!(result["fact_checks"][0]["url"], stories::REVIEW_URL);
    assert_eq!(result["claims"][0]["judge"], "fact_check");
    assert_eq!(
        result["context"]["digest_lines"],
        json!(["Also reported by: @other", format!("Related fact-check: {}", stories::REVIEW_URL)])
    );
    assert!(notes(&result).contains(&"phase1_only".to_owned()));
    assert_eq!((app.searches(), app.simulator.calls(Target::Page)), (0, 0));
    app.finish(daemon).await;
}

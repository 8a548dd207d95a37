//! Our own stored evidence: what was read for one item answers the next one, for as long as it may.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, ONCE, TOLD, TOLD_PAGES, item};

fn says(result: &Value, part: &str) -> bool {
    result["trace"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(part))
}

/// Origins of the shown evidence that takes a side.
fn origins(result: &Value) -> Vec<&str> {
    let rows = result["claims"][0]["evidence"].as_array().unwrap();
    let mut origins: Vec<&str> =
        rows.iter().filter(|row| row["stance"] != "neutral").map(|row| row["origin"].as_str().unwrap()).collect();
    origins.sort_unstable();
    origins.dedup();
    origins
}

async fn told(app: &TestApp, id: &str) -> Value {
    app.upstream.publish("item.new", &item(id, TOLD)).await;
    app.upstream.result(id, 1).await
}

/// The first item about the story: it is searched for.
async fn first(app: &TestApp) {
    let result = told(app, "first").await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    assert_eq!(origins(&result), ["web"]);
    assert!(app.searches() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_item_about_a_story_is_answered_from_knowledge_and_says_so() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    first(&app).await;
    let (searches, pages) = (app.searches(), app.simulator.calls(Target::Page));
    assert_eq!(app.count("evidence_claims WHERE access_count > 0").await, 0, "nothing was looked up yet");

    let second = told(&app, "second").await;
    assert_eq!(second["claims"][0]["verdict"], "supported", "{second:#}");
    assert_eq!((&second["tier"], &second["status"]), (&json!("high"), &json!("complete")));
    assert_eq!((app.searches(), app.simulator.calls(Target::Page)), (searches, pages), "nobody was asked");
    assert_eq!(second["cost"]["provider_calls"], json!({}), "a look into our own store is no call");
    assert_eq!(origins(&second), ["kb"]);
    assert!(says(&second, "knowledge: suffices"), "{second:#}");
    assert!(second["sources_checked"].as_array().unwrap().contains(&json!("knowledge")));
    let used = "evidence_counters WHERE access_count = 1 AND relevance > 0";
    // Counted behind the item, for many at a time.
    until("the uses are counted", async || app.count("evidence_uses").await == 0).await;
    let after_second = app.count(used).await;
    assert!(after_second >= 3, "what was of use is counted: {after_second}");
    let bearing = app.count("evidence_counters WHERE verification_count = 1").await;
    assert!(bearing >= 2 && bearing <= after_second, "what bore the verdict is counted: {bearing}");
    assert_eq!(app.count("evidence_claims WHERE embedder <> 'hashed-ngrams'").await, 0);

    // The same message again counts nothing; a third item does.
    app.upstream.publish("item.new", &item("second", TOLD)).await;
    told(&app, "third").await;
    until("the uses are counted", async || app.count("evidence_uses").await == 0).await;
    assert_eq!(app.count("evidence_counters WHERE access_count = 1").await, 0);
    assert_eq!(app.count("evidence_counters WHERE access_count = 2").await, after_second);

    // Counters outlive the process, and an item that wants a search gets one.
    daemon.stop().await;
    let daemon = app.start().await;
    // No row with a vector was written anew for that, until clean-up brings their counters up to date.
    let rewritten = "pg_stat_user_tables WHERE relname = 'evidence_claims' AND n_tup_upd > 0";
    assert_eq!(app.count(rewritten).await, 0);
    app.run(&["cleanup"]).await.ok();
    let settled = "evidence_claims WHERE access_count = 2 AND last_accessed IS NOT NULL AND avg_relevance > 0";
    assert_eq!((app.count(settled).await, app.count("evidence_counters").await), (after_second, 0));
    until("the server's counts say so", async || app.count(rewritten).await == 1).await;
    let mut searched = item("searched", TOLD);
    searched["source_types"] = json!(["web"]);
    app.upstream.publish("item.new", &searched).await;
    let result = app.upstream.result("searched", 1).await;
    assert!(app.searches() > searches);
    assert_eq!(origins(&result), ["web"]);
    assert!(!result["sources_checked"].as_array().unwrap().contains(&json!("knowledge")), "{result:#}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_stored_source_is_not_enough_and_the_search_goes_on() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("once", ONCE)).await;
    app.upstream.result("once", 1).await;
    let searches = app.searches();
    app.upstream.publish("item.new", &item("once more", ONCE)).await;
    let result = app.upstream.result("once more", 1).await;
    assert!(says(&result, "not sufficient: one source only is stored"), "{result:#}");
    assert_eq!(result["claims"][0]["decisive"], json!(false), "a lean at most");
    // The same questions were put minutes ago and their answers are remembered; the providers count as asked all the same.
    assert!(app.searches() >= searches && result["sources_checked"].as_array().unwrap().contains(&json!("searxng")));
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_or_denied_page_is_not_known() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    first(&app).await;
    for page in TOLD_PAGES {
        let url: url::Url = app.simulator.page_url(page).parse().unwrap();
        let rule = json!({"domain": url.host_str().unwrap(), "list": "deny"});
        assert_eq!(daemon.post("/api/domains", &rule).await.status, 201);
    }
    until("nothing of it is used", async || {
        let result = told(&app, &format!("denied {}", rand::random::<u32>())).await;
        result["claims"][0]["evidence"] == json!([]) && !says(&result, "knowledge: suffices")
    })
    .await;
    for page in TOLD_PAGES {
        let url: url::Url = app.simulator.page_url(page).parse().unwrap();
        let path = format!("/api/domains/{}", url.host_str().unwrap());
        assert_eq!(daemon.send("DELETE", &path, &[], "").await.status, 200);
    }
    until("it is known again", async || {
        says(&told(&app, &format!("back {}", rand::random::<u32>())).await, "knowledge: suffices")
    })
    .await;
    // A page is left alone once it has expired, though it still lies there.
    sqlx::query("UPDATE evidence_sources SET expires_at = now() - interval '1 minute' WHERE origin = 'web'")
        .execute(&app.database)
        .await
        .unwrap();
    let result = told(&app, "expired").await;
    assert!(!says(&result, "knowledge: suffices"), "{result:#}");
    assert!(origins(&result) == ["web"], "it was read again: {result:#}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_seed_facts_are_there_from_the_start_and_outlive_a_clean_up() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let seeds = "evidence_sources WHERE origin = 'kb'";
    assert_eq!(app.count(seeds).await, 10);
    assert_eq!(app.count("evidence_claims").await, 10);
    app.upstream.publish("item.new", &json!({
        "schema": 1, "item_id": "flat", "text": "The Earth is flat.", "language": "en", "source_types": ["knowledge"],
    })).await;
    let result = app.upstream.result("flat", 1).await;
    assert_eq!(app.searches(), 0, "only our own knowledge was wanted");
    assert_eq!(result["claims"][0]["verdict"], "refuted", "{result:#}");
    assert_eq!(origins(&result), ["kb"]);
    assert_eq!(result["degraded"], json!([]), "what was not wanted is not missed");
    assert!(result["claims"][0]["evidence"][0]["url"].as_str().unwrap().starts_with("https://oceanservice.noaa.gov/"));
    until("the use is counted", async || app.count("evidence_uses").await == 0).await;
    app.run(&["cleanup"]).await.ok();
    daemon.stop().await;

    // An embedder that was changed: the facts are re-embedded, with their counters.
    let changed = "UPDATE evidence_claims SET embedder = 'another'";
    sqlx::query(changed).execute(&app.database).await.unwrap();
    let counted = app.count("evidence_claims WHERE access_count > 0").await;
    assert_eq!(counted, 1);
    sqlx::query("DELETE FROM evidence_sources WHERE domain = 'un.org'").execute(&app.database).await.unwrap();
    let daemon = app.start().await;
    assert_eq!(app.count(seeds).await, 10, "what was lost is there again");
    assert_eq!(app.count("evidence_claims WHERE embedder = 'hashed-ngrams'").await, 10);
    assert_eq!(app.count("evidence_claims WHERE access_count > 0").await, counted);
    sqlx::query("UPDATE items SET expires_at = now() - interval '1 day'").execute(&app.database).await.unwrap();
    app.run(&["cleanup"]).await.ok();
    assert_eq!((app.count("items").await, app.count(seeds).await), (0, 10));
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_hangs_does_not_starve_the_next_and_is_named_only_where_it_mattered() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Searxng, Fault::slow(Duration::from_secs(30)));
    // Wanting more than there is, it waits for the first one as long as there is time, and says so.
    let mut wanting = item("wanting", TOLD);
    wanting["options"] = json!({"max_seconds": 6});
    wanting["source_types"] = json!(["web"]);
    app.upstream.publish("item.new", &wanting).await;
    let result = app.upstream.result("wanting", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    assert!(result["degraded"].to_string().contains("provider_failed:searxng"), "{result:#}");
    assert!(result["cost"]["millis"].as_u64().unwrap() < 8_000, "{result:#}");

    // Where three sources are all that is wanted, the next provider made up for it.
    let mut contented = item("contented", TOLD);
    contented["options"] = json!({"max_seconds": 20, "max_sources": 3});
    contented["source_types"] = json!(["web"]);
    app.upstream.publish("item.new", &contented).await;
    let result = app.upstream.result("contented", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    assert_eq!(
        (&result["status"], &result["degraded"]),
        (&json!("complete"), &json!([])),
        "the next one made up for it"
    );
    let millis = result["cost"]["millis"].as_u64().unwrap();
    assert!(millis < 10_000, "it took {millis} ms");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_often_of_use_does_not_hide_what_contradicts_it() {
    let mut world = stories::world();
    let other = "The port of Velmora shipped 9900 tonnes of grain in October 2026, the harbour master said.";
    for (page, more) in [(12, "the scales were checked twice"), (13, "the customs house stayed open")] {
        world.pages.insert(page, (format!("Grain leaves Velmora: {more}"), vec![other.to_owned()]));
    }
    world.searches.insert(0, ("9900 tonnes".to_owned(), vec![12, 13]));
    let Some(mut app) = TestApp::new(world).await else { return };
    app.set("ENRICHMENT_MAX_SOURCES", "3");
    let daemon = app.start().await;
    first(&app).await;
    let mut against = item("against", other);
    against["source_types"] = json!(["web"]);
    app.upstream.publish("item.new", &against).await;
    app.upstream.result("against", 1).await;
    sqlx::query("UPDATE evidence_claims SET access_count = 9 WHERE claim_text LIKE '%4200%'")
        .execute(&app.database)
        .await
        .unwrap();
    let searches = app.searches();
    let result = told(&app, "again").await;
    assert!(says(&result, "not sufficient: what is stored disagrees"), "{result:#}");
    assert!(app.searches() >= searches && result["sources_checked"].as_array().unwrap().contains(&json!("searxng")));
    // The outlet that says both takes no side; its denial is in sight and keeps the answer from being firm.
    let claim = &result["claims"][0];
    let stances: Vec<&Value> = claim["evidence"].as_array().unwrap().iter().map(|passage| &passage["stance"]).collect();
    assert!(stances.contains(&&json!("contradicts")), "both sides were carried on: {result:#}");
    assert_eq!((&claim["contradiction"], &claim["decisive"]), (&json!(true), &json!(false)), "{result:#}");
    assert_eq!(claim["tier"], "low", "{result:#}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_change_any_day_is_not_settled_by_what_was_read_weeks_ago() {
    let mut world = stories::world();
    let holds = "Olena Kovalenko is the harbour master of Velmora.";
    for page in TOLD_PAGES {
        world.pages.get_mut(&page).unwrap().1.push(holds.to_owned());
    }
    let Some(app) = TestApp::new(world).await else { return };
    let daemon = app.start().await;
    let check = async |id: &str| {
        let undated = json!({"schema": 1, "item_id": id, "text": holds, "language": "en", "importance": 0.8});
        app.upstream.publish("item.new", &undated).await;
        app.upstream.result(id, 1).await
    };
    let found = check("first").await;
    assert_eq!(found["claims"][0]["verdict"], "supported", "{found:#}");
    let soon = check("soon").await;
    assert!(says(&soon, "knowledge: suffices"), "{soon:#}");
    daemon.stop().await;
    sqlx::query("UPDATE evidence_sources SET fetched_at = fetched_at - interval '20 days' WHERE origin = 'web'")
        .execute(&app.database)
        .await
        .unwrap();
    let daemon = app.start().await;
    let later = check("later").await;
    assert!(says(&later, "not sufficient: what is stored is too old for its topic"), "{later:#}");
    assert_eq!(origins(&later), ["web"], "it was looked for anew: {later:#}");
    app.finish(daemon).await;
}

//! Stored items judged again by the daemon: for each reason, what is noticed, who is asked, and who hears of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, until};
use crate::support::simulator::{Fault, MapWorld, Review, Target, World};
use crate::support::stories::{self, ONCE, ONCE_PAGE, REVIEWED, TOLD, TOLD_PAGES, item, searched};

/// The stories; once turned, the one site that reports on Osterik gives another number.
struct Turning {
    before: MapWorld,
    after: MapWorld,
    is_turned: Arc<AtomicBool>,
}

impl Turning {
    /// With what turns it. The review of Orlesk is written then, too.
    fn new() -> (Self, Arc<AtomicBool>) {
        let (mut before, mut after) = (stories::world(), stories::world());
        before.reviews.clear();
        let told = "The port of Osterik shipped barely 900 tonnes of grain in October 2026, the harbour master said.";
        let page = ("Grain leaves Osterik: a correction".to_owned(), vec![told.to_owned()]);
        after.pages = HashMap::from([(ONCE_PAGE, page)]);
        let is_turned = Arc::new(AtomicBool::new(false));
        (Self { before, after, is_turned: Arc::clone(&is_turned) }, is_turned)
    }

    fn now(&self) -> &MapWorld {
        if self.is_turned.load(Ordering::SeqCst) { &self.after } else { &self.before }
    }
}

impl World for Turning {
    fn search(&self, query: &str) -> Vec<u64> {
        self.now().search(query)
    }

    fn title(&self, page: u64) -> String {
        self.now().title(page)
    }

    fn facts(&self, page: u64) -> Vec<String> {
        self.now().facts(page)
    }

    fn reviews(&self, query: &str) -> Vec<Review> {
        self.now().reviews(query)
    }
}

/// An application that looks for reasons all the time, keeps no page and no empty answer for long, and knows no old news.
async fn quick(world: impl World) -> Option<TestApp> {
    let mut app = TestApp::new(world).await?;
    app.set("CORROBORATE_REJUDGE_INTERVAL", "200ms");
    app.set("CORROBORATE_REJUDGE_MAX_AGE", "36500d");
    app.set("CORROBORATE_REJUDGE_ASKED_PER_HOUR", "1000000");
    app.set("CORROBORATE_CACHE_PAGE_TTL", "1s");
    app.set("CORROBORATE_CACHE_EMPTY_TTL", "1s");
    Some(app)
}

/// Longer than a page or an empty answer is kept.
const KEPT: Duration = Duration::from_millis(1200);
/// Several looks for a reason.
const LOOKS: Duration = Duration::from_millis(1500);

/// The answer of an item's first claim.
async fn verdict(daemon: &Daemon, id: &str) -> Value {
    daemon.get(&format!("/api/items/{id}")).await.json()["claims"][0]["verdict"].clone()
}

/// Why the first of an item's earlier answers was replaced.
async fn replaced_why(daemon: &Daemon, id: &str) -> Value {
    daemon.get(&format!("/api/items/{id}/history")).await.json()["items"][0]["why"].clone()
}

async fn due(app: &TestApp, id: &str, reason: &str) -> bool {
    app.count(&format!("rejudging WHERE item_id = '{id}' AND reason = '{reason}'")).await == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_denied_later_takes_back_the_answers_that_rest_on_it_and_gives_them_back_when_it_is_allowed() {
    let Some(app) = quick(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("rests", TOLD)).await;
    assert_eq!(app.upstream.result("rests", 1).await["claims"][0]["verdict"], "supported");
    app.settled(&daemon).await;
    let asked = app.calls();
    // As a process would have written it whose clock is an hour ahead of this one's.
    let ahead: chrono::DateTime<chrono::Utc> =
        sqlx::query_scalar("UPDATE items SET enriched_at = enriched_at + interval '1 hour' RETURNING enriched_at")
            .fetch_one(&app.database)
            .await
            .unwrap();
    let hosts = TOLD_PAGES.map(|page| {
        let url: url::Url = app.simulator.page_url(page).parse().unwrap();
        url.host_str().unwrap().to_owned()
    });
    for host in &hosts {
        assert_eq!(daemon.post("/api/domains", &json!({"domain": host, "list": "deny"})).await.status, 201);
    }
    let heard = app
        .upstream
        .hear("nothing is left", 1, |heard| {
            heard.key == "claim.changed" && heard.body["after"]["verdict"] == "not_enough_evidence"
        })
        .await;
    assert_eq!(heard[0].body["why"], "domain_lists", "{:#}", heard[0].body);
    let updated = app.upstream.hear("the item", 1, |heard| heard.key == "item.updated").await;
    assert_eq!(updated[0].body["why"], "domain_lists");
    let at = |heard: &Value| heard["at"].as_str().unwrap().parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    assert!(at(&updated[0].body) > ahead, "dated after what readers were told before");
    assert_eq!(verdict(&daemon, "rests").await, "not_enough_evidence");
    assert_eq!(replaced_why(&daemon, "rests").await, "domain_lists");
    let page = daemon.get("/evidence/rests").await.body;
    assert!(page.contains("Replaced because a list of domains changed"), "{page}");
    for host in &hosts {
        let path = format!("/api/domains/{host}");
        assert_eq!(daemon.send("DELETE", &path, &[], "").await.status, 200);
    }
    until("the answer is what it was", async || verdict(&daemon, "rests").await == "supported").await;
    until("nothing is due", async || app.count("rejudging").await == 0).await;
    let given_back = app.upstream.hear("the item again", 2, |heard| heard.key == "item.updated").await;
    assert!(at(&given_back[1].body) > at(&given_back[0].body), "and after the one before");
    assert_eq!(app.calls(), asked, "nobody was asked");
    assert!(daemon.metric("corroborate_rejudged_total", "reason=\"domain_lists\",outcome=\"changed\"").await >= 2.0);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_denied_while_an_item_is_in_work_takes_its_answer_back_as_well() {
    let Some(app) = quick(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Page, Fault::slow(Duration::from_secs(3)));
    app.upstream.publish("item.new", &item("late", TOLD)).await;
    until("its pages are asked for", async || app.simulator.calls(Target::Page) >= 3).await;
    for page in TOLD_PAGES {
        let url: url::Url = app.simulator.page_url(page).parse().unwrap();
        let rule = json!({"domain": url.host_str().unwrap(), "list": "deny"});
        assert_eq!(daemon.post("/api/domains", &rule).await.status, 201);
    }
    assert_eq!(app.count("items").await, 0);
    assert_eq!(app.upstream.result("late", 1).await["claims"][0]["verdict"], "supported", "by the lists it began with");
    until("its answer is taken back", async || verdict(&daemon, "late").await == "not_enough_evidence").await;
    assert_eq!(replaced_why(&daemon, "late").await, "domain_lists");
    until("nothing is due", async || app.count("rejudging").await == 0).await;
    app.settled(&daemon).await;
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_judged_again_by_hand_while_its_edit_is_in_work_keeps_the_edit() {
    let Some(app) = quick(stories::world()).await else { return };
    let daemon = app.start().await;
    let publish = async |text: &str, sent: u64| {
        let body = item("edited", text).to_string();
        app.upstream.publish_as("item.new", body.as_bytes(), |properties| properties.with_timestamp(sent)).await;
    };
    publish(TOLD, 1_790_000_000).await;
    app.upstream.result("edited", 1).await;
    app.settled(&daemon).await;
    let pages = app.simulator.calls(Target::Page);
    app.simulator.set_fault(Target::Page, Fault::slow(Duration::from_secs(2)));
    publish(ONCE, 1_790_000_060).await;
    until("the edit's page is asked for", async || app.simulator.calls(Target::Page) > pages).await;
    let again = daemon.post("/api/items/edited/again", &json!({})).await;
    assert_eq!(again.status, 200, "{}", again.body);
    app.settled(&daemon).await;
    let text = "items WHERE item_id = 'edited' AND text LIKE '%Osterik%'";
    assert_eq!(app.count(text).await, 1, "the edit stands");
    assert!(again.body.contains("Osterik"), "and is what is answered: {}", again.body);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_settings_turn_what_was_judged_once_and_a_process_of_before_does_not_turn_it_back() {
    let Some(mut app) = quick(stories::world()).await else { return };
    let before = app.start().await;
    app.upstream.publish("item.new", &item("judged", TOLD)).await;
    app.upstream.result("judged", 1).await;
    app.settled(&before).await;
    app.set("ENRICHMENT_ALLOWLIST_ONLY", "true");
    let after = app.start().await;
    let heard = app.upstream.hear("the claim", 1, |heard| heard.key == "claim.changed").await;
    assert_eq!(heard[0].body["why"], "settings", "{:#}", heard[0].body);
    until("nothing is due", async || app.count("rejudging").await == 0).await;
    // The older process gets a reason of its own, and leaves that to the other as well.
    let rule = json!({"domain": "nobody.example", "list": "deny"});
    assert_eq!(before.post("/api/domains", &rule).await.status, 201);
    tokio::time::sleep(LOOKS).await;
    assert_eq!(verdict(&after, "judged").await, "not_enough_evidence");
    assert_eq!(app.upstream.all(|heard| heard.key == "claim.changed").await.len(), 1);
    assert_eq!(replaced_why(&after, "judged").await, "settings");
    before.stop().await;
    app.finish(after).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_whose_page_lost_the_passage_is_asked_about_anew_where_that_may_cost_something() {
    let (world, turn) = Turning::new();
    let Some(mut app) = quick(world).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("first", ONCE)).await;
    assert_eq!(app.upstream.result("first", 1).await["claims"][0]["verdict"], "supported");
    turn.store(true, Ordering::SeqCst);
    // The simulator names a page's version by its number alone, and would say that it is the same.
    sqlx::query("UPDATE evidence_sources SET etag = NULL, last_modified = NULL").execute(&app.database).await.unwrap();
    tokio::time::sleep(KEPT).await;
    app.upstream.publish("item.new", &searched("second", ONCE)).await;
    app.upstream.result("second", 1).await;
    assert!(due(&app, "first", "evidence_corrected").await, "the page no longer says it");
    assert_eq!(app.count("rejudging").await, 1, "the item that read it anew is not concerned");
    app.settled(&daemon).await;
    let asked = app.calls();
    tokio::time::sleep(LOOKS).await;
    assert_eq!(app.calls(), asked, "a provider that costs is not asked unless the operator says so");
    assert!(due(&app, "first", "evidence_corrected").await, "and the item stays due");
    daemon.stop().await;

    app.set("CORROBORATE_REJUDGE_MONTHLY_SHARE", "0.5");
    let daemon = app.start().await;
    let heard = app.upstream.hear("the item", 1, |heard| heard.key == "item.updated").await;
    assert_eq!((&heard[0].body["item_id"], &heard[0].body["why"]), (&"first".into(), &"evidence_corrected".into()));
    until("nothing is due", async || app.count("rejudging").await == 0).await;
    assert_ne!(verdict(&daemon, "first").await, "supported");
    assert_eq!(replaced_why(&daemon, "first").await, "evidence_corrected");
    assert_eq!(app.upstream.all(|heard| heard.key == "item.enriched").await.len(), 2, "nobody sent it again");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_whose_page_was_taken_away_are_judged_again_once_and_it_is_cited_no_more() {
    let Some(mut app) = quick(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("first", ONCE)).await;
    assert_eq!(app.upstream.result("first", 1).await["claims"][0]["verdict"], "supported");
    app.settled(&daemon).await;
    // Every item is due by another model; that one of its pages is gone is what it is due by then.
    sqlx::query("INSERT INTO rejudging (item_id, asks, reason) VALUES ('first', true, 'model')")
        .execute(&app.database)
        .await
        .unwrap();
    let page = app.simulator.page_url(ONCE_PAGE);
    let taken_away = format!(
        "evidence_sources WHERE url = '{page}' AND raw_text <> '' AND NOT extraction_failed AND failure = 'not_found'"
    );
    // A server that fails has taken nothing away: what was read before stays evidence, for the second item as well.
    for (id, status, is_gone) in [("second", 503, false), ("third", 410, true)] {
        tokio::time::sleep(KEPT).await;
        app.simulator.set_fault(Target::Page, Fault::status(status));
        app.upstream.publish("item.new", &searched(id, ONCE)).await;
        let result = app.upstream.result(id, 1).await;
        assert_eq!(result["claims"][0]["verdict"] == "supported", !is_gone, "{result:#}");
        app.settled(&daemon).await;
        assert_eq!(due(&app, "first", "evidence_corrected").await, is_gone, "{status}");
        assert_eq!(app.count(&taken_away).await == 1, is_gone, "{status}: its text stays for those that cite it");
    }
    daemon.stop().await;

    app.set("CORROBORATE_REJUDGE_MONTHLY_SHARE", "0.5");
    let daemon = app.start().await;
    let heard = app.upstream.hear("both items", 2, |heard| heard.key == "item.updated").await;
    for id in ["first", "second"] {
        assert!(heard.iter().any(|one| one.body["item_id"] == id && one.body["why"] == "evidence_corrected"), "{id}");
        assert_eq!(verdict(&daemon, id).await, "not_enough_evidence", "{id}");
    }
    until("nothing is due", async || app.count("rejudging").await == 0).await;
    // Who knows the story by our own sentences does not find it there.
    app.upstream.publish("item.new", &item("fourth", ONCE)).await;
    let fourth = app.upstream.result("fourth", 1).await;
    assert_eq!(fourth["claims"][0]["verdict"], "not_enough_evidence");
    assert_eq!(fourth["degraded"], json!(["no_page_read"]), "one that was never read is not known to be gone");
    app.settled(&daemon).await;
    assert_eq!(app.count("rejudging").await, 0, "that it is gone is known");

    // It is there again.
    daemon.stop().await;
    app.simulator.set_fault(Target::Page, None);
    let daemon = app.start().await;
    app.upstream.publish("item.new", &searched("fifth", ONCE)).await;
    assert_eq!(app.upstream.result("fifth", 1).await["claims"][0]["verdict"], "supported");
    app.settled(&daemon).await;
    assert_eq!(app.count(&taken_away).await, 0);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_found_for_one_item_is_asked_for_by_the_ones_before_that_claim_the_same() {
    let (world, turn) = Turning::new();
    let Some(mut app) = quick(world).await else { return };
    app.set("ENRICHMENT_BRAVE_COST_USD", "0");
    let daemon = app.start().await;
    for (id, text) in [("before", REVIEWED), ("another", TOLD)] {
        app.upstream.publish("item.new", &item(id, text)).await;
        app.upstream.result(id, 1).await;
    }
    assert_eq!(verdict(&daemon, "before").await, "not_enough_evidence");
    turn.store(true, Ordering::SeqCst);
    tokio::time::sleep(KEPT).await;
    app.upstream.publish("item.new", &item("after", REVIEWED)).await;
    assert_eq!(app.upstream.result("after", 1).await["claims"][0]["verdict"], "refuted");
    let heard = app.upstream.hear("the item", 1, |heard| heard.key == "item.updated").await;
    assert_eq!((&heard[0].body["item_id"], &heard[0].body["why"]), (&"before".into(), &"fact_check".into()));
    until("nothing is due", async || app.count("rejudging").await == 0).await;
    assert_eq!(verdict(&daemon, "before").await, "refuted");
    tokio::time::sleep(LOOKS).await;
    let asked = daemon.metric("corroborate_rejudged_total", "reason=\"fact_check\"").await;
    assert!((asked - 1.0).abs() < f64::EPSILON, "once, and not for what claims something else: {asked}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_requested_run_asks_anew_and_a_bad_moment_takes_nothing_away() {
    let Some(mut app) = quick(stories::world()).await else { return };
    app.set("ENRICHMENT_BRAVE_COST_USD", "0");
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("old", TOLD)).await;
    let first = app.upstream.result("old", 1).await;
    assert_eq!(first["claims"][0]["verdict"], "supported");
    app.settled(&daemon).await;
    tokio::time::sleep(KEPT).await;
    // Somebody cannot be asked at the moment who could be asked then.
    app.simulator.set_fault(Target::GoogleFactCheck, Fault::status(500));
    assert_eq!(app.run(&["--json", "rejudge"]).await.json()["queued"], 1);
    until("it was tried", async || {
        daemon.metric("corroborate_rejudged_total", "reason=\"requested\",outcome=\"later\"").await > 0.0
    })
    .await;
    assert!(due(&app, "old", "requested").await);
    assert_eq!(verdict(&daemon, "old").await, "supported");
    assert_eq!(daemon.get("/api/items/old").await.json()["enriched_at"], first["enriched_at"], "what is stored stands");

    app.simulator.set_fault(Target::GoogleFactCheck, None);
    sqlx::query("UPDATE rejudging SET taken_until = NULL").execute(&app.database).await.unwrap();
    until("it was judged anew", async || app.count("rejudging").await == 0).await;
    let now = daemon.get("/api/items/old").await.json();
    assert_ne!(now["enriched_at"], first["enriched_at"]);
    assert_eq!(now["claims"][0]["verdict"], "supported");
    assert_eq!(app.upstream.all(|heard| heard.key == "item.updated").await.len(), 0, "nothing changed for readers");
    assert_eq!(replaced_why(&daemon, "old").await, "requested");
    app.finish(daemon).await;
}

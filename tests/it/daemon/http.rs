//! The HTTP side of the daemon, from outside.

#![expect(clippy::float_cmp, reason = "counters are whole numbers, which floats hold exactly")]

use corroborate::domain::SystemClock;
use corroborate::domain::clock::Clock as _;
use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::{Daemon, until};
use crate::support::simulator::{Fault, Target};
use crate::support::stories::{self, TOLD, item};
use crate::support::wire::{Trip, Wire};

/// The metrics that are promised, but those of what one good item has nothing of: an open provider (its own test),
/// models and a language model. That the catalogue holds all of them is a test in `telemetry`.
const METRICS: [&str; 24] = [
    "item_duration_seconds",
    "items_in_flight",
    "item_retries_total",
    "items_dead_total",
    "items_degraded_total",
    "queue_lag_seconds",
    "provider_requests_total",
    "provider_request_duration_seconds",
    "provider_rate_limit_wait_seconds",
    "provider_circuit_state",
    "provider_cost_usd_total",
    "cache_requests_total",
    "fact_check_lookups_total",
    "evidence_matches_total",
    "channel_corroboration_total",
    "verdicts_total",
    "tiers_total",
    "evidence_rows_deleted_total",
    "broker_reconnects_total",
    "outbox_pending",
    "db_pool_connections",
    // Those of them with values after one item, once more by their series.
    "item_duration_seconds_count{",
    "tiers_total{tier=\"high\"}",
    "verdicts_total{verdict=\"supported\"}",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_metrics_of_the_contract_are_there_after_one_item() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let body = item("measured", TOLD).to_string();
    let sent = u64::try_from(SystemClock.now().timestamp()).unwrap();
    app.upstream.publish_as("item.new", body.as_bytes(), |properties| properties.with_timestamp(sent)).await;
    app.upstream.result("measured", 1).await;
    until("the item is counted", async || daemon.metric("corroborate_tiers_total", "high").await == 1.0).await;
    let text = daemon.get("/metrics").await.body;
    let missing: Vec<&str> =
        METRICS.into_iter().filter(|name| !text.contains(&format!("corroborate_{name}"))).collect();
    assert!(missing.is_empty(), "missing: {missing:?} in\n{text}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_provider_is_reported_and_the_daemon_stays_ready() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.simulator.set_fault(Target::Gdelt, Fault::status(429).retry_after("600"));
    let claim = json!({"claim": stories::UNTOLD});
    assert_eq!(daemon.post("/api/verify", &claim).await.status, 200);
    let ready = daemon.get("/readyz").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["providers"]["open"], json!(["gdelt"]), "{}", ready.body);
    let providers = daemon.get("/api/providers").await.json();
    let rows = providers.as_array().unwrap();
    let row =
        |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {providers:#}"));
    assert_eq!(row("gdelt")["status"], "open");
    assert!(row("gdelt")["until"].is_string());
    assert_eq!(row("searxng")["status"], "ready");
    assert_eq!(row("eventregistry")["status"], "unconfigured");
    for key in ["name", "kind", "status", "until", "rpm", "calls_today", "errors_today", "usd_today", "usd_month"] {
        assert!(row("searxng").get(key).is_some(), "{key} is missing");
    }
    assert_eq!(daemon.metric("corroborate_provider_circuit_opens_total", "gdelt").await, 1.0);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_is_verified_in_the_words_that_were_asked_for() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let answer = daemon.post("/api/verify", &json!({"claim": TOLD, "language": "en"})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    assert_eq!(answer["verdict"], "supported", "our vocabulary is the default: {answer:#}");
    assert_eq!(answer["decisive"], answer["result"]["claims"][0]["decisive"], "{answer:#}");
    assert_eq!((&answer["claim_type"], &answer["original_claim"]), (&json!("FACTUAL"), &json!(TOLD)));
    assert!((0.0..=1.0).contains(&answer["confidence"].as_f64().unwrap()));
    assert_eq!(answer["session_id"].as_str().unwrap().len(), 36);
    let first = &answer["evidence"][0];
    assert!(
        first["text"].as_str().unwrap().contains("Velmora") && first["source"].as_str().unwrap().starts_with("http")
    );
    assert_eq!((first["score"].is_number(), &first["origin"]), (true, &json!("web")));
    assert_eq!(answer["result"]["claims"][0]["verdict"], "supported");

    // Asked again it costs nothing, in whatever words.
    let calls = app.calls();
    let other = daemon.post("/api/verify?vocabulary=loop", &json!({"claim": TOLD, "language": "en"})).await.json();
    assert!(["VERIFIED", "PARTIAL"].contains(&other["verdict"].as_str().unwrap()), "{other:#}");
    assert_eq!(other["decisive"], answer["decisive"], "{other:#}");
    let rag = daemon.post("/api/verify?vocabulary=rag", &json!({"claim": TOLD, "language": "en"})).await.json();
    assert!(["True", "Partially True"].contains(&rag["verdict"].as_str().unwrap()), "{rag:#}");
    assert_eq!(rag["decisive"], answer["decisive"], "{rag:#}");
    assert_eq!(app.calls(), calls);
    let opinion = daemon.post("/api/verify", &json!({"claim": "Chocolate tastes better than vanilla, I think."})).await;
    assert_eq!(opinion.json()["verdict"], "not_verifiable", "{}", opinion.body);
    for bad in [json!({}), json!({"claim": "  "}), json!({"claim": 7}), json!({"claim": TOLD, "vocabulary": "klingon"})]
    {
        let refused = daemon.post("/api/verify", &bad).await;
        assert!((400..=422).contains(&refused.status), "{bad}: {} {}", refused.status, refused.body);
        assert!(refused.head.contains("application/problem+json"), "{}", refused.head);
    }
    let health = daemon.get("/api/health").await.json();
    assert_eq!(health["status"], "ok");
    assert!(health["kb_size"].as_u64().unwrap() >= 3, "{health}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_are_taken_one_by_one_as_array_and_as_lines_and_found_again() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let one = daemon.post("/api/items", &item("one", TOLD)).await;
    assert_eq!((one.status, one.json()["accepted"].clone()), (202, json!(1)), "{}", one.body);
    let array = daemon.post("/api/items", &json!([item("a1", stories::UNTOLD), item("a2", stories::ONCE)])).await;
    assert_eq!((array.status, array.json()["accepted"].clone()), (202, json!(2)), "{}", array.body);
    let lines = format!("{}\n{{\"schema\": 1}}\n\n{}\n", item("l1", stories::DISPUTED), item("l4", stories::REVIEWED));
    let lines = daemon.send("POST", "/api/items", &["Content-Type: application/x-ndjson"], &lines).await;
    assert_eq!(lines.status, 202, "{}", lines.body);
    let told = lines.json();
    assert_eq!((&told["accepted"], &told["rejected_count"]), (&json!(2), &json!(1)));
    assert_eq!(told["rejected"][0]["line"], 2, "{told}");
    let nothing = daemon.post("/api/items", &json!({"schema": 1})).await;
    assert!((400..=422).contains(&nothing.status), "{} {}", nothing.status, nothing.body);

    for id in ["one", "a1", "a2", "l1", "l4"] {
        app.upstream.result(id, 1).await;
    }
    let list = daemon.get("/api/items?limit=2").await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let mut ids = ids(&list);
    let mut next = list["next"].clone();
    while let Some(cursor) = next.as_str() {
        let page = daemon.get(&format!("/api/items?limit=2&cursor={cursor}")).await.json();
        ids.extend(self::ids(&page));
        next = page["next"].clone();
    }
    ids.sort();
    assert_eq!(ids, ["a1", "a2", "l1", "l4", "one"], "every item on one page, none twice");
    assert_eq!(self::ids(&daemon.get("/api/items?tier=high").await.json()), ["one"]);
    assert_eq!(self::ids(&daemon.get("/api/items?q=Quelbar").await.json()), ["a1"]);
    assert_eq!(self::ids(&daemon.get("/api/items?status=degraded").await.json()), Vec::<String>::new());
    assert_eq!(daemon.get("/api/items?tier=enormous").await.status, 400);

    let got = daemon.get("/api/items/one").await.json();
    assert_eq!(got, app.upstream.result("one", 1).await, "what is read is what was published");
    let evidence = daemon.get("/api/items/one/evidence").await.json();
    assert!(evidence.to_string().contains("Velmora"), "{evidence:#}");
    let context = daemon.get("/api/items/one/context").await.json();
    assert!(context["digest_lines"].to_string().contains("Evidence: 3 sources"), "{context:#}");
    for path in ["/api/items/nobody", "/api/items/nobody/evidence", "/api/items/nobody/context", "/nowhere"] {
        let missing = daemon.get(path).await;
        assert_eq!(missing.status, 404, "{path}");
        assert!(missing.head.contains("application/problem+json"), "{path}: {}", missing.head);
    }
    app.finish(daemon).await;
}

fn ids(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|row| row["item_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_description_names_every_endpoint_of_the_contract() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    let described = daemon.get("/openapi.json").await.json();
    for (path, method) in [
        ("/healthz", "get"),
        ("/readyz", "get"),
        ("/metrics", "get"),
        ("/api/verify", "post"),
        ("/api/health", "get"),
        ("/api/items", "post"),
        ("/api/items", "get"),
        ("/api/items/{id}", "get"),
        ("/api/items/{id}/evidence", "get"),
        ("/api/items/{id}/context", "get"),
        ("/api/domains", "get"),
        ("/api/domains", "post"),
        ("/api/domains/{domain}", "delete"),
        ("/api/domains/preview", "post"),
        ("/api/providers", "get"),
    ] {
        assert!(described["paths"][path][method].is_object(), "{method} {path} is not described");
    }
    app.finish(daemon).await;
}

/// Statuses of a write and an admin read with these headers.
async fn asked(daemon: &Daemon, headers: &[&str]) -> (u16, u16) {
    let rule = json!({"domain": "x.example", "list": "deny"}).to_string();
    (
        daemon.send("POST", "/api/domains", headers, &rule).await.status,
        daemon.send("GET", "/api/domains", headers, "").await.status,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_token_no_web_page_gets_in_and_with_one_nobody_without_it() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    assert_eq!(asked(&daemon, &["Origin: https://evil.example"]).await, (403, 403));
    assert_eq!(asked(&daemon, &["Host: evil.example"]).await, (403, 403), "a rebound name");
    assert_eq!(asked(&daemon, &["X-Forwarded-For: 192.0.2.1"]).await, (403, 403), "a proxy lets strangers in");
    let verify = json!({"claim": TOLD}).to_string();
    assert_eq!(daemon.send("POST", "/api/verify", &["Origin: https://evil.example"], &verify).await.status, 403);
    assert_eq!(asked(&daemon, &[]).await, (201, 200));
    let port = daemon.address().port();
    assert_eq!(asked(&daemon, &[&format!("Host: localhost:{port}")]).await, (200, 200));
    assert!(!daemon.get("/api/domains").await.head.contains("access-control-allow-origin"), "CORS is off");
    daemon.stop().await;

    app.set("ADMIN_TOKEN", "a-long-token-of-the-test");
    let daemon = app.start().await;
    assert_eq!(asked(&daemon, &[]).await, (401, 401));
    assert_eq!(daemon.send("POST", "/api/verify", &[], &verify).await.status, 401, "a check costs money");
    assert_eq!(asked(&daemon, &["Authorization: Bearer wrong"]).await, (401, 401));
    assert_eq!(asked(&daemon, &["Authorization: Bearer a-long-token-of-the-test"]).await, (200, 200));
    assert_eq!(daemon.get("/healthz").await.status, 200);
    assert!(!daemon.log().contains("a-long-token-of-the-test"));
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_and_pages_are_read_from_a_copy_where_there_is_one() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    // The same database, through an address that takes no writes.
    let wire = Wire::before(&app.database_url).await;
    let mut copy = wire.url().clone();
    copy.query_pairs_mut().append_pair("options", "-c default_transaction_read_only=on");
    app.set("DATABASE_READ_URL", copy.as_str());
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("shown", TOLD)).await;
    app.upstream.result("shown", 1).await;
    app.settled(&daemon).await;
    assert_eq!(wire.take(), [], "work asks the database itself");
    for (path, table) in [
        ("/api/items", "FROM items"),
        ("/api/items/shown", "FROM items"),
        ("/api/overview", "FROM items"),
        ("/items", "FROM items"),
        ("/evidence/shown", "FROM verdict_history"),
    ] {
        let answer = daemon.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let trips = wire.take();
        let asked = trips.iter().any(|trip| matches!(trip, Trip::Ran(sql) if sql.contains(table)));
        assert!(asked, "{path} asked the copy for {trips:?}");
    }
    assert_eq!(daemon.get("/api/items/unknown").await.status, 404, "nor has the database itself");
    app.finish(daemon).await;
}

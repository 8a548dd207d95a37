//! Values from outside that are too long to be stored, and clocks that differ.

use rand::Rng as _;
use serde_json::json;

use crate::support::app::TestApp;
use crate::support::daemon::until;
use crate::support::stories::{self, REVIEWED, item};

/// Letters that do not compress.
fn random(count: usize) -> String {
    let mut random = rand::rng();
    (0..count).map(|_| char::from(random.random_range(b'a'..=b'z'))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_is_done_when_a_fact_check_has_an_over_long_url() {
    let mut world = stories::world();
    for (_, review) in &mut world.reviews {
        review.url = format!("https://checks.example/{}", random(5_000));
    }
    let Some(app) = TestApp::new(world).await else { return };
    let daemon = app.start().await;
    assert_eq!(daemon.post("/api/items", &item("reviewed", REVIEWED)).await.status, 202);
    app.settled(&daemon).await;
    assert_eq!((app.count("items").await, app.count("item_fact_checks").await), (1, 0));
    let trace = daemon.get("/api/items/reviewed").await.json()["trace"].to_string();
    assert!(trace.contains("1 review(s) left out"), "{trace}");
    let mut at_limits = item("limits", REVIEWED);
    at_limits["channel"] = json!(random(512));
    at_limits["cluster_id"] = json!(random(512));
    at_limits["url"] = json!(format!("https://own.example/{}", random(2_028)));
    assert_eq!(daemon.post("/api/items", &at_limits).await.status, 202);
    app.settled(&daemon).await;
    assert_eq!(app.count("items").await, 2);
    at_limits["channel"] = json!(random(513));
    let refused = daemon.post("/api/items", &at_limits).await;
    assert!(refused.status == 400 && refused.body.contains("channel is 513 bytes long"), "{}", refused.body);
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn process_is_not_ready_and_removes_nothing_when_its_clock_differs() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    assert_eq!(daemon.post("/api/items", &item("kept", REVIEWED)).await.status, 202);
    app.settled(&daemon).await;
    // The clock of the database says that it is 60 days earlier: that of every process is ahead by so much.
    let name = app.database_url.path().trim_start_matches('/').to_owned();
    let skew = format!(
        "CREATE SCHEMA skewed;
         CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
             $$ SELECT pg_catalog.clock_timestamp() - interval '60 days' $$;
         ALTER DATABASE {name} SET search_path = public, skewed, pg_catalog"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(skew)).execute(&app.database).await.unwrap();
    app.cut_database().await;
    until("the difference is seen", async || daemon.get("/readyz").await.body.contains("60 days ahead")).await;
    assert_eq!(daemon.get("/readyz").await.status, 503);
    for arguments in [&["cleanup"][..], &["cleanup", "--dry-run"], &["doctor"]] {
        let done = app.run(arguments).await;
        assert_eq!(done.code, 69, "{arguments:?}: {}{}", done.stdout, done.stderr);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains("60 days ahead of the clock of the database"), "{arguments:?}: {said}");
    }
    let asked = daemon.post("/api/cleanup", &json!({ "dry_run": false })).await;
    assert!(asked.status == 503 && asked.body.contains("60 days ahead"), "{}", asked.body);
    assert_eq!(app.count("items").await, 1);
    let back = format!("ALTER DATABASE {name} RESET search_path");
    sqlx::query(sqlx::AssertSqlSafe(back)).execute(&app.database).await.unwrap();
    app.cut_database().await;
    until("the clocks agree", async || daemon.get("/readyz").await.status == 200).await;
    app.finish(daemon).await;
}

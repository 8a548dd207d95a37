//! What is asked again and again goes by indexes, however much is stored.

use std::collections::BTreeSet;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::support::app::TestApp;
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, item};
use crate::support::wire::{Trip, Wire};

/// Tables that grow with every item.
const LARGE: [&str; 7] =
    ["items", "item_phases", "claims", "item_evidence", "evidence_sources", "evidence_claims", "answers"];
const FILL: &str = include_str!("plans.sql");

/// The large tables that a plan goes through from start to end.
fn gone_through(plan: &Value, found: &mut BTreeSet<String>) {
    if let Some(name) = plan["Relation Name"].as_str()
        && plan["Node Type"] == "Seq Scan"
        && LARGE.contains(&name)
    {
        found.insert(name.to_owned());
    }
    for part in plan["Plans"].as_array().into_iter().flatten() {
        gone_through(part, found);
    }
}

/// Rows of the large tables that were read by going through them, functions' statements among them.
async fn rows_read(app: &TestApp) -> Vec<(String, i64)> {
    // The server's counts follow after a moment.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let all = sqlx::query("SELECT relname::text, coalesce(seq_tup_read, 0) FROM pg_stat_user_tables ORDER BY 1");
    let all = all.fetch_all(&app.database).await.unwrap();
    all.iter()
        .map(|row| (row.get(0), row.get(1)))
        .filter(|(name, _): &(String, i64)| LARGE.contains(&name.as_str()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_statement_of_work_goes_through_a_large_table() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let wire = Wire::before(&app.database_url).await;
    app.set("WORKER_CONCURRENCY", "1");
    app.set("DATABASE_URL", wire.url().as_str());
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("template", TOLD)).await;
    app.upstream.result("template", 1).await;
    app.settled(&daemon).await;
    daemon.stop().await;
    app.database.execute(FILL).await.unwrap();
    let before = rows_read(&app).await;
    wire.take();

    let daemon = app.start().await;
    for (id, text) in [("one", DISPUTED), ("two", ONCE), ("three", TOLD)] {
        app.upstream.publish("item.new", &item(id, text)).await;
        app.upstream.result(id, 1).await;
    }
    for page in
        ["/items", "/items?verdict=refuted", "/items?channel=@channel7", "/items?q=Case+17", "/evidence/grown-17"]
    {
        assert_eq!(daemon.get(page).await.status, 200, "{page}");
    }
    let preview = serde_json::json!({"domain": "site7.example", "list": "deny"});
    assert_eq!(daemon.post("/api/domains/preview", &preview).await.status, 200);
    app.settled(&daemon).await;
    app.run(&["cleanup"]).await.ok();
    app.run(&["domains", "add", "site7.example", "--deny", "--why", "a test"]).await.ok();
    let asked: BTreeSet<String> = wire
        .take()
        .into_iter()
        .filter_map(|trip| match trip {
            Trip::Ran(sql) => Some(sql),
            Trip::Ping | Trip::Prepared(_) => None,
        })
        .collect();

    let mut plans = 0;
    let mut bad = Vec::new();
    // Conditions that may be left out (`$1 IS NULL OR …`), and a count that is made of a small table alone, are settled by each
    // call: for those the server's own counts tell.
    for sql in asked.iter().filter(|sql| !sql.contains("IS NULL OR") && !sql.contains("reltuples")) {
        let explain = format!("EXPLAIN (GENERIC_PLAN, FORMAT JSON) {sql}");
        // What has no plan (BEGIN, LISTEN) is no statement of this kind.
        let Ok(plan) = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_one(&app.database).await else { continue };
        plans += 1;
        let plan: Value = plan.get(0);
        let mut found = BTreeSet::new();
        gone_through(&plan[0]["Plan"], &mut found);
        if !found.is_empty() {
            bad.push(format!("{found:?}: {}", sql.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    let after = rows_read(&app).await;
    let read: Vec<String> = after
        .iter()
        .zip(&before)
        .filter(|((_, now), (_, then))| now > then)
        .map(|((name, now), (_, then))| format!("{name} {}", now - then))
        .collect();
    println!("{plans} plans of {} statements; rows read through: {read:?}", asked.len());
    assert!(plans > 20, "{plans} plans of {} statements", asked.len());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(read.is_empty(), "went through: {read:?}");
    app.finish(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_that_tells_its_story_often_does_not_hide_that_of_another() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("template", TOLD)).await;
    app.upstream.result("template", 1).await;
    app.settled(&daemon).await;
    app.database.execute(FILL).await.unwrap();
    let store = crate::support::database::connect(app.database_url.as_str()).await;
    let vector: Vec<f32> = (0..384_u16).map(|at| f32::from(at % 7) - 3.0).collect();
    // Two hundred of the own channel say exactly this, and two hundred old ones; one of another channel nearly.
    let given = format!("[{}]", vector.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
    let told = format!(
        "UPDATE items SET embedding = '{given}', channel = '@own', enriched_at = now() WHERE item_id LIKE 'grown-1__';
         UPDATE items SET embedding = '{given}', channel = '@old', enriched_at = now() - interval '9 days' WHERE item_id LIKE 'grown-2__';
         UPDATE items SET embedding = (SELECT (subvector('{given}'::vector(384), 1, 380)::vector(380) || '[1,1,1,1]')::vector(384)),
             channel = '@other', enriched_at = now() WHERE item_id = 'grown-17'"
    );
    app.database.execute(sqlx::raw_sql(AssertSqlSafe(told))).await.unwrap();
    let embedder: String =
        sqlx::query_scalar("SELECT embedder FROM items LIMIT 1").fetch_one(&app.database).await.unwrap();
    let since = sqlx::query_scalar("SELECT now() - interval '2 days'").fetch_one(&app.database).await.unwrap();
    let found = store.similar_items(&vector, &embedder, "own", "x", since, 0.9, 10).await.unwrap();
    assert_eq!(found.iter().map(|one| one.channel.as_str()).collect::<Vec<_>>(), ["@other"]);
    app.finish(daemon).await;
}

//! The statements that an item costs the database, counted on the wire.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::support::app::TestApp;
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, item};
use crate::support::wire::{Trip, Wire};

/// Statements for a new item with one claim, three searches in three wordings each, and three pages. 41 were measured: 14 to
/// take ten calls, because the rate makes some wait, ten reads and ten writes of cached answers, and seven others. One
/// statement more for each call would exceed this.
const MAX_STATEMENTS: usize = 48;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_item_costs_few_round_trips() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let wire = Wire::before(&app.database_url).await;
    app.set("DATABASE_URL", wire.url().as_str());
    app.set("WORKER_CONCURRENCY", "1");
    let daemon = app.start().await;
    for (id, text) in [("first", DISPUTED), ("second", ONCE)] {
        app.upstream.publish("item.new", &item(id, text)).await;
        app.upstream.result(id, 1).await;
    }
    app.settled(&daemon).await;
    // Statements that run every few seconds without an item are not counted.
    tokio::time::sleep(Duration::from_secs(2)).await;
    wire.take();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let idle: HashSet<Trip> = wire.take().into_iter().collect();

    app.upstream.publish("item.new", &item("counted", TOLD)).await;
    let result = app.upstream.result("counted", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    app.settled(&daemon).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (mut statements, mut pings) = (BTreeMap::<String, usize>::new(), 0);
    for trip in wire.take() {
        match trip {
            Trip::Ping => pings += 1,
            Trip::Ran(ref sql) if !idle.contains(&trip) => {
                let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
                *statements.entry(sql.chars().take(100).collect()).or_default() += 1;
            }
            // A statement is prepared once a connection.
            Trip::Ran(_) | Trip::Prepared(_) => {}
        }
    }
    let count: usize = statements.values().sum();
    println!("{count} statements, {pings} pings: {statements:#?}");
    assert!((1..=MAX_STATEMENTS).contains(&count), "{count} statements: {statements:#?}");
    // The pool tests a connection when it is returned, which no item waits for.
    assert!(
        pings <= count * 3 / 2,
        "{pings} pings for {count} statements: connections are tested before they are used"
    );
    app.finish(daemon).await;
}

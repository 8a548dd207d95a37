//! What an item costs the database, counted on the wire.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::support::app::TestApp;
use crate::support::stories::{self, DISPUTED, ONCE, TOLD, item};
use crate::support::wire::{Trip, Wire};

/// Statements for one item with one claim that nobody asked about before: a look-up of reviews, three searches in three
/// wordings each, three pages. Ten of them ask for answers that others had. Four for the right to ask come on top, see [`LEASES`].
const MOST: usize = 17;
/// What a slow machine does more often, since it goes by time: the right to ask (once a provider, and anew where its wordings come
/// far apart; one for each wording would be ten) …
const LEASES: &str = "SELECT decision, turns, first_in, leased_for, day_ends_in";
const MOST_LEASES: usize = 8;
/// … what of it was not used, claims that last long, figures of use.
const BY_TIME: [&str; 3] = ["SELECT give_back_turns(", "UPDATE answer_claims SET until", "WITH hourly AS ("];
const MOST_BY_TIME: usize = 8;
/// Writing down what was answered comes on top: what is learnt at the same moment goes in one statement, so that it is one on a
/// machine with nothing else to do, and on a busy one as many as there are answers.
const NOTES: &str = "WITH given AS ( SELECT key, provider, claim, answer, holder";
const MOST_NOTES: usize = 10;

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
    // What goes on every few seconds without an item is not counted.
    tokio::time::sleep(Duration::from_secs(2)).await;
    wire.take();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let idle: HashSet<Trip> = wire.take().into_iter().collect();

    app.upstream.publish("item.new", &item("counted", TOLD)).await;
    let result = app.upstream.result("counted", 1).await;
    assert_eq!(result["claims"][0]["verdict"], "supported", "{result:#}");
    app.settled(&daemon).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut costs = BTreeMap::<String, usize>::new();
    for trip in wire.take().into_iter().filter(|trip| *trip == Trip::Ping || !idle.contains(trip)) {
        let what = match trip {
            Trip::Ping => "ping".to_owned(),
            // Once a connection.
            Trip::Prepared(_) => continue,
            Trip::Ran(sql) => sql.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        *costs.entry(what.chars().take(100).collect()).or_default() += 1;
    }
    let told: Vec<String> = costs.iter().map(|(what, count)| format!("{count:>3} {what}")).collect();
    // The pool tests a connection when it is given back, for which nobody waits.
    let pings = costs.remove("ping").unwrap_or(0);
    let those = |which: &[&str]| -> usize {
        let is_one = |what: &str| which.iter().any(|start| what.starts_with(start));
        costs.iter().filter(|(what, _)| is_one(what)).map(|(_, count)| count).sum()
    };
    let (notes, leases, by_time) = (those(&[NOTES]), those(&[LEASES]), those(&BY_TIME));
    let all = costs.values().sum::<usize>() - notes - leases - by_time;
    println!(
        "{all} statements, {leases} leases, {by_time} by time, {notes} notes of answers, {pings} pings\n{}",
        told.join("\n")
    );
    assert!((1..=MOST_LEASES).contains(&leases), "{leases} leases:\n{}", told.join("\n"));
    assert!(by_time <= MOST_BY_TIME, "{by_time} statements go by time:\n{}", told.join("\n"));
    assert!((1..=MOST_NOTES).contains(&notes), "{notes} notes:\n{}", told.join("\n"));
    assert!(all <= MOST, "{all} statements:\n{}", told.join("\n"));
    assert!(
        pings <= (all + leases + by_time + notes) * 3 / 2,
        "{pings} pings for {all} statements: connections are tested before they are used"
    );
    app.finish(daemon).await;
}

//! The stories the simulated world tells in these tests, and the items that tell them too.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::simulator::{MapWorld, Review};

/// Three sites tell it alike.
pub(crate) const TOLD: &str =
    "The port of Velmora shipped 4200 tonnes of grain in October 2026, the harbour master said.";
/// One site tells it.
pub(crate) const ONCE: &str =
    "The port of Osterik shipped 3300 tonnes of grain in October 2026, the harbour master said.";
/// Two sites tell it, two others give another number.
pub(crate) const DISPUTED: &str =
    "The port of Tarnuk shipped 4200 tonnes of grain in October 2026, the harbour master said.";
/// Nobody tells it.
pub(crate) const UNTOLD: &str =
    "The port of Quelbar shipped 7700 tonnes of grain in October 2026, the harbour master said.";
/// A fact-checker says it is false.
pub(crate) const REVIEWED: &str =
    "The mayor of Orlesk sold the old town hall of Orlesk to a foreign bank in March 2026.";

/// Where the review of [`REVIEWED`] is found.
pub(crate) const REVIEW_URL: &str = "https://checks.example/orlesk-town-hall";

/// Pages of [`TOLD`].
pub(crate) const TOLD_PAGES: [u64; 3] = [1, 2, 3];

/// The page of [`ONCE`].
pub(crate) const ONCE_PAGE: u64 = 5;

/// A site's own words for it: pages that have an item's sentence word for word are one source, which has it from there.
fn shipped(port: &str, tonnes: u32, more: &str) -> (String, Vec<String>) {
    let fact =
        format!("The port of {port} shipped fully {tonnes} tonnes of grain in October 2026, the harbour master said.");
    (format!("Grain leaves {port}: {more}"), vec![fact, format!("At {port} {more}.")])
}

pub(crate) fn world() -> MapWorld {
    let pages = HashMap::from([
        (1, shipped("Velmora", 4200, "the silos stand empty for the first time in years")),
        (2, shipped("Velmora", 4200, "forty railway wagons brought barley every day")),
        (3, shipped("Velmora", 4200, "the insurers lowered their premiums again")),
        (ONCE_PAGE, shipped("Osterik", 3300, "the crane drivers ended their strike")),
        (8, shipped("Tarnuk", 4200, "six ships were loaded by night")),
        (9, shipped("Tarnuk", 4200, "the pilots worked without a day off")),
        (10, shipped("Tarnuk", 9900, "the mill bought nothing at all")),
        (11, shipped("Tarnuk", 9900, "customs counted every lorry twice")),
    ]);
    let review = Review {
        claim: REVIEWED.trim_end_matches('.').to_owned(),
        url: REVIEW_URL.to_owned(),
        publisher: "Checks".to_owned(),
        rating: "False".to_owned(),
        language: "en".to_owned(),
    };
    let found = |key: &str, pages: &[u64]| (key.to_owned(), pages.to_vec());
    MapWorld {
        searches: vec![found("velmora", &TOLD_PAGES), found("osterik", &[ONCE_PAGE]), found("tarnuk", &[8, 9, 10, 11])],
        pages,
        reviews: vec![("orlesk".to_owned(), review)],
    }
}

/// An item that tells one of the stories.
pub(crate) fn item(id: &str, text: &str) -> Value {
    json!({
        "schema": 1, "item_id": id, "text": text, "channel": "@own", "language": "en",
        "published_at": "2026-11-18T07:15:00Z", "importance": 0.8,
    })
}

/// An item for which what is known already is left out: fact-checkers and the web are asked.
pub(crate) fn searched(id: &str, text: &str) -> Value {
    let mut searched = item(id, text);
    searched["source_types"] = json!(["factcheck", "web"]);
    searched
}

//! The recorded world the `demo` command runs on: items, and what the providers and the web answer about them.
//!
//! Everything is embedded, so the demo needs neither network nor files. What each item is, where it was taken from and
//! what was done to it stands in `demo_data/README.md`; `demo_data/build.py` makes the set anew. To add an item, change
//! the picks there, never the output.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use crate::domain::item::Item;
use crate::outbound::replay::Archive;

const ITEMS: &str = include_str!("demo_data/items.ndjson");

/// Name and text of each file of recordings.
const RECORDINGS: [(&str, &str); 4] = [
    ("gdelt.json", include_str!("demo_data/recordings/gdelt.json")),
    ("google_factcheck.json", include_str!("demo_data/recordings/google_factcheck.json")),
    ("pages.json", include_str!("demo_data/recordings/pages.json")),
    ("searxng.json", include_str!("demo_data/recordings/searxng.json")),
];

/// 2026-11-20 12:00 UTC, seconds since the epoch: the day the data was collected. The demo judges as of that moment, so
/// that it says the same in every year.
const EVALUATED_AT: i64 = 1_795_176_000;

/// Where an item's text comes from and what was done to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Provenance {
    pub item_id: String,
    /// `source` (as it stands in the data set), `translated` or `composed`.
    pub made: String,
    pub origin: Origin,
}

/// The data set and row an item was taken from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Origin {
    pub dataset: String,
    pub id: String,
    /// The data set's own label, where it has one.
    pub label: Option<String>,
    pub licence: String,
}

/// The items, in the order they are shown. The last one finds a provider throttled: run it last, since a throttled
/// provider stays closed for the rest of the run.
///
/// # Panics
/// When an embedded line is no item, which a test rules out.
pub fn items() -> Vec<Item> {
    ITEMS.lines().map(|line| Item::parse(line.as_bytes()).expect("an embedded item is valid")).collect()
}

/// What is known of each item's text, in the order of [`items`].
///
/// # Panics
/// When an embedded line says nothing of its origin, which a test rules out.
pub fn provenance() -> Vec<Provenance> {
    ITEMS.lines().map(|line| serde_json::from_str(line).expect("an embedded item names its origin")).collect()
}

/// What the providers and the web answer.
///
/// # Panics
/// When an embedded recording is not usable, which a test rules out.
pub fn archive() -> Archive {
    let mut archive = Archive::default();
    for (name, text) in RECORDINGS {
        archive.extend_from_json(text, name).expect("the embedded recordings are valid");
    }
    archive
}

/// The moment the demo takes for now.
pub fn evaluated_at() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(EVALUATED_AT)
}

#[cfg(test)]
mod tests;

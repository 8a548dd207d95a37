//! The embedded data of the `demo` command: items, and the answers of providers and pages.
//!
//! `demo_data/README.md` describes the origin of each item. `demo_data/build.py` generates the set. To add an item,
//! change the picks there, never the output.

use serde::Deserialize;

use crate::domain::item::Item;
use crate::outbound::replay::Archive;

const ITEMS: &str = include_str!("demo_data/items.ndjson");

const RECORDINGS: [(&str, &str); 4] = [
    ("gdelt", include_str!("demo_data/recordings/gdelt.ndjson")),
    ("google_factcheck", include_str!("demo_data/recordings/google_factcheck.ndjson")),
    ("pages", include_str!("demo_data/recordings/pages.ndjson")),
    ("searxng", include_str!("demo_data/recordings/searxng.ndjson")),
];

/// The origin of an item's text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Provenance {
    pub item_id: String,
    /// `source` (unchanged), `translated` or `composed`.
    pub made: String,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Origin {
    pub dataset: String,
    pub id: String,
    pub label: Option<String>,
    pub licence: String,
}

/// Returns the items in display order. Run the last one last: it throttles a provider for the rest of the run.
///
/// # Panics
/// If an embedded line is not a valid item. A test prevents this.
pub fn items() -> Vec<Item> {
    ITEMS.lines().map(|line| Item::parse(line.as_bytes()).expect("an embedded item is valid")).collect()
}

/// Returns the origins in the order of [`items`].
///
/// # Panics
/// If an embedded line lacks its origin. A test prevents this.
pub fn provenance() -> Vec<Provenance> {
    ITEMS.lines().map(|line| serde_json::from_str(line).expect("an embedded item names its origin")).collect()
}

/// Returns the answers of the providers and pages.
///
/// # Panics
/// If an embedded recording is invalid. A test prevents this.
pub fn archive() -> Archive {
    let mut archive = Archive::default();
    for (name, text) in RECORDINGS {
        archive.extend(text, name).expect("the embedded recordings are valid");
    }
    archive
}

#[cfg(test)]
mod tests;

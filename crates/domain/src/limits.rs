//! Limits of the texts and dates in the store.
//!
//! A B-tree index row of Postgres holds 2,704 bytes. Texts in index keys have limits here, so that every validated
//! value can be stored. [`check_item`] checks items. Values from outside (search results, pages, feeds, fact-checks)
//! are dropped if they exceed [`is_storable_url`] or [`storable_date`].

use chrono::{DateTime, Datelike as _, Utc};
use serde::{Serialize as _, Serializer};

use super::Item;

/// Longest URL of a page, feed entry, fact-check or item, bytes. The sitemap protocol has the same limit.
pub const MAX_URL_BYTES: usize = 2_048;

/// Longest `item_id`, `channel` and `cluster_id`, bytes. One index key has two of them.
pub const MAX_ID_BYTES: usize = 512;

/// Longest language tag, bytes (RFC 5646, section 4.4.1).
pub const MAX_LANGUAGE_BYTES: usize = 35;

/// Longest entity, bytes. An entity is a name.
pub const MAX_ENTITY_BYTES: usize = 512;

/// Longest type of an entity, bytes.
pub const MAX_ENTITY_TYPE_BYTES: usize = 64;

/// Most `sources` of an item. Claims are taken from each.
pub const MAX_SOURCES: usize = 64;

pub const MAX_ENTITIES: usize = 256;

/// Most `cluster_members` of an item. Results name only three channels of a cluster.
pub const MAX_CLUSTER_MEMBERS: usize = 1_000;

/// Most `source_types` of an item. Only seven kinds exist, but repetitions are accepted.
pub const MAX_SOURCE_TYPES: usize = 64;

/// Years that Postgres and the JSON form of a date (RFC 3339, four digits) can both represent.
const YEARS: std::ops::RangeInclusive<i32> = 1..=9_999;

/// True if the store can use the URL as a key.
pub const fn is_storable_url(url: &str) -> bool {
    url.len() <= MAX_URL_BYTES
}

/// Returns the date, or `None` if the store cannot represent its year.
pub fn storable_date(date: DateTime<Utc>) -> Option<DateTime<Utc>> {
    YEARS.contains(&date.year()).then_some(date)
}

/// Serialises a date; null if the store cannot represent its year.
///
/// # Errors
/// Those of the serializer.
pub fn serialize_date<S: Serializer>(date: &Option<DateTime<Utc>>, serializer: S) -> Result<S::Ok, S::Error> {
    date.and_then(storable_date).serialize(serializer)
}

/// Describes, for the sender, the first limit that an item exceeds.
pub(super) fn check_item(item: &Item) -> Result<(), String> {
    text("item_id", Some(&item.item_id), MAX_ID_BYTES)?;
    text("channel", item.channel.as_deref(), MAX_ID_BYTES)?;
    text("cluster_id", item.cluster_id.as_deref(), MAX_ID_BYTES)?;
    text("language", item.language.as_deref(), MAX_LANGUAGE_BYTES)?;
    text("url", item.url.as_deref(), MAX_URL_BYTES)?;
    count("sources", item.sources.len(), MAX_SOURCES)?;
    count("entities", item.entities.len(), MAX_ENTITIES)?;
    count("cluster_members", item.cluster_members.len(), MAX_CLUSTER_MEMBERS)?;
    count("source_types", item.source_types.len(), MAX_SOURCE_TYPES)?;
    for (place, source) in item.sources.iter().enumerate() {
        text(&format!("sources[{place}].url"), source.url.as_deref(), MAX_URL_BYTES)?;
    }
    for (place, entity) in item.entities.iter().enumerate() {
        text(&format!("entities[{place}].text"), Some(&entity.text), MAX_ENTITY_BYTES)?;
        text(&format!("entities[{place}].type"), entity.kind.as_deref(), MAX_ENTITY_TYPE_BYTES)?;
    }
    for (place, member) in item.cluster_members.iter().enumerate() {
        text(&format!("cluster_members[{place}].channel"), Some(&member.channel), MAX_ID_BYTES)?;
        text(&format!("cluster_members[{place}].item_id"), member.item_id.as_deref(), MAX_ID_BYTES)?;
    }
    match item.published_at {
        Some(date) if storable_date(date).is_none() => {
            Err(format!("published_at has the year {}; send a year between 1 and 9999, or no date", date.year()))
        }
        _ => Ok(()),
    }
}

fn text(field: &str, value: Option<&str>, most: usize) -> Result<(), String> {
    match value.map_or(0, str::len) {
        bytes if bytes > most => Err(format!("{field} is {bytes} bytes long, the limit is {most}; shorten it")),
        _ => Ok(()),
    }
}

fn count(field: &str, entries: usize, most: usize) -> Result<(), String> {
    if entries > most {
        return Err(format!("{field} has {entries} entries, the limit is {most}; send fewer"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use serde_json::{Value, json};

    use super::*;

    fn rejection(field: &str, value: Value) -> Option<String> {
        let mut item = json!({ "schema": 1, "item_id": "a", "text": "The bridge opened." });
        item[field] = value;
        Item::parse(item.to_string().as_bytes()).err().map(|reject| reject.to_string())
    }

    #[test]
    fn item_is_rejected_when_it_exceeds_a_limit_and_accepted_at_the_limit() {
        let text = |bytes: usize| "\u{44f}".repeat(bytes / 2);
        let entries = |count: usize, entry: Value| Value::Array(vec![entry; count]);
        let source = json!({ "type": "image", "text": "x" });
        let member = json!({ "channel": "@a" });
        for (field, accepted, rejected) in [
            ("item_id", json!(text(512)), json!(text(514))),
            ("channel", json!(text(512)), json!(text(514))),
            ("cluster_id", json!(text(512)), json!(text(514))),
            ("language", json!("a".repeat(35)), json!("a".repeat(36))),
            ("url", json!(text(2_048)), json!(text(2_050))),
            ("sources", entries(64, source.clone()), entries(65, source)),
            ("entities", entries(256, json!({ "text": "Kyiv" })), entries(257, json!({ "text": "Kyiv" }))),
            ("entities", json!([{ "text": text(512) }]), json!([{ "text": text(514) }])),
            ("entities", json!([{ "text": "a", "type": text(64) }]), json!([{ "text": "a", "type": text(66) }])),
            ("cluster_members", entries(1_000, member.clone()), entries(1_001, member)),
            ("cluster_members", json!([{ "channel": text(512) }]), json!([{ "channel": text(514) }])),
            (
                "cluster_members",
                json!([{ "channel": "a", "item_id": text(512) }]),
                json!([{ "channel": "a", "item_id": text(514) }]),
            ),
            ("published_at", json!("0001-01-01T00:00:00Z"), json!("0000-12-31T23:59:59Z")),
            ("published_at", json!("9999-12-31T23:59:59Z"), json!("+010000-01-01T00:00:00Z")),
            ("published_at", json!(null), json!("-0001-01-01T00:00:00Z")),
        ] {
            assert_eq!(rejection(field, accepted), None, "{field}");
            let reason = rejection(field, rejected).unwrap_or_else(|| panic!("{field} is over its limit"));
            assert!(reason.contains(field) && reason.contains("schema"), "{reason}");
        }
    }

    #[test]
    fn date_is_dropped_when_its_year_has_no_four_digits() {
        let year = |year| Utc.with_ymd_and_hms(year, 6, 1, 0, 0, 0).unwrap();
        assert!([1, 2026, 9_999].iter().all(|number| storable_date(year(*number)).is_some()));
        assert!([-1, 0, 10_000].iter().all(|number| storable_date(year(*number)).is_none()));
    }
}

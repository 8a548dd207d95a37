//! Re-evaluation of stored items: `[rejudge]`.

use std::time::Duration;

use serde::Deserialize;

use super::key::{Key, PAUSE, SPAN, UNIT, count};
use super::kind::Kind;

/// Items per hour. The limit protects the database.
const ITEMS: Kind = count(0, 1_000_000);

pub(super) fn keys() -> Vec<Key> {
    vec![
        Key::own("rejudge.enabled", Kind::Flag, "whether stored items are judged again when it matters"),
        Key::own("rejudge.interval", PAUSE, "pause between looks for a reason"),
        Key::own("rejudge.max_age", SPAN, "age up to which items are judged again for other settings"),
        Key::own("rejudge.per_hour", ITEMS, "items an hour judged again from what is stored"),
        Key::own("rejudge.asked_per_hour", ITEMS, "full re-evaluations per hour"),
        Key::own("rejudge.monthly_share", UNIT, "share of the monthly cap for re-evaluation"),
    ]
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RejudgeConfig {
    pub enabled: bool,
    #[serde(with = "humantime_serde")]
    pub interval: Duration,
    #[serde(with = "humantime_serde")]
    pub max_age: Duration,
    /// Of all processes, from the store alone.
    pub per_hour: u32,
    /// Of all processes, with a full new run.
    pub asked_per_hour: u32,
    /// Share of `enrichment.monthly_cap_usd`, 0–1.
    pub monthly_share: f64,
}

//! The JSON form of [`FleetSnapshot`], as the database returns it.
//!
//! Its fields must match the query of `Store::fleet`.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::{BreakerKind, FleetSnapshot, SharedBreaker, probe_span, span};

#[derive(Debug, Deserialize)]
pub(super) struct FleetSnapshotRow {
    pub(super) moment: DateTime<Utc>,
    breakers: Vec<BreakerRow>,
    used: Vec<QuotaRow>,
    spent_usd: f64,
    day_ends_in: f64,
    month_ends_in: f64,
}

#[derive(Debug, Deserialize)]
struct BreakerRow {
    provider: String,
    identity: String,
    kind: BreakerKind,
    until_in: Option<f64>,
    probe_in: Option<f64>,
    reason: Option<String>,
    error: Option<String>,
    trips: u32,
    version: i64,
}

#[derive(Debug, Deserialize)]
struct QuotaRow {
    provider: String,
    window: String,
    used: u64,
}

impl From<FleetSnapshotRow> for FleetSnapshot {
    fn from(snapshot: FleetSnapshotRow) -> Self {
        let mut used: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for row in snapshot.used {
            let windows = used.entry(row.provider).or_default();
            if row.window == "day" { windows.0 = row.used } else { windows.1 = row.used }
        }
        let breakers = snapshot.breakers.into_iter().map(|row| {
            let state = SharedBreaker {
                kind: row.kind,
                until_in: span(row.until_in),
                probe_in: probe_span(row.probe_in),
                reason: row.reason,
                error: row.error,
                trips: row.trips,
                version: row.version,
            };
            (row.provider, row.identity, state)
        });
        Self {
            breakers: breakers.collect(),
            used: used.into_iter().map(|(provider, (day, month))| (provider, day, month)).collect(),
            spent_usd: snapshot.spent_usd,
            day_ends_in: span(Some(snapshot.day_ends_in)),
            month_ends_in: span(Some(snapshot.month_ends_in)),
        }
    }
}

//! Tenants that share the monthly cap: `[tenants]`.

use serde::Deserialize;

use super::key::{Key, UNIT};
use super::kind::{Field, Kind, Shape};

static SHARE: Shape = Shape {
    what: "tenant",
    secret_prefix: "CORROBORATE_TENANT",
    fields: &[
        Field::required("name", Kind::Slug, "a short name, for the log and the table of what was spent"),
        Field::required("channels", Kind::Text, "how its channels begin"),
        Field::required("share", UNIT, "its share of the month's cap"),
    ],
};

pub(super) fn keys() -> Vec<Key> {
    vec![Key::own("tenants.shares", Kind::Tables(&SHARE), "channels that may spend a share of the month's cap")]
}

/// Shares of `enrichment.monthly_cap_usd`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantsConfig {
    pub shares: Vec<TenantShare>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantShare {
    pub name: String,
    /// Prefix of its channels.
    pub channels: String,
    /// 0–1
    pub share: f64,
}

//! Pages that items link to: `[enrichment.links]`.

use std::time::Duration;

use serde::Deserialize;

/// Whether and how they are read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinksConfig {
    pub expand: bool,
    /// Of one item.
    pub max: usize,
    #[serde(with = "humantime_serde")]
    pub timeout_per_link: Duration,
    /// For all links of an item.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Characters taken of a page.
    pub max_chars: usize,
}

//! Pages that items link to: `[enrichment.links]`.

use std::time::Duration;

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinksConfig {
    pub expand: bool,
    /// Per item.
    pub max: usize,
    #[serde(with = "humantime_serde")]
    pub timeout_per_link: Duration,
    /// Per item.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Per page.
    pub max_chars: usize,
}

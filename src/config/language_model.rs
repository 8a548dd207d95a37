//! The language model: `[llm]`.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use url::Url;

use super::api_key::ApiKey;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each use is a switch of its own, as the file and the environment have it"
)]
pub struct LlmConfig {
    /// With `/v1`. Unset: no language model.
    pub base_url: Option<Url>,
    #[serde(default, deserialize_with = "super::deserialize::api_key")]
    pub api_key: Option<ApiKey>,
    pub model: Option<String>,
    /// Each use has its own switch.
    pub claims_enabled: bool,
    pub sufficiency_enabled: bool,
    pub adjudicate_enabled: bool,
    pub search_enabled: bool,
    pub explain_enabled: bool,
    pub summary_enabled: bool,
    pub correct_enabled: bool,
    pub translate_enabled: bool,
    /// Expected share of correct stances; 1/3 is chance.
    pub reliability: f64,
    /// US dollars in addition to tokens. Counts towards the monthly cap.
    #[serde(default)]
    pub cost_usd: f64,
    /// US dollars per million tokens.
    pub input_usd_per_million: f64,
    pub output_usd_per_million: f64,
    /// US dollars in addition to tokens.
    pub search_cost_usd: f64,
    /// Limits per item.
    pub calls_per_item: u32,
    pub usd_per_item: f64,
    /// Calls per minute of all processes; concurrent calls of this process.
    pub rpm: NonZeroU32,
    pub concurrency: usize,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Per answer.
    pub max_tokens: u32,
    /// Delay from the start of a search to the model's own search.
    #[serde(with = "humantime_serde")]
    pub search_after: Duration,
    #[serde(with = "humantime_serde")]
    pub answer_ttl: Duration,
}

impl LlmConfig {
    /// Returns the uses except translation, with their keys.
    pub fn switches(&self) -> [(&'static str, bool); 7] {
        [
            ("llm.claims_enabled", self.claims_enabled),
            ("llm.sufficiency_enabled", self.sufficiency_enabled),
            ("llm.adjudicate_enabled", self.adjudicate_enabled),
            ("llm.search_enabled", self.search_enabled),
            ("llm.explain_enabled", self.explain_enabled),
            ("llm.summary_enabled", self.summary_enabled),
            ("llm.correct_enabled", self.correct_enabled),
        ]
    }

    /// Returns true if the model translates when no translation server is set.
    pub fn translates(&self) -> bool {
        self.translate_enabled && self.base_url.is_some() && self.model.is_some()
    }
}

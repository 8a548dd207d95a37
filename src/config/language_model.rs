//! The language model: `[llm]`.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use url::Url;

use super::api_key::ApiKey;

/// An OpenAI-compatible server, what it is asked for, and what that may cost.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each use is a switch of its own, as the file and the environment have it"
)]
pub struct LlmConfig {
    /// `/v1` included. Unset: no language model.
    pub base_url: Option<Url>,
    #[serde(default, deserialize_with = "super::deserialize::api_key")]
    pub api_key: Option<ApiKey>,
    pub model: Option<String>,
    /// Each use is switched on by itself.
    pub claims_enabled: bool,
    pub sufficiency_enabled: bool,
    pub adjudicate_enabled: bool,
    pub search_enabled: bool,
    pub explain_enabled: bool,
    pub summary_enabled: bool,
    pub correct_enabled: bool,
    pub translate_enabled: bool,
    /// Share of stances in which it is taken to be right; 1/3 is chance.
    pub reliability: f64,
    /// What one call costs beside its tokens, US dollars; it counts towards the month's cap.
    #[serde(default)]
    pub cost_usd: f64,
    /// US dollars for a million tokens read, and for a million written.
    pub input_usd_per_million: f64,
    pub output_usd_per_million: f64,
    /// US dollars of one web search, beside its tokens.
    pub search_cost_usd: f64,
    /// What an item may spend.
    pub calls_per_item: u32,
    pub usd_per_item: f64,
    /// Calls a minute of the whole fleet, and at the same time of this process.
    pub rpm: NonZeroU32,
    pub concurrency: usize,
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Of an answer.
    pub max_tokens: u32,
    /// How long after the search began the model's own is started.
    #[serde(with = "humantime_serde")]
    pub search_after: Duration,
    /// How long an answer is kept.
    #[serde(with = "humantime_serde")]
    pub answer_ttl: Duration,
}

impl LlmConfig {
    /// The uses beside translation, each with its key.
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

    /// Whether it translates where no translation server is set.
    pub fn translates(&self) -> bool {
        self.translate_enabled && self.base_url.is_some() && self.model.is_some()
    }
}

//! Builds the language model, if one is configured.
//!
//! All uses share one gate. To add a use, add its switch in `uses`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::caches::Caches;
use super::gates::Gates;
use super::{AppError, OutboundObserver, setup};
use crate::cache::AnswerCache;
use crate::config::{Config, LlmConfig};
use crate::domain::Clock;
use crate::inference::llm::{LanguageModel, ModelSettings, Prices, Purpose};
use crate::outbound::{GateSettings, HttpClient};

/// Consecutive failures that open the breaker for [`REST`].
const FAILURES: u32 = 5;
const REST: Duration = Duration::from_mins(1);
/// Largest answer in bytes. An answer of some thousand tokens is a few kilobytes.
const MAX_ANSWER: usize = 1024 * 1024;

/// Returns `None` without an address or a name.
pub(super) fn build(config: &LlmConfig, gates: &Gates<'_>, answers: AnswerCache<Value>) -> Option<Arc<LanguageModel>> {
    let (base, model) = (config.base_url.as_ref()?, config.model.as_ref()?);
    let prices = Prices {
        call_usd: config.cost_usd,
        input_usd_per_million: config.input_usd_per_million,
        output_usd_per_million: config.output_usd_per_million,
        search_usd: config.search_cost_usd,
    };
    let prices = if config.search_enabled { prices } else { Prices { search_usd: 0.0, ..prices } };
    let gate = GateSettings {
        name: "llm",
        rpm: config.rpm.get(),
        max_wait: config.timeout,
        timeout: config.timeout,
        max_bytes: MAX_ANSWER,
        // A lost answer is charged too.
        max_attempts: 1,
        cooldown: REST,
        failures_to_open: FAILURES,
        daily_limit: None,
        // Reserved per call; the unused part is returned after the answer.
        cost_usd: prices.reserve(config.max_tokens, config.search_enabled),
    };
    let settings = ModelSettings {
        base,
        key: config.api_key.clone(),
        model,
        uses: uses(config),
        prices,
        max_tokens: config.max_tokens,
        concurrency: config.concurrency,
    };
    Some(Arc::new(LanguageModel::new(settings, gates.language_model(gate), answers)))
}

/// Returns the model of a process that shares no state, if it adjudicates.
pub(super) fn of_process(
    config: &Config,
    clock: &Arc<dyn Clock>,
    usage: &Arc<OutboundObserver>,
) -> Result<Option<Arc<LanguageModel>>, AppError> {
    if !config.llm.adjudicate_enabled {
        return Ok(None);
    }
    let http = HttpClient::live(&config.fetch.user_agent).map_err(|error| setup("the HTTP client", error))?;
    let gates = Gates { config, http: &http, clock, usage, store: None, followers: &Mutex::default() };
    let caches = Caches { config, usage, store: None };
    Ok(build(&config.llm, &gates, caches.language_model()))
}

/// Returns the enabled purposes.
fn uses(config: &LlmConfig) -> Vec<Purpose> {
    let is_on = |purpose: &Purpose| match purpose {
        Purpose::Claims => config.claims_enabled,
        Purpose::Sufficiency => config.sufficiency_enabled,
        Purpose::Adjudicate => config.adjudicate_enabled,
        Purpose::Search => config.search_enabled,
        Purpose::Explain => config.explain_enabled,
        Purpose::Summary => config.summary_enabled,
        Purpose::Correct => config.correct_enabled,
        Purpose::Translate => config.translate_enabled,
    };
    Purpose::ALL.iter().copied().filter(is_on).collect()
}

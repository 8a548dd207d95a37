//! Questions to a language model on an OpenAI-compatible server.
//!
//! The model is optional, and each use is enabled separately. Its answers are untrusted: without an object of the
//! schema, they are repaired or rejected, and the caller continues. Texts are sent as fenced data ([`fence`]), never as
//! instructions. Requests use the provider gate, and [`ItemSpend`] limits each item. Only cached answers outlive an
//! item.
//!
//! To add a use: add a [`Purpose`] with a priority and a versioned file in `prompts/`. A file here builds the
//! [`Question`] and reads the answer. A stage in `pipeline` asks it.

pub mod adjudication;
#[cfg(test)]
mod attacked;
pub mod claims;
pub mod correction;
pub mod explain;
pub mod fence;
mod form;
mod json;
mod model;
mod places;
mod prices;
pub mod prompts;
mod refusal;
mod reply;
mod responses;
pub mod search;
pub mod sufficiency;
pub mod summary;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::cache::FlightError;
use crate::outbound::AskError;

pub use model::{LanguageModel, ModelSettings, in_judges};
pub use prices::Prices;
pub use prompts::Prompt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Claims of a text, with their kind.
    Claims,
    /// The model's web search, for claims without evidence from providers.
    Search,
    /// Stances, verdicts and justifications of an item's claims.
    Adjudicate,
    /// Translation of a claim, query or passage.
    Translate,
    /// Whether stored evidence settles a claim.
    Sufficiency,
    /// Why a text has no claim to check.
    Explain,
    /// A few lines about all claims.
    Summary,
    /// A new wording of a wrong claim, from cited passages.
    Correct,
}

impl Purpose {
    pub const ALL: [Self; 8] = [
        Self::Claims,
        Self::Search,
        Self::Adjudicate,
        Self::Translate,
        Self::Sufficiency,
        Self::Explain,
        Self::Summary,
        Self::Correct,
    ];

    /// Returns the metric label, also the prompt's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Search => "search",
            Self::Adjudicate => "adjudicate",
            Self::Translate => "translate",
            Self::Sufficiency => "sufficiency",
            Self::Explain => "explain",
            Self::Summary => "summary",
            Self::Correct => "correct",
        }
    }

    /// Returns the timeout of answers that other work waits for; a slower server counts as hanging. An item has about
    /// nine seconds for translation.
    pub const fn patience(self) -> Option<Duration> {
        match self {
            Self::Translate => Some(Duration::from_secs(4)),
            _ => None,
        }
    }

    /// Returns the queue priority; higher goes first, because other work waits for it.
    pub const fn priority(self) -> u8 {
        match self {
            Self::Claims => 10,
            Self::Search => 8,
            Self::Adjudicate | Self::Explain => 6,
            Self::Translate => 5,
            Self::Summary | Self::Correct => 4,
            Self::Sufficiency => 3,
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One question, independent of earlier ones.
#[derive(Debug, Clone)]
pub struct Question {
    pub purpose: Purpose,
    /// The prompt's version; part of the cache key.
    pub version: u32,
    /// The instruction, without text of an item or page.
    pub system: String,
    /// The fenced data.
    pub user: String,
    /// JSON Schema of the answer (strict subset: all properties required, no others). Name: `[A-Za-z0-9_-]{1,64}`.
    pub schema: Value,
    pub max_tokens: u32,
}

/// An object. Its reader must check it, because servers may ignore the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub value: Value,
    /// Cached, so without cost.
    pub cached: bool,
    /// Truncated: parts may be missing.
    pub is_part: bool,
}

/// Result of the model's web search. It is not evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchAnswer {
    /// Cited addresses without tracking parameters, in order, each once.
    pub urls: Vec<String>,
    pub cached: bool,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LlmError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("the language model declined to answer: {detail}")]
    Declined { detail: String },
    #[error("the language model's answer was truncated; raise llm.max_tokens or send a shorter text")]
    Cut,
    /// The complete part of a truncated answer. It is used but not cached, so that the next request can get the whole.
    #[error("the language model's answer was truncated; the complete part is used")]
    Part(Value),
    #[error("the language model's answer could not be read: {detail}")]
    Unreadable { detail: String },
    #[error("the language model's answer failed a check: {detail}")]
    Unsupported { detail: String },
    #[error(
        "the language model's server has no web search (the Responses API with the tool web_search): {detail}; set \
         llm.search_enabled (LLM_SEARCH_ENABLED) to false, or use a server that has one"
    )]
    NoSearch { detail: String },
    #[error("this item reached its limit for the language model (llm.calls_per_item, llm.usd_per_item)")]
    ItemLimit,
}

impl LlmError {
    /// Returns the metric label.
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Ask(AskError::Timeout | AskError::Deadline) => "timeout",
            Self::Ask(AskError::Malformed { .. }) | Self::Cut | Self::Unreadable { .. } => "malformed",
            Self::Part(_) => "ok",
            Self::Declined { .. } => "declined",
            Self::Unsupported { .. } => "unsupported",
            Self::Ask(_) | Self::NoSearch { .. } | Self::ItemLimit => "failed",
        }
    }
}

impl FlightError for LlmError {
    fn is_caller_specific(&self) -> bool {
        matches!(self, Self::Ask(AskError::Deadline) | Self::ItemLimit)
    }

    fn deadline() -> Self {
        Self::Ask(AskError::Deadline)
    }
}

/// An item's limits for the language model, and its use of them.
#[derive(Debug)]
pub struct ItemSpend {
    max_calls: u32,
    max_usd: f64,
    spent: Mutex<Spending>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spending {
    pub calls: u32,
    pub tokens_read: u64,
    pub tokens_written: u64,
    pub usd: f64,
}

impl ItemSpend {
    pub fn new(max_calls: u32, max_usd: f64) -> Self {
        Self { max_calls, max_usd, spent: Mutex::default() }
    }

    /// Reserves a call of at most `usd`, or fails.
    pub fn take(&self, usd: f64) -> Result<(), LlmError> {
        let mut spent = self.lock();
        if spent.calls >= self.max_calls || (usd > 0.0 && spent.usd + usd > self.max_usd) {
            return Err(LlmError::ItemLimit);
        }
        spent.calls += 1;
        spent.usd += usd;
        Ok(())
    }

    /// Replaces a reservation by the actual values. `calls`: requests sent.
    pub fn settle(&self, taken_usd: f64, really: Spending) {
        let mut spent = self.lock();
        spent.calls = (spent.calls + really.calls).saturating_sub(1);
        spent.usd = (spent.usd + really.usd - taken_usd).max(0.0);
        spent.tokens_read += really.tokens_read;
        spent.tokens_written += really.tokens_written;
    }

    /// Adds the cost of translations, which have their own call limit.
    pub fn charge(&self, usd: f64) {
        self.lock().usd += usd;
    }

    /// Whether the money is used up; never for free calls.
    pub fn is_used_up(&self) -> bool {
        let spent = self.lock();
        spent.usd > 0.0 && spent.usd >= self.max_usd
    }

    pub fn spent(&self) -> Spending {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Spending> {
        // Sums: a panic cannot leave them inconsistent.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uses {
    on: [bool; Purpose::ALL.len()],
}

impl Uses {
    #[must_use]
    pub fn with(mut self, purpose: Purpose, is_on: bool) -> Self {
        if let Some(place) = self.on.get_mut(purpose as usize) {
            *place = is_on;
        }
        self
    }

    pub fn has(&self, purpose: Purpose) -> bool {
        self.on.get(purpose as usize).copied().unwrap_or_default()
    }

    pub fn any(&self) -> bool {
        self.on.contains(&true)
    }
}

/// Deadline of an answer.
pub type Deadline = Instant;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_spends_no_more_than_it_may_and_gets_back_what_it_did_not_use() {
        let spend = ItemSpend::new(2, 0.10);
        assert_eq!(spend.take(0.08), Ok(()));
        spend.settle(0.08, Spending { calls: 1, tokens_read: 100, tokens_written: 20, usd: 0.01 });
        assert_eq!(spend.take(0.08), Ok(()));
        assert_eq!(spend.take(0.001), Err(LlmError::ItemLimit), "two calls are all");
        spend.settle(0.08, Spending::default());
        assert_eq!(spend.spent().calls, 1, "what never went out is no call");
        assert_eq!(spend.take(0.2), Err(LlmError::ItemLimit), "dearer than what is left");
    }

    #[test]
    fn each_use_is_switched_on_by_itself() {
        let uses = Uses::default().with(Purpose::Claims, true);
        assert!(uses.has(Purpose::Claims) && uses.any());
        assert!(Purpose::ALL.iter().filter(|purpose| uses.has(**purpose)).count() == 1);
        assert!(!Uses::default().any());
    }
}

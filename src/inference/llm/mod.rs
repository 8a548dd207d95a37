//! A language model behind an OpenAI-compatible server: what it is asked, and what becomes of its answers.
//!
//! It is never needed and never trusted. Every use is switched on by itself; without `LLM_BASE_URL` no language model is asked. What it
//! says is text from outside: an answer that is no object of the schema asked for is repaired or thrown away, and whoever
//! asked goes on without it. Texts of items and pages go to it as data, fenced ([`fence`]), and never as instructions.
//!
//! Asking goes through the provider gate as everywhere: rate, breaker by the error's class, time-outs, the month's money.
//! Beside it stands what an item may spend ([`ItemSpend`]). No state is kept between items but answers by what was asked.
//!
//! To add a use: a [`Purpose`] with its priority, a prompt file in `prompts/` with a version, a file here that builds the
//! [`Question`] from typed input and reads the typed answer, and the stage in `pipeline` that asks.

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

use crate::cache::Refused;
use crate::outbound::{AskError, Purse};

pub use model::{LanguageModel, ModelSettings, in_judges};
pub use prices::Prices;
pub use prompts::Prompt;

/// What a language model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Claims of a text, with their kind.
    Claims,
    /// The model's own web search, for claims that no provider brought evidence for.
    Search,
    /// Stance of each passage, verdict and justification of each claim of an item.
    Adjudicate,
    /// A claim, query or passage in another language.
    Translate,
    /// Whether stored evidence settles a claim.
    Sufficiency,
    /// Why a text holds nothing that can be checked.
    Explain,
    /// Some lines over all claims of an item.
    Summary,
    /// A text in a wrong claim's place, from cited passages.
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

    /// The metric's label, and the name of its prompt.
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

    /// How long an answer may take that others wait for, where the operator allows more: a server that lets a sentence wait
    /// for longer is taken to hang. An item gives translation near nine seconds of its time.
    pub const fn patience(self) -> Option<Duration> {
        match self {
            Self::Translate => Some(Duration::from_secs(4)),
            _ => None,
        }
    }

    /// Who goes first where calls queue for a server, the higher the sooner: what other work of an item waits for before
    /// what comes last (the seed's order: extraction 10, search 8, links 6, evidence 3).
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

/// One question, whole: nothing of an earlier one is part of it.
#[derive(Debug, Clone)]
pub struct Question {
    pub purpose: Purpose,
    /// Version of the prompt's text; part of what an answer is kept by.
    pub version: u32,
    /// The instruction. Holds no word of an item or a page.
    pub system: String,
    /// The fenced data.
    pub user: String,
    /// JSON Schema of the answer (the strict subset: every property required, none besides), and its name
    /// (`[A-Za-z0-9_-]{1,64}`).
    pub schema: Value,
    /// Tokens the answer may have.
    pub max_tokens: u32,
}

/// An answer that is an object of the question's schema, as far as a server keeps to schemas: whoever reads it checks it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub value: Value,
    /// Known from an earlier call, which cost what it cost then.
    pub cached: bool,
    /// It was cut: more may have been to come.
    pub is_part: bool,
}

/// An answer of the model's own web search: what it says, and where it says it found it. Claims, not evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchAnswer {
    /// Addresses cited, without tracking parameters, each once, in order.
    pub urls: Vec<String>,
    pub cached: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LlmError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("the language model declined to answer: {detail}")]
    Declined { detail: String },
    #[error("the language model's answer was cut off; give it more room (llm.max_tokens) or a shorter text")]
    Cut,
    /// What was whole of an answer that was cut. It is used and not kept: whoever asks next may get all of it.
    #[error("the language model's answer was cut off; what was whole of it is used")]
    Part(Value),
    #[error("the language model's answer could not be read: {detail}")]
    Unreadable { detail: String },
    #[error("the language model's answer was not believed: {detail}")]
    Unsupported { detail: String },
    #[error(
        "the language model's server has no web search (the Responses API with the tool web_search): {detail}; set \
         llm.search_enabled (LLM_SEARCH_ENABLED) to false, or use a server that has one"
    )]
    NoSearch { detail: String },
    #[error("this item has used up what it may spend on the language model (llm.calls_per_item, llm.usd_per_item)")]
    ItemLimit,
}

impl LlmError {
    /// The outcome's label in metrics.
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

impl Refused for LlmError {
    fn is_the_askers_own(&self) -> bool {
        matches!(self, Self::Ask(AskError::Deadline | AskError::ShareUsed) | Self::ItemLimit)
    }

    fn deadline() -> Self {
        Self::Ask(AskError::Deadline)
    }
}

/// What an item may spend on the language model, and has.
#[derive(Debug)]
pub struct ItemSpend {
    max_calls: u32,
    max_usd: f64,
    spent: Mutex<Spent>,
    /// Of the item's tenant.
    purse: Option<Purse>,
}

/// Sums over the calls of one item.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub calls: u32,
    pub tokens_read: u64,
    pub tokens_written: u64,
    pub usd: f64,
}

impl ItemSpend {
    pub fn new(max_calls: u32, max_usd: f64) -> Self {
        Self { max_calls, max_usd, spent: Mutex::default(), purse: None }
    }

    /// The same for an item of a tenant, whose share of the month's cap pays.
    pub(crate) fn paid_from(self, purse: Option<Purse>) -> Self {
        Self { purse, ..self }
    }

    fn purse(&self) -> Option<Purse> {
        self.purse.clone()
    }

    /// Takes a call of at most that price, if the item may still make it.
    pub fn take(&self, usd: f64) -> Result<(), LlmError> {
        let mut spent = self.lock();
        if spent.calls >= self.max_calls || (usd > 0.0 && spent.usd + usd > self.max_usd) {
            return Err(LlmError::ItemLimit);
        }
        spent.calls += 1;
        spent.usd += usd;
        Ok(())
    }

    /// What a call really was, in the place of what was taken for it. `calls`: requests that went out, 0 where none did.
    pub fn settle(&self, taken_usd: f64, really: Spent) {
        let mut spent = self.lock();
        spent.calls = (spent.calls + really.calls).saturating_sub(1);
        spent.usd = (spent.usd + really.usd - taken_usd).max(0.0);
        spent.tokens_read += really.tokens_read;
        spent.tokens_written += really.tokens_written;
    }

    /// Money that was spent beside the item's calls, on translations, whose number has a limit of its own.
    pub fn charge(&self, usd: f64) {
        self.lock().usd += usd;
    }

    /// Whether its money is gone; what costs nothing is never too dear.
    pub fn is_used_up(&self) -> bool {
        let spent = self.lock();
        spent.usd > 0.0 && spent.usd >= self.max_usd
    }

    pub fn spent(&self) -> Spent {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Spent> {
        // Sums: nothing that a panic could leave half done.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which uses are switched on.
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

/// Time by which an answer must be there; nothing in here waits longer.
pub type Until = Instant;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_spends_no_more_than_it_may_and_gets_back_what_it_did_not_use() {
        let spend = ItemSpend::new(2, 0.10);
        assert_eq!(spend.take(0.08), Ok(()));
        spend.settle(0.08, Spent { calls: 1, tokens_read: 100, tokens_written: 20, usd: 0.01 });
        assert_eq!(spend.take(0.08), Ok(()));
        assert_eq!(spend.take(0.001), Err(LlmError::ItemLimit), "two calls are all");
        spend.settle(0.08, Spent::default());
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

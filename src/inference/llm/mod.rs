//! Questions to a language model on an OpenAI-compatible server.
//!
//! The model is optional, and each use is enabled separately. Its answers are untrusted: an answer that is no object of
//! the schema is requested once more and then rejected, and the caller continues without it. Texts are sent as fenced
//! data ([`fence`]), never as instructions. Requests use the provider gate, and [`ItemSpend`] limits each item. Only
//! cached answers outlive an item.
//!
//! Every use has the same shape: a [`Question`] (prompt, data and schema) and a function that reads the answer.
//! [`LanguageModel::ask`] takes both. To add a use: add a [`Purpose`], a versioned file in `prompts/`, and the two
//! functions. A stage in `pipeline` asks the question.

pub mod adjudication;
#[cfg(test)]
mod attacked;
pub mod claims;
pub mod fence;
mod model;
pub mod prompts;
pub mod retrieval;
mod slots;
mod spend;
pub mod texts;
mod wire;

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cache::FlightError;
use crate::domain::verdict::words;
use crate::outbound::AskError;

use self::fence::Message;
pub use model::{LanguageModel, ModelSettings, in_judges};
pub use prompts::Prompt;
pub use spend::{ItemSpend, Prices, Spending};

words! {
    /// The metric label, also the schema's name.
    Purpose {
        /// Claims of a text, with their kind.
        Claims => "claims",
        /// The model's web search, for claims without evidence from providers.
        Search => "search",
        /// Stances, verdicts and justifications of an item's claims.
        Adjudicate => "adjudicate",
        /// Translation of a claim, query or passage.
        Translate => "translate",
        /// Whether stored evidence settles a claim.
        Sufficiency => "sufficiency",
        /// Why a text has no claim to check.
        Explain => "explain",
        /// A few lines about all claims.
        Summary => "summary",
        /// A new wording of a wrong claim, from cited passages.
        Correct => "correct",
    }
}

impl Purpose {
    /// Returns the timeout of answers that other work waits for; a slower server counts as hanging. An item has about
    /// nine seconds for translation.
    pub const fn patience(self) -> Option<Duration> {
        match self {
            Self::Translate => Some(Duration::from_secs(4)),
            _ => None,
        }
    }

    /// Returns the queue priority; higher goes first, because other work waits for it.
    const fn priority(self) -> u8 {
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

/// One question, independent of earlier ones.
#[derive(Debug, Clone)]
pub struct Question {
    pub purpose: Purpose,
    /// The instruction, without text of an item or page.
    pub system: String,
    /// The fenced data.
    pub user: String,
    /// JSON Schema of the answer ([`object`]). `Null` for a search, whose answer is prose.
    pub schema: Value,
    pub max_tokens: u32,
}

impl Question {
    /// Builds a question from a prompt, in whose text `{nonce}` and the other `{names}` are replaced.
    pub fn new(
        prompt: &str,
        names: &[(&str, &str)],
        message: &Message,
        schema: Value,
        max_tokens: usize,
    ) -> Option<Self> {
        let prompt = prompts::named(prompt)?;
        let (nonce, user) = message.fenced();
        let fill = |text: String, (name, value): &(&str, &str)| text.replace(&format!("{{{name}}}"), value);
        let system = names.iter().fold(prompt.text.to_owned(), fill);
        Some(Self {
            purpose: prompt.purpose,
            system: fill(system, &("nonce", &nonce)),
            user,
            schema,
            max_tokens: u32::try_from(max_tokens).unwrap_or(u32::MAX),
        })
    }
}

/// Returns the schema of an object with exactly these properties, in the strict subset that servers enforce.
pub(super) fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let required = json!(names);
    let properties: serde_json::Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties})
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Reads a list of the answer without the entries of another shape, because servers may ignore the schema.
fn entries<T: DeserializeOwned>(answer: &Value, name: &str) -> Option<Vec<T>> {
    Some(answer.get(name)?.as_array()?.iter().filter_map(|entry| T::deserialize(entry).ok()).collect())
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LlmError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("the language model declined to answer: {detail}")]
    Declined { detail: String },
    #[error("the language model's answer was truncated; raise llm.max_tokens or send a shorter text")]
    Cut,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_requires_every_property_and_entries_of_another_shape_are_left_out() {
        let schema = object([("b", text()), ("a", list(&one_of(&["x"])))]);
        assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["b", "a"]), &json!(false)));
        assert_eq!(entries::<u32>(&json!({"n": [1, "2", -3, 4]}), "n"), Some(vec![1, 4]));
        assert_eq!(entries::<u32>(&json!({"n": 1}), "n"), None);
    }
}

//! What a stage says where the language model was not heard.

use super::Journal;
use crate::domain::Degradation;
use crate::inference::llm::LlmError;

/// What degraded items name a language model by.
pub(super) const LLM: &str = "llm";

/// Says that the language model was not heard, and why; the item goes on by the other judges and rules.
pub(super) fn failed(model: &str, stage: &str, error: &LlmError, journal: &Journal) {
    let cause = Degradation::ModelFailed(LLM.to_owned());
    if !journal.is_degraded_by(&cause) {
        tracing::warn!(%error, model, stage, "the language model was not heard; the item goes on without it");
        journal.degrade(cause);
    }
    journal.trace(format!("{stage}: {model} was not heard: {error}"));
}

//! Records failures of the language model or a custom step.

use std::fmt::Display;

use super::run_context::Journal;
use crate::domain::Degradation;

/// Degrades the result; the other judges continue. The cause is the name up to the colon: `llm` for every language
/// model.
pub(super) fn failed(name: &str, stage: &str, error: &(dyn Display + Sync), journal: &Journal) {
    let cause = Degradation::ModelFailed(name.split(':').next().unwrap_or(name).to_owned());
    if !journal.is_degraded_by(&cause) {
        tracing::warn!(%error, model = name, stage, "language model call failed; continuing without it");
        journal.degrade(cause);
    }
    journal.trace(format!("{stage}: {name} was not heard: {error}"));
}

/// Traces that only texts for readers are missing; the result is not degraded.
pub(super) fn unworded(name: &str, stage: &str, error: &(dyn Display + Sync), journal: &Journal) {
    tracing::info!(%error, model = name, stage, "language model returned no text; using the built-in wording");
    journal.trace(format!("{stage}: {name} was not heard: {error}"));
}

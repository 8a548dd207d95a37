//! What a stage says where the language model, or whoever stands in its place, was not heard.

use std::fmt::Display;

use super::Journal;
use crate::domain::Degradation;

/// Says that it was not heard, and why; the item goes on by the other judges and rules. Degraded items name it by what
/// stands before the colon of its name: `llm` for every language model.
pub(super) fn failed(name: &str, stage: &str, error: &(dyn Display + Sync), journal: &Journal) {
    if journal.is_out_of_money() {
        journal.degrade(Degradation::Budget);
        journal.trace(format!("{stage}: {name} was not heard: {error}"));
        return;
    }
    let cause = Degradation::ModelFailed(name.split(':').next().unwrap_or(name).to_owned());
    if !journal.is_degraded_by(&cause) {
        tracing::warn!(%error, model = name, stage, "it was not heard; the item goes on without it");
        journal.degrade(cause);
    }
    journal.trace(format!("{stage}: {name} was not heard: {error}"));
}

/// The same where only words for readers are missing: the verdict stands as it would have, so that the item is whole.
pub(super) fn unworded(name: &str, stage: &str, error: &(dyn Display + Sync), journal: &Journal) {
    tracing::info!(%error, model = name, stage, "no words came from it; the item goes without");
    journal.trace(format!("{stage}: {name} was not heard: {error}"));
}

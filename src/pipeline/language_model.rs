//! Asks a language model for texts for readers, and records failures of it or of a custom step.

use std::fmt::Display;

use serde_json::Value;

use super::run_context::Journal;
use super::services::Services;
use crate::domain::Degradation;
use crate::inference::llm::{Purpose, Question};
use crate::telemetry::metrics;

/// Returns a text for readers. `None` if this use is off or no text came: the built-in wording remains, and the result
/// is not degraded.
pub(super) async fn text_for_readers<T>(
    services: &Services,
    purpose: Purpose,
    question: Option<Question>,
    read: impl Fn(&Value) -> Option<T> + Send + Sync,
    journal: &Journal,
) -> Option<T> {
    let model = services.language_model_for(purpose)?;
    match model.ask(&question?, read, &journal.llm, journal.judge_until).await {
        Ok(text) => {
            journal.trace(format!("{purpose}: text by {}", model.name()));
            Some(text)
        }
        Err(error) => {
            let (stage, name) = (purpose.as_str(), model.name());
            tracing::info!(%error, model = name, stage, "language model returned no text; using the built-in wording");
            journal.trace(format!("{stage}: {name} was not heard: {error}"));
            None
        }
    }
}

/// Counts and traces a text that failed the checks.
pub(super) fn discarded(purpose: Purpose, why: impl Display, journal: &Journal) {
    metrics::llm_discarded(purpose.as_str());
    journal.trace(format!("{purpose}: the language model's text was discarded: {why}"));
}

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

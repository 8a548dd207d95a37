//! Custom steps that replace claim extraction, gathering or adjudication; see `examples/own_steps.rs`.
//!
//! Their output is treated like the pipeline's own: texts must support claims, copies count once, and an adjudicator
//! alone never makes a verdict conclusive.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::inference::steps::{Adjudicator, ClaimExtractor, StepError};
use crate::providers::gatherer::Gatherer;

/// Extra time in which a step can report its own timeout.
const GRACE: Duration = Duration::from_millis(250);

#[derive(Debug, Clone, Default)]
pub struct Steps {
    /// Extracts claims instead of rules and language model. The rules are used for texts on which it returns nothing.
    pub claims: Option<Arc<dyn ClaimExtractor>>,
    pub gatherers: Gatherers,
    /// Adjudicates instead of the language model, in addition to the NLI model.
    pub adjudicator: Option<Arc<dyn Adjudicator>>,
}

#[derive(Debug, Clone)]
pub enum Gatherers {
    /// In addition to the configured providers, before web search.
    InAddition(Vec<Arc<dyn Gatherer>>),
    /// Instead of all providers, including fact-checks and the evidence store.
    Instead(Vec<Arc<dyn Gatherer>>),
}

impl Default for Gatherers {
    fn default() -> Self {
        Self::InAddition(Vec::new())
    }
}

/// Returns the step's answer, or an error after `until`.
pub(super) async fn in_time<T>(
    until: Instant,
    step: impl Future<Output = Result<Option<T>, StepError>>,
) -> Result<Option<T>, StepError> {
    timeout_at(until + GRACE, step).await.unwrap_or_else(|_elapsed| Err("it did not answer in time".into()))
}

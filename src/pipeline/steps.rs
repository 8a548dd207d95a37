//! Steps that a program which uses this library puts in the place of ours; without any, the pipeline runs as it ships.
//!
//! What a step brings goes the same way as everything else: claims stand where their text bears them out, texts are judged,
//! copies count once, and an adjudicator alone makes nothing firm. `examples/own_steps.rs` replaces all three.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::inference::steps::{Adjudicator, ClaimExtractor, StepError};
use crate::providers::gatherer::Gatherer;

/// How long after its end a step is waited for: whoever keeps to its time says himself why he could not.
const GRACE: Duration = Duration::from_millis(250);

/// The steps that are another's.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    /// Takes the claims out of texts, in the place of rules and language model; of what it has nothing to say of, the rules
    /// do.
    pub claims: Option<Arc<dyn ClaimExtractor>>,
    pub gatherers: Gatherers,
    /// Says what passages say of the claims, in the place of the language model and beside the judge in the process.
    pub adjudicator: Option<Arc<dyn Adjudicator>>,
}

/// Who else gathers evidence.
#[derive(Debug, Clone)]
pub enum Gatherers {
    /// Beside the providers that the configuration names, and before those who search the web.
    Beside(Vec<Arc<dyn Gatherer>>),
    /// In their place: nobody else is asked, fact-checkers and own knowledge included.
    Instead(Vec<Arc<dyn Gatherer>>),
}

impl Default for Gatherers {
    fn default() -> Self {
        Self::Beside(Vec::new())
    }
}

/// What a step answers, if it does before `until`.
pub(super) async fn in_time<T>(
    until: Instant,
    step: impl Future<Output = Result<Option<T>, StepError>>,
) -> Result<Option<T>, StepError> {
    timeout_at(until + GRACE, step).await.unwrap_or_else(|_elapsed| Err("it did not answer in time".into()))
}

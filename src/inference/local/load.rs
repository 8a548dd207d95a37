//! From a folder to a model that has shown that it works.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::backend;
use super::engine::{Engine, Misread, Read, RowError, Runner};
use super::tokens::{Texts, Tokens};
use crate::inference::InferenceError;
use crate::inference::folder::{Manifest, ModelError, ModelFolder, PairOrder, Task};

/// Longest input of the trial, in tokens. Attention takes memory with the square of the length: a model for 8,192 tokens
/// is believed beyond this.
const TRIAL_TOKENS: usize = 1_024;

/// A claim and a passage to try a model with.
const TRIAL: (&str, &str) = ("The bridge is open again.", "The bridge reopened on Monday, the city council said.");

/// A model's tokenizer and the door to its thread.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    texts: Arc<Texts>,
    engine: Engine,
}

/// Loads a model, runs it once on a text and once on the longest and strangest input, and starts its thread.
///
/// # Errors
/// Whatever is wrong with the folder, told before anything depends on it.
pub(super) fn load(folder: &ModelFolder, task: Task, read: Read) -> Result<Loaded, ModelError> {
    let manifest = &folder.manifest;
    if manifest.task != task {
        let (expected, found) = (task.as_str(), manifest.task.as_str());
        return Err(ModelError::Task { location: folder.location(), expected, found });
    }
    let texts = Texts::load(folder)?;
    let mut runner = Runner { backend: backend::load(folder)?, read };
    try_out(folder, &texts, &mut runner)?;
    let name = Arc::from(manifest.name.as_str());
    let engine = Engine::start(name, task, backend::threads(), runner).map_err(|error| ModelError::Runtime {
        location: folder.location(),
        detail: format!("the system gives it no thread ({error})"),
    })?;
    Ok(Loaded { texts: Arc::new(texts), engine })
}

fn try_out(folder: &ModelFolder, texts: &Texts, runner: &mut Runner) -> Result<(), ModelError> {
    let location = || folder.location();
    let strange = |detail: String| ModelError::Vocabulary { location: location(), detail };
    let (claim, passage) = TRIAL;
    let plain = match folder.manifest.task {
        Task::Embedding => texts.single(passage),
        Task::Stance | Task::Relevance => texts.pair(claim, passage, claim_first(&folder.manifest)),
    };
    let plain = plain.map_err(strange)?;
    // A tokenizer that knows no English word is not broken; its own vocabulary is tried next.
    if let Some(row) = &plain {
        run_one(runner, row).map_err(|error| match error {
            RowError::Misread(Misread::Shape { expected, found, mend }) => {
                ModelError::Output { location: location(), expected, found, mend }
            }
            error => ModelError::Probe { location: location(), detail: error.to_string() },
        })?;
    }
    let longest = folder.manifest.max_length.min(TRIAL_TOKENS);
    let extreme = texts.extreme(longest).map_err(strange)?;
    run_one(runner, &extreme).map_err(|error| ModelError::Vocabulary {
        location: location(),
        detail: format!(
            "it fails with {longest} tokens, the last of the vocabulary ({error}); lower `max_length` if the model takes \
             no more"
        ),
    })
}

fn run_one(runner: &mut Runner, row: &Tokens) -> Result<(), RowError> {
    runner.run(&[row]).into_iter().try_for_each(|answer| answer.map(drop))
}

/// Whether the model sees the claim before the passage.
pub(super) fn claim_first(manifest: &Manifest) -> bool {
    manifest.pair_order() == PairOrder::ClaimPassage
}

impl Loaded {
    /// Cancelled when the model's thread has crashed.
    pub(super) fn crashed(&self) -> CancellationToken {
        self.engine.crashed().clone()
    }

    /// One answer per row that `tokenise` makes, in order; `None` where it made none. Tokenising is work for the processor
    /// and leaves the async threads alone.
    pub(super) async fn answer(
        &self,
        tokenise: impl FnOnce(&Texts) -> Result<Vec<Option<Tokens>>, String> + Send + 'static,
    ) -> Result<Vec<Option<Vec<f32>>>, InferenceError> {
        let texts = Arc::clone(&self.texts);
        let rows = tokio::task::spawn_blocking(move || tokenise(&texts)).await;
        let rows = rows.map_err(|error| self.engine.failed(&format!("the tokenizer gave up ({error})")))?;
        let rows = rows.map_err(|error| self.engine.failed(&error))?;
        let known: Vec<bool> = rows.iter().map(Option::is_some).collect();
        let mut answers = self.engine.run(rows.into_iter().flatten().collect()).await?.into_iter();
        Ok(known.into_iter().map(|known| if known { answers.next() } else { None }).collect())
    }
}

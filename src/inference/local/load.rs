//! Loads a model folder and tries the model before use.
//!
//! A model runs one normal and one extreme input before its thread starts.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::backend::{Rten, threads};
use super::engine::{Engine, OutputError, OutputReader, RowError, Runner};
use super::tokens::{Texts, Tokens};
use crate::inference::InferenceError;
use crate::inference::folder::{ModelError, ModelFolder, Task};

/// Tokens. Attention memory grows with the square of the length, so longer inputs are not tried.
const TRIAL_TOKENS: usize = 1_024;

/// A trial claim and passage.
const TRIAL: (&str, &str) = ("The bridge is open again.", "The bridge reopened on Monday, the city council said.");

/// A model's tokenizer and thread handle.
#[derive(Debug, Clone)]
pub(super) struct LoadedModel {
    texts: Arc<Texts>,
    engine: Engine,
}

/// Loads a model, tries it with a normal and the longest input, and starts its thread.
///
/// # Errors
/// Every problem of the folder.
pub(super) fn load(folder: &ModelFolder, task: Task, read: OutputReader) -> Result<LoadedModel, ModelError> {
    let manifest = &folder.manifest;
    if manifest.task != task {
        let (expected, found) = (task.as_str(), manifest.task.as_str());
        return Err(ModelError::Task { location: folder.location(), expected, found });
    }
    let texts = Texts::load(folder)?;
    let mut runner = Runner { backend: Box::new(Rten::load(folder)?), read };
    try_out(folder, &texts, &mut runner)?;
    let name = Arc::from(manifest.name.as_str());
    let engine = Engine::start(name, task, threads(), runner).map_err(|error| ModelError::Runtime {
        location: folder.location(),
        detail: format!("the system gives it no thread ({error})"),
    })?;
    Ok(LoadedModel { texts: Arc::new(texts), engine })
}

fn try_out(folder: &ModelFolder, texts: &Texts, runner: &mut Runner) -> Result<(), ModelError> {
    let location = || folder.location();
    let strange = |detail: String| ModelError::Vocabulary { location: location(), detail };
    let (claim, passage) = TRIAL;
    let plain = match folder.manifest.task {
        Task::Embedding => texts.single(passage),
        Task::Stance | Task::Relevance => texts.pair(claim, passage, false),
    };
    let plain = plain.map_err(strange)?;
    // A tokenizer without English words can be valid; its own vocabulary is tried next.
    if let Some(row) = &plain {
        run_one(runner, row).map_err(|error| match error {
            RowError::Output(OutputError::Shape { expected, found, fix }) => {
                ModelError::Output { location: location(), expected, found, fix }
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

impl LoadedModel {
    pub(super) fn crashed(&self) -> CancellationToken {
        self.engine.crashed().clone()
    }

    pub(super) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Returns one answer per row of `tokenise`, in order; `None` without a row. Tokenising runs on a blocking thread.
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

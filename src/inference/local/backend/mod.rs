//! The interface to a model runtime: token rows in, numbers out.
//!
//! To add one: implement [`Backend`] and select it in [`load`].

mod rten;

use std::fmt::Debug;

use super::tokens::Tokens;
use crate::inference::folder::{Manifest, ModelError, ModelFolder, Pooling, Task};

/// The output of one row. The shape may begin with the row's own dimension of 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

/// A loaded model, for one thread.
pub(super) trait Backend: Send + Debug {
    /// Returns one output per row, in order. Errors are for a person. May panic: the caller catches it.
    fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Output, String>>;
}

/// Loads a graph with the build's runtime.
///
/// # Errors
/// Invalid files, unknown operators and inputs.
pub(super) fn load(folder: &ModelFolder) -> Result<Box<dyn Backend>, ModelError> {
    Ok(Box::new(rten::Rten::load(folder)?))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Ids,
    Mask,
    Types,
    Positions,
}

impl Input {
    fn named(name: &str) -> Option<Self> {
        match name {
            "input_ids" => Some(Self::Ids),
            "attention_mask" => Some(Self::Mask),
            "token_type_ids" => Some(Self::Types),
            "position_ids" => Some(Self::Positions),
            _ => None,
        }
    }

    /// Returns the values for a single row, which has no padding.
    fn values(self, row: &Tokens) -> Vec<u32> {
        match self {
            Self::Ids => row.ids.clone(),
            Self::Mask => vec![1; row.ids.len()],
            Self::Types => row.types.clone(),
            Self::Positions => (0..).take(row.ids.len()).collect(),
        }
    }
}

/// Returns the task's output, by the usual names, otherwise the first.
fn answering<'a>(manifest: &Manifest, outputs: &'a [String]) -> Option<&'a String> {
    let wanted: &[&str] = match (manifest.task, manifest.pooling) {
        (Task::Embedding, Some(Pooling::None)) => &["sentence_embedding", "embeddings", "pooler_output"],
        (Task::Embedding, _) => &["last_hidden_state", "token_embeddings"],
        (Task::Stance | Task::Relevance, _) => &["logits"],
    };
    wanted.iter().find_map(|name| outputs.iter().find(|output| output == name)).or_else(|| outputs.first())
}

/// Returns the graph's inputs.
///
/// # Errors
/// An unknown input.
fn inputs<'a>(folder: &ModelFolder, names: impl Iterator<Item = &'a str>) -> Result<Vec<(String, Input)>, ModelError> {
    let known = names
        .map(|name| {
            let unknown = || ModelError::Input { location: folder.location(), input: name.to_owned() };
            Ok((name.to_owned(), Input::named(name).ok_or_else(unknown)?))
        })
        .collect::<Result<Vec<_>, ModelError>>()?;
    if known.iter().any(|(_, input)| *input == Input::Ids) {
        return Ok(known);
    }
    Err(ModelError::Graph {
        location: folder.location(),
        file: folder.manifest.model.clone(),
        detail: "it has no input named input_ids, so it is no text encoder".to_owned(),
    })
}

/// Returns the threads for all models: the cores of this process.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

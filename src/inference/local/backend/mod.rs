//! The seam to a model runtime: token rows in, numbers out.

#[cfg(feature = "ort")]
mod onnxruntime;
mod rten;

use std::fmt::Debug;

use super::tokens::Tokens;
use crate::inference::folder::{Manifest, ModelError, ModelFolder, Pooling, Task};

/// What a model gave for one row, with the row's own dimension of 1 in front where the graph has one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

/// A loaded model. It belongs to one thread.
pub(super) trait Backend: Send + Debug {
    /// One output per row, in order; the error of a row is in words for a person. May panic: who calls it catches that.
    fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Output, String>>;
}

/// Loads a model's graph with the runtime of this build.
///
/// # Errors
/// Files that are not what they should be, operators and inputs nobody knows.
pub(super) fn load(folder: &ModelFolder) -> Result<Box<dyn Backend>, ModelError> {
    #[cfg(feature = "ort")]
    match onnxruntime::library() {
        Ok(library) => return Ok(Box::new(onnxruntime::OnnxRuntime::load(folder, library)?)),
        Err(reason) => tracing::warn!(
            reason,
            model = folder.manifest.name,
            "ONNX Runtime cannot be had: the built-in runtime works instead; name its library in ORT_DYLIB_PATH"
        ),
    }
    Ok(Box::new(rten::Rten::load(folder)?))
}

/// An input of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Ids,
    Mask,
    Types,
    Positions,
}

impl Input {
    /// By the names every exporter gives them.
    fn named(name: &str) -> Option<Self> {
        match name {
            "input_ids" => Some(Self::Ids),
            "attention_mask" => Some(Self::Mask),
            "token_type_ids" => Some(Self::Types),
            "position_ids" => Some(Self::Positions),
            _ => None,
        }
    }

    /// Its numbers for a row that stands alone: nothing of it is padding.
    fn values(self, row: &Tokens) -> Vec<u32> {
        match self {
            Self::Ids => row.ids.clone(),
            Self::Mask => vec![1; row.ids.len()],
            Self::Types => row.types.clone(),
            Self::Positions => (0..).take(row.ids.len()).collect(),
        }
    }
}

/// The output that answers the task, among those a graph has: by the names exporters give, else the first.
fn answering<'a>(manifest: &Manifest, outputs: &'a [String]) -> Option<&'a String> {
    let wanted: &[&str] = match (manifest.task, manifest.pooling) {
        (Task::Embedding, Some(Pooling::None)) => &["sentence_embedding", "embeddings", "pooler_output"],
        (Task::Embedding, _) => &["last_hidden_state", "token_embeddings"],
        (Task::Stance | Task::Relevance, _) => &["logits"],
    };
    wanted.iter().find_map(|name| outputs.iter().find(|output| output == name)).or_else(|| outputs.first())
}

/// The inputs of a graph, or the error that names the one nobody can fill.
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

/// Threads of the models, all together: they share one pool, so that two models at work do not take each other's cores.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

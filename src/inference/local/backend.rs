//! The model runtime: token rows in, numbers out.
//!
//! `rten` is a built-in ONNX runtime in Rust. A single row uses all cores; several rows use one core each.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use rten::{LoadError, LoadErrorKind, Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::prelude::*;

use super::tokens::Tokens;
use crate::inference::folder::{ModelError, ModelFolder, Task};

/// The output of one row. The shape may begin with the row's own dimension of 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

/// A loaded model, for one thread. A trait, because tests script the outputs.
pub(super) trait Backend: Send + Debug {
    /// Returns one output per row, in order. Errors are for a person. May panic: the caller catches it.
    fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Output, String>>;
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
fn answering(task: Task, outputs: &[String]) -> Option<&String> {
    let wanted: &[&str] = match task {
        Task::Embedding => &["last_hidden_state", "token_embeddings"],
        Task::Stance | Task::Relevance => &["logits"],
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

/// All cores for one row. The runtime's own pool ignores a container's CPU limit.
static WIDE: LazyLock<Arc<ThreadPool>> = LazyLock::new(|| Arc::new(ThreadPool::with_num_threads(threads())));

/// One core per row. Rows that share cores wait for the slowest at every operator, and the cores also read pages. All
/// models share these threads, so that two do not compete.
static LANES: LazyLock<Vec<Arc<ThreadPool>>> =
    LazyLock::new(|| (0..threads()).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect());

pub(super) struct Rten {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
}

impl Debug for Rten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rten").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl Rten {
    /// Loads the graph of a folder.
    ///
    /// # Errors
    /// Invalid files, unknown operators and inputs.
    pub(super) fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let mut options = ModelOptions::with_all_ops();
        // Rows run singly. Packing the weights for each costs as much as a short row. Prepacking needs half of their
        // memory again.
        options.prepack_weights(true);
        let loaded = match folder.weights()? {
            // Bundled weights are not copied.
            Cow::Borrowed(bytes) => options.load_static_slice(bytes),
            Cow::Owned(bytes) => options.load(bytes),
        };
        let model = loaded.map_err(|error| refused(folder, &error))?;
        let damaged = |detail: &str| ModelError::Graph {
            location: folder.location(),
            file: folder.manifest.model.clone(),
            detail: detail.to_owned(),
        };
        let name_of = |id: &NodeId| model.node_info(*id).and_then(|node| node.name()).unwrap_or_default();
        let known = inputs(folder, model.input_ids().iter().map(name_of))?;
        let outputs: Vec<String> = model.output_ids().iter().map(|id| name_of(id).to_owned()).collect();
        let output = answering(folder.manifest.task, &outputs).and_then(|name| model.find_node(name));
        let output = output.ok_or_else(|| damaged("it has no output"))?;
        let inputs = model.input_ids().iter().copied().zip(known.into_iter().map(|(_, input)| input)).collect();
        Ok(Self { model, inputs, output })
    }

    /// Runs rows on the lanes; a free lane takes the next row.
    fn run_in_parallel(&self, rows: &[&Tokens]) -> Vec<(usize, Result<Output, String>)> {
        let next = AtomicUsize::new(0);
        let work = |lane: &Arc<ThreadPool>| {
            let mut done = Vec::new();
            loop {
                let position = next.fetch_add(1, Ordering::Relaxed);
                let Some(row) = rows.get(position) else { return done };
                done.push((position, self.one(row, lane)));
            }
        };
        std::thread::scope(|scope| {
            let lanes: Vec<_> = LANES.iter().take(rows.len()).collect();
            let workers: Vec<_> = lanes.into_iter().map(|lane| scope.spawn(move || lane.run(|| work(lane)))).collect();
            let joined = workers.into_iter().map(|worker| {
                // The caller catches panics.
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.flatten().collect()
        })
    }

    fn one(&self, row: &Tokens, pool: &Arc<ThreadPool>) -> Result<Output, String> {
        let shape = [1, row.ids.len()];
        let mut given: Vec<(NodeId, ValueOrView<'_>)> = Vec::with_capacity(self.inputs.len());
        for (node, input) in &self.inputs {
            // The runtime needs 32-bit ids; no vocabulary is larger.
            let values: Vec<i32> =
                input.values(row).into_iter().map(|id| i32::try_from(id).unwrap_or(i32::MAX)).collect();
            let value = Value::from_shape(shape, values).map_err(|error| error.to_string())?;
            given.push((*node, value.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let outputs = self.model.run(given, &[self.output], Some(options)).map_err(|error| error.to_string())?;
        let tensor = outputs.into_iter().next().and_then(Value::into_tensor::<f32>);
        let tensor = tensor.ok_or_else(|| "its answer is not made of 32-bit floats".to_owned())?;
        Ok(Output { shape: tensor.shape().to_vec(), values: tensor.to_vec() })
    }
}

impl Backend for Rten {
    fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Output, String>> {
        if let [row] = rows {
            return vec![self.one(row, &WIDE)];
        }
        let mut answers = self.run_in_parallel(rows);
        answers.sort_unstable_by_key(|(position, _)| *position);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// Converts a load error for the operator.
fn refused(folder: &ModelFolder, error: &LoadError) -> ModelError {
    let message = error.to_string();
    if error.kind() == LoadErrorKind::OperatorInvalid {
        return ModelError::Operator { location: folder.location(), operator: operator(&message), detail: message };
    }
    ModelError::Graph { location: folder.location(), file: folder.manifest.model.clone(), detail: message }
}

/// Returns the operator in `… : Xyz operator not supported …`.
fn operator(message: &str) -> String {
    let before = message.split(" operator").next().unwrap_or_default();
    before.rsplit([' ', ':']).next().filter(|name| !name.is_empty()).unwrap_or("of one of its nodes").to_owned()
}

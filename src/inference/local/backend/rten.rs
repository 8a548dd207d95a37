//! `rten`: ONNX in pure Rust, nothing to install.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use rayon::prelude::*;
use rten::{LoadError, LoadErrorKind, Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::prelude::*;

use super::{Backend, Input, Output, answering, inputs, threads};
use crate::inference::folder::{ModelError, ModelFolder};
use crate::inference::local::tokens::Tokens;

/// One pool for every model of the process. The runtime's own would count the machine's cores, not those that a
/// container's limit leaves to this process.
static THREADS: LazyLock<Arc<ThreadPool>> = LazyLock::new(|| Arc::new(ThreadPool::with_num_threads(threads())));

pub(super) struct Rten {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
}

impl fmt::Debug for Rten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rten").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl Rten {
    pub(super) fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let mut options = ModelOptions::with_all_ops();
        // Rows are run one by one, and packing the weights anew for each costs as much as the short ones take. It costs
        // half of the weights' memory again.
        options.prepack_weights(true);
        let loaded = match folder.weights()? {
            // Weights inside the binary are used where they are.
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
        let output = answering(&folder.manifest, &outputs).and_then(|name| model.find_node(name));
        let output = output.ok_or_else(|| damaged("it has no output"))?;
        let inputs = model.input_ids().iter().copied().zip(known.into_iter().map(|(_, input)| input)).collect();
        Ok(Self { model, inputs, output })
    }

    fn one(&self, row: &Tokens) -> Result<Output, String> {
        let shape = [1, row.ids.len()];
        let mut given: Vec<(NodeId, ValueOrView<'_>)> = Vec::with_capacity(self.inputs.len());
        for (node, input) in &self.inputs {
            // The runtime takes 64-bit token ids as 32-bit ones; a vocabulary of two thousand million does not exist.
            let values: Vec<i32> =
                input.values(row).into_iter().map(|id| i32::try_from(id).unwrap_or(i32::MAX)).collect();
            let value = Value::from_shape(shape, values).map_err(|error| error.to_string())?;
            given.push((*node, value.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&THREADS)));
        let outputs = self.model.run(given, &[self.output], Some(options)).map_err(|error| error.to_string())?;
        let tensor = outputs.into_iter().next().and_then(Value::into_tensor::<f32>);
        let tensor = tensor.ok_or_else(|| "its answer is not made of 32-bit floats".to_owned())?;
        Ok(Output { shape: tensor.shape().to_vec(), values: tensor.to_vec() })
    }
}

impl Backend for Rten {
    fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Output, String>> {
        let model = &*self;
        THREADS.run(|| rows.par_iter().map(|row| model.one(row)).collect())
    }
}

/// What the runtime's refusal means for who chose the model.
fn refused(folder: &ModelFolder, error: &LoadError) -> ModelError {
    let said = error.to_string();
    if error.kind() == LoadErrorKind::OperatorInvalid {
        return ModelError::Operator { location: folder.location(), operator: operator(&said), detail: said };
    }
    ModelError::Graph { location: folder.location(), file: folder.manifest.model.clone(), detail: said }
}

/// The operator a refusal speaks of: `… : Xyz operator not supported …`.
fn operator(said: &str) -> String {
    let before = said.split(" operator").next().unwrap_or_default();
    before.rsplit([' ', ':']).next().filter(|name| !name.is_empty()).unwrap_or("of one of its nodes").to_owned()
}

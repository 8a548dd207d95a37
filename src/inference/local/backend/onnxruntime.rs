//! ONNX Runtime, if its library is installed.
//!
//! It is faster on some machines and has operators that `rten` lacks.

use std::borrow::Cow;
use std::fmt;
use std::panic::catch_unwind;
use std::sync::OnceLock;

use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::{Outlet, Tensor};

use super::{Backend, Input, Output, answering, inputs, threads};
use crate::inference::folder::{ModelError, ModelFolder};
use crate::inference::local::tokens::Tokens;

/// Returns the library, opened once, or the reason why not. The loader searches `ORT_DYLIB_PATH`, otherwise the
/// system's folders.
pub(super) fn library() -> Result<&'static Environment, String> {
    static LIBRARY: OnceLock<Result<Environment, String>> = OnceLock::new();
    // The binding panics if the library is missing or too old.
    let open = || match catch_unwind(|| ort::init().build()) {
        Ok(opened) => opened.map_err(|error| error.to_string()),
        Err(panic) => Err(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "it cannot be opened".to_owned())),
    };
    LIBRARY.get_or_init(open).as_ref().map_err(Clone::clone)
}

pub(super) struct OnnxRuntime {
    session: Session,
    inputs: Vec<(String, Input)>,
    output: String,
}

impl fmt::Debug for OnnxRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnnxRuntime").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl OnnxRuntime {
    pub(super) fn load(folder: &ModelFolder, library: &Environment) -> Result<Self, ModelError> {
        let refused = |detail: String| {
            let file = folder.manifest.model.clone();
            // `Fatal error: … is not a registered function/op`
            match detail.split(" is not a registered function/op").next().filter(|before| before.len() < detail.len()) {
                Some(before) => ModelError::Operator {
                    location: folder.location(),
                    operator: before.rsplit([' ', ':']).next().unwrap_or(before).to_owned(),
                    detail,
                },
                None => ModelError::Graph { location: folder.location(), file, detail },
            }
        };
        let bytes: Cow<'static, [u8]> = folder.weights()?;
        let session = Session::builder(library)
            .map_err(|error| refused(error.to_string()))?
            .with_intra_threads(threads())
            .map_err(|error| refused(error.to_string()))?
            // Spinning threads would take cores from other models.
            .with_intra_op_spinning(false)
            .map_err(|error| refused(error.to_string()))?
            .commit_from_memory(&bytes)
            .map_err(|error| refused(error.to_string()))?;
        let inputs = inputs(folder, session.inputs().iter().map(Outlet::name))?;
        let outputs: Vec<String> = session.outputs().iter().map(|output| output.name().to_owned()).collect();
        let output = answering(&folder.manifest, &outputs).cloned();
        let output = output.ok_or_else(|| refused("it has no output".to_owned()))?;
        Ok(Self { session, inputs, output })
    }

    fn one(&mut self, row: &Tokens) -> Result<Output, ort::Error> {
        let mut given: Vec<(&str, SessionInputValue<'_>)> = Vec::with_capacity(self.inputs.len());
        for (name, input) in &self.inputs {
            let values: Vec<i64> = input.values(row).into_iter().map(i64::from).collect();
            given.push((name, Tensor::from_array(([1, values.len()], values))?.into()));
        }
        let outputs = self.session.run(given)?;
        let answer = outputs.get(self.output.as_str()).ok_or_else(|| ort::Error::new("its output is not there"))?;
        let (shape, values) = answer.try_extract_tensor::<f32>()?;
        let shape = shape.iter().map(|size| usize::try_from(*size).unwrap_or_default()).collect();
        Ok(Output { shape, values: values.to_vec() })
    }
}

impl Backend for OnnxRuntime {
    fn run(&mut self, rows: &[&Tokens]) -> Vec<Result<Output, String>> {
        rows.iter().map(|row| self.one(row).map_err(|error| error.to_string())).collect()
    }
}

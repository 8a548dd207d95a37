//! Unit-length vectors from an encoder in the process.
//!
//! Vectors are cached; texts without words are zeros.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::answers::{Answers, key};
use super::backend::Output;
use super::engine::OutputError;
use super::load::{LoadedModel, load};
use super::static_vectors::StaticVectors;
use super::tokens::Tokens;
use crate::inference::folder::{Manifest, ModelError, ModelFolder, Pooling, Task};
use crate::inference::{Embedder, InferenceError, hashed_vector};

/// Cache size, for about 20,000 vectors of 384 numbers.
const REMEMBERED_BYTES: u64 = 32 << 20;

/// Cache overhead per vector.
const OVERHEAD_BYTES: usize = 200;

#[derive(Debug)]
pub struct LocalEmbedder {
    name: String,
    dimension: usize,
    prefix: Arc<str>,
    model: LoadedModel,
    answers: Answers<Arc<[f32]>>,
    static_vectors: Option<StaticVectors>,
}

impl LocalEmbedder {
    /// Loads and tries the model.
    ///
    /// # Errors
    /// [`ModelError`] with the problem and its fix.
    pub fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let manifest = folder.manifest.clone();
        let (name, dimension) = (manifest.name.clone(), manifest.dimension.unwrap_or_default());
        // Texts are compared with each other, so models with prefixes need the query's on both sides.
        let prefix = Arc::from(manifest.query_prefix.as_str());
        let model = load(folder, Task::Embedding, Box::new(move |row, output| vector(&manifest, row, output)))?;
        let answers = Answers::new("embedding", REMEMBERED_BYTES, dimension * size_of::<f32>() + OVERHEAD_BYTES);
        let static_vectors = StaticVectors::load(folder, model.texts().vocabulary())?;
        Ok(Self { name, dimension, prefix, model, answers, static_vectors })
    }

    /// Returns a token that a crash of the model's thread cancels.
    pub fn crashed(&self) -> CancellationToken {
        self.model.crashed()
    }

    async fn ask(&self, texts: Vec<String>) -> Result<Vec<Arc<[f32]>>, InferenceError> {
        let answered = self.model.answer(move |tokens| texts.iter().map(|text| tokens.single(text)).collect()).await?;
        Ok(answered.into_iter().map(|vector| vector.map_or_else(|| self.nothing(), Arc::from)).collect())
    }

    fn nothing(&self) -> Arc<[f32]> {
        Arc::from(vec![0.0; self.dimension])
    }
}

impl Embedder for LocalEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn static_vector(&self, text: &str) -> Vec<f32> {
        match &self.static_vectors {
            Some(vectors) => vectors.vector(&self.model.texts().piece_ids(text)),
            None => hashed_vector(text),
        }
    }

    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, InferenceError>> {
        Box::pin(async move {
            let keys: Vec<_> = texts.iter().map(|text| key(&[text])).collect();
            let owned = |position: &usize| {
                let text = texts.get(*position).copied().unwrap_or_default();
                // Without words there is no meaning, but the model would return a vector for the full stop.
                if text.chars().any(char::is_alphanumeric) { format!("{}{text}", self.prefix) } else { String::new() }
            };
            let vectors = self
                .answers
                .or_ask(&keys, async |missing: &[usize]| self.ask(missing.iter().map(owned).collect()).await);
            Ok(vectors.await?.into_iter().map(|vector| vector.unwrap_or_else(|| self.nothing()).to_vec()).collect())
        })
    }
}

/// Pools and normalises a row's output.
fn vector(manifest: &Manifest, row: &Tokens, output: &Output) -> Result<Vec<f32>, OutputError> {
    let dimension = manifest.dimension.unwrap_or_default();
    let tokens = row.ids.len();
    let pooling = manifest.pooling.unwrap_or(Pooling::Mean);
    let mut vector = match (pooling, output.shape.as_slice()) {
        (Pooling::Cls, [1, length, size]) if *length == tokens && *size == dimension => {
            output.values.iter().take(dimension).copied().collect()
        }
        (Pooling::Mean, [1, length, size]) if *length == tokens && *size == dimension => {
            mean(&output.values, dimension)
        }
        (_, shape) => return Err(misfit(tokens, dimension, shape)),
    };
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if !length.is_finite() || length <= 0.0 {
        return Err(OutputError::NotANumber);
    }
    for value in &mut vector {
        *value /= length;
    }
    Ok(vector)
}

/// Returns the mean of consecutive vectors.
fn mean(values: &[f32], dimension: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f32; dimension];
    let mut count = 0.0_f32;
    for token in values.chunks_exact(dimension) {
        count += 1.0;
        for (sum, value) in sums.iter_mut().zip(token) {
            *sum += value;
        }
    }
    for sum in &mut sums {
        *sum /= count;
    }
    sums
}

fn misfit(tokens: usize, dimension: usize, shape: &[usize]) -> OutputError {
    let expected = format!("a vector of {dimension} for each of {tokens} tokens");
    let (found, fix) = match shape {
        [1, length, size] if *length == tokens => (format!("vectors of {size}"), format!("set `dimension = {size}`")),
        _ => {
            (format!("numbers of the shape {shape:?}"), "export it as an encoder for text, without pooling".to_owned())
        }
    };
    OutputError::Shape { expected, found, fix }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(pooling: &str, dimension: usize) -> Manifest {
        Manifest::parse(&format!(
            "name = \"m\"\ntask = \"embedding\"\nmodel = \"m.onnx\"\ntokenizer = \"t.json\"\nmax_length = 64\n\
             pooling = \"{pooling}\"\ndimension = {dimension}\n"
        ))
        .unwrap()
    }

    fn read(pooling: &str, dimension: usize, shape: &[usize], values: &[f32]) -> Result<Vec<f32>, OutputError> {
        let row = Tokens { ids: vec![1, 2], types: vec![0, 0] };
        let output = Output { shape: shape.to_vec(), values: values.to_vec() };
        vector(&manifest(pooling, dimension), &row, &output)
    }

    #[test]
    fn embedder_pools_as_in_manifest_when_output_is_read() {
        let near = |given: Vec<f32>, expected: &[f32]| {
            given.len() == expected.len() && given.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6)
        };
        // The means are 3 and 4, the first token is (0, 4): of unit length (0.6, 0.8) and (0, 1).
        let values = [0.0, 4.0, 6.0, 4.0];
        assert!(near(read("mean", 2, &[1, 2, 2], &values).unwrap(), &[0.6, 0.8]));
        assert!(near(read("cls", 2, &[1, 2, 2], &values).unwrap(), &[0.0, 1.0]));
    }

    #[test]
    fn error_names_key_to_change_when_shape_is_wrong() {
        let error =
            |pooling, dimension, shape: &[usize]| read(pooling, dimension, shape, &[1.0; 8]).unwrap_err().to_string();
        assert!(error("mean", 3, &[1, 2, 4]).contains("`dimension = 4`"));
        assert!(error("mean", 4, &[1, 8]).contains("without pooling"));
        assert!(error("mean", 4, &[8]).contains("[8]"));
    }

    #[test]
    fn what_is_no_number_or_has_no_direction_is_refused() {
        for bad in [[f32::NAN, 1.0, 1.0, 1.0], [f32::INFINITY, 1.0, 1.0, 1.0], [0.0; 4]] {
            assert_eq!(read("cls", 2, &[1, 2, 2], &bad), Err(OutputError::NotANumber));
        }
    }
}

//! Relevance from a reranking cross-encoder in the process.
//!
//! Answers are cached.

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::answers::{Answers, key};
use super::backend::Output;
use super::engine::OutputError;
use super::load::{LoadedModel, load};
use super::stance::{Words, shares};
use crate::inference::folder::{Manifest, ModelError, ModelFolder, Task};
use crate::inference::{InferenceError, Pair, Reranker};

/// Cache size, for about 80,000 answers.
const REMEMBERED_BYTES: u64 = 16 << 20;

/// Cache bytes per answer, with key and overhead.
const REMEMBERED_BYTES_EACH: usize = 200;

#[derive(Debug)]
pub struct LocalReranker {
    name: String,
    words: Words,
    model: LoadedModel,
    answers: Answers<f64>,
}

impl LocalReranker {
    /// Loads and tries the model.
    ///
    /// # Errors
    /// [`ModelError`] with the problem and its fix.
    pub fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let manifest = folder.manifest.clone();
        let (name, words) = (manifest.name.clone(), Words::of(&manifest));
        let model = load(folder, Task::Relevance, Box::new(move |_, output| relevance(&manifest, output)))?;
        Ok(Self { name, words, model, answers: Answers::new("relevance", REMEMBERED_BYTES, REMEMBERED_BYTES_EACH) })
    }

    /// Returns a token that a crash of the model's thread cancels.
    pub fn crashed(&self) -> CancellationToken {
        self.model.crashed()
    }

    async fn ask(&self, pairs: Vec<Pair>) -> Result<Vec<f64>, InferenceError> {
        let answers = self.words.ask(&self.model, pairs).await?;
        // A text without known tokens has no relevance.
        let one = |answer: Option<Vec<f32>>| answer.and_then(|one| one.first().copied()).map_or(0.0, f64::from);
        Ok(answers.into_iter().map(one).collect())
    }
}

impl Reranker for LocalReranker {
    fn name(&self) -> &str {
        &self.name
    }

    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>> {
        Box::pin(async move {
            let keys: Vec<_> = pairs.iter().map(|pair| key(&[&pair.claim.text, &pair.passage.text])).collect();
            let given = self.answers.or_ask(&keys, async |missing: &[usize]| {
                self.ask(missing.iter().filter_map(|position| pairs.get(*position).cloned()).collect()).await
            });
            Ok(given.await?.into_iter().map(Option::unwrap_or_default).collect())
        })
    }
}

/// Returns the probability of "relevant": a sigmoid of one logit, or a softmax of two.
fn relevance(manifest: &Manifest, output: &Output) -> Result<Vec<f32>, OutputError> {
    let misfit = |expected: &str, fix: &str| OutputError::Shape {
        expected: expected.to_owned(),
        found: format!("numbers of the shape {:?}", output.shape),
        fix: fix.to_owned(),
    };
    match (output.shape.as_slice(), output.values.as_slice(), manifest.relevant) {
        ([1] | [1, 1], [logit], None) => {
            let scaled = logit / manifest.temperature + manifest.bias.first().copied().unwrap_or(0.0);
            if scaled.is_nan() { Err(OutputError::NotANumber) } else { Ok(vec![1.0 / (1.0 + (-scaled).exp())]) }
        }
        ([1, 2], logits, Some(position)) => Ok(shares(manifest, logits)?.get(position).copied().into_iter().collect()),
        ([1, 2], _, None) => {
            Err(misfit("one logit", "set `relevant` to the position of the relevant one of two, 0 or 1"))
        }
        ([1] | [1, 1], _, Some(_)) => Err(misfit("two logits", "take `relevant` out")),
        _ => Err(misfit("one logit, or two with `relevant`", "export it as a sequence classifier")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(more: &str, shape: &[usize], values: &[f32]) -> Result<Vec<f32>, OutputError> {
        let manifest = Manifest::parse(&format!(
            "name = \"m\"\ntask = \"relevance\"\nmodel = \"m.onnx\"\ntokenizer = \"t.json\"\nmax_length = 64\n{more}"
        ))
        .unwrap();
        relevance(&manifest, &Output { shape: shape.to_vec(), values: values.to_vec() })
    }

    #[test]
    fn one_logit_or_two_become_a_probability() {
        assert!((read("", &[1, 1], &[3.0_f32.ln()]).unwrap()[0] - 0.75).abs() < 1e-6);
        assert!((read("bias = [-1.0]\ntemperature = 2.0\n", &[1], &[2.0]).unwrap()[0] - 0.5).abs() < 1e-6);
        assert!((read("relevant = 0\n", &[1, 2], &[3.0_f32.ln(), 0.0]).unwrap()[0] - 0.75).abs() < 1e-6);
    }

    #[test]
    fn error_names_key_to_change_when_shape_differs() {
        assert!(read("", &[1, 2], &[0.0, 0.0]).unwrap_err().to_string().contains("set `relevant`"));
        assert!(read("relevant = 1\n", &[1, 1], &[0.0]).unwrap_err().to_string().contains("take `relevant` out"));
        assert!(read("", &[1, 3], &[0.0; 3]).unwrap_err().to_string().contains("sequence classifier"));
        assert_eq!(read("", &[1, 1], &[f32::NAN]), Err(OutputError::NotANumber));
    }
}

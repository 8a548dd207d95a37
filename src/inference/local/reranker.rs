//! Relevance from a reranking cross-encoder in the process: one logit per pair of claim and passage.
//!
//! Answers are cached.

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::answers::{Answers, key};
use super::backend::Output;
use super::engine::OutputError;
use super::load::{LoadedModel, load};
use super::tokens::Texts;
use crate::inference::folder::{ModelError, ModelFolder, Task};
use crate::inference::{InferenceError, Pair, Reranker};

/// Cache size, for about 80,000 answers.
const REMEMBERED_BYTES: u64 = 16 << 20;

/// Cache bytes per answer, with key and overhead.
const REMEMBERED_BYTES_EACH: usize = 200;

#[derive(Debug)]
pub struct LocalReranker {
    name: String,
    model: LoadedModel,
    answers: Answers<f64>,
}

impl LocalReranker {
    /// Loads and tries the model.
    ///
    /// # Errors
    /// [`ModelError`] with the problem and its fix.
    pub fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let model = load(folder, Task::Relevance, Box::new(|_, output| relevance(output)))?;
        let answers = Answers::new("relevance", REMEMBERED_BYTES, REMEMBERED_BYTES_EACH);
        Ok(Self { name: folder.manifest.name.clone(), model, answers })
    }

    /// Returns a token that a crash of the model's thread cancels.
    pub fn crashed(&self) -> CancellationToken {
        self.model.crashed()
    }

    async fn ask(&self, pairs: Vec<Pair>) -> Result<Vec<f64>, InferenceError> {
        let rows = move |texts: &Texts| {
            // Query, passage, as in reranker training.
            let row = |pair: &Pair| texts.pair(pair.claim.without_days(), pair.passage.premise(), true);
            pairs.iter().map(row).collect()
        };
        let answers = self.model.answer(rows).await?;
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

/// Returns the sigmoid of the logit.
fn relevance(output: &Output) -> Result<Vec<f32>, OutputError> {
    match (output.shape.as_slice(), output.values.as_slice()) {
        ([1] | [1, 1], [logit]) if logit.is_nan() => Err(OutputError::NotANumber),
        ([1] | [1, 1], [logit]) => Ok(vec![1.0 / (1.0 + (-logit).exp())]),
        _ => Err(OutputError::Shape {
            expected: "one logit".to_owned(),
            found: format!("numbers of the shape {:?}", output.shape),
            fix: "export it as a sequence classifier with one label".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(shape: &[usize], values: &[f32]) -> Result<Vec<f32>, OutputError> {
        relevance(&Output { shape: shape.to_vec(), values: values.to_vec() })
    }

    #[test]
    fn a_logit_becomes_a_probability() {
        assert!((read(&[1, 1], &[3.0_f32.ln()]).unwrap()[0] - 0.75).abs() < 1e-6);
        assert_eq!(read(&[1], &[f32::NAN]), Err(OutputError::NotANumber));
        let error = read(&[1, 2], &[0.0, 0.0]).unwrap_err().to_string();
        assert!(error.contains("sequence classifier"), "{error}");
    }
}

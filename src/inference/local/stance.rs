//! Stance from an NLI cross-encoder in the process.
//!
//! Logits are cached and calibrated per pair: by the manifest's temperature and bias, or by the cosine if the model was
//! fitted with that embedder.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::answers::{Answers, key};
use super::backend::Output;
use super::engine::OutputError;
use super::load::{LoadedModel, load};
use super::tokens::Texts;
use crate::domain::evidence::StanceProbabilities;
use crate::inference::folder::{ModelError, ModelFolder, Task};
use crate::inference::manifest::probabilities;
use crate::inference::{InferenceError, Judgement, Label, Pair, Similarity, StanceModel};
use crate::judging::agreement::cosine;
use crate::judging::profile::EmbeddingSpace;

/// Cache size, for about 70,000 answers.
const REMEMBERED_BYTES: u64 = 16 << 20;

/// Cache bytes per answer, with key and overhead.
const REMEMBERED_BYTES_EACH: usize = 240;

/// Clones share the thread and the cache.
#[derive(Debug, Clone)]
pub struct LocalStance {
    /// `model:<name>`.
    judge: Arc<str>,
    labels: Vec<Label>,
    model: LoadedModel,
    /// Logits, independent of the calibration; `None` if a text has no known token.
    answers: Answers<Option<Arc<[f32]>>>,
    alone: Calibration,
    /// With the cosine of the process's embedder; `None` if the fit used another one.
    with_cosine: Option<Calibration>,
    similarity: Option<Similarity>,
}

/// Converts logits to probabilities.
#[derive(Debug, Clone, PartialEq)]
struct Calibration {
    temperature: f64,
    bias: Vec<f64>,
    weights: Vec<f64>,
}

impl Calibration {
    fn new(temperature: f32, bias: &[f32], weights: &[f32]) -> Self {
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect();
        Self { temperature: f64::from(temperature), bias: wide(bias), weights: wide(weights) }
    }

    /// Returns shares that sum to 1. `f64`, so that finite logits cannot overflow.
    fn shares(&self, logits: &[f32], cosine: f64) -> Vec<f64> {
        let at = |values: &[f64], position: usize| values.get(position).copied().unwrap_or(0.0);
        let scaled = logits.iter().enumerate().map(|(position, logit)| {
            f64::from(*logit) / self.temperature + at(&self.bias, position) + at(&self.weights, position) * cosine
        });
        softmax(scaled.collect())
    }
}

impl LocalStance {
    /// Loads and tries the model.
    ///
    /// # Errors
    /// [`ModelError`] with the problem and its fix.
    pub fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let manifest = folder.manifest.clone();
        let judge = Arc::from(format!("model:{}", manifest.name));
        let labels = manifest.labels.clone();
        let alone = Calibration::new(manifest.temperature, &manifest.bias, &[]);
        let similarity = manifest.similarity.clone();
        let classes = labels.len();
        let model = load(folder, Task::Stance, Box::new(move |_, output| logits(classes, output)))?;
        let answers = Answers::new("stance", REMEMBERED_BYTES, REMEMBERED_BYTES_EACH);
        Ok(Self { judge, labels, model, answers, alone, with_cosine: None, similarity })
    }

    /// Returns a token that a crash of the model's thread cancels.
    pub fn crashed(&self) -> CancellationToken {
        self.model.crashed()
    }

    /// Uses the cosine of that embedder (its manifest's `name`), if the model was calibrated with it.
    #[must_use]
    pub fn with_cosine_of(mut self, embedder: &str) -> Self {
        let fitted = self.similarity.as_ref().filter(|similarity| similarity.embedder == embedder);
        self.with_cosine = fitted.map(|fitted| Calibration::new(fitted.temperature, &fitted.bias, &fitted.weights));
        self
    }

    /// Calibrates a pair's logits.
    fn probabilities(&self, pair: &Pair, logits: &[f32]) -> StanceProbabilities {
        let by_meaning = [&pair.claim, &pair.passage]
            .iter()
            .all(|text| text.space == EmbeddingSpace::Meaning && text.embedding.iter().any(|value| *value != 0.0));
        let shares = match &self.with_cosine {
            Some(calibration) if by_meaning => calibration.shares(logits, cosine(&pair.claim, &pair.passage)),
            _ => self.alone.shares(logits, 0.0),
        };
        probabilities(self.labels.iter().copied().zip(shares))
    }

    async fn ask(&self, pairs: Vec<Pair>) -> Result<Vec<Option<Arc<[f32]>>>, InferenceError> {
        let rows = move |texts: &Texts| {
            // Premise, hypothesis, as in NLI training.
            let row = |pair: &Pair| texts.pair(pair.claim.without_days(), pair.passage.premise(), false);
            pairs.iter().map(row).collect()
        };
        let answers = self.model.answer(rows).await?;
        Ok(answers.into_iter().map(|logits| logits.map(Arc::from)).collect())
    }
}

impl StanceModel for LocalStance {
    fn name(&self) -> &str {
        &self.judge
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        Box::pin(async move {
            let keys: Vec<_> =
                pairs.iter().map(|pair| key(&[pair.claim.without_days(), pair.passage.premise()])).collect();
            let given = self.answers.or_ask(&keys, async |missing: &[usize]| {
                self.ask(missing.iter().filter_map(|position| pairs.get(*position).cloned()).collect()).await
            });
            let judged = |(pair, given): (&Pair, Option<Option<Arc<[f32]>>>)| Judgement {
                // A text without known tokens is neutral.
                probabilities: given
                    .flatten()
                    .map_or(StanceProbabilities::NEUTRAL, |logits| self.probabilities(pair, &logits)),
                judge: Arc::clone(&self.judge),
            };
            Ok(pairs.iter().zip(given.await?).map(judged).collect())
        })
    }
}

fn logits(classes: usize, output: &Output) -> Result<Vec<f32>, OutputError> {
    let found = output.values.len();
    if !matches!(output.shape.as_slice(), [1, size] if *size == classes) || found != classes {
        let fix = match output.shape.as_slice() {
            [1, size] => format!("give `labels` one name for each of its {size} logits, in their order"),
            _ => "export it as a sequence classifier".to_owned(),
        };
        return Err(OutputError::Shape {
            expected: format!("{classes} logits"),
            found: format!("numbers of the shape {:?}", output.shape),
            fix,
        });
    }
    if output.values.iter().any(|logit| !logit.is_finite()) {
        return Err(OutputError::NotANumber);
    }
    Ok(output.values.clone())
}

/// Expects finite numbers.
fn softmax(scaled: Vec<f64>) -> Vec<f64> {
    let largest = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raised: Vec<f64> = scaled.into_iter().map(|logit| (logit - largest).exp()).collect();
    let sum: f64 = raised.iter().sum();
    raised.into_iter().map(|share| share / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::folder::Manifest;

    fn manifest(more: &str) -> Manifest {
        Manifest::parse(&format!(
            "name = \"m\"\ntask = \"stance\"\nmodel = \"m.onnx\"\ntokenizer = \"t.json\"\nmax_length = 64\n\
             labels = [\"contradict\", \"entail\", \"neutral\"]\n{more}"
        ))
        .unwrap()
    }

    fn read(manifest: &Manifest, shape: &[usize], values: &[f32]) -> Result<Vec<f64>, OutputError> {
        let output = Output { shape: shape.to_vec(), values: values.to_vec() };
        let logits = logits(manifest.labels.len(), &output)?;
        Ok(Calibration::new(manifest.temperature, &manifest.bias, &[]).shares(&logits, 0.0))
    }

    #[test]
    fn temperature_comes_before_the_bias() {
        let plain = read(&manifest(""), &[1, 3], &[0.0, 2.0_f32.ln(), 0.0]).unwrap();
        assert!((plain[1] - 0.5).abs() < 1e-6 && (plain.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        let text = format!("temperature = 2.0\nbias = [0.0, {}, 0.0]\n", 3.0_f32.ln());
        let bent = read(&manifest(&text), &[1, 3], &[0.0, 4.0_f32.ln(), 0.0]).unwrap();
        // exp(ln 4 / 2 + ln 3) = 6 of 8.
        assert!((bent[1] - 0.75).abs() < 1e-6, "{bent:?}");
    }

    #[test]
    fn nearness_is_worth_its_weight() {
        let calibration = Calibration::new(2.0, &[0.0, 0.0, 1.0], &[0.0, 4.0, -2.0]);
        let plain = calibration.shares(&[0.0, 2.0, 0.0], 0.0);
        // exp(0), exp(1), exp(1).
        assert!((plain[1] - plain[2]).abs() < 1e-12 && plain[0] < plain[1]);
        let near = calibration.shares(&[0.0, 2.0, 0.0], 0.5);
        // exp(0), exp(3), exp(0).
        assert!((near[1] / near[0] - 3.0_f64.exp()).abs() < 1e-9 && (near[0] - near[2]).abs() < 1e-12);
        assert!((near.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn large_logits_do_not_overflow_and_what_is_no_number_is_refused() {
        let sure = read(&manifest(""), &[1, 3], &[-1e30, 1e30, 0.0]).unwrap();
        assert_eq!(sure, [0.0, 1.0, 0.0]);
        assert_eq!(read(&manifest(""), &[1, 3], &[0.0, f32::NAN, 0.0]), Err(OutputError::NotANumber));
    }

    #[test]
    fn error_names_key_to_change_when_number_of_logits_differs() {
        let error = read(&manifest(""), &[1, 2], &[0.0, 1.0]).unwrap_err().to_string();
        assert!(error.contains("each of its 2 logits"), "{error}");
        let error = read(&manifest(""), &[1, 9, 3], &[0.0; 27]).unwrap_err().to_string();
        assert!(error.contains("sequence classifier"), "{error}");
    }
}

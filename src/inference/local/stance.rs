//! What a passage says of a claim, with an NLI cross-encoder of the process.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::answers::{Answers, key};
use super::backend::Output;
use super::engine::Misread;
use super::load::{Loaded, claim_first, load};
use crate::domain::evidence::StanceProbabilities;
use crate::inference::folder::{Manifest, ModelError, ModelFolder, Task};
use crate::inference::labels::probabilities;
use crate::inference::{InferenceError, Judgement, Label, Pair, StanceModel};

/// Memory for judgements already given: about 80,000.
const REMEMBERED_BYTES: u64 = 16 << 20;

/// What a cached judgement takes with its key and the cache's books.
const REMEMBERED_BYTES_EACH: usize = 200;

/// A stance model of the process.
#[derive(Debug)]
pub struct LocalStance {
    /// `model:` and the model's name.
    judge: Arc<str>,
    labels: Vec<Label>,
    words: Words,
    model: Loaded,
    answers: Answers<StanceProbabilities>,
}

/// How a pair is written for a model.
#[derive(Debug, Clone)]
pub(super) struct Words {
    claim_prefix: Arc<str>,
    passage_prefix: Arc<str>,
    claim_first: bool,
}

impl Words {
    pub(super) fn of(manifest: &Manifest) -> Self {
        Self {
            claim_prefix: Arc::from(manifest.query_prefix.as_str()),
            passage_prefix: Arc::from(manifest.passage_prefix.as_str()),
            claim_first: claim_first(manifest),
        }
    }

    /// The model's logits-made-probabilities of each pair; `None` where a text has nothing that it knows.
    pub(super) async fn ask(&self, model: &Loaded, pairs: Vec<Pair>) -> Result<Vec<Option<Vec<f32>>>, InferenceError> {
        let words = self.clone();
        let tokenise = move |tokens: &super::tokens::Texts| {
            let row = |pair: &Pair| {
                let claim = format!("{}{}", words.claim_prefix, pair.claim.text);
                let passage = format!("{}{}", words.passage_prefix, pair.passage.text);
                tokens.pair(&claim, &passage, words.claim_first)
            };
            pairs.iter().map(row).collect()
        };
        model.answer(tokenise).await
    }
}

impl LocalStance {
    /// Loads it and shows that it works.
    ///
    /// # Errors
    /// [`ModelError`] says what is wrong with the folder and what to do.
    pub fn load(folder: &ModelFolder) -> Result<Self, ModelError> {
        let manifest = folder.manifest.clone();
        let judge = Arc::from(format!("model:{}", manifest.name));
        let (labels, words) = (manifest.labels.clone(), Words::of(&manifest));
        let model = load(folder, Task::Stance, Box::new(move |_, output| shares(&manifest, output)))?;
        let answers = Answers::new("stance", REMEMBERED_BYTES, REMEMBERED_BYTES_EACH);
        Ok(Self { judge, labels, words, model, answers })
    }

    async fn ask(&self, pairs: Vec<Pair>) -> Result<Vec<StanceProbabilities>, InferenceError> {
        let shares = self.words.ask(&self.model, pairs).await?;
        let given = |shares: Option<Vec<f32>>| match shares {
            Some(shares) => probabilities(self.labels.iter().copied().zip(shares.into_iter().map(f64::from))),
            // A text of which the model knows nothing says nothing.
            None => StanceProbabilities::NEUTRAL,
        };
        Ok(shares.into_iter().map(given).collect())
    }
}

impl StanceModel for LocalStance {
    fn name(&self) -> &str {
        &self.judge
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        Box::pin(async move {
            let keys: Vec<_> = pairs.iter().map(|pair| key(&[&pair.claim.text, &pair.passage.text])).collect();
            let given = self.answers.or_ask(&keys, async |missing: &[usize]| {
                self.ask(missing.iter().filter_map(|position| pairs.get(*position).cloned()).collect()).await
            });
            let judged = |given: Option<StanceProbabilities>| Judgement {
                probabilities: given.unwrap_or(StanceProbabilities::NEUTRAL),
                judge: Arc::clone(&self.judge),
            };
            Ok(given.await?.into_iter().map(judged).collect())
        })
    }
}

/// The probabilities of a row's classes, in the order of the manifest's labels.
fn shares(manifest: &Manifest, output: &Output) -> Result<Vec<f32>, Misread> {
    let classes = manifest.labels.len();
    let found = output.values.len();
    if !matches!(output.shape.as_slice(), [1, size] if *size == classes) || found != classes {
        let mend = match output.shape.as_slice() {
            [1, size] => format!("give `labels` one name for each of its {size} logits, in their order"),
            _ => "export it as a sequence classifier".to_owned(),
        };
        return Err(Misread::Shape {
            expected: format!("{classes} logits"),
            found: format!("numbers of the shape {:?}", output.shape),
            mend,
        });
    }
    softmax(manifest, &output.values)
}

/// Probabilities that sum to 1, from logits: divided by the temperature, the bias added.
pub(super) fn softmax(manifest: &Manifest, logits: &[f32]) -> Result<Vec<f32>, Misread> {
    let bias = |position: usize| manifest.bias.get(position).copied().unwrap_or(0.0);
    let scaled: Vec<f32> =
        logits.iter().enumerate().map(|(position, logit)| logit / manifest.temperature + bias(position)).collect();
    if scaled.iter().any(|logit| !logit.is_finite()) {
        return Err(Misread::NotANumber);
    }
    let largest = scaled.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let raised: Vec<f32> = scaled.iter().map(|logit| (logit - largest).exp()).collect();
    let sum: f32 = raised.iter().sum();
    Ok(raised.into_iter().map(|share| share / sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(more: &str) -> Manifest {
        Manifest::parse(&format!(
            "name = \"m\"\ntask = \"stance\"\nmodel = \"m.onnx\"\ntokenizer = \"t.json\"\nmax_length = 64\n\
             labels = [\"contradict\", \"entail\", \"neutral\"]\n{more}"
        ))
        .unwrap()
    }

    fn read(manifest: &Manifest, shape: &[usize], values: &[f32]) -> Result<Vec<f32>, Misread> {
        shares(manifest, &Output { shape: shape.to_vec(), values: values.to_vec() })
    }

    #[test]
    fn temperature_comes_before_the_bias() {
        let plain = read(&manifest(""), &[1, 3], &[0.0, 2.0_f32.ln(), 0.0]).unwrap();
        assert!((plain[1] - 0.5).abs() < 1e-6 && (plain.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        let text = format!("temperature = 2.0\nbias = [0.0, {}, 0.0]\n", 3.0_f32.ln());
        let bent = read(&manifest(&text), &[1, 3], &[0.0, 4.0_f32.ln(), 0.0]).unwrap();
        // exp(ln 4 / 2 + ln 3) = 6 of 8.
        assert!((bent[1] - 0.75).abs() < 1e-6, "{bent:?}");
    }

    #[test]
    fn large_logits_do_not_overflow_and_what_is_no_number_is_refused() {
        let sure = read(&manifest(""), &[1, 3], &[-1e30, 1e30, 0.0]).unwrap();
        assert_eq!(sure, [0.0, 1.0, 0.0]);
        assert_eq!(read(&manifest(""), &[1, 3], &[0.0, f32::NAN, 0.0]), Err(Misread::NotANumber));
    }

    #[test]
    fn another_number_of_logits_says_which_key_to_change() {
        let said = read(&manifest(""), &[1, 2], &[0.0, 1.0]).unwrap_err().to_string();
        assert!(said.contains("each of its 2 logits"), "{said}");
        let said = read(&manifest(""), &[1, 9, 3], &[0.0; 27]).unwrap_err().to_string();
        assert!(said.contains("sequence classifier"), "{said}");
    }
}

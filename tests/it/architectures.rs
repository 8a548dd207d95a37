//! The encoders people bring answer in this runtime as in the library they come from.
//!
//! `tests/fixtures/models` holds small ones with random weights, and what `transformers` (f32) and ONNX Runtime (the
//! quantised files) answer. `training/fixtures.py` rebuilds the models and the answers.
#![cfg(test)]
#![cfg(feature = "models")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use corroborate::domain::evidence::StanceProbabilities;
use corroborate::inference::local::{LocalEmbedder, LocalStance};
use corroborate::inference::{Embedder, ModelFolder, Pair, StanceModel};
use corroborate::judging::profile::TextProfile;
use serde::Deserialize;

/// How far an answer may lie from the reference: vectors of length one, logits. Of the quantised models the fixtures hold
/// texts that the reference itself answers alike where weights differ in their last bit: of others nothing could be told,
/// for runtimes add in another order, and what lies on a rounding edge moves by the quantisation's own error.
const TOLERANCE: f64 = 1e-3;

/// Answers by precision: `f32`, `int8`, `dynamic`.
type Answers = HashMap<String, Vec<f64>>;

#[derive(Deserialize)]
struct Reference {
    embedding: Vec<Single>,
    stance: Vec<Paired>,
}

#[derive(Deserialize)]
struct Single {
    text: String,
    answers: Answers,
}

#[derive(Deserialize)]
struct Paired {
    claim: String,
    passage: String,
    answers: Answers,
}

fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models"))
}

fn reference(architecture: &str) -> Reference {
    let text = std::fs::read_to_string(fixtures().join(format!("{architecture}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn folder(name: &str) -> ModelFolder {
    let folder = ModelFolder::read(&fixtures().join(name)).unwrap();
    folder.verify().unwrap();
    folder
}

/// All texts in one call, the longest beside the shortest.
async fn vectors(architecture: &str, precision: &str, texts: &[Single]) -> Vec<Vec<f64>> {
    let embedder = LocalEmbedder::load(&folder(&format!("{architecture}-embedding-{precision}"))).unwrap();
    let texts: Vec<&str> = texts.iter().map(|case| case.text.as_str()).collect();
    let vectors = embedder.embed(&texts).await.unwrap();
    vectors.into_iter().map(|vector| vector.into_iter().map(f64::from).collect()).collect()
}

async fn logits(architecture: &str, precision: &str, claims: &[Paired]) -> Vec<Vec<f64>> {
    let stance = LocalStance::load(&folder(&format!("{architecture}-stance-{precision}"))).unwrap();
    let profile = |text: &str| Arc::new(TextProfile { text: text.to_owned(), ..TextProfile::default() });
    let pairs: Vec<Pair> =
        claims.iter().map(|case| Pair { claim: profile(&case.claim), passage: profile(&case.passage) }).collect();
    let judged = stance.judge(&pairs).await.unwrap();
    judged.into_iter().map(|judgement| as_logits(judgement.probabilities)).collect()
}

/// Softmax forgets what all logits have in common: they come back with a mean of 0.
fn as_logits(probabilities: StanceProbabilities) -> Vec<f64> {
    let StanceProbabilities { entail, contradict, neutral } = probabilities;
    centred(&[entail.ln(), neutral.ln(), contradict.ln()])
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap());
    values.iter().map(|value| value - mean).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    // A NaN is farther than anything.
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    apart.map(|apart| if apart.is_nan() { f64::INFINITY } else { apart }).fold(0.0, f64::max)
}

/// Every answer is that of the reference; says how far the farthest is.
fn assert_near(what: &str, answered: &[Vec<f64>], expected: &[Vec<f64>]) {
    assert_eq!(answered.len(), expected.len(), "{what}");
    let found: Vec<f64> =
        answered.iter().zip(expected).map(|(answer, reference)| distance(answer, reference)).collect();
    println!("{what}: {} answers, the farthest {:.1e} off", found.len(), found.iter().copied().fold(0.0, f64::max));
    assert!(found.iter().all(|distance| *distance <= TOLERANCE), "{what}: over {TOLERANCE}: {found:?}");
}

async fn answers_as_its_reference(architecture: &str) {
    let Reference { embedding, stance } = reference(architecture);
    for precision in ["f32", "int8"] {
        let expected: Vec<_> = embedding.iter().map(|case| case.answers[precision].clone()).collect();
        let answered = vectors(architecture, precision, &embedding).await;
        assert_near(&format!("{architecture} embedding {precision}"), &answered, &expected);
    }
    for precision in ["f32", "int8", "dynamic"] {
        let expected: Vec<_> = stance.iter().map(|case| centred(&case.answers[precision])).collect();
        let answered = logits(architecture, precision, &stance).await;
        assert_near(&format!("{architecture} stance {precision}"), &answered, &expected);
    }
}

#[tokio::test]
async fn bert_answers_as_its_reference() {
    answers_as_its_reference("bert").await;
}

#[tokio::test]
async fn xlm_roberta_answers_as_its_reference() {
    answers_as_its_reference("xlm-roberta").await;
}

#[test]
fn an_operator_that_the_runtime_lacks_is_named() {
    let error = LocalStance::load(&folder("unsupported-operator")).unwrap_err().to_string();
    assert!(error.contains("FoldTimeline") && error.contains("unsupported-operator"), "{error}");
}

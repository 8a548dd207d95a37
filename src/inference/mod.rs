//! Models behind traits: what a text means, what a passage says of a claim, how near they are.
//!
//! Rule-based backends live beside learned ones and say so in their name. Nothing here searches, stores or decides.
//! To add a backend: a file that implements one of the traits, a name that says what it is, and its place in
//! [`Models`], which only `app` builds.

pub mod choice;
mod error;
pub mod folder;
pub mod hashed;
mod labels;
pub mod languages;
pub mod llm;
#[cfg(feature = "models")]
pub mod local;
mod manifest;
pub mod pull;
pub mod remote;
pub mod routed;
pub mod rules;
pub mod sets;
pub mod steps;
pub mod translation;

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::domain::evidence::StanceProbabilities;
use crate::judging::profile::{EmbeddingSpace, TextProfile};
use crate::telemetry::metrics;

pub use error::ModelError;
pub use folder::{ModelFolder, scan};
pub use manifest::{Figures, Label, Manifest, PairOrder, Pooling, Similarity, Task};

/// What a model could not do, in words for a person.
#[derive(Debug, Clone, thiserror::Error)]
pub enum InferenceError {
    #[error("the model {model} failed: {detail}")]
    Failed { model: String, detail: String },
    #[error("the thread of the model {model} has ended; restart the daemon, and report what its log says before this")]
    Stopped { model: String },
}

/// Turns texts into unit-length vectors.
pub trait Embedder: Send + Sync + Debug {
    /// Shown in traces, e.g. `hashed-ngrams`.
    fn name(&self) -> &str;
    /// Length of every vector.
    fn dimension(&self) -> usize;
    /// What the vector of that text may be compared with.
    fn space(&self, _text: &str) -> EmbeddingSpace {
        EmbeddingSpace::Meaning
    }
    /// One vector per text, in order, each of unit length (all zeros for a text without words).
    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, InferenceError>>;
}

/// A claim and a passage that may speak of it.
#[derive(Debug, Clone)]
pub struct Pair {
    pub claim: Arc<TextProfile>,
    pub passage: Arc<TextProfile>,
}

/// What a passage says of a claim, and who said so.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// They sum to 1.
    pub probabilities: StanceProbabilities,
    /// `rules` or `model:<name>`. Stated per pair: one model may leave some pairs to another.
    pub judge: Arc<str>,
}

/// Says whether a passage entails, contradicts or leaves open a claim.
pub trait StanceModel: Send + Sync + Debug {
    /// The `judge` of results: `rules` or `model:<name>`.
    fn name(&self) -> &str;
    /// Whether it reads the language of that text; what it does not read is compared by words alone.
    fn reads(&self, _text: &str) -> bool {
        true
    }
    /// The language (ISO 639-1) that a text must be put into for it to be read; `None` of a judge that reads every language,
    /// and of one that reads none.
    fn pivot(&self) -> Option<&str> {
        None
    }
    /// One judgement per pair, in order.
    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>>;
}

/// Says how far a passage is about a claim.
pub trait Reranker: Send + Sync + Debug {
    fn name(&self) -> &str;
    /// Relevance in [0, 1] per pair, in order.
    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>>;
}

/// What needs no model, and so never fails.
#[derive(Debug, Clone)]
pub struct Fallback {
    pub words: hashed::HashedEmbedder,
    pub stance: rules::RuleStance,
    pub reranker: rules::LexicalReranker,
}

impl Fallback {
    /// Of the stored dimension. `min_agreement` is the agreement under which nothing supports
    /// (`ENRICHMENT_MIN_AGREEMENT`).
    pub fn new(dimension: usize, min_agreement: f64) -> Self {
        Self {
            words: hashed::HashedEmbedder::new(dimension),
            stance: rules::RuleStance { min_agreement },
            reranker: rules::LexicalReranker,
        }
    }
}

/// Times and counts a batch that is worked off at once. Batches of nothing are none.
fn counted<T>(model: &str, size: usize, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    if size > 0 {
        metrics::model_batch(model, size, started.elapsed());
    }
    done
}

/// The models a process works with, chosen once at start.
#[derive(Debug, Clone)]
pub struct Models {
    pub embedder: Arc<dyn Embedder>,
    pub stance: Arc<dyn StanceModel>,
    pub reranker: Arc<dyn Reranker>,
}

impl Models {
    /// No model at all: hashed words of that dimension, stance and relevance by rule. `min_agreement` is the agreement
    /// under which nothing supports (`ENRICHMENT_MIN_AGREEMENT`).
    pub fn rules(dimension: usize, min_agreement: f64) -> Self {
        let Fallback { words, stance, reranker } = Fallback::new(dimension, min_agreement);
        Self { embedder: Arc::new(words), stance: Arc::new(stance), reranker: Arc::new(reranker) }
    }
}

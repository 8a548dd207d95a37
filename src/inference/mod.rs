//! Models behind traits: embeddings, stance and relevance.
//!
//! Names show whether a backend is learned or rule-based. Nothing here searches, stores or decides. To add a backend:
//! implement a trait in a new file and add it to [`Models`], which only `app` builds.

pub mod choice;
pub mod ensemble;
mod error;
pub mod folder;
pub mod hashed;
pub mod languages;
pub mod llm;
#[cfg(feature = "models")]
pub mod local;
mod manifest;
pub mod remote;
pub mod routed;
pub mod rules;
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
pub use manifest::{Label, Manifest, Pooling, Similarity, Task};

#[derive(Debug, Clone, thiserror::Error)]
pub enum InferenceError {
    #[error("the model {model} failed: {detail}")]
    Failed { model: String, detail: String },
    #[error("the thread of the model {model} has ended; restart the daemon, and report what its log says before this")]
    Stopped { model: String },
}

/// Converts texts to unit-length vectors.
pub trait Embedder: Send + Sync + Debug {
    /// Returns the name in traces, such as `hashed-ngrams`.
    fn name(&self) -> &str;
    fn dimension(&self) -> usize;
    /// Returns the vector's space. Only vectors of the same space are comparable.
    fn space(&self, _text: &str) -> EmbeddingSpace {
        EmbeddingSpace::Meaning
    }
    /// Returns a unit-length vector that costs microseconds, for preselection. All texts are comparable; by default by
    /// hashed words.
    fn static_vector(&self, text: &str) -> Vec<f32> {
        hashed_vector(text)
    }
    /// Returns one vector per text, in order, of unit length; zeros for a text without words.
    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, InferenceError>>;
}

fn hashed_vector(text: &str) -> Vec<f32> {
    hashed::HashedEmbedder::new(hashed::DEFAULT_DIMENSION).embed_one(text)
}

/// A claim and a passage that may be about it.
#[derive(Debug, Clone)]
pub struct Pair {
    pub claim: Arc<TextProfile>,
    pub passage: Arc<TextProfile>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// They sum to 1.
    pub probabilities: StanceProbabilities,
    /// `rules` or `model:<name>`. Per pair, because one model can leave pairs to another.
    pub judge: Arc<str>,
}

/// Estimates whether a passage entails, contradicts or leaves open a claim.
pub trait StanceModel: Send + Sync + Debug {
    /// Returns the `judge` of results: `rules` or `model:<name>`.
    fn name(&self) -> &str;
    /// Whether the text's language is read; other texts are compared by words.
    fn reads(&self, _text: &str) -> bool {
        true
    }
    /// Returns the language (ISO 639-1) for translations of unread texts. `None` if every language or none is read.
    fn pivot(&self) -> Option<&str> {
        None
    }
    /// Returns one judgement per pair, in order.
    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>>;
}

/// Estimates how much a passage is about a claim.
pub trait Reranker: Send + Sync + Debug {
    fn name(&self) -> &str;
    /// Returns the relevance in [0, 1] per pair, in order.
    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>>;
}

/// Backends without a model, which never fail.
#[derive(Debug, Clone)]
pub struct Fallback {
    pub words: hashed::HashedEmbedder,
    pub stance: rules::RuleStance,
    pub reranker: rules::LexicalReranker,
}

impl Fallback {
    /// Takes the stored dimension. Below the similarity `min_agreement`, nothing supports a claim
    /// (`ENRICHMENT_MIN_AGREEMENT`).
    pub fn new(dimension: usize, min_agreement: f64) -> Self {
        Self {
            words: hashed::HashedEmbedder::new(dimension),
            stance: rules::RuleStance { min_agreement },
            reranker: rules::LexicalReranker,
        }
    }
}

/// Records time and size of a synchronous batch, unless it is empty.
fn counted<T>(model: &str, size: usize, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    if size > 0 {
        metrics::model_batch(model, size, started.elapsed());
    }
    done
}

#[derive(Debug, Clone)]
pub struct Models {
    pub embedder: Arc<dyn Embedder>,
    pub stance: Arc<dyn StanceModel>,
    pub reranker: Arc<dyn Reranker>,
}

impl Models {
    /// Returns hashed words and rules. `min_agreement`: see [`Fallback::new`].
    pub fn rules(dimension: usize, min_agreement: f64) -> Self {
        let Fallback { words, stance, reranker } = Fallback::new(dimension, min_agreement);
        Self { embedder: Arc::new(words), stance: Arc::new(stance), reranker: Arc::new(reranker) }
    }
}

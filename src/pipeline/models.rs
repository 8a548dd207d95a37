//! The models as the stages ask them. Batches are timed and counted where they are formed, in `inference`.

use super::Services;
use crate::inference::{InferenceError, Judgement, Pair};

impl Services {
    /// One unit-length vector per text, in order.
    pub(super) async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, InferenceError> {
        self.models.embedder.embed(texts).await
    }

    /// One judgement per pair, in order.
    pub(super) async fn stances(&self, pairs: &[Pair]) -> Result<Vec<Judgement>, InferenceError> {
        self.models.stance.judge(pairs).await
    }

    /// Relevance in [0, 1] per pair, in order.
    pub(super) async fn relevance(&self, pairs: &[Pair]) -> Result<Vec<f64>, InferenceError> {
        self.models.reranker.relevance(pairs).await
    }
}

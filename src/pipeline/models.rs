//! The models as the stages ask them: every batch is timed and counted.

use tokio::time::Instant;

use super::Services;
use crate::domain::evidence::StanceProbabilities;
use crate::inference::{InferenceError, Pair};
use crate::telemetry::metrics;

impl Services {
    /// One unit-length vector per text, in order.
    pub(super) async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, InferenceError> {
        counted("embedder", texts.len(), self.models.embedder.embed(texts)).await
    }

    /// One judgement per pair, in order.
    pub(super) async fn stances(&self, pairs: &[Pair]) -> Result<Vec<StanceProbabilities>, InferenceError> {
        counted("stance", pairs.len(), self.models.stance.judge(pairs)).await
    }

    /// Relevance in [0, 1] per pair, in order.
    pub(super) async fn relevance(&self, pairs: &[Pair]) -> Result<Vec<f64>, InferenceError> {
        counted("reranker", pairs.len(), self.models.reranker.relevance(pairs)).await
    }
}

async fn counted<T>(
    model: &str,
    size: usize,
    asked: impl Future<Output = Result<Vec<T>, InferenceError>>,
) -> Result<Vec<T>, InferenceError> {
    if size == 0 {
        return Ok(Vec::new());
    }
    let started = Instant::now();
    let answered = asked.await?;
    metrics::model_batch(model, size, started.elapsed());
    Ok(answered)
}

//! Calls the models for the stages. If one fails, hashed words, rules or shared words replace it and the result is
//! degraded.

use std::sync::Arc;

use super::claims::{Claim, Forms};
use super::embedding::Embedding;
use super::run_context::Journal;
use super::services::{PipelineError, Services};
use crate::domain::Degradation;
use crate::inference::{Embedder as _, InferenceError, Judgement, Pair, Reranker as _, StanceModel as _};
use crate::judging::profile::{EmbeddingSpace, TextProfile};

impl Services {
    /// Returns one unit-length vector per text, in order.
    pub(super) async fn embed(&self, texts: &[&str], journal: &Journal) -> Vec<Embedding> {
        let embedder = &self.models.embedder;
        match embedder.embed(texts).await {
            Ok(vectors) => texts
                .iter()
                .zip(vectors)
                .map(|(text, vector)| Embedding { vector, space: embedder.space(text) })
                .collect(),
            Err(error) => {
                failed("embedder", &error, journal);
                texts.iter().map(|text| self.embed_words(text)).collect()
            }
        }
    }

    pub(super) fn embed_words(&self, text: &str) -> Embedding {
        Embedding { vector: self.fallback.words.embed_one(text), space: EmbeddingSpace::Words }
    }

    /// Returns the embedder that made the vector, which is stored and searched under this name.
    pub(super) fn embedder_of(&self, text: &str, space: EmbeddingSpace) -> &str {
        let embedder = &self.models.embedder;
        if embedder.space(text) == space { embedder.name() } else { self.fallback.words.name() }
    }

    /// Returns one judgement per pair, in order.
    pub(super) async fn stances(&self, pairs: &[Pair], journal: &Journal) -> Result<Vec<Judgement>, PipelineError> {
        match self.models.stance.judge(pairs).await {
            Ok(judged) => Ok(judged),
            Err(error) => {
                failed("stance", &error, journal);
                self.stances_by_rule(pairs).await
            }
        }
    }

    pub(super) async fn stances_by_rule(&self, pairs: &[Pair]) -> Result<Vec<Judgement>, PipelineError> {
        Ok(self.fallback.stance.judge(pairs).await?)
    }

    /// Returns the relevance, 0–1, per pair, in order.
    pub(super) async fn relevance(&self, pairs: &[Pair], journal: &Journal) -> Result<Vec<f64>, PipelineError> {
        match self.models.reranker.relevance(pairs).await {
            Ok(relevance) => Ok(relevance),
            Err(error) => {
                failed("reranker", &error, journal);
                Ok(self.fallback.reranker.relevance(pairs).await?)
            }
        }
    }

    /// Pairs vectors of one embedder; hashed words if the model reads only one text.
    pub(super) fn comparable(&self, claim: &Claim, passage: &Arc<TextProfile>) -> Pair {
        self.compared(&claim.profile, &claim.forms, passage)
    }

    /// [`Self::comparable`] for a translation of the claim.
    pub(super) fn compared(&self, claim: &Arc<TextProfile>, forms: &Forms, passage: &Arc<TextProfile>) -> Pair {
        if claim.space == passage.space {
            return Pair { claim: Arc::clone(claim), passage: Arc::clone(passage) };
        }
        let by_words = |profile: &Arc<TextProfile>| {
            if profile.space == EmbeddingSpace::Words {
                return Arc::clone(profile);
            }
            let Embedding { vector, space } = self.embed_words(&profile.text);
            Arc::new((**profile).clone().embedded(vector, space))
        };
        let claim = Arc::clone(forms.by_words.get_or_init(|| by_words(claim)));
        Pair { claim, passage: by_words(passage) }
    }
}

fn failed(model: &'static str, error: &InferenceError, journal: &Journal) {
    let cause = Degradation::ModelFailed(model.to_owned());
    // Once per item, because an unavailable model fails every batch.
    if !journal.is_degraded_by(&cause) {
        tracing::warn!(%error, model, "model call failed; continuing without it");
        journal.trace(format!("{model}: failed ({error}); done without it"));
        journal.degrade(cause);
    }
}

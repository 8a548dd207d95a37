//! The models as the stages ask them. A model that fails costs the item nothing but its judgement: hashed words, the rules
//! and shared words do the work, the item says so, and may be run again.

use std::sync::Arc;

use super::claims::{Claim, Forms};
use super::embedding::Embedding;
use super::{Journal, PipelineError, Services};
use crate::domain::Degradation;
use crate::inference::{Embedder as _, InferenceError, Judgement, Pair, Reranker as _, StanceModel as _};
use crate::judging::kindred;
use crate::judging::profile::{EmbeddingSpace, TextProfile};

impl Services {
    /// One unit-length vector per text, in order.
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

    /// A text by hashed words, which need no model.
    pub(super) fn embed_words(&self, text: &str) -> Embedding {
        Embedding { vector: self.fallback.words.embed_one(text), space: EmbeddingSpace::Words }
    }

    /// Who made a text's vector: the embedder, or what stands in for it when it fails. A vector is stored under that name,
    /// for under the other one nobody would find it.
    pub(super) fn embedder_of(&self, text: &str, space: EmbeddingSpace) -> &str {
        let embedder = &self.models.embedder;
        if embedder.space(text) == space { embedder.name() } else { self.fallback.words.name() }
    }

    /// One judgement per pair, in order.
    pub(super) async fn stances(&self, pairs: &[Pair], journal: &Journal) -> Result<Vec<Judgement>, PipelineError> {
        match self.models.stance.judge(pairs).await {
            Ok(judged) => Ok(judged),
            Err(error) => {
                failed("stance", &error, journal);
                self.stances_by_rule(pairs).await
            }
        }
    }

    /// The same by rule, without a model.
    pub(super) async fn stances_by_rule(&self, pairs: &[Pair]) -> Result<Vec<Judgement>, PipelineError> {
        Ok(self.fallback.stance.judge(pairs).await?)
    }

    /// Relevance in [0, 1] per pair, in order.
    pub(super) async fn relevance(&self, pairs: &[Pair], journal: &Journal) -> Result<Vec<f64>, PipelineError> {
        match self.models.reranker.relevance(pairs).await {
            Ok(relevance) => Ok(relevance),
            Err(error) => {
                failed("reranker", &error, journal);
                Ok(self.fallback.reranker.relevance(pairs).await?)
            }
        }
    }

    /// Claim and passage with vectors of one embedder: as they are, or both by hashed words where one has no other, which
    /// is how texts of two languages meet whose model reads only one.
    pub(super) fn comparable(&self, claim: &Claim, passage: &Arc<TextProfile>) -> Pair {
        self.compared(&claim.profile, &claim.forms, passage)
    }

    /// The same for a claim in some words and the forms they have: a Ukrainian text that is held against a Russian one, or
    /// the other way round, is read in the words the two languages share.
    pub(super) fn compared(&self, claim: &Arc<TextProfile>, forms: &Forms, passage: &Arc<TextProfile>) -> Pair {
        let in_russian = |profile: &TextProfile| {
            let shared = kindred::in_russian(profile);
            if profile.space == EmbeddingSpace::Meaning {
                return Arc::new(shared);
            }
            let Embedding { vector, space } = self.embed_words(&kindred::words_in_russian(profile));
            Arc::new(shared.embedded(vector, space))
        };
        let languages = (claim.language.as_deref(), passage.language.as_deref());
        let (own, other) = match languages {
            (Some("uk"), Some("ru")) => {
                (Arc::clone(forms.in_russian.get_or_init(|| in_russian(claim))), Arc::clone(passage))
            }
            (Some("ru"), Some("uk")) => (Arc::clone(claim), in_russian(passage)),
            _ => (Arc::clone(claim), Arc::clone(passage)),
        };
        if own.space == other.space {
            return Pair { claim: own, passage: other };
        }
        let by_words = |profile: Arc<TextProfile>| {
            if profile.space == EmbeddingSpace::Words {
                return profile;
            }
            let Embedding { vector, space } = self.embed_words(&profile.text);
            Arc::new((*profile).clone().embedded(vector, space))
        };
        // Only the claim's own words are kept: those that Russian shares are of hashed words where they have no other vector.
        let own = if Arc::ptr_eq(&own, claim) {
            Arc::clone(forms.by_words.get_or_init(|| by_words(own)))
        } else {
            by_words(own)
        };
        Pair { claim: own, passage: by_words(other) }
    }
}

fn failed(model: &'static str, error: &InferenceError, journal: &Journal) {
    let cause = Degradation::ModelFailed(model.to_owned());
    // Once an item is enough: a model that is away fails every batch.
    if !journal.is_degraded_by(&cause) {
        tracing::warn!(%error, model, "a model failed; this item is worked on without it");
        journal.trace(format!("{model}: failed ({error}); done without it"));
        journal.degrade(cause);
    }
}

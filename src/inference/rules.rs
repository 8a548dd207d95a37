//! Judges without a model: stance by rule, relevance by shared words. Both say so in their name.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::judging::agreement;
use crate::judging::profile::TextProfile;
use crate::judging::stance;

use super::{InferenceError, Judgement, Pair, Reranker, StanceModel, counted};

/// The `judge` of what was decided without a model.
pub const RULES: &str = "rules";

/// Stance by the rules of [`crate::judging::stance`].
#[derive(Debug, Clone, Copy)]
pub struct RuleStance {
    /// Agreement under which nothing supports (`ENRICHMENT_MIN_AGREEMENT`), 0–1.
    pub min_agreement: f64,
}

impl StanceModel for RuleStance {
    fn name(&self) -> &'static str {
        RULES
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        Box::pin(async move {
            let judge: Arc<str> = Arc::from(self.name());
            let judged = |pair: &Pair| {
                let given = stance::rule_stance(&pair.claim, &pair.passage, self.min_agreement);
                let probabilities = stance::reserved(&pair.claim, &pair.passage, given);
                Judgement { probabilities, judge: Arc::clone(&judge) }
            };
            Ok(counted("stance", pairs.len(), || pairs.iter().map(judged).collect()))
        })
    }
}

/// Relevance by the claim's words, names and figures found in the passage, and the cosine of the embeddings.
#[derive(Debug, Clone, Copy, Default)]
pub struct LexicalReranker;

/// What each part of the relevance weighs. Words carry the subject; names tell one event from another of its kind; the
/// cosine of hashed words adds what stems miss (inflections, transliterated names).
const WORDS: f64 = 0.5;
const NAMES: f64 = 0.25;
const MEANING: f64 = 0.25;

/// A hashed embedding reads about 0.5 for a passage that is plainly on topic, since most of a passage's words are not
/// the claim's; this brings it to the scale of the other parts.
const COSINE_SCALE: f64 = 1.6;

/// Relevance in [0, 1] of a passage to a claim.
pub fn lexical_relevance(claim: &TextProfile, passage: &TextProfile) -> f64 {
    let names = stance::Names::new(claim, passage);
    let words = stance::coverage_with(claim, passage, &names);
    let meaning = (COSINE_SCALE * agreement::cosine(claim, passage)).clamp(0.0, 1.0);
    let relevance = if claim.entities.is_empty() {
        // Without names the words and the meaning share their weight.
        (WORDS * words + MEANING * meaning) / (WORDS + MEANING)
    } else {
        WORDS * words + NAMES * names.found() + MEANING * meaning
    };
    relevance.clamp(0.0, 1.0)
}

impl Reranker for LexicalReranker {
    fn name(&self) -> &'static str {
        "lexical"
    }

    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>> {
        let relevance = |pair: &Pair| lexical_relevance(&pair.claim, &pair.passage);
        Box::pin(async move { Ok(counted("reranker", pairs.len(), || pairs.iter().map(relevance).collect())) })
    }
}

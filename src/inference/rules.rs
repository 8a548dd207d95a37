//! Backends without a model: stance by agreement, relevance by shared words.
//!
//! Their names show this. They never fail.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::judging::caps::capped;
use crate::judging::coverage::lexical_relevance;
use crate::judging::stance;

use super::{InferenceError, Judgement, Pair, Reranker, StanceModel, counted};

pub const RULES: &str = "rules";

/// Stance by the agreement rule ([`crate::judging::stance`]).
#[derive(Debug, Clone, Copy)]
pub struct RuleStance {
    /// Similarity (0–1) below which nothing supports (`ENRICHMENT_MIN_AGREEMENT`).
    pub min_agreement: f64,
}

impl StanceModel for RuleStance {
    fn name(&self) -> &'static str {
        RULES
    }

    fn reads(&self, _text: &str) -> bool {
        false
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        Box::pin(async move {
            let judge: Arc<str> = Arc::from(self.name());
            let judged = |pair: &Pair| {
                let given = stance::agreement_stance(&pair.claim, &pair.passage, self.min_agreement);
                Judgement { probabilities: capped(&pair.claim, &pair.passage, given), judge: Arc::clone(&judge) }
            };
            Ok(counted("stance", pairs.len(), || pairs.iter().map(judged).collect()))
        })
    }
}

/// Relevance by the claim's words, names and figures in the passage and by the cosine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LexicalReranker;

impl Reranker for LexicalReranker {
    fn name(&self) -> &'static str {
        "lexical"
    }

    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>> {
        let relevance = |pair: &Pair| lexical_relevance(&pair.claim, &pair.passage);
        Box::pin(async move { Ok(counted("reranker", pairs.len(), || pairs.iter().map(relevance).collect())) })
    }
}

//! Stance and relevance of pairs from a server.
//!
//! Scores are matched with inputs by label or index, never by order.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::error::RemoteError;
use super::info::Info;
use super::server::Server;
use super::wire::{self, ScoredRow};
use crate::domain::evidence::StanceProbabilities;
use crate::inference::labels::probabilities;
use crate::inference::{InferenceError, Judgement, Label, Pair, Reranker, StanceModel};

/// A trial passage and claim.
const PROBE: (&str, &str) = ("The bridge reopened on Monday.", "The bridge is open again.");
/// Allowed deviation of a 32-bit softmax sum from 1.
const ROUNDING: f64 = 0.02;

#[derive(Debug, Clone)]
pub struct RemoteStance {
    server: Arc<Server>,
    /// `model:<name>`.
    judge: Arc<str>,
    labels: Arc<HashMap<String, Label>>,
}

impl RemoteStance {
    /// Takes the classes of `info` by id.
    pub(super) async fn new(server: Server, info: &Info, labels: Vec<Label>) -> Result<Self, RemoteError> {
        let super::Kind::Classifier { id2label } = &info.kind else { return Err(server.failed("is no classifier")) };
        let in_order = |id: &String| id.trim().parse::<usize>().ok().and_then(|id| labels.get(id)).copied();
        let labels = id2label.iter().filter_map(|(id, word)| Some((word.clone(), in_order(id)?))).collect();
        let judge = Arc::from(format!("model:{}", info.model));
        let made = Self { server: Arc::new(server), judge, labels: Arc::new(labels) };
        made.ask(&[PROBE]).await?;
        Ok(made)
    }

    pub fn location(&self) -> String {
        self.server.shown()
    }

    /// Returns the probabilities of (passage, claim), in order.
    pub(super) async fn ask(&self, pairs: &[(&str, &str)]) -> Result<Vec<StanceProbabilities>, RemoteError> {
        let inputs = pairs
            .iter()
            // Premise, hypothesis. A flat list of two texts would be one pair, so a batch is nested.
            .map(|(passage, claim)| json!([self.server.clip(passage), self.server.clip(claim)]))
            .collect();
        let body = |batch: &[Value]| json!({ "inputs": batch, "raw_scores": false, "truncate": true, "truncation_direction": "Right" });
        let read = |rows: Vec<Vec<ScoredRow>>, _count| rows.iter().map(|row| self.probabilities(row)).collect();
        self.server.all(("stance", "predict"), inputs, body, read).await
    }

    /// Matches labels by word, because they come sorted by score.
    fn probabilities(&self, row: &[ScoredRow]) -> Result<StanceProbabilities, String> {
        let mut shares = Vec::with_capacity(row.len());
        for class in row {
            let label = self.labels.get(&class.label).ok_or_else(|| format!("the unknown label {:?}", class.label))?;
            let share = class.score.filter(|score| (0.0..=1.0 + ROUNDING).contains(score));
            shares.push((*label, share.ok_or_else(|| "a score that is no probability (NaN)".to_owned())?));
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        if shares.len() != self.labels.len() || (sum - 1.0).abs() > ROUNDING {
            return Err(format!("{} probabilities that sum to {sum:.3}", shares.len()));
        }
        Ok(probabilities(shares))
    }
}

fn texts(pairs: &[Pair]) -> Vec<(&str, &str)> {
    pairs.iter().map(|pair| (pair.passage.premise(), pair.claim.without_days())).collect()
}

impl StanceModel for RemoteStance {
    fn name(&self) -> &str {
        &self.judge
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        Box::pin(async move {
            let given = self.ask(&texts(pairs)).await.map_err(|error| super::failure(&self.judge, &error))?;
            let judged = |probabilities| Judgement { probabilities, judge: Arc::clone(&self.judge) };
            Ok(given.into_iter().map(judged).collect())
        })
    }
}

#[derive(Debug, Clone)]
pub struct RemoteReranker {
    server: Arc<Server>,
    name: String,
}

impl RemoteReranker {
    pub(super) async fn new(server: Server, info: &Info) -> Result<Self, RemoteError> {
        let made = Self { server: Arc::new(server), name: info.model.clone() };
        made.ask(&[PROBE]).await?;
        Ok(made)
    }

    pub fn location(&self) -> String {
        self.server.shown()
    }

    /// Returns the relevance of (passage, claim), in order. Neighbours with one claim share a request.
    pub(super) async fn ask(&self, pairs: &[(&str, &str)]) -> Result<Vec<f64>, RemoteError> {
        let mut scores = Vec::with_capacity(pairs.len());
        for of_claim in pairs.chunk_by(|(_, one), (_, other)| one == other) {
            let Some((_, claim)) = of_claim.first() else { continue };
            let query = self.server.clip(claim);
            let inputs = of_claim.iter().map(|(passage, _)| Value::from(self.server.clip(passage))).collect();
            let body = |batch: &[Value]| {
                json!({
                    "query": query, "texts": batch, "raw_scores": false, "return_text": false, "truncate": true,
                    "truncation_direction": "Right"
                })
            };
            // Sorted by score; the index names the text.
            let read = |rows: Vec<ScoredRow>, count| {
                let mut placed = Vec::with_capacity(rows.len());
                for row in rows {
                    let score = row.score.filter(|score| score.is_finite());
                    let score = score.ok_or_else(|| "a score that is no number (NaN)".to_owned())?;
                    placed.push((
                        row.index.ok_or_else(|| "a score without its index".to_owned())?,
                        score.clamp(0.0, 1.0),
                    ));
                }
                wire::by_index(placed, count)
            };
            scores.extend(self.server.all(("reranker", "rerank"), inputs, body, read).await?);
        }
        Ok(scores)
    }
}

impl Reranker for RemoteReranker {
    fn name(&self) -> &str {
        &self.name
    }

    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>> {
        Box::pin(async move { self.ask(&texts(pairs)).await.map_err(|error| super::failure(&self.name, &error)) })
    }
}

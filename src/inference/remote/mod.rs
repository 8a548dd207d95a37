//! Models on text-embeddings-inference servers: `/embed`, `/predict` and `/rerank`.
//!
//! [`connect`] reads each server's model, labels and limits once at start. A mismatch is an error with the key to
//! change. Scores are matched with inputs by label or index, never by order, and vectors are checked: a server sends
//! null for NaN.

mod server;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use self::server::{ModelKind, Server};
use super::manifest::{is_complete, probabilities};
use super::{Embedder, InferenceError, Judgement, Label, Pair, Reranker, StanceModel, Task};
use crate::config::InferenceConfig;
use crate::domain::Clock;
use crate::domain::evidence::StanceProbabilities;
use crate::outbound::HttpClient;

pub use server::RemoteError;

/// A trial passage and claim.
const TRIAL: (&str, &str) = ("The bridge reopened on Monday.", "The bridge is open again.");
/// Allowed deviation of a 32-bit softmax sum from 1.
const ROUNDING: f64 = 0.02;

/// How long [`connect`] waits.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a server that reports loading.
    pub loading: Duration,
    /// For a server without a connection.
    pub starting: Duration,
}

impl Patience {
    /// For a daemon, which starts together with its servers. A model can have gigabytes.
    pub const DAEMON: Self = Self { loading: Duration::from_mins(2), starting: Duration::from_secs(15) };
    /// For a command, which reports the problem at once.
    pub const NONE: Self = Self { loading: Duration::ZERO, starting: Duration::ZERO };
}

#[derive(Debug, Default)]
pub struct RemoteModels {
    pub embedder: Option<RemoteEmbedder>,
    pub stance: Option<RemoteStance>,
    pub reranker: Option<RemoteReranker>,
}

/// Connects to every configured server.
///
/// # Errors
/// A server that is not ready after `patience`, refuses the key or is no model server. A kind of model that is wrong
/// for its variable. Labels that are not NLI labels.
pub async fn connect(
    config: &InferenceConfig,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
    patience: Patience,
) -> Result<RemoteModels, RemoteError> {
    let mut models = RemoteModels::default();
    for (variable, url) in config.servers() {
        let server = Server::connect(variable, url.clone(), config, (http, clock), patience).await?;
        let (task, is_second) = match &server.info.kind {
            ModelKind::Embedding(_) => (Task::Embedding, models.embedder.is_some()),
            ModelKind::Classifier { .. } => (Task::Stance, models.stance.is_some()),
            ModelKind::Reranker(_) => (Task::Relevance, models.reranker.is_some()),
        };
        let wanted = match variable {
            "INFERENCE_STANCE_URL" => Task::Stance,
            "INFERENCE_RERANK_URL" => Task::Relevance,
            // The first server may serve any kind of model.
            _ => task,
        };
        let (model, task, wanted) = (&server.info.model, task.as_str(), wanted.as_str());
        if task != wanted {
            return Err(server.failed(format!("serves {model}, a model for {task}, not for {wanted}")));
        }
        if is_second {
            return Err(server.failed(format!("serves {model}, a second model for {task}; keep one server")));
        }
        match server.info.kind.clone() {
            ModelKind::Embedding(_) => models.embedder = Some(RemoteEmbedder::new(server).await?),
            ModelKind::Classifier { id2label } => models.stance = Some(RemoteStance::new(server, &id2label).await?),
            ModelKind::Reranker(_) => models.reranker = Some(RemoteReranker::new(server).await?),
        }
    }
    Ok(models)
}

#[derive(Debug, Clone)]
pub struct RemoteEmbedder {
    server: Server,
    dimension: usize,
}

impl RemoteEmbedder {
    /// Asks for a trial vector, which gives the dimension.
    async fn new(server: Server) -> Result<Self, RemoteError> {
        let mut made = Self { server, dimension: 0 };
        made.dimension = made.ask(&[TRIAL.0]).await?.first().map_or(0, Vec::len);
        Ok(made)
    }

    pub fn location(&self) -> String {
        self.server.location()
    }

    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, RemoteError> {
        let inputs: Vec<Value> = texts.iter().map(|text| Value::from(self.server.clip(text))).collect();
        let body = |batch: &[Value]| json!({ "inputs": batch, "normalize": true, "truncate": true });
        let read = |rows: Vec<Vec<Option<f32>>>, _count| rows.iter().map(|row| unit(row)).collect();
        let vectors: Vec<Vec<f32>> = self.server.all(("embedder", "embed"), &inputs, body, read).await?;
        match vectors.iter().map(Vec::len).find(|size| self.dimension > 0 && *size != self.dimension) {
            Some(other) => Err(self.server.failed(format!(
                "answered a vector of {other} numbers instead of {}; if another model was started there, restart the \
                 daemon",
                self.dimension
            ))),
            None => Ok(vectors),
        }
    }
}

impl Embedder for RemoteEmbedder {
    fn name(&self) -> &str {
        &self.server.info.model
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, InferenceError>> {
        Box::pin(async move {
            // Servers refuse empty texts or return meaningless vectors.
            let non_empty: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
            let asked = self.ask(&non_empty).await.map_err(|error| self.server.item_error(&error))?;
            let mut vectors = asked.into_iter();
            let nothing = || vec![0.0; self.dimension];
            let place = |text: &&str| if text.trim().is_empty() { Some(nothing()) } else { vectors.next() };
            Ok(texts.iter().filter_map(place).collect())
        })
    }
}

#[derive(Debug, Clone)]
pub struct RemoteStance {
    server: Server,
    /// `model:<name>`.
    judge: Arc<str>,
    /// Classes by their words in the server's answers.
    labels: Arc<HashMap<String, Label>>,
}

impl RemoteStance {
    /// Reads the labels and tries a pair.
    async fn new(server: Server, id2label: &BTreeMap<String, String>) -> Result<Self, RemoteError> {
        let Some(labels) = labels(id2label) else {
            let words: Vec<&str> = id2label.values().map(String::as_str).collect();
            return Err(server.failed(format!(
                "serves {}, whose labels are {}, not those of an NLI model (entailment, neutral, contradiction); serve \
                 another model, or name the labels in the id2label of its config.json",
                server.info.model,
                words.join(", ")
            )));
        };
        let judge = Arc::from(format!("model:{}", server.info.model));
        let made = Self { server, judge, labels: Arc::new(labels) };
        made.ask(&[TRIAL]).await?;
        Ok(made)
    }

    pub fn location(&self) -> String {
        self.server.location()
    }

    /// Returns the probabilities of (passage, claim), in order.
    async fn ask(&self, pairs: &[(&str, &str)]) -> Result<Vec<StanceProbabilities>, RemoteError> {
        // Premise, hypothesis. A flat list of two texts would be one pair, so a batch is nested.
        let pair = |(passage, claim): &(&str, &str)| json!([self.server.clip(passage), self.server.clip(claim)]);
        let inputs: Vec<Value> = pairs.iter().map(pair).collect();
        let body = |batch: &[Value]| json!({ "inputs": batch, "raw_scores": false, "truncate": true });
        let read = |rows: Vec<Vec<ClassScore>>, _count| rows.iter().map(|row| self.probabilities(row)).collect();
        self.server.all(("stance", "predict"), &inputs, body, read).await
    }

    /// Matches labels by word, because they come sorted by score.
    fn probabilities(&self, row: &[ClassScore]) -> Result<StanceProbabilities, String> {
        let mut shares = Vec::with_capacity(row.len());
        for class in row {
            let label = self.labels.get(&class.label).ok_or_else(|| format!("the unknown label {:?}", class.label))?;
            let share = class.score.filter(|score| (0.0..=1.0 + ROUNDING).contains(score));
            shares.push((*label, share.ok_or("a score that is no probability (NaN)")?));
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        if shares.len() != self.labels.len() || (sum - 1.0).abs() > ROUNDING {
            return Err(format!("{} probabilities that sum to {sum:.3}", shares.len()));
        }
        Ok(probabilities(shares))
    }
}

impl StanceModel for RemoteStance {
    fn name(&self) -> &str {
        &self.judge
    }

    fn judge<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<Judgement>, InferenceError>> {
        Box::pin(async move {
            let given = self.ask(&texts(pairs)).await.map_err(|error| self.server.item_error(&error))?;
            let judged = |probabilities| Judgement { probabilities, judge: Arc::clone(&self.judge) };
            Ok(given.into_iter().map(judged).collect())
        })
    }
}

#[derive(Debug, Clone)]
pub struct RemoteReranker {
    server: Server,
}

impl RemoteReranker {
    /// Tries a pair.
    async fn new(server: Server) -> Result<Self, RemoteError> {
        let made = Self { server };
        made.ask(&[TRIAL]).await?;
        Ok(made)
    }

    pub fn location(&self) -> String {
        self.server.location()
    }

    /// Returns the relevance of (passage, claim), in order. Neighbours with one claim share a request.
    async fn ask(&self, pairs: &[(&str, &str)]) -> Result<Vec<f64>, RemoteError> {
        let mut scores = Vec::with_capacity(pairs.len());
        for of_claim in pairs.chunk_by(|(_, one), (_, other)| one == other) {
            let Some((_, claim)) = of_claim.first() else { continue };
            let query = self.server.clip(claim);
            let inputs: Vec<Value> =
                of_claim.iter().map(|(passage, _)| Value::from(self.server.clip(passage))).collect();
            let body =
                |batch: &[Value]| json!({ "query": query, "texts": batch, "raw_scores": false, "truncate": true });
            scores.extend(self.server.all(("reranker", "rerank"), &inputs, body, by_index).await?);
        }
        Ok(scores)
    }
}

impl Reranker for RemoteReranker {
    fn name(&self) -> &str {
        &self.server.info.model
    }

    fn relevance<'a>(&'a self, pairs: &'a [Pair]) -> BoxFuture<'a, Result<Vec<f64>, InferenceError>> {
        Box::pin(async move { self.ask(&texts(pairs)).await.map_err(|error| self.server.item_error(&error)) })
    }
}

/// A class of `/predict`.
#[derive(Debug, Deserialize)]
struct ClassScore {
    label: String,
    score: Option<f64>,
}

/// A text of `/rerank`.
#[derive(Debug, Deserialize)]
struct TextScore {
    index: usize,
    score: Option<f64>,
}

fn texts(pairs: &[Pair]) -> Vec<(&str, &str)> {
    pairs.iter().map(|pair| (pair.passage.premise(), pair.claim.without_days())).collect()
}

/// Returns the class of each label; `None` if they are not those of an NLI model.
fn labels(id2label: &BTreeMap<String, String>) -> Option<HashMap<String, Label>> {
    let label = |word: &String| {
        Some(match word.to_lowercase().replace(['-', ' '], "_").as_str() {
            "entailment" => Label::Entail,
            "neutral" => Label::Neutral,
            "contradiction" => Label::Contradict,
            "not_entailment" => Label::NotEntail,
            _ => return None,
        })
    };
    let labels: Vec<Label> = id2label.values().map(label).collect::<Option<_>>()?;
    is_complete(&labels).then(|| id2label.values().cloned().zip(labels).collect())
}

/// Returns the scores of `count` texts by their index; each must occur once. They come sorted by score.
fn by_index(rows: Vec<TextScore>, count: usize) -> Result<Vec<f64>, String> {
    let mut scores: Vec<Option<f64>> = vec![None; count];
    for row in rows {
        let score = row.score.filter(|score| score.is_finite()).ok_or("a score that is no number (NaN)")?;
        let place = scores.get_mut(row.index).ok_or_else(|| format!("row {} of {count}", row.index))?;
        if place.replace(score.clamp(0.0, 1.0)).is_some() {
            return Err(format!("row {} twice", row.index));
        }
    }
    let given = scores.iter().flatten().count();
    scores.into_iter().collect::<Option<_>>().ok_or_else(|| format!("{given} of {count} rows"))
}

/// Scales to unit length; an error unless all numbers are finite.
fn unit(numbers: &[Option<f32>]) -> Result<Vec<f32>, String> {
    let vector: Option<Vec<f32>> = numbers.iter().map(|number| number.filter(|number| number.is_finite())).collect();
    let vector = vector.ok_or("a vector that holds no numbers (NaN or infinite)")?;
    let length = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum::<f64>().sqrt();
    if length <= f64::from(f32::EPSILON) {
        return Err("a vector of length zero".to_owned());
    }
    Ok(vector.into_iter().map(|number| (f64::from(number) / length) as f32).collect())
}

#[cfg(test)]
mod tests;

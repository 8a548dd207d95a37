//! Embeddings from a server.
//!
//! A trial text gives the dimension; a later change of it is an error.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::error::RemoteError;
use super::info::Info;
use super::server::Server;
use super::wire::{self, Embeddings, Numbers};
use crate::inference::{Embedder, InferenceError};

/// Trial text for the dimension.
const PROBE: &str = "The bridge reopened on Monday.";
/// Characters per text. OpenAI-compatible servers do not cut: the limit is 8,192 tokens at `OpenAI`, often 512
/// elsewhere.
const OPENAI_CHARS: usize = 8_000;

#[derive(Debug, Clone)]
enum Protocol {
    Tei,
    OpenAi { model: String },
}

/// An embedding model on a server. Vectors are scaled to unit length here.
#[derive(Debug, Clone)]
pub struct RemoteEmbedder {
    server: Arc<Server>,
    protocol: Protocol,
    name: String,
    dimension: usize,
}

impl RemoteEmbedder {
    pub(super) async fn tei(server: Server, info: &Info) -> Result<Self, RemoteError> {
        Self::probed(server, Protocol::Tei, info.model.clone()).await
    }

    pub(super) async fn openai(mut server: Server, model: &str) -> Result<Self, RemoteError> {
        server.assume(OPENAI_CHARS);
        Self::probed(server, Protocol::OpenAi { model: model.to_owned() }, model.to_owned()).await
    }

    async fn probed(server: Server, protocol: Protocol, name: String) -> Result<Self, RemoteError> {
        let mut made = Self { server: Arc::new(server), protocol, name, dimension: 0 };
        let vectors = made.ask(&[PROBE]).await?;
        made.dimension = vectors.first().map_or(0, Vec::len);
        Ok(made)
    }

    pub fn location(&self) -> String {
        self.server.shown()
    }

    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, RemoteError> {
        let inputs = texts.iter().map(|text| Value::from(self.server.clip(text))).collect();
        let vectors = match &self.protocol {
            Protocol::Tei => {
                let body = |batch: &[Value]| json!({ "inputs": batch, "normalize": true, "truncate": true, "truncation_direction": "Right" });
                let read = |rows: Vec<Numbers>, _count| rows.iter().map(wire::unit).collect();
                self.server.all(("embedder", "embed"), inputs, body, read).await?
            }
            Protocol::OpenAi { model } => {
                let body = |batch: &[Value]| json!({ "model": model, "input": batch, "encoding_format": "float" });
                let read = |answer: Embeddings, count| {
                    let rows = answer.data.into_iter().map(|row| (row.index, row.embedding)).collect();
                    wire::by_index(rows, count)?.iter().map(wire::unit).collect()
                };
                self.server.all(("embedder", "v1/embeddings"), inputs, body, read).await?
            }
        };
        let size = if self.dimension > 0 { self.dimension } else { vectors.first().map_or(0, Vec::len) };
        match vectors.iter().find(|vector| vector.len() != size) {
            Some(other) => Err(self.server.failed(format!(
                "answered a vector of {} numbers among others of {size}; was another model started there? start the daemon again",
                other.len()
            ))),
            None => Ok(vectors),
        }
    }
}

impl Embedder for RemoteEmbedder {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, InferenceError>> {
        Box::pin(async move {
            // Servers refuse empty texts or return meaningless vectors.
            let non_empty: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
            let asked = self.ask(&non_empty).await.map_err(|error| super::failure(&self.name, &error))?;
            let mut vectors = asked.into_iter();
            let nothing = || vec![0.0; self.dimension];
            let place = |text: &&str| if text.trim().is_empty() { Some(nothing()) } else { vectors.next() };
            Ok(texts.iter().filter_map(place).collect())
        })
    }
}

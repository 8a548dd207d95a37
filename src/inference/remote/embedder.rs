//! Embeddings from a server.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::error::RemoteError;
use super::info::Info;
use super::server::Server;
use super::wire::{self, Embeddings, Numbers};
use crate::inference::{Embedder, InferenceError};

/// A text that every tokenizer knows, to learn the size of the vectors from.
const PROBE: &str = "The bridge reopened on Monday.";
/// Characters of one text for an OpenAI-compatible server, which does not cut by itself: 8,192 tokens at the service that
/// gave the protocol its name, 512 at many that speak it.
const OPENAI_CHARS: usize = 8_000;

#[derive(Debug, Clone)]
enum Protocol {
    Tei,
    OpenAi { model: String },
}

/// An embedding model on a server. Vectors are made unit length here, whatever the server does.
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

    /// Where it runs, for people.
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
            // Servers refuse empty texts, or make something of them; both are nothing.
            let spoken: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
            let asked = self.ask(&spoken).await.map_err(|error| super::failure(&self.name, &error))?;
            let mut vectors = asked.into_iter();
            let nothing = || vec![0.0; self.dimension];
            let place = |text: &&str| if text.trim().is_empty() { Some(nothing()) } else { vectors.next() };
            Ok(texts.iter().filter_map(place).collect())
        })
    }
}

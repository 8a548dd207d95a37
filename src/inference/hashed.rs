//! Implements [`Embedder`] for hashed words.
//!
//! The algorithm is in [`crate::language::hashed`]; no model is needed.

use futures::future::BoxFuture;

use crate::judging::profile::EmbeddingSpace;
pub use crate::language::hashed::{DEFAULT_DIMENSION, HashedEmbedder};

use super::{Embedder, InferenceError, counted};

impl Embedder for HashedEmbedder {
    fn name(&self) -> &'static str {
        "hashed-ngrams"
    }

    fn dimension(&self) -> usize {
        Self::dimension(self)
    }

    fn space(&self, _text: &str) -> EmbeddingSpace {
        EmbeddingSpace::Words
    }

    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, InferenceError>> {
        Box::pin(async move {
            Ok(counted("embedder", texts.len(), || texts.iter().map(|text| self.embed_one(text)).collect()))
        })
    }
}

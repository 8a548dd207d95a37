//! A text as a vector.

use crate::judging::profile::EmbeddingSpace;

/// A vector, and what it may be compared with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Embedding {
    pub(crate) vector: Vec<f32>,
    pub(crate) space: EmbeddingSpace,
}

//! A text's vector.

use crate::judging::profile::EmbeddingSpace;

#[derive(Debug, Clone, Default)]
pub(crate) struct Embedding {
    pub(crate) vector: Vec<f32>,
    pub(crate) space: EmbeddingSpace,
}

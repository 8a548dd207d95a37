//! Models in the process: any ONNX encoder with `tokenizer.json` and `model.toml`.
//!
//! Steps: look up cached answers (`answers`), make tokens on a blocking thread (`tokens`). The model's thread takes
//! batches from a queue (`engine`). The runtime (`backend`) runs them, and `embedder`, `stance` and `reranker`
//! read the output.
//!
//! Each row runs alone, several on different cores. Padding would cost time on a CPU with packed weights. It would also
//! change quantised answers, whose scales cover the whole input. So an answer does not depend on other rows.
//!
//! Nothing is downloaded. [`load`] tries files, checksums, names, shapes, the vocabulary and the longest input.

mod answers;
#[cfg(test)]
mod architectures;
mod backend;
mod embedder;
mod engine;
mod load;
mod reranker;
mod stance;
mod static_vectors;
#[cfg(test)]
mod tests;
mod tokens;

pub use embedder::LocalEmbedder;
pub use reranker::LocalReranker;
pub use stance::LocalStance;

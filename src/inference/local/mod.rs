//! Models inside the process: any ONNX encoder with its `tokenizer.json` and a `model.toml`.
//!
//! A text goes this way: looked up among the answers already given (`answers`), tokenised on a blocking thread
//! (`tokens`), queued for the model's own thread, picked into a batch with what other callers wait for (`batch`,
//! `engine`), run by a runtime (`backend`), read (`embedder`, `stance`, `reranker`).
//!
//! Every row of a batch is run by itself, rows beside each other on the cores. Padding rows to one length buys nothing
//! on a CPU once weights are packed, costs the padding, and changes the answers of quantised models, whose scales are
//! taken over the whole input: here a text's answer does not depend on its neighbours.
//!
//! Nothing here downloads, and nothing is found out late: [`load`] checks files, checksums, names, shapes, the
//! vocabulary and the longest input by running them. To add a runtime: a file in `backend` that implements `Backend`.

mod answers;
#[cfg(test)]
mod architectures;
mod backend;
mod batch;
mod embedder;
mod engine;
mod load;
mod reranker;
mod stance;
#[cfg(test)]
mod tests;
mod tokens;

pub use embedder::LocalEmbedder;
pub use reranker::LocalReranker;
pub use stance::LocalStance;

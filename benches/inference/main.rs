//! Measures models of the process: texts or pairs a second, time to load, memory.
//!
//! `cargo bench --bench inference -- FOLDER TEXTS [--repeat N] [--python PYTHON [--original FOLDER]] [--json]`. FOLDER holds
//! a `model.toml`; TEXTS has one text a line, or a claim and a passage with a tab between. With `--python` the same run
//! measures ONNX Runtime on the same file and texts, and sentence-transformers on the weights it was made from. Answers are
//! not taken from the cache: every repetition writes a number of its own behind the text.
#![expect(clippy::print_stdout, reason = "figures are this program's output")]

#[cfg(feature = "models")]
mod measure;

#[cfg(feature = "models")]
fn main() -> anyhow::Result<()> {
    measure::run()
}

#[cfg(not(feature = "models"))]
fn main() {
    println!("nothing to measure: this build has no models (feature `models`)");
}

//! Measures models of the process: texts or pairs a second, time to load, memory.
//!
//! `cargo bench --bench inference -- FOLDER TEXTS [--repeat N] [--json]`. FOLDER holds a `model.toml`; TEXTS has one text a
//! line, or a claim and a passage with a tab between. `training/bench.py` takes the same two and measures ONNX Runtime and
//! sentence-transformers. Answers are not taken from the cache: every repetition writes a number of its own behind the
//! text.
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

//! Measures the judges on people's labels: the agreement rule, a stance model, and the model with its
//! limits and the comparison of figures as the daemon uses it; and what finds the passage that matters.
//!
//! By hand, on the optimised build the daemon is: `cargo bench --bench stance -- judge --model models/NAME
//! --embedder models/NAME`, `… relevance --embedder models/NAME`. The labelled sets are read from `--data`
//! (`../shared/data`); those that are not there are named and left out. Nothing here is trained on a set it is measured
//! with.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "figures and progress are this program's output")]

mod figures;
mod judge;
mod relevance;
mod sets;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures stance and relevance on labelled pairs.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
    /// Folder of the labelled sets.
    #[arg(long, global = true, default_value = "../shared/data")]
    data: PathBuf,
    /// Rows of each set at most, evenly taken; 0 is all of them.
    #[arg(long, global = true, default_value_t = 0)]
    most: usize,
    /// Ignored: cargo gives it to every benchmark.
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Entails, leaves open or contradicts: per set macro-F1, F1 of each class, accuracy with and without figures in the
    /// claim, calibration, confusion. `rules` is the agreement rule, `model` the model alone; `both` also compares figures,
    /// as the daemon does.
    Judge {
        /// A stance model's folder. Without one, the rules alone.
        #[arg(long)]
        model: Option<PathBuf>,
        /// The embedder's folder beside it, whose cosines it was calibrated with. Without one, hashed words.
        #[arg(long)]
        embedder: Option<PathBuf>,
        /// Sets to take, all of them without it; also files below the data folder, by their names (`….jsonl`).
        #[arg(long)]
        set: Vec<String>,
        /// One JSON line a row: set, source, id, label, whether the claim has a digit, the probabilities of each judge,
        /// whether a figure differs, shared words and names, and the cosine.
        #[arg(long)]
        predictions: Option<PathBuf>,
    },
    /// The passage that answers a claim among others of the same page, and the reviewed claim that a tweet repeats.
    Relevance {
        /// An embedder's folder. Without one, hashed words.
        #[arg(long)]
        embedder: Option<PathBuf>,
        /// A reranker's folder beside it.
        #[arg(long)]
        reranker: Option<PathBuf>,
        /// A stance model's folder beside it: what it does not call neutral is relevant.
        #[arg(long)]
        stance: Option<PathBuf>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (data, most) = (&arguments.data, arguments.most);
    let done = match &arguments.what {
        What::Judge { model, embedder, set, predictions } => {
            let models = judge::Models { stance: model.as_deref(), embedder: embedder.as_deref() };
            judge::run(data, most, models, set, predictions.as_deref()).await
        }
        What::Relevance { embedder, reranker, stance } => {
            let models = relevance::Models {
                embedder: embedder.as_deref(),
                reranker: reranker.as_deref(),
                stance: stance.as_deref(),
            };
            relevance::run(data, most, models).await
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

//! The measurement and its figures.

use std::fs;
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use corroborate::inference::local::{LocalEmbedder, LocalReranker, LocalStance};
use corroborate::inference::{Embedder, ModelFolder, Pair, Reranker, StanceModel, Task};
use corroborate::judging::profile::TextProfile;
use serde::{Deserialize, Serialize};

/// Texts or pairs of one request, as the pipeline asks: the passages of a few claims.
const REQUEST: usize = 40;

/// Measures a model of the process.
#[derive(Debug, Parser)]
struct Arguments {
    /// A folder with a model.toml.
    folder: PathBuf,
    /// One text a line, or a claim and a passage with a tab between.
    texts: PathBuf,
    /// How often the texts are worked through; the best counts.
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// A Python with the packages of training/requirements.txt: measures ONNX Runtime on the same file and texts.
    #[arg(long)]
    python: Option<PathBuf>,
    /// The f32 weights the folder was made from, to measure sentence-transformers too.
    #[arg(long, requires = "python")]
    original: Option<PathBuf>,
    /// Machine-readable figures.
    #[arg(long)]
    json: bool,
    /// Cargo's own.
    #[arg(long, hide = true)]
    bench: bool,
}

/// One of the three kinds.
enum Model {
    Embedder(LocalEmbedder),
    Stance(Box<LocalStance>),
    Reranker(LocalReranker),
}

impl Model {
    fn load(folder: &ModelFolder) -> anyhow::Result<Self> {
        Ok(match folder.manifest.task {
            Task::Embedding => Self::Embedder(LocalEmbedder::load(folder)?),
            Task::Stance => Self::Stance(Box::new(LocalStance::load(folder)?)),
            Task::Relevance => Self::Reranker(LocalReranker::load(folder)?),
        })
    }

    /// Works through the lines; the time is the model's, without the analysis of the texts.
    async fn work(&self, lines: &[String]) -> anyhow::Result<Duration> {
        let mut spent = Duration::ZERO;
        for some in lines.chunks(REQUEST) {
            if let Self::Embedder(embedder) = self {
                let texts: Vec<&str> = some.iter().map(String::as_str).collect();
                let started = Instant::now();
                embedder.embed(&texts).await?;
                spent += started.elapsed();
                continue;
            }
            let pairs = some.iter().map(|line| pair(line)).collect::<anyhow::Result<Vec<_>>>()?;
            let started = Instant::now();
            match self {
                Self::Embedder(_) => {}
                Self::Stance(stance) => drop(stance.judge(&pairs).await?),
                Self::Reranker(reranker) => drop(reranker.relevance(&pairs).await?),
            }
            spent += started.elapsed();
        }
        Ok(spent)
    }
}

fn pair(line: &str) -> anyhow::Result<Pair> {
    let (claim, passage) = line.split_once('\t').context("this model wants pairs: a claim, a tab, a passage")?;
    let profile = |text: &str| Arc::new(TextProfile { text: text.to_owned(), ..TextProfile::default() });
    Ok(Pair { claim: profile(claim), passage: profile(passage) })
}

/// Resident memory of this process in MiB, where the system tells.
fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? / 1024.0)
}

/// Best time over the lines; every repetition writes a number of its own behind each, so that no cache answers.
async fn best(model: &Model, lines: &[&str], times: Range<usize>) -> anyhow::Result<Duration> {
    let mut best = Duration::MAX;
    for time in times {
        let fresh: Vec<String> = lines.iter().map(|line| format!("{line} {time}")).collect();
        best = best.min(model.work(&fresh).await?);
    }
    Ok(best)
}

/// What another runtime makes of the same texts, a row of `training/bench.py`.
#[derive(Debug, Deserialize, Serialize)]
struct Beside {
    runtime: String,
    weights: String,
    threads: usize,
    per_second: f64,
}

/// The others, measured by `training/bench.py` with as many threads as this process may use.
fn beside(arguments: &Arguments, python: &Path) -> anyhow::Result<Vec<Beside>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let rows = std::env::temp_dir().join(format!("corroborate-bench-{}.json", std::process::id()));
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/training/bench.py"));
    command.arg(&arguments.folder).arg(&arguments.texts).arg("--json").arg(&rows);
    // As often as ours, which is measured twice.
    command.args(["--repeat", &(2 * arguments.repeat.max(1)).to_string(), "--threads", &threads.to_string()]);
    if let Some(original) = &arguments.original {
        command.arg("--original").arg(original);
    }
    let ended = command.stdout(Stdio::null()).status().with_context(|| format!("cannot run {}", python.display()))?;
    if !ended.success() {
        bail!("training/bench.py ended with {ended}: has {} what training/requirements.txt names?", python.display());
    }
    let text = fs::read_to_string(&rows).with_context(|| format!("training/bench.py left no {}", rows.display()))?;
    fs::remove_file(&rows)?;
    serde_json::from_str(&text).context("training/bench.py wrote other rows than this bench reads")
}

#[tokio::main]
pub(super) async fn run() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let text = fs::read_to_string(&arguments.texts)
        .with_context(|| format!("cannot read the texts in {}", arguments.texts.display()))?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        bail!("{} has no texts", arguments.texts.display());
    }
    let started = Instant::now();
    let folder = ModelFolder::read(&arguments.folder)?;
    let model = Model::load(&folder)?;
    let loaded = started.elapsed();
    let repeat = arguments.repeat.max(1);
    let before = best(&model, &lines, 0..repeat).await?;
    let resident = resident();
    let others = arguments.python.as_deref().map(|python| beside(&arguments, python)).transpose()?.unwrap_or_default();
    // Machines are noisy: with others in between, ours is measured on both sides of them.
    let after = if others.is_empty() { before } else { best(&model, &lines, repeat..2 * repeat).await? };
    let each = before.min(after).as_secs_f64() / lines.len() as f64;
    let unit = if folder.manifest.task == Task::Embedding { "texts" } else { "pairs" };
    let name = &folder.manifest.name;
    if arguments.json {
        let figures = serde_json::json!({
            "model": name, "runtime": "rten", "unit": unit, "count": lines.len(), "per_second": 1.0 / each,
            "ms_each": each * 1e3, "load_ms": loaded.as_secs_f64() * 1e3, "resident_mib": resident, "beside": others,
        });
        println!("{figures}");
        return Ok(());
    }
    println!(
        "{name}, rten: {:.0} {unit} a second ({:.2} ms each, {} of them), loaded in {:.0} ms, {:.0} MiB resident",
        1.0 / each,
        each * 1e3,
        lines.len(),
        loaded.as_secs_f64() * 1e3,
        resident.unwrap_or(f64::NAN)
    );
    for Beside { runtime, weights, threads, per_second } in others {
        println!("beside it {runtime} (Python; weights {weights}, {threads} threads): {per_second:.0} {unit} a second");
    }
    Ok(())
}

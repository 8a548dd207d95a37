//! Models of the process: texts or pairs a second, time to load, memory. With `--python` the same run measures ONNX Runtime on
//! the same file and texts. Responses never come from the cache: every repetition appends a number of its own to the text.

use std::fs;
use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corroborate::inference::local::{LocalEmbedder, LocalReranker, LocalStance};
use corroborate::inference::{Embedder, ModelFolder, Pair, Reranker, StanceModel, Task};
use corroborate::judging::profile::TextProfile;
use serde::Deserialize;

use crate::Arguments;
use crate::report::{Report, Target};

/// Texts or pairs of one request, as the pipeline asks: the passages of a few claims.
const REQUEST: usize = 40;

/// How often the texts are processed; the best time counts.
const REPETITIONS: usize = 5;

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

/// Resident memory of this process in MiB; none without `/proc`.
fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? / 1024.0)
}

/// The best time over the lines; every repetition appends a number of its own, so that no cache responds.
async fn best(model: &Model, lines: &[&str], times: Range<usize>) -> anyhow::Result<Duration> {
    let mut best = Duration::MAX;
    for time in times {
        let fresh: Vec<String> = lines.iter().map(|line| format!("{line} {time}")).collect();
        best = best.min(model.work(&fresh).await?);
    }
    Ok(best)
}

/// A row of `training/bench.py`: another runtime on the same texts.
#[derive(Debug, Deserialize)]
struct OtherRuntime {
    runtime: String,
    weights: String,
    threads: usize,
    per_second: f64,
}

/// Measures the other runtimes with `training/bench.py`, with as many threads as this process may use.
fn other_runtimes(folder: &Path, texts: &Path, python: &Path) -> anyhow::Result<Vec<OtherRuntime>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let rows = std::env::temp_dir().join(format!("corroborate-bench-{}.json", std::process::id()));
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/training/bench.py"));
    command.arg(folder).arg(texts).arg("--json").arg(&rows);
    // As often as ours, which is measured twice.
    command.args(["--repeat", &(2 * REPETITIONS).to_string(), "--threads", &threads.to_string()]);
    let status = command.stdout(Stdio::null()).status().with_context(|| format!("cannot run {}", python.display()))?;
    if !status.success() {
        bail!("training/bench.py ended with {status}: has {} what training/requirements.txt names?", python.display());
    }
    let text = fs::read_to_string(&rows).with_context(|| format!("training/bench.py left no {}", rows.display()))?;
    fs::remove_file(&rows)?;
    serde_json::from_str(&text).context("training/bench.py wrote other rows than this bench reads")
}

pub(crate) async fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let folder = arguments.model.as_deref().context("inference needs --model FOLDER")?;
    let texts = arguments.texts.as_deref().context("inference needs --texts FILE")?;
    let text = fs::read_to_string(texts).with_context(|| format!("cannot read the texts in {}", texts.display()))?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        bail!("{} has no texts", texts.display());
    }
    let started = Instant::now();
    let model_folder = ModelFolder::read(folder)?;
    let model = Model::load(&model_folder)?;
    let loaded = started.elapsed().as_secs_f64() * 1e3;
    let before = best(&model, &lines, 0..REPETITIONS).await?;
    let memory = resident().unwrap_or(f64::NAN);
    let python = arguments.python.as_deref();
    let others = python.map(|python| other_runtimes(folder, texts, python)).transpose()?.unwrap_or_default();
    // Machines are noisy: ours is measured before and after the others.
    let after = if others.is_empty() { before } else { best(&model, &lines, REPETITIONS..2 * REPETITIONS).await? };
    let each = before.min(after).as_secs_f64() / lines.len() as f64;
    let unit = if model_folder.manifest.task == Task::Embedding { "texts/s" } else { "pairs/s" };
    let name = format!("{}, rten", model_folder.manifest.name);
    let remarks =
        format!("{:.2} ms each of {}, loaded in {loaded:.0} ms, {memory:.0} MiB resident", each * 1e3, lines.len());
    report.measure(&name, 1.0 / each, unit, Target::None, remarks);
    for OtherRuntime { runtime, weights, threads, per_second } in others {
        let remarks = format!("weights {weights}, {threads} threads");
        report.measure(&format!("{runtime} (Python)"), per_second, unit, Target::None, remarks);
    }
    Ok(())
}

//! The measurement and its figures.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use corroborate::inference::local::{LocalEmbedder, LocalReranker, LocalStance};
use corroborate::inference::{Embedder, ModelFolder, Pair, Reranker, StanceModel, Task};
use corroborate::judging::profile::TextProfile;

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
    let mut best = Duration::MAX;
    for time in 0..arguments.repeat.max(1) {
        let fresh: Vec<String> = lines.iter().map(|line| format!("{line} {time}")).collect();
        best = best.min(model.work(&fresh).await?);
    }
    let each = best.as_secs_f64() / lines.len() as f64;
    let unit = if folder.manifest.task == Task::Embedding { "texts" } else { "pairs" };
    let name = &folder.manifest.name;
    if arguments.json {
        let figures = serde_json::json!({
            "model": name, "runtime": if cfg!(feature = "ort") { "ort" } else { "rten" }, "unit": unit,
            "count": lines.len(), "per_second": 1.0 / each, "ms_each": each * 1e3,
            "load_ms": loaded.as_secs_f64() * 1e3, "resident_mib": resident(),
        });
        println!("{figures}");
    } else {
        println!(
            "{name}: {:.0} {unit} a second ({:.2} ms each, {} of them), loaded in {:.0} ms, {:.0} MiB resident",
            1.0 / each,
            each * 1e3,
            lines.len(),
            loaded.as_secs_f64() * 1e3,
            resident().unwrap_or(f64::NAN)
        );
    }
    Ok(())
}

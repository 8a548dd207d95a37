//! Measures the daemon, and tests its guarantees under faults.
//!
//! `tests/bench MODE…` starts private servers and runs this. The daemon is the real release binary with real configuration;
//! only the providers and the web are simulated, on this machine. Simulator and measurement share the cores with the daemon:
//! the figures are on the safe side. The exit status is 1 if a target is missed or a guarantee is violated.
//!
//! To add a mode: a function that fills a [`Report`], and a variant of [`Mode`].
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "figures and progress are this program's output")]

mod bed;
mod faults;
mod flood;
mod growth;
#[cfg(feature = "models")]
mod inference;
mod process;
#[path = "../tests/it/support/proxy.rs"]
mod proxy;
mod report;
#[path = "../tests/it/support/simulator/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the simulator can do more than a measurement needs")]
mod simulator;
mod throughput;
mod upstream;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};

use report::Report;

/// What is measured or tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Time from start to ready on an existing store.
    Start,
    /// Time of one item alone.
    Latency,
    /// Items a second if two of an item's three pages are already stored.
    Shared,
    /// Items a second if every page is new.
    New,
    /// Items a second with the embedded store and its table queue.
    Embedded,
    /// Items a second with 1, 2, 4 and 8 processes and slow providers; how far a shared rate is used.
    Workers,
    /// Ten times the capacity for --minutes: memory, important items meanwhile, recovery.
    Flood,
    /// One item's time, items a second, web pages, disk and clean-up over a store of --sentences, compared with an empty one.
    Growth,
    /// Servers restarted, killed, full, stalled and with wrong clocks, and processes killed: is any item lost?
    Chaos,
    /// Half of the capacity for --minutes: do memory, connections and open files stay constant?
    Soak,
    /// The previous version and this one on one store and one queue: forward, back and forward again under load.
    Upgrade,
    /// Three broker nodes; the leader of the queue is killed under load.
    Quorum,
    /// Texts or pairs a second of --model on --texts.
    Inference,
}

/// Measures the daemon, and tests its guarantees under faults.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// What to measure or test; the modes that are not in the default take long, or need more arguments.
    #[arg(default_values = ["start", "latency", "shared", "new", "embedded"])]
    modes: Vec<Mode>,
    /// A broker for this run alone: queues are declared, filled and emptied.
    #[arg(long)]
    amqp: Option<String>,
    /// A Postgres with pgvector and the right to create databases; the named database is left alone.
    #[arg(long)]
    database: Option<String>,
    /// Items: 2,000 for throughput, 50,000 for chaos, 6,000 for upgrade, 5,000 for quorum if not given.
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..))]
    items: Option<u64>,
    /// Sentences of `growth`: 1,000,000 if not given. Items are a fifth of them, and --items at most.
    #[arg(long)]
    sentences: Option<u64>,
    /// Duration: 5 for flood, 10 for chaos, 60 for soak, 6 for upgrade, 3 for quorum if not given.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=720))]
    minutes: Option<u64>,
    /// Processes of the daemon in chaos, soak, upgrade and quorum.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=8))]
    processes: u8,
    /// More environment for the daemons, NAME=VALUE; may be given several times.
    #[arg(long)]
    env: Vec<String>,
    /// The folder for the servers and data of chaos, soak, upgrade and quorum. Every user must be able to enter it.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Chaos: for the order and the length of the faults.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Chaos: a fault to leave out; may be given several times.
    #[arg(long, value_name = "FAULT")]
    without: Vec<faults::chaos::Fault>,
    /// Upgrade: the program of the previous version.
    #[arg(long)]
    old_binary: Option<PathBuf>,
    /// Inference: a folder with a model.toml.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Inference: a file with one text a line, or a claim and a passage with a tab between.
    #[arg(long)]
    texts: Option<PathBuf>,
    /// Inference: a Python with the packages of training/requirements.txt, to measure ONNX Runtime on the same file and texts.
    #[arg(long)]
    python: Option<PathBuf>,
    /// One JSON document instead of the table.
    #[arg(long)]
    json: bool,
    /// Ignored: cargo gives it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    fn amqp(&self) -> anyhow::Result<&str> {
        self.amqp.as_deref().context("this mode needs --amqp")
    }

    fn database(&self) -> anyhow::Result<&str> {
        self.database.as_deref().context("this mode needs --database")
    }

    fn folder(&self) -> anyhow::Result<&Path> {
        self.folder.as_deref().context("this mode needs --folder")
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut report = Report::new();
    for mode in &arguments.modes {
        if let Err(error) = run(*mode, &arguments, &mut report).await {
            report.fail(format!("{mode:?} stopped: {error:#}"));
            break;
        }
    }
    println!("{}", if arguments.json { report.json() } else { report.text() });
    if report.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(mode: Mode, arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    if let Some(url) = &arguments.amqp {
        upstream::require_empty_queue(url).await?;
    }
    match mode {
        Mode::Start => throughput::start(arguments, report).await,
        Mode::Latency => throughput::latency(arguments, report).await,
        Mode::Shared | Mode::New => throughput::throughput(arguments, report, mode).await,
        Mode::Embedded => throughput::embedded(arguments, report).await,
        Mode::Workers => throughput::workers(arguments, report).await,
        Mode::Flood => flood::run(arguments, report).await,
        Mode::Growth => growth::run(arguments, report).await,
        Mode::Chaos => faults::chaos::run(arguments, report).await,
        Mode::Soak => faults::soak::run(arguments, report).await,
        Mode::Upgrade => faults::upgrade::run(arguments, report).await,
        Mode::Quorum => faults::quorum::run(arguments, report).await,
        #[cfg(feature = "models")]
        Mode::Inference => inference::run(arguments, report).await,
        #[cfg(not(feature = "models"))]
        Mode::Inference => anyhow::bail!("this build has no models (feature `models`)"),
    }
}

//! Nights: long runs in which things go wrong, each bounded in time. A night prints one line that says whether what the
//! daemon promises held, and with which figures; progress goes to standard error.
//!
//! `tests/nights` builds, makes the folder and runs this; it also stops what is left when a night ends early. The daemons
//! are real processes of the real program, the servers are private ones that a night may stop, kill and fill up; only
//! the providers and the web are simulated.
//!
//! To add a night: a file with `run`, which fills a [`Line`], and its variant of [`Night`].
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the line and the progress are this program's output")]

mod account;
mod chaos;
mod daemon;
mod disk;
mod faults;
mod fleet;
mod heard;
mod line;
#[path = "../../tests/it/support/proxy.rs"]
mod proxy;
mod quorum;
mod servers;
#[path = "../../tests/it/support/simulator/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the simulator can do more than a night needs: records, reviews, a model")]
mod simulator;
mod slope;
mod soak;
mod stage;
mod traffic;
mod upgrade;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use line::Line;

/// Options that every night takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Items that are published: 50,000 for chaos, 6,000 for upgrade and 5,000 for quorum when not given; soak goes by time.
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..))]
    items: Option<u64>,
    /// How long things go wrong, or how long a soak lasts: 10 for chaos, 60 for soak, 6 for upgrade, 3 for quorum.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=720))]
    minutes: Option<u64>,
    /// For the order and the length of what goes wrong.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Processes of the daemon.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=8))]
    processes: u8,
    /// The program to run instead of the one that was built beside this.
    #[arg(long)]
    program: Option<PathBuf>,
    /// More environment for the daemons, NAME=VALUE; may be given several times.
    #[arg(long)]
    env: Vec<String>,
    /// The folder for servers and data. It must be enterable for everybody: Postgres does not run as root.
    #[arg(long)]
    folder: PathBuf,
    /// The line as a JSON document.
    #[arg(long)]
    json: bool,
}

impl Options {
    fn program(&self) -> PathBuf {
        self.program.clone().unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_corroborate")))
    }
}

/// What is tried.
#[derive(Debug, Subcommand)]
enum Night {
    /// Servers restarted, killed, full, stalled and with wrong clocks, and processes killed: is any item lost?
    Chaos(chaos::ChaosOptions),
    /// Half of what can be done, for long: do memory, connections and open files stay where they are?
    Soak(Options),
    /// The version before and this one on one store and one queue, rolled forward, back and forward again under load.
    Upgrade(upgrade::UpgradeOptions),
    /// Three broker nodes, one of them killed under load.
    Quorum(Options),
}

#[derive(Debug, Parser)]
#[command(about = "Long runs in which things go wrong; each prints one line and fails when a promise did not hold.")]
struct Arguments {
    #[command(subcommand)]
    night: Night,
    /// `cargo bench` says so to every bench.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let (name, json) = match &arguments.night {
        Night::Chaos(options) => ("chaos", options.common.json),
        Night::Soak(options) => ("soak", options.json),
        Night::Upgrade(options) => ("upgrade", options.common.json),
        Night::Quorum(options) => ("quorum", options.json),
    };
    let mut line = Line::of(name);
    let outcome = match &arguments.night {
        Night::Chaos(options) => chaos::run(options, &mut line).await,
        Night::Soak(options) => soak::run(options, &mut line).await,
        Night::Upgrade(options) => upgrade::run(options, &mut line).await,
        Night::Quorum(options) => quorum::run(options, &mut line).await,
    };
    if let Err(error) = outcome {
        line.fails(format!("{error:#}"));
    }
    println!("{}", if json { line.json() } else { line.text() });
    if line.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

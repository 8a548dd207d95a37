//! Measures the daemon end to end, and beside each figure what the broker and the database alone reach with the same
//! messages and rows in the same run, so that the distance to the limit is known.
//!
//! `tests/bench` starts private servers and runs this; by hand:
//! `cargo bench --bench throughput -- --amqp URL --database URL [--mode MODE]… [--items N] [--json]`.
//!
//! The daemon is the real release binary with real configuration; only the providers and the web are simulated, on
//! this machine, without any delay. Simulator and measurement share the cores with it: the figures are on the safe side.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "figures and progress are this program's output")]

mod broker;
mod daemon;
mod database;
mod figures;
mod fill;
mod fleet;
mod flood;
mod growth;
mod limits;
mod modes;
mod pages;
#[path = "../../tests/it/support/simulator/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the simulator can do more than a measurement needs: faults, records, reviews"
)]
mod simulator;
mod streams;
mod workers;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use figures::Figures;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Items a second where two of an item's three pages are already stored.
    Shared,
    /// Items a second where every page is new.
    New,
    /// One item alone, again and again.
    Latency,
    /// Resident memory with a long queue.
    Memory,
    /// Items a second with the embedded store and its table queue.
    Embedded,
    /// From start to ready on an existing store.
    Start,
    /// Several processes, `--items` for each, with providers failing in turn: limits, losses, causes, calls saved.
    Fleet,
    /// Milliseconds of each page of the web surface over a store of `--items`.
    Pages,
    /// Items a second while 50 clients hold event streams open, beside none; `--items` for each run.
    Streams,
    /// Items a second with 1, 2, 4 and 8 processes while everybody outside is slow; how far a shared rate is used.
    Workers,
    /// Ten times what can be done, for `--flood-seconds`: memory, important items meanwhile, recovery.
    Flood,
    /// One item's time, items a second, disk and clean-up over stores of `--sentences`, beside an empty one.
    Growth,
    /// Only the raw limits, with the rows the database at --database holds.
    Limits,
    /// Everything but `limits`, which the others include, and `fleet`, `workers`, `flood`, `growth`, `pages` and `streams`, which
    /// take long.
    All,
}

/// Measures the daemon against a local simulator, and the broker and the database alone beside it.
#[derive(Debug, Parser)]
struct Arguments {
    /// A broker for this alone: queues are made, filled and emptied.
    #[arg(long)]
    amqp: String,
    /// A Postgres with pgvector where databases may be created; the database named here is left alone.
    #[arg(long)]
    database: String,
    /// What to measure; may be given several times.
    #[arg(long, default_value = "all")]
    mode: Vec<Mode>,
    /// Items of a measurement: 2000 for throughput, 100,000 for pages, 250 for streams when not given.
    #[arg(long)]
    items: Option<u64>,
    /// Stored sentences of `growth`; may be given several times, the smallest first: 1,000,000 when not given. Items are a fifth of
    /// them, and --items at most.
    #[arg(long)]
    sentences: Vec<u64>,
    /// Leaves the database that `growth` has filled, and says its name; on servers of your own, since `tests/bench` throws its away.
    #[arg(long)]
    keep: bool,
    /// `growth`: the name of a database that an earlier run has filled and kept, to be measured instead of filling one. Clean-up takes
    /// a part of it away each time.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["sentences", "keep"])]
    filled: Option<String>,
    /// Days that the items of `pages` are spread over; the overview shows the last one.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// Items of one event, which share two of their three pages.
    #[arg(long, default_value_t = 50)]
    items_per_event: u64,
    /// `WORKER_CONCURRENCY` of the daemon; its own default when not given.
    #[arg(long)]
    concurrency: Option<u16>,
    /// Queued items of the memory measurement.
    #[arg(long, default_value_t = 10_000)]
    queued: u64,
    /// How long the memory measurement lets the daemon drain the queue.
    #[arg(long, default_value_t = 20)]
    memory_seconds: u64,
    /// Loopback addresses the pages are spread over.
    #[arg(long, default_value_t = 16)]
    hosts: u8,
    /// Processes of the fleet.
    #[arg(long, default_value_t = 4)]
    processes: u64,
    /// How long the flood lasts.
    #[arg(long, default_value_t = 300)]
    flood_seconds: u64,
    /// More environment for the daemon, NAME=VALUE; may be given several times.
    #[arg(long)]
    env: Vec<String>,
    /// One JSON document instead of the table.
    #[arg(long)]
    json: bool,
    /// `cargo bench` says so to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    fn wants(&self, mode: Mode) -> bool {
        let is_apart = matches!(
            mode,
            Mode::Limits | Mode::Fleet | Mode::Workers | Mode::Flood | Mode::Growth | Mode::Pages | Mode::Streams
        );
        self.mode.contains(&mode) || (self.mode.contains(&Mode::All) && !is_apart)
    }

    fn items(&self) -> u64 {
        self.items.unwrap_or(2000)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut figures = Figures::default();
    let outcome = measure(&arguments, &mut figures).await;
    if arguments.json {
        println!("{}", figures.json());
    } else {
        println!("{}", figures.table());
    }
    match outcome {
        Ok(()) if figures.all_met() => ExitCode::SUCCESS,
        Ok(()) => {
            eprintln!("not every target was met");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("stopped: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    broker::refuse_foreign_work(&arguments.amqp).await?;
    if arguments.wants(Mode::Start) {
        modes::start(arguments, figures).await?;
    }
    if arguments.wants(Mode::Fleet) {
        fleet::run(arguments, figures).await?;
    }
    if arguments.wants(Mode::Workers) {
        workers::run(arguments, figures).await?;
    }
    if arguments.wants(Mode::Flood) {
        flood::run(arguments, figures).await?;
    }
    if arguments.wants(Mode::Growth) {
        growth::run(arguments, figures).await?;
    }
    if arguments.wants(Mode::Pages) {
        pages::run(arguments, figures).await?;
    }
    if arguments.wants(Mode::Streams) {
        streams::run(arguments, figures).await?;
    }
    if arguments.wants(Mode::Latency) {
        modes::latency(arguments, figures).await?;
    }
    if arguments.wants(Mode::Shared) {
        modes::throughput(arguments, figures, Mode::Shared).await?;
    }
    if arguments.wants(Mode::New) {
        modes::throughput(arguments, figures, Mode::New).await?;
    }
    if arguments.wants(Mode::Memory) {
        modes::memory(arguments, figures).await?;
    }
    if arguments.wants(Mode::Embedded) {
        modes::embedded(arguments, figures).await?;
    }
    if arguments.wants(Mode::Limits) {
        modes::limits_only(arguments, figures).await?;
    }
    Ok(())
}

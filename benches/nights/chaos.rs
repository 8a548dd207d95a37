//! Everything goes wrong that can go wrong around the daemon, while it works: is any item lost, is anything published twice
//! under two names, does an old result stand where a newer one was?

use std::time::Duration;

use clap::Args;

use crate::Options;
use crate::faults::{self, Fault};
use crate::line::Line;
use crate::stage::{Stage, Wanted};
use crate::traffic;

const ITEMS: u64 = 50_000;
const MINUTES: u64 = 10;

/// Options of this night, beside those that every night takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct ChaosOptions {
    #[command(flatten)]
    pub(crate) common: Options,
    /// Something that is not to go wrong; may be given several times. The line says so.
    #[arg(long, value_name = "FAULT")]
    without: Vec<Fault>,
}

pub(crate) async fn run(options: &ChaosOptions, line: &mut Line) -> anyhow::Result<()> {
    let (without, options) = (&options.without, &options.common);
    let items = options.items.unwrap_or(ITEMS);
    let span = Duration::from_mins(options.minutes.unwrap_or(MINUTES));
    for fault in without {
        line.skips(format!("{}, as asked for", fault.words()));
    }
    let wanted = Wanted { nodes: 1, disk_for: Some(items), clocks: true };
    let mut stage = Stage::set(options, wanted, line).await?;
    stage.prepare().await?;
    stage.fleet.start().await?;
    let messages = traffic::messages(0, items);
    let seed = options.seed;
    eprintln!("chaos: {} messages of {items} items over {} s", messages.len(), span.as_secs());
    line.figure("processes", stage.fleet.len());
    line.figure("seed", seed);
    if let Some(disk) = &stage.disk {
        line.figure("the database's disk:", disk.kind);
    }
    stage
        .play(&messages, &[], span, line, async |stage, line| {
            let happened = faults::happen(stage, span, seed, without).await?;
            line.figure("faults:", happened);
            Ok(())
        })
        .await
}

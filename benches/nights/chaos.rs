//! Everything goes wrong that can go wrong around the daemon, while it works: is any item lost, is anything told twice
//! under two names, does an old result stand where a newer one was?

use std::time::Duration;

use crate::Options;
use crate::faults;
use crate::line::Line;
use crate::stage::{Stage, Wanted};
use crate::traffic;

const ITEMS: u64 = 50_000;
const MINUTES: u64 = 10;

pub(crate) async fn run(options: &Options, line: &mut Line) -> anyhow::Result<()> {
    let items = options.items.unwrap_or(ITEMS);
    let span = Duration::from_mins(options.minutes.unwrap_or(MINUTES));
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
            let happened = faults::happen(stage, span, seed).await?;
            line.figure("faults:", happened);
            Ok(())
        })
        .await
}

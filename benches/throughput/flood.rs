//! Ten times what the daemon can do, for a while: does its memory stay bounded, are important items answered meanwhile, and
//! does it recover by itself?

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::Arguments;
use crate::broker::{self, Upstream};
use crate::daemon::{Daemon, Setup};
use crate::database::Scratch;
use crate::figures::{Figure, Figures, Target, percentile};
use crate::modes::bodies;
use crate::simulator::{EventWorld, Simulator};

/// Items from which the capacity is learnt.
const LEARNT_FROM: u64 = 200;
const TIMES: f64 = 10.0;
/// Between two important items.
const PAUSE: Duration = Duration::from_secs(1);
/// Numbers of the important items begin here.
const IMPORTANT: u64 = 50_000_000;

/// What was seen while the flood lasted.
#[derive(Default)]
struct Seen {
    /// Of important items, from sending to the result.
    millis: Vec<f64>,
    complete: u64,
    /// Resident memory, MB.
    highest: f64,
}

pub(crate) async fn run(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    let database = Scratch::create(&arguments.database, "flood").await?;
    // So that a flood of a minute is one.
    let limits = ["ENRICHMENT_MAX_QUEUE_LENGTH=500", "ENRICHMENT_MAX_LAG=30s"].map(str::to_owned).to_vec();
    let setup = Setup {
        name: "flood",
        amqp: Some(arguments.amqp.clone()),
        database: Some(database.url()),
        data_directory: None,
        concurrency: arguments.concurrency,
        environment: [limits, arguments.env.clone()].concat(),
    };
    let daemon = Daemon::start(&setup, &simulator).await?;
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    upstream.run(&bodies(world, 0..50)).await.with_context(|| daemon.log_end())?;
    let usual = upstream.run(&bodies(world, 50..50 + LEARNT_FROM)).await.with_context(|| daemon.log_end())?.rate();
    let before = daemon.memory().0;
    let a_second = (usual * TIMES).ceil() as u64;
    eprintln!("flood: {a_second} items a second for {} s, where {usual:.1} can be done", arguments.flood_seconds);

    let is_over = AtomicBool::new(false);
    let flooding = async {
        let begin = Instant::now();
        for second in 0..arguments.flood_seconds {
            let first = 1_000 + second * a_second;
            upstream.publish(&bodies(world, first..first + a_second)).await?;
            tokio::time::sleep((Duration::from_secs(second + 1)).saturating_sub(begin.elapsed())).await;
        }
        is_over.store(true, Ordering::Relaxed);
        anyhow::Ok(())
    };
    let asking = ask_important(arguments, &daemon, world, &is_over);
    let ((), seen) = tokio::try_join!(flooding, asking).with_context(|| daemon.log_end())?;
    let Seen { mut millis, complete, highest } = seen;
    let begin = Instant::now();
    let patience = Duration::from_secs(arguments.flood_seconds.max(60) * 20);
    while broker::queue_length(&arguments.amqp).await?.unwrap_or(0) > 0 {
        ensure!(begin.elapsed() < patience, "not recovered after {patience:?}; {}", daemon.log_end());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let recovered = begin.elapsed();
    let finished = daemon.finished_items().await?;
    upstream.close().await?;
    daemon.stop().await?;
    broker::purge(&arguments.amqp).await?;
    database.drop().await?;
    millis.sort_by(f64::total_cmp);
    ensure!(!millis.is_empty(), "no important item was answered");
    let asked = millis.len();
    figures.push(
        Figure::new("important items during a flood, p99", percentile(&millis, 0.99), "ms", Target::Below(10_000.0))
            .remark(format!("{complete} of {asked} complete; p50 {:.0} ms", percentile(&millis, 0.5))),
    );
    figures.push(
        Figure::new("memory during a flood", highest, "MB", Target::Below(before * 1.5))
            .remark(format!("{before:.0} MB before; {finished} items done in all")),
    );
    figures.push(Figure::new("recovery after a flood", recovered.as_secs_f64(), "s", Target::None).remark(format!(
        "{a_second} items a second for {} s, {usual:.1} a second usual; the rest is looked up alone and says so",
        arguments.flood_seconds
    )));
    Ok(())
}

/// One important item after the other until the flood is over.
async fn ask_important(
    arguments: &Arguments,
    daemon: &Daemon,
    world: EventWorld,
    is_over: &AtomicBool,
) -> anyhow::Result<Seen> {
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    let mut seen = Seen::default();
    let mut number = IMPORTANT;
    while !is_over.load(Ordering::Relaxed) {
        let batch = upstream.run_as("important.new", &bodies(world, number..=number)).await?;
        number += 1;
        seen.millis.extend(batch.millis);
        seen.complete += batch.statuses.get("complete").copied().unwrap_or(0);
        seen.highest = seen.highest.max(daemon.memory().0);
        tokio::time::sleep(PAUSE).await;
    }
    upstream.close().await?;
    Ok(seen)
}

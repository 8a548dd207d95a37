//! One, two, four and eight processes on one broker and one store, while everybody outside answers as slowly as real ones do,
//! so that cores are not the limit: does each process add its share, and is a shared rate used up?

use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::Arguments;
use crate::broker::Upstream;
use crate::daemon::{Daemon, Setup};
use crate::database::Scratch;
use crate::figures::{Figure, Figures, Target};
use crate::modes::bodies;
use crate::simulator::{EventWorld, Fault, Simulator, Target as Desk};

const PROCESSES: [u64; 4] = [1, 2, 4, 8];
/// What an answer, and a page, takes.
const DELAY: Duration = Duration::from_millis(400);
/// Items in work in one process. Few, so that eight processes do not fill the cores.
const AT_ONCE: u16 = 4;
/// Items for each process of a run.
const ITEMS: u64 = 60;
/// The shared rate, calls a minute; what eight processes would do without it is far more.
const RATE: u32 = 300;
/// Long enough for a whole minute at the full rate.
const RATED_ITEMS: u64 = 220;

fn environment(rate: u32) -> Vec<String> {
    vec![
        "ENRICHMENT_PROVIDERS=opensearch".to_owned(),
        "ENRICHMENT_MAX_SOURCES=3".to_owned(),
        format!("ENRICHMENT_SEARXNG_RPM={rate}"),
        format!("WORKER_CONCURRENCY={AT_ONCE}"),
        // The models would fill the cores.
        "INFERENCE_STANCE=rules".to_owned(),
        "INFERENCE_EMBEDDER=hashed".to_owned(),
        "INFERENCE_RERANKER=lexical".to_owned(),
        // Whoever waits for the rate waits; nothing is left out.
        "CORROBORATE_PROVIDERS_MAX_WAIT=40s".to_owned(),
    ]
}

const NAMES: [&str; 8] =
    ["workers-1", "workers-2", "workers-3", "workers-4", "workers-5", "workers-6", "workers-7", "workers-8"];

/// What one run gave.
struct Run {
    /// Items a second.
    rate: f64,
    /// Searches in the busiest minute.
    busiest: usize,
}

async fn run_of(arguments: &Arguments, processes: u64, items: u64, rate: u32) -> anyhow::Result<Run> {
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    for desk in [Desk::Searxng, Desk::GoogleFactCheck, Desk::Page] {
        simulator.set_fault(desk, Fault::slow(DELAY));
    }
    let database = Scratch::create(&arguments.database, "workers").await?;
    let mut daemons = Vec::new();
    for name in NAMES.iter().take(usize::try_from(processes)?) {
        let setup = Setup {
            name,
            amqp: Some(arguments.amqp.clone()),
            database: Some(database.url()),
            data_directory: None,
            concurrency: None,
            environment: [environment(rate), arguments.env.clone()].concat(),
        };
        daemons.push(Daemon::start(&setup, &simulator).await?);
    }
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    // Connections, statements and the first leases.
    upstream.run(&bodies(world, 0..processes * 4)).await.with_context(|| daemons[0].log_end())?;
    let begin = processes * 4;
    let batch = upstream.run(&bodies(world, begin..begin + items)).await.with_context(|| daemons[0].log_end())?;
    let complete = batch.statuses.get("complete").copied().unwrap_or(0);
    ensure!(complete * 100 >= items * 98, "only {complete} of {items} items are complete ({})", batch.statuses());
    upstream.close().await?;
    for daemon in daemons {
        daemon.stop().await?;
    }
    database.drop().await?;
    Ok(Run { rate: batch.rate(), busiest: simulator.most_within(Desk::Searxng, Duration::from_mins(1)) })
}

pub(crate) async fn run(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    let mut one = 0.0;
    for processes in PROCESSES {
        eprintln!("workers: {processes} process(es), {} items", ITEMS * processes);
        let Run { rate, .. } = run_of(arguments, processes, ITEMS * processes, 1_000_000).await?;
        if processes == 1 {
            one = rate;
        }
        let times = rate / one;
        let target = if processes == 1 { Target::None } else { Target::AtLeast(0.8 * one * processes as f64) };
        figures.push(
            Figure::new("workers, every answer and page 0.4 s", rate, "items/s", target)
                .remark(format!("{processes} process(es), {AT_ONCE} items each at once; {times:.2} times one")),
        );
    }
    eprintln!("workers: 8 processes, {RATED_ITEMS} items at {RATE} searches a minute");
    let Run { busiest, rate } = run_of(arguments, 8, RATED_ITEMS, RATE).await?;
    ensure!(busiest <= RATE as usize, "{busiest} searches in a minute, where {RATE} are allowed");
    let share = busiest as f64 / f64::from(RATE);
    figures.push(
        Figure::new("a rate shared by 8 processes, used", 100.0 * share, "%", Target::AtLeast(90.0))
            .remark(format!("{busiest} of {RATE} searches in the busiest minute; {rate:.1} items/s")),
    );
    Ok(())
}

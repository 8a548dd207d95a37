//! Items a second, the time of one item and the start of one process; and of several processes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::bed::{Bed, process};
use crate::process::{Daemon, RULES, processor_seconds};
use crate::report::{Report, Target, percentile};
use crate::simulator::{EventWorld, Fault, Review, Target as Desk, World};
use crate::upstream::{self, items};
use crate::{Arguments, Mode};

/// Numbers of measured items begin here, so that they share nothing with those that warm the daemon up.
const FIRST_MEASURED: u64 = 1_000_000;
/// Items that warm the daemon up: connections, caches, prepared statements.
const WARM_UP: u64 = 100;
const ITEMS: u64 = 2000;
/// Items of one event, which share two of their three pages.
const ITEMS_PER_EVENT: u64 = 50;
/// Repetitions of the measurement of one item alone.
const ALONE: u64 = 200;
/// Starts of the daemon that are measured.
const STARTS: usize = 5;
/// Items of the measurement with the embedded store, which is an order of magnitude slower.
const EMBEDDED_ITEMS: u64 = 400;
const ITEMS_PER_REQUEST: usize = 50;

/// Items that share no page.
pub(crate) const NEW: EventWorld = EventWorld { items_per_event: 1, offset: 0 };

/// Items a second through `RabbitMQ` and Postgres.
pub(crate) async fn throughput(arguments: &Arguments, report: &mut Report, mode: Mode) -> anyhow::Result<()> {
    let (name, figure, target, per_event) = match mode {
        Mode::Shared => ("shared", "two of three pages stored", 100.0, ITEMS_PER_EVENT),
        _ => ("new", "every page new", 40.0, 1),
    };
    let count = arguments.items.unwrap_or(ITEMS);
    eprintln!("{name}: {count} items");
    let world = EventWorld { items_per_event: per_event, offset: FIRST_MEASURED };
    let bed = Bed::new(arguments, name, BothWorlds(world), &[]).await?;
    let (mut daemon, mut upstream) = bed.daemon_and_upstream().await?;
    process(&daemon, &mut upstream, &items(NEW, 0..WARM_UP)).await?;

    // The first item of each event stores the shared pages and is not measured.
    let is_first = |number: &u64| per_event > 1 && number.is_multiple_of(per_event);
    let measured: Vec<u64> = (0..).filter(|number| !is_first(number)).take(usize::try_from(count)?).collect();
    let first = (0..=measured.last().copied().unwrap_or(0)).filter(is_first);
    process(&daemon, &mut upstream, &items(world, first)).await?;

    let items = items(world, measured.into_iter());
    let pages = bed.simulator.calls(Desk::Page);
    let processor = (daemon.processor_seconds(), processor_seconds("self"));
    let rows = model_rows(&daemon).await?;
    let batch = process(&daemon, &mut upstream, &items).await?;
    let count = items.len() as f64;
    let (used, own) = (daemon.processor_seconds() - processor.0, processor_seconds("self") - processor.1);
    let fetched = (bed.simulator.calls(Desk::Page) - pages) as f64 / count;
    let [embedded, judged] = model_rows(&daemon).await?;
    let [_, memory] = daemon.memory().unwrap_or_default();
    batch.require_evidence()?;
    upstream.close().await?;
    daemon.stop().await?;
    let remarks = format!(
        "{}; {fetched:.2} pages fetched, {:.1} texts embedded and {:.1} pairs judged per item; processor time per item: \
         daemon {:.1} ms, simulator and measurement {:.1} ms; memory {memory:.0} MB",
        batch.statuses(),
        (embedded - rows[0]) / count,
        (judged - rows[1]) / count,
        used / count * 1000.0,
        own / count * 1000.0,
    );
    report.measure(figure, batch.rate(), "items/s", Target::AtLeast(target), remarks);
    bed.close().await
}

/// Texts that the embedder and pairs that the NLI model processed so far, without cached ones.
async fn model_rows(daemon: &Daemon) -> anyhow::Result<[f64; 2]> {
    let embedded = daemon.metric("model_wait_seconds_count{model=\"embedder\"").await?;
    Ok([embedded, daemon.metric("model_wait_seconds_count{model=\"stance\"").await?])
}

/// A measured world, and the one that warms the daemon up.
struct BothWorlds(EventWorld);

impl World for BothWorlds {
    fn search(&self, query: &str) -> Vec<u64> {
        let found = self.0.search(query);
        if found.is_empty() { NEW.search(query) } else { found }
    }

    fn title(&self, page: u64) -> String {
        self.of(page).title(page)
    }

    fn facts(&self, page: u64) -> Vec<String> {
        self.of(page).facts(page)
    }

    fn reviews(&self, query: &str) -> Vec<Review> {
        self.0.reviews(query)
    }
}

impl BothWorlds {
    /// Pages are numbered three to an item, so the measured world's begin at three times its offset.
    fn of(&self, page: u64) -> EventWorld {
        if page >= self.0.offset * 3 { self.0 } else { NEW }
    }
}

/// One item alone, every page new.
pub(crate) async fn latency(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    eprintln!("latency: {ALONE} items, one at a time");
    let bed = Bed::new(arguments, "latency", NEW, &[]).await?;
    let (mut daemon, mut upstream) = bed.daemon_and_upstream().await?;
    process(&daemon, &mut upstream, &items(NEW, 0..20)).await?;
    let mut millis = Vec::new();
    for number in 20..20 + ALONE {
        let batch = process(&daemon, &mut upstream, &items(NEW, number..=number)).await?;
        batch.require_evidence()?;
        millis.extend(batch.millis);
    }
    upstream.close().await?;
    daemon.stop().await?;
    millis.sort_by(f64::total_cmp);
    let [median, high, highest] = [0.5, 0.99, 1.0].map(|share| percentile(&millis, share));
    let remarks = format!("p50 {median:.1} ms, worst {highest:.1} ms of {ALONE}");
    report.measure("one item alone, p99", high, "ms", Target::Below(150.0), remarks);
    bed.close().await
}

async fn finished_items(daemon: &Daemon) -> anyhow::Result<u64> {
    Ok(daemon.metric("item_duration_seconds_count").await? as u64)
}

/// Items a second with the store and the queue inside the process.
pub(crate) async fn embedded(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    if !cfg!(feature = "embedded") {
        report.skip("embedded: the daemon was built without the feature `embedded`".to_owned());
        return Ok(());
    }
    for (name, per_event, target) in [
        ("embedded, two of three pages stored", ITEMS_PER_EVENT, Target::AtLeast(25.0)),
        ("embedded, every page new", 1, Target::None),
    ] {
        eprintln!("{name}: {EMBEDDED_ITEMS} items");
        let world = EventWorld { items_per_event: per_event, offset: 0 };
        let bed = Bed::new(arguments, "embedded", world, &[]).await?;
        let folder = tempfile::tempdir().context("making a data folder")?;
        let setup = bed.embedded_setup(folder.path());
        let (mut daemon, first_start) = Daemon::start(setup.clone()).await?;
        let warm = 20.max(per_event);
        enqueue(&daemon, world, 0..warm).await?;
        wait_for_items(&daemon, warm).await?;
        let begin = Instant::now();
        enqueue(&daemon, world, warm..warm + EMBEDDED_ITEMS).await?;
        wait_for_items(&daemon, warm + EMBEDDED_ITEMS).await?;
        let rate = EMBEDDED_ITEMS as f64 / begin.elapsed().as_secs_f64();
        let [_, memory] = daemon.memory().unwrap_or_default();
        daemon.stop().await?;
        let (mut daemon, later_start) = Daemon::start(setup).await?;
        daemon.stop().await?;
        let [first, later] = [first_start, later_start].map(|start| start.as_secs_f64());
        let remarks = format!("memory {memory:.0} MB; first start {first:.2} s, on the existing store {later:.2} s");
        report.measure(name, rate, "items/s", target, remarks);
        bed.close().await?;
    }
    Ok(())
}

/// Sends items to the daemon over HTTP.
async fn enqueue(daemon: &Daemon, world: EventWorld, numbers: std::ops::Range<u64>) -> anyhow::Result<()> {
    for chunk in items(world, numbers).chunks(ITEMS_PER_REQUEST) {
        let lines: Vec<String> = chunk.iter().map(|(_, body)| String::from_utf8_lossy(body).into_owned()).collect();
        let (status, response) = daemon.request("POST", "/api/items", &lines.join("\n")).await?;
        ensure!(status == 202, "POST /api/items returns {status}: {response}");
    }
    Ok(())
}

/// Waits until the daemon has finished so many items since its start.
async fn wait_for_items(daemon: &Daemon, items: u64) -> anyhow::Result<()> {
    let mut last = (0, Instant::now());
    loop {
        let finished = finished_items(daemon).await?;
        if finished >= items {
            return Ok(());
        }
        if finished > last.0 {
            last = (finished, Instant::now());
        }
        let is_silent = last.1.elapsed() > Duration::from_mins(1);
        ensure!(!is_silent, "{finished} of {items} items after a minute of silence; log:\n{}", daemon.log_end());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// From start to ready on an existing store.
pub(crate) async fn start(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    eprintln!("start: {STARTS} times");
    let bed = Bed::new(arguments, "start", NEW, &[]).await?;
    let (mut daemon, first) = Daemon::start(bed.setup()).await?;
    let mut upstream = upstream::Upstream::connect(arguments.amqp()?).await?;
    process(&daemon, &mut upstream, &items(NEW, 0..WARM_UP)).await?;
    upstream.close().await?;
    daemon.stop().await?;
    let mut seconds = Vec::new();
    for _ in 0..STARTS {
        let (mut daemon, start) = Daemon::start(bed.setup()).await?;
        seconds.push(start.as_secs_f64());
        daemon.stop().await?;
    }
    seconds.sort_by(f64::total_cmp);
    let [median, slowest] = [0.5, 1.0].map(|share| percentile(&seconds, share));
    let remarks = format!("median {median:.2} s of {STARTS}; {:.2} s on an empty database", first.as_secs_f64());
    report.measure("start to ready, slowest", slowest, "s", Target::Below(2.0), remarks);
    bed.close().await
}

/// Numbers of processes that are compared.
const PROCESSES: [u64; 4] = [1, 2, 4, 8];
/// Time of a response, and of a page: so slow that cores are not the limit.
const DELAY: Duration = Duration::from_millis(400);
/// Items for each process of a run.
const ITEMS_PER_PROCESS: u64 = 60;
/// The shared rate, calls a minute; eight processes would make far more calls without it.
const SHARED_RATE: u32 = 300;
/// Enough for a whole minute at the full rate.
const RATED_ITEMS: u64 = 220;

/// One to eight processes on one broker and one store, with slow providers: does each process add its share, and is a
/// shared rate used up and never exceeded?
pub(crate) async fn workers(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let mut one = 0.0;
    for processes in PROCESSES {
        eprintln!("workers: {processes} process(es), {} items", ITEMS_PER_PROCESS * processes);
        let (rate, _) = workers_run(arguments, processes, ITEMS_PER_PROCESS * processes, 1_000_000).await?;
        if processes == 1 {
            one = rate;
        }
        let target = if processes == 1 { Target::None } else { Target::AtLeast(0.8 * one * processes as f64) };
        let remarks = format!("{processes} process(es), {:.2} times one", rate / one);
        report.measure("workers, each response and page 0.4 s", rate, "items/s", target, remarks);
    }
    eprintln!("workers: 8 processes, {RATED_ITEMS} items at {SHARED_RATE} searches a minute");
    let (rate, busiest) = workers_run(arguments, 8, RATED_ITEMS, SHARED_RATE).await?;
    ensure!(busiest <= SHARED_RATE as usize, "{busiest} searches in a minute, limit {SHARED_RATE}");
    let share = 100.0 * busiest as f64 / f64::from(SHARED_RATE);
    let remarks = format!("{busiest} of {SHARED_RATE} searches in the busiest minute; {rate:.1} items/s");
    report.measure("a rate shared by 8 processes, used", share, "%", Target::AtLeast(90.0), remarks);
    Ok(())
}

/// Items a second, and the searches of the busiest minute.
async fn workers_run(arguments: &Arguments, processes: u64, count: u64, rate: u32) -> anyhow::Result<(f64, usize)> {
    let rate = format!("ENRICHMENT_SEARXNG_RPM={rate}");
    let settings = [
        "ENRICHMENT_PROVIDERS=opensearch",
        "ENRICHMENT_MAX_SOURCES=3",
        // So few that eight processes do not use all cores.
        "WORKER_CONCURRENCY=4",
        // A call waits for the rate; no provider is left out.
        "CORROBORATE_PROVIDERS_MAX_WAIT=40s",
        rate.as_str(),
    ];
    let bed = Bed::new(arguments, "workers", NEW, &[&settings[..], &RULES].concat()).await?;
    for desk in [Desk::Searxng, Desk::GoogleFactCheck, Desk::Page] {
        bed.simulator.set_fault(desk, Fault::slow(DELAY));
    }
    let mut daemons = Vec::new();
    for _ in 0..processes {
        daemons.push(bed.daemon().await?);
    }
    let mut upstream = upstream::Upstream::connect(arguments.amqp()?).await?;
    // Connections, statements and the first leases.
    let warm_up = processes * 4;
    process(&daemons[0], &mut upstream, &items(NEW, 0..warm_up)).await?;
    let batch = process(&daemons[0], &mut upstream, &items(NEW, warm_up..warm_up + count)).await?;
    batch.require_evidence()?;
    upstream.close().await?;
    for mut daemon in daemons {
        daemon.stop().await?;
    }
    let busiest = bed.simulator.most_within(Desk::Searxng, Duration::from_mins(1));
    bed.close().await?;
    Ok((batch.rate(), busiest))
}

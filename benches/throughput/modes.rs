//! One function for each thing that is measured.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::broker::{self, Batch, Upstream};
use crate::daemon::{Daemon, Setup, processor_seconds};
use crate::database::Scratch;
use crate::figures::{Figure, Figures, Target, percentile};
use crate::simulator::{EventWorld, Simulator, Target as Desk};
use crate::{Arguments, Mode, limits};

/// Numbers of the items of a measurement begin here, so that warming up and measuring share nothing.
const MEASURED: u64 = 1_000_000;
/// Items that warm the daemon up: connections, caches, prepared statements.
const WARM_UP: u64 = 100;
/// Repetitions of the measurement of one item alone.
const ALONE: u64 = 200;
/// Starts of the daemon that are measured.
const STARTS: usize = 5;
/// Items of the measurement with the embedded store, which is an order of magnitude slower.
const EMBEDDED_ITEMS: u64 = 400;
/// Items in one request to the daemon's HTTP.
const ITEMS_PER_REQUEST: usize = 50;

/// Bodies of items, with their ids.
pub(crate) fn bodies(world: EventWorld, items: impl Iterator<Item = u64>) -> Vec<(String, Vec<u8>)> {
    let describe = |number| {
        let item = world.item(number);
        (item["item_id"].as_str().unwrap_or_default().to_owned(), item.to_string().into_bytes())
    };
    items.map(describe).collect()
}

fn setup(arguments: &Arguments, name: &'static str, database: &Scratch) -> Setup {
    Setup {
        name,
        amqp: Some(arguments.amqp.clone()),
        database: Some(database.url()),
        data_directory: None,
        concurrency: arguments.concurrency,
        environment: arguments.env.clone(),
    }
}

/// A measurement of items that found nothing, or were turned away, would be of no worth.
pub(crate) fn insist_on_evidence(batch: &Batch, items: u64) -> anyhow::Result<()> {
    let complete = batch.statuses.get("complete").copied().unwrap_or(0);
    ensure!(complete * 100 >= items * 99, "only {complete} of {items} items are complete ({})", batch.statuses());
    ensure!(
        batch.evidence >= items,
        "{} pieces of evidence for {items} items: the pages were not used",
        batch.evidence
    );
    Ok(())
}

/// Items a second through `RabbitMQ` and Postgres.
pub(crate) async fn throughput(arguments: &Arguments, figures: &mut Figures, mode: Mode) -> anyhow::Result<()> {
    let (name, figure, target, per_event) = match mode {
        Mode::Shared => ("shared", "two of three pages stored", 100.0, arguments.items_per_event.max(2)),
        _ => ("new", "every page new", 40.0, 1),
    };
    eprintln!("{name}: {} items", arguments.items());
    let warm = EventWorld { items_per_event: 1, offset: 0 };
    let world = EventWorld { items_per_event: per_event, offset: MEASURED };
    let simulator = Simulator::start_on_hosts(BothWorlds { warm, world }, arguments.hosts).await;
    let database = Scratch::create(&arguments.database, name).await?;
    let daemon = Daemon::start(&setup(arguments, name, &database), &simulator).await?;
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    upstream.run(&bodies(warm, 0..WARM_UP)).await.with_context(|| daemon.log_end())?;

    // Where pages are shared, the first item of each event stores them beforehand and is not measured.
    let mut measured: Vec<u64> = Vec::new();
    let mut number = 0;
    while (measured.len() as u64) < arguments.items() {
        if per_event == 1 || number % per_event != 0 {
            measured.push(number);
        }
        number += 1;
    }
    if per_event > 1 {
        let first = (0..number).filter(|item| item % per_event == 0);
        upstream.run(&bodies(world, first)).await.with_context(|| daemon.log_end())?;
    }

    let items = bodies(world, measured.into_iter());
    let pages = simulator.calls(Desk::Page);
    let processor = (daemon.processor_seconds(), processor_seconds("self"));
    let rows = daemon.model_rows().await?;
    let batch = upstream.run(&items).await.with_context(|| daemon.log_end())?;
    let count = items.len() as f64;
    let (used, own) = (daemon.processor_seconds() - processor.0, processor_seconds("self") - processor.1);
    let fetched = (simulator.calls(Desk::Page) - pages) as f64 / count;
    let [embedded, judged] = daemon.model_rows().await?;
    let (_, highest) = daemon.memory();
    insist_on_evidence(&batch, arguments.items())?;
    upstream.close().await?;
    daemon.stop().await?;

    let mut result = Figure::new(figure, batch.rate(), "items/s", Target::AtLeast(target)).remark(format!(
        "{}; {fetched:.2} pages fetched, {:.1} texts embedded and {:.1} pairs judged an item; processor an item: daemon {:.1} ms, simulator and measuring {:.1} ms; memory {highest:.0} MB",
        batch.statuses(),
        (embedded - rows[0]) / count,
        (judged - rows[1]) / count,
        used / count * 1000.0,
        own / count * 1000.0,
    ));
    result.raw_broker = Some(limits::broker(&arguments.amqp, &items, &batch.bodies).await?);
    let pool = database.pool(8).await?;
    result.raw_inserts = limits::inserts(&pool).await?;
    pool.close().await;
    figures.push(result);
    database.drop().await
}

/// The warming up is told of too, or its items would find nothing.
struct BothWorlds {
    warm: EventWorld,
    world: EventWorld,
}

impl crate::simulator::World for BothWorlds {
    fn search(&self, query: &str) -> Vec<u64> {
        let found = self.world.search(query);
        if found.is_empty() { self.warm.search(query) } else { found }
    }

    fn title(&self, page: u64) -> String {
        self.of(page).title(page)
    }

    fn facts(&self, page: u64) -> Vec<String> {
        self.of(page).facts(page)
    }

    fn reviews(&self, query: &str) -> Vec<crate::simulator::Review> {
        self.world.reviews(query)
    }
}

impl BothWorlds {
    /// Pages are numbered three to an item, so the measured world's begin at three times its offset.
    fn of(&self, page: u64) -> EventWorld {
        if page >= self.world.offset * 3 { self.world } else { self.warm }
    }
}

/// One item alone, every page new.
pub(crate) async fn latency(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    eprintln!("latency: {ALONE} items, one at a time");
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    let database = Scratch::create(&arguments.database, "latency").await?;
    let daemon = Daemon::start(&setup(arguments, "latency", &database), &simulator).await?;
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    upstream.run(&bodies(world, 0..20)).await.with_context(|| daemon.log_end())?;
    let mut millis = Vec::new();
    for number in 20..20 + ALONE {
        let batch = upstream.run(&bodies(world, number..=number)).await.with_context(|| daemon.log_end())?;
        insist_on_evidence(&batch, 1)?;
        millis.extend(batch.millis);
    }
    upstream.close().await?;
    daemon.stop().await?;
    database.drop().await?;
    millis.sort_by(f64::total_cmp);
    let remarks =
        format!("p50 {:.1} ms, worst {:.1} ms of {ALONE}", percentile(&millis, 0.5), percentile(&millis, 1.0));
    figures.push(
        Figure::new("one item alone, p99", percentile(&millis, 0.99), "ms", Target::Below(150.0)).remark(remarks),
    );
    Ok(())
}

/// Resident memory while a long queue waits.
pub(crate) async fn memory(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    eprintln!("memory: {} queued items, watched for {} s", arguments.queued, arguments.memory_seconds);
    let world = EventWorld { items_per_event: arguments.items_per_event, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    let database = Scratch::create(&arguments.database, "memory").await?;
    let daemon = Daemon::start(&setup(arguments, "memory", &database), &simulator).await?;
    let upstream = Upstream::connect(&arguments.amqp).await?;
    upstream.publish(&bodies(world, 0..arguments.queued)).await?;
    let mut highest = 0.0_f64;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(arguments.memory_seconds) {
        highest = highest.max(daemon.memory().0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (now, mark) = daemon.memory();
    let finished = daemon.finished_items().await?;
    ensure!(finished > 0, "the daemon finished no item: nothing was measured; its log ends:\n{}", daemon.log_end());
    upstream.close().await?;
    broker::purge(&arguments.amqp).await?;
    daemon.stop().await?;
    broker::purge(&arguments.amqp).await?;
    database.drop().await?;
    let remarks = format!("{} queued, {finished} finished meanwhile; {now:.0} MB at the end", arguments.queued);
    figures.push(Figure::new("resident memory", highest.max(mark), "MB", Target::Below(250.0)).remark(remarks));
    Ok(())
}

/// Items a second with the store and the queue inside the process.
pub(crate) async fn embedded(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    if !cfg!(feature = "embedded") {
        eprintln!("embedded: skipped, the daemon was built without the feature `embedded`");
        return Ok(());
    }
    for (name, per_event, target) in [
        ("embedded, two of three pages stored", arguments.items_per_event, Target::AtLeast(25.0)),
        ("embedded, every page new", 1, Target::None),
    ] {
        eprintln!("{name}: {EMBEDDED_ITEMS} items");
        let world = EventWorld { items_per_event: per_event, offset: 0 };
        let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
        let folder = tempfile::tempdir().context("making a data folder")?;
        let setup = Setup {
            name: "embedded",
            data_directory: Some(folder.path().to_owned()),
            concurrency: arguments.concurrency,
            environment: arguments.env.clone(),
            ..Setup::default()
        };
        let daemon = Daemon::start(&setup, &simulator).await?;
        let first_start = daemon.start;
        let warm = 20.max(per_event);
        enqueue(&daemon, world, 0..warm).await?;
        wait_for(&daemon, warm).await?;
        let begin = Instant::now();
        enqueue(&daemon, world, warm..warm + EMBEDDED_ITEMS).await?;
        wait_for(&daemon, warm + EMBEDDED_ITEMS).await?;
        let rate = EMBEDDED_ITEMS as f64 / begin.elapsed().as_secs_f64();
        let (_, highest) = daemon.memory();
        daemon.stop().await?;
        let begin = Daemon::start(&setup, &simulator).await?;
        let again = begin.start;
        begin.stop().await?;
        let remarks = format!(
            "memory {highest:.0} MB; first start {:.2} s, on the existing store {:.2} s",
            first_start.as_secs_f64(),
            again.as_secs_f64()
        );
        figures.push(Figure::new(name, rate, "items/s", target).remark(remarks));
    }
    Ok(())
}

/// Hands items to the daemon over HTTP.
async fn enqueue(daemon: &Daemon, world: EventWorld, items: std::ops::Range<u64>) -> anyhow::Result<()> {
    let bodies = bodies(world, items);
    for chunk in bodies.chunks(ITEMS_PER_REQUEST) {
        let lines: Vec<String> = chunk.iter().map(|(_, body)| String::from_utf8_lossy(body).into_owned()).collect();
        let (status, answer) = daemon.request("POST", "/api/items", &lines.join("\n")).await?;
        ensure!(status == 202, "POST /api/items answers {status}: {answer}");
    }
    Ok(())
}

/// Waits until the daemon has finished so many items since its start.
async fn wait_for(daemon: &Daemon, items: u64) -> anyhow::Result<()> {
    let mut last = (0, Instant::now());
    loop {
        let finished = daemon.finished_items().await?;
        if finished >= items {
            return Ok(());
        }
        if finished > last.0 {
            last = (finished, Instant::now());
        }
        let silent = last.1.elapsed();
        ensure!(
            silent < Duration::from_mins(1),
            "{finished} of {items} items after a minute of silence; the log ends:\n{}",
            daemon.log_end()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// From start to ready on a store that is there already.
pub(crate) async fn start(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    eprintln!("start: {STARTS} times");
    let world = EventWorld { items_per_event: 1, offset: 0 };
    let simulator = Simulator::start_on_hosts(world, arguments.hosts).await;
    let database = Scratch::create(&arguments.database, "start").await?;
    let setup = setup(arguments, "start", &database);
    let daemon = Daemon::start(&setup, &simulator).await?;
    let first = daemon.start.as_secs_f64();
    let mut upstream = Upstream::connect(&arguments.amqp).await?;
    upstream.run(&bodies(world, 0..WARM_UP)).await.with_context(|| daemon.log_end())?;
    upstream.close().await?;
    daemon.stop().await?;
    let mut seconds = Vec::new();
    for _ in 0..STARTS {
        let daemon = Daemon::start(&setup, &simulator).await?;
        seconds.push(daemon.start.as_secs_f64());
        daemon.stop().await?;
    }
    database.drop().await?;
    seconds.sort_by(f64::total_cmp);
    let remarks = format!("median {:.2} s of {STARTS}; {first:.2} s on an empty database", percentile(&seconds, 0.5));
    figures.push(
        Figure::new("start to ready, slowest", percentile(&seconds, 1.0), "s", Target::Below(2.0)).remark(remarks),
    );
    Ok(())
}

/// Only what the broker and the database reach.
pub(crate) async fn limits_only(arguments: &Arguments, figures: &mut Figures) -> anyhow::Result<()> {
    let world = EventWorld { items_per_event: arguments.items_per_event, offset: 0 };
    let items = bodies(world, 0..arguments.items());
    let rate = limits::broker(&arguments.amqp, &items, &[]).await?;
    figures.push(Figure::new("raw publish and consume", rate, "items/s", Target::None));
    let pool = sqlx::PgPool::connect(&arguments.database).await.context("connecting to the database")?;
    match limits::inserts(&pool).await? {
        Some(rate) => figures.push(Figure::new("raw inserts", rate, "items/s", Target::None)),
        None => eprintln!("raw inserts: the database at --database holds no items"),
    }
    pool.close().await;
    Ok(())
}

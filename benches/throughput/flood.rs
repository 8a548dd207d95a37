//! Ten times what the daemon can do, for a while: does its memory stay bounded, are important items answered meanwhile, and
//! does it recover by itself?

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use sqlx::postgres::PgPool;

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
/// The limits of the daemon's own configuration, which other measurements raise.
const AS_SHIPPED: [&str; 2] = ["ENRICHMENT_MAX_QUEUE_LENGTH=5000", "ENRICHMENT_MAX_LAG=5m"];
/// Less than that many times what can be done is no flood.
const LEAST_TIMES: f64 = 9.0;
/// Of the important items so many percent lack nothing.
const LEAST_COMPLETE: f64 = 99.0;
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
    let setup = Setup {
        name: "flood",
        amqp: Some(arguments.amqp.clone()),
        database: Some(database.url()),
        data_directory: None,
        concurrency: arguments.concurrency,
        environment: [AS_SHIPPED.map(str::to_owned).to_vec(), arguments.env.clone()].concat(),
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
        anyhow::Ok(begin.elapsed())
    };
    let asking = ask_important(arguments, &daemon, world, &is_over);
    let (flooded, seen) = tokio::try_join!(flooding, asking).with_context(|| daemon.log_end())?;
    ensure!(!seen.millis.is_empty(), "no important item was answered");
    let published = a_second * arguments.flood_seconds;
    let sent = 50 + LEARNT_FROM + published + seen.millis.len() as u64;
    let pool = database.pool(1).await?;
    let begin = Instant::now();
    let patience = Duration::from_secs(arguments.flood_seconds.max(60) * 20);
    // Recovered is who has done everything, what was in work and what was put back among it.
    let mut after = kept(&pool).await?;
    while (after.0 < sent || broker::queue_length(&arguments.amqp).await?.unwrap_or(0) > 0)
        && begin.elapsed() < patience
    {
        tokio::time::sleep(Duration::from_secs(1)).await;
        after = kept(&pool).await?;
    }
    let recovered = begin.elapsed().as_secs_f64();
    pool.close().await;
    upstream.close().await?;
    daemon.stop().await?;
    broker::purge(&arguments.amqp).await?;
    database.drop().await?;
    figures.push(of_flood(published, flooded, usual));
    figures.push(
        Figure::new("recovery after a flood", recovered, "s", Target::Below(patience.as_secs_f64()))
            .remark("from its end until every item was stored"),
    );
    of_items(after, sent, published, figures);
    of_important(seen, before, figures);
    Ok(())
}

fn of_flood(published: u64, took: Duration, usual: f64) -> Figure {
    let seconds = took.as_secs_f64();
    Figure::new("flood", published as f64 / seconds / usual, "x", Target::AtLeast(LEAST_TIMES))
        .remark(format!("times what can be done: {published} items in {seconds:.0} s, {usual:.1} a second usual"))
}

fn of_items((stored, shed): (u64, u64), sent: u64, published: u64, figures: &mut Figures) {
    figures.push(
        Figure::new("items kept through a flood", 100.0 * stored as f64 / sent as f64, "%", Target::AtLeast(100.0))
            .remark(format!("{stored} stored of {sent} sent")),
    );
    figures.push(
        Figure::new("items shed by a flood", 100.0 * shed as f64 / published as f64, "%", Target::AtLeast(1.0))
            .remark("looked up at Google Fact Check alone, and saying so; none where fewer than 5,000 ever waited"),
    );
}

fn of_important(seen: Seen, before: f64, figures: &mut Figures) {
    let Seen { mut millis, complete, highest } = seen;
    millis.sort_by(f64::total_cmp);
    let asked = millis.len();
    figures.push(
        Figure::new(
            "important items in a flood",
            100.0 * complete as f64 / asked as f64,
            "%",
            Target::AtLeast(LEAST_COMPLETE),
        )
        .remark(format!("lack nothing: {complete} of {asked}, one a second")),
    );
    figures.push(
        Figure::new("important items in a flood, p99", percentile(&millis, 0.99), "ms", Target::Below(10_000.0))
            .remark(format!("p50 {:.0} ms", percentile(&millis, 0.5))),
    );
    figures.push(
        Figure::new("memory during a flood", highest, "MB", Target::Below(before * 1.5))
            .remark(format!("{before:.0} MB before")),
    );
}

/// Items stored, and those of them that overload left without a search.
async fn kept(pool: &PgPool) -> anyhow::Result<(u64, u64)> {
    let (stored, shed): (i64, i64) =
        sqlx::query_as("SELECT count(*), count(*) FILTER (WHERE 'overload' = ANY(degraded)) FROM items")
            .fetch_one(pool)
            .await?;
    Ok((stored.unsigned_abs(), shed.unsigned_abs()))
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

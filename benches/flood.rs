//! Ten times the daemon's capacity for some minutes: does memory stay bounded, are important items processed meanwhile, and
//! does the daemon recover by itself?

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use sqlx::postgres::PgPool;

use crate::Arguments;
use crate::bed::{Bed, process};
use crate::process::Daemon;
use crate::report::{Report, Target, percentile};
use crate::throughput::NEW;
use crate::upstream::{self, Upstream, items};

const MINUTES: u64 = 5;
const WARM_UP: u64 = 50;
/// Items that measure the capacity.
const CAPACITY_ITEMS: u64 = 200;
const TIMES: f64 = 10.0;
/// Between two important items.
const PAUSE: Duration = Duration::from_secs(1);
/// The daemon's own limits, which other measurements raise.
const SHIPPED_LIMITS: [&str; 2] = ["ENRICHMENT_MAX_QUEUE_LENGTH=5000", "ENRICHMENT_MAX_LAG=5m"];
/// Numbers of the important items begin here.
const IMPORTANT: u64 = 50_000_000;

/// Important items during the flood.
#[derive(Default)]
struct Important {
    /// From publish to result.
    millis: Vec<f64>,
    complete: u64,
    /// The highest resident memory, MB.
    memory: f64,
}

pub(crate) async fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let seconds = arguments.minutes.unwrap_or(MINUTES) * 60;
    let bed = Bed::new(arguments, "flood", NEW, &SHIPPED_LIMITS).await?;
    let (mut daemon, mut upstream) = bed.daemon_and_upstream().await?;
    process(&daemon, &mut upstream, &items(NEW, 0..WARM_UP)).await?;
    let warm = WARM_UP + CAPACITY_ITEMS;
    let capacity = process(&daemon, &mut upstream, &items(NEW, WARM_UP..warm)).await?.rate();
    let [memory_before, _] = daemon.memory().unwrap_or_default();
    let rate = (capacity * TIMES).ceil() as u64;
    eprintln!("flood: {rate} items a second for {seconds} s, capacity {capacity:.1}");

    let is_over = AtomicBool::new(false);
    let flooding = async {
        let begin = Instant::now();
        for second in 0..seconds {
            let first = 1_000 + second * rate;
            upstream.publish(&items(NEW, first..first + rate)).await?;
            tokio::time::sleep((Duration::from_secs(second + 1)).saturating_sub(begin.elapsed())).await;
        }
        is_over.store(true, Ordering::Relaxed);
        anyhow::Ok(begin.elapsed().as_secs_f64())
    };
    let asking = send_important(arguments, &daemon, &is_over);
    let (took, important) = tokio::try_join!(flooding, asking).with_context(|| daemon.log_end())?;
    ensure!(!important.millis.is_empty(), "no important item was processed");
    let published = rate * seconds;
    let sent = warm + published + important.millis.len() as u64;
    let pool = bed.pool(1).await?;
    let begin = Instant::now();
    let patience = Duration::from_secs(seconds.max(60) * 20);
    let (mut stored, mut shed) = stored_and_shed(&pool).await?;
    while (stored < sent || upstream::queue_length(arguments.amqp()?).await?.unwrap_or(0) > 0)
        && begin.elapsed() < patience
    {
        tokio::time::sleep(Duration::from_secs(1)).await;
        (stored, shed) = stored_and_shed(&pool).await?;
    }
    let recovered = begin.elapsed().as_secs_f64();
    pool.close().await;
    upstream.close().await?;
    daemon.stop().await?;
    upstream::purge(arguments.amqp()?).await?;
    let remarks = format!("times the capacity of {capacity:.1} items/s: {published} items in {took:.0} s");
    report.measure("flood", published as f64 / took / capacity, "x", Target::AtLeast(9.0), remarks);
    let remarks = "from its end until every item was stored";
    report.measure("recovery after a flood", recovered, "s", Target::Below(patience.as_secs_f64()), remarks);
    let share = |part: u64, of: u64| 100.0 * part as f64 / of as f64;
    let remarks = format!("{stored} stored of {sent} sent");
    report.measure("items kept in a flood", share(stored, sent), "%", Target::AtLeast(100.0), remarks);
    let remarks = "fact-check lookup only, marked `overload`; none if fewer than 5,000 items ever waited";
    report.measure("items shed in a flood", share(shed, published), "%", Target::AtLeast(1.0), remarks);
    report_important(important, memory_before, report);
    bed.close().await
}

fn report_important(important: Important, memory_before: f64, report: &mut Report) {
    let Important { mut millis, complete, memory } = important;
    millis.sort_by(f64::total_cmp);
    let share = 100.0 * complete as f64 / millis.len() as f64;
    let remarks = format!("{complete} of {}, one a second", millis.len());
    report.measure("important items in a flood, complete", share, "%", Target::AtLeast(99.0), remarks);
    let [median, high] = [0.5, 0.99].map(|share| percentile(&millis, share));
    let remarks = format!("p50 {median:.0} ms");
    report.measure("important items in a flood, p99", high, "ms", Target::Below(10_000.0), remarks);
    let remarks = format!("{memory_before:.0} MB before");
    report.measure("memory in a flood", memory, "MB", Target::Below(memory_before * 1.5), remarks);
}

/// Items stored, and those of them that overload left without a search.
async fn stored_and_shed(pool: &PgPool) -> anyhow::Result<(u64, u64)> {
    let (stored, shed): (i64, i64) =
        sqlx::query_as("SELECT count(*), count(*) FILTER (WHERE 'overload' = ANY(degraded)) FROM items")
            .fetch_one(pool)
            .await?;
    Ok((stored.unsigned_abs(), shed.unsigned_abs()))
}

/// Sends one important item after the other until the flood is over.
async fn send_important(arguments: &Arguments, daemon: &Daemon, is_over: &AtomicBool) -> anyhow::Result<Important> {
    let mut upstream = Upstream::connect(arguments.amqp()?).await?;
    let mut important = Important::default();
    let mut number = IMPORTANT;
    while !is_over.load(Ordering::Relaxed) {
        let batch = upstream.run("important.new", &items(NEW, number..=number)).await?;
        number += 1;
        important.complete += batch.complete();
        important.millis.extend(batch.millis);
        important.memory = important.memory.max(daemon.memory().unwrap_or_default()[0]);
        tokio::time::sleep(PAUSE).await;
    }
    upstream.close().await?;
    Ok(important)
}

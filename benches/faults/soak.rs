//! Half of the capacity for long: memory, connections and open files stay constant.

use std::time::{Duration, Instant};

use anyhow::ensure;

use super::{Servers, Stage, account, round, traffic};
use crate::Arguments;
use crate::report::Report;

const MINUTES: u64 = 60;
/// Items that measure the capacity; the first of them warm connections and caches up and are not counted.
const CAPACITY_ITEMS: u64 = 1200;
const WARM_UP: u64 = 300;
const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);
/// The first part of a soak is not compared with anything: the caches fill.
const SETTLING: f64 = 0.25;
/// Growth of memory over the measured time that counts as flat, as a share of its mean.
const MAX_MEMORY_GROWTH: f64 = 0.05;
/// Growth of connections and of open files that counts as flat: a pool varies by a few.
const MAX_COUNT_GROWTH: f64 = 4.0;
/// A slope of fewer samples means nothing.
const MIN_SAMPLES: usize = 8;
/// Numbers of the soak's items begin here, so that those before share nothing with them.
const FIRST: u64 = 1_000_000;

/// Values with the seconds at which they were sampled.
#[derive(Debug, Default)]
struct Series(Vec<(f64, f64)>);

impl Series {
    fn mean(&self) -> f64 {
        self.0.iter().map(|(_, value)| value).sum::<f64>() / self.0.len().max(1) as f64
    }

    /// The least-squares slope, a second; 0 of fewer than two samples.
    fn slope(&self) -> f64 {
        let middle = self.0.iter().map(|(at, _)| at).sum::<f64>() / self.0.len().max(1) as f64;
        let mean = self.mean();
        let (mut above, mut below) = (0.0, 0.0);
        for (at, value) in &self.0 {
            above += (at - middle) * (value - mean);
            below += (at - middle).powi(2);
        }
        if below > 0.0 { above / below } else { 0.0 }
    }

    /// The slope times the sampled time.
    fn growth(&self) -> f64 {
        let span = self.0.last().map_or(0.0, |last| last.0) - self.0.first().map_or(0.0, |first| first.0);
        self.slope() * span
    }
}

/// Sums over the processes.
#[derive(Debug, Default)]
struct Samples {
    memory: Series,
    files: Series,
    sessions: Series,
}

impl Samples {
    async fn sample(&mut self, stage: &Stage, at: f64) -> anyhow::Result<()> {
        let samples = stage.fleet.each(|daemon| Some((daemon.memory()?[0], daemon.open_files()?))).await;
        let samples: Option<Vec<(f64, usize)>> = samples.into_iter().collect();
        let Some(samples) = samples else { return Ok(()) };
        self.memory.0.push((at, samples.iter().map(|(memory, _)| memory).sum()));
        self.files.0.push((at, samples.iter().map(|(_, files)| *files as f64).sum()));
        let sessions: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .fetch_one(&stage.pool().await?)
        .await?;
        self.sessions.0.push((at, sessions as f64));
        Ok(())
    }

    fn check(&self, report: &mut Report) {
        let count = self.memory.0.len();
        report.require(count >= MIN_SAMPLES, || format!("{count} samples, {MIN_SAMPLES} are needed"));
        let flat = [
            (&self.memory, "MB of memory", MAX_MEMORY_GROWTH * self.memory.mean()),
            (&self.files, "open files", MAX_COUNT_GROWTH),
            (&self.sessions, "connections to the database", MAX_COUNT_GROWTH),
        ];
        for (series, what, bound) in flat {
            let (mean, slope, growth) = (round(series.mean()), round(series.slope() * 3600.0), series.growth());
            report.note(what, format!("{mean} on average, {slope:+} an hour"));
            // Less is no leak.
            report.require(growth <= bound, || {
                format!("{what} grew by {growth:.1} over the measured time, limit {bound:.1}")
            });
        }
    }
}

/// Items a second while more than enough wait.
async fn capacity(stage: &Stage) -> anyhow::Result<f64> {
    let messages = traffic::messages(0, CAPACITY_ITEMS);
    traffic::publish(&stage.broker_url()?, &messages, Duration::ZERO, &stage.published).await?;
    let mut warm: Option<(Instant, u64)> = None;
    let began = Instant::now();
    loop {
        let count = account::count(&stage.pool().await?, "items").await?;
        if warm.is_none() && count >= WARM_UP {
            warm = Some((Instant::now(), count));
        }
        if let Some((since, before)) = warm.filter(|_| count >= CAPACITY_ITEMS) {
            return Ok((count - before) as f64 / since.elapsed().as_secs_f64());
        }
        ensure!(began.elapsed() < Duration::from_mins(20), "{count} of {CAPACITY_ITEMS} items after twenty minutes");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

pub(crate) async fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let span = Duration::from_mins(arguments.minutes.unwrap_or(MINUTES));
    let mut stage = Stage::start(arguments, Servers::default(), &[], report).await?;
    stage.fleet.start().await?;
    let most = capacity(&stage).await?;
    let items = ((most / 2.0 * span.as_secs_f64()) as u64).max(100);
    let messages = traffic::messages(FIRST, items);
    eprintln!("soak: {items} items over {} s, capacity {most:.1} a second", span.as_secs());
    report.note("capacity in items/s", round(most));
    let mut samples = Samples::default();
    // The items of the capacity measurement are counted with the rest.
    let before = traffic::messages(0, CAPACITY_ITEMS);
    stage
        .run(&messages, &before, span, report, async |stage, report| {
            let began = Instant::now();
            while began.elapsed() < span {
                let at = began.elapsed().as_secs_f64();
                if at >= SETTLING * span.as_secs_f64() {
                    samples.sample(stage, at).await?;
                }
                tokio::time::sleep(SAMPLE_INTERVAL).await;
            }
            samples.check(report);
            Ok(())
        })
        .await
}

//! Half of what can be done, for long: memory, connections and open files stay where they are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::Options;
use crate::account;
use crate::line::Line;
use crate::slope::Series;
use crate::stage::{Stage, Wanted, round};
use crate::traffic;

const MINUTES: u64 = 60;
/// Items from which it is learnt what can be done; the first of them warm connections and caches up and are not counted.
const LEARNT_FROM: u64 = 1200;
const WARM_UP: u64 = 300;
/// Between two looks.
const LOOK: Duration = Duration::from_secs(5);
/// The first part of a soak is not held against anything: the caches fill.
const SETTLING: f64 = 0.25;
/// Growth of memory over the measured time that counts as flat, as a share of its mean.
const FLAT_MEMORY: f64 = 0.05;
/// Growth of connections and of open files that counts as flat: a pool breathes by a few.
const FLAT_COUNT: f64 = 4.0;
/// A slope of fewer says nothing.
const LEAST_LOOKS: usize = 8;
/// Numbers of the soak's items begin here, so that those before share nothing with them.
const FIRST: u64 = 1_000_000;

/// What is looked at, summed over the processes.
#[derive(Debug, Default)]
struct Seen {
    memory: Series,
    files: Series,
    sockets: Series,
    sessions: Series,
}

impl Seen {
    async fn look(&mut self, stage: &Stage, at: f64) -> anyhow::Result<()> {
        let looks = stage.fleet.each(|daemon| Some((daemon.memory()?, daemon.open_files()?))).await;
        let looks: Option<Vec<(f64, (usize, usize))>> = looks.into_iter().collect();
        let Some(looks) = looks else { return Ok(()) };
        self.memory.push(at, looks.iter().map(|(memory, _)| memory).sum());
        self.files.push(at, looks.iter().map(|(_, (files, _))| *files as f64).sum());
        self.sockets.push(at, looks.iter().map(|(_, (_, sockets))| *sockets as f64).sum());
        let sessions: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .fetch_one(&stage.pool().await?)
        .await?;
        self.sessions.push(at, sessions as f64);
        Ok(())
    }

    fn hold(&self, line: &mut Line) {
        // Without looks everything is flat.
        line.insists(self.memory.len() >= LEAST_LOOKS, || {
            format!("the fleet was looked at {} times, {LEAST_LOOKS} are needed", self.memory.len())
        });
        let flat = [
            (&self.memory, "MB of memory", FLAT_MEMORY * self.memory.mean()),
            (&self.files, "open files", FLAT_COUNT),
            (&self.sockets, "sockets", FLAT_COUNT),
            (&self.sessions, "connections to the database", FLAT_COUNT),
        ];
        for (series, what, bound) in flat {
            let (mean, slope, growth) = (round(series.mean()), round(series.per_hour()), series.growth());
            line.figure(&format!("{what}:"), format!("{mean} on average, {slope:+} an hour"));
            // Less is no leak.
            line.insists(growth <= bound, || {
                format!("{what} grew by {growth:.1} over the measured time, where {bound:.1} is flat")
            });
        }
    }
}

/// Items a second that the fleet does when more than enough wait.
async fn capacity(stage: &mut Stage) -> anyhow::Result<f64> {
    let messages = traffic::messages(0, LEARNT_FROM);
    let url = stage.broker_url()?;
    traffic::publish(&url, &messages, Duration::ZERO, &Arc::clone(&stage.published)).await?;
    let mut warm: Option<(Instant, u64)> = None;
    let began = Instant::now();
    loop {
        let count = account::count(&stage.pool().await?).await?;
        if warm.is_none() && count >= WARM_UP {
            warm = Some((Instant::now(), count));
        }
        if let Some((since, before)) = warm.filter(|_| count >= LEARNT_FROM) {
            return Ok((count - before) as f64 / since.elapsed().as_secs_f64());
        }
        ensure!(began.elapsed() < Duration::from_mins(20), "{count} of {LEARNT_FROM} items after twenty minutes");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

pub(crate) async fn run(options: &Options, line: &mut Line) -> anyhow::Result<()> {
    let span = Duration::from_mins(options.minutes.unwrap_or(MINUTES));
    let mut stage = Stage::set(options, Wanted { nodes: 1, ..Wanted::default() }, line).await?;
    stage.prepare().await?;
    stage.fleet.start().await?;
    eprintln!("soak: learning what can be done");
    let most = capacity(&mut stage).await?;
    let items = ((most / 2.0 * span.as_secs_f64()) as u64).max(100);
    let messages = traffic::messages(FIRST, items);
    eprintln!("soak: {items} items over {} s, where {most:.1} a second can be done", span.as_secs());
    line.figure("processes", stage.fleet.len());
    line.figure("items/s possible", round(most));
    line.figure("items/s sent", round(most / 2.0));
    let mut seen = Seen::default();
    // Those from which the speed was learnt are sent already, and counted with the rest.
    let before = traffic::messages(0, LEARNT_FROM);
    stage
        .play(&messages, &before, span, line, async |stage, line| {
            let began = Instant::now();
            while began.elapsed() < span {
                let at = began.elapsed().as_secs_f64();
                if at >= SETTLING * span.as_secs_f64() {
                    seen.look(stage, at).await?;
                }
                tokio::time::sleep(LOOK).await;
            }
            seen.hold(line);
            Ok(())
        })
        .await
}

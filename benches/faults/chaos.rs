//! Every fault of the daemon's surroundings while it works: is any item lost, is any result published under two ids, does
//! an older edit replace a newer one?

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::{Servers, Stage, traffic};
use crate::Arguments;
use crate::report::Report;
use crate::simulator::{Fault as Answer, Target};

const ITEMS: u64 = 50_000;
const MINUTES: u64 = 10;
/// An hour, as if a clock was set to another time zone; seconds.
const HOUR: i64 = 3600;
/// The clock library sees another shift within this time.
const CLOCK_DELAY: Duration = Duration::from_secs(2);
const RECOVERY_TIMEOUT: Duration = Duration::from_mins(2);

/// A fault, named on the command line and in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    BrokerRestarted,
    BrokerKilled,
    DatabaseRestarted,
    DatabaseCrashed,
    ProcessKilled,
    AllProcessesKilled,
    ProcessRestarted,
    DatabaseStalled,
    BrokerStalled,
    /// Connections that stay silent for ever.
    DatabaseForgotten,
    BrokerForgotten,
    DiskFull,
    MemoryAlarm,
    ProcessClock,
    DatabaseClock,
    ProvidersDown,
}

impl Fault {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether it can be tried here.
    fn is_possible(self, stage: &Stage) -> bool {
        match self {
            Self::DiskFull => stage.disk.is_some(),
            Self::ProcessClock => !stage.clocks.is_empty(),
            Self::DatabaseClock => stage.database_clock.is_some(),
            _ => true,
        }
    }
}

pub(crate) async fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let items = arguments.items.unwrap_or(ITEMS);
    let span = Duration::from_mins(arguments.minutes.unwrap_or(MINUTES));
    for fault in &arguments.without {
        report.skip(format!("{}, as requested", fault.name()));
    }
    let servers = Servers { disk_for: Some(items), clocks: true, ..Servers::default() };
    let mut stage = Stage::start(arguments, servers, &[], report).await?;
    stage.fleet.start().await?;
    let messages = traffic::messages(0, items);
    eprintln!("chaos: {} messages of {items} items over {} s", messages.len(), span.as_secs());
    stage
        .run(&messages, &[], span, report, async |stage, report| {
            report.note("faults", cause_faults(stage, span, arguments).await?);
            Ok(())
        })
        .await
}

/// Causes all faults in a shuffled order, again and again until the time is over, each at least once. Returns their counts.
async fn cause_faults(stage: &mut Stage, span: Duration, arguments: &Arguments) -> anyhow::Result<String> {
    let mut random = SmallRng::seed_from_u64(arguments.seed);
    let began = Instant::now();
    // A run shorter than ten minutes has shorter faults.
    let scale = (span.as_secs_f64() / 600.0).clamp(0.4, 1.0);
    let mut caused = std::collections::BTreeMap::<String, u32>::new();
    let mut is_first_round = true;
    while is_first_round || began.elapsed() < span {
        let mut order = Fault::value_variants().to_vec();
        order.shuffle(&mut random);
        order.retain(|fault| !arguments.without.contains(fault) && fault.is_possible(stage));
        ensure!(!order.is_empty(), "every fault is left out");
        for fault in order {
            if !is_first_round && began.elapsed() >= span {
                break;
            }
            let duration = Duration::from_secs_f64(random.random_range(10.0..30.0) * scale);
            eprintln!("{} published: {} for {:.0} s", stage.publish_count(), fault.name(), duration.as_secs_f64());
            cause(stage, fault, duration, &mut random).await.with_context(|| fault.name())?;
            *caused.entry(fault.name()).or_default() += 1;
            tokio::time::sleep(Duration::from_secs_f64(random.random_range(3.0..9.0) * scale)).await;
        }
        is_first_round = false;
    }
    let counts: Vec<String> = caused.iter().map(|(fault, count)| format!("{count} {fault}")).collect();
    Ok(format!("{} ({})", caused.values().sum::<u32>(), counts.join(", ")))
}

/// Causes a fault and repairs it.
async fn cause(stage: &mut Stage, fault: Fault, duration: Duration, random: &mut SmallRng) -> anyhow::Result<()> {
    let one = random.random_range(0..stage.fleet.len());
    // Half of the time all processes are affected, else one of them.
    let affected: Vec<usize> = if random.random_bool(0.5) { (0..stage.fleet.len()).collect() } else { vec![one] };
    let down = duration.mul_f64(0.3);
    match fault {
        Fault::BrokerRestarted | Fault::BrokerKilled => {
            let node = &mut stage.rabbits[0];
            if fault == Fault::BrokerKilled {
                node.kill().await?;
            } else {
                node.stop().await?;
            }
            tokio::time::sleep(down).await;
            node.restart().await?;
        }
        Fault::DatabaseRestarted | Fault::DatabaseCrashed => {
            let server = &mut stage.postgres;
            server.stop(if fault == Fault::DatabaseCrashed { "immediate" } else { "fast" }).await?;
            tokio::time::sleep(down).await;
            server.restart().await?;
        }
        Fault::ProcessKilled => stage.fleet.kill(one).await?,
        Fault::AllProcessesKilled => {
            for number in 0..stage.fleet.len() {
                stage.fleet.kill(number).await?;
            }
        }
        Fault::ProcessRestarted => {
            stage.fleet.stop_one(one).await?;
            stage.fleet.start_one(one).await?;
        }
        Fault::DatabaseStalled | Fault::BrokerStalled => {
            let is_broker = fault == Fault::BrokerStalled;
            let proxies = if is_broker { &stage.broker_proxies } else { &stage.database_proxies };
            for number in &affected {
                proxies[*number].stalls();
            }
            tokio::time::sleep(duration).await;
            for number in &affected {
                proxies[*number].goes_on();
            }
        }
        Fault::DatabaseForgotten => affected.iter().for_each(|number| stage.database_proxies[*number].forgets()),
        Fault::BrokerForgotten => affected.iter().for_each(|number| stage.broker_proxies[*number].forgets()),
        Fault::DiskFull => fill_disk(stage, duration).await?,
        Fault::MemoryAlarm => {
            stage.rabbits[0].ctl(&["set_vm_memory_high_watermark", "0.00001"]).await?;
            tokio::time::sleep(duration).await;
            stage.rabbits[0].ctl(&["set_vm_memory_high_watermark", "0.4"]).await?;
        }
        Fault::ProcessClock | Fault::DatabaseClock => {
            let (clock, shift) = if fault == Fault::DatabaseClock {
                (stage.database_clock.as_ref().context("no clock")?, HOUR)
            } else {
                (&stage.clocks[one], if random.random_bool(0.5) { HOUR } else { -HOUR })
            };
            clock.shift(shift)?;
            tokio::time::sleep(duration + CLOCK_DELAY).await;
            clock.shift(0)?;
        }
        Fault::ProvidersDown => {
            stage.simulator.set_fault(Target::Searxng, Answer::status(503));
            stage.simulator.set_fault(Target::GoogleFactCheck, Answer::outage());
            tokio::time::sleep(duration).await;
            stage.simulator.set_fault(Target::Searxng, None);
            stage.simulator.set_fault(Target::GoogleFactCheck, None);
        }
    }
    Ok(())
}

/// Fills the database's disk, requires a failed write, and makes room again. A server that ended is started.
async fn fill_disk(stage: &mut Stage, duration: Duration) -> anyhow::Result<()> {
    let disk = stage.disk.as_ref().context("no disk")?;
    disk.fill()?;
    let filled = Instant::now();
    // Writes until a write fails, so that the disk surely was full; a server that ended cannot be asked.
    let mut refusal = None;
    while refusal.is_none() && filled.elapsed() < Duration::from_mins(1) {
        let write = "CREATE TABLE disk_probe AS SELECT repeat('x', 500) FROM generate_series(1, 20000)";
        match stage.pool().await {
            Ok(pool) => {
                refusal = sqlx::raw_sql(write).execute(&pool).await.err().map(|error| error.to_string());
                // It may not exist.
                drop(sqlx::raw_sql("DROP TABLE IF EXISTS disk_probe").execute(&pool).await);
            }
            Err(error) => refusal = Some(format!("{error:#}")),
        }
        if refusal.is_none() {
            disk.fill()?;
        }
    }
    let refusal = refusal.context("the disk was full, and the database still wrote to it")?;
    eprintln!("the database reports: {refusal}");
    tokio::time::sleep(duration).await;
    disk.empty()?;
    let began = Instant::now();
    while stage.pool().await.is_err() {
        ensure!(began.elapsed() < RECOVERY_TIMEOUT, "the database did not recover after its disk had room again");
        if !stage.postgres.is_running() {
            eprintln!("the database has ended and is started again");
            stage.postgres.stop("fast").await.unwrap_or_default();
            stage.postgres.restart().await?;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

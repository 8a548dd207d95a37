//! What goes wrong in a night, one after the other: each is let happen, and mended.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};

use crate::simulator::{Fault as Answer, Target};
use crate::stage::Stage;

/// An hour, as when a clock was set to another time zone's.
const HOUR: i64 = 3600;
/// A clock library sees another shift within so long.
const CLOCK_SEEN: Duration = Duration::from_secs(2);
/// A server that is to come back does within this.
const BACK: Duration = Duration::from_mins(2);

/// What can go wrong.
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
    DatabaseForgotten,
    BrokerForgotten,
    DiskFull,
    MemoryAlarm,
    ProcessClock,
    DatabaseClock,
    ProvidersAway,
}

impl Fault {
    const ALL: [Self; 16] = [
        Self::BrokerRestarted,
        Self::BrokerKilled,
        Self::DatabaseRestarted,
        Self::DatabaseCrashed,
        Self::ProcessKilled,
        Self::AllProcessesKilled,
        Self::ProcessRestarted,
        Self::DatabaseStalled,
        Self::BrokerStalled,
        Self::DatabaseForgotten,
        Self::BrokerForgotten,
        Self::DiskFull,
        Self::MemoryAlarm,
        Self::ProcessClock,
        Self::DatabaseClock,
        Self::ProvidersAway,
    ];

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::BrokerRestarted => "RabbitMQ restarted",
            Self::BrokerKilled => "RabbitMQ killed",
            Self::DatabaseRestarted => "Postgres restarted",
            Self::DatabaseCrashed => "Postgres crashed",
            Self::ProcessKilled => "a process killed",
            Self::AllProcessesKilled => "all processes killed",
            Self::ProcessRestarted => "a process restarted",
            Self::DatabaseStalled => "Postgres stalled",
            Self::BrokerStalled => "RabbitMQ stalled",
            Self::DatabaseForgotten => "connections to Postgres forgotten",
            Self::BrokerForgotten => "connections to RabbitMQ forgotten",
            Self::DiskFull => "disk full",
            Self::MemoryAlarm => "memory alarm",
            Self::ProcessClock => "a process's clock an hour off",
            Self::DatabaseClock => "Postgres's clock an hour ahead",
            Self::ProvidersAway => "providers away",
        }
    }

    /// Whether it can be tried here.
    fn can_happen(self, stage: &Stage) -> bool {
        match self {
            Self::DiskFull => stage.disk.is_some(),
            Self::ProcessClock => !stage.clocks.is_empty(),
            Self::DatabaseClock => stage.database_clock.is_some(),
            _ => true,
        }
    }
}

/// Lets everything happen in a shuffled order, again and again until the time is over, each at least once.
pub(crate) async fn happen(stage: &mut Stage, span: Duration, seed: u64, without: &[Fault]) -> anyhow::Result<String> {
    let mut random = SmallRng::seed_from_u64(seed);
    let began = Instant::now();
    // A night shorter than ten minutes has shorter faults.
    let scale = (span.as_secs_f64() / 600.0).clamp(0.4, 1.0);
    let (mut round, mut counts) = (0, [0_u32; Fault::ALL.len()]);
    while round == 0 || began.elapsed() < span {
        let mut order: Vec<usize> = (0..Fault::ALL.len()).collect();
        order.shuffle(&mut random);
        for place in order {
            let fault = Fault::ALL[place];
            if without.contains(&fault) || !fault.can_happen(stage) || (round > 0 && began.elapsed() >= span) {
                continue;
            }
            let lasts = Duration::from_secs_f64(random.random_range(10.0..30.0) * scale);
            let at = began.elapsed().as_secs();
            let published = stage.publish_count();
            eprintln!("{at} s, {published} published: {} for {:.0} s", fault.words(), lasts.as_secs_f64());
            strike(stage, fault, lasts, &mut random).await.with_context(|| fault.words())?;
            counts[place] += 1;
            tokio::time::sleep(Duration::from_secs_f64(random.random_range(3.0..9.0) * scale)).await;
        }
        round += 1;
    }
    let told: Vec<String> = Fault::ALL
        .iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(fault, count)| format!("{count} {}", fault.words()))
        .collect();
    Ok(format!("{} ({})", counts.iter().sum::<u32>(), told.join(", ")))
}

async fn strike(stage: &mut Stage, fault: Fault, lasts: Duration, random: &mut SmallRng) -> anyhow::Result<()> {
    let one = random.random_range(0..stage.fleet.len());
    // Half of the time all processes are struck, else one of them.
    let struck: Vec<usize> = if random.random_bool(0.5) { (0..stage.fleet.len()).collect() } else { vec![one] };
    let away = lasts.mul_f64(0.3);
    match fault {
        Fault::BrokerRestarted | Fault::BrokerKilled => {
            let node = &mut stage.rabbits[0];
            if fault == Fault::BrokerKilled {
                node.kill().await?;
            } else {
                node.stop().await?;
            }
            tokio::time::sleep(away).await;
            node.again().await?;
        }
        Fault::DatabaseRestarted | Fault::DatabaseCrashed => {
            let server = &mut stage.postgres;
            if fault == Fault::DatabaseCrashed {
                server.crash().await?;
            } else {
                server.stop().await?;
            }
            tokio::time::sleep(away).await;
            server.again().await?;
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
            for number in &struck {
                proxies[*number].stalls();
            }
            tokio::time::sleep(lasts).await;
            for number in &struck {
                proxies[*number].goes_on();
            }
        }
        Fault::DatabaseForgotten => struck.iter().for_each(|number| stage.database_proxies[*number].forgets()),
        Fault::BrokerForgotten => struck.iter().for_each(|number| stage.broker_proxies[*number].forgets()),
        Fault::DiskFull => disk_full(stage, lasts).await?,
        Fault::MemoryAlarm => {
            stage.rabbits[0].ctl(&["set_vm_memory_high_watermark", "0.00001"]).await?;
            tokio::time::sleep(lasts).await;
            stage.rabbits[0].ctl(&["set_vm_memory_high_watermark", "0.4"]).await?;
        }
        Fault::ProcessClock => {
            let shift = if random.random_bool(0.5) { HOUR } else { -HOUR };
            stage.clocks[one].shift(shift)?;
            tokio::time::sleep(lasts + CLOCK_SEEN).await;
            stage.clocks[one].shift(0)?;
        }
        Fault::DatabaseClock => {
            let clock = stage.database_clock.clone().context("no clock")?;
            clock.shift(HOUR)?;
            tokio::time::sleep(lasts + CLOCK_SEEN).await;
            clock.shift(0)?;
        }
        Fault::ProvidersAway => {
            stage.simulator.set_fault(Target::Searxng, Answer::status(503));
            stage.simulator.set_fault(Target::GoogleFactCheck, Answer::outage());
            tokio::time::sleep(lasts).await;
            stage.simulator.set_fault(Target::Searxng, None);
            stage.simulator.set_fault(Target::GoogleFactCheck, None);
        }
    }
    Ok(())
}

/// Fills the database's disk, makes sure that it is felt, and makes room again. A server that ended over it is started.
async fn disk_full(stage: &mut Stage, lasts: Duration) -> anyhow::Result<()> {
    let disk = stage.disk.as_ref().context("no disk")?;
    disk.fill()?;
    let filled = Instant::now();
    // Writes until a write fails, so that it is known that the disk was full; a server that ended cannot be asked.
    let mut felt = None;
    while felt.is_none() && filled.elapsed() < Duration::from_mins(1) {
        let write = "CREATE TABLE disk_probe AS SELECT repeat('x', 500) FROM generate_series(1, 20000)";
        match stage.pool().await {
            Ok(pool) => {
                felt = sqlx::raw_sql(write).execute(&pool).await.err().map(|error| error.to_string());
                // It may not exist.
                drop(sqlx::raw_sql("DROP TABLE IF EXISTS disk_probe").execute(&pool).await);
            }
            Err(error) => felt = Some(format!("{error:#}")),
        }
        if felt.is_none() {
            stage.disk.as_ref().context("no disk")?.fill()?;
        }
    }
    let felt = felt.context("the disk was full, and the database went on writing")?;
    eprintln!("the database says: {felt}");
    tokio::time::sleep(lasts).await;
    stage.disk.as_ref().context("no disk")?.empty()?;
    let began = Instant::now();
    while stage.pool().await.is_err() {
        ensure!(began.elapsed() < BACK, "the database did not come back after its disk had room again");
        if !stage.postgres.is_running() {
            eprintln!("the database ended over it; it is started again");
            stage.postgres.stop().await.unwrap_or_default();
            stage.postgres.again().await?;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

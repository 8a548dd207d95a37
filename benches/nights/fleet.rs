//! The processes of a night, started again by themselves as a service manager would.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::sync::Mutex;

use crate::daemon::{Daemon, Recipe};

const LOOK: Duration = Duration::from_millis(250);
/// Before a process that ended is started again.
const PAUSE: Duration = Duration::from_secs(1);
const START_LIMIT: Duration = Duration::from_secs(90);
/// The exit status of a daemon that finds a server away.
const SERVER_AWAY: i32 = 69;

/// One place in the fleet.
#[derive(Debug)]
struct Place {
    daemon: Daemon,
    is_wanted: bool,
    empty_since: Option<Instant>,
}

/// What happened to processes without anybody's doing.
#[derive(Debug, Default)]
struct Record {
    /// Ended by themselves after they were ready, or before it for another reason than a server that was away.
    crashes: Vec<String>,
    /// Ended before they were ready for want of a server, which is what they are to do.
    failed_starts: u64,
}

impl Record {
    fn ended(&mut self, number: usize, status: ExitStatus, was_ready: bool, log_end: &str) {
        // A server that is away is why a start may fail, and the only reason.
        if was_ready || status.code() != Some(SERVER_AWAY) {
            eprintln!("process {number} ended by itself with {status}: {log_end}");
            self.crashes.push(format!("process {number} ended by itself with {status}: {log_end}"));
        } else {
            self.failed_starts += 1;
        }
    }
}

/// Shared between the night and what tends the fleet meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    places: Arc<Vec<Mutex<Place>>>,
    record: Arc<Mutex<Record>>,
}

impl Fleet {
    pub(crate) fn new(recipes: Vec<Recipe>) -> Self {
        let place = |recipe| Mutex::new(Place { daemon: Daemon::new(recipe), is_wanted: false, empty_since: None });
        Self { places: Arc::new(recipes.into_iter().map(place).collect()), record: Arc::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Starts all of them, one by one.
    pub(crate) async fn start(&self) -> anyhow::Result<()> {
        for number in 0..self.len() {
            self.start_one(number).await?;
            self.ready(number).await?;
        }
        Ok(())
    }

    pub(crate) async fn start_one(&self, number: usize) -> anyhow::Result<()> {
        let mut place = self.places[number].lock().await;
        place.is_wanted = true;
        place.daemon.start().await
    }

    /// Waits until one is ready.
    pub(crate) async fn ready(&self, number: usize) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            {
                let mut place = self.places[number].lock().await;
                if place.daemon.is_ready().await {
                    place.daemon.was_ready = true;
                    return Ok(());
                }
                let end = place.daemon.log_end();
                ensure!(began.elapsed() < START_LIMIT, "process {number} is not ready after {START_LIMIT:?}: {end}");
                if let Some(status) = place.daemon.has_ended()? {
                    place.empty_since = Some(Instant::now());
                    ensure!(place.is_wanted, "process {number} ended with {status}: {end}");
                    self.record.lock().await.ended(number, status, place.daemon.was_ready, &end);
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Starts again whatever ended, until it is stopped. Safe to be cut off.
    pub(crate) async fn tend(&self) -> anyhow::Result<()> {
        loop {
            for (number, place) in self.places.iter().enumerate() {
                let mut place = place.lock().await;
                let was_ready = place.daemon.was_ready;
                if let Some(status) = place.daemon.has_ended()? {
                    place.empty_since = Some(Instant::now());
                    self.record.lock().await.ended(number, status, was_ready, &place.daemon.log_end());
                }
                let is_due = place.empty_since.is_none_or(|since| since.elapsed() >= PAUSE);
                if place.is_wanted && place.daemon.pid().is_none() && is_due {
                    place.daemon.start().await?;
                }
                if place.daemon.pid().is_some() && !was_ready && place.daemon.is_ready().await {
                    place.daemon.was_ready = true;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Kills one; whoever tends the fleet starts it again.
    pub(crate) async fn kill(&self, number: usize) -> anyhow::Result<()> {
        let mut place = self.places[number].lock().await;
        place.daemon.kill()?;
        place.empty_since = Some(Instant::now());
        Ok(())
    }

    /// Stops one in order; it stays away until it is started.
    pub(crate) async fn stop_one(&self, number: usize) -> anyhow::Result<()> {
        let mut place = self.places[number].lock().await;
        place.is_wanted = false;
        place.daemon.stop().await
    }

    /// Stops all of them in order, at the same time.
    pub(crate) async fn stop(&self) -> anyhow::Result<()> {
        let stops = (0..self.len()).map(|number| self.stop_one(number));
        futures::future::join_all(stops).await.into_iter().collect()
    }

    /// The program that the process at a place runs from its next start on.
    pub(crate) async fn set_program(&self, number: usize, program: PathBuf) {
        self.places[number].lock().await.daemon.recipe.program = program;
    }

    /// The sum of a metric over all processes; none where one does not answer.
    pub(crate) async fn metric(&self, name: &str) -> Option<f64> {
        let mut sum = 0.0;
        for place in self.places.iter() {
            sum += place.lock().await.daemon.metric(name).await.ok()?;
        }
        Some(sum)
    }

    /// Asks each process something.
    pub(crate) async fn each<T>(&self, ask: impl Fn(&Daemon) -> T) -> Vec<T> {
        let mut answers = Vec::new();
        for place in self.places.iter() {
            answers.push(ask(&place.lock().await.daemon));
        }
        answers
    }

    /// What ended by itself, and how often a start found a server away.
    pub(crate) async fn record(&self) -> (Vec<String>, u64) {
        let record = self.record.lock().await;
        (record.crashes.clone(), record.failed_starts)
    }
}

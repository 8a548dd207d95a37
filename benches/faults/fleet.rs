//! The daemon's processes, restarted after they end, as by a service manager.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::sync::Mutex;

use crate::process::{Daemon, START_TIMEOUT, Setup};

const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Before a process that ended is started again.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// The exit status of a daemon that cannot reach a server.
const SERVER_DOWN: i32 = 69;

/// One place in the fleet.
#[derive(Debug)]
struct Place {
    daemon: Daemon,
    is_wanted: bool,
    empty_since: Option<Instant>,
}

/// Ends of processes that no fault caused.
#[derive(Debug, Default)]
struct Record {
    /// After they were ready, or before it for another reason than a server that was down.
    crashes: Vec<String>,
    /// Before they were ready because a server was down, which is correct.
    failed_starts: u64,
}

impl Record {
    fn ended(&mut self, number: usize, status: ExitStatus, was_ready: bool, log_end: &str) {
        if was_ready || status.code() != Some(SERVER_DOWN) {
            let log_end = log_end.replace('\n', " | ");
            self.crashes.push(format!("process {number} ended by itself with {status}: {log_end}"));
        } else {
            self.failed_starts += 1;
        }
    }
}

/// Shared between a run and the restarts.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    places: Arc<Vec<Mutex<Place>>>,
    record: Arc<Mutex<Record>>,
}

impl Fleet {
    pub(crate) fn new(setups: Vec<Setup>) -> Self {
        let place = |setup| Mutex::new(Place { daemon: Daemon::new(setup), is_wanted: false, empty_since: None });
        Self { places: Arc::new(setups.into_iter().map(place).collect()), record: Arc::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Starts all of them, one by one.
    pub(crate) async fn start(&self) -> anyhow::Result<()> {
        for number in 0..self.len() {
            self.start_one(number).await?;
            self.wait_until_ready(number).await?;
        }
        Ok(())
    }

    pub(crate) async fn start_one(&self, number: usize) -> anyhow::Result<()> {
        let mut place = self.places[number].lock().await;
        place.is_wanted = true;
        place.daemon.spawn().await
    }

    pub(crate) async fn wait_until_ready(&self, number: usize) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            {
                let mut place = self.places[number].lock().await;
                if place.daemon.is_ready().await {
                    place.daemon.was_ready = true;
                    return Ok(());
                }
                let end = place.daemon.log_end();
                ensure!(
                    began.elapsed() < START_TIMEOUT,
                    "process {number} is not ready after {START_TIMEOUT:?}: {end}"
                );
                if let Some(status) = place.daemon.exit_status()? {
                    place.empty_since = Some(Instant::now());
                    ensure!(place.is_wanted, "process {number} ended with {status}: {end}");
                    self.record.lock().await.ended(number, status, place.daemon.was_ready, &end);
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Restarts processes that have ended, until it is cancelled.
    pub(crate) async fn restart_ended(&self) -> anyhow::Result<()> {
        loop {
            for (number, place) in self.places.iter().enumerate() {
                let mut place = place.lock().await;
                let was_ready = place.daemon.was_ready;
                if let Some(status) = place.daemon.exit_status()? {
                    place.empty_since = Some(Instant::now());
                    self.record.lock().await.ended(number, status, was_ready, &place.daemon.log_end());
                }
                let is_due = place.empty_since.is_none_or(|since| since.elapsed() >= RESTART_DELAY);
                if place.is_wanted && place.daemon.pid().is_none() && is_due {
                    place.daemon.spawn().await?;
                }
                if place.daemon.pid().is_some() && !was_ready && place.daemon.is_ready().await {
                    place.daemon.was_ready = true;
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Kills one; it is restarted after a moment.
    pub(crate) async fn kill(&self, number: usize) -> anyhow::Result<()> {
        let mut place = self.places[number].lock().await;
        place.daemon.kill()?;
        place.empty_since = Some(Instant::now());
        Ok(())
    }

    /// Stops one in order; it is not restarted.
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
        self.places[number].lock().await.daemon.setup.program = program;
    }

    /// The sum of a metric over all processes; none if one does not respond.
    pub(crate) async fn metric(&self, name: &str) -> Option<f64> {
        let mut sum = 0.0;
        for place in self.places.iter() {
            sum += place.lock().await.daemon.metric(name).await.ok()?;
        }
        Some(sum)
    }

    /// Calls a function with each process.
    pub(crate) async fn each<T>(&self, call: impl Fn(&Daemon) -> T) -> Vec<T> {
        let mut answers = Vec::new();
        for place in self.places.iter() {
            answers.push(call(&place.lock().await.daemon));
        }
        answers
    }

    /// Processes that ended by themselves, and the number of starts that found a server down.
    pub(crate) async fn record(&self) -> (Vec<String>, u64) {
        let record = self.record.lock().await;
        (record.crashes.clone(), record.failed_starts)
    }
}

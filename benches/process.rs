//! The real daemon as a child process, which a run may kill and start again at any moment.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::simulator::{Simulator, Target};

/// An embedded store builds its files at the first start.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(90);
/// Longer than the daemon's own grace period and its clean-up after it.
const STOP_TIMEOUT: Duration = Duration::from_secs(75);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Clock ticks of `/proc/<pid>/stat` in a second; the kernel shows this unit on every architecture we run on.
const TICKS_PER_SECOND: f64 = 100.0;
/// So high that no limit of the daemon is measured; requests a minute, the highest value that the configuration accepts.
pub(crate) const NO_LIMIT: &str = "1000000";
/// No models, because they would use most of the processor time.
pub(crate) const RULES: [&str; 3] =
    ["INFERENCE_STANCE=rules", "INFERENCE_EMBEDDER=hashed", "INFERENCE_RERANKER=lexical"];

pub(crate) type Environment = Vec<(String, String)>;

/// The settings of every daemon that uses a simulator: no limits, no real sites.
pub(crate) fn environment(simulator: &Simulator) -> Environment {
    let base = |target| simulator.base_url(target);
    [
        ("RUST_LOG", "warn".to_owned()),
        ("CORROBORATE_DATABASE_MIGRATE", "true".to_owned()),
        ("CORROBORATE_HTTP_REQUESTS_PER_MINUTE", NO_LIMIT.to_owned()),
        ("FACTCHECK_GOOGLE_BASE_URL", base(Target::GoogleFactCheck)),
        ("FACTCHECK_GOOGLE_API_KEY", "simulated".to_owned()),
        ("FACTCHECK_GOOGLE_RPM", NO_LIMIT.to_owned()),
        ("ENRICHMENT_SEARXNG_BASE_URL", base(Target::Searxng)),
        ("ENRICHMENT_SEARXNG_RPM", NO_LIMIT.to_owned()),
        ("ENRICHMENT_FEEDS_ENABLED", "false".to_owned()),
        ("FETCH_ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
        // The overload rules would answer a burst with less work.
        ("ENRICHMENT_MAX_QUEUE_LENGTH", "1000000".to_owned()),
        ("ENRICHMENT_MAX_LAG", "24h".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// Reads `NAME=VALUE` pairs.
pub(crate) fn pairs<'a>(pairs: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Environment> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').with_context(|| format!("--env {pair}: NAME=VALUE is expected"))?;
        anyhow::Ok((name.to_owned(), value.to_owned()))
    };
    pairs.into_iter().map(pair).collect()
}

/// The start command of a process.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    pub(crate) environment: Environment,
    /// The process appends its output to this file.
    log: PathBuf,
}

impl Setup {
    pub(crate) fn new(name: &str, environment: Environment) -> Self {
        Self { program: PathBuf::from(env!("CARGO_BIN_EXE_corroborate")), environment, log: log(name) }
    }
}

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{name}.log"))
}

/// Removes the log of an earlier run, if there is one.
pub(crate) fn remove_log(name: &str) {
    drop(std::fs::remove_file(log(name)));
}

/// A process, or the place of one; killed when dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) setup: Setup,
    child: Option<Child>,
    address: String,
    /// The process was ready since its last start.
    pub(crate) was_ready: bool,
}

impl Daemon {
    pub(crate) fn new(setup: Setup) -> Self {
        Self { setup, child: None, address: String::new(), was_ready: false }
    }

    /// Starts a process and waits until it is ready; with the time from its start to the first 200 at `/readyz`.
    pub(crate) async fn start(setup: Setup) -> anyhow::Result<(Self, Duration)> {
        let mut daemon = Self::new(setup);
        let begin = Instant::now();
        daemon.spawn().await?;
        while !daemon.is_ready().await {
            if let Some(status) = daemon.exit_status()? {
                bail!("the daemon ended with {status} before it was ready; its log ends:\n{}", daemon.log_end());
            }
            let end = daemon.log_end();
            ensure!(begin.elapsed() < START_TIMEOUT, "not ready after {START_TIMEOUT:?}; the log ends:\n{end}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        daemon.was_ready = true;
        Ok((daemon, begin.elapsed()))
    }

    /// Starts the process and does not wait for it.
    pub(crate) async fn spawn(&mut self) -> anyhow::Result<()> {
        // Taken and given back: the daemon binds it a moment later.
        self.address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string();
        let Setup { program, environment, log } = &self.setup;
        let output = File::options().create(true).append(true).open(log);
        let output = output.with_context(|| format!("opening {}", log.display()))?;
        let mut command = Command::new(program);
        command.arg("serve").env_clear().stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        command.env("PATH", "/usr/bin:/bin").env("HOME", env!("CARGO_TARGET_TMPDIR")).env("HTTP_BIND", &self.address);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        self.child = Some(command.spawn().with_context(|| format!("starting {}", program.display()))?);
        self.was_ready = false;
        Ok(())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The exit status of a process that has ended; from then on its place is empty.
    pub(crate) fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait()?;
        if status.is_some() {
            self.child = None;
        }
        Ok(status)
    }

    /// Ends the process at once, as the kernel would for want of memory.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().context("killing a daemon")?;
            child.wait().context("waiting for a killed daemon")?;
        }
        Ok(())
    }

    /// Sends SIGTERM and waits for the end. A process that does not stop is killed, and that is an error.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        if !self.was_ready {
            // A process that does not handle signals yet cannot stop in order.
            return self.kill();
        }
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().context("sending SIGTERM")?;
        let began = Instant::now();
        while began.elapsed() < STOP_TIMEOUT {
            match self.exit_status()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("a stopped daemon ended with {status}; its log ends:\n{}", self.log_end()),
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        self.kill()?;
        bail!("a daemon did not stop within {STOP_TIMEOUT:?} of SIGTERM; its log ends:\n{}", self.log_end());
    }

    /// The last lines of its log.
    pub(crate) fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.setup.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }

    /// A plain HTTP/1.0 request; status and body.
    pub(crate) async fn request(&self, method: &str, path: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let exchange = async {
            let mut stream = TcpStream::connect(&self.address).await?;
            let request = format!(
                "{method} {path} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/x-ndjson\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                self.address,
                body.len()
            );
            stream.write_all(request.as_bytes()).await?;
            let mut response = Vec::new();
            stream.read_to_end(&mut response).await?;
            anyhow::Ok(response)
        };
        let response = tokio::time::timeout(RESPONSE_TIMEOUT, exchange).await;
        let response = response.with_context(|| format!("the daemon does not respond to {path}"))??;
        let response = String::from_utf8_lossy(&response);
        let (head, body) = response.split_once("\r\n\r\n").context("a response without an end of headers")?;
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        Ok((status.context("a response without a status")?, body.to_owned()))
    }

    pub(crate) async fn is_ready(&self) -> bool {
        self.child.is_some() && self.request("GET", "/readyz", "").await.is_ok_and(|(status, _)| status == 200)
    }

    /// The sum of a metric over its labels; a part of the labels may be named.
    pub(crate) async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let (status, text) = self.request("GET", "/metrics", "").await?;
        ensure!(status == 200, "/metrics answers {status}");
        let name = format!("corroborate_{name}");
        let lines = text.lines().filter(|line| line.starts_with(&name));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Resident memory now and its peak, MB (10⁶ bytes); none without `/proc`.
    pub(crate) fn memory(&self) -> Option<[f64; 2]> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()?)).ok()?;
        let megabytes = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
        };
        Some([megabytes("VmRSS:")?, megabytes("VmHWM:")?])
    }

    /// The number of open files; none without `/proc`.
    pub(crate) fn open_files(&self) -> Option<usize> {
        Some(std::fs::read_dir(format!("/proc/{}/fd", self.pid()?)).ok()?.count())
    }

    /// Processor seconds so far; zero without `/proc`.
    pub(crate) fn processor_seconds(&self) -> f64 {
        processor_seconds(&self.pid().unwrap_or_default().to_string())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Only if a run ended early: its own error is the one that counts.
        drop(self.kill());
    }
}

/// Processor seconds of a process (`self`: this one), children not included.
pub(crate) fn processor_seconds(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in brackets may contain spaces; the fields are counted behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: f64 = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS_PER_SECOND
}

//! The real daemon as a child process.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::simulator::{Simulator, Target};

/// So high that no limit of ours is what is measured; requests a minute, and the most the configuration takes.
const NO_LIMIT: &str = "1000000";
/// An embedded store builds its files at the first start.
const START_LIMIT: Duration = Duration::from_secs(90);
/// Longer than the daemon's own grace period.
const STOP_LIMIT: Duration = Duration::from_mins(1);
/// Clock ticks of `/proc/<pid>/stat` in a second; the kernel shows this unit on every architecture we run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What the daemon is to use.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    /// In words, for the log's name.
    pub(crate) name: &'static str,
    pub(crate) amqp: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) data_directory: Option<PathBuf>,
    pub(crate) concurrency: Option<u16>,
    /// `NAME=VALUE`.
    pub(crate) environment: Vec<String>,
}

/// A running daemon; killed when dropped without [`Daemon::stop`].
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    address: String,
    log: PathBuf,
    /// From the start of the process to its first 200 at `/readyz`.
    pub(crate) start: Duration,
}

impl Daemon {
    pub(crate) async fn start(setup: &Setup, simulator: &Simulator) -> anyhow::Result<Self> {
        // Taken and given back: the daemon binds it a moment later.
        let address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string();
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("throughput-{}.log", setup.name));
        let output = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_corroborate"));
        command.arg("serve").env_clear().stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let base = |target| simulator.base_url(target);
        command
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", env!("CARGO_TARGET_TMPDIR"))
            .env("RUST_LOG", "warn")
            .env("CORROBORATE_DATABASE_MIGRATE", "true")
            .env("HTTP_BIND", &address)
            // Its readiness and its counters are asked for many times a second.
            .env("CORROBORATE_HTTP_REQUESTS_PER_MINUTE", NO_LIMIT)
            .env("FACTCHECK_GOOGLE_BASE_URL", base(Target::GoogleFactCheck))
            .env("FACTCHECK_GOOGLE_API_KEY", "simulated")
            .env("FACTCHECK_GOOGLE_RPM", NO_LIMIT)
            .env("ENRICHMENT_GDELT_BASE_URL", base(Target::Gdelt))
            .env("ENRICHMENT_GDELT_RPM", NO_LIMIT)
            .env("ENRICHMENT_SEARXNG_BASE_URL", base(Target::Searxng))
            .env("ENRICHMENT_SEARXNG_RPM", NO_LIMIT)
            .env("ENRICHMENT_BRAVE_BASE_URL", base(Target::Brave))
            .env("ENRICHMENT_SERPAPI_BASE_URL", base(Target::SerpApi))
            .env("ENRICHMENT_EVENTREGISTRY_BASE_URL", base(Target::EventRegistry))
            .env("ENRICHMENT_NEWSAPI_BASE_URL", base(Target::NewsApi))
            .env("ENRICHMENT_PROVIDERS", "gdelt,eventregistry,newsapi,opensearch")
            // Real sites are not asked from a measurement.
            .env("ENRICHMENT_FEEDS_ENABLED", "false")
            .env("FETCH_ALLOW_PRIVATE_ADDRESSES", "true")
            // A burst is what is measured; the overload rules would answer it with less work.
            .env("ENRICHMENT_MAX_QUEUE_LENGTH", "1000000")
            .env("ENRICHMENT_MAX_LAG", "24h");
        let optional = [
            ("AMQP_URL", setup.amqp.clone()),
            ("DATABASE_URL", setup.database.clone()),
            ("CORROBORATE_DATA_DIR", setup.data_directory.as_ref().map(|folder| folder.display().to_string())),
            ("WORKER_CONCURRENCY", setup.concurrency.map(|number| number.to_string())),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        for pair in &setup.environment {
            let (name, value) =
                pair.split_once('=').with_context(|| format!("--env {pair}: NAME=VALUE is expected"))?;
            command.env(name, value);
        }
        let begin = Instant::now();
        let child = command.spawn().context("starting the daemon")?;
        let mut daemon = Self { child, address, log, start: Duration::ZERO };
        daemon.wait_until_ready(begin).await?;
        daemon.start = begin.elapsed();
        Ok(daemon)
    }

    async fn wait_until_ready(&mut self, begin: Instant) -> anyhow::Result<()> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                bail!("the daemon ended with {status} before it was ready; its log ends:\n{}", self.log_end());
            }
            if let Ok((200, _)) = self.request("GET", "/readyz", "").await {
                return Ok(());
            }
            ensure!(
                begin.elapsed() < START_LIMIT,
                "the daemon is not ready after {START_LIMIT:?}; its log ends:\n{}",
                self.log_end()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The last lines the daemon wrote.
    pub(crate) fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// A plain HTTP/1.0 exchange with the daemon: status and body.
    pub(crate) async fn request(&self, method: &str, path: &str, body: &str) -> anyhow::Result<(u16, String)> {
        let mut stream = self.send(method, path, &[("Content-Type", "application/x-ndjson")], body).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").context("the daemon's answer has no end of headers")?;
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        Ok((status.context("the daemon's answer has no status")?, body.to_owned()))
    }

    /// A request whose answer is still to be read, up to the end of the connection.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).await?;
        let mut head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n")?;
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        Ok(stream)
    }

    /// Items finished so far, by the daemon's own count.
    pub(crate) async fn finished_items(&self) -> anyhow::Result<u64> {
        Ok(self.counted("item_duration_seconds_count").await? as u64)
    }

    /// Clean-ups that the process has been through so far.
    pub(crate) async fn clean_ups(&self) -> anyhow::Result<f64> {
        self.counted("job_runs_total{job=\"cleanup\",outcome=\"ok\"").await
    }

    /// Texts that the embedder and pairs that the stance model of the process were run on so far. What was answered from
    /// memory is not among them.
    pub(crate) async fn model_rows(&self) -> anyhow::Result<[f64; 2]> {
        let embedded = self.counted("model_wait_seconds_count{model=\"embedder\"").await?;
        Ok([embedded, self.counted("model_wait_seconds_count{model=\"stance\"").await?])
    }

    /// The sum of what `/metrics` says of a metric of ours, over its labels.
    async fn counted(&self, metric: &str) -> anyhow::Result<f64> {
        let (status, text) = self.request("GET", "/metrics", "").await?;
        ensure!(status == 200, "/metrics answers {status}");
        let name = format!("corroborate_{metric}");
        let lines = text.lines().filter(|line| line.starts_with(&name));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Resident memory now and at its highest, in MB (10⁶ bytes); zeros where there is no `/proc`.
    pub(crate) fn memory(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let megabytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: f64 = line.trim_start_matches(':').split_whitespace().next()?.parse().ok()?;
            Some(kibibytes * 1024.0 / 1e6)
        };
        (megabytes("VmRSS").unwrap_or(0.0), megabytes("VmHWM").unwrap_or(0.0))
    }

    /// Processor seconds used so far; zero where there is no `/proc`.
    pub(crate) fn processor_seconds(&self) -> f64 {
        processor_seconds(&self.child.id().to_string())
    }

    /// Asks it to stop and waits for it.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().context("sending SIGTERM")?;
        let begin = Instant::now();
        while begin.elapsed() < STOP_LIMIT {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the daemon ended with {status}; its log ends:\n{}", self.log_end());
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("the daemon did not stop within {STOP_LIMIT:?} of SIGTERM; its log ends:\n{}", self.log_end());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Already gone after `stop`; then there is nothing to kill and nothing to say.
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Processor seconds of a process (`self`: this one), children not included.
pub(crate) fn processor_seconds(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in brackets may hold spaces; the fields are counted behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: f64 = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS_PER_SECOND
}

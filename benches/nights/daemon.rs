//! One process of the daemon, which may be killed at any moment and is started again by whoever tends it.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Longer than the daemon's grace and what it does behind it.
const STOP_LIMIT: Duration = Duration::from_secs(75);
/// An answer about itself costs the daemon nothing but a moment, also on a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// What a process is started with.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) program: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
    /// What it writes is added to this file.
    pub(crate) log: PathBuf,
}

/// A process, or the place of one.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) recipe: Recipe,
    child: Option<Child>,
    address: String,
    /// It has said that it is ready since its last start.
    pub(crate) was_ready: bool,
    pub(crate) started_at: Instant,
}

impl Daemon {
    pub(crate) fn new(recipe: Recipe) -> Self {
        Self { recipe, child: None, address: String::new(), was_ready: false, started_at: Instant::now() }
    }

    /// Starts the process and does not wait for it.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        // Taken and given back: the daemon binds it a moment later.
        self.address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string();
        let log = &self.recipe.log;
        let output = File::options().create(true).append(true).open(log);
        let output = output.with_context(|| format!("opening {}", log.display()))?;
        let mut command = Command::new(&self.recipe.program);
        command.arg("serve").env_clear().stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        command.env("PATH", "/usr/bin:/bin").env("HOME", env!("CARGO_TARGET_TMPDIR")).env("HTTP_BIND", &self.address);
        command.envs(self.recipe.environment.iter().map(|(name, value)| (name, value)));
        let program = self.recipe.program.display();
        self.child = Some(command.spawn().with_context(|| format!("starting {program}"))?);
        self.was_ready = false;
        self.started_at = Instant::now();
        Ok(())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// How it ended, where it has; from then on its place is empty.
    pub(crate) fn has_ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait()?;
        if status.is_some() {
            self.child = None;
        }
        Ok(status)
    }

    /// Ends it at once, as the kernel would for want of memory.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().context("killing a daemon")?;
            child.wait().context("waiting for a killed daemon")?;
        }
        Ok(())
    }

    /// Asks it to stop and waits for it. One that does not is killed, and that is an error.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        let Some(pid) = self.pid() else { return Ok(()) };
        if !self.was_ready {
            // Before it listens to signals it ends as one that was killed.
            return self.kill();
        }
        Command::new("kill").args(["-TERM", &pid.to_string()]).status().context("sending SIGTERM")?;
        let began = Instant::now();
        while began.elapsed() < STOP_LIMIT {
            match self.has_ended()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    bail!("a daemon that was told to stop ended with {status}; its log: {}", self.log_end())
                }
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        self.kill()?;
        bail!("a daemon did not stop within {STOP_LIMIT:?} of SIGTERM; its log: {}", self.log_end());
    }

    /// The last lines it wrote.
    pub(crate) fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.recipe.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(3)..].join(" | ")
    }

    /// A plain HTTP/1.0 request; status and body.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let exchange = async {
            let mut stream = TcpStream::connect(&self.address).await?;
            let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
            stream.write_all(request.as_bytes()).await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            anyhow::Ok(answer)
        };
        let answer = tokio::time::timeout(ANSWER_LIMIT, exchange).await.context("the daemon does not answer")??;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer without an end of headers")?;
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        Ok((status.context("an answer without a status")?, body.to_owned()))
    }

    pub(crate) async fn is_ready(&self) -> bool {
        self.child.is_some() && self.get("/readyz").await.is_ok_and(|(status, _)| status == 200)
    }

    /// The sum of a metric over its labels.
    pub(crate) async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let (_, text) = self.get("/metrics").await?;
        let name = format!("corroborate_{name}");
        let lines = text.lines().filter(|line| line.starts_with(&name));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Resident memory, MB (10⁶ bytes).
    pub(crate) fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
    }

    /// Open files, and the sockets among them.
    pub(crate) fn open_files(&self) -> Option<(usize, usize)> {
        let links = std::fs::read_dir(format!("/proc/{}/fd", self.pid()?)).ok()?.flatten();
        let links: Vec<PathBuf> = links.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
        let sockets = links.iter().filter(|link| link.to_string_lossy().starts_with("socket:")).count();
        Some((links.len(), sockets))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Only where a night ended early: nobody is left to hear of a failure.
        drop(self.kill());
    }
}

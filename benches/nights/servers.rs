//! Private servers that a night may stop, kill and start again, driven by the scripts in `tests/services`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Runs one of the scripts to its end and gives what it printed.
async fn script(name: &str, arguments: Vec<String>, environment: Vec<(String, String)>) -> anyhow::Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/services").join(name);
    let what = format!("{name} {}", arguments.join(" "));
    let run = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(path);
        command.args(arguments).envs(environment).stdin(Stdio::null()).output()
    });
    let done = run.await?.with_context(|| what.clone())?;
    if !done.status.success() {
        bail!("{what} ended with {}: {}", done.status, String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// The port of an address such as `amqp://user:password@127.0.0.1:5672/%2f`.
fn port_of(url: &str) -> anyhow::Result<u16> {
    let behind = url.rsplit_once('@').map_or(url, |(_, behind)| behind);
    let port = behind.split('/').next().and_then(|host| host.rsplit_once(':')).map(|(_, port)| port);
    port.and_then(|port| port.parse().ok()).with_context(|| format!("{url} has no port"))
}

/// The same address at another port of this machine.
pub(crate) fn at_port(url: &str, port: u16) -> anyhow::Result<String> {
    Ok(url.replace(&format!(":{}/", port_of(url)?), &format!(":{port}/")))
}

/// A Postgres server with its data in a folder of its own.
#[derive(Debug)]
pub(crate) struct Postgres {
    folder: PathBuf,
    environment: Vec<(String, String)>,
    pub(crate) url: String,
    pub(crate) port: u16,
}

impl Postgres {
    /// Starts a new server, durable as in production. With a clock file its time can be shifted.
    pub(crate) async fn start(folder: PathBuf, clock: Option<&Clock>) -> anyhow::Result<Self> {
        let mut environment = vec![("TEST_PG_DURABLE".to_owned(), "1".to_owned())];
        if let Some(clock) = clock {
            environment.push(("TEST_PG_PRELOAD".to_owned(), clock.library.display().to_string()));
            environment.extend(clock.settings());
        }
        let mut server = Self { folder, environment, url: String::new(), port: 0 };
        server.again().await?;
        server.port = port_of(&server.url)?;
        Ok(server)
    }

    async fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        arguments.insert(1, self.folder.display().to_string());
        script("postgres.sh", arguments, self.environment.clone()).await
    }

    /// Starts the stopped server on its port.
    pub(crate) async fn again(&mut self) -> anyhow::Result<()> {
        self.url = self.run(&["start"]).await?;
        Ok(())
    }

    /// Lets nobody finish what they are at, and writes nothing more: the next start recovers from the log.
    pub(crate) async fn crash(&self) -> anyhow::Result<()> {
        self.run(&["stop", "immediate"]).await.map(drop)
    }

    pub(crate) async fn stop(&self) -> anyhow::Result<()> {
        self.run(&["stop", "fast"]).await.map(drop)
    }

    /// Whether the server's own process is there.
    pub(crate) fn is_running(&self) -> bool {
        let text = std::fs::read_to_string(self.folder.join("data/postmaster.pid")).unwrap_or_default();
        let pid = text.lines().next().unwrap_or_default().trim().to_owned();
        !pid.is_empty() && Path::new("/proc").join(pid).exists()
    }
}

/// A node of `RabbitMQ`.
#[derive(Debug)]
pub(crate) struct Rabbit {
    folder: PathBuf,
    /// The folder of the node whose cluster it joined.
    beside: Option<PathBuf>,
    pub(crate) url: String,
    pub(crate) port: u16,
}

impl Rabbit {
    pub(crate) async fn start(folder: PathBuf) -> anyhow::Result<Self> {
        Self::started(folder, None).await
    }

    /// A further node of a cluster.
    pub(crate) async fn join(folder: PathBuf, other: &Self) -> anyhow::Result<Self> {
        Self::started(folder, Some(other.folder.clone())).await
    }

    async fn started(folder: PathBuf, beside: Option<PathBuf>) -> anyhow::Result<Self> {
        let mut node = Self { folder, beside, url: String::new(), port: 0 };
        node.again().await?;
        node.port = port_of(&node.url)?;
        Ok(node)
    }

    async fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        let mut arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        arguments.insert(1, self.folder.display().to_string());
        script("rabbitmq.sh", arguments, Vec::new()).await
    }

    /// Starts the node, with its ports and data where it ran before.
    pub(crate) async fn again(&mut self) -> anyhow::Result<()> {
        self.url = match self.beside.as_ref().filter(|_| self.url.is_empty()) {
            Some(other) => self.run(&["join", &other.display().to_string()]).await?,
            None => self.run(&["start"]).await?,
        };
        Ok(())
    }

    pub(crate) async fn kill(&self) -> anyhow::Result<()> {
        self.run(&["kill"]).await.map(drop)
    }

    /// Stops the node's process in order; its port mapper stays for the others.
    pub(crate) async fn stop(&self) -> anyhow::Result<()> {
        self.run(&["ctl", "stop"]).await.map(drop)
    }

    /// What `rabbitmqctl` says.
    pub(crate) async fn ctl(&self, words: &[&str]) -> anyhow::Result<String> {
        self.run(&[&["ctl"], words].concat()).await
    }
}

/// A shifted clock: a preloaded library (libfaketime) that reads the shift from a file. Only the time of day is shifted, not
/// the clock that spans are measured with: that one never jumps on a real machine either.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// None where the library is not installed.
    pub(crate) fn new(folder: &Path, name: &str) -> anyhow::Result<Option<Self>> {
        let Some(library) = library() else { return Ok(None) };
        let clock = Self { library, file: folder.join(format!("{name}.clock")) };
        clock.shift(0)?;
        Ok(Some(clock))
    }

    /// Seconds ahead, or behind where negative. It is seen within a second.
    pub(crate) fn shift(&self, seconds: i64) -> anyhow::Result<()> {
        // Written beside and moved, so that nobody reads half of it.
        let beside = self.file.with_extension("next");
        std::fs::write(&beside, format!("{seconds:+}\n"))?;
        std::fs::rename(&beside, &self.file).context("shifting a clock")
    }

    fn settings(&self) -> Vec<(String, String)> {
        [
            ("FAKETIME_TIMESTAMP_FILE", self.file.display().to_string()),
            ("FAKETIME_CACHE_DURATION", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_DISABLE_SHM", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// What a process is started with to have this clock.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        [vec![("LD_PRELOAD".to_owned(), self.library.display().to_string())], self.settings()].concat()
    }
}

/// Where the distributions put the library.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path().join("faketime"));
    folders
        .chain([PathBuf::from("/usr/lib/faketime")])
        .map(|folder| folder.join("libfaketimeMT.so.1"))
        .find(|path| path.exists())
}

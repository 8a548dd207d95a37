//! Private servers that a run may stop, kill and start again with the scripts in `tests/services`; their clocks and disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

/// Runs one of the scripts, with the server's folder behind the first word, and returns its output.
async fn script(
    name: &str,
    folder: &Path,
    words: &[&str],
    environment: Vec<(String, String)>,
) -> anyhow::Result<String> {
    let mut arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    arguments.insert(1, folder.display().to_string());
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
        server.restart().await?;
        server.port = port_of(&server.url)?;
        Ok(server)
    }

    async fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        script("postgres.sh", &self.folder, words, self.environment.clone()).await
    }

    /// Starts the stopped server on its port.
    pub(crate) async fn restart(&mut self) -> anyhow::Result<()> {
        self.url = self.run(&["start"]).await?;
        Ok(())
    }

    /// Stops it in one of `pg_ctl`'s modes; after `immediate` the next start recovers from the log.
    pub(crate) async fn stop(&self, mode: &str) -> anyhow::Result<()> {
        self.run(&["stop", mode]).await.map(drop)
    }

    /// Whether the server's own process exists.
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
    pub(crate) url: String,
    pub(crate) port: u16,
}

impl Rabbit {
    /// Starts a node, as a further one of another's cluster if there is another.
    pub(crate) async fn start(folder: PathBuf, other: Option<&Self>) -> anyhow::Result<Self> {
        let mut node = Self { folder, url: String::new(), port: 0 };
        node.url = match other {
            Some(other) => node.run(&["join", &other.folder.display().to_string()]).await?,
            None => node.run(&["start"]).await?,
        };
        node.port = port_of(&node.url)?;
        Ok(node)
    }

    async fn run(&self, words: &[&str]) -> anyhow::Result<String> {
        script("rabbitmq.sh", &self.folder, words, Vec::new()).await
    }

    /// Starts the node, with its ports and data where it ran before.
    pub(crate) async fn restart(&mut self) -> anyhow::Result<()> {
        self.url = self.run(&["start"]).await?;
        Ok(())
    }

    pub(crate) async fn kill(&self) -> anyhow::Result<()> {
        self.run(&["kill"]).await.map(drop)
    }

    /// Stops the node's process in order; its port mapper stays for the others.
    pub(crate) async fn stop(&self) -> anyhow::Result<()> {
        self.run(&["ctl", "stop"]).await.map(drop)
    }

    /// The output of `rabbitmqctl`.
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
    /// None if the library is not installed.
    pub(crate) fn new(folder: &Path, name: &str) -> anyhow::Result<Option<Self>> {
        let Some(library) = library() else { return Ok(None) };
        let clock = Self { library, file: folder.join(format!("{name}.clock")) };
        clock.shift(0)?;
        Ok(Some(clock))
    }

    /// Seconds ahead, or behind where negative. It is seen within a second.
    pub(crate) fn shift(&self, seconds: i64) -> anyhow::Result<()> {
        // Written to another file and moved, so that no process reads half of it.
        let next = self.file.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}\n"))?;
        std::fs::rename(&next, &self.file).context("shifting a clock")
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

    /// The environment of a process with this clock.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        [vec![("LD_PRELOAD".to_owned(), self.library.display().to_string())], self.settings()].concat()
    }
}

/// The path at which the distributions install the library.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path().join("faketime"));
    folders
        .chain([PathBuf::from("/usr/lib/faketime")])
        .map(|folder| folder.join("libfaketimeMT.so.1"))
        .find(|path| path.exists())
}

/// The size of an empty server with its log.
const BASE_BYTES: u64 = 900 << 20;
/// Three times the measured size of an item with its pages.
const BYTES_PER_ITEM: u64 = 60 << 10;
/// A disk is full for Postgres when not even a few of its pages fit.
const FULL_BELOW: u64 = 32 << 10;

/// A small disk for Postgres, which can be full. `tests/bench` unmounts it at the end.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) folder: PathBuf,
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    let done = command.args(arguments).stdin(Stdio::null()).output().with_context(|| format!("running {program}"))?;
    ensure!(
        done.status.success(),
        "{program} {} ended with {}: {}",
        arguments.join(" "),
        done.status,
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(())
}

impl Disk {
    /// A mounted file with a file system in it; without loop devices, a file system in memory. Most often an error means
    /// that privileges are missing.
    pub(crate) fn mount(folder: &Path, items: u64) -> anyhow::Result<Self> {
        let (image, mounted) = (folder.join("disk.image"), folder.join("disk"));
        std::fs::create_dir_all(&mounted)?;
        let bytes = BASE_BYTES + items * BYTES_PER_ITEM;
        let (image, at) = (image.display().to_string(), mounted.display().to_string());
        let looped = std::fs::File::create(&image)
            .and_then(|file| file.set_len(bytes))
            .context("making a disk's file")
            // No blocks are reserved for root, whose files fill it.
            .and_then(|()| run("mkfs.ext4", &["-q", "-F", "-m", "0", &image]))
            .and_then(|()| run("mount", &["-o", "loop", &image, &at]));
        if let Err(reason) = looped {
            eprintln!("no loop device, so a file system in memory: {reason:#}");
            run("mount", &["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs", &at])?;
        }
        run("chmod", &["755", &at])?;
        Ok(Self { folder: mounted })
    }

    fn free(&self) -> anyhow::Result<u64> {
        let done =
            Command::new("df").args(["-B1", "--output=avail"]).arg(&self.folder).output().context("running df")?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        text.lines().last().and_then(|line| line.trim().parse().ok()).with_context(|| format!("df prints {text:?}"))
    }

    fn ballast(&self, number: u32) -> PathBuf {
        self.folder.join(format!("ballast.{number}"))
    }

    /// Leaves no room on it.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        for number in 0..8 {
            let free = self.free()?;
            if free < FULL_BELOW {
                break;
            }
            // A file needs blocks beyond its content, so the rest is filled with smaller files.
            let bytes = if number == 0 { free } else { free / 2 };
            let path = self.ballast(number).display().to_string();
            if run("fallocate", &["-l", &bytes.to_string(), &path]).is_err() {
                run("fallocate", &["-l", &(bytes / 2).max(4096).to_string(), &path])?;
            }
        }
        Ok(())
    }

    /// Makes room again.
    pub(crate) fn empty(&self) -> anyhow::Result<()> {
        for number in 0..8 {
            let path = self.ballast(number);
            if path.exists() {
                std::fs::remove_file(path).context("making room on the disk")?;
            }
        }
        Ok(())
    }
}

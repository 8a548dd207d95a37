//! The real program as a child process: the daemon, and commands beside it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longer than anything here takes on a busy machine of two cores.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks at something that is waited for.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Waits until something holds; says what it was when it never does.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let since = Instant::now();
    while !holds().await {
        assert!(since.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(LOOK).await;
    }
}

/// A running daemon. When dropped it is ended, and what it wrote is shown if the test failed.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

/// An answer of the daemon's.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The header lines as they came.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }
}

/// An address that was free a moment ago, on a loopback address of this process's own: tests run side by side, and on the
/// shared one another's daemon may take the port before ours does, and answer in its place.
pub(crate) fn free_address() -> SocketAddr {
    // Process numbers have 22 bits at most; the bit beside them keeps clear of 127.0.0.1.
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let own = Ipv4Addr::new(127, 64 | high & 63, middle, low);
    // Where only 127.0.0.1 is known, that one.
    let bound = TcpListener::bind((own, 0)).or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    bound.unwrap().local_addr().unwrap()
}

/// The program with a clean environment.
pub(crate) fn program(environment: &[(String, String)], arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corroborate"));
    command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", env!("CARGO_TARGET_TMPDIR"));
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// What a finished command left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Standard output; the command must have ended with 0.
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, 0, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        &self.stdout
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.ok()).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// Runs the program to its end, with something on its standard input.
pub(crate) async fn finish(environment: &[(String, String)], arguments: &[&str], stdin: &str) -> Finished {
    let mut command = program(environment, arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let stdin = stdin.to_owned();
    let run = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        // A command that reads nothing may have closed it already.
        drop(child.stdin.take().unwrap().write_all(stdin.as_bytes()));
        child.wait_with_output().unwrap()
    });
    let done = tokio::time::timeout(PATIENCE * 3, run).await.expect("the command ends").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Finished { code: done.status.code().unwrap_or(-1), stdout: text(&done.stdout), stderr: text(&done.stderr) }
}

impl Daemon {
    /// Starts `serve` and returns at once.
    pub(crate) fn spawn(environment: &[(String, String)], arguments: &[&str]) -> Self {
        let address = free_address();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("daemon-{}-{number}.log", std::process::id()));
        let output = File::create(&log).unwrap();
        let mut whole = vec!["serve"];
        whole.extend_from_slice(arguments);
        let mut command = program(environment, &whole);
        command.env("HTTP_BIND", address.to_string()).stdin(Stdio::null());
        command.stdout(output.try_clone().unwrap()).stderr(output);
        Self { child: command.spawn().unwrap(), address, log }
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn ready(mut self) -> Self {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the daemon ended with {status} before it was ready:\n{}", self.log());
            }
            if self.try_send("GET", "/readyz", &[], "").await.is_ok_and(|answer| answer.status == 200) {
                return self;
            }
            assert!(since.elapsed() < PATIENCE, "the daemon is not ready within {PATIENCE:?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory it ever had resident, bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Everything it wrote so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// A plain HTTP/1.0 exchange; headers are given as lines and replace the ones it would send by itself.
    async fn try_send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> std::io::Result<Answer> {
        let mut request = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
        let own = [format!("Host: {}", self.address), "Content-Type: application/json".to_owned()];
        for line in own.iter().map(String::as_str).chain(headers.iter().copied()) {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            let replaced = headers.iter().any(|given| given.to_ascii_lowercase().starts_with(&format!("{name}:")));
            if !replaced || headers.contains(&line) {
                request.push_str(line);
                request.push_str("\r\n");
            }
        }
        request.push_str("\r\n");
        request.push_str(body);
        let address = self.address;
        let exchange = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(request.as_bytes())?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
        });
        let answer = exchange.await.unwrap()?;
        let cut = || std::io::Error::other(format!("not an answer: {answer:?}"));
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(cut)?;
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
        Ok(Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
    }

    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        self.try_send(method, path, headers, body).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], &body.to_string()).await
    }

    /// The value of a metric, summed over its label values that contain `labels`.
    pub(crate) async fn metric(&self, name: &str, labels: &str) -> f64 {
        let text = self.get("/metrics").await.body;
        let lines = text.lines().filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']) && rest.contains(labels))
        });
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// The most memory that it has held since [`Daemon::forget_peak_memory`].
    pub(crate) fn peak_memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Counts the most memory from what it holds now.
    pub(crate) fn forget_peak_memory(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
    }

    /// Sends a signal by name to this child alone.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success(), "kill -{name}");
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "the daemon still runs after {PATIENCE:?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks it to stop; it must drain and end with 0.
    pub(crate) async fn stop(mut self) {
        self.signal("TERM");
        let status = self.ended().await;
        assert!(status.success(), "the daemon ended with {status}");
    }

    /// As a power cut would: nothing is finished.
    pub(crate) async fn kill(mut self) {
        self.signal("KILL");
        self.ended().await;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            println!("the daemon at {} wrote:\n{}", self.address, lines[lines.len().saturating_sub(40)..].join("\n"));
        }
        drop(std::fs::remove_file(&self.log));
    }
}

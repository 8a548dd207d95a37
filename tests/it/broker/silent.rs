//! A broker that accepts connections and never answers, as a load balancer does in front of a broker that is down.
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corroborate::broker::{AmqpQueue, AmqpSettings, Clocks, NoObserver};
use corroborate::domain::SystemClock;
use corroborate::supervisor::Supervisor;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// Attempts to connect that the test waits for.
const ATTEMPTS: usize = 5;

/// Longer than a socket takes to close on a busy machine.
const CLOSING: Duration = Duration::from_secs(10);

/// Accepts, reads until the peer closes, and sends nothing.
struct SilentBroker {
    port: u16,
    accepted: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl SilentBroker {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (accepted, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, held) = (Arc::clone(&accepted), Arc::clone(&open));
        TaskTracker::new().spawn(async move {
            let tasks = TaskTracker::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                held.fetch_add(1, Ordering::SeqCst);
                let held = Arc::clone(&held);
                tasks.spawn(async move {
                    let mut buffer = [0; 64];
                    while stream.read(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {}
                    held.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, accepted, open }
    }
}

/// Threads of this process that run the client's connections.
fn io_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.ok()?.path().join("comm")).ok();
    tasks.filter_map(name).filter(|name| name.starts_with("lapin")).count()
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// What the open files are.
fn targets() -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir("/proc/self/fd").unwrap();
    files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok()).collect()
}

/// Tries to connect at least [`ATTEMPTS`] times, then counts what is left of the attempts.
async fn leaves_nothing(scheme: &str) {
    let broker = SilentBroker::start().await;
    let (files_before, threads_before) = (open_files(), io_threads());
    let url = format!("{scheme}://guest:guest@127.0.0.1:{}/%2f", broker.port);
    let settings = AmqpSettings {
        connect_timeout: Duration::from_millis(200),
        reconnect_max: Duration::from_millis(200),
        start_patience: Duration::from_secs(4),
        ..AmqpSettings::new(url.into(), 4)
    };
    let clocks = Clocks::one(Arc::new(SystemClock));
    let refused = AmqpQueue::connect(settings, clocks, Arc::new(NoObserver), &Supervisor::default()).await;
    assert!(refused.is_err_and(|error| error.is_transient()));
    let accepted = broker.accepted.load(Ordering::SeqCst);
    assert!(accepted >= ATTEMPTS, "only {accepted} attempts");

    let since = Instant::now();
    loop {
        let (open, threads, files) = (broker.open.load(Ordering::SeqCst), io_threads(), open_files());
        if open == 0 && threads <= threads_before && files < files_before + ATTEMPTS {
            break;
        }
        let left = format!("{open} sockets, {threads} threads and {files} files (before: {files_before})");
        assert!(since.elapsed() < CLOSING, "{scheme}: {accepted} attempts left {left}: {:?}", targets());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_broker_costs_no_thread_and_no_socket_when_connecting_times_out() {
    leaves_nothing("amqp").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_broker_costs_no_thread_and_no_socket_when_the_tls_handshake_times_out() {
    leaves_nothing("amqps").await;
}

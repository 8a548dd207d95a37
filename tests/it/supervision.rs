//! Background tasks of the daemon are supervised: one that ends unasked ends the daemon with its name.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use corroborate::app::{App, AppError, HttpAddress, Purpose, ServeOptions};
use corroborate::config::{Config, LoadOptions, load};
use corroborate::store::Store;
use corroborate::supervisor::Supervisor;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Longer than any end takes on a busy machine of two cores.
const PATIENCE: Duration = Duration::from_mins(1);

/// A daemon in this process, on the embedded store of a folder.
struct Daemon {
    supervisor: Supervisor,
    store: Store,
    shutdown: CancellationToken,
    serving: JoinSet<Result<(), AppError>>,
}

fn config(folder: &Path) -> Config {
    let settings = [
        ("CORROBORATE_DATA_DIR", folder.to_str().unwrap()),
        ("HTTP_BIND", "127.0.0.1:0"),
        ("ENRICHMENT_FEEDS_ENABLED", "false"),
        ("INFERENCE_EMBEDDER", "hashed"),
        ("INFERENCE_STANCE", "rules"),
        ("INFERENCE_RERANKER", "lexical"),
    ];
    let env = settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    load(LoadOptions { file: None, env }).unwrap().config
}

impl Daemon {
    async fn start(folder: &Path) -> Self {
        let config = Arc::new(config(folder));
        let address = HttpAddress::reserve(&config).unwrap();
        let app = App::open(config, Purpose::Daemon { worker: true }).await.unwrap();
        let (supervisor, store) = (app.supervisor.clone(), app.store.clone());
        let shutdown = CancellationToken::new();
        let (tell, ready) = oneshot::channel::<SocketAddr>();
        let mut serving = JoinSet::new();
        let stop = shutdown.clone();
        serving.spawn(async move {
            let options = ServeOptions { worker: true, http: true };
            app.serve(options, address, stop, |address| tell.send(address).unwrap()).await
        });
        ready.await.unwrap();
        Self { supervisor, store, shutdown, serving }
    }

    async fn ended(mut self) -> Result<(), AppError> {
        tokio::time::timeout(PATIENCE, self.serving.join_next()).await.expect("the daemon ends").unwrap().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemon_ends_with_the_name_of_the_task_when_one_panics() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let running = daemon.supervisor.running();
    for task in [
        "page parsing",
        "re-embedding",
        "the HTTP server",
        "the accounting",
        "the answer clean-up",
        "the clean-up",
        "the domain list follower",
        "the embedded database",
        "the fleet follower",
        "the metrics upkeep",
        "the notification listener",
        "the queue lease renewal",
        "the relay shutdown",
    ] {
        assert!(running.contains(&task), "{task} is not supervised; these are: {running:?}");
    }
    let nothing: Option<String> = std::iter::empty().next();
    daemon.supervisor.spawn("the task of this test", &CancellationToken::new(), async {
        drop(nothing.expect("a broken promise"));
    });
    let error = daemon.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "the task of this test ended unexpectedly: it panicked: a broken promise");
    assert_eq!(error.exit_code(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemon_ends_when_the_embedded_database_ends() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    // The server reads one connection at a time: the store's own must be gone for it to see another.
    daemon.store.close().await;
    let mut stranger = std::os::unix::net::UnixStream::connect(folder.path().join(".s.PGSQL.5432")).unwrap();
    stranger.write_all(b"\xff\xff\xff\xffgarbage that is no message of Postgres").unwrap();
    let error = daemon.ended().await.unwrap_err().to_string();
    assert!(
        error.starts_with("the embedded database ended unexpectedly: its server does not listen any more"),
        "{error}"
    );
    assert!(error.contains("restart"), "it says what to do: {error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemon_reports_no_failure_when_it_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let supervisor = daemon.supervisor.clone();
    daemon.shutdown.cancel();
    daemon.ended().await.unwrap();
    assert_eq!(supervisor.failure(), None);
    let ended = async {
        while !supervisor.running().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, ended).await;
    assert!(in_time.is_ok(), "these tasks have not ended: {:?}", supervisor.running());
}

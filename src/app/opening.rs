//! Opening the store: the embedded one in its folder, or a server's.
//!
//! Whoever opens a store closes it, on error paths too. Where that was missed, dropping it waits for nobody: the embedded
//! server ends only after its last connection, and the parts that hold one may be waiting for the thread that drops.

use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "embedded")]
use tokio_util::sync::CancellationToken;

use super::AppError;
use crate::config::{self, Config};
use crate::store::{DataLock, Store, StoreSettings};
#[cfg(feature = "embedded")]
use crate::store::{EmbeddedPostgres, StoreError};
use crate::supervisor::Supervisor;

/// The longest that closing waits for a statement that still runs, and then for the embedded server.
const CLOSING: Duration = Duration::from_secs(10);

/// What opening the store may do to its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    /// Nothing, and it need not fit: for looking at it, and for whoever migrates it then.
    None,
    /// One command: a server's schema has to fit and is not touched; the embedded store, which is nobody else's, is brought
    /// up to date.
    Command,
    /// The daemon: the same, and a server's schema is brought up to date too where `database.migrate` says so.
    Serve,
}

/// An open store with what keeps it alive.
#[derive(Debug)]
pub struct OpenStore {
    pub store: Store,
    /// In a schema that goes when this is closed.
    apart: bool,
    /// Cancelled before the embedded server is stopped.
    #[cfg(feature = "embedded")]
    closing: CancellationToken,
    #[cfg(feature = "embedded")]
    embedded: Option<Embedded>,
}

/// The embedded server with its folder. They end in the order of the fields of [`Running`].
#[cfg(feature = "embedded")]
#[derive(Debug)]
struct Embedded(Option<Running>);

#[cfg(feature = "embedded")]
#[derive(Debug)]
struct Running {
    server: EmbeddedPostgres,
    /// Held until the server has ended: two servers on one folder would spoil it.
    lock: DataLock,
    /// Removed when dropped.
    folder: Option<tempfile::TempDir>,
}

#[cfg(feature = "embedded")]
impl Embedded {
    /// Blocks until the server has ended, which it does after its last connection.
    fn stop(mut self) -> Result<(), StoreError> {
        let Some(Running { server, lock, folder }) = self.0.take() else { return Ok(()) };
        let stopped = server.stop();
        drop((lock, folder));
        stopped
    }
}

#[cfg(feature = "embedded")]
impl Drop for Embedded {
    /// The wait for the last connection is left to a thread of its own, which ends with the process at the latest.
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            let ending = std::thread::Builder::new().name("embedded-store-end".to_owned());
            if let Err(error) = ending.spawn(move || drop(running)) {
                tracing::warn!(%error, "no thread could be had to stop the embedded database");
            }
        }
    }
}

impl OpenStore {
    /// Opens what the configuration names.
    pub async fn open(config: &Config, upkeep: Upkeep) -> Result<Self, AppError> {
        let wanted = config.database.migrate;
        let (opened, wanted) = match &config.database.url {
            Some(url) => {
                let mut store = Store::connect(url, &server_settings(config)).await?;
                let reading = StoreSettings { pool_size: config.database.read_pool_size, ..server_settings(config) };
                match &config.database.read_url {
                    Some(copy) => store.reads_from_copy(copy, &reading)?,
                    None => store.reads_apart(url, &reading)?,
                }
                let opened = Self::of_server(store);
                (opened, upkeep == Upkeep::Serve && wanted == Some(true))
            }
            None => (Self::started(&config::data_dir(config)).await?, wanted != Some(false)),
        };
        match upkeep {
            Upkeep::None => Ok(opened),
            Upkeep::Command | Upkeep::Serve => opened.prepared(wanted).await,
        }
    }

    /// Brings the schema up to date, or checks that this program can run on it. Closes the store where it cannot be used.
    async fn prepared(self, migrate: bool) -> Result<Self, AppError> {
        let done = if migrate { self.store.migrate().await.map(drop) } else { self.store.check_schema().await };
        match done {
            Ok(()) => Ok(self),
            Err(error) => Err(self.close_after(error.into()).await),
        }
    }

    /// Opens an empty store that is gone when it is closed: a schema of its own where a server is configured, else an
    /// embedded store in a temporary folder.
    pub async fn throw_away(config: &Config) -> Result<Self, AppError> {
        if let Some(url) = &config.database.url {
            // A schema of its own is a setting of the session, which a pooler in transaction mode does not keep.
            let direct = config.database.direct_url.as_ref().unwrap_or(url);
            let settings = StoreSettings { direct: None, ..server_settings(config) };
            let mut opened = Self::of_server(Store::connect_apart(direct, &settings).await?);
            opened.apart = true;
            return opened.prepared(true).await;
        }
        #[cfg(feature = "embedded")]
        {
            let folder = tempfile::Builder::new().prefix("corroborate-").tempdir();
            let folder = folder.map_err(|error| AppError::Setup {
                component: "a temporary folder",
                detail: format!("{error}; set TMPDIR to a folder that can be written to"),
            })?;
            let mut opened = Self::embedded(folder.path()).await?;
            if let Some(Embedded(Some(running))) = &mut opened.embedded {
                running.folder = Some(folder);
            }
            Ok(opened)
        }
        #[cfg(not(feature = "embedded"))]
        Err(AppError::NoEmbedded)
    }

    fn of_server(store: Store) -> Self {
        Self {
            store,
            apart: false,
            #[cfg(feature = "embedded")]
            closing: CancellationToken::new(),
            #[cfg(feature = "embedded")]
            embedded: None,
        }
    }

    /// Opens the embedded store of a folder and brings it up to date.
    pub async fn embedded(folder: &Path) -> Result<Self, AppError> {
        Self::started(folder).await?.prepared(true).await
    }

    #[cfg(feature = "embedded")]
    async fn started(folder: &Path) -> Result<Self, AppError> {
        let lock = take_lock(folder)?;
        let path: PathBuf = folder.to_path_buf();
        // Unpacking and booting a database blocks for up to a second.
        let started = tokio::task::spawn_blocking(move || EmbeddedPostgres::start(&path)).await;
        let server = match started {
            Ok(started) => started?,
            Err(panicked) => return Err(StoreError::Embedded { detail: panicked.to_string() }.into()),
        };
        let embedded = Embedded(Some(Running { server, lock, folder: None }));
        let Embedded(Some(running)) = &embedded else { return Err(AppError::NoEmbedded) };
        let store = Store::connect_embedded(&running.server).await?;
        Ok(Self { store, apart: false, closing: CancellationToken::new(), embedded: Some(embedded) })
    }

    #[cfg(not(feature = "embedded"))]
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    async fn started(folder: &Path) -> Result<Self, AppError> {
        tracing::debug!(folder = %PathBuf::from(folder).display(), "no embedded database in this build");
        Err(AppError::NoEmbedded)
    }

    /// Watches the embedded server, if there is one. When it ends, the store's statements fail at once instead of waiting
    /// for a connection, and the supervisor reports it.
    #[cfg_attr(not(feature = "embedded"), expect(unused_variables, reason = "the same signature as with the feature"))]
    pub fn watch(&self, supervisor: &Supervisor) {
        #[cfg(feature = "embedded")]
        if let Some(Embedded(Some(running))) = &self.embedded {
            let (ended, store, closing) = (running.server.ended(), self.store.clone(), self.closing.clone());
            supervisor.spawn("the embedded database", &self.closing, async move {
                let Some(why) = closing.run_until_cancelled(ended).await else { return Ok(()) };
                store.end();
                Err(why)
            });
        }
    }

    /// Tells other processes where this one's HTTP listens.
    pub fn announce(&mut self, http: &str) -> Result<(), AppError> {
        #[cfg(feature = "embedded")]
        if let Some(Embedded(Some(running))) = &mut self.embedded {
            running.lock.announce(Some(http))?;
        }
        #[cfg(not(feature = "embedded"))]
        tracing::debug!(http, "no data folder in this build");
        Ok(())
    }

    /// Closes the connections, then the server, then lets go of the folder. What does not end in time is left to the end
    /// of the process.
    pub async fn close(self) -> Result<(), AppError> {
        #[cfg(feature = "embedded")]
        self.closing.cancel();
        if self.apart
            && let Err(error) = self.store.throw_away().await
        {
            tracing::warn!(%error, "the temporary schema could not be removed; drop those named corroborate_throw_away_*");
        }
        if tokio::time::timeout(CLOSING, self.store.close()).await.is_err() {
            tracing::warn!("a statement was still running when the store was closed");
        }
        #[cfg(feature = "embedded")]
        {
            let mut closed = self;
            if let Some(embedded) = closed.embedded.take() {
                match tokio::time::timeout(CLOSING, tokio::task::spawn_blocking(move || embedded.stop())).await {
                    Ok(Ok(stopped)) => stopped?,
                    Ok(Err(panicked)) => return Err(StoreError::Embedded { detail: panicked.to_string() }.into()),
                    Err(_elapsed) => tracing::warn!("the embedded database was still in use when it was to stop"),
                }
            }
        }
        Ok(())
    }

    /// Closes after a failure, which is the error whatever becomes of the closing.
    pub async fn close_after(self, error: AppError) -> AppError {
        if let Err(closing) = self.close().await {
            tracing::warn!(error = %closing, "the store did not close cleanly");
        }
        error
    }
}

impl Drop for OpenStore {
    /// Nobody gets a connection any more, also of those who hold the store still.
    fn drop(&mut self) {
        #[cfg(feature = "embedded")]
        self.closing.cancel();
        self.store.end();
    }
}

fn server_settings(config: &Config) -> StoreSettings {
    StoreSettings {
        pool_size: config.database.pool_size,
        acquire_timeout: config.database.acquire_timeout,
        statement_timeout: Some(config.database.statement_timeout),
        schema: None,
        direct: config.database.direct_url.clone(),
    }
}

/// The error that names the process that holds the configured data folder; `None` where a server is configured, or nobody
/// holds it.
pub(super) fn folder_in_use(config: &Config) -> Option<AppError> {
    if config.database.url.is_some() {
        return None;
    }
    let folder = config::data_dir(config);
    let holder = DataLock::holder(&folder)?;
    Some(AppError::DataFolderBusy { path: folder.display().to_string(), pid: holder.pid, http: holder.http })
}

#[cfg(feature = "embedded")]
fn take_lock(folder: &Path) -> Result<DataLock, AppError> {
    DataLock::take(folder).map_err(|error| match error {
        StoreError::Locked { path, pid } => {
            let http = DataLock::holder(folder).and_then(|holder| holder.http);
            AppError::DataFolderBusy { path, pid, http }
        }
        other => other.into(),
    })
}

//! Opens the store: an embedded database in its folder, or a database server.
//!
//! The code that opens a store must close it, also after an error. Dropping does not block: the embedded server waits
//! for its last connection, whose owner may wait for the dropping thread.

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

/// How long closing waits for a running statement, and then for the embedded server.
const CLOSING: Duration = Duration::from_secs(10);

/// What opening may do to the store's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    /// Changes and checks nothing, for inspection or before a migration.
    None,
    /// A server's schema must match; an embedded store is migrated.
    Command,
    /// Like `Command`, but also migrates a server if `database.migrate` is set.
    Serve,
}

#[derive(Debug)]
pub struct OpenStore {
    pub store: Store,
    /// The store is in a schema that closing deletes.
    apart: bool,
    #[cfg(feature = "embedded")]
    closing: CancellationToken,
    #[cfg(feature = "embedded")]
    embedded: Option<EmbeddedStore>,
}

/// They end in the field order of [`RunningServer`].
#[cfg(feature = "embedded")]
#[derive(Debug)]
struct EmbeddedStore(Option<RunningServer>);

#[cfg(feature = "embedded")]
#[derive(Debug)]
struct RunningServer {
    server: EmbeddedPostgres,
    /// Held until the server has ended, because two servers would corrupt the folder.
    lock: DataLock,
    folder: Option<tempfile::TempDir>,
}

#[cfg(feature = "embedded")]
impl EmbeddedStore {
    /// Blocks until the server's last connection has ended.
    fn stop(mut self) -> Result<(), StoreError> {
        let Some(RunningServer { server, lock, folder }) = self.0.take() else { return Ok(()) };
        let stopped = server.stop();
        drop((lock, folder));
        stopped
    }
}

#[cfg(feature = "embedded")]
impl Drop for EmbeddedStore {
    /// Leaves the wait for the last connection to a separate thread.
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            let ending = std::thread::Builder::new().name("embedded-store-end".to_owned());
            if let Err(error) = ending.spawn(move || drop(running)) {
                tracing::warn!(%error, "no thread available to stop the embedded database");
            }
        }
    }
}

impl OpenStore {
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

    /// Migrates or checks the schema. Closes the store on an error.
    async fn prepared(self, migrate: bool) -> Result<Self, AppError> {
        let done = if migrate { self.store.migrate().await.map(drop) } else { self.store.check_schema().await };
        match done {
            Ok(()) => Ok(self),
            Err(error) => Err(self.close_after(error.into()).await),
        }
    }

    /// Opens an ephemeral store: a schema on a configured server, else an embedded store in a temporary folder.
    pub async fn throw_away(config: &Config) -> Result<Self, AppError> {
        if let Some(url) = &config.database.url {
            // A pooler in transaction mode does not keep the schema setting of a session.
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
            if let Some(EmbeddedStore(Some(running))) = &mut opened.embedded {
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

    pub async fn embedded(folder: &Path) -> Result<Self, AppError> {
        Self::started(folder).await?.prepared(true).await
    }

    #[cfg(feature = "embedded")]
    async fn started(folder: &Path) -> Result<Self, AppError> {
        let lock = take_lock(folder)?;
        let path: PathBuf = folder.to_path_buf();
        // Starting a database blocks for up to a second.
        let started = tokio::task::spawn_blocking(move || EmbeddedPostgres::start(&path)).await;
        let server = match started {
            Ok(started) => started?,
            Err(panicked) => return Err(StoreError::Embedded { detail: panicked.to_string() }.into()),
        };
        let embedded = EmbeddedStore(Some(RunningServer { server, lock, folder: None }));
        let EmbeddedStore(Some(running)) = &embedded else { return Err(AppError::NoEmbedded) };
        let store = Store::connect_embedded(&running.server).await?;
        Ok(Self { store, apart: false, closing: CancellationToken::new(), embedded: Some(embedded) })
    }

    #[cfg(not(feature = "embedded"))]
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    async fn started(folder: &Path) -> Result<Self, AppError> {
        tracing::debug!(folder = %PathBuf::from(folder).display(), "no embedded database in this build");
        Err(AppError::NoEmbedded)
    }

    /// Watches the embedded server. When it ends, statements fail at once and the supervisor reports it.
    #[cfg_attr(not(feature = "embedded"), expect(unused_variables, reason = "the same signature as with the feature"))]
    pub fn watch(&self, supervisor: &Supervisor) {
        #[cfg(feature = "embedded")]
        if let Some(EmbeddedStore(Some(running))) = &self.embedded {
            let (ended, store, closing) = (running.server.ended(), self.store.clone(), self.closing.clone());
            supervisor.spawn("the embedded database", &self.closing, async move {
                let Some(why) = closing.run_until_cancelled(ended).await else { return Ok(()) };
                store.end();
                Err(why)
            });
        }
    }

    /// Ends the task of [`Self::watch`] before the server ends, so that closing does not wait for it.
    pub fn stop_watching(&self) {
        #[cfg(feature = "embedded")]
        self.closing.cancel();
    }

    /// Publishes the HTTP address in the folder's lock file.
    pub fn announce(&mut self, http: &str) -> Result<(), AppError> {
        #[cfg(feature = "embedded")]
        if let Some(EmbeddedStore(Some(running))) = &mut self.embedded {
            running.lock.announce(Some(http))?;
        }
        #[cfg(not(feature = "embedded"))]
        tracing::debug!(http, "no data folder in this build");
        Ok(())
    }

    /// Closes the connections, then the server, then the folder. Waits at most [`CLOSING`] for each.
    pub async fn close(self) -> Result<(), AppError> {
        #[cfg(feature = "embedded")]
        self.closing.cancel();
        if self.apart
            && let Err(error) = self.store.throw_away().await
        {
            tracing::warn!(%error, "dropping the ephemeral schema failed; drop schemas named corroborate_throw_away_*");
        }
        if tokio::time::timeout(CLOSING, self.store.close()).await.is_err() {
            tracing::warn!("statement still running when the store was closed");
        }
        #[cfg(feature = "embedded")]
        {
            let mut closed = self;
            if let Some(embedded) = closed.embedded.take() {
                match tokio::time::timeout(CLOSING, tokio::task::spawn_blocking(move || embedded.stop())).await {
                    Ok(Ok(stopped)) => stopped?,
                    Ok(Err(panicked)) => return Err(StoreError::Embedded { detail: panicked.to_string() }.into()),
                    Err(_elapsed) => tracing::warn!("embedded database still in use at shutdown"),
                }
            }
        }
        Ok(())
    }

    pub async fn close_after(self, error: AppError) -> AppError {
        if let Err(closing) = self.close().await {
            tracing::warn!(error = %closing, "store did not close cleanly");
        }
        error
    }
}

impl Drop for OpenStore {
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

/// Returns the error that names the process in the data folder, or `None` for a server or a free folder.
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

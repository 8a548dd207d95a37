//! Opening the store: the embedded one in its folder, or a server's.

use std::path::{Path, PathBuf};

use super::AppError;
use crate::config::{self, Config};
use crate::store::{DataLock, Store, StoreSettings};
#[cfg(feature = "embedded")]
use crate::store::{EmbeddedPostgres, StoreError};

/// An open store with what keeps it alive.
#[derive(Debug)]
pub struct OpenStore {
    pub store: Store,
    lock: Option<DataLock>,
    /// In a schema that goes when this is closed.
    apart: bool,
    #[cfg(feature = "embedded")]
    server: Option<EmbeddedPostgres>,
    /// Removed when dropped.
    #[cfg(feature = "embedded")]
    _folder: Option<tempfile::TempDir>,
}

impl OpenStore {
    /// Opens what the configuration names; the embedded store is brought up to date at once, a server's is not touched.
    pub async fn open(config: &Config) -> Result<Self, AppError> {
        match &config.database.url {
            Some(url) => Ok(Self::of_server(Store::connect(url, &server_settings(config)).await?)),
            None => Self::embedded(&config::data_dir(config)).await,
        }
    }

    /// Opens an empty store that is gone when it is closed: a schema of its own where a server is configured, else an
    /// embedded store in a temporary folder.
    pub async fn throw_away(config: &Config) -> Result<Self, AppError> {
        if let Some(url) = &config.database.url {
            let store = Store::connect_apart(url, &server_settings(config)).await?;
            return Ok(Self { apart: true, ..Self::of_server(store) });
        }
        #[cfg(feature = "embedded")]
        {
            let folder = tempfile::Builder::new().prefix("corroborate-").tempdir();
            let folder = folder.map_err(|error| AppError::Setup {
                component: "a temporary folder",
                detail: format!("{error}; set TMPDIR to a folder that can be written to"),
            })?;
            let opened = Self::embedded(folder.path()).await?;
            Ok(Self { _folder: Some(folder), ..opened })
        }
        #[cfg(not(feature = "embedded"))]
        Err(AppError::NoEmbedded)
    }

    fn of_server(store: Store) -> Self {
        Self {
            store,
            lock: None,
            apart: false,
            #[cfg(feature = "embedded")]
            server: None,
            #[cfg(feature = "embedded")]
            _folder: None,
        }
    }

    /// Opens the embedded store of a folder.
    #[cfg(feature = "embedded")]
    pub async fn embedded(folder: &Path) -> Result<Self, AppError> {
        let lock = take_lock(folder)?;
        let path: PathBuf = folder.to_path_buf();
        // Unpacking and booting a database blocks for up to a second.
        let started = tokio::task::spawn_blocking(move || EmbeddedPostgres::start(&path)).await;
        let server = match started {
            Ok(started) => started?,
            Err(panicked) => return Err(StoreError::Embedded { detail: panicked.to_string() }.into()),
        };
        let store = Store::connect_embedded(&server).await?;
        store.migrate().await?;
        Ok(Self { store, lock: Some(lock), apart: false, server: Some(server), _folder: None })
    }

    #[cfg(not(feature = "embedded"))]
    #[expect(clippy::unused_async, reason = "the same signature as with the feature")]
    pub async fn embedded(folder: &Path) -> Result<Self, AppError> {
        tracing::debug!(folder = %PathBuf::from(folder).display(), "no embedded database in this build");
        Err(AppError::NoEmbedded)
    }

    /// Tells other processes where this one's HTTP listens.
    pub fn announce(&mut self, http: &str) -> Result<(), AppError> {
        if let Some(lock) = &mut self.lock {
            lock.announce(Some(http))?;
        }
        Ok(())
    }

    /// Closes the connections, then the server, then lets go of the folder.
    pub async fn close(self) -> Result<(), AppError> {
        if self.apart
            && let Err(error) = self.store.throw_away().await
        {
            tracing::warn!(%error, "the temporary schema could not be removed; drop those named corroborate_throw_away_*");
        }
        self.store.close().await;
        #[cfg(feature = "embedded")]
        if let Some(server) = self.server {
            match tokio::task::spawn_blocking(move || server.stop()).await {
                Ok(stopped) => stopped?,
                Err(panicked) => return Err(StoreError::Embedded { detail: panicked.to_string() }.into()),
            }
        }
        drop(self.lock);
        Ok(())
    }
}

fn server_settings(config: &Config) -> StoreSettings {
    StoreSettings {
        pool_size: config.database.pool_size,
        acquire_timeout: config.database.acquire_timeout,
        statement_timeout: Some(config.database.statement_timeout),
        schema: None,
    }
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

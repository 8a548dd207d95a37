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
    #[cfg(feature = "embedded")]
    server: Option<EmbeddedPostgres>,
}

impl OpenStore {
    /// Opens what the configuration names; the embedded store is brought up to date at once, a server's is not touched.
    pub async fn open(config: &Config) -> Result<Self, AppError> {
        match &config.database.url {
            Some(url) => {
                let settings = StoreSettings {
                    pool_size: config.database.pool_size,
                    acquire_timeout: config.database.acquire_timeout,
                    statement_timeout: Some(config.database.statement_timeout),
                };
                let store = Store::connect(url, &settings).await?;
                Ok(Self {
                    store,
                    lock: None,
                    #[cfg(feature = "embedded")]
                    server: None,
                })
            }
            None => Self::embedded(&config::data_dir(config)).await,
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
        Ok(Self { store, lock: Some(lock), server: Some(server) })
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

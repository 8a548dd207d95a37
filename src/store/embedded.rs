//! Postgres inside the process: a WASM build of the real server with pgvector, in a folder of its own.

use std::path::{Path, PathBuf};

use pglite_oxide::{PgliteServer, extensions};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::StoreError;

/// The running embedded server. One connection only; stop it after the pool is closed.
pub struct EmbeddedPostgres {
    server: PgliteServer,
    socket: Option<PathBuf>,
}

impl std::fmt::Debug for EmbeddedPostgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedPostgres").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Unix socket paths are limited to 108 bytes by the kernel; longer ones fall back to a loopback port.
const MAX_SOCKET_PATH: usize = 100;

impl EmbeddedPostgres {
    /// Starts the server on `folder/postgres`. Blocking: it unpacks and boots a database.
    pub fn start(folder: &Path) -> Result<Self, StoreError> {
        let failed = |error: anyhow::Error| StoreError::Embedded { detail: format!("{error:#}") };
        let socket = folder.join(".s.PGSQL.5432");
        let socket = (cfg!(unix) && socket.as_os_str().len() <= MAX_SOCKET_PATH).then_some(socket);
        let mut builder = PgliteServer::builder().path(folder.join("postgres")).extension(extensions::VECTOR);
        // A socket in the folder is guarded by the folder's permissions; a port is open to every local user.
        if let Some(path) = &socket {
            match std::fs::remove_file(path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error.into())),
            }
            builder = builder.unix(path);
        }
        let server = builder.start().map_err(failed)?;
        Ok(Self { server, socket })
    }

    pub(super) fn connect_options(&self) -> Result<PgConnectOptions, StoreError> {
        let Some(folder) = self.socket.as_deref().and_then(Path::parent) else {
            return self
                .server
                .database_url()
                .parse()
                .map_err(|error: sqlx::Error| StoreError::Embedded { detail: error.to_string() });
        };
        // Options from nothing would read PGHOST and its like, which speak of another server.
        Ok(PgConnectOptions::new_without_pgpass()
            .socket(folder)
            .port(5432)
            .username("postgres")
            .database("template1")
            .ssl_mode(PgSslMode::Disable))
    }

    /// Stops the server. Every connection must be closed before.
    pub fn stop(self) -> Result<(), StoreError> {
        self.server.shutdown().map_err(|error| StoreError::Embedded { detail: format!("{error:#}") })
    }
}

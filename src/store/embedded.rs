//! Postgres in the process: a WASM build of the server with pgvector, in its own folder.
//!
//! The thread of `pglite-oxide` serves one connection at a time and ends after a failed one (WASM trap, unreadable
//! message). The library does not report this, so [`EmbeddedPostgres::ended`] watches the socket.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pglite_oxide::{PgliteServer, extensions};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::sleep;

use super::StoreError;

/// The running embedded server. Allows one connection; stop it after the pool is closed.
pub struct EmbeddedPostgres {
    server: PgliteServer,
    socket: Option<PathBuf>,
}

impl std::fmt::Debug for EmbeddedPostgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedPostgres").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Unix socket paths have at most 108 bytes; longer ones fall back to a loopback port.
const MAX_SOCKET_PATH: usize = 100;

/// Interval of the watch's connections while the store is not connected.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
enum Address {
    #[cfg(unix)]
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl Address {
    /// Connects, shuts down the write side and waits for the close. While the store is connected, this waits in the
    /// listener's queue; once accepted, the server reads the end and closes.
    async fn wait_until_dropped(&self) -> std::io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::Unix(path) => until_dropped(UnixStream::connect(path).await?).await,
            Self::Tcp(address) => until_dropped(TcpStream::connect(address).await?).await,
        }
    }

    /// Waits until the server stops listening. A closed listener drops its queue, so this returns at once.
    async fn listener_closed(self) -> std::io::Error {
        loop {
            match self.wait_until_dropped().await {
                Err(error) if is_no_listener(&error) => return error,
                // An error of this process, for example no free descriptors.
                Err(error) => tracing::debug!(%error, "embedded database could not be monitored"),
                Ok(()) => {}
            }
            sleep(WATCH_INTERVAL).await;
        }
    }
}

async fn until_dropped(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
    stream.shutdown().await?;
    // No data arrives: this is the end or an error.
    let _end = stream.read(&mut [0]).await;
    Ok(())
}

fn is_no_listener(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::NotFound)
}

impl EmbeddedPostgres {
    /// Starts the server on `folder/postgres`. Blocks while it unpacks and boots.
    pub fn start(folder: &Path) -> Result<Self, StoreError> {
        let failed = |error: anyhow::Error| StoreError::Embedded { detail: format!("{error:#}") };
        let socket = folder.join(".s.PGSQL.5432");
        let socket = (cfg!(unix) && socket.as_os_str().len() <= MAX_SOCKET_PATH).then_some(socket);
        let mut builder = PgliteServer::builder().path(folder.join("postgres")).extension(extensions::VECTOR);
        // Folder permissions protect the socket; a port is open to all local users.
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
        // The default constructor would read `PGHOST` etc., which name another server.
        Ok(PgConnectOptions::new_without_pgpass()
            .socket(folder)
            .port(5432)
            .username("postgres")
            .database("template1")
            .ssl_mode(PgSslMode::Disable))
    }

    /// Returns why the server ended by itself. Never returns if there is no address to watch.
    pub fn ended(&self) -> impl Future<Output = String> + Send + use<> {
        #[cfg(unix)]
        let socket = self.socket.clone().map(Address::Unix);
        #[cfg(not(unix))]
        let socket = None;
        let address = socket.or_else(|| self.server.tcp_addr().map(Address::Tcp));
        async move {
            let Some(address) = address else { return std::future::pending().await };
            let error = address.listener_closed().await;
            format!(
                "its server does not listen any more ({error}). Nothing that was committed is lost. To recover, restart \
                 this process; if it happens again, report it and use a Postgres server (DATABASE_URL)"
            )
        }
    }

    /// Stops the server; close all connections first.
    pub fn stop(self) -> Result<(), StoreError> {
        self.server.shutdown().map_err(|error| StoreError::Embedded { detail: format!("{error:#}") })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;

    use tokio::time::timeout;

    use super::super::Store;
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn ended_returns_when_a_client_makes_the_server_fail() {
        let folder = tempfile::tempdir().unwrap();
        let server = EmbeddedPostgres::start(folder.path()).unwrap();
        let mut ended = Box::pin(server.ended());
        let store = Store::connect_embedded(&server).await.unwrap();
        assert!(timeout(WATCH_INTERVAL * 2, &mut ended).await.is_err(), "the server runs");
        store.close().await;
        let store = Store::connect_embedded(&server).await.unwrap();
        store.ping().await.unwrap();
        store.close().await;
        assert!(timeout(WATCH_INTERVAL * 3, &mut ended).await.is_err(), "the server runs without a connection, too");
        let mut stranger = std::os::unix::net::UnixStream::connect(folder.path().join(".s.PGSQL.5432")).unwrap();
        stranger.write_all(b"\xff\xff\xff\xffgarbage that is no message of Postgres").unwrap();
        let why = timeout(PATIENCE, ended).await.expect("the end is seen");
        assert!(why.contains("does not listen any more") && why.contains("restart"), "{why}");
        assert!(server.stop().is_err(), "its thread ended with an error");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn server_stops_when_it_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let server = EmbeddedPostgres::start(folder.path()).unwrap();
        let store = Store::connect_embedded(&server).await.unwrap();
        let mut ended = Box::pin(server.ended());
        assert!(timeout(WATCH_INTERVAL, &mut ended).await.is_err());
        store.close().await;
        let stopped = tokio::task::spawn_blocking(move || server.stop());
        timeout(PATIENCE, stopped).await.expect("it stops").unwrap().unwrap();
    }
}

//! One connection to the broker, with its TCP socket.
//!
//! The client library runs each connection on a thread, which ends with its socket. A connect future dropped during the
//! handshake leaks both, because no heartbeat is agreed yet. Therefore this module opens the socket and shuts it down.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use lapin::tcp::{AMQPUriTcpExt as _, OwnedTLSConfig};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{AsyncTcpStream, Connection, ConnectionProperties};
use tokio_util::sync::CancellationToken;

/// An open connection. Dropping it shuts its socket down; call `close` first to send a close frame.
pub(super) struct BrokerConnection {
    connection: Connection,
    _socket: Socket,
}

impl Deref for BrokerConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl BrokerConnection {
    /// Connects and logs in. Dropping the future ends its socket and thread.
    pub(super) async fn open(uri: &AMQPUri, role: &str) -> lapin::Result<Self> {
        let socket = Socket::default();
        let handle = socket.handle();
        let properties = ConnectionProperties::default().with_connection_name(format!("corroborate {role}").into());
        let connecting = Connection::connector(
            uri.clone(),
            lapin::runtime::default_runtime()?,
            async move |uri: AMQPUri, runtime| {
                let opening = async {
                    // Plain TCP first, so that the socket is known before the TLS handshake.
                    let plain = AMQPUri { scheme: AMQPScheme::AMQP, ..uri.clone() };
                    let config = OwnedTLSConfig::default();
                    let stream = plain.connect_with_config_async(config.as_ref(), &runtime).await?;
                    if let AsyncTcpStream::Plain(stream) = &stream {
                        handle.keep(duplicate(stream.get_ref())?)?;
                    }
                    match uri.scheme {
                        AMQPScheme::AMQP => Ok(stream),
                        AMQPScheme::AMQPS => stream.into_tls(&uri.authority.host, config.as_ref()).await,
                    }
                };
                let opened = tokio::select! {
                    biased;
                    () = handle.abandoned.cancelled() => Err(abandoned()),
                    opened = opening => opened,
                };
                opened.map_err(lapin::Error::from)
            },
            properties,
        );
        Ok(Self { connection: connecting.await?, _socket: socket })
    }
}

#[cfg(unix)]
fn duplicate(socket: &impl std::os::fd::AsFd) -> io::Result<TcpStream> {
    socket.as_fd().try_clone_to_owned().map(TcpStream::from)
}

#[cfg(windows)]
fn duplicate(socket: &impl std::os::windows::io::AsSocket) -> io::Result<TcpStream> {
    socket.as_socket().try_clone_to_owned().map(TcpStream::from)
}

fn abandoned() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the attempt to connect was given up")
}

/// The socket of one connection once it is open. Dropping this shuts it down.
#[derive(Debug, Default)]
struct Socket {
    abandoned: CancellationToken,
    open: Arc<Mutex<Option<TcpStream>>>,
}

struct SocketHandle {
    abandoned: CancellationToken,
    open: Arc<Mutex<Option<TcpStream>>>,
}

impl Socket {
    fn handle(&self) -> SocketHandle {
        SocketHandle { abandoned: self.abandoned.clone(), open: Arc::clone(&self.open) }
    }
}

impl SocketHandle {
    fn keep(&self, socket: TcpStream) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if self.abandoned.is_cancelled() {
            return Err(abandoned());
        }
        *open = Some(socket);
        Ok(())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.abandoned.cancel();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(socket) = open {
            // An error means that the socket is already closed.
            let _closed = socket.shutdown(Shutdown::Both);
        }
    }
}

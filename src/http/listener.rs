//! Connections: how many at once, and how long one may say nothing.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Connections at once. Well below the usual limit of 1,024 open files, which the store, the broker and fetching share.
const MOST_CONNECTIONS: usize = 512;

/// A connection on which nothing moves for this long is closed. Longer than any request may take: while an answer is being
/// worked out nothing moves either.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_mins(6);

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Connected<IncomingStream<'_, BoundedListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, BoundedListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// A listener that holds new connections back while too many are open.
#[derive(Debug)]
pub(crate) struct BoundedListener {
    tcp: TcpListener,
    places: Arc<Semaphore>,
}

impl BoundedListener {
    pub(crate) fn new(tcp: TcpListener) -> Self {
        Self { tcp, places: Arc::new(Semaphore::new(MOST_CONNECTIONS)) }
    }
}

impl Listener for BoundedListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // The semaphore is never closed; without a permit the connection would merely go uncounted.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.tcp).await;
        // Answers are small and written whole; waiting to fill a packet only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let silence = Box::pin(tokio::time::sleep(LONGEST_SILENCE));
        (Connection { stream, silence, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// A client's connection. Reading and writing fail after a long silence, which closes it.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    silence: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Starts the silence anew when something moved; ends the connection when nothing did for too long.
    fn moved<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.silence.as_mut().reset(Instant::now() + LONGEST_SILENCE);
            return outcome;
        }
        ready!(self.silence.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.moved(context, read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.moved(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.moved(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::ConnectInfo;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_util::sync::CancellationToken;

    use super::*;

    async fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_peer_is_known_and_a_stop_waits_for_the_last_answer() {
        let slow = |ConnectInfo(Peer(peer)): ConnectInfo<Peer>| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            format!("you are {}", peer.ip())
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let router = Router::new().route("/", get(slow));
        let server = super::super::serve(listener, router, stop.clone());
        let visitor = async {
            let idle = TcpStream::connect(address).await.unwrap();
            let asked = ask(address);
            let cancelled = async {
                tokio::time::sleep(Duration::from_millis(30)).await;
                stop.cancel();
            };
            let (answer, ()) = tokio::join!(asked, cancelled);
            drop(idle);
            answer
        };
        let (served, answer) = tokio::join!(server, visitor);
        served.unwrap();
        assert!(answer.ends_with("you are 127.0.0.1"), "{answer}");
        assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    }

    #[tokio::test]
    async fn a_place_is_free_again_when_its_connection_ends() {
        let mut listener = BoundedListener::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).await.unwrap();
        let (connection, _peer) = listener.accept().await;
        assert_eq!(listener.places.available_permits(), MOST_CONNECTIONS - 1);
        drop(connection);
        assert_eq!(listener.places.available_permits(), MOST_CONNECTIONS);
    }
}

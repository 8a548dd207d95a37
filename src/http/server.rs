//! The HTTP server: accepts connections, limits their number and time, and closes them in order.
//!
//! 1. The accept loop registers each connection ([`registry`]). If no slot is free, it closes an idle connection.
//! 2. A task serves each connection. Its socket ([`stream`]) enforces the timeouts.
//! 3. While all connections work, a few reserved ones answer probes only.
//! 4. At shutdown, idle connections close at once and responses in progress get some time.
//!
//! Bodies are limited per route: see [`super::bodies`].

mod registry;
mod stream;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Request, Response, header};
use axum::response::IntoResponse as _;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use self::registry::{Limits, Registration, Registry, SlotKind};
use self::stream::{Activity, Answer, RequestBody, Stream, Timeouts};
use super::limit::Peer;
use super::limit::is_probe;
use super::problem::Problem;

/// Well below the usual limit of 1,024 open files, which the store, broker and fetching share.
const MAX_CONNECTIONS: usize = 512;
/// Further connections, for probes while all others work.
const RESERVED_CONNECTIONS: usize = 32;
const TIMEOUTS: Timeouts =
    Timeouts { head: Duration::from_secs(10), keep_alive: Duration::from_secs(30), write: Duration::from_secs(30) };
const RESERVED_HEAD_TIMEOUT: Duration = Duration::from_secs(2);
const RESERVED_LIFETIME: Duration = Duration::from_secs(10);
/// A request with a larger head gets 431.
const MAX_BUFFER_BYTES: usize = 64 * 1024;
/// Timeout of responses in progress at shutdown.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(20);
/// Pause after a failed accept, for example with too many open files.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(100);
const WARNING_INTERVAL: Duration = Duration::from_mins(1);

/// Serves until `shutdown`, then finishes open requests within a time limit. `per_client`: maximum connections.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    per_client: usize,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = Server { router, timeouts: TIMEOUTS, shutdown };
    serve_with(listener, server, per_client).await;
    Ok(())
}

#[derive(Debug, Clone)]
struct Server {
    router: Router,
    timeouts: Timeouts,
    shutdown: CancellationToken,
}

async fn serve_with(listener: TcpListener, server: Server, per_client: usize) {
    let limits = Limits { total: MAX_CONNECTIONS, per_client, reserved: RESERVED_CONNECTIONS };
    let registry = Registry::new(limits);
    let mut connections = JoinSet::new();
    accept(&listener, &server, &registry, &mut connections).await;
    drop(listener);
    registry.close_waiting();
    let ended = async { while connections.join_next().await.is_some() {} };
    // A request that is cut off has committed nothing.
    if tokio::time::timeout(LAST_ANSWERS_TIMEOUT, ended).await.is_err() {
        tracing::warn!("requests still open when the server stopped");
    }
}

async fn accept(listener: &TcpListener, server: &Server, registry: &Registry, connections: &mut JoinSet<()>) {
    let mut warned_at: Option<Instant> = None;
    loop {
        // Each branch is cancel-safe.
        let accepted = tokio::select! {
            () = server.shutdown.cancelled() => return,
            Some(_ended) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let (tcp, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_of_the_client(&error) => continue,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                registry.close_one();
                tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                continue;
            }
        };
        let registered = registry.admit(peer.ip());
        if !registered.as_ref().is_some_and(|registered| registered.slot == SlotKind::General)
            && warned_at.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL)
        {
            warned_at = Some(Instant::now());
            tracing::warn!(
                client = %peer.ip(),
                "all HTTP connections in use; answering probes only. Raise http.connections_per_client for a reverse proxy"
            );
        }
        if let Some(registered) = registered {
            connections.spawn(connection(tcp, peer, server.clone(), registered));
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn connection(tcp: TcpStream, peer: SocketAddr, server: Server, registered: Registration) {
    let Server { router, timeouts, shutdown } = server;
    // Responses are written whole, so waiting to fill a packet only delays them.
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(%error, "setting TCP_NODELAY failed");
    }
    let (slot, close) = (registered.slot, registered.close.clone());
    let activity = Activity::new(registered);
    let timeouts = match slot {
        SlotKind::General => timeouts,
        SlotKind::Reserved => Timeouts { head: RESERVED_HEAD_TIMEOUT, ..timeouts },
    };
    let stream = Stream::new(tcp, Arc::clone(&activity), timeouts);
    let service = service_fn(move |request| answer(request, peer, slot, router.clone(), Arc::clone(&activity)));
    let served = http1::Builder::new()
        .header_read_timeout(None)
        .keep_alive(slot == SlotKind::General)
        .max_buf_size(MAX_BUFFER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let closed = async {
        match slot {
            SlotKind::General => close.cancelled().await,
            SlotKind::Reserved => {
                let _elapsed = tokio::time::timeout(RESERVED_LIFETIME, close.cancelled()).await;
            }
        }
    };
    tokio::pin!(served, closed);
    let ended = tokio::select! {
        // Closed while idle, or its reserved time is over.
        () = &mut closed => return,
        ended = &mut served => ended,
        () = shutdown.cancelled() => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                () = &mut closed => return,
                ended = &mut served => ended,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended with an error");
    }
}

/// A connection was closed for another one while a request arrived.
#[derive(Debug, thiserror::Error)]
#[error("the connection was closed because all connections are in use")]
struct ConnectionClosed;

async fn answer(
    mut request: Request<Incoming>,
    peer: SocketAddr,
    slot: SlotKind,
    router: Router,
    activity: Arc<Activity>,
) -> Result<Response<Answer>, ConnectionClosed> {
    if !activity.begin(!request.body().is_end_stream()) {
        return Err(ConnectionClosed);
    }
    request.extensions_mut().insert(ConnectInfo(Peer(peer)));
    let response = if slot == SlotKind::General || is_probe(request.uri().path()) {
        let received = Arc::clone(&activity);
        let request = request.map(|body| RequestBody::new(body, received));
        let answered: Result<_, Infallible> = router.oneshot(request).await;
        answered.unwrap_or_else(|never| match never {})
    } else {
        let busy = Problem::unavailable("busy", "every connection of this server is in use; try again");
        let mut response = busy.into_response();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        response
    };
    Ok(response.map(|body| Answer::new(body, activity)))
}

#[cfg(test)]
mod tests;

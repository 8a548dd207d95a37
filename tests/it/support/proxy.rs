//! A TCP proxy that can stop forwarding without closing anything, as a network does that loses packets, and that can forget
//! its connections, as a firewall does. What comes later gets through again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// After so long a server's own keepalive would have noticed that a forgotten client is gone.
const SERVER_NOTICES: Duration = Duration::from_mins(1);
/// A port where nobody listens answers at once on this machine.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Weather {
    is_stalled: bool,
    /// Connections that began before are silent for ever.
    forgotten: u64,
}

/// Listens on a port of its own for as long as it is kept.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    weather: watch::Sender<Weather>,
    /// Ended when dropped.
    _accepting: JoinSet<()>,
}

impl Proxy {
    /// Leads to the first of these ports of 127.0.0.1 on which somebody listens.
    pub(crate) async fn before(ports: Vec<u16>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (weather, watched) = watch::channel(Weather { is_stalled: false, forgotten: 0 });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::new(ports), watched));
        Ok(Self { address, weather, _accepting: accepting })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Nothing is forwarded any more, in either direction, and nothing is closed, until it [goes on](Self::goes_on).
    pub(crate) fn stalls(&self) {
        self.weather.send_modify(|weather| weather.is_stalled = true);
    }

    /// What was held back arrives.
    pub(crate) fn goes_on(&self) {
        self.weather.send_modify(|weather| weather.is_stalled = false);
    }

    /// Nothing of the present connections is ever forwarded again; new ones work.
    pub(crate) fn forgets(&self) {
        self.weather.send_modify(|weather| weather.forgotten += 1);
    }
}

async fn accept(listener: TcpListener, ports: Arc<Vec<u16>>, weather: watch::Receiver<Weather>) {
    let mut connections = JoinSet::new();
    loop {
        // Both arms only take what is finished or there.
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { continue };
                connections.spawn(carry(client, Arc::clone(&ports), weather.clone()));
            }
            Some(_ended) = connections.join_next() => {}
        }
    }
}

async fn carry(client: TcpStream, ports: Arc<Vec<u16>>, weather: watch::Receiver<Weather>) {
    let Some(server) = reach(&ports).await else { return };
    // Small messages go back and forth: waiting for more would slow both servers down.
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let began = weather.borrow().forgotten;
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let gate = Gate { weather, began };
    tokio::join!(up(from_client, to_server, gate.clone()), down(from_server, to_client, gate));
}

async fn reach(ports: &[u16]) -> Option<TcpStream> {
    for port in ports {
        let connecting = TcpStream::connect(("127.0.0.1", *port));
        if let Ok(Ok(stream)) = tokio::time::timeout(CONNECT_LIMIT, connecting).await {
            return Some(stream);
        }
    }
    None
}

#[derive(Debug, Clone)]
struct Gate {
    weather: watch::Receiver<Weather>,
    began: u64,
}

impl Gate {
    /// Returns when data may pass; `false`: never again.
    async fn passes(&mut self) -> bool {
        let began = self.began;
        let open = self.weather.wait_for(|weather| !weather.is_stalled || weather.forgotten != began);
        open.await.is_ok_and(|weather| weather.forgotten == began)
    }

    /// Returns when the connection is forgotten.
    async fn forgotten(&mut self) {
        let began = self.began;
        // An error means that the proxy is gone, and the connection with it.
        drop(self.weather.wait_for(|weather| weather.forgotten != began).await);
    }
}

/// From the client to the server. The server's side of a forgotten connection ends some time after.
async fn up(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut gate: Gate) {
    let is_forgotten = is_forgotten_after(&mut from, &mut to, &mut gate).await;
    if is_forgotten {
        tokio::time::sleep(SERVER_NOTICES).await;
    }
    // Fails where the other side closed before, which is as good.
    drop(to.shutdown().await);
    if is_forgotten {
        // The client's socket is kept for as long as the client keeps it.
        swallow(from).await;
    }
}

/// From the server to the client. A client gets no sign that its connection was forgotten.
async fn down(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut gate: Gate) {
    if is_forgotten_after(&mut from, &mut to, &mut gate).await {
        to.forget();
        swallow(from).await;
    } else {
        drop(to.shutdown().await);
    }
}

/// Carries until the end, and says whether that is that nothing passes any more.
async fn is_forgotten_after(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, gate: &mut Gate) -> bool {
    let mut watched = gate.clone();
    // Whichever arm ends first, the connection is over or silent; no data is owed to anybody.
    tokio::select! {
        passed = pump(from, to, gate) => !passed,
        () = watched.forgotten() => true,
    }
}

/// Reads on until the other side closes, so that it never waits for room.
async fn swallow(mut from: OwnedReadHalf) {
    let mut buffer = vec![0; 4096];
    while from.read(&mut buffer).await.is_ok_and(|bytes| bytes > 0) {}
}

/// Carries bytes until one side closes; `false`: until nothing passes any more. While it is stalled even the end of a
/// connection is held back.
async fn pump(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, gate: &mut Gate) -> bool {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await;
        if !gate.passes().await {
            return false;
        }
        let Ok(bytes) = read else { return true };
        match buffer.get(..bytes) {
            Some(data) if !data.is_empty() => {
                if to.write_all(data).await.is_err() {
                    return true;
                }
            }
            _ => return true,
        }
    }
}

//! A relay before Postgres that tells what it is asked, round trip by round trip.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What a client waited for once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Trip {
    /// Only whether the server is there.
    Ping,
    /// A statement made ready, which a connection does once for each.
    Prepared(String),
    Ran(String),
}

/// The relay. It ends with its connections when it is dropped.
pub(crate) struct Wire {
    url: url::Url,
    trips: Arc<Mutex<Vec<Trip>>>,
    _connections: JoinSet<()>,
}

impl Wire {
    /// Listens before the server of `url`.
    pub(crate) async fn before(url: &url::Url) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut own = url.clone();
        own.set_host(Some("127.0.0.1")).unwrap();
        own.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        // What is encrypted cannot be read.
        own.query_pairs_mut().append_pair("sslmode", "disable");
        let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432));
        let trips = Arc::<Mutex<Vec<Trip>>>::default();
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, server, Arc::clone(&trips)));
        Self { url: own, trips, _connections: connections }
    }

    /// The address at which the server is reached through it.
    pub(crate) fn url(&self) -> &url::Url {
        &self.url
    }

    /// What was asked since the last call.
    pub(crate) fn take(&self) -> Vec<Trip> {
        std::mem::take(&mut self.trips.lock().unwrap())
    }
}

async fn accept(listener: TcpListener, server: String, trips: Arc<Mutex<Vec<Trip>>>) {
    let mut relayed = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(&server).await else { continue };
        // Many small messages: waiting to fill packets would change what is measured.
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        let (from_client, mut to_client) = client.into_split();
        let (mut from_server, to_server) = server.into_split();
        relayed.spawn(listen(from_client, to_server, Arc::clone(&trips)));
        relayed.spawn(async move { drop(tokio::io::copy(&mut from_server, &mut to_client).await) });
    }
}

/// Passes on what a client says and notes it.
async fn listen(mut client: OwnedReadHalf, mut server: OwnedWriteHalf, trips: Arc<Mutex<Vec<Trip>>>) {
    let mut said = Said::default();
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = client.read(&mut bytes).await {
        said.hear(&bytes[..count], &trips);
        if server.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// A client's messages, as the protocol frames them: a letter, a length that counts itself, a body.
#[derive(Default)]
struct Said {
    rest: Vec<u8>,
    started: bool,
    statements: HashMap<String, String>,
    prepared: Option<String>,
    bound: Option<String>,
    ran: Option<String>,
}

impl Said {
    fn hear(&mut self, bytes: &[u8], trips: &Mutex<Vec<Trip>>) {
        self.rest.extend_from_slice(bytes);
        loop {
            // The first message has no letter.
            let letter = usize::from(self.started);
            let Some(length) = self.rest.get(letter..letter + 4) else { return };
            let whole = letter + u32::from_be_bytes(length.try_into().unwrap()) as usize;
            if self.rest.len() < whole {
                return;
            }
            let message: Vec<u8> = self.rest.drain(..whole).collect();
            if std::mem::replace(&mut self.started, true)
                && let Some(trip) = self.message(message[0], &message[5..])
            {
                trips.lock().unwrap().push(trip);
            }
        }
    }

    /// The round trip that ends with this message.
    fn message(&mut self, letter: u8, body: &[u8]) -> Option<Trip> {
        let mut texts = body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        let mut text = || texts.next().unwrap_or_default();
        match letter {
            b'P' => {
                let (name, sql) = (text(), text());
                self.prepared = Some(sql.clone());
                self.statements.insert(name, sql);
            }
            b'B' => {
                let (_portal, name) = (text(), text());
                self.bound = self.statements.get(&name).cloned();
            }
            b'E' => self.ran = self.bound.take(),
            b'Q' => return Some(Trip::Ran(text())),
            b'S' => {
                let prepared = self.prepared.take().map(Trip::Prepared);
                return Some(self.ran.take().map(Trip::Ran).or(prepared).unwrap_or(Trip::Ping));
            }
            _ => {}
        }
        None
    }
}

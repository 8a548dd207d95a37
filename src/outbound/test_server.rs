//! An HTTP server for tests that can misbehave in every way a real one does. Raw TCP: a well-behaved server library
//! could not cut a body in half.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use url::Url;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These bytes, then the connection is closed.
    Raw(Vec<u8>),
    /// These bytes, then one more byte at each pause, for ever.
    Trickle(Vec<u8>, Duration),
    /// These bytes, then blanks as fast as they are taken.
    Endless(Vec<u8>),
    /// The first bytes, then the second ones so many times, as fast as they are taken; then the connection is closed.
    Repeat(Vec<u8>, Vec<u8>, usize),
    /// The request is read, the connection stays open, nothing comes.
    Hang,
}

/// A whole answer with these header lines and a correct length.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let mut raw = format!("HTTP/1.1 {status} Test\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        write!(raw, "{name}: {value}\r\n").unwrap();
    }
    raw.push_str("\r\n");
    let mut raw = raw.into_bytes();
    raw.extend_from_slice(body);
    Reply::Raw(raw)
}

pub(crate) fn json(body: &str) -> Reply {
    answer(200, &[("content-type", "application/json; charset=utf-8")], body)
}

/// A head that promises more than follows.
pub(crate) fn head_promising(length: usize, content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 Test\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n").into_bytes()
}

/// A JSON body cut in half.
pub(crate) fn truncated(body: &str) -> Reply {
    let mut raw = head_promising(body.len(), "application/json");
    raw.extend(body.bytes().take(body.len() / 2));
    Reply::Raw(raw)
}

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// A query parameter, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let url = Url::parse("http://test/").unwrap().join(self.target()).unwrap();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(key, value)| key.eq_ignore_ascii_case(name).then(|| value.trim()))
    }
}

/// Listens on a free local port until dropped.
#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) url: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl TestServer {
    /// Replies in order; the last one is repeated.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::answering(move |number, _seen| replies.get(number).or(replies.last()).unwrap().clone()).await
    }

    /// Replies as the function says, which gets the number of the request, from 0, and the request.
    pub(crate) async fn answering(reply: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::at([127, 0, 0, 1], reply).await
    }

    /// The same at another local address.
    pub(crate) async fn at(ip: [u8; 4], reply: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((IpAddr::from(ip), 0)).await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let (reply, log) = (Arc::new(reply), Arc::clone(&seen));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (reply, log) = (Arc::clone(&reply), Arc::clone(&log));
                connections.spawn(async move {
                    // A client that hangs up is part of many tests.
                    drop(serve(stream, &*reply, &log).await);
                });
            }
        });
        Self { url, seen, _tasks: tasks }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port().unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    reply: &(dyn Fn(usize, &Seen) -> Reply + Send + Sync),
    log: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0_u8; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).await? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let mut seen = Seen { head: String::from_utf8_lossy(&head).into_owned(), body: Vec::new() };
    let length = seen.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    seen.body.resize(length, 0);
    stream.read_exact(&mut seen.body).await?;
    let number = {
        let mut log = log.lock().unwrap();
        log.push(seen.clone());
        log.len() - 1
    };
    match reply(number, &seen) {
        Reply::Raw(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        Reply::Trickle(bytes, pause) => {
            stream.write_all(&bytes).await?;
            loop {
                sleep(pause).await;
                stream.write_all(b" ").await?;
            }
        }
        Reply::Endless(bytes) => {
            stream.write_all(&bytes).await?;
            loop {
                stream.write_all(&[b' '; 16 * 1024]).await?;
            }
        }
        Reply::Repeat(head, piece, times) => {
            stream.write_all(&head).await?;
            for _ in 0..times {
                stream.write_all(&piece).await?;
            }
            stream.shutdown().await
        }
        Reply::Hang => std::future::pending().await,
    }
}

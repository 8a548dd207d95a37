//! A misbehaving HTTP server for tests. Raw TCP, because a server library could not cut a body in half.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use url::Url;

#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These bytes, then the connection is closed.
    Raw(Vec<u8>),
    /// These bytes, then one more byte at each pause, endlessly.
    Trickle(Vec<u8>, Duration),
    /// These bytes, then endless blanks.
    Endless(Vec<u8>),
    /// The second bytes are repeated that many times; then the connection is closed.
    Repeat(Vec<u8>, Vec<u8>, usize),
    /// The connection stays open without a reply.
    Hang,
}

/// A whole reply with these headers and a correct length.
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

pub(crate) fn head_promising(length: usize, content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 Test\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n").into_bytes()
}

pub(crate) fn truncated(body: &str) -> Reply {
    let mut raw = head_promising(body.len(), "application/json");
    raw.extend(body.bytes().take(body.len() / 2));
    Reply::Raw(raw)
}

#[derive(Debug, Clone)]
pub(crate) struct SeenRequest {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl SeenRequest {
    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

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

#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) url: Url,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    _tasks: JoinSet<()>,
}

impl TestServer {
    /// Replies in order; the last one repeats.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Self::answering(move |number, _seen| replies.get(number).or(replies.last()).unwrap().clone()).await
    }

    /// `reply` gets the request's number, from 0, and the request.
    pub(crate) async fn answering(reply: impl Fn(usize, &SeenRequest) -> Reply + Send + Sync + 'static) -> Self {
        Self::at([127, 0, 0, 1], reply).await
    }

    pub(crate) async fn at(ip: [u8; 4], reply: impl Fn(usize, &SeenRequest) -> Reply + Send + Sync + 'static) -> Self {
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
                    drop(serve(stream, &*reply, &log).await);
                });
            }
        });
        Self { url, seen, _tasks: tasks }
    }

    pub(crate) fn seen(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port().unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    reply: &(dyn Fn(usize, &SeenRequest) -> Reply + Send + Sync),
    log: &Mutex<Vec<SeenRequest>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0_u8; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).await? == 0 {
            return Ok(());
        }
        head.push(byte[0]);
    }
    let mut seen = SeenRequest { head: String::from_utf8_lossy(&head).into_owned(), body: Vec::new() };
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

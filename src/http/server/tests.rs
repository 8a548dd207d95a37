//! The server with real sockets. Tests of timeouts have short ones.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::routing::get;
use futures::stream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

struct RunningServer {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl RunningServer {
    async fn start(router: Router, per_client: usize) -> Self {
        Self::start_with(router, per_client, TIMEOUTS).await
    }

    async fn start_with(router: Router, per_client: usize, timeouts: Timeouts) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_with(listener, Server { router, timeouts, shutdown: stop.clone() }, per_client));
        Self { address, stop, tasks }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ask(&self, path: &str) -> String {
        let mut stream = self.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn ended(mut self) {
        self.tasks.join_next().await.unwrap().unwrap();
    }
}

fn greeting() -> Router {
    Router::new().route("/", get(|| async { "hello" })).route("/healthz", get(|| async { "ok" }))
}

/// Reads until the server closes the connection; returns the time.
async fn closed(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    let mut bytes = [0; 1024];
    while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
    begun.elapsed()
}

/// Much shorter and much longer than a test on a busy machine takes.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_mins(2);
/// Enough to exchange a request on a busy machine, and short enough to wait for.
const MEDIUM: Duration = Duration::from_secs(2);

fn is_about(found: Duration, expected: Duration) -> bool {
    found >= expected.mul_f32(0.9) && found <= expected + Duration::from_secs(10)
}

#[tokio::test]
async fn stop_waits_for_an_answer_in_progress_and_for_no_idle_connection() {
    let begun = Arc::new(Notify::new());
    let slow = {
        let begun = Arc::clone(&begun);
        move |ConnectInfo(Peer(peer)): ConnectInfo<Peer>| {
            let begun = Arc::clone(&begun);
            async move {
                begun.notify_one();
                tokio::time::sleep(Duration::from_millis(100)).await;
                format!("you are {}", peer.ip())
            }
        }
    };
    let server = RunningServer::start(Router::new().route("/", get(slow)), 64).await;
    let _silent = server.connect().await;
    let mut dripping = server.connect().await;
    dripping.write_all(b"G").await.unwrap();
    let stop = async {
        begun.notified().await;
        server.stop.cancel();
    };
    let (answer, ()) = tokio::join!(server.ask("/"), stop);
    assert!(answer.ends_with("you are 127.0.0.1"), "{answer}");
    let address = server.address;
    tokio::time::timeout(Duration::from_secs(5), server.ended()).await.expect("the server has ended");
    assert!(TcpStream::connect(address).await.is_err(), "the address is free");
}

#[tokio::test]
async fn connection_closes_when_no_head_arrives_in_time() {
    let timeouts = Timeouts { head: SHORT, keep_alive: LONG, write: LONG };
    let server = RunningServer::start_with(greeting(), 64, timeouts).await;
    let silent = closed(&mut server.connect().await).await;
    assert!(is_about(silent, SHORT), "silent: {silent:?}");
    let mut stream = server.connect().await;
    let begun = Instant::now();
    let mut sent = 0;
    while sent < REQUEST.len() - 1 && stream.write_all(&REQUEST[sent..=sent]).await.is_ok() {
        tokio::time::sleep(SHORT / 10).await;
        sent += 1;
    }
    closed(&mut stream).await;
    assert!(is_about(begun.elapsed(), SHORT), "dripping: {:?}", begun.elapsed());
    assert!(sent < REQUEST.len() - 1, "the client notices");
}

#[tokio::test]
async fn connection_is_kept_for_further_requests_and_closes_when_none_follows() {
    let timeouts = Timeouts { head: LONG, keep_alive: MEDIUM, write: LONG };
    let server = RunningServer::start_with(greeting(), 64, timeouts).await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        tokio::time::sleep(SHORT / 10).await;
        stream.write_all(REQUEST).await.unwrap();
        let mut answer = [0; 1024];
        let length = stream.read(&mut answer).await.unwrap();
        assert!(String::from_utf8_lossy(&answer[..length]).starts_with("HTTP/1.1 200"));
    }
    let idle = closed(&mut stream).await;
    assert!(is_about(idle, MEDIUM), "idle: {idle:?}");
    // The head of a further request gets as long as that of the first.
    let timeouts = Timeouts { head: MEDIUM, keep_alive: LONG, write: LONG };
    let server = RunningServer::start_with(greeting(), 64, timeouts).await;
    let mut stream = server.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0, "an answer");
    tokio::time::sleep(MEDIUM + SHORT).await;
    stream.write_all(b"GET").await.unwrap();
    let begun = closed(&mut stream).await;
    assert!(is_about(begun, MEDIUM), "begun: {begun:?}");
}

#[tokio::test]
async fn idle_connection_closes_after_a_request_that_took_longer_than_its_head_may() {
    let slow = || async {
        tokio::time::sleep(MEDIUM + SHORT).await;
        "done"
    };
    let timeouts = Timeouts { head: MEDIUM, keep_alive: SHORT, write: LONG };
    let server = RunningServer::start_with(Router::new().route("/", get(slow)), 64, timeouts).await;
    let mut stream = server.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0, "an answer");
    let idle = tokio::time::timeout(Duration::from_secs(10), closed(&mut stream)).await;
    assert!(idle.is_ok(), "the idle connection stays open");
}

struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[tokio::test]
async fn answer_ends_when_its_client_takes_nothing() {
    let is_dropped = Arc::new(AtomicBool::new(false));
    let endless = {
        let is_dropped = Arc::clone(&is_dropped);
        move || {
            let flag = Flag(Arc::clone(&is_dropped));
            let chunks = stream::repeat_with(move || {
                let _held = &flag;
                Ok::<_, io::Error>(vec![0_u8; 64 * 1024])
            });
            async { Body::from_stream(chunks) }
        }
    };
    let timeouts = Timeouts { head: LONG, keep_alive: LONG, write: SHORT };
    let server = RunningServer::start_with(Router::new().route("/", get(endless)), 64, timeouts).await;
    let mut stream = server.connect().await;
    let begun = Instant::now();
    stream.write_all(REQUEST).await.unwrap();
    while !is_dropped.load(Ordering::Acquire) {
        assert!(begun.elapsed() < LONG, "the answer is never given up");
        tokio::time::sleep(SHORT / 10).await;
    }
    assert!(is_about(begun.elapsed(), SHORT), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn event_stream_lives_on_while_it_is_silent() {
    let slow = || async {
        let chunks = stream::unfold(0, |number| async move {
            tokio::time::sleep(SHORT).await;
            (number < 3).then(|| (Ok::<_, io::Error>("data: x\n\n"), number + 1))
        });
        Body::from_stream(chunks)
    };
    let timeouts = Timeouts { head: SHORT / 3, keep_alive: SHORT / 3, write: SHORT / 3 };
    let server = RunningServer::start_with(Router::new().route("/", get(slow)), 64, timeouts).await;
    assert_eq!(server.ask("/").await.matches("data: x").count(), 3);
}

#[tokio::test]
async fn idle_connections_of_one_client_make_room_for_further_ones() {
    let server = RunningServer::start(greeting(), 4).await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect().await;
        stream.write_all(REQUEST).await.unwrap();
        let mut answer = [0; 1024];
        let length = stream.read(&mut answer).await.unwrap();
        assert!(String::from_utf8_lossy(&answer[..length]).ends_with("hello"));
        idle.push(stream);
    }
    let mut open = 0;
    for stream in &mut idle {
        let end = tokio::time::timeout(Duration::from_millis(100), stream.read(&mut [0; 16])).await;
        open += usize::from(end.is_err());
    }
    assert_eq!(open, 4);
}

#[tokio::test]
async fn only_probes_are_answered_when_every_connection_of_a_client_is_busy() {
    let (begun, end) = (Arc::new(Notify::new()), CancellationToken::new());
    let busy = {
        let (begun, end) = (Arc::clone(&begun), end.clone());
        move || {
            let (begun, end) = (Arc::clone(&begun), end.clone());
            async move {
                begun.notify_one();
                end.cancelled().await;
                "done"
            }
        }
    };
    let server = RunningServer::start(greeting().route("/busy", get(busy)), 2).await;
    let both = async { tokio::join!(server.ask("/busy"), server.ask("/busy")) };
    let meanwhile = async {
        begun.notified().await;
        begun.notified().await;
        // Silent connections on the reserved places do not help an attacker either.
        let mut silent = Vec::new();
        for _ in 0..RESERVED_CONNECTIONS + 5 {
            silent.push(server.connect().await);
        }
        let (probe, other) = (server.ask("/healthz").await, server.ask("/").await);
        assert!(probe.starts_with("HTTP/1.1 200") && probe.ends_with("ok"), "{probe}");
        let head = other.to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 503") && head.contains("connection: close"), "{other}");
        assert!(other.contains("urn:corroborate:problem:busy"), "{other}");
        end.cancel();
    };
    let ((one, two), ()) = tokio::join!(both, meanwhile);
    assert!(one.ends_with("done") && two.ends_with("done"), "{one} {two}");
    assert!(server.ask("/").await.ends_with("hello"));
}

#[tokio::test]
async fn head_is_refused_when_it_is_too_large() {
    let server = RunningServer::start(greeting(), 64).await;
    let answer = server.ask(&format!("/{}", "x".repeat(MAX_BUFFER_BYTES))).await;
    assert!(answer.starts_with("HTTP/1.1 431") || answer.starts_with("HTTP/1.1 414"), "{answer}");
}

#[tokio::test]
async fn bodies_that_do_not_end_make_room_for_further_requests() {
    let taken = axum::routing::post(|body: String| async { body });
    let server = RunningServer::start(greeting().route("/", taken), 4).await;
    let mut dripping = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect().await;
        stream.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab").await.unwrap();
        dripping.push(stream);
    }
    assert!(server.ask("/healthz").await.ends_with("ok"));
    let last = dripping.last_mut().unwrap();
    last.write_all(b"cde").await.unwrap();
    let mut answer = [0; 1024];
    let length = last.read(&mut answer).await.unwrap();
    assert!(String::from_utf8_lossy(&answer[..length]).ends_with("abcde"), "a later one is answered");
}

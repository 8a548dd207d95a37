//! Fetching pages from misbehaving servers over real sockets.

mod changes;
mod fleet;
mod manners;
mod weight;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::super::names::system_lookup;
use super::super::ssrf_guard::{Guard, Lookup, is_own, is_public};
use super::super::test_server::{Reply, TestServer, answer, head_promising};
use super::{FetchError, FetchedPage, PageFetcher, PageSettings, PageSource};

const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");

fn settings() -> PageSettings {
    PageSettings {
        timeout: Duration::from_secs(5),
        max_bytes: 20_000,
        allow_private: true,
        host_pause: Duration::ZERO,
        // Tested separately; these tests count requests.
        respect_robots: false,
        ..PageSettings::default()
    }
}

fn fetcher(settings: PageSettings) -> PageFetcher {
    PageFetcher::new(settings, PageSource::Live).unwrap()
}

async fn fetch_with(fetcher: &PageFetcher, url: &str) -> Result<FetchedPage, FetchError> {
    let deadline = Instant::now() + Duration::from_secs(30);
    fetcher.fetch(&Url::parse(url).unwrap(), deadline, &|host| host == "denied.example").await
}

async fn fetch_reply(reply: Reply) -> Result<FetchedPage, FetchError> {
    let server = TestServer::start([reply]).await;
    fetch_with(&fetcher(settings()), server.url.as_str()).await
}

fn redirect(status: u16, to: &str) -> Reply {
    answer(status, &[("location", to)], "")
}

/// Resolves every name to these addresses, at the server's port.
fn named(addresses: Vec<SocketAddr>) -> Lookup {
    Arc::new(move |_name| {
        let addresses = addresses.clone();
        Box::pin(async move { Ok(addresses) })
    })
}

#[tokio::test]
async fn a_page_comes_with_what_is_needed_to_read_it() {
    let headers = [HTML, ("etag", "\"a\""), ("last-modified", "Wed, 18 Nov 2026 12:00:00 GMT")];
    let server = TestServer::start([answer(200, &headers, "<p>Проверка")]).await;
    let url = server.url.join("/a#part").unwrap();
    let page = fetch_with(&fetcher(settings()), url.as_str()).await.unwrap();
    assert_eq!(page.final_url, server.url.join("/a").unwrap());
    assert_eq!((page.status, page.downgraded), (200, false));
    assert_eq!(page.body, "<p>Проверка".as_bytes());
    assert_eq!(page.content_type.as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!(page.etag.as_deref(), Some("\"a\""));
    let seen = server.seen();
    assert!(seen[0].header("user-agent").unwrap().starts_with("corroborate/"));
    assert_eq!(seen[0].header("accept-encoding"), Some("gzip, br, zstd"));
    assert_eq!(seen[0].header("referer"), None);
}

#[tokio::test]
async fn private_addresses_are_refused_before_anything_is_sent() {
    let server = TestServer::start([answer(200, &[HTML], "secret")]).await;
    let port = server.port();
    let guarded = fetcher(PageSettings { allow_private: false, extra_ports: vec![port], ..settings() });
    for host in ["127.0.0.1", "2130706433", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"] {
        let error = fetch_with(&guarded, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert_eq!(error.label(), "private_address", "{host}: {error}");
    }
    // Some systems' resolvers do not know the name with its dot.
    let error = fetch_with(&guarded, &format!("http://localhost.:{port}/")).await.unwrap_err();
    assert!(matches!(error.label(), "private_address" | "dns"), "{error}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn fetcher_checks_each_hop_when_server_redirects() {
    // The first hop needs the private server.
    let cases = [
        ("http://denied.example/", "denied"),
        ("//denied.example/x", "denied"),
        ("file:///etc/passwd", "scheme"),
        ("ftp://a.example/", "scheme"),
        ("http://user:pass@a.example/", "bad_url"),
        ("http://", "bad_url"),
        ("http://:80/", "bad_url"),
        ("https://denied.example:8443/", "denied"),
        ("http://DENIED.example./", "denied"),
        ("javascript:alert(1)", "scheme"),
        ("data:text/html,secret", "scheme"),
    ];
    for (target, label) in cases {
        let error = fetch_reply(redirect(302, target)).await.unwrap_err();
        assert_eq!(error.label(), label, "{target}: {error}");
    }
}

/// Represents a public address: the only local one that the guard of these tests allows.
const OUTSIDE: [u8; 4] = [127, 0, 0, 77];

fn public_or_outside(ip: IpAddr) -> bool {
    ip == IpAddr::from(OUTSIDE) || is_public(ip)
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let inside = TestServer::start([answer(200, &[HTML], "secret")]).await;
    for host in [
        "127.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "127.1",
        "0.0.0.0",
        "169.254.169.254",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "localhost",
    ] {
        let target = format!("http://{host}:{}/", inside.port());
        let outside = TestServer::at(OUTSIDE, move |_, _| redirect(302, &target)).await;
        let guarded =
            PageFetcher::with_guard(settings(), PageSource::Live, system_lookup(), Guard::of(public_or_outside))
                .unwrap();
        let error = fetch_with(&guarded, outside.url.as_str()).await.unwrap_err();
        assert_eq!(error.label(), "private_address", "{host}: {error}");
        assert_eq!(outside.seen().len(), 1);
    }
    assert!(inside.seen().is_empty());
}

#[tokio::test]
async fn redirect_is_refused_when_its_port_is_not_one_of_the_web() {
    for (target, port) in [
        ("http://a.example:6379/", 6379),
        ("http://a.example:22/", 22),
        ("//a.example:8080/status", 8080),
        ("https://127.0.0.77:9090/metrics", 9090),
    ] {
        let outside = TestServer::at(OUTSIDE, move |_, _| redirect(302, target)).await;
        let guard = Guard::of(public_or_outside).at_ports(&[outside.port()]);
        let guarded = PageFetcher::with_guard(settings(), PageSource::Live, system_lookup(), guard).unwrap();
        let error = fetch_with(&guarded, outside.url.as_str()).await.unwrap_err();
        assert!(matches!(error, FetchError::Port { port: found, .. } if found == port), "{target}: {error}");
        assert_eq!(error.label(), "port");
        assert_eq!(outside.seen().len(), 1);
    }
}

#[tokio::test]
async fn page_is_refused_before_a_request_when_its_port_is_not_one_of_the_web() {
    let server = TestServer::start([answer(200, &[HTML], "secret")]).await;
    let guard = Guard::of(|_any| true).at_ports(&[]);
    let guarded = PageFetcher::with_guard(settings(), PageSource::Live, system_lookup(), guard).unwrap();
    let error = fetch_with(&guarded, server.url.as_str()).await.unwrap_err();
    let port = server.port();
    assert_eq!(error, FetchError::Port { host: "127.0.0.1".to_owned(), port });
    assert!(
        error.to_string().contains(&port.to_string()) && error.to_string().contains("FETCH_EXTRA_PORTS"),
        "{error}"
    );
    assert!(server.seen().is_empty());
}

/// The loopback addresses replace public ones of this machine.
#[tokio::test]
async fn page_is_refused_when_its_address_is_this_machines_own() {
    let server = TestServer::start([answer(200, &[HTML], "metrics of this machine")]).await;
    let guard = || Guard::of(|_any| true).without_own(is_own);
    let guarded = PageFetcher::with_guard(settings(), PageSource::Live, system_lookup(), guard()).unwrap();
    let error = fetch_with(&guarded, server.url.as_str()).await.unwrap_err();
    assert_eq!(error, FetchError::OwnAddress { host: "127.0.0.1".to_owned() });
    let lookup = named(vec![SocketAddr::from(([127, 0, 0, 1], server.port()))]);
    let guarded = PageFetcher::with_guard(settings(), PageSource::Live, lookup, guard()).unwrap();
    let error = fetch_with(&guarded, "http://this-machine.example/").await.unwrap_err();
    assert_eq!(error, FetchError::OwnAddress { host: "this-machine.example".to_owned() });
    let target = server.url.to_string();
    let outside = TestServer::at(OUTSIDE, move |_, _| redirect(302, &target)).await;
    let guard = Guard::of(|_any| true).without_own(|ip| ip != IpAddr::from(OUTSIDE) && is_own(ip));
    let guarded = PageFetcher::with_guard(settings(), PageSource::Live, system_lookup(), guard).unwrap();
    let error = fetch_with(&guarded, outside.url.as_str()).await.unwrap_err();
    assert_eq!(error.label(), "own_address");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_name_that_answers_differently_the_second_time_gains_nothing() {
    let server = TestServer::start([answer(200, &[HTML], "secret")]).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, port) = (Arc::clone(&asked), server.port());
    let lookup: Lookup = Arc::new(move |_name| {
        // 192.0.2.0/24 replaces a private address that comes with a public one, and later alone.
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        let public = SocketAddr::from(([8, 8, 8, 8], port));
        let private = SocketAddr::from(([127, 0, 0, 1], port));
        let answer = if first { vec![public, private] } else { vec![private] };
        Box::pin(async move { Ok(answer) })
    });
    let guarded = PageFetcher::with_guard(settings(), PageSource::Live, lookup, Guard::of(is_public)).unwrap();
    for _ in 0..2 {
        let error = fetch_with(&guarded, "http://rebinding.example/").await.unwrap_err();
        assert_eq!(error, FetchError::PrivateAddress { host: "rebinding.example".into() });
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2, "resolved once for each connection, and checked there");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn redirects_are_followed_by_hand_and_counted() {
    let server = TestServer::answering(|number, seen| match seen.path() {
        "/loop" => redirect(302, "/loop"),
        "/none" => answer(302, &[], ""),
        _ if number < 5 => redirect([301, 302, 303, 307, 308][number], &format!("/{number}?ж=1")),
        _ => answer(200, &[HTML], "done"),
    })
    .await;
    let fetcher = fetcher(settings());
    let page = fetch_with(&fetcher, server.url.as_str()).await.unwrap();
    assert_eq!(page.body, b"done");
    assert_eq!(page.final_url.path(), "/4");
    let error = fetch_with(&fetcher, server.url.join("/loop").unwrap().as_str()).await.unwrap_err();
    assert_eq!(error, FetchError::TooManyRedirects);
    assert_eq!(server.seen().len(), 6 + 6, "five redirects, six requests, each time");
    let error = fetch_with(&fetcher, server.url.join("/none").unwrap().as_str()).await.unwrap_err();
    assert_eq!(error, FetchError::Status(302));
}

#[tokio::test]
async fn fetcher_rejects_response_when_it_is_no_page() {
    let cases = [
        (answer(200, &[("content-type", "application/pdf")], "%PDF-1.7"), "not_a_page"),
        (answer(200, &[("content-type", "image/svg+xml")], "<svg/>"), "not_a_page"),
        (answer(200, &[("content-type", "application/json")], "{}"), "not_a_page"),
        (answer(200, &[HTML], "%PDF-1.7"), "not_a_page"),
        (answer(200, &[], [1, 0, 2, 0]), "not_a_page"),
        (answer(403, &[HTML], "<title>Forbidden</title>"), "status"),
        (answer(403, &[HTML], "<title>Just a moment…</title>"), "bot_wall"),
        (answer(503, &[HTML], "<div id=px-captcha>"), "bot_wall"),
        (answer(403, &[HTML, ("cf-mitigated", "challenge")], ""), "bot_wall"),
        (answer(404, &[HTML], "no captcha here"), "status"),
        (answer(500, &[HTML], ""), "status"),
        (answer(200, &[HTML], vec![b'a'; 20_001]), "too_large"),
        (Reply::Endless(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".to_vec()), "too_large"),
        (answer(200, &[HTML, ("content-encoding", "gzip, gzip")], "x"), "encoding"),
        (answer(200, &[HTML, ("content-encoding", "compress")], "x"), "encoding"),
        (answer(200, &[HTML, ("content-encoding", "zstd")], "x"), "encoding"),
        (answer(200, &[HTML, ("content-encoding", "gzip")], "plain after all"), "encoding"),
        (answer(200, &[HTML], b"\x1f\x8b\x08 compressed without saying so"), "encoding"),
        (Reply::Raw(head_promising(1000, "text/html")), "connect"),
        (Reply::Raw(b"nonsense\r\n\r\n".to_vec()), "connect"),
        (Reply::Raw(Vec::new()), "connect"),
    ];
    for (reply, label) in cases {
        let what = format!("{reply:?}").chars().take(120).collect::<String>();
        let error = fetch_reply(reply).await.unwrap_err();
        assert_eq!(error.label(), label, "{what}: {error}");
    }
    for (content_type, body) in [("text/plain", "hi"), ("application/rss+xml", "<rss/>"), ("", "<p>")] {
        assert!(fetch_reply(answer(200, &[("content-type", content_type)], body)).await.is_ok(), "{content_type}");
    }
    assert!(fetch_reply(answer(200, &[HTML], b"\xff\xfea\0b\0")).await.is_ok(), "UTF-16 with its mark");
}

#[tokio::test]
async fn slow_pages_end_with_the_clock() {
    let impatient = || fetcher(PageSettings { timeout: Duration::from_millis(150), ..settings() });
    let trickle = Reply::Trickle(head_promising(10_000, "text/html"), Duration::from_millis(20));
    for reply in [trickle, Reply::Hang] {
        let server = TestServer::start([reply]).await;
        assert_eq!(fetch_with(&impatient(), server.url.as_str()).await.unwrap_err(), FetchError::Timeout);
        let soon = Instant::now() + Duration::from_millis(50);
        let error = impatient().fetch(&server.url, soon, &|_| false).await.unwrap_err();
        assert_eq!(error, FetchError::Deadline);
    }
}

#[tokio::test]
async fn one_host_gets_two_requests_at_a_time() {
    let server = TestServer::start([Reply::Hang]).await;
    let fetcher = fetcher(PageSettings { timeout: Duration::from_secs(1), ..settings() });
    let start = Instant::now();
    let outcomes = futures::future::join_all((0..6).map(|number| {
        let patience = if number < 2 { Duration::from_secs(30) } else { Duration::from_millis(500) };
        fetcher.fetch(&server.url, start + patience, &|_| false)
    }));
    let outcomes = outcomes.await;
    let of = |label| outcomes.iter().filter(|outcome| outcome.as_ref().unwrap_err().label() == label).count();
    assert_eq!((of("timeout"), of("deadline")), (2, 4), "{outcomes:?}");
    assert_eq!(server.seen().len(), 2, "the others waited for their slot until the time was up");
}

#[tokio::test]
async fn fetcher_reports_different_causes_when_servers_are_unreachable() {
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let fetcher = fetcher(settings());
    assert_eq!(fetch_with(&fetcher, &format!("http://{closed}/")).await.unwrap_err().label(), "connect");

    let plain = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap();
    let talker = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        io::Write::write_all(&mut stream, b"HTTP/1.1 400 Speak TLS\r\n\r\n").unwrap();
        // Reads until the client hangs up, so that it gets no reset.
        drop(io::Read::read_to_end(&mut stream, &mut Vec::new()));
    });
    let error = fetch_with(&fetcher, &format!("https://{address}/")).await.unwrap_err();
    assert_eq!(error.label(), "tls", "{error}");
    talker.join().unwrap();

    let failing: Lookup = Arc::new(|_name| Box::pin(async { Err(io::Error::other("SERVFAIL")) }));
    let lost = PageFetcher::with_guard(settings(), PageSource::Live, failing, Guard::open()).unwrap();
    assert_eq!(fetch_with(&lost, "http://a.example/").await.unwrap_err(), FetchError::Dns);
    let empty = PageFetcher::with_guard(settings(), PageSource::Live, named(Vec::new()), Guard::open()).unwrap();
    assert_eq!(fetch_with(&empty, "http://a.example/").await.unwrap_err(), FetchError::Dns);
}

#[tokio::test]
async fn without_a_recording_there_is_no_page_and_no_network() {
    let server = TestServer::start([answer(200, &[HTML], "live")]).await;
    let replay = PageFetcher::new(settings(), PageSource::Replay(Arc::default())).unwrap();
    assert_eq!(fetch_with(&replay, server.url.as_str()).await.unwrap_err(), FetchError::NoRecording);
    assert!(server.seen().is_empty());
}

//! `robots.txt`, pauses and cool-downs of sites.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::outbound::pages::permission::Permissions;

fn polite() -> PageSettings {
    PageSettings { respect_robots: true, ..settings() }
}

/// A site with this `robots.txt` and a page at every other path.
async fn site(robots: Reply) -> TestServer {
    TestServer::answering(move |_, seen| match seen.path() {
        "/robots.txt" => robots.clone(),
        _ => answer(200, &[HTML], "<p>page"),
    })
    .await
}

fn asked_for_robots(server: &TestServer) -> usize {
    server.seen().iter().filter(|seen| seen.path() == "/robots.txt").count()
}

async fn outcome(fetcher: &PageFetcher, server: &TestServer, path: &str) -> &'static str {
    match fetch_with(fetcher, server.url.join(path).unwrap().as_str()).await {
        Ok(_) => "ok",
        Err(error) => error.label(),
    }
}

#[tokio::test]
async fn what_robots_txt_forbids_is_not_fetched_and_it_is_asked_for_once() {
    let rules = "User-agent: corroborate\nDisallow: /private/\n\nUser-agent: *\nDisallow: /";
    let server = site(answer(200, &[("content-type", "text/plain")], rules)).await;
    let fetcher = fetcher(polite());
    let pages = ["/a", "/b", "/private/c", "/private/"].map(|path| server.url.join(path).unwrap().to_string());
    let outcomes = futures::future::join_all(pages.iter().map(|url| fetch_with(&fetcher, url))).await;
    assert!(outcomes[0].is_ok() && outcomes[1].is_ok());
    for forbidden in &outcomes[2..] {
        assert_eq!(forbidden, &Err(FetchError::Robots { host: "127.0.0.1".to_owned() }));
    }
    assert_eq!((asked_for_robots(&server), server.seen().len()), (1, 3), "one request for the file, two for pages");
    let careless = PageFetcher::new(settings(), PageSource::Live).unwrap();
    assert_eq!(outcome(&careless, &server, "/private/").await, "ok", "for one's own site it can be switched off");
}

#[tokio::test]
async fn fetcher_follows_rfc_when_robots_txt_has_any_status() {
    const NO: &str = "User-agent: *\nDisallow: /";
    let cut = [head_promising(1_000, "text/plain"), b"User-agent: *\n".to_vec()].concat();
    let long = format!("{NO}\n{}", "# words\n".repeat(100_000));
    let cases = [
        (answer(404, &[], NO), "ok"),
        (answer(401, &[], NO), "ok"),
        (answer(403, &[], NO), "ok"),
        (answer(200, &[], ""), "ok"),
        (answer(200, &[HTML], "<!doctype html><p>Home"), "ok"),
        (answer(200, &[], NO), "robots"),
        (answer(200, &[], format!("\u{feff}{NO}")), "robots"),
        (answer(200, &[], long), "robots"),
        (Reply::Endless(format!("HTTP/1.1 200 OK\r\n\r\n{NO}\n").into_bytes()), "robots"),
        (answer(500, &[], ""), "robots_unreachable"),
        (answer(503, &[], ""), "robots_unreachable"),
        (answer(429, &[], ""), "robots_unreachable"),
        (Reply::Raw(cut), "robots_unreachable"),
        (answer(200, &[("content-encoding", "gzip, gzip")], NO), "robots_unreachable"),
        (answer(302, &[("location", "/robots.txt")], ""), "ok"),
        (answer(302, &[("location", "file:///etc/passwd")], ""), "ok"),
        (answer(302, &[], ""), "ok"),
        (answer(302, &[("location", "http://denied.example/robots.txt")], ""), "denied"),
    ];
    for (reply, expected) in cases {
        let what = format!("{reply:?}").chars().take(160).collect::<String>();
        let server = site(reply).await;
        assert_eq!(outcome(&fetcher(polite()), &server, "/page").await, expected, "{what}");
    }
}

#[tokio::test]
async fn a_robots_txt_that_hangs_costs_half_of_the_pages_time_and_is_not_asked_again_at_once() {
    let server = site(Reply::Hang).await;
    let fetcher = fetcher(PageSettings { timeout: Duration::from_millis(400), ..polite() });
    for _ in 0..3 {
        assert_eq!(outcome(&fetcher, &server, "/page").await, "robots_unreachable");
    }
    assert_eq!((asked_for_robots(&server), server.seen().len()), (1, 1));
}

#[tokio::test]
async fn a_site_that_failed_over_its_robots_txt_is_asked_again_later() {
    let broken = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&broken);
    let server = TestServer::answering(move |_, seen| match seen.path() {
        "/robots.txt" if state.load(Ordering::SeqCst) => answer(500, &[], ""),
        "/robots.txt" => answer(404, &[], ""),
        _ => answer(200, &[HTML], "<p>page"),
    })
    .await;
    let mut fetcher = fetcher(polite());
    fetcher.permissions = Permissions::lasting(Duration::from_hours(24), Duration::from_millis(150));
    assert_eq!(outcome(&fetcher, &server, "/").await, "robots_unreachable");
    broken.store(false, Ordering::SeqCst);
    assert_eq!(outcome(&fetcher, &server, "/").await, "robots_unreachable", "what was learned holds for a while");
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(outcome(&fetcher, &server, "/").await, "ok");
    assert_eq!(asked_for_robots(&server), 2);
}

#[tokio::test]
async fn the_site_a_redirect_leads_to_is_asked_too() {
    let target = site(answer(200, &[], "User-agent: *\nDisallow: /closed")).await;
    let (open, closed) = (target.url.join("/open").unwrap(), target.url.join("/closed").unwrap());
    let server = TestServer::answering(move |_, seen| match seen.path() {
        "/robots.txt" => answer(404, &[], ""),
        "/1" => redirect(302, open.as_str()),
        _ => redirect(302, closed.as_str()),
    })
    .await;
    let fetcher = fetcher(polite());
    assert_eq!(outcome(&fetcher, &server, "/1").await, "ok");
    assert_eq!(outcome(&fetcher, &server, "/2").await, "robots");
    assert_eq!((asked_for_robots(&target), target.seen().len()), (1, 2));
}

#[tokio::test]
async fn a_robots_txt_on_a_private_address_is_not_followed_to() {
    let inside = TestServer::start([answer(200, &[], "")]).await;
    let target = format!("{}robots.txt", inside.url);
    let outside = TestServer::at(OUTSIDE, move |_, _| redirect(302, &target)).await;
    let guarded =
        PageFetcher::with_guard(polite(), PageSource::Live, system_lookup(), Guard::of(public_or_outside)).unwrap();
    assert_eq!(outcome(&guarded, &outside, "/page").await, "private_address");
    assert!(inside.seen().is_empty());
}

#[tokio::test]
async fn recordings_without_a_robots_txt_allow_what_they_hold() {
    let mut archive = crate::outbound::replay::Archive::default();
    let lines = r#"{"format":2,"recorded_at":"2026-11-20T12:00:00Z"}
{"method":"GET","url":"https://a.example/page","status":200,"headers":{"content-type":"text/html"},"body":"<p>recorded"}
"#;
    archive.extend(lines, "a text").unwrap();
    let replay = PageFetcher::new(polite(), PageSource::Replay(Arc::new(archive))).unwrap();
    assert_eq!(fetch_with(&replay, "https://a.example/page").await.unwrap().body, b"<p>recorded");
    assert_eq!(fetch_with(&replay, "https://a.example/other").await, Err(FetchError::NoRecording));
}

/// A fetcher that resolves every name to the server's address.
fn by_name(settings: PageSettings, server: &TestServer) -> PageFetcher {
    let lookup = named(vec![SocketAddr::from(([127, 0, 0, 1], server.port()))]);
    PageFetcher::with_guard(settings, PageSource::Live, lookup, Guard::open()).unwrap()
}

#[tokio::test]
async fn requests_to_one_host_keep_a_pause_and_a_crawl_delay_while_others_go_on() {
    let rules = "User-agent: *\nCrawl-delay: 1";
    let server = TestServer::answering(move |_, seen| match (seen.path(), seen.header("host").unwrap()) {
        ("/robots.txt", host) if host.starts_with("slow") => answer(200, &[], rules),
        ("/robots.txt", _) => answer(404, &[], ""),
        _ => answer(200, &[HTML], "<p>page"),
    })
    .await;
    let settings = PageSettings { host_pause: Duration::from_millis(100), concurrency: 1, ..polite() };
    let fetcher = by_name(settings, &server);
    let start = Instant::now();
    let timed = |host: &'static str| {
        let (fetcher, url) = (&fetcher, format!("http://{host}:{}/page", server.port()));
        async move {
            let all = (0..3).map(|_| fetch_with(fetcher, &url));
            assert!(futures::future::join_all(all).await.iter().all(Result::is_ok), "{host}");
            start.elapsed()
        }
    };
    let (slow, quick) = futures::join!(timed("slow.example"), timed("quick.example"));
    assert!(slow >= Duration::from_secs(2), "three requests, two delays: {slow:?}");
    assert!(quick >= Duration::from_millis(200), "{quick:?}");
    assert!(quick < Duration::from_secs(2), "who waits for a host holds no place: {quick:?}");
    let local =
        PageFetcher::new(PageSettings { host_pause: Duration::from_mins(1), ..super::settings() }, PageSource::Live);
    let local = local.unwrap();
    for _ in 0..3 {
        assert_eq!(outcome(&local, &server, "/page").await, "ok", "private addresses need no pause");
    }
}

#[tokio::test]
async fn a_host_that_asks_for_rest_is_not_hammered() {
    for (status, header, rests) in [
        (429, Some("2"), true),
        (429, Some("Wed, 18 Nov 2026 12:00:30 GMT"), true),
        (429, None, true),
        (429, Some("soon"), true),
        (429, Some("0"), false),
        (503, Some("120"), true),
        (503, None, false),
        (500, Some("60"), false),
    ] {
        let mut headers = vec![HTML, ("date", "Wed, 18 Nov 2026 12:00:00 GMT")];
        headers.extend(header.map(|value| ("retry-after", value)));
        let server = TestServer::start([answer(status, &headers, "")]).await;
        let fetcher = fetcher(settings());
        assert_eq!(outcome(&fetcher, &server, "/1").await, "status");
        let expected = if rests { "host_resting" } else { "status" };
        for path in ["/2", "/3", "/4"] {
            assert_eq!(outcome(&fetcher, &server, path).await, expected, "{status} {header:?}");
        }
        assert_eq!(server.seen().len(), if rests { 1 } else { 4 }, "{status} {header:?}");
    }
}

//! Who can reach the HTTP port, and what one client can take from the others: connections, requests, memory, sessions.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hmac::{Hmac, Mac as _};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::embedded::Home;
use super::surface::{FORM, csrf, page, sign_in};
use crate::support::daemon::{Answer, Daemon};

/// Opens connections from one address that send `begun` and no more.
async fn held(daemon: &Daemon, count: usize, begun: &'static [u8]) -> Vec<TcpStream> {
    let address = daemon.address();
    let open = move || {
        let one = || {
            let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
            // The server may have closed it already in favour of a later one.
            drop(stream.write_all(begun));
            stream
        };
        (0..count).map(|_| one()).collect()
    };
    tokio::task::spawn_blocking(open).await.unwrap()
}

/// The answer within a second, and how long it took; on a busy machine the best of three tries counts.
async fn quick(daemon: &Daemon, path: &str) -> Answer {
    for _ in 0..3 {
        let begun = Instant::now();
        if let Ok(answer) = tokio::time::timeout(Duration::from_secs(1), daemon.get(path)).await {
            println!("{path}: {} after {:?}", answer.status, begun.elapsed());
            return answer;
        }
    }
    panic!("{path} is not answered within a second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_and_requests_are_answered_when_one_address_holds_hundreds_of_idle_connections() {
    let home = Home::new().await;
    let daemon = home.start().await;
    let body =
        b"POST /api/items HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[";
    for (begun, kind) in [
        (&b""[..], "silent"),
        (b"G", "one byte"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", "half a head"),
        (body, "a body that does not end"),
    ] {
        let connections = held(&daemon, 600, begun).await;
        for path in ["/healthz", "/readyz", "/metrics", "/api/items"] {
            assert_eq!(quick(&daemon, path).await.status, 200, "{kind}: {path}");
        }
        drop(connections);
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_counts_against_the_rate_and_probes_and_static_files_do_not() {
    let mut home = Home::new().await;
    home.set("CORROBORATE_HTTP_REQUESTS_PER_MINUTE", "10");
    let daemon = home.start().await;
    let first = daemon.get("/").await;
    let style = first.body.split("href=\"").map(|rest| rest.split('"').next().unwrap());
    let style = style.into_iter().find(|href| href.contains("/assets/")).unwrap().to_owned();
    // One more is allowed every six seconds, which a slow machine may meet.
    let refused = async |path: &str| {
        for _ in 0..20 {
            let answer = daemon.get(path).await;
            if answer.status == 429 {
                return answer;
            }
        }
        panic!("{path} is not limited");
    };
    for path in
        ["/items", "/items/export", "/evidence/nothing", "/", "/docs", "/openapi.json", "/api/items", "/nowhere"]
    {
        assert!(refused(path).await.head.contains("retry-after"), "{path}");
    }
    for path in ["/healthz", "/readyz", "/metrics", &style] {
        assert_eq!(daemon.get(path).await.status, 200, "{path}");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_cost_little_memory_when_they_hold_nothing_of_use() {
    const MOST_KIB: u64 = 96 * 1024;
    let home = Home::new().await;
    let daemon = home.start().await;
    // `[{"":0},{"":0},…]`: a tree of its values takes a hundred times as much.
    let of_bytes = |bytes: usize| format!("[{}{{\"\":0}}]", "{\"\":0},".repeat(bytes / 7));
    let (small, large) = (of_bytes(60 * 1024), of_bytes(8 * 1024 * 1024 - 64));
    let lines = "{\"\":[{},{},{},{},{},{},{},{},{},{}]}\n".repeat(8 * 1024 * 1024 / 38);
    let one = format!("{{\"schema\":1,\"x\":{}}}", of_bytes(1024 * 1024 - 64));
    for (path, body, statuses) in [
        ("/api/verify", &large, [413, 413]),
        ("/api/verify", &small, [422, 422]),
        ("/api/domains", &large, [413, 413]),
        ("/api/domains/import", &large, [413, 422]),
        ("/api/items", &large, [400, 422]),
        ("/api/items", &lines, [400, 422]),
        ("/api/items", &one, [400, 422]),
    ] {
        daemon.forget_peak_memory();
        let before = daemon.peak_memory_kib();
        let begun = Instant::now();
        let send = || daemon.send("POST", path, &[], body);
        let answers = tokio::join!(send(), send(), send(), send());
        let grown = daemon.peak_memory_kib().saturating_sub(before);
        println!("{path} of {} bytes, four at once: {grown} KiB more, {:?}", body.len(), begun.elapsed());
        assert!(grown < MOST_KIB, "{path} of {} bytes takes {grown} KiB", body.len());
        for answer in [&answers.0, &answers.1, &answers.2, &answers.3] {
            assert!(statuses.contains(&answer.status), "{path} of {}: {} {}", body.len(), answer.status, answer.body);
        }
    }
    daemon.stop().await;
}

/// The cookie that could be computed from a guess of `ADMIN_TOKEN` when sessions were signed with a key made of it.
fn forged(admin_token: &str) -> String {
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    };
    let hmac = |key: &[u8], text: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(text);
        mac.finalize().into_bytes()
    };
    let mut material = vec![1];
    material.extend(Sha256::digest(admin_token.as_bytes()));
    // The reader's token: none.
    material.extend([0; 33]);
    let key = hmac(b"corroborate session key 1", &material);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() - 5;
    let said = format!("admin.own.{now}.{now}.0123456789abcdef");
    format!("Cookie: corroborate_session={said}.{}", hex(&hmac(&key, said.as_bytes())))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cookie_opens_nothing_when_it_is_forged_or_signed_out_or_its_token_has_changed() {
    const TOKEN: &str = "corroborate2026admin";
    let mut home = Home::new().await;
    home.set("ADMIN_TOKEN", TOKEN);
    let daemon = home.start().await;
    let status = async |daemon: &Daemon, cookie: &str| daemon.send("GET", "/api/tokens", &[cookie], "").await.status;
    for cookie in [forged(TOKEN), format!("Cookie: corroborate_session={}", "0".repeat(64))] {
        assert_eq!(status(&daemon, &cookie).await, 401, "{cookie}");
    }

    let (first, second) = (sign_in(&daemon, TOKEN).await.unwrap(), sign_in(&daemon, TOKEN).await.unwrap());
    assert_ne!(first, second);
    assert_eq!((status(&daemon, &first).await, status(&daemon, &second).await), (200, 200));
    let shown = page(&daemon, "/items", &[&first]).await;
    let rule = json!({"domain": "x.example", "list": "deny"}).to_string();
    let without = daemon.send("POST", "/api/domains", &[&first], &rule).await;
    let token = format!("X-CSRF-Token: {}", csrf(&shown));
    let with = daemon.send("POST", "/api/domains", &[&first, &token], &rule).await;
    let others = daemon.send("POST", "/api/domains", &[&second, &token], &rule).await;
    assert_eq!((without.status, with.status, others.status), (403, 201, 403));

    let out = daemon.send("POST", "/sign-out", &[FORM, &first], &format!("csrf={}", csrf(&shown))).await;
    assert_eq!(out.status, 303);
    assert_eq!(status(&daemon, &first).await, 401, "a signed-out cookie is of no use");
    assert_eq!(status(&daemon, &second).await, 200, "another session goes on");
    daemon.stop().await;

    let daemon = home.start().await;
    assert_eq!(status(&daemon, &second).await, 200, "a session outlives a restart");
    daemon.stop().await;
    home.set("ADMIN_TOKEN", "another-token-of-the-same-server");
    let daemon = home.start().await;
    assert_eq!(status(&daemon, &second).await, 401, "its token has changed");
    daemon.stop().await;
}

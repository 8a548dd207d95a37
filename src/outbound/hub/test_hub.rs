//! A hub for tests, with real paths and headers, and faults on request.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};
use url::Url;

use crate::outbound::test_server::{Reply, Seen, TestServer, answer};

/// The commit of `main`.
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// `GET` responses end after this many bytes.
    pub(crate) cut_after: Option<usize>,
    pub(crate) cuts: usize,
    pub(crate) no_ranges: bool,
    /// The store sends other content than promised.
    pub(crate) wrong_bytes: bool,
    pub(crate) refuse: Option<u16>,
}

/// With files as `(path, content, large)`.
#[derive(Debug)]
pub(crate) struct TestHub {
    pub(crate) server: TestServer,
}

impl TestHub {
    pub(crate) async fn start(files: &[(&'static str, Vec<u8>, bool)], faults: Faults) -> Self {
        let files: BTreeMap<&'static str, (Vec<u8>, bool)> =
            files.iter().map(|(path, content, large)| (*path, (content.clone(), *large))).collect();
        let cuts = Arc::new(AtomicUsize::new(0));
        let server = TestServer::answering(move |_number, seen| reply(&files, faults, &cuts, seen)).await;
        Self { server }
    }

    pub(crate) fn url(&self) -> Url {
        self.server.url.clone()
    }

    /// The ranges requested from the store; `-` for a whole file.
    pub(crate) fn ranges(&self) -> Vec<String> {
        let seen = self.server.seen();
        let store = seen.iter().filter(|seen| seen.path().starts_with("/store/"));
        store.map(|seen| seen.header("range").unwrap_or("-").to_owned()).collect()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn head(status: u16, headers: &[(&str, String)]) -> Vec<u8> {
    let mut raw = format!("HTTP/1.1 {status} Test\r\nconnection: close\r\n");
    for (name, value) in headers {
        write!(raw, "{name}: {value}\r\n").unwrap();
    }
    raw.push_str("\r\n");
    raw.into_bytes()
}

fn reply(files: &BTreeMap<&str, (Vec<u8>, bool)>, faults: Faults, cuts: &AtomicUsize, seen: &Seen) -> Reply {
    if let Some(status) = faults.refuse {
        return answer(status, &[("x-error-code", "GatedRepo"), ("x-error-message", "Access is restricted.")], "");
    }
    let is_head = seen.head.starts_with("HEAD ");
    if let Some(path) = seen.path().strip_prefix("/store/") {
        return store(&files[path].0, faults, cuts, seen);
    }
    let mut parts = seen.path().trim_start_matches('/').splitn(5, '/');
    let (_owner, _name, resolve) = (parts.next(), parts.next(), parts.next());
    let (revision, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Some((content, large)) =
        files.get(path).filter(|_| resolve == Some("resolve") && matches!(revision, "main" | COMMIT))
    else {
        return answer(404, &[("x-error-code", "EntryNotFound")], "");
    };
    if *large {
        return Reply::Raw(head(
            302,
            &[
                ("location", format!("/store/{path}")),
                ("x-linked-etag", format!("\"{}\"", sha256(content))),
                ("x-linked-size", content.len().to_string()),
                ("x-repo-commit", COMMIT.to_owned()),
                ("content-length", "0".to_owned()),
            ],
        ));
    }
    let mut raw = head(
        200,
        &[
            ("content-length", content.len().to_string()),
            ("etag", "\"43a6b699feac31f6eda6b77d6d605e7b4ebdb86e\"".to_owned()),
            ("x-repo-commit", COMMIT.to_owned()),
        ],
    );
    if !is_head {
        raw.extend_from_slice(content);
    }
    Reply::Raw(raw)
}

fn store(content: &[u8], faults: Faults, cuts: &AtomicUsize, seen: &Seen) -> Reply {
    let mut content = content.to_vec();
    if faults.wrong_bytes {
        content.reverse();
    }
    let tag = "\"store-1\"";
    let wanted =
        seen.header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let is_same = seen.header("if-range").is_none_or(|given| given == tag);
    let from = wanted.filter(|_| is_same && !faults.no_ranges);
    if from.is_some_and(|from| from >= content.len()) {
        return Reply::Raw(head(
            416,
            &[("content-range", format!("bytes */{}", content.len())), ("content-length", "0".into())],
        ));
    }
    let rest = &content[from.unwrap_or(0)..];
    let mut headers = vec![("content-length", rest.len().to_string()), ("etag", tag.to_owned())];
    if let Some(from) = from {
        headers.push(("content-range", format!("bytes {from}-{}/{}", content.len() - 1, content.len())));
    }
    let mut raw = head(if from.is_some() { 206 } else { 200 }, &headers);
    let is_cut = faults.cut_after.is_some() && cuts.fetch_add(1, Ordering::Relaxed) < faults.cuts;
    let sent = if is_cut { faults.cut_after.unwrap_or(0).min(rest.len()) } else { rest.len() };
    raw.extend_from_slice(&rest[..sent]);
    Reply::Raw(raw)
}

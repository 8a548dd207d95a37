//! Asking whether a page has changed.

use super::*;
use crate::outbound::pages::{FetchOutcome, Validators};

const DATE: &str = "Wed, 18 Nov 2026 12:00:00 GMT";

fn known(etag: Option<&str>, last_modified: Option<&str>) -> Validators {
    Validators { etag: etag.map(str::to_owned), last_modified: last_modified.map(str::to_owned) }
}

async fn ask(server: &TestServer, path: &str, known: &Validators) -> Result<FetchOutcome, FetchError> {
    let deadline = Instant::now() + Duration::from_secs(30);
    fetcher(settings()).fetch_if_changed(&server.url.join(path).unwrap(), known, deadline, &|_| false).await
}

#[tokio::test]
async fn a_page_that_has_not_changed_is_not_sent_again() {
    for etag in ["\"a\"", "W/\"a\""] {
        let server = TestServer::start([answer(304, &[("etag", "\"b\"")], "")]).await;
        let outcome = ask(&server, "/", &known(Some(etag), Some(DATE))).await.unwrap();
        assert_eq!(
            outcome,
            FetchOutcome::NotModified(known(Some("\"b\""), Some(DATE))),
            "what the answer leaves out stays"
        );
        let seen = server.seen();
        assert_eq!((seen[0].header("if-none-match"), seen[0].header("if-modified-since")), (Some(etag), Some(DATE)));
    }
}

#[tokio::test]
async fn a_server_that_sends_the_page_anyway_is_read() {
    let server = TestServer::start([answer(200, &[HTML, ("etag", "\"new\"")], "<p>new")]).await;
    let FetchOutcome::Page(page) = ask(&server, "/", &known(Some("\"old\""), None)).await.unwrap() else {
        panic!("a page")
    };
    assert_eq!((page.body.as_slice(), page.etag.as_deref()), (b"<p>new".as_slice(), Some("\"new\"")));
    assert_eq!(server.seen()[0].header("if-modified-since"), None);
}

#[tokio::test]
async fn fetcher_rejects_304_when_request_was_unconditional() {
    let server = TestServer::start([answer(304, &[], "")]).await;
    assert_eq!(ask(&server, "/", &Validators::default()).await, Err(FetchError::Status(304)));
    assert_eq!(fetch_with(&fetcher(settings()), server.url.as_str()).await, Err(FetchError::Status(304)));
}

#[tokio::test]
async fn validators_are_not_carried_to_another_address() {
    let server = TestServer::answering(|_, seen| match seen.path() {
        "/old" => redirect(301, "/new"),
        _ if seen.header("if-none-match").is_some() => answer(304, &[], ""),
        _ => answer(200, &[HTML], "<p>moved"),
    })
    .await;
    let FetchOutcome::Page(page) = ask(&server, "/old", &known(Some("\"a\""), None)).await.unwrap() else {
        panic!("another page is not the one we know")
    };
    assert_eq!(page.body, b"<p>moved");
}

#[tokio::test]
async fn validators_no_header_can_carry_are_left_out() {
    let long = "x".repeat(2_000);
    let server = TestServer::start([answer(200, &[HTML, ("etag", &long)], "<p>")]).await;
    let page = fetch_with(&fetcher(settings()), server.url.as_str()).await.unwrap();
    assert_eq!(page.etag, None, "kept nowhere");
    ask(&server, "/", &known(Some("\"a\nb\""), Some("a\r\nx: y"))).await.unwrap();
    assert_eq!(server.seen()[1].header("if-none-match"), None);
}

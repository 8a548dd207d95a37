//! Bodies that are cut, slow, endless or wrongly encoded; redirects; closed connections.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::{TestedProvider, query};
use crate::outbound::test_server::{Reply, TestServer, answer, head_promising, json, truncated};
use crate::outbound::{AskError, AskMeter, Asker, GateSettings, GateState};

const JSON: (&str, &str) = ("content-type", "application/json");

async fn ends_as(tested: &TestedProvider, reply: Reply, labels: &[&str]) {
    let what: String = format!("{reply:?}").chars().take(120).collect();
    let (_, outcome) = tested.one(reply).await;
    let error = outcome.expect_err(&what);
    assert!(labels.contains(&error.label()), "{what}: {error:?}");
}

pub(super) async fn a_body_cut_at_its_right_length_is_malformed(tested: &TestedProvider) {
    let half: String = tested.subject.success.chars().take(tested.subject.success.chars().count() / 2).collect();
    ends_as(tested, json(&half), &["malformed"]).await;
}

pub(super) async fn a_body_cut_before_its_length_is_malformed(tested: &TestedProvider) {
    ends_as(tested, truncated(tested.subject.success), &["malformed"]).await;
}

pub(super) async fn a_chunked_body_without_its_last_chunk_is_malformed(tested: &TestedProvider) {
    // The JSON is complete; only the transport reports missing data.
    let body = tested.subject.success;
    let raw = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
        body.len()
    );
    ends_as(tested, Reply::Raw(raw.into_bytes()), &["malformed"]).await;
}

pub(super) async fn a_cut_answer_is_asked_for_once_more_at_most(tested: &TestedProvider) {
    let own = (tested.subject.gate)(Duration::from_mins(10)).max_attempts;
    let change = |settings| GateSettings { max_attempts: own.min(3), ..settings };
    let trial = tested.trial_with(truncated(tested.subject.success), change).await;
    assert_eq!(trial.setup.ask(&query()).await.unwrap_err().label(), "malformed");
    assert_eq!(trial.asked(), usize::try_from(own.min(2)).unwrap());
}

async fn ends_with_the_caller(tested: &TestedProvider, reply: Reply) {
    let trial = tested.trial(reply).await;
    let start = Instant::now();
    let asker = Asker { until: start + Duration::from_millis(200), meter: &AskMeter::default() };
    assert_eq!(trial.setup.provider.ask(&query(), asker).await.unwrap_err(), AskError::Deadline);
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(trial.setup.provider.status().state, GateState::Ready, "an impatient caller is not its fault");
}

pub(super) async fn headers_and_then_silence_end_with_the_caller(tested: &TestedProvider) {
    ends_with_the_caller(tested, Reply::Hang).await;
    ends_with_the_caller(tested, Reply::Trickle(head_promising(1000, "application/json"), Duration::from_millis(10)))
        .await;
}

/// The caller has time, but the provider has little.
async fn ends_with_the_total_time(tested: &TestedProvider, reply: Reply) {
    let change = |settings| GateSettings { timeout: Duration::from_millis(250), ..settings };
    let trial = tested.trial_with(reply, change).await;
    let start = Instant::now();
    assert_eq!(trial.setup.ask(&query()).await.unwrap_err(), AskError::Timeout);
    assert!(start.elapsed() < Duration::from_secs(3));
}

pub(super) async fn a_drip_that_never_idles_ends_with_the_total_time(tested: &TestedProvider) {
    let head = head_promising(60_000, "application/json");
    ends_with_the_total_time(tested, Reply::Trickle(head, Duration::from_millis(5))).await;
    // The same drip before the headers are complete.
    let drip = Reply::Trickle(b"HTTP/1.1 200 OK\r\nx-drip: ".to_vec(), Duration::from_millis(5));
    ends_with_the_total_time(tested, drip).await;
}

pub(super) async fn silence_ends_with_the_total_time(tested: &TestedProvider) {
    ends_with_the_total_time(tested, Reply::Hang).await;
}

pub(super) async fn an_endless_body_is_cut_off(tested: &TestedProvider) {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"odd\":\"".to_vec();
    ends_as(tested, Reply::Endless(head), &["too_large"]).await;
}

pub(super) async fn a_promised_giant_is_not_read(tested: &TestedProvider) {
    ends_as(tested, Reply::Raw(head_promising(100_000_000_000, "application/json")), &["too_large"]).await;
    ends_as(tested, json(&format!("{{\"x\":\"{}\"}}", "a".repeat(70_000))), &["too_large"]).await;
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut packed, 4096, 5, 22);
    encoder.write_all(bytes).unwrap();
    drop(encoder);
    packed
}

fn zstd(bytes: &[u8], window: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.set_parameter(zstd::stream::raw::CParameter::WindowLog(window)).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn packed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    [("gzip", gzip(bytes)), ("br", brotli(bytes)), ("zstd", zstd(bytes, 20))]
}

fn coded(coding: &str, body: impl AsRef<[u8]>) -> Reply {
    answer(200, &[JSON, ("content-encoding", coding)], body)
}

pub(super) async fn a_compression_bomb_is_cut_off(tested: &TestedProvider) {
    let mut bomb = tested.subject.success.as_bytes().to_vec();
    bomb.resize(4 << 20, b' ');
    for (coding, body) in packed(&bomb) {
        assert!(body.len() < 32 * 1024, "{coding}: what comes is small enough");
        ends_as(tested, coded(coding, body), &["too_large"]).await;
    }
}

pub(super) async fn a_window_wider_than_the_web_allows_is_refused(tested: &TestedProvider) {
    // A frame with a valid answer that makes a decoder allocate 128 MiB.
    let body = zstd(tested.subject.success.as_bytes(), 27);
    ends_as(tested, coded("zstd", body), &["malformed"]).await;
}

pub(super) async fn a_compressed_answer_is_read(tested: &TestedProvider) {
    let (trial, whole) = tested.one(json(tested.subject.success)).await;
    let asked = trial.setup.server.seen().remove(0);
    assert_eq!(asked.header("accept-encoding"), Some("gzip, br, zstd"));
    for (coding, body) in packed(tested.subject.success.as_bytes()) {
        assert_eq!(&tested.one(coded(coding, body)).await.1, &whole, "{coding}");
    }
}

pub(super) async fn nested_encodings_are_refused(tested: &TestedProvider) {
    let twice = gzip(&gzip(tested.subject.success.as_bytes()));
    ends_as(tested, answer(200, &[JSON, ("content-encoding", "gzip, gzip")], &twice), &["malformed"]).await;
    ends_as(tested, answer(200, &[JSON, ("content-encoding", "gzip")], &twice), &["malformed"]).await;
}

pub(super) async fn an_unknown_encoding_is_refused(tested: &TestedProvider) {
    for coding in ["compress", "aes128gcm", "x-odd"] {
        let reply = answer(200, &[JSON, ("content-encoding", coding)], tested.subject.success);
        ends_as(tested, reply, &["malformed"]).await;
    }
}

pub(super) async fn plain_bytes_called_gzip_are_malformed(tested: &TestedProvider) {
    let reply = answer(200, &[JSON, ("content-encoding", "gzip")], tested.subject.success);
    ends_as(tested, reply, &["malformed"]).await;
}

pub(super) async fn gzip_called_plain_is_malformed(tested: &TestedProvider) {
    ends_as(tested, answer(200, &[JSON], gzip(tested.subject.success.as_bytes())), &["malformed"]).await;
}

pub(super) async fn no_redirect_is_followed(tested: &TestedProvider) {
    let success = tested.subject.success;
    let elsewhere = Arc::new(TestServer::start([json(success)]).await);
    let absolute = format!("{}search", elsewhere.url);
    let userinfo = absolute.replace("http://", "http://user:password@");
    let schemeless = absolute.replace("http:", "");
    for status in [301, 302, 303, 307, 308] {
        for place in
            [absolute.as_str(), "/login", "//elsewhere.example/", "file:///etc/passwd", userinfo.as_str(), &schemeless]
        {
            let (trial, outcome) = tested.one(answer(status, &[("location", place)], "")).await;
            assert_eq!(outcome.unwrap_err().label(), "could_not_ask", "{status} {place}");
            assert_eq!(trial.asked(), 1, "{status} {place}");
        }
    }
    assert!(elsewhere.seen().is_empty(), "nothing is sent elsewhere, the key least of all");
}

pub(super) async fn a_redirect_without_a_place_is_no_answer(tested: &TestedProvider) {
    for status in [300, 302, 304, 307] {
        ends_as(tested, answer(status, &[], ""), &["could_not_ask"]).await;
    }
}

pub(super) async fn a_reset_before_the_headers_is_a_failure(tested: &TestedProvider) {
    ends_as(tested, Reply::Raw(Vec::new()), &["connection_lost"]).await;
}

pub(super) async fn a_reset_within_the_headers_is_a_failure(tested: &TestedProvider) {
    ends_as(tested, Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec()), &["connection_lost"]).await;
    ends_as(tested, Reply::Raw(b"\x16\x03\x01 not http at all\r\n\r\n".to_vec()), &["connection_lost"]).await;
}

pub(super) async fn a_closed_port_is_a_failure(tested: &TestedProvider) {
    // Bound by this test, so that no other test uses the port, and without a listener.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let url = Url::parse(&format!("http://{}", held.local_addr().unwrap())).unwrap();
    let provider = tested.subject.at(url, |settings| settings);
    let asker = Asker { until: Instant::now() + Duration::from_secs(10), meter: &AskMeter::default() };
    assert_eq!(provider.ask(&query(), asker).await.unwrap_err().label(), "connect");
    assert_eq!(provider.status().errors_today, 1);
}

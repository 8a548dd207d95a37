use std::time::Duration;

use chrono::TimeDelta;
use reqwest::Method;
use reqwest::header::HeaderName;
use tokio::time::Instant;

use super::*;
use crate::config::ApiKey;
use crate::outbound::replay::Archive;
use crate::outbound::test_server::{Reply, TestServer, answer, head_promising, json};
use crate::outbound::{HttpClient, PageFetcher, PageSettings, PageSource};

const SECRET: &str = "s3cret/key+value";

struct Setup {
    folder: tempfile::TempDir,
    recorder: Arc<Recorder>,
    http: HttpClient,
    pages: PageFetcher,
}

fn setup() -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let recorder = Arc::new(Recorder::create(&folder.path().join("run"), DateTime::UNIX_EPOCH, false).unwrap());
    let http = HttpClient::recording("corroborate-test", Arc::clone(&recorder)).unwrap();
    let pages = PageFetcher::new(page_settings(), PageSource::Record(Arc::clone(&recorder))).unwrap();
    Setup { folder, recorder, http, pages }
}

fn page_settings() -> PageSettings {
    PageSettings { timeout: Duration::from_secs(2), max_bytes: 20_000, allow_private: true, ..PageSettings::default() }
}

impl Setup {
    fn folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn archive(&self) -> Arc<Archive> {
        Arc::new(Archive::from_dir(&self.folder()).unwrap())
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.recorder.recorded().file).unwrap()
    }
}

async fn send(http: &HttpClient, request: &ApiRequest) -> Result<ApiResponse, AskError> {
    http.send(request, Instant::now() + Duration::from_secs(2), 20_000, DateTime::UNIX_EPOCH).await
}

async fn fetch(pages: &PageFetcher, url: &Url) -> Result<String, FetchError> {
    let page = pages.fetch(url, Instant::now() + Duration::from_secs(5), &|_host| false).await?;
    Ok(format!("{} {}", page.final_url.path(), String::from_utf8_lossy(&page.body)))
}

fn keyed(url: Url) -> ApiRequest {
    ApiRequest::get(url).secret_header(HeaderName::from_static("x-key"), &ApiKey::from(SECRET)).unwrap()
}

/// The key plain, percent-encoded, and in base64 after a name.
fn echo() -> String {
    format!(r#"{{"asked":"{SECRET}","link":"/s?k=s3cret%2Fkey%2Bvalue","basic":"dXNlcjpzM2NyZXQva2V5K3ZhbHVl"}}"#)
}

/// Traces of a leaked key.
const TRACES: [&str; 3] = ["s3cret", "czNjcmV0", "zM2NyZX"];

#[tokio::test]
async fn what_was_recorded_is_answered_without_the_server_and_holds_no_key() {
    let setup = setup();
    let headers = [("set-cookie", "id=7"), ("x-echo", SECRET), ("x-auth-token", "t"), ("x-left", "3")];
    let server = TestServer::start([answer(200, &headers, echo())]).await;
    let url = server.url.join("/v1?b=2&a=1&api_key=s3cret%2Fkey%2Bvalue").unwrap();
    let live = send(&setup.http, &keyed(url)).await.unwrap();
    let echoed = String::from_utf8(live.body.clone()).unwrap();
    assert!(echoed.starts_with(r#"{"asked":"[key]","link":"/s?k=[key]","basic":"#), "{echoed}");
    assert_eq!(live.header("x-echo"), Some("[key]"), "who asked gets the answer without his key");
    let text = setup.text();
    assert!(
        text.lines().count() == 2 && text.starts_with(r#"{"format":2,"recorded_at":"1970-01-01T00:00:00Z"}"#),
        "{text}"
    );
    for word in TRACES.into_iter().chain(["x-key", "set-cookie", "id=7", "x-auth-token", "api_key"]) {
        assert!(!text.contains(word), "{word} is in {text}");
    }
    assert!(!TRACES.iter().any(|trace| echoed.contains(trace)), "{echoed}");
    assert!(text.contains("x-left") && text.contains("[key]"));
    let replayed = HttpClient::replay(setup.archive());
    let again = send(&replayed, &keyed(server.url.join("/v1?a=1&b=2&api_key=another").unwrap())).await.unwrap();
    assert_eq!((again.status, again.header("x-left")), (200, Some("3")));
    assert_eq!(again.body, live.body, "a replay answers what was answered then");
    assert_eq!(setup.recorder.recorded().exchanges, 1);
}

#[test]
fn the_recorder_leaves_no_key_to_others_to_take_out() {
    let setup = setup();
    let request = keyed(Url::parse("https://api.example/v1").unwrap());
    let headers = crate::outbound::response::header_map(&[("x-echo".to_owned(), SECRET.to_owned())]);
    let raw = crate::outbound::response::response(200, headers, echo().into_bytes(), DateTime::UNIX_EPOCH);
    setup.recorder.api(&request, false, &Ok(raw));
    setup.recorder.api(&request, false, &Err(AskError::Malformed { detail: echo() }));
    // A text body is stored as text; base64 would hide a trace.
    let (text, answered) = (setup.text(), setup.archive().answer("GET", &request.url).unwrap());
    let body = String::from_utf8(answered.body).unwrap();
    assert!(body.contains(r#""asked":"[key]""#), "{body}");
    for trace in TRACES {
        assert!(!text.contains(trace) && !body.contains(trace), "{trace} is in {text}");
    }
}

#[tokio::test]
async fn replay_finds_request_by_body_without_keys_when_bodies_differ() {
    let setup = setup();
    let server = TestServer::start([json(r#"{"n":1}"#), json(r#"{"n":2}"#)]).await;
    let url = server.url.join("/search").unwrap();
    let post = |body: &str| {
        let mut request = ApiRequest::get(url.clone());
        request.method = Method::POST;
        request.body = Some(body.as_bytes().to_vec());
        request
    };
    send(&setup.http, &post(r#"{"q":"one","apiKey":"s3cret-in-body"}"#)).await.unwrap();
    send(&setup.http, &post(r#"{"q":"two","apiKey":"s3cret-in-body"}"#)).await.unwrap();
    assert!(!setup.text().contains("s3cret"), "{}", setup.text());
    let replayed = HttpClient::replay(setup.archive());
    for (body, number) in [(r#"{"apiKey":"other","q":"two"}"#, 2), (r#"{"q":"one"}"#, 1)] {
        let answer = send(&replayed, &post(body)).await.unwrap();
        assert_eq!(answer.body, format!(r#"{{"n":{number}}}"#).as_bytes());
    }
    let missing = send(&replayed, &post(r#"{"q":"three","apiKey":"s3cret"}"#)).await.unwrap_err();
    assert_eq!(missing.label(), "no_recording");
    assert!(missing.to_string().contains("POST") && missing.to_string().contains("/search"), "{missing}");
}

#[tokio::test]
async fn the_last_word_of_a_retry_counts_and_a_failure_is_one_again() {
    let setup = setup();
    let server = TestServer::start([answer(503, &[], ""), json("{}"), Reply::Raw(b"HTTP/1.1 garbage".to_vec())]).await;
    let url = server.url.join("/retried").unwrap();
    assert_eq!(send(&setup.http, &keyed(url.clone())).await.unwrap().status, 503);
    assert_eq!(send(&setup.http, &keyed(url.clone())).await.unwrap().status, 200);
    let failed = server.url.join("/failed").unwrap();
    let live = send(&setup.http, &keyed(failed.clone())).await.unwrap_err();
    assert_eq!(send(&setup.http, &keyed(url.clone())).await.unwrap_err().label(), live.label());
    let replayed = HttpClient::replay(setup.archive());
    assert_eq!(send(&replayed, &keyed(url)).await.unwrap().status, 200, "an answer is not forgotten for a failure");
    assert_eq!(send(&replayed, &keyed(failed)).await.unwrap_err(), live);
}

#[tokio::test]
async fn every_hop_of_a_page_is_kept_and_one_that_was_cut_off_fails_again() {
    let setup = setup();
    let html = ("content-type", "text/html");
    let server = TestServer::answering(move |_, seen| match seen.path() {
        "/old" => answer(301, &[("location", "/new")], "moved"),
        "/new" => answer(200, &[html], "<p>here"),
        "/cut" => Reply::Raw(head_promising(1_000, "text/html")),
        "/slow" => Reply::Trickle(head_promising(1_000, "text/html"), Duration::from_millis(100)),
        _ => answer(404, &[html], "none"),
    })
    .await;
    let urls = ["/old", "/cut", "/slow", "/none"].map(|path| server.url.join(path).unwrap());
    let mut live = Vec::new();
    for url in &urls {
        live.push(fetch(&setup.pages, url).await);
    }
    assert_eq!(live[0].as_deref(), Ok("/new <p>here"));
    drop(server);
    let archive = setup.archive();
    let replayed = PageFetcher::new(page_settings(), PageSource::Replay(Arc::clone(&archive))).unwrap();
    for (url, live) in urls.iter().zip(live) {
        assert_eq!(fetch(&replayed, url).await, live, "{url}");
    }
    let unknown = urls[0].join("/unknown").unwrap();
    assert_eq!(fetch(&replayed, &unknown).await, Err(FetchError::NoRecording));
    assert_eq!(archive.missed().iter().map(|missing| missing.url.clone()).collect::<Vec<_>>(), [unknown.to_string()]);
}

#[tokio::test]
async fn keys_in_addresses_of_pages_are_in_no_recording_and_do_not_matter_for_its_replay() {
    let setup = setup();
    let server = TestServer::answering(move |_, seen| match seen.path() {
        "/feed" => answer(302, &[("location", "/moved?token=s3cret/key%2Bvalue&a=1")], ""),
        "/moved" => answer(200, &[("content-type", "text/html")], format!("<p>for {SECRET}</p>")),
        _ => answer(404, &[], ""),
    })
    .await;
    let url = server.url.join(&format!("feed?token={}&a=1", "s3cret/key%2Bvalue")).unwrap();
    let first = fetch(&setup.pages, &url).await.unwrap();
    assert!(first.starts_with("/moved "), "{first}");
    let gone = "http://127.0.0.1:9/other?token=s3cret%2Fkey".parse().unwrap();
    fetch(&setup.pages, &gone).await.unwrap_err();
    assert!(!setup.text().contains("s3cret"), "{}", setup.text());
    let replay = PageFetcher::new(page_settings(), PageSource::Replay(setup.archive())).unwrap();
    let bare = server.url.join("feed?a=1").unwrap();
    for url in [&url, &bare] {
        assert_eq!(fetch(&replay, url).await.unwrap(), "/moved <p>for [key]</p>");
    }
}

#[tokio::test]
async fn recorder_leaves_transient_response_out_unless_it_keeps_them() {
    let server = TestServer::start([json("{}")]).await;
    let setup = setup();
    send(&setup.http.transient(), &keyed(server.url.clone())).await.unwrap();
    assert_eq!((setup.recorder.recorded().exchanges, setup.recorder.recorded().left_out), (0, 1));
    let own = Arc::new(Recorder::create(&setup.folder(), DateTime::UNIX_EPOCH, true).unwrap());
    let http = HttpClient::recording("corroborate-test", Arc::clone(&own)).unwrap().transient();
    send(&http, &keyed(server.url.clone())).await.unwrap();
    assert_eq!(own.recorded().exchanges, 1);
}

#[tokio::test]
async fn a_torn_last_line_costs_only_itself_and_the_latest_run_gives_the_time() {
    let setup = setup();
    let server = TestServer::start([json(r#"{"n":1}"#), json(r#"{"n":2}"#)]).await;
    let url = |path: &str| server.url.join(path).unwrap();
    send(&setup.http, &keyed(url("/a"))).await.unwrap();
    send(&setup.http, &keyed(url("/b"))).await.unwrap();
    let text = setup.text();
    let file = setup.recorder.recorded().file;
    std::fs::write(&file, text.split_at(text.len() - 9).0).unwrap();
    let later = DateTime::UNIX_EPOCH + TimeDelta::days(9);
    drop(Recorder::create(&setup.folder(), later, false).unwrap());
    let archive = setup.archive();
    assert_eq!((archive.len(), archive.recorded_at()), (1, Some(later)));
    assert!(archive.warnings().len() == 1 && archive.warnings()[0].contains("line 3"), "{:?}", archive.warnings());
    assert!(archive.contains(&server.url) && !archive.contains(&Url::parse("https://other.example/").unwrap()));

    std::fs::write(&file, text.replacen("GET", "G\u{0}", 1).replacen("\"status\"", "status\"", 1)).unwrap();
    let error = Archive::from_dir(&setup.folder()).unwrap_err().to_string();
    assert!(error.contains("line 2"), "what is broken in the middle is no torn line: {error}");
}

#[test]
fn a_window_in_time_is_found_on_its_day() {
    let url = |end: &str| Url::parse(&format!("https://gdelt.example/doc?enddatetime={end}&query=x")).unwrap();
    let response = RecordedResponse { status: 200, headers: Vec::new(), body: b"{}".to_vec() };
    let mut archive = Archive::default();
    archive.insert(Recording::answered("GET", &url("20261120120005"), response)).unwrap();
    assert!(archive.answer("GET", &url("20261120120000")).is_ok());
    assert!(archive.answer("GET", &url("20261121120000")).is_err());
}

#[cfg(unix)]
#[test]
fn folder_and_file_are_the_users_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let setup = setup();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&setup.folder()), mode(&setup.recorder.recorded().file)), (0o700, 0o600));
    let error = Recorder::create(&setup.recorder.recorded().file, DateTime::UNIX_EPOCH, false).unwrap_err();
    assert!(error.to_string().contains("--record"), "{error}");
}

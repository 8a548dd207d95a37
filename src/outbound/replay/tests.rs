use proptest::prelude::*;
use serde_json::json;

use super::*;

const HEAD: &str = "{\"format\":2,\"recorded_at\":\"2026-11-20T12:00:00Z\"}\n";

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn page(address: &str, body: &str) -> Recording {
    let response = RecordedResponse { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() };
    Recording::answered("GET", &url(address), response)
}

fn archive(recordings: impl IntoIterator<Item = Recording>) -> Archive {
    let mut archive = Archive::default();
    for recording in recordings {
        archive.insert(recording).unwrap();
    }
    archive
}

fn lines(recordings: &[Recording]) -> String {
    let lines = recordings.iter().map(|recording| serde_json::to_string(recording).unwrap() + "\n");
    HEAD.to_owned() + &lines.collect::<String>()
}

fn read(text: &str) -> Result<Archive, ArchiveError> {
    let mut archive = Archive::default();
    archive.extend(text, "some file").map(|()| archive)
}

#[test]
fn a_page_is_found_whatever_the_order_of_its_parameters() {
    let archive = archive([page("https://example.org/a?x=1&y=%20z", "one")]);
    let found = archive.answer("get", &url("https://example.org/a?y=+z&x=1#part")).unwrap();
    assert_eq!(found.body, b"one");
    for other in ["https://example.org/a?x=1", "https://example.org/a?x=2&y=+z", "http://example.org/a?x=1&y=+z"] {
        assert!(archive.answer("GET", &url(other)).is_err(), "{other}");
    }
    let refused = archive.answer("POST", &url("https://example.org/a?x=1&y=+z")).unwrap_err();
    assert_eq!(refused.method, "POST");
    assert!(refused.to_string().contains("https://example.org/a?x=1&y=+z"));
}

#[test]
fn recording_answers_its_aliases() {
    let mut recording = page("https://example.org/search?q=one", "found");
    recording.aliases = vec!["https://example.org/search?q=two".to_owned()];
    let archive = archive([recording]);
    for query in ["one", "two"] {
        let asked = url(&format!("https://example.org/search?q={query}&api_key=s3cret"));
        assert_eq!(archive.answer("GET", &asked).unwrap().body, b"found", "{query}");
    }
    assert_eq!(archive.len(), 1);
    assert!(archive.answer("GET", &url("https://example.org/search?q=three")).is_err());
}

#[test]
fn the_same_request_recorded_again_replaces_the_first() {
    let mut archive = archive([page("https://example.org/a?x=1&y=2", "old")]);
    archive.insert(page("https://example.org/a?y=2&x=1", "new")).unwrap();
    assert_eq!(archive.len(), 1);
    assert_eq!(archive.answer("GET", &url("https://example.org/a?x=1&y=2")).unwrap().body, b"new");
}

#[test]
fn repeated_headers_are_joined_and_names_are_lower_case() {
    let headers = [("Vary", "accept"), ("vary", "cookie"), ("X-A", "1")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let response = RecordedResponse { status: 404, headers: headers.to_vec(), body: Vec::new() };
    let found = archive([Recording::answered("GET", &url("https://example.org/"), response)])
        .answer("GET", &url("https://example.org/"))
        .unwrap();
    assert_eq!(found.status, 404);
    let expected = [("vary", "accept, cookie"), ("x-a", "1")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    assert_eq!(found.headers, expected);
}

#[test]
fn bad_recordings_are_refused_with_their_reason() {
    let good = page("https://example.org/a", "x");
    let cases = [
        (Recording { body: None, ..good.clone() }, "exactly one"),
        (Recording { json: Some(json!(1)), ..good.clone() }, "exactly one"),
        (Recording { body: None, body_base64: Some("a".to_owned()), ..good.clone() }, "base64"),
        (Recording { status: 1000, ..good.clone() }, "status"),
        (Recording { url: "not a url".to_owned(), ..good.clone() }, "relative URL"),
        (Recording { aliases: vec!["not a url".to_owned()], ..good }, "relative URL"),
    ];
    for (recording, reason) in cases {
        let mut archive = Archive::default();
        let error = archive.insert(recording).unwrap_err().to_string();
        assert!(error.contains(reason), "{error} lacks {reason:?}");
        assert!(archive.is_empty());
    }
}

#[test]
fn file_of_another_form_is_refused_by_name() {
    let error = read(&format!("{HEAD}{{\"surprise\":1}}\n")).unwrap_err().to_string();
    assert!(error.contains("surprise") && error.contains("some file, line 2"), "{error}");
    let error = read(&HEAD.replace("\"format\":2", "\"format\":1")).unwrap_err();
    assert!(matches!(error, ArchiveError::UnknownFormat { found: 1 }), "{error}");

    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Archive::from_dir(folder.path()), Err(ArchiveError::Empty { .. })));
    std::fs::write(folder.path().join("b.ndjson"), "{}\n").unwrap();
    assert!(Archive::from_dir(folder.path()).unwrap_err().to_string().contains("b.ndjson"));
    assert!(matches!(Archive::from_dir(&folder.path().join("absent")), Err(ArchiveError::Read { .. })));
}

#[test]
fn a_folder_is_read_in_the_order_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    for (name, body) in [("2.ndjson", "later"), ("1.ndjson", "earlier"), ("README.md", "no recording")] {
        std::fs::write(folder.path().join(name), lines(&[page("https://example.org/a", body)])).unwrap();
    }
    let archive = Archive::from_dir(folder.path()).unwrap();
    assert_eq!(archive.answer("GET", &url("https://example.org/a")).unwrap().body, b"later");
}

proptest! {
    #[test]
    fn any_bytes_survive_being_written_and_read(body in proptest::collection::vec(any::<u8>(), 0..200), status in 100_u16..600) {
        let address = url("https://example.org/any?b=2&a=1");
        let headers = vec![("content-type".to_owned(), "application/octet-stream".to_owned())];
        let response = RecordedResponse { status, headers, body };
        let written = Recording::answered("GET", &address, response.clone());
        let read = read(&lines(std::slice::from_ref(&written))).unwrap();
        prop_assert_eq!(read.answer("GET", &address).unwrap(), response);
        prop_assert_eq!(read.recordings(), &[written][..]);
    }
}

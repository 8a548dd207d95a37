use proptest::prelude::*;
use serde_json::json;

use super::*;

const SEARCH: &str = "http://searxng.example/search";

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn page(address: &str, body: &str) -> Recording {
    let response = RecordedResponse { status: 200, headers: Vec::new(), body: body.as_bytes().to_vec() };
    Recording::exact("GET", &url(address), &response)
}

fn search(claim: &str, value: Value) -> Recording {
    Recording {
        matched_by: Match::Search,
        claim: Some(claim.to_owned()),
        body: None,
        json: Some(value),
        ..page(SEARCH, "")
    }
}

fn archive(recordings: impl IntoIterator<Item = Recording>) -> Archive {
    let mut archive = Archive::default();
    for recording in recordings {
        archive.insert(recording).unwrap();
    }
    archive
}

fn ask(archive: &Archive, query: &str) -> Result<String, MissingRecording> {
    let asked = Url::parse_with_params(SEARCH, [("format", "json"), ("q", query)]).unwrap();
    archive.answer("GET", &asked).map(|response| String::from_utf8(response.body).unwrap())
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
fn a_search_is_found_by_the_words_of_its_claim() {
    let archive = archive([
        search("Honus Wagner dropped out of school at age 14.", json!("wagner")),
        search("Cher has sold over 100 million records worldwide.", json!("cher")),
        search("30 июня 2015 года прибавлена координационная секунда.", json!("секунда")),
    ]);
    assert_eq!(ask(&archive, "Honus Wagner dropped out of school at age 14.").unwrap(), "\"wagner\"");
    assert_eq!(ask(&archive, "wagner school 14").unwrap(), "\"wagner\"");
    assert_eq!(ask(&archive, "Cher sell 100 million records").unwrap(), "\"cher\"", "one foreign word in five");
    assert_eq!(ask(&archive, "координационную секунду прибавили 2015").unwrap(), "\"секунда\"", "other endings");
}

#[test]
fn archive_returns_error_when_search_was_not_recorded() {
    let archive = archive([search("Cher has sold over 100 million records worldwide.", json!({}))]);
    assert_eq!(ask(&archive, "Cher records sold").unwrap(), "{}", "the provider's own empty answer is an answer");
    assert!(ask(&archive, "Cher was born in Ohio").is_err(), "one shared word in three");
    assert!(ask(&archive, "the of and").is_err(), "nothing to compare");
    assert!(archive.answer("GET", &url(SEARCH)).is_err(), "no query at all");
    assert!(archive.answer("GET", &url("http://searxng.example/other?q=Cher+records+sold")).is_err());
    assert!(ask(&Archive::default(), "Cher records sold").is_err());
}

#[test]
fn six_tenths_of_the_words_are_enough_and_less_is_not() {
    let archive = archive([search("alpha bravo charlie", json!({}))]);
    assert!(ask(&archive, "alpha bravo charlie delta echo").is_ok(), "3 of 5");
    assert!(ask(&archive, "alpha bravo delta echo").is_err(), "2 of 4");
}

#[test]
fn the_words_of_recorded_titles_count_but_the_claim_decides_a_tie() {
    let titled = json!({"results": [{"title": "Pittsburgh Pirates", "content": "stadium"}]});
    let one = archive([search("Wagner played baseball", titled.clone())]);
    assert!(ask(&one, "Pirates Pittsburgh").is_ok());
    assert!(ask(&one, "stadium").is_err(), "only titles count");
    let two = archive([search("Wagner played baseball", titled), search("The Pittsburgh Pirates won", json!("own"))]);
    assert_eq!(ask(&two, "Pittsburgh Pirates").unwrap(), "\"own\"");
}

#[test]
fn a_tie_does_not_hang_on_the_order_of_the_files() {
    let one = search("bravo alpha", json!("one"));
    let two = search("alpha bravo", json!("two"));
    let forward = archive([one.clone(), two.clone()]);
    let backward = archive([two, one]);
    assert_eq!(ask(&forward, "alpha bravo").unwrap(), ask(&backward, "alpha bravo").unwrap());
    let shorter = archive([search("alpha bravo charlie", json!("long")), search("alpha bravo", json!("short"))]);
    assert_eq!(ask(&shorter, "alpha bravo").unwrap(), "\"short\"");
}

#[test]
fn the_very_same_form_wins_over_another_ending() {
    let archive = archive([search("великолепная музыка", json!("one")), search("великолепный кофе", json!("two"))]);
    assert_eq!(ask(&archive, "великолепный").unwrap(), "\"two\"");
    assert_eq!(ask(&archive, "великолепная").unwrap(), "\"one\"");
}

#[test]
fn operators_of_a_provider_are_not_words_of_the_claim() {
    let archive = archive([search("Shaka ruled the Zulu kingdom", json!("shaka"))]);
    let query = "\"Zulu kingdom\" (Shaka OR ruled) sourcelang:english -domain:example.org site:example.org";
    assert_eq!(ask(&archive, query).unwrap(), "\"shaka\"");
}

#[test]
fn numbers_are_equal_or_different_words() {
    let archive = archive([search("population 10000", json!({}))]);
    assert!(ask(&archive, "population 10000").is_ok());
    assert!(ask(&archive, "10001").is_err());
}

#[test]
fn a_page_is_sent_in_the_charset_it_names() {
    let mut recording = page("https://example.org/ru", "Проверка фактов: ложь");
    recording.charset = Some("windows-1251".to_owned());
    let found = archive([recording.clone()]).answer("GET", &url("https://example.org/ru")).unwrap();
    assert_eq!(found.body[..4], [0xcf, 0xf0, 0xee, 0xe2]);
    for (charset, body) in [("windows-1251", "漢"), ("no-such", "a"), ("utf-16le", "a")] {
        let bad = Recording { charset: Some(charset.to_owned()), body: Some(body.to_owned()), ..recording.clone() };
        assert!(matches!(Archive::default().insert(bad), Err(ArchiveError::Unusable { .. })), "{charset}");
    }
}

#[test]
fn the_same_request_recorded_again_replaces_the_first() {
    let mut archive = archive([page("https://example.org/a?x=1&y=2", "old"), search("alpha bravo", json!("old"))]);
    archive.insert(page("https://example.org/a?y=2&x=1", "new")).unwrap();
    archive.insert(search("alpha bravo", json!("new"))).unwrap();
    assert_eq!(archive.len(), 2);
    assert_eq!(archive.answer("GET", &url("https://example.org/a?x=1&y=2")).unwrap().body, b"new");
    assert_eq!(ask(&archive, "alpha bravo").unwrap(), "\"new\"");
}

#[test]
fn repeated_headers_are_joined_and_names_are_lower_case() {
    let headers = [("Vary", "accept"), ("vary", "cookie"), ("X-A", "1")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let response = RecordedResponse { status: 404, headers: headers.to_vec(), body: Vec::new() };
    let found = archive([Recording::exact("GET", &url("https://example.org/"), &response)])
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
        (Recording { body: None, body_hex: Some("abc".to_owned()), ..good.clone() }, "hex"),
        (Recording { body: None, body_hex: Some("zz".to_owned()), ..good.clone() }, "hex"),
        (Recording { claim: Some("a claim".to_owned()), ..good.clone() }, "no claim"),
        (Recording { matched_by: Match::Search, ..good.clone() }, "needs the claim"),
        (Recording { matched_by: Match::Search, claim: Some("the of".to_owned()), ..good.clone() }, "no words"),
        (Recording { status: 1000, ..good.clone() }, "status"),
        (Recording { url: "not a url".to_owned(), ..good }, "relative URL"),
    ];
    for (recording, reason) in cases {
        let mut archive = Archive::default();
        let error = archive.insert(recording).unwrap_err().to_string();
        assert!(error.contains(reason), "{error} lacks {reason:?}");
        assert!(archive.is_empty());
    }
}

#[test]
fn a_file_that_is_not_of_the_form_is_refused_by_name() {
    let error = Archive::from_json("{\"format\":1,\"recordings\":[{\"surprise\":1}]}").unwrap_err();
    assert!(error.to_string().contains("surprise"), "{error}");
    let error = Archive::from_json("{\"format\":2,\"recordings\":[]}").unwrap_err();
    assert!(matches!(error, ArchiveError::UnknownFormat { found: 2 }), "{error}");

    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Archive::from_dir(folder.path()), Err(ArchiveError::Empty { .. })));
    std::fs::write(folder.path().join("b.json"), "{").unwrap();
    assert!(Archive::from_dir(folder.path()).unwrap_err().to_string().contains("b.json"));
    assert!(matches!(Archive::from_dir(&folder.path().join("absent")), Err(ArchiveError::Read { .. })));
}

#[test]
fn a_folder_is_read_in_the_order_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    for (name, body) in [("2.json", "later"), ("1.json", "earlier"), ("README.md", "no recording")] {
        let text = archive([page("https://example.org/a", body)]).to_json().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
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
        let written = archive([Recording::exact("GET", &address, &response)]).to_json().unwrap();
        let read = Archive::from_json(&written).unwrap();
        prop_assert_eq!(read.answer("GET", &address).unwrap(), response);
        prop_assert_eq!(read.to_json().unwrap(), written);
    }

    #[test]
    fn a_claim_finds_itself_and_no_query_panics(claim in "\\PC{0,60}", query in "\\PC{0,60}") {
        let mut archive = Archive::default();
        let recording = search(&claim, json!("own"));
        if archive.insert(recording).is_ok() {
            let own = content_words(&words::without_operators(&claim));
            prop_assert!(own.is_empty() || ask(&archive, &claim).is_ok());
        }
        let _any = ask(&archive, &query);
    }
}

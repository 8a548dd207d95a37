//! Unusual and invalid JSON.

use super::{Answer, TestedProvider};
use crate::outbound::AskError;
use crate::outbound::test_server::{answer, json};

fn with_field(tested: &TestedProvider, field: &str) -> String {
    let rest = tested.subject.success.trim_start().strip_prefix('{').unwrap();
    format!("{{{field},{rest}")
}

async fn ask(tested: &TestedProvider, body: &str) -> Result<Answer, AskError> {
    tested.one(json(body)).await.1
}

/// The body is read as if the oddity were absent, or refused as a whole.
async fn does_no_harm(tested: &TestedProvider, body: &str) {
    let whole = ask(tested, tested.subject.success).await.unwrap();
    match ask(tested, body).await {
        Ok(found) => assert_eq!(found, whole),
        Err(error) => assert_eq!(error.label(), "malformed", "{error}"),
    }
}

async fn is_malformed_with_its_place(tested: &TestedProvider, body: &str) {
    let error = ask(tested, body).await.unwrap_err();
    assert_eq!(error.label(), "malformed", "{error}");
    assert!(error.to_string().contains("line 1 column"), "{error}");
}

pub(super) async fn nan_is_malformed_with_its_place(tested: &TestedProvider) {
    is_malformed_with_its_place(tested, &with_field(tested, r#""odd":NaN"#)).await;
}

pub(super) async fn infinity_is_malformed_with_its_place(tested: &TestedProvider) {
    is_malformed_with_its_place(tested, &with_field(tested, r#""odd":Infinity"#)).await;
    is_malformed_with_its_place(tested, &with_field(tested, r#""odd":-Infinity"#)).await;
}

pub(super) async fn a_number_beyond_floats_does_no_harm(tested: &TestedProvider) {
    does_no_harm(tested, &with_field(tested, r#""odd":1e400"#)).await;
}

pub(super) async fn an_id_beyond_doubles_does_no_harm(tested: &TestedProvider) {
    let body = with_field(tested, r#""odd":9007199254740993"#);
    assert_eq!(ask(tested, &body).await.unwrap(), ask(tested, tested.subject.success).await.unwrap());
    does_no_harm(tested, &with_field(tested, &format!("\"odd\":{}", "9".repeat(400)))).await;
}

pub(super) async fn duplicate_keys_do_no_harm(tested: &TestedProvider) {
    does_no_harm(tested, &with_field(tested, r#""odd":1,"odd":{"a":2}"#)).await;
    // A field that the provider reads, twice.
    let first = tested.subject.success.split('"').nth(1).unwrap();
    let twice = with_field(tested, &format!("\"{first}\":null"));
    does_no_harm(tested, &twice).await;
}

pub(super) async fn a_lone_surrogate_in_an_unknown_field_does_no_harm(tested: &TestedProvider) {
    does_no_harm(tested, &with_field(tested, r#""odd":"\ud800""#)).await;
}

pub(super) async fn a_lone_surrogate_in_a_title_is_malformed(tested: &TestedProvider) {
    let body = tested.subject.success.replace(tested.habits.title.unwrap(), r"\ud800");
    assert_eq!(ask(tested, &body).await.unwrap_err().label(), "malformed");
}

pub(super) async fn a_depth_of_ten_thousand_does_no_harm(tested: &TestedProvider) {
    let (open, close) = ("[".repeat(10_000), "]".repeat(10_000));
    does_no_harm(tested, &with_field(tested, &format!("\"odd\":{open}{close}"))).await;
    let objects = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    does_no_harm(tested, &with_field(tested, &format!("\"odd\":{objects}"))).await;
}

pub(super) async fn an_unclosed_depth_of_ten_thousand_is_malformed(tested: &TestedProvider) {
    for body in [format!("{{\"x\":{}", "[".repeat(10_000)), "[".repeat(10_000), "{\"a\":".repeat(10_000)] {
        assert_eq!(ask(tested, &body).await.unwrap_err().label(), "malformed");
    }
}

pub(super) async fn a_byte_order_mark_is_read_over(tested: &TestedProvider) {
    let body = format!("\u{feff}{}", tested.subject.success);
    assert_eq!(ask(tested, &body).await.unwrap(), ask(tested, tested.subject.success).await.unwrap());
}

pub(super) async fn a_guard_prefix_is_no_answer(tested: &TestedProvider) {
    let error = ask(tested, &format!(")]}}'\n{}", tested.subject.success)).await.unwrap_err();
    assert_eq!(error.label(), "could_not_ask", "{error}");
}

pub(super) async fn unknown_fields_are_ignored(tested: &TestedProvider) {
    let body = with_field(tested, r#""odd":{"deep":[1,null,{"x":"y"}]},"even":false"#);
    assert_eq!(ask(tested, &body).await.unwrap(), ask(tested, tested.subject.success).await.unwrap());
}

pub(super) async fn bytes_that_are_no_utf8_do_no_harm(tested: &TestedProvider) {
    let (before, after) = tested.subject.success.split_once(tested.habits.title.unwrap()).unwrap();
    let body = [before.as_bytes(), &[0xe9, 0xff, 0xc3], after.as_bytes()].concat();
    let (_, outcome) = tested.one(answer(200, &[("content-type", "application/json")], body)).await;
    match outcome {
        Ok(found) => {
            let whole = ask(tested, tested.subject.success).await.unwrap();
            let count = |answer: &Answer| (answer.hits.len(), answer.reviews.len());
            assert_eq!(count(&found), count(&whole), "the title is damaged, the list is whole");
        }
        Err(error) => assert_eq!(error.label(), "malformed", "{error}"),
    }
}

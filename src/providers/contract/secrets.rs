//! Keys that the provider sends back.

use super::{KEY, TestedProvider};
use crate::outbound::test_server::{answer, json};

pub(super) async fn a_key_sent_back_in_an_answer_is_redacted(tested: &TestedProvider) {
    let body = tested.subject.success.replace(tested.habits.title.unwrap(), &format!("for {KEY} only"));
    let (_, outcome) = tested.one(json(&body)).await;
    let shown = format!("{:?}", outcome.unwrap());
    assert!(shown.contains("for [key] only") && !shown.contains(KEY), "{shown}");
}

pub(super) async fn a_key_sent_back_in_an_error_or_a_redirect_is_redacted(tested: &TestedProvider) {
    let words = format!("no search for {KEY} today");
    let place = format!("/login?api_key={KEY}");
    let replies = [
        answer(200, &[], &words),
        answer(400, &[], &words),
        answer(401, &[], &words),
        answer(403, &[], &words),
        answer(500, &[], &words),
        answer(200, &[("content-encoding", KEY)], "x"),
        answer(302, &[("location", place.as_str())], ""),
        json(&format!(r#"{{"error":"{words}"}}"#)),
        json(&format!("<html><title>{words}</title>")),
    ];
    for reply in replies {
        // `one` checks every output for the key.
        let (_, outcome) = tested.one(reply.clone()).await;
        assert!(outcome.is_err(), "{reply:?}");
    }
}

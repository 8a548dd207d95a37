//! Answers, empty answers, and responses that resemble them.

use super::{Answer, TestedProvider};
use crate::outbound::GateState;
use crate::outbound::test_server::{Reply, answer, json};

const HTML: [(&str, &str); 1] = [("content-type", "text/html; charset=utf-8")];

pub(super) async fn an_answer_is_read(tested: &TestedProvider) {
    let (trial, outcome) = tested.one(json(tested.subject.success)).await;
    let (found, provider) = (outcome.unwrap(), &trial.setup.provider);
    assert!(!found.is_empty());
    assert!(
        found
            .hits
            .iter()
            .all(|hit| hit.provider == provider.name() && (hit.content.is_some() || hit.url.starts_with("http")))
    );
    assert!(found.hits.iter().all(|hit| hit.storage == provider.storage()), "a hit is kept as its provider allows");
    assert_eq!(provider.status().state, GateState::Ready);
    assert_eq!(provider.status().errors_today, 0);
}

pub(super) async fn nothing_found_is_an_empty_answer(tested: &TestedProvider) {
    for body in &tested.subject.nothing {
        let (trial, outcome) = tested.one(json(body)).await;
        assert_eq!(outcome.unwrap(), Answer::default(), "{body}");
        assert_eq!(trial.setup.provider.status().errors_today, 0, "nothing found is no error");
    }
}

pub(super) async fn status_204_differs_from_an_answer(tested: &TestedProvider) {
    let (_, outcome) = tested.one(answer(204, &[], "")).await;
    if tested.habits.no_content_is_nothing {
        assert_eq!(outcome.unwrap(), Answer::default());
    } else {
        assert_eq!(outcome.unwrap_err().label(), "could_not_ask");
    }
}

async fn could_not_ask(tested: &TestedProvider, reply: Reply) {
    let (_, outcome) = tested.one(reply).await;
    assert_eq!(outcome.unwrap_err().label(), "could_not_ask");
}

pub(super) async fn prose_is_no_answer(tested: &TestedProvider) {
    could_not_ask(tested, answer(200, &HTML, "Something went wrong, please try later.")).await;
    could_not_ask(tested, answer(200, &[("content-type", "text/plain")], "Bad gateway\n")).await;
}

pub(super) async fn a_web_page_is_no_answer(tested: &TestedProvider) {
    could_not_ask(tested, answer(200, &HTML, "<!doctype html><title>Just a moment…</title>")).await;
}

pub(super) async fn a_web_page_called_json_is_no_answer(tested: &TestedProvider) {
    could_not_ask(tested, json("<!doctype html><title>Sign in</title>")).await;
    could_not_ask(tested, json(" \n<html><head><title>Before you continue</title>")).await;
}

pub(super) async fn an_empty_body_is_no_answer(tested: &TestedProvider) {
    could_not_ask(tested, json("")).await;
    could_not_ask(tested, json(" \r\n")).await;
}

pub(super) async fn an_error_object_is_no_answer(tested: &TestedProvider) {
    for body in [
        r#"{"error":"something broke inside"}"#,
        r#"{"error":{"message":"something broke inside"}}"#,
        r#"{"error":["something"]}"#,
    ] {
        let (_, outcome) = tested.one(json(body)).await;
        let label = outcome.expect_err(body).label();
        assert!(matches!(label, "could_not_ask" | "malformed" | "server_error"), "{body}: {label}");
    }
}

pub(super) async fn a_list_where_an_object_belongs_is_no_answer(tested: &TestedProvider) {
    for body in ["[]", "[1,2]"] {
        let (_, outcome) = tested.one(json(body)).await;
        assert_eq!(outcome.expect_err(body).label(), "malformed", "{body}");
    }
}

pub(super) async fn null_is_no_answer(tested: &TestedProvider) {
    for body in ["null", "true", "0", "\"ok\""] {
        let (_, outcome) = tested.one(json(body)).await;
        let label = outcome.expect_err(body).label();
        assert!(matches!(label, "could_not_ask" | "malformed"), "{body}: {label}");
    }
}

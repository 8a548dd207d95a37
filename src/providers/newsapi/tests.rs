use serde_json::json;

use super::*;
use crate::outbound::test_server::{self, Reply, answer};
use crate::providers::contract::{self, Habits, KEY, Setup, Subject, TestedProvider, query};

/// Constructed from the documentation.
const ANSWER: &str = r#"{"status":"ok","totalResults":2,"articles":[
 {"source":{"id":null,"name":"Ukrinform"},"author":null,"title":"Seaport &amp; customs","description":"What it says.",
  "url":"https://news.example/a","urlToImage":null,"publishedAt":"2026-11-18T07:15:00Z","content":"First … [+2345 chars]"},
 {"source":{"id":null,"name":"[Removed]"},"author":null,"title":"[Removed]","description":"[Removed]",
  "url":"https://removed.com","urlToImage":null,"publishedAt":"1970-01-01T00:00:00Z","content":"[Removed]"}]}"#;

/// Promises more on every page.
const ENDLESS: &str =
    r#"{"status":"ok","totalResults":8342,"articles":[{"title":"a","url":"https://news.example/a"}]}"#;

const RATE_LIMITED: &str = "You have made too many requests recently. Developer accounts are limited to 100 requests over \
    a 24 hour period (50 requests available every 12 hours). Please upgrade to a paid plan if you need more requests.";

fn error(status: u16, code: &str, message: &str) -> Reply {
    let body = json!({"status": "error", "code": code, "message": message}).to_string();
    answer(status, &[("content-type", "application/json")], body)
}

fn too_far(status: u16, granted: NaiveDate, asked: NaiveDate) -> Reply {
    let message = format!(
        "You are trying to request results too far in the past. Your plan permits you to request articles as far back as \
         {granted}, but you have requested {asked}. You may need to upgrade to a paid plan."
    );
    error(status, "parameterInvalid", &message)
}

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(NewsApiSettings { base_url, api_key: Some(KEY.into()) }, gate)),
        gate: gate_settings,
        key_header: Some("x-api-key"),
        success: ANSWER,
        nothing: vec![
            r#"{"status":"ok","totalResults":0,"articles":[]}"#,
            r#"{"status":"ok","articles":null,"totalResults":null}"#,
        ],
        throttle: error(429, "rateLimited", "You have made too many requests recently."),
        quota_gone: Some(error(429, "rateLimited", RATE_LIMITED)),
        bad_key: vec![
            error(401, "apiKeyInvalid", &format!("Your API key {KEY} is invalid or incorrect.")),
            error(401, "apiKeyMissing", "Your API key is missing."),
            error(401, "apiKeyDisabled", "Your API key has been disabled."),
            error(200, "apiKeyInvalid", "status 200 all the same"),
        ],
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    let habits = Habits { title: Some("Seaport"), endless: Some(ENDLESS), ..Habits::default() };
    TestedProvider { subject: subject(), habits }
}

async fn ask(replies: impl IntoIterator<Item = Reply>, asked: &Query) -> (Setup, Result<Answer, AskError>) {
    let setup = Setup::start(&subject(), replies).await;
    let outcome = setup.ask(asked).await;
    (setup, outcome)
}

fn days_ago(days: i64) -> NaiveDate {
    (contract::now() - chrono::Duration::days(days)).date_naive()
}

fn dated(days: i64) -> Query {
    Query { around: Some(contract::now() - chrono::Duration::days(days)), ..query() }
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

#[tokio::test]
async fn articles_are_read_and_withdrawn_ones_dropped() {
    let asked = Query { domains: vec!["news.example".into(), "b.org".into()], ..query() };
    let (setup, outcome) = ask([test_server::json(ANSWER)], &asked).await;
    let hits = outcome.unwrap().hits;
    assert_eq!(hits.len(), 1, "what was withdrawn is no result");
    assert_eq!((hits[0].title.as_str(), hits[0].snippet.as_str()), ("Seaport & customs", "What it says."));
    assert_eq!(hits[0].published_at.unwrap().to_rfc3339(), "2026-11-18T07:15:00+00:00");
    let seen = setup.server.seen().remove(0);
    assert_eq!(seen.path(), "/v2/everything");
    let expected = [
        ("q", query().text),
        ("language", "en".to_owned()),
        ("domains", "news.example,b.org".to_owned()),
        ("sortBy", "relevancy".to_owned()),
        ("pageSize", "10".to_owned()),
        ("page", "1".to_owned()),
    ];
    for (name, value) in expected {
        assert_eq!(seen.parameter(name), Some(value), "{name}");
    }
    assert_eq!(seen.parameter("from"), None);
    assert_eq!(setup.server.seen().len(), 1, "all there is came on the first page");

    let content =
        r#"{"status":"ok","articles":[{"url":"https://a.example/","content":"First words … [+2345 chars]"}]}"#;
    let (_, outcome) = ask([test_server::json(content)], &query()).await;
    assert_eq!(outcome.unwrap().hits[0].snippet, "First words …");
}

#[tokio::test]
async fn languages_it_lacks_are_not_asked_in() {
    let setup = Setup::start(&subject(), [test_server::json(ANSWER)]).await;
    assert!(setup.provider.accepts("en") && setup.provider.accepts("ur") && !setup.provider.accepts("uk"));
    setup.ask(&Query { language: Some("ur".into()), ..query() }).await.unwrap();
    setup.ask(&Query { language: Some("uk".into()), ..query() }).await.unwrap();
    let sent: Vec<_> = setup.server.seen().iter().map(|seen| seen.parameter("language")).collect();
    assert_eq!(sent, [Some("ud".to_owned()), None]);
}

#[tokio::test]
async fn the_plans_horizon_is_learnt_once_and_kept_to() {
    let replies = [too_far(426, days_ago(29), days_ago(57)), test_server::json(ANSWER)];
    let setup = Setup::start(&subject(), replies).await;
    assert_eq!(setup.ask(&dated(50)).await.unwrap().hits.len(), 1);
    let from = |at: usize| setup.server.seen()[at].parameter("from");
    assert_eq!(from(0), Some(days_ago(57).to_string()));
    assert_eq!(from(1), Some(days_ago(29).to_string()), "the first day that the plan permits");
    setup.ask(&dated(45)).await.unwrap();
    assert_eq!(from(2), Some(days_ago(29).to_string()), "known from the beginning now");
    assert_eq!(setup.server.seen().len(), 3);
    setup.ask(&dated(200)).await.unwrap();
    assert_eq!(from(3), None, "all of it lies before the plan: what it has is searched");
    setup.ask(&dated(3)).await.unwrap();
    assert_eq!(from(4), Some(days_ago(10).to_string()));
    assert_eq!(setup.provider.status().errors_today, 0);
}

#[tokio::test]
async fn a_horizon_that_contradicts_itself_is_survived() {
    // The granted day is refused, then the next one too.
    let day = days_ago(67);
    let replies = [too_far(400, day, day), too_far(426, days_ago(66), days_ago(66)), test_server::json(ANSWER)];
    let (setup, outcome) = ask(replies, &dated(60)).await;
    assert_eq!(outcome.unwrap().hits.len(), 1);
    let from: Vec<_> = setup.server.seen().iter().map(|seen| seen.parameter("from")).collect();
    assert_eq!(from, [Some(day.to_string()), Some(days_ago(66).to_string()), None]);

    let (setup, outcome) = ask([too_far(426, day, day)], &dated(60)).await;
    assert_eq!(outcome.unwrap_err().label(), "refused", "it refuses every date, and no date");
    assert_eq!(setup.server.seen().len(), 3);
    let (_, outcome) = ask([too_far(426, days_ago(-9), days_ago(-9)), test_server::json(ANSWER)], &dated(1)).await;
    assert!(outcome.is_ok(), "a horizon in the future is no reason to stop");
}

#[tokio::test]
async fn the_end_of_what_may_be_paged_is_no_error() {
    let end = error(426, "maximumResultsReached", "You have requested too many results.");
    let (setup, outcome) = ask([test_server::json(ENDLESS), end.clone()], &query()).await;
    assert_eq!(outcome.unwrap().hits.len(), 1);
    assert_eq!(setup.server.seen()[1].parameter("page").as_deref(), Some("2"));
    assert_eq!(setup.provider.status().errors_today, 0);
    let (_, outcome) = ask([end], &query()).await;
    assert_eq!(outcome.unwrap_err().label(), "could_not_ask", "before the first page it is not \"nothing found\"");
    let (_, outcome) = ask([test_server::json(ENDLESS), answer(500, &[], "")], &query()).await;
    assert_eq!(outcome.unwrap().hits.len(), 1, "what came before the failure is real");
}

#[tokio::test]
async fn the_allowance_comes_back_after_the_shortest_period_it_names() {
    let (_, outcome) = ask([error(429, "rateLimited", RATE_LIMITED)], &query()).await;
    let AskError::QuotaGone { until: Some(until) } = outcome.unwrap_err() else { panic!("the allowance is used up") };
    assert!(((until - contract::now()).num_minutes() - 12 * 60).abs() <= 1);
}

#[tokio::test]
async fn other_refusals_have_their_class() {
    let cases = [
        (error(401, "apiKeyExhausted", "Your API key has no more requests available."), "quota_gone"),
        (error(400, "parametersMissing", "q"), "refused"),
        (error(400, "parameterInvalid", "The language is not known"), "refused"),
        (error(400, "sourcesTooMany", ""), "refused"),
        (error(426, "corsNotAllowed", ""), "disabled"),
        (error(400, "userAgentMissing", ""), "disabled"),
        (error(500, "unexpectedError", ""), "server_error"),
        (error(200, "somethingNew", ""), "could_not_ask"),
        (test_server::json(r#"{"status":"ok"}"#), "malformed"),
        (test_server::json(r#"{"status":"ok","articles":{}}"#), "malformed"),
    ];
    for (reply, label) in cases {
        let (_, outcome) = ask([reply.clone()], &query()).await;
        assert_eq!(outcome.unwrap_err().label(), label, "{reply:?}");
    }
}

#[test]
fn operators_of_a_claim_are_words() {
    let cases = [
        ("+must -not \"a phrase\"", "must not a phrase"),
        ("a AND (b OR c) NOT d", "a and b or c not d"),
        ("Bank of England’s F-16 +", "Bank of England’s F-16"),
        ("«Перемога» − і", "Перемога − і"),
    ];
    for (text, sent) in cases {
        assert_eq!(wire::harmless(text), sent);
    }
    assert!(wire::harmless(&"слово ".repeat(400)).chars().count() <= 500);
}

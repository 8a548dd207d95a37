use serde_json::json;

use super::*;
use crate::outbound::GateState;
use crate::outbound::test_server::{self, Reply, answer};
use crate::providers::contract::{self, Habits, KEY, Setup, Subject, TestedProvider, query};
use corroborate_labelled as labelled;

/// A recorded response with a made-up token.
const RECORDED: &str = r#"{"claims":[{"text":"COVID-19 norms flouted in Delhi's Jaffrabad area","claimant":"Facebook,Twitter",
"claimDate":"2021-05-11T13:44:56Z","claimReview":[{"publisher":{"name":"The Quint","site":"thequint.com"},
"url":"https://www.thequint.com/news/webqoof/video-from-lahore-passed-off-as-covid-19-norms-flouted-in-delhi",
"title":"Video From Lahore Passed Off as COVID-19 Norms Flouted in Delhi","reviewDate":"2021-05-11T13:44:56Z",
"textualRating":"False","languageCode":"en"}]}]}"#;

/// Every page promises another.
const ENDLESS: &str = r#"{"claims":[{"text":"a","claimReview":[{"url":"https://a.example/1","textualRating":"False"}]}],
"nextPageToken":"CAo"}"#;

fn error(code: u16, message: &str, detail: &serde_json::Value) -> Reply {
    let body = json!({"error": {"code": code, "message": message, "status": "X", "details": [detail]}});
    answer(code, &[("content-type", "application/json")], body.to_string())
}

fn reason(reason: &str) -> serde_json::Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"})
}

fn quota(limit: &str, value: &str) -> Reply {
    let detail =
        json!({"reason": "RATE_LIMIT_EXCEEDED", "metadata": {"quota_limit": limit, "quota_limit_value": value}});
    error(429, "Quota exceeded", &detail)
}

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(GoogleSettings { base_url, api_key: Some(KEY.into()) }, gate)),
        gate: gate_settings,
        key_header: Some("x-goog-api-key"),
        success: RECORDED,
        nothing: vec!["{}", "{}\n", r#"{"claims":[]}"#, r#"{"claims":null}"#, r#"{"claims":[{"text":"x"}]}"#],
        throttle: quota("DefaultRequestsPerMinutePerProject", "300"),
        quota_gone: Some(quota("DefaultRequestsPerDayPerProject", "1000")),
        bad_key: vec![
            error(400, &format!("API key not valid: {KEY}"), &reason("API_KEY_INVALID")),
            error(
                403,
                &format!("Requests from this IP with {KEY} are blocked."),
                &reason("API_KEY_IP_ADDRESS_BLOCKED"),
            ),
            error(403, "The request is missing a valid API key.", &json!({})),
        ],
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    TestedProvider {
        subject: subject(),
        habits: Habits { title: Some("Jaffrabad"), endless: Some(ENDLESS), ..Habits::default() },
    }
}

async fn ask(replies: impl IntoIterator<Item = Reply>, limit: usize) -> (Setup, Result<Answer, AskError>) {
    let setup = Setup::start(&subject(), replies).await;
    let outcome = setup.ask(&Query { limit, ..query() }).await;
    (setup, outcome)
}

fn claims(rows: &serde_json::Value, token: Option<&str>) -> Reply {
    test_server::json(&json!({"claims": rows, "nextPageToken": token}).to_string())
}

fn claim(text: &str, url: &str, rating: &str) -> serde_json::Value {
    json!({"text": text, "claimReview": [{"url": url, "textualRating": rating, "publisher": {"site": "p.example"}}]})
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

#[tokio::test]
async fn a_recorded_answer_is_read_whole() {
    let (setup, outcome) = ask([test_server::json(RECORDED)], 3).await;
    let answer = outcome.unwrap();
    let [review] = answer.reviews.as_slice() else { panic!("one review: {answer:?}") };
    assert_eq!(review.claim, "COVID-19 norms flouted in Delhi's Jaffrabad area");
    assert_eq!(review.claimant.as_deref(), Some("Facebook,Twitter"));
    assert_eq!((review.publisher.as_str(), review.rating.as_str()), ("The Quint", "False"));
    assert_eq!(review.review_date.unwrap().to_rfc3339(), "2021-05-11T13:44:56+00:00");
    let seen = setup.server.seen().remove(0);
    assert_eq!(seen.path(), "/v1alpha1/claims:search");
    assert_eq!(seen.parameter("query").as_deref(), Some(query().text.as_str()));
    assert_eq!(seen.parameter("languageCode").as_deref(), Some("en"));
    assert_eq!(seen.parameter("pageSize").as_deref(), Some("3"));
}

#[tokio::test]
async fn the_stored_real_answer_is_read_where_it_is_at_hand() {
    let Some(body) = labelled::read("api_samples/google_factcheck_claims_search_real_response.json") else { return };
    let (setup, outcome) = ask([test_server::json(&body)], 10).await;
    let answer = outcome.unwrap();
    assert_eq!(answer.reviews.len(), 10);
    assert_eq!(answer.reviews.iter().filter(|review| review.rating == "Pants on Fire").count(), 2);
    assert!(answer.reviews.iter().any(|review| review.review_date.is_none()));
    assert_eq!(setup.server.seen().len(), 1, "ten were wanted and ten came: no further page");
}

#[tokio::test]
async fn several_reviews_of_a_claim_are_all_kept_even_when_they_disagree() {
    let rows = json!([{"text": "Earth isn&#39;t <b>flat</b> &amp;amp; old", "claimReview": [
        {"url": "https://a.example/1", "textualRating": "True", "publisher": {"name": "A"}, "reviewDate": "soon"},
        {"url": "https://b.example/1", "textualRating": "False."},
        {"url": "ftp://c.example/1", "textualRating": "False"},
        {"textualRating": "False"},
        {"url": "https://www.d.example/1", "textualRating": {"@value": "x"}},
        null, "text"
    ]}, {"claimReview": [{"url": "https://e.example/"}]}, null]);
    let answer = ask([claims(&rows, None)], 10).await.1.unwrap();
    let kept: Vec<_> = answer.reviews.iter().map(|found| (found.publisher.as_str(), found.rating.as_str())).collect();
    assert_eq!(kept, [("A", "True"), ("b.example", "False."), ("d.example", "")]);
    assert!(answer.reviews.iter().all(|review| review.claim == "Earth isn't flat &amp; old"), "decoded once");
    assert!(answer.reviews.iter().all(|review| review.review_date.is_none()));
}

#[tokio::test]
async fn the_same_review_under_several_claims_is_one() {
    let rows = json!([
        claim("first", "https://www.a.example/x/", "False"),
        claim("second", "https://a.example/x#top", "False"),
        claim("third", "https://a.example/y", "False"),
    ]);
    let answer = ask([claims(&rows, None)], 10).await.1.unwrap();
    let kept: Vec<_> = answer.reviews.iter().map(|found| found.claim.as_str()).collect();
    assert_eq!(kept, ["first", "third"]);
}

#[tokio::test]
async fn further_pages_are_read_while_reviews_are_missing_and_never_for_ever() {
    let page =
        |number: u32, token| claims(&json!([claim("c", &format!("https://a.example/{number}"), "x")]), Some(token));
    let (setup, outcome) = ask([page(1, "a"), page(2, "b"), page(3, "c"), page(4, "d")], 10).await;
    assert_eq!(outcome.unwrap().reviews.len(), 3, "three pages at most");
    assert_eq!(setup.server.seen().len(), 3);
    assert_eq!(setup.server.seen()[1].parameter("pageToken").as_deref(), Some("a"));

    let (setup, outcome) = ask([page(1, "a"), page(2, "a"), page(3, "a")], 10).await;
    assert_eq!((outcome.unwrap().reviews.len(), setup.server.seen().len()), (2, 2), "a repeated token ends it");

    let (setup, outcome) = ask([page(1, "a")], 1).await;
    assert_eq!((outcome.unwrap().reviews.len(), setup.server.seen().len()), (1, 1));

    let broken = answer(500, &[], "");
    let (_, outcome) = ask([page(1, "a"), broken], 10).await;
    assert_eq!(outcome.unwrap().reviews.len(), 1, "what came before the failure is real");
}

#[tokio::test]
async fn a_switched_off_api_disables_with_googles_own_words() {
    let message = "Fact Check Tools API has not been used in project 12345 before or it is disabled.";
    let (setup, outcome) = ask([error(403, message, &reason("SERVICE_DISABLED"))], 3).await;
    assert_eq!(outcome.unwrap_err(), AskError::Disabled { detail: message.to_owned() });
    let status = setup.provider.status();
    assert!(status.state == GateState::Disabled && status.until.is_some(), "{status:?}");
    let (_, outcome) = ask([quota("RequestsPerMinute", "0")], 3).await;
    assert_eq!(outcome.unwrap_err().label(), "disabled", "a project without any quota never gets one by waiting");
}

#[tokio::test]
async fn a_wait_in_the_details_is_respected() {
    let detail = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30.5s"});
    let (_, outcome) = ask([error(429, "slow", &detail)], 3).await;
    assert_eq!(outcome.unwrap_err(), AskError::Throttled { retry_after: Some(Duration::from_millis(30_500)) });
}

#[tokio::test]
async fn key_stays_valid_when_a_web_page_answers() {
    for status in [403, 404] {
        let (setup, outcome) = ask([answer(status, &[("content-type", "text/html")], "<html>Error")], 3).await;
        assert_eq!(outcome.unwrap_err().label(), "could_not_ask");
        assert_eq!(setup.provider.status().state, GateState::Ready);
    }
    let (_, outcome) = ask([error(400, "Request contains an invalid argument.", &json!({}))], 3).await;
    assert_eq!(outcome.unwrap_err().label(), "refused");
    let (_, outcome) = ask([test_server::json(r#"{"error":{"code":500}}"#)], 3).await;
    assert_eq!(outcome.unwrap_err().label(), "could_not_ask");
}

#[tokio::test]
async fn a_region_is_not_asked_for_and_an_age_never() {
    let setup = Setup::start(&subject(), [test_server::json(RECORDED)]).await;
    for (language, sent) in [(Some("pt-BR"), Some("pt")), (Some("sr_Latn"), Some("sr")), (None, None)] {
        setup.ask(&Query { language: language.map(str::to_owned), ..query() }).await.unwrap();
        let seen = setup.server.seen().pop().unwrap();
        assert_eq!(seen.parameter("languageCode").as_deref(), sent);
        assert_eq!(seen.parameter("maxAgeDays"), None);
    }
}

#[tokio::test]
async fn an_empty_query_is_not_asked() {
    let setup = Setup::start(&subject(), [test_server::json(RECORDED)]).await;
    let outcome = setup.ask(&Query { text: " \n".into(), ..query() }).await;
    assert_eq!(outcome.unwrap_err().label(), "refused");
    assert!(setup.server.seen().is_empty());
}

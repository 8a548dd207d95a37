use serde_json::{Value, json};

use super::*;
use crate::outbound::GateState;
use crate::outbound::test_server::{self, Reply, SeenRequest, TestServer, answer};
use crate::providers::contract::{self, Habits, KEY, KeyPlace, Setup, Subject, TestedProvider, query};

/// Recorded by a public app, completed from the data model.
const RECORDED: &str = r#"{"articles":{"results":[
 {"uri":"7546825937","lang":"eng","isDuplicate":false,"date":"2023-05-16","time":"10:35:00","dateTime":"2023-05-16T10:35:00Z",
  "dateTimePub":"2023-05-16T10:34:00Z","dataType":"news","sim":0,
  "url":"https://www.rmol.co/20230516/22538-tesla-changed-a-deadline/",
  "title":"Tesla Changed A Deadline For Investor Proposals","body":"Tesla investors will have fewer opportunities …",
  "source":{"uri":"rmol.co","dataType":"news","title":"rmol.co"},"authors":[],
  "concepts":[{"uri":"http://en.wikipedia.org/wiki/Tesla,_Inc.","type":"org","score":5,"label":{"eng":"Tesla, Inc."}}],
  "image":null,"eventUri":null,"sentiment":null,"wgt":421843200,"relevance":34}],
 "totalResults":4821,"page":1,"count":5,"pages":965}}"#;

const PLENTY: &str = r#"{"availableTokens":2000,"usedTokens":12}"#;
const SPENT: &str = r#"{"availableTokens":2000,"usedTokens":2000}"#;

fn refusal(status: u16, words: &str) -> Reply {
    answer(status, &[("content-type", "text/plain")], words)
}

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(EventRegistrySettings { base_url, api_key: Some(KEY.into()) }, gate)),
        gate: gate_settings,
        key_header: None,
        success: RECORDED,
        nothing: vec![
            r#"{"articles":{"results":[],"totalResults":0,"page":1,"count":0,"pages":0}}"#,
            r#"{"articles":{"results":null}}"#,
            r#"{"articles":{}}"#,
        ],
        throttle: refusal(429, "Too many requests"),
        quota_gone: Some(refusal(401, "User's limit reached. Token quota exhausted")),
        bad_key: vec![
            refusal(401, &format!("The API key {KEY} is not valid")),
            refusal(403, "The provided apiKey is unknown"),
            test_server::json(r#"{"error":"Invalid apiKey was provided"}"#),
            refusal(401, ""),
        ],
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    let habits = Habits {
        key: Some(KeyPlace::Field("apiKey")),
        no_content_is_nothing: true,
        title: Some("Tesla Changed A Deadline"),
        // Unreadable: the refusal is classified by its message.
        account: Some((USAGE_PATH, r#"{"error":"down"}"#)),
        ..Habits::default()
    };
    TestedProvider { subject: subject(), habits }
}

async fn ask(reply: Reply) -> (Setup, Result<Answer, AskError>) {
    let setup = Setup::start(&subject(), [reply]).await;
    let outcome = setup.ask(&query()).await;
    (setup, outcome)
}

fn body_of(seen: &SeenRequest) -> Value {
    serde_json::from_slice(&seen.body).unwrap()
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

#[tokio::test]
async fn a_recorded_answer_is_read_whole() {
    let (setup, outcome) = ask(test_server::json(RECORDED)).await;
    let hits = outcome.unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].title, "Tesla Changed A Deadline For Investor Proposals");
    assert_eq!(hits[0].snippet, "Tesla investors will have fewer opportunities …");
    assert_eq!(hits[0].published_at.unwrap().to_rfc3339(), "2023-05-16T10:34:00+00:00", "the publisher's date");
    assert_eq!(hits[0].language.as_deref(), Some("en"));
    let seen = setup.server.seen().remove(0);
    assert!(seen.head.starts_with("POST /api/v1/article/getArticles "), "{}", seen.head);
    let sent = body_of(&seen);
    assert_eq!(sent["keyword"], json!(["Vizhinjam", "International Seaport"]));
    assert_eq!((&sent["lang"], &sent["forceMaxDataTimeWindow"]), (&json!("eng"), &json!(31)));
    assert_eq!((&sent["articlesCount"], &sent["articlesPage"]), (&json!(5), &json!(1)), "one page is one token");
    assert_eq!(sent.get("sourceUri"), None);
}

#[tokio::test]
async fn titles_come_as_text_or_as_a_map_by_language() {
    let rows = json!([
        {"url": "https://a.example/1", "lang": "rus", "title": {"eng": "E", "rus": "Р"}, "body": {"eng": "only"}},
        {"url": "https://a.example/2", "lang": "xxx", "title": {"deu": "D"}, "dateTime": "2026-11-01T00:00:00Z"},
        {"url": "https://a.example/3", "title": 5},
    ]);
    let body = json!({"articles": {"results": rows}}).to_string();
    let hits = ask(test_server::json(&body)).await.1.unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.title.as_str()).collect::<Vec<_>>(), ["Р", "D", ""]);
    assert_eq!((hits[0].snippet.as_str(), hits[0].language.as_deref()), ("only", Some("ru")));
    assert_eq!(hits[1].language, None);
    assert_eq!(hits[1].published_at.unwrap().to_rfc3339(), "2026-11-01T00:00:00+00:00");
}

#[tokio::test]
async fn domains_and_dates_narrow_the_search_within_what_is_free() {
    let asked = Query {
        domains: vec!["Rmol.co".into(), "not a domain".into()],
        around: Some(contract::now() - chrono::Duration::days(3)),
        language: Some("xx".into()),
        ..query()
    };
    let setup = Setup::start(&subject(), [test_server::json(RECORDED)]).await;
    assert_eq!(setup.ask(&asked).await.unwrap().hits.len(), 1);
    let sent = body_of(&setup.server.seen()[0]);
    assert_eq!(sent["sourceUri"], json!(["rmol.co"]));
    assert_eq!(sent["dateEnd"], json!(contract::now().format("%Y-%m-%d").to_string()));
    let start = contract::now() - chrono::Duration::days(10);
    assert_eq!(sent["dateStart"], json!(start.format("%Y-%m-%d").to_string()));
    assert_eq!(sent.get("lang"), None, "a language it does not know is not sent");
    let old = Query { around: Some(contract::now() - chrono::Duration::days(400)), ..query() };
    setup.ask(&old).await.unwrap();
    assert_eq!(body_of(&setup.server.seen()[1]).get("dateStart"), None);

    let elsewhere = Query { domains: vec!["other.example".into()], ..query() };
    assert!(setup.ask(&elsewhere).await.unwrap().is_empty(), "other domains than asked for are left out");
    let wordless = Query { text: "!?".into(), terms: Vec::new(), ..query() };
    assert_eq!(setup.ask(&wordless).await.unwrap_err().label(), "refused");
    assert_eq!(setup.server.seen().len(), 3);
}

#[tokio::test]
async fn refusal_is_classified_by_message_when_status_is_ambiguous() {
    let cases = [
        (refusal(403, "Token limit depleted"), "quota_gone"),
        (refusal(429, "Daily quota of tokens exceeded"), "quota_gone"),
        (refusal(429, "You exceeded the number of simultaneous requests"), "throttled"),
        (refusal(503, "More than 5 concurrent requests"), "throttled"),
        (refusal(503, "Service unavailable"), "server_error"),
        (refusal(403, "Your account is disabled"), "disabled"),
        (refusal(400, "Missing parameter keyword"), "refused"),
        (refusal(403, "<html>Forbidden</html>"), "could_not_ask"),
        (test_server::json(r#"{"error":"The tokens of your plan are used up"}"#), "quota_gone"),
        (test_server::json(r#"{"error":"Unknown parameter foo"}"#), "refused"),
        (test_server::json(r#"{"error":"boom"}"#), "could_not_ask"),
        (test_server::json("{}"), "malformed"),
        (answer(401, &[], r#"{"error":"Unauthorized","message":"Token quota exhausted"}"#), "quota_gone"),
    ];
    for (reply, label) in cases {
        let what = format!("{reply:?}");
        let tested = tested();
        let server = TestServer::answering(
            move |_, seen| {
                if seen.path() == USAGE_PATH { refusal(500, "") } else { reply.clone() }
            },
        );
        let server = server.await;
        let gate = (tested.subject.build)(server.url.clone(), gate());
        let meter = crate::outbound::AskMeter::default();
        let asker = Asker { until: Instant::now() + Duration::from_secs(10), meter: &meter };
        assert_eq!(gate.ask(&query(), asker).await.unwrap_err().label(), label, "{what}");
    }
}

/// The provider's own gate, with one attempt.
fn gate() -> Gate {
    let settings = GateSettings { rpm: 60_000, max_attempts: 1, ..gate_settings(Duration::from_mins(10)) };
    let http = crate::outbound::HttpClient::live("corroborate-test").unwrap();
    let clock = std::sync::Arc::new(crate::domain::SystemClock);
    Gate::new(settings, http, clock, std::sync::Arc::new(crate::outbound::NoObserver))
}

#[tokio::test]
async fn a_doubtful_refusal_is_cleared_up_by_the_account() {
    let cases = [
        (refusal(401, ""), SPENT, "quota_gone"),
        (refusal(403, "apiKey not accepted"), SPENT, "quota_gone"),
        (refusal(429, "no"), SPENT, "quota_gone"),
        (refusal(401, ""), PLENTY, "disabled"),
        (refusal(401, "Token quota exhausted"), PLENTY, "throttled"),
        (refusal(429, "no"), PLENTY, "throttled"),
    ];
    for (reply, account, label) in cases {
        let what = format!("{reply:?} {account}");
        let server =
            TestServer::answering(
                move |_, seen| {
                    if seen.path() == USAGE_PATH { test_server::json(account) } else { reply.clone() }
                },
            );
        let server = server.await;
        let provider = new(EventRegistrySettings { base_url: server.url.clone(), api_key: Some(KEY.into()) }, gate());
        let meter = crate::outbound::AskMeter::default();
        let asker = Asker { until: Instant::now() + Duration::from_secs(10), meter: &meter };
        assert_eq!(provider.ask(&query(), asker).await.unwrap_err().label(), label, "{what}");
        let seen = server.seen();
        assert_eq!(seen.len(), 2, "{what}");
        assert_eq!(body_of(&seen[1]), json!({"apiKey": KEY}));
        assert_eq!((meter.attempts(), provider.status().calls_today), (1, 1), "the account's question is free");
    }
}

#[tokio::test]
async fn it_is_asked_one_call_at_a_time() {
    // Each answer takes a while; two concurrent ones would overlap.
    let slow = Reply::Trickle(test_server::head_promising(40, "application/json"), Duration::from_millis(5));
    let server = TestServer::start([slow]).await;
    let provider = new(EventRegistrySettings { base_url: server.url.clone(), api_key: Some(KEY.into()) }, gate());
    let meter = crate::outbound::AskMeter::default();
    let started = Instant::now();
    let asker = Asker { until: started + Duration::from_secs(10), meter: &meter };
    let impatient = Asker { until: started + Duration::from_millis(150), meter: &meter };
    let watch = async {
        while server.seen().is_empty() && started.elapsed() < Duration::from_secs(10) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        server.seen().len()
    };
    let (asked, later) = (query(), query());
    let (first, second, meanwhile) = tokio::join!(provider.ask(&asked, asker), provider.ask(&later, impatient), watch);
    assert_eq!(meanwhile, 1, "the second waits for the first");
    assert_eq!(first.unwrap_err().label(), "could_not_ask", "forty blanks are no answer");
    assert_eq!(second.unwrap_err(), AskError::Deadline);
    assert_eq!(provider.status().state, GateState::Ready);
}

#[tokio::test]
async fn headers_that_warn_or_are_missing_change_nothing() {
    let warned = [("warning", "the plan ends soon"), ("req-tokens", "5"), ("req-archive", "1")];
    let (_, outcome) = ask(answer(200, &warned, RECORDED)).await;
    assert_eq!(outcome.unwrap().hits.len(), 1);
    let (_, outcome) = ask(answer(200, &[("req-tokens", "many")], RECORDED)).await;
    assert_eq!(outcome.unwrap().hits.len(), 1);
}

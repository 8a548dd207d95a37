use chrono::{TimeZone as _, Utc};
use serde_json::json;

use super::*;
use crate::outbound::test_server::{self, Reply, TestServer, answer};
use crate::outbound::{AskMeter, HttpClient, NoObserver};
use crate::providers::contract::{self, Habits, KEY, KeyPlace, Setup, Subject, TestedProvider, query};

/// Constructed from public clients' fixtures.
const WEB: &str = r#"{"search_metadata":{"id":"66","status":"Success","json_endpoint":"https://serpapi.com/searches/66.json"},
 "search_parameters":{"engine":"google","q":"x","gl":"us","hl":"en"},
 "search_information":{"organic_results_state":"Results for exact spelling","total_results":1234},
 "organic_results":[{"position":1,"title":"Seaport approved","link":"https://www.example.com/a","displayed_link":"x",
   "snippet":"It was &quot;granted&quot;.","date":"Nov 3, 2026","source":"Reuters"},
  {"position":2,"title":"no link"}],
 "serpapi_pagination":{"current":1,"next":"https://serpapi.com/search.json?start=10"}}"#;

const NEWS: &str = r#"{"search_metadata":{"status":"Success"},"news_results":[
 {"position":1,"title":"A cluster","highlight":{"title":"H","link":"https://h.example/1","source":{"name":"H","authors":[]},
   "date":"09/24/2026, 07:00 AM, +0000 UTC"},
  "stories":[{"title":"S","link":"https://s.example/1","date":"09/24/2026, 09:30 PM, +0300 UTC"},
   {"title":"H again","link":"https://h.example/1"},null],"story_token":"t"},
 {"position":2,"title":"Single","link":"https://one.example/1","source":"a name","date":"x","iso_date":"2026-09-25T07:00:00Z"},
 {"position":3,"title":"An empty cluster","stories":null}]}"#;

const NOTHING: &str = r#"{"search_metadata":{"status":"Success"},
 "error":"Google hasn't returned any results for this query."}"#;
const EXHAUSTED: &str =
    r#"{"error":"Your searches for the month are exhausted. You can upgrade plans on SerpApi.com website."}"#;
const HOURLY: &str = r#"{"error":"You've exceeded your searches per hour rate limit."}"#;

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(SerpApiSettings { base_url, api_key: Some(KEY.into()) }, gate)),
        gate: gate_settings,
        key_header: None,
        success: WEB,
        nothing: vec![
            NOTHING,
            r#"{"search_metadata":{"status":"Success"},"organic_results":[]}"#,
            r#"{"search_metadata":{"status":"Cached"},"organic_results":null}"#,
        ],
        throttle: answer(429, &[], HOURLY),
        quota_gone: Some(answer(429, &[], EXHAUSTED)),
        bad_key: vec![
            answer(
                401,
                &[],
                format!(
                    r#"{{"error":"Invalid API key {KEY}. Your API key should be here: https://serpapi.com/manage-api-key"}}"#
                ),
            ),
            answer(401, &[], "{}"),
        ],
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    let habits = Habits {
        key: Some(KeyPlace::Parameter("api_key")),
        title: Some("Seaport approved"),
        account: Some((ACCOUNT_PATH, r#"{"error":"down"}"#)),
        ..Habits::default()
    };
    TestedProvider { subject: subject(), habits }
}

async fn ask(reply: Reply) -> Result<Answer, AskError> {
    let setup = Setup::start(&subject(), [reply]).await;
    setup.ask(&query()).await
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

#[tokio::test]
async fn web_results_are_read() {
    let setup = Setup::start(&subject(), [test_server::json(WEB)]).await;
    let hits = setup.ask(&query()).await.unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].title.as_str(), hits[0].snippet.as_str()), ("Seaport approved", "It was \"granted\"."));
    assert_eq!(hits[0].published_at.unwrap().to_rfc3339(), "2026-11-03T00:00:00+00:00");
    let seen = setup.server.seen().remove(0);
    assert_eq!(seen.path(), "/search.json");
    for (name, value) in [("engine", "google"), ("hl", "en"), ("num", "5"), ("api_key", KEY)] {
        assert_eq!(seen.parameter(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn clusters_give_their_stories_and_a_fresh_claim_is_looked_for_in_the_news() {
    let fresh = Query { around: Some(contract::now()), ..query() };
    let setup = Setup::start(&subject(), [test_server::json(NEWS)]).await;
    let hits = setup.ask(&fresh).await.unwrap().hits;
    let kept: Vec<_> = hits.iter().map(|hit| (hit.url.as_str(), hit.title.as_str())).collect();
    assert_eq!(kept, [("https://h.example/1", "H"), ("https://s.example/1", "S"), ("https://one.example/1", "Single")]);
    let dates: Vec<_> = hits.iter().map(|hit| hit.published_at.unwrap().to_rfc3339()).collect();
    assert_eq!(dates, ["2026-09-24T07:00:00+00:00", "2026-09-24T18:30:00+00:00", "2026-09-25T07:00:00+00:00"]);
    assert_eq!(setup.server.seen()[0].parameter("engine").as_deref(), Some("google_news"));
    assert_eq!(setup.server.seen().len(), 1);

    let setup = Setup::start(&subject(), [test_server::json(NOTHING), test_server::json(WEB)]).await;
    assert_eq!(setup.ask(&fresh).await.unwrap().hits.len(), 1);
    let engines: Vec<_> = setup.server.seen().iter().map(|seen| seen.parameter("engine").unwrap()).collect();
    assert_eq!(engines, ["google_news", "google"]);
    assert!((setup.provider.status().usd_today - 0.03).abs() < 1e-9, "both are paid for");
}

#[tokio::test]
async fn an_error_at_status_200_is_an_answer_or_a_failure() {
    let failed = |status: &str, error: &str| {
        test_server::json(&json!({"search_metadata": {"status": status}, "error": error}).to_string())
    };
    assert!(ask(test_server::json(NOTHING)).await.unwrap().is_empty());
    let nothing = "Google hasn't returned any results for this query.";
    let cases = [
        (failed("Error", nothing), "could_not_ask"),
        (failed("Error", "We couldn't get valid results for this search. Please try again later."), "could_not_ask"),
        (failed("Success", "Your account has run out of searches."), "quota_gone"),
        (failed("Success", "Unsupported `xyz` parameter."), "refused"),
        (test_server::json(&json!({"error": nothing}).to_string()), "could_not_ask"),
        (test_server::json(r#"{"search_metadata":{"status":"Processing"}}"#), "could_not_ask"),
        (test_server::json(r#"{"search_metadata":{"status":"Success"}}"#), "malformed"),
        (answer(400, &[], r#"{"error":"Missing query `q` parameter."}"#), "refused"),
        (answer(403, &[], r#"{"error":"The account is deleted."}"#), "disabled"),
        (answer(410, &[], r#"{"error":"gone"}"#), "refused"),
    ];
    for (reply, label) in cases {
        assert_eq!(ask(reply.clone()).await.unwrap_err().label(), label, "{reply:?}");
    }
}

#[tokio::test]
async fn account_decides_when_429_has_no_clear_message() {
    let left = |left: u32| json!({"plan_searches_left": left, "total_searches_left": left, "this_hour_searches": 9});
    let cases = [
        (r#"{"error":"Too many requests"}"#, left(0), "quota_gone", 2),
        (r#"{"error":"Too many requests"}"#, left(17), "throttled", 2),
        ("no words", left(0), "quota_gone", 2),
        (HOURLY, left(0), "throttled", 1),
        (EXHAUSTED, left(17), "quota_gone", 1),
    ];
    for (body, account, label, calls) in cases {
        let account = account.to_string();
        let server = TestServer::answering(move |_, seen| {
            if seen.path() == ACCOUNT_PATH { test_server::json(&account) } else { answer(429, &[], body) }
        });
        let server = server.await;
        let settings = GateSettings { rpm: 60_000, ..gate_settings(Duration::from_mins(10)) };
        let http = HttpClient::live("corroborate-test").unwrap();
        let clock = std::sync::Arc::new(crate::domain::SystemClock);
        let gate = Gate::new(settings, http, clock, std::sync::Arc::new(NoObserver));
        let provider = new(SerpApiSettings { base_url: server.url.clone(), api_key: Some(KEY.into()) }, gate);
        let meter = AskMeter::default();
        let asker = Asker { until: tokio::time::Instant::now() + Duration::from_secs(10), meter: &meter };
        assert_eq!(provider.ask(&query(), asker).await.unwrap_err().label(), label, "{body}");
        assert_eq!((server.seen().len(), meter.attempts()), (calls, 1), "{body}: the account's question is free");
    }
}

#[test]
fn dates_are_read_in_every_form_but_other_languages() {
    let now = Utc.with_ymd_and_hms(2026, 11, 20, 12, 0, 0).unwrap();
    let read = |text: &str| wire::date(text, now).map(|date| date.format("%Y-%m-%dT%H:%M").to_string());
    let cases = [
        ("09/24/2026, 07:00 AM, +0000 UTC", Some("2026-09-24T07:00")),
        ("09/24/2026, 12:15 AM, +0000 UTC", Some("2026-09-24T00:15")),
        ("11/12/2026, 01:00 PM, -0500 UTC", Some("2026-11-12T18:00")),
        ("Nov 3, 2026", Some("2026-11-03T00:00")),
        ("November 3, 2026", Some("2026-11-03T00:00")),
        ("5 hours ago", Some("2026-11-20T07:00")),
        ("an hour ago", Some("2026-11-20T11:00")),
        ("2 days ago", Some("2026-11-18T12:00")),
        ("3 weeks ago", Some("2026-10-30T12:00")),
        ("2026-11-03T10:00:00Z", Some("2026-11-03T10:00")),
        ("2 months ago", None),
        ("vor 5 Stunden", None),
        ("5 часов назад", None),
        ("yesterday", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn operators_of_a_claim_are_words() {
    let cases = [
        ("\"exact\" -not OR site:evil.example", "exact not or site evil.example"),
        ("at 10:30 (in Kyiv) | *", "at 10:30 in Kyiv"),
        ("intitle:word ~x @y", "intitle word x y"),
    ];
    for (text, sent) in cases {
        assert_eq!(wire::harmless(text), sent);
    }
    let endpoint = Url::parse("https://api.example/search.json").unwrap();
    let asked = Query { domains: vec!["a.com".into()], language: Some("kk".into()), ..query() };
    let url = wire::url(&endpoint, wire::Engine::News, &asked).unwrap();
    let sent = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    assert!(sent("q").unwrap().ends_with(" site:a.com"));
    assert_eq!((sent("hl"), sent("num")), (None, None));
    assert!(wire::url(&endpoint, wire::Engine::Web, &Query { text: "- \"".into(), ..query() }).is_err());
}

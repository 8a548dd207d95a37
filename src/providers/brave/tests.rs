use serde_json::{Value, json};

use super::*;
use crate::outbound::GateState;
use crate::outbound::test_server::{self, Reply, answer};
use crate::providers::contract::{self, Habits, KEY, Setup, Subject, TestedProvider, query};

/// Constructed from the official types.
const WEB: &str = r#"{"type":"search","query":{"original":"x","altered":null},
 "mixed":{"type":"mixed","main":[{"type":"web","index":0,"all":false}]},
 "web":{"type":"search","results":[
  {"title":"A &amp; B","url":"https://www.example.com/a","description":"text with <strong>marks</strong> and &quot;entities&quot;",
   "page_age":"2026-03-15T12:00:00","age":"March 15, 2026","language":"en","type":"search_result"},
  {"title":"no url"},null]},
 "news":{"type":"news","results":[{"title":"N","url":"https://news.example.org/n"}],"mutated_by_goggles":false}}"#;

/// From the official description.
const NEWS: &str = r#"{"type":"news","query":{"original":"space exploration"},"results":[
  {"type":"news_result","title":"T","url":"https://news.example.com/space-exploration","description":"D","age":"2 hours ago",
   "page_age":"2026-01-15T14:30:00","page_fetched":"2026-01-15T15:00:00Z"}]}"#;

const WINDOWS: [(&str, &str); 4] = [
    ("content-type", "application/json"),
    ("x-ratelimit-limit", "50, 2000"),
    ("x-ratelimit-remaining", "0, 0"),
    ("x-ratelimit-reset", "1, 172800"),
];

/// Promises more results on every page.
const ENDLESS: &str =
    r#"{"query":{"more_results_available":true},"web":{"results":[{"title":"a","url":"https://a.example/1"}]}}"#;

fn error(status: u16, headers: &[(&str, &str)], code: &str, meta: &Value) -> Reply {
    let body = json!({"type": "ErrorResponse", "time": 1,
        "error": {"id": "e", "status": status, "code": code, "detail": format!("it says {KEY}"), "meta": meta}});
    answer(status, headers, body.to_string())
}

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(BraveSettings { base_url, api_key: Some(KEY.into()) }, gate)),
        gate: gate_settings,
        key_header: Some("x-subscription-token"),
        success: WEB,
        nothing: vec![
            r#"{"type":"search","query":{}}"#,
            r#"{"web":{"results":[]}}"#,
            r#"{"web":null,"news":null}"#,
            "{}",
        ],
        throttle: answer(429, &[], "no words"),
        quota_gone: Some(error(429, &WINDOWS, "QUOTA_LIMITED", &json!({}))),
        bad_key: vec![
            error(422, &[], "SUBSCRIPTION_TOKEN_INVALID", &json!({})),
            error(422, &[], "VALIDATION", &json!({"errors": [{"loc": ["header", "x-subscription-token"]}]})),
            error(404, &[], "SUBSCRIPTION_NOT_FOUND", &json!({})),
            error(403, &[], "FORBIDDEN", &json!({})),
        ],
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    TestedProvider {
        subject: subject(),
        habits: Habits { title: Some("A &amp; B"), endless: Some(ENDLESS), ..Habits::default() },
    }
}

async fn ask(reply: Reply) -> (Setup, Result<Answer, AskError>) {
    let setup = Setup::start(&subject(), [reply]).await;
    let outcome = setup.ask(&query()).await;
    (setup, outcome)
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

#[tokio::test]
async fn web_and_news_of_one_answer_are_read() {
    let (setup, outcome) = ask(test_server::json(WEB)).await;
    let hits = outcome.unwrap().hits;
    assert_eq!(hits.len(), 2);
    assert_eq!((hits[0].title.as_str(), hits[0].snippet.as_str()), ("A & B", "text with marks and \"entities\""));
    assert_eq!(hits[0].published_at.unwrap().to_rfc3339(), "2026-03-15T12:00:00+00:00");
    assert_eq!(hits[1].url, "https://news.example.org/n");
    let seen = setup.server.seen().remove(0);
    assert_eq!(seen.path(), "/res/v1/web/search");
    for (name, value) in [("count", "5"), ("spellcheck", "false"), ("text_decorations", "false"), ("search_lang", "en")]
    {
        assert_eq!(seen.parameter(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(seen.header("api-version"), None, "a date it does not know is a 404");
    assert_eq!(setup.provider.storage(), Storage::Transient);
    assert!(setup.provider.paid());
}

#[tokio::test]
async fn a_fresh_claim_is_looked_for_in_the_news_first() {
    let fresh = Query { around: Some(contract::now()), ..query() };
    let setup = Setup::start(&subject(), [test_server::json(NEWS)]).await;
    assert_eq!(setup.ask(&fresh).await.unwrap().hits[0].url, "https://news.example.com/space-exploration");
    assert_eq!(
        setup.server.seen().iter().map(|seen| seen.path().to_owned()).collect::<Vec<_>>(),
        ["/res/v1/news/search"]
    );

    let nothing = r#"{"type":"news","results":[]}"#;
    let setup = Setup::start(&subject(), [test_server::json(nothing), test_server::json(WEB)]).await;
    assert_eq!(setup.ask(&fresh).await.unwrap().hits.len(), 2);
    assert_eq!(setup.server.seen().len(), 2);
    assert_eq!(setup.provider.status().calls_today, 2);
    assert!((setup.provider.status().usd_today - 0.01).abs() < 1e-9);

    let old = Query { around: Some(contract::now() - chrono::Duration::days(30)), ..query() };
    let setup = Setup::start(&subject(), [test_server::json(WEB)]).await;
    setup.ask(&old).await.unwrap();
    assert_eq!(setup.server.seen()[0].path(), "/res/v1/web/search");
}

#[tokio::test]
async fn a_further_page_is_bought_only_where_more_is_wanted_than_one_holds() {
    let page = |number: u32, more: bool| {
        let rows = [json!({"title": "t", "url": format!("https://a.example/{number}")})];
        test_server::json(&json!({"query": {"more_results_available": more}, "web": {"results": rows}}).to_string())
    };
    let many = Query { limit: 40, ..query() };
    let setup = Setup::start(&subject(), [page(1, true), page(2, true), page(3, true)]).await;
    assert_eq!(setup.ask(&many).await.unwrap().hits.len(), 2, "two pages at most");
    let offsets: Vec<_> = setup.server.seen().iter().map(|seen| seen.parameter("offset")).collect();
    assert_eq!(offsets, [None, Some("1".to_owned())], "the offset counts pages");

    let setup = Setup::start(&subject(), [page(1, false), page(2, false)]).await;
    assert_eq!(setup.ask(&many).await.unwrap().hits.len(), 1);
    assert_eq!(setup.server.seen().len(), 1);
    let setup = Setup::start(&subject(), [page(1, true), answer(500, &[], "")]).await;
    assert_eq!(setup.ask(&many).await.unwrap().hits.len(), 1, "what came before the failure is real");
}

#[tokio::test]
async fn a_burst_waits_for_the_first_window_and_not_for_a_month() {
    let headers = [("x-ratelimit-reset", "3, 2528987"), ("x-ratelimit-limit", "50, 0")];
    let meta = json!({"plan": "Search", "rate_limit": 50, "quota_limit": 0, "quota_current": 14});
    let (_, outcome) = ask(error(429, &headers, "RATE_LIMITED", &meta)).await;
    assert_eq!(outcome.unwrap_err(), AskError::Throttled { retry_after: Some(Duration::from_secs(3)) });
}

#[tokio::test]
async fn quota_is_used_up_when_only_the_numbers_show_it() {
    for reply in [
        error(429, &WINDOWS, "QUOTA_LIMITED", &json!({})),
        error(429, &WINDOWS, "RATE_LIMITED", &json!({"quota_limit": 2000, "quota_current": 2001})),
    ] {
        let (setup, outcome) = ask(reply).await;
        let AskError::QuotaGone { until: Some(until) } = outcome.unwrap_err() else { panic!("the quota is gone") };
        let hours = (until - contract::now()).num_hours();
        assert!((46..=48).contains(&hours), "{hours}");
        assert_eq!(setup.provider.status().state, GateState::Exhausted);
    }
}

#[tokio::test]
async fn other_refusals_have_their_class() {
    let listed = answer(422, &[], json!({"errors": [{"code": "VALIDATION", "detail": "count"}]}).to_string());
    let cases = [
        (listed, "refused"),
        (error(422, &[], "VALIDATION", &json!({"errors": [{"loc": ["query", "count"]}]})), "refused"),
        (error(404, &[], "NOT_FOUND", &json!({})), "could_not_ask"),
        (error(500, &[], "INTERNAL", &json!({})), "server_error"),
        (error(200, &[], "RATE_LIMITED", &json!({})), "throttled"),
        (answer(403, &[], "<html>Cloudflare"), "could_not_ask"),
    ];
    for (reply, label) in cases {
        let (_, outcome) = ask(reply).await;
        assert_eq!(outcome.unwrap_err().label(), label);
    }
}

#[test]
fn queries_keep_to_its_bounds() {
    let endpoint = Url::parse("https://api.example/res/v1/web/search").unwrap();
    let sent = |asked: &Query, name: &str| {
        let url = wire::url(&endpoint, Index::Web, asked, 0).unwrap();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let long =
        Query { text: "-слово ".repeat(200), domains: vec!["a.com".into(), "b.org".into()], limit: 90, ..query() };
    let text = sent(&long, "q").unwrap();
    assert!(text.chars().count() <= 400 && text.split_whitespace().count() <= 50, "{text}");
    assert!(text.starts_with("слово слово") && text.ends_with(" site:a.com OR site:b.org"));
    assert_eq!(sent(&long, "count").as_deref(), Some("20"));
    for (language, code) in
        [("ja", Some("jp")), ("zh", Some("zh-hans")), ("uk", Some("uk")), ("jp", None), ("kk", None)]
    {
        let asked = Query { language: Some(language.into()), ..query() };
        assert_eq!(sent(&asked, "search_lang").as_deref(), code, "{language}");
    }
    assert!(wire::url(&endpoint, Index::Web, &Query { text: "- !".into(), ..query() }, 0).is_err());
}

use super::*;
use crate::outbound::GateState;
use crate::outbound::test_server::{Reply, answer, json};
use crate::providers::contract::{self, Habits, Setup, Subject, TestedProvider, query};

/// Constructed from the serialiser's source.
const ANSWER: &str = r#"{"query":"x","results":[
 {"url":"https://example.com/a","engine":"duckduckgo","parsed_url":["https","example.com","/a","","",""],"template":"default.html",
  "title":"A \n title","content":"Some &amp; content","publishedDate":"2026-11-01T00:00:00","pubdate":"2026-11-01 00:00:00",
  "engines":["duckduckgo","brave"],"positions":"","score":2.5,"category":"general"},
 {"url":"https://news.example.org/b","title":"B","content":null,"publishedDate":null,"parsed_url":null},
 {"url":"magnet:?xt=urn","title":"no page"},{"title":"no url"},null],
 "answers":["42",{"answer":"x"}],"corrections":[],"infoboxes":[],"suggestions":[],
 "unresponsive_engines":[["brave","Suspended: too many requests"]]}"#;

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(SearxngSettings { base_url, categories: "general".into() }, gate)),
        gate: gate_settings,
        key_header: None,
        success: ANSWER,
        nothing: vec![
            r#"{"results":[]}"#,
            r#"{"query":"x","number_of_results":0,"results":[],"unresponsive_engines":[]}"#,
        ],
        throttle: answer(429, &[("content-type", "text/plain")], "Too Many Requests"),
        quota_gone: None,
        bad_key: Vec::new(),
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    TestedProvider {
        subject: subject(),
        habits: Habits { title: Some("A \\n title"), wall: Some("disabled"), ..Habits::default() },
    }
}

async fn ask(reply: Reply, asked: &Query) -> (Setup, Result<Answer, AskError>) {
    let setup = Setup::start(&subject(), [reply]).await;
    let outcome = setup.ask(asked).await;
    (setup, outcome)
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

#[tokio::test]
async fn results_are_read_and_what_is_no_page_left_out() {
    let (setup, outcome) = ask(json(ANSWER), &query()).await;
    let hits = outcome.unwrap().hits;
    assert_eq!(
        hits.iter().map(|hit| hit.url.as_str()).collect::<Vec<_>>(),
        ["https://example.com/a", "https://news.example.org/b"]
    );
    assert_eq!((hits[0].title.as_str(), hits[0].snippet.as_str()), ("A title", "Some &amp; content"));
    assert_eq!(hits[0].published_at.unwrap().to_rfc3339(), "2026-11-01T00:00:00+00:00");
    assert_eq!((hits[1].snippet.as_str(), hits[1].published_at), ("", None));
    let seen = setup.server.seen().remove(0);
    assert_eq!(seen.path(), "/search");
    for (name, value) in [("format", "json"), ("language", "en"), ("categories", "general"), ("pageno", "1")] {
        assert_eq!(seen.parameter(name).as_deref(), Some(value), "{name}");
    }
}

#[tokio::test]
async fn its_limiter_finds_nothing_to_object_to() {
    let (setup, _) = ask(json(ANSWER), &Query { language: Some("uk".into()), ..query() }).await;
    let seen = setup.server.seen().remove(0);
    assert!(seen.header("accept").unwrap().contains("text/html"));
    assert!(seen.header("accept-encoding").unwrap().contains("gzip"));
    assert_eq!(seen.header("accept-language"), Some("uk, en;q=0.5"));
    let agent = seen.header("user-agent").unwrap().to_lowercase();
    for refused in
        ["unknown", "curl", "wget", "scrapy", "python", "go-http-client", "java", "okhttp", "httpclient", "ruby"]
    {
        assert!(!agent.starts_with(refused), "{agent}");
    }
}

#[tokio::test]
async fn engines_that_did_not_respond_are_not_nothing_found() {
    let body = r#"{"results":[],"unresponsive_engines":[["google","CAPTCHA"],["qwant","délai dépassé"]]}"#;
    let (_, outcome) = ask(json(body), &query()).await;
    let AskError::CouldNotAsk { detail } = outcome.unwrap_err() else { panic!("it could not be asked") };
    assert_eq!(detail, "no engine answered (google: CAPTCHA, qwant: délai dépassé)");
}

#[tokio::test]
async fn provider_is_disabled_with_fix_when_instance_has_no_json() {
    let (setup, outcome) = ask(answer(403, &[("content-type", "text/html")], "<html>Forbidden"), &query()).await;
    assert!(outcome.unwrap_err().to_string().contains("search.formats"));
    assert_eq!(setup.provider.status().state, GateState::Disabled);
}

#[tokio::test]
async fn its_limiter_sends_to_the_home_page() {
    for place in ["/", "https://searx.example/", "https://searx.example"] {
        let (setup, outcome) = ask(answer(302, &[("location", place)], ""), &query()).await;
        assert_eq!(outcome.unwrap_err(), AskError::Throttled { retry_after: None }, "{place}");
        assert_eq!(setup.provider.status().state, GateState::Open);
        assert_eq!(setup.server.seen().len(), 1);
    }
}

#[tokio::test]
async fn errors_in_json_have_their_class() {
    let cases = [
        (answer(400, &[], r#"{"error":"Invalid value x for parameter y"}"#), "refused"),
        (answer(500, &[], r#"{"error":"search error"}"#), "server_error"),
        (json(r#"{"error":"search error"}"#), "could_not_ask"),
        (json(r#"{"query":"x"}"#), "malformed"),
        (answer(302, &[("location", "https://elsewhere.example/?q=x")], ""), "could_not_ask"),
    ];
    for (reply, label) in cases {
        let (setup, outcome) = ask(reply, &query()).await;
        assert_eq!(outcome.unwrap_err().label(), label);
        assert_eq!(setup.server.seen().len(), 1, "no redirect is followed");
    }
}

#[tokio::test]
async fn commands_in_a_claim_are_taken_out() {
    let cases = [
        ("!!g cats", "g cats"),
        ("I <3 :fr you !images", "I 3 fr you images"),
        ("!!! wow", "wow"),
        ("<<!:x", "x"),
        ("(!g) \"!!g -:fr «<3 ?!x", "(g) \"g -fr «3 x"),
        ("cats\u{1c}!g\u{1f}:fr", "cats g fr"),
        ("10:30 a<b yes!", "10:30 a<b yes!"),
    ];
    for (text, sent) in cases {
        let (setup, _) = ask(json(ANSWER), &Query { text: text.into(), ..query() }).await;
        assert_eq!(setup.server.seen()[0].parameter("q").as_deref(), Some(sent));
    }
    let (setup, outcome) = ask(json(ANSWER), &Query { text: "!! :".into(), ..query() }).await;
    assert_eq!(outcome.unwrap_err().label(), "refused");
    assert!(setup.server.seen().is_empty());
}

#[tokio::test]
async fn domains_are_asked_for_and_held_to() {
    let asked =
        Query { domains: vec!["example.org".into(), "other.net".into()], language: Some("sr-Latn".into()), ..query() };
    let (setup, outcome) = ask(json(ANSWER), &asked).await;
    assert_eq!(outcome.unwrap().hits.len(), 1);
    let seen = setup.server.seen().remove(0);
    assert!(seen.parameter("q").unwrap().ends_with(" site:example.org OR site:other.net"));
    assert_eq!(seen.parameter("language").as_deref(), Some("all"), "a code it would refuse is not sent");
}

proptest::proptest! {
    /// No sent token starts with a command character.
    #[test]
    fn no_token_is_a_command(text in "[\\PC\\x00-\\x20!:<?]{0,200}") {
        let sent = wire::harmless(&text);
        let is_break = |c: char| c.is_whitespace() || c.is_control();
        let is_command = |token: &str| {
            token.trim_start_matches(|c: char| !c.is_alphanumeric() && !"!?:<".contains(c)).starts_with(['!', '?', ':', '<'])
        };
        proptest::prop_assert!(!sent.split(is_break).any(is_command), "{}", sent);
    }
}

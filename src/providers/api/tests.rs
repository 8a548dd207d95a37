use std::sync::Arc;

use super::super::contract::{self, Habits, KEY, Setup, Subject, TestedProvider};
use super::super::{Answer, Provider as _};
use super::*;
use crate::config::Expectation;
use crate::outbound::GateState;
use crate::outbound::test_server::{TestServer, answer, json};
use crate::outbound::{AskMeter, Fleet, HttpClient, NoObserver};

fn config(url: &str) -> ApiEndpoint {
    ApiEndpoint {
        name: "rates".to_owned(),
        url: url.to_owned(),
        path: "/data/rates/0/value".to_owned(),
        statement: "The rate of {entity} is {value}.".to_owned(),
        expected: None,
        value: None,
        keywords: Vec::new(),
        credibility: 0.9,
        rpm: std::num::NonZeroU32::MIN,
        key_header: None,
        api_key: None,
    }
}

const SUCCESS: &str = r#"{"data":{"rates":[{"value":41.5}]}}"#;

fn subject() -> Subject {
    Subject {
        build: |base, gate| {
            let endpoint = ApiEndpoint {
                key_header: Some("X-Api-Key".into()),
                api_key: Some(KEY.into()),
                ..config(&format!("{base}v1?q={{entity}}"))
            };
            Box::new(new(vec![(endpoint, gate)]).unwrap())
        },
        gate: gate_settings,
        key_header: Some("x-api-key"),
        success: r#"{"data":{"rates":[{"value":"41.5 hryvnias"}]}}"#,
        nothing: vec!["{}", r#"{"data":{"rates":[]}}"#, r#"{"data":{"rates":[{"value":null}]}}"#],
        throttle: answer(429, &[], "slow down"),
        quota_gone: None,
        bad_key: vec![
            answer(401, &[], format!("{{\"error\":\"key {KEY} is wrong\"}}")),
            answer(403, &[], format!("forbidden: {KEY}")),
        ],
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    TestedProvider {
        subject: subject(),
        habits: Habits { title: Some("41.5 hryvnias"), returns_one_value: true, ..Habits::default() },
    }
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

async fn read(endpoint: ApiEndpoint, body: &str, query: &Query) -> Option<String> {
    let server = TestServer::start([json(body)]).await;
    let endpoint = ApiEndpoint { url: format!("{}v1", server.url), ..endpoint };
    let answer = ask(&build(endpoint), query).await.unwrap();
    answer.hits.into_iter().next().map(|hit| hit.content.unwrap().text)
}

fn build(endpoint: ApiEndpoint) -> Api {
    let settings = GateSettings { rpm: 60_000, max_attempts: 1, ..gate_settings(Duration::from_mins(10)) };
    let http = HttpClient::live("corroborate-test").unwrap();
    let clock = Arc::new(crate::domain::SystemClock);
    new(vec![(endpoint, Gate::new(settings, http, clock, Arc::new(NoObserver)))]).unwrap()
}

async fn ask(api: &Api, query: &Query) -> Result<Answer, AskError> {
    let until = tokio::time::Instant::now() + Duration::from_secs(10);
    api.ask(query, Asker { until, meter: &AskMeter::default() }).await
}

fn claim(text: &str, entity: &str) -> Query {
    Query { text: text.to_owned(), terms: vec![entity.to_owned()], ..contract::query() }
}

#[tokio::test]
async fn a_hit_is_a_sentence_of_now_with_the_endpoints_address() {
    let setup = Setup::start(&subject(), [json(SUCCESS)]).await;
    let hits = setup.ask(&claim("The euro costs 40 hryvnias", "euro/€ & more")).await.unwrap().hits;
    assert_eq!(setup.server.seen()[0].target(), "/v1?q=euro%2F%E2%82%AC%20%26%20more");
    assert_eq!(hits[0].url, "api://rates/v1?q=euro%2F%E2%82%AC%20%26%20more", "no page of the web is called that");
    assert_eq!(hits[0].title, "rates at 127.0.0.1");
    assert!((contract::now() - hits[0].published_at.unwrap()).num_seconds() < 60);
    let content = hits[0].content.as_ref().unwrap();
    assert_eq!(content.text, "The rate of euro/€ & more is 41.5.");
    assert_eq!((content.origin, content.publisher.as_deref()), (Origin::Api, Some("rates")));
}

#[tokio::test]
async fn sentence_states_comparison_when_value_is_expected() {
    let query = claim("The rate is above 40", "Euro");
    let cases = [
        (Expectation::Greater, "{number}", "41.5 is greater than 40."),
        (Expectation::Greater, "100", "41.5 is not greater than 100."),
        (Expectation::Less, "41.6", "41.5 is less than 41.6."),
        (Expectation::Equals, "41.50", "41.5 is equal to 41.50."),
        (Expectation::Equals, "{number}", "41.5 is not equal to 40."),
        (Expectation::Contains, "1.5", "41.5 contains 1.5."),
    ];
    for (expected, value, sentence) in cases {
        let endpoint = ApiEndpoint { expected: Some(expected), value: Some(value.to_owned()), ..config("") };
        let text = read(endpoint, SUCCESS, &query).await.unwrap();
        assert_eq!(text, format!("The rate of Euro is 41.5. {sentence}"));
    }
    let exists = || ApiEndpoint { expected: Some(Expectation::Exists), ..config("") };
    assert_eq!(read(exists(), SUCCESS, &query).await.unwrap(), "The rate of Euro is 41.5.");
    let missing = r#"{"data":{"rates":[{}]}}"#;
    assert_eq!(read(exists(), missing, &query).await.unwrap(), "There is no value for Euro.");
    for other in ["{}", r#"{"data":null}"#, r#"{"data":{"rates":[3]}}"#, r#"{"status":"loading"}"#] {
        assert_eq!(read(exists(), other, &query).await, None, "of another shape, it says nothing: {other}");
    }
    let words = r#"{"data":{"rates":[{"value":["Open","Free"]}]}}"#;
    let listed = ApiEndpoint { expected: Some(Expectation::Equals), value: Some("free".into()), ..config("") };
    assert_eq!(
        read(listed, words, &query).await.unwrap(),
        "The rate of Euro is Open, Free. Open, Free is equal to free."
    );
    let unlike = ApiEndpoint { expected: Some(Expectation::Less), value: Some("5".into()), ..config("") };
    assert_eq!(read(unlike, words, &query).await.unwrap(), "The rate of Euro is Open, Free.");
}

#[tokio::test]
async fn each_endpoint_has_its_own_rate_and_breaker() {
    let good = TestServer::start([json(SUCCESS)]).await;
    let bad = TestServer::start([answer(401, &[], "who are you?")]).await;
    let clock = Arc::new(crate::domain::SystemClock);
    let place = |name: &str, url: &Url, rpm: u32| {
        let settings = GateSettings { rpm, max_attempts: 1, ..gate_settings(Duration::from_mins(10)) };
        let fleet = Fleet { part: Some(name.to_owned()), ..Fleet::default() };
        let http = HttpClient::live("corroborate-test").unwrap();
        let gate = Gate::in_fleet(settings, http, Arc::clone(&clock) as _, Arc::new(NoObserver), fleet);
        (ApiEndpoint { name: name.to_owned(), ..config(&format!("{url}v1")) }, gate)
    };
    // The first has one call a minute and a refused key; the second is not affected.
    let api = new(vec![place("slow", &bad.url, 1), place("fast", &good.url, 60_000)]).unwrap();
    for _ in 0..3 {
        assert_eq!(ask(&api, &claim("a rate", "Euro")).await.unwrap().hits[0].title, "fast at 127.0.0.1");
    }
    assert_eq!((bad.seen().len(), good.seen().len()), (1, 3));
    let states: Vec<GateState> = api.parts.iter().map(|endpoint| endpoint.gate.status().state).collect();
    assert_eq!(states, [GateState::Disabled, GateState::Ready]);
    let status = api.status();
    assert_eq!((status.name, status.state, status.calls_today, status.errors_today), ("api", GateState::Ready, 4, 1));
}

#[tokio::test]
async fn an_error_in_the_answer_is_no_word_on_the_claim() {
    let query = claim("The rate of the euro", "Euro");
    let exists = ApiEndpoint { expected: Some(Expectation::Exists), ..config("") };
    for body in [
        r#"{"error":"overloaded"}"#,
        r#"{"error":{"code":"429"},"data":{"rates":[{}]}}"#,
        r#"{"errors":[{"message":"no"}],"data":{"rates":[{"value":3}]}}"#,
        r#"{"error":true}"#,
    ] {
        let server = TestServer::start([json(body)]).await;
        let outcome = ask(&build(ApiEndpoint { url: server.url.to_string(), ..exists.clone() }), &query).await;
        assert_eq!(outcome.unwrap_err().label(), "could_not_ask", "{body}");
    }
    for body in [
        r#"{"error":null,"errors":[],"data":{"rates":[{"value":41.5}]}}"#,
        r#"{"error":0,"data":{"rates":[{"value":41.5}]}}"#,
    ] {
        assert_eq!(read(exists.clone(), body, &query).await.unwrap(), "The rate of Euro is 41.5.");
    }
    let wished = ApiEndpoint { path: "/error/count".into(), ..config("") };
    assert_eq!(read(wished, r#"{"error":{"count":3}}"#, &query).await.unwrap(), "The rate of Euro is 3.");
}

#[tokio::test]
async fn answer_names_failed_endpoint_when_others_have_a_value() {
    let (up, down) = (TestServer::start([json(SUCCESS)]).await, TestServer::start([answer(503, &[], "")]).await);
    let gate = || {
        let settings = GateSettings { rpm: 60_000, max_attempts: 1, ..gate_settings(Duration::from_mins(10)) };
        let clock = Arc::new(crate::domain::SystemClock);
        Gate::new(settings, HttpClient::live("corroborate-test").unwrap(), clock, Arc::new(NoObserver))
    };
    let second = ApiEndpoint { name: "prices".to_owned(), ..config(down.url.as_str()) };
    let api = new(vec![(config(up.url.as_str()), gate()), (second, gate())]).unwrap();
    let answer = ask(&api, &claim("The rate of the euro", "Euro")).await.unwrap();
    assert_eq!((answer.hits.len(), answer.failed.as_slice()), (1, ["prices".to_owned()].as_slice()));
    assert!(!answer.is_whole());
}

#[tokio::test]
async fn an_endpoint_is_asked_only_for_claims_with_its_words() {
    let server = TestServer::start([json(SUCCESS)]).await;
    let endpoint = ApiEndpoint {
        keywords: vec!["курс валют".into(), "rate".into()],
        ..config(&format!("{}v1", server.url))
    };
    let api = build(endpoint);
    assert!(ask(&api, &claim("The bridge opened", "Kyiv")).await.unwrap().is_empty());
    assert!(server.seen().is_empty());
    assert!(!ask(&api, &claim("Курси валют зросли", "НБУ")).await.unwrap().is_empty());
    assert!(!ask(&api, &claim("Rates rose", "bank")).await.unwrap().is_empty());
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn not_found_in_json_is_about_the_claim_and_in_a_page_about_the_endpoint() {
    for (body, found_nothing) in [(r#"{"detail":"no such currency"}"#, true), ("<html>Not found</html>", false)] {
        let server = TestServer::start([answer(404, &[], body)]).await;
        let outcome = ask(&build(config(&format!("{}v1/{{entity}}", server.url))), &claim("a rate", "x")).await;
        assert_eq!(outcome.is_ok_and(|answer| answer.is_empty()), found_nothing, "{body}");
    }
}

#[tokio::test]
async fn an_error_at_status_200_is_no_word_that_there_is_no_value() {
    let exists = |path: &str| ApiEndpoint { expected: Some(Expectation::Exists), path: path.to_owned(), ..config("") };
    let outcome = async |path: &str, body: &str| {
        let server = TestServer::start([json(body)]).await;
        ask(&build(ApiEndpoint { url: format!("{}v1", server.url), ..exists(path) }), &claim("a rate", "Euro")).await
    };
    let error = outcome("/rate", r#"{"error":{"message":"no quota left"}}"#).await.unwrap_err();
    assert!(matches!(&error, AskError::CouldNotAsk { detail } if detail.contains("no quota left")), "{error}");
    for body in [r#"{"error":null}"#, r#"{"error":""}"#, r#"{"errors":[]}"#, r#"{"error":false,"code":0}"#] {
        let found = outcome("/rate", body).await.unwrap();
        assert_eq!(found.hits[0].snippet, "There is no rate for Euro.", "{body}");
    }
    assert_eq!(outcome("/error", r#"{"error":"E7"}"#).await.unwrap().hits[0].snippet, "The rate of Euro is E7.");
}

#[tokio::test]
async fn a_list_is_read_where_the_path_begins_in_one() {
    let listed = |path: &str| ApiEndpoint { path: path.to_owned(), ..config("") };
    let query = claim("a rate", "Euro");
    let text = read(listed("/1/rate"), r#"[{"rate":1},{"rate":41.5}]"#, &query).await.unwrap();
    assert_eq!(text, "The rate of Euro is 41.5.");
    assert_eq!(read(listed("/1/rate"), "[]", &query).await, None, "an empty list says nothing");
}

#[test]
fn error_names_fix_when_endpoint_cannot_work() {
    let error = |change: &dyn Fn(&mut ApiEndpoint)| {
        let mut endpoint = config("https://a.example/v1?q={query}");
        change(&mut endpoint);
        let clock = Arc::new(crate::domain::SystemClock);
        let http = HttpClient::live("corroborate-test").unwrap();
        let gate = Gate::new(gate_settings(Duration::ZERO), http, clock, Arc::new(NoObserver));
        new(vec![(endpoint, gate)]).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(error(&|_| {}), "");
    assert!(error(&|one| one.url = "https://{entity}.example/".into()).contains("host"));
    assert!(error(&|one| one.url = "https://a.example/?q={claim}".into()).contains("{query} and {entity}"));
    assert!(error(&|one| one.url = "https://a.example/?api_key=abc".into()).contains("key_header"));
    assert!(error(&|one| one.url = "https://u:p@a.example/".into()).contains("key_header"));
    assert!(error(&|one| one.url = "file:///etc/passwd".into()).contains("http"));
    assert!(error(&|one| one.path = "a.b".into()).contains("/a/b/0"));
    assert!(error(&|one| one.statement = "It is {price}.".into()).contains("{value}"));
    assert!(error(&|one| one.value = Some("5".into())).contains("set expected"));
    assert!(error(&|one| one.expected = Some(Expectation::Greater)).contains("needs a value"));
    assert!(
        error(&|one| {
            one.expected = Some(Expectation::Less);
            one.value = Some("(".into());
        })
        .contains("less needs a number")
    );
    assert!(error(&|one| one.key_header = Some("X-Key".into())).contains("ENRICHMENT_API_RATES_API_KEY"));
}

#[test]
fn dots_do_not_lead_up_the_path() {
    let address = Address::new("https://a.example/things/{entity}/price").unwrap();
    assert_eq!(address.of(&claim("x", "..")), None);
    assert_eq!(address.of(&claim("x", "../../admin")).unwrap().path(), "/things/..%2F..%2Fadmin/price");
}

use super::super::contract::{self, Habits, Setup, Subject, TestedProvider, query};
use super::*;
use crate::outbound::test_server::{Reply, answer, json};

/// Shaped like the answers of `uk.wikipedia.org`, November 2026.
const ANSWER: &str = r#"{"batchcomplete":true,"query":{"pages":[
 {"pageid":12,"ns":0,"title":"Вежа","index":3,"pageprops":{"disambiguation":""},"fullurl":"https://uk.wikipedia.org/wiki/%D0%92"},
 {"pageid":99,"ns":0,"title":"Gustave Eiffel","index":2,"fullurl":"https://uk.wikipedia.org/wiki/Gustave"},
 {"pageid":700,"ns":0,"title":"Eiffel Tower","index":1,"contentmodel":"wikitext","pagelanguage":"uk","lastrevid":44,
  "fullurl":"https://uk.wikipedia.org/wiki/Eiffel","extract":"A tower in Paris.\nIt is 330 m tall.",
  "langlinks":[{"lang":"en","url":"https://en.wikipedia.org/wiki/Eiffel_Tower","title":"The Tower"}]}]}}"#;

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(WikipediaSettings { base_url }, gate)),
        gate: gate_settings,
        key_header: None,
        success: ANSWER,
        nothing: vec![r#"{"batchcomplete":true}"#, r#"{"batchcomplete":true,"query":{"pages":[]}}"#],
        throttle: answer(429, &[("content-type", "text/html")], "Too many requests"),
        quota_gone: None,
        bad_key: Vec::new(),
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    TestedProvider { subject: subject(), habits: Habits { title: Some("Eiffel Tower"), ..Habits::default() } }
}

async fn ask(reply: Reply, asked: &Query) -> (Setup, Result<Answer, AskError>) {
    let setup = Setup::start(&subject(), [reply]).await;
    let outcome = setup.ask(asked).await;
    (setup, outcome)
}

fn ukrainian() -> Query {
    Query {
        language: Some("uk".into()), terms: vec!["Ейфелева вежа".into(), "Париж".into()], ..query()
    }
}

#[tokio::test]
async fn keeps_the_provider_contract() {
    contract::keeps_the_contract_with(tested()).await;
}

#[tokio::test]
async fn articles_come_by_rank_and_stubs_in_english() {
    let (setup, outcome) = ask(json(ANSWER), &ukrainian()).await;
    let hits = outcome.unwrap().hits;
    let urls: Vec<&str> = hits.iter().map(|hit| hit.url.as_str()).collect();
    assert_eq!(
        urls,
        ["https://en.wikipedia.org/wiki/Eiffel_Tower", "https://uk.wikipedia.org/wiki/Gustave"],
        "a disambiguation page is no article"
    );
    assert_eq!((hits[0].language.as_deref(), hits[1].language.as_deref()), (Some("en"), Some("uk")));
    let long = "The tower is in Paris. ".repeat(20);
    let (_, outcome) = ask(json(&ANSWER.replace("A tower in Paris.\\nIt is 330 m tall.", &long)), &ukrainian()).await;
    let first = outcome.unwrap().hits.remove(0);
    assert_eq!((first.url.as_str(), first.title.as_str()), ("https://uk.wikipedia.org/wiki/Eiffel", "Eiffel Tower"));
    assert_eq!(first.snippet, long.trim());
    let seen = setup.server.seen().remove(0);
    assert_eq!(seen.path(), "/w/api.php");
    for (name, value) in [
        ("gsrsearch", "\"Ейфелева вежа\"~ OR Париж"),
        ("lllang", "en"),
        ("maxlag", "5"),
        ("gsrlimit", "5"),
        ("formatversion", "2"),
    ] {
        assert_eq!(seen.parameter(name).as_deref(), Some(value), "{name}");
    }
    assert!(seen.header("user-agent").is_some_and(|agent| agent.starts_with("corroborate")));
}

#[tokio::test]
async fn lag_and_rate_limits_are_throttles_although_their_status_is_200() {
    for (code, label) in [
        ("maxlag", "throttled"),
        ("ratelimited", "throttled"),
        ("readonly", "server_error"),
        ("cirrussearch-too-busy-error", "server_error"),
    ] {
        let body = format!(r#"{{"error":{{"code":"{code}","info":"Waiting for a database server"}}}}"#);
        let reply = answer(200, &[("content-type", "application/json"), ("retry-after", "5")], body);
        let (_, outcome) = ask(reply, &query()).await;
        assert_eq!(outcome.unwrap_err().label(), label, "{code}");
    }
    let (_, outcome) = ask(json(r#"{"error":{"code":"badvalue","info":"Unrecognized value"}}"#), &query()).await;
    let error = outcome.unwrap_err();
    assert!(error.label() == "could_not_ask" && error.to_string().contains("badvalue"), "{error}");
}

#[test]
fn language_is_the_first_label_of_a_host_name() {
    let base = |text: &str| Url::parse(text).unwrap();
    for (given, language, expected) in [
        ("https://wikipedia.org", "uk", "https://uk.wikipedia.org/"),
        ("https://www.wikipedia.org", "en", "https://en.wikipedia.org/"),
        ("https://en.wikipedia.org", "uk", "https://uk.wikipedia.org/"),
        ("http://127.0.0.1:9/wiki", "uk", "http://127.0.0.1:9/wiki"),
        ("http://localhost:9/", "uk", "http://localhost:9/"),
        ("https://wikipedia.org", "x.evil", "https://wikipedia.org/"),
    ] {
        assert_eq!(wire::origin(&base(given), language).as_str(), expected);
    }
}

#[test]
fn operators_of_the_search_are_no_words() {
    let asked = |terms: &[&str], text: &str| Query {
        terms: terms.iter().map(|term| (*term).to_owned()).collect(),
        text: text.to_owned(),
        ..query()
    };
    for (terms, text, expected) in [
        (&["Eiffel Tower", "330"][..], "", "\"Eiffel Tower\"~ OR 330"),
        (&["insource:/x/", "-tall~", "\"a\" OR b*"][..], "", "\"insource x\"~ OR tall OR \"a b\"~"),
        (&[][..], "Is 5G (mobile) safe?", "Is 5G mobile safe"),
        (&["विश्व"][..], "", "विश्व"),
        (&["!!"][..], "…", ""),
    ] {
        assert_eq!(wire::search_text(&asked(terms, text)), expected);
    }
    let long = "слово".repeat(100);
    assert!(wire::search_text(&asked(&["Kyiv", &long], "")) == "Kyiv");
}

#[tokio::test]
async fn query_without_a_word_is_refused_and_not_sent() {
    let (setup, outcome) = ask(json(ANSWER), &Query { text: "?!".into(), terms: Vec::new(), ..query() }).await;
    assert_eq!(outcome.unwrap_err().label(), "refused");
    assert!(setup.server.seen().is_empty());
}

use super::*;
use crate::outbound::GateState;
use crate::outbound::test_server::{Reply, answer, json};
use crate::providers::contract::{self, Habits, Setup, Subject, TestedProvider, query};

/// Recorded.
const RECORDED: &str = r#"{"articles": [
 {"url": "https://www.thehindu.com/news/national/kerala/customs-grants-approval-to-vizhinjam-international-seaport/article68293772.ece",
  "url_mobile": "", "title": "Customs grants approval to Vizhinjam International Seaport",
  "seendate": "20240615T170000Z", "socialimage": "https://www.thehindu.com/theme/images/og-image.png",
  "domain": "thehindu.com", "language": "English", "sourcecountry": "India"},
 {"url": "https://www.mathrubhumi.com/news/kerala/as-trolling-restrictions-removed-vizhinjam-going-for-fresh-start-1.9700465",
  "url_mobile": "", "title": "ട്രോളിങ് നിയന്ത്രണം നീങ്ങി ; വിഴിഞ്ഞം തീരത്ത് ആവേശം , vizhinjam , fish",
  "seendate": "20240706T093000Z", "socialimage": "",
  "domain": "mathrubhumi.com", "language": "Malayalam", "sourcecountry": "India"}
]}"#;

const THROTTLE: &str = "Please limit requests to one every 5 seconds or contact kalev.leetaru5@gmail.com for larger \
    queries. All high-traffic users should switch to our ngrams dataset: \
    https://blog.gdeltproject.org/using-the-new-web-ngrams-dataset-to-find-relevant-coverage/.\n";

fn prose(status: u16, text: &str) -> Reply {
    answer(status, &[("content-type", "text/html; charset=utf-8")], text)
}

fn subject() -> Subject {
    Subject {
        build: |base_url, gate| Box::new(new(GdeltSettings { base_url }, gate)),
        gate: gate_settings,
        key_header: None,
        success: RECORDED,
        nothing: vec!["{}", r#"{"articles": []}"#, r#"{"articles": null}"#],
        throttle: prose(200, THROTTLE),
        quota_gone: None,
        bad_key: Vec::new(),
    }
}

pub(in crate::providers) fn tested() -> TestedProvider {
    TestedProvider {
        subject: subject(),
        habits: Habits { title: Some("Vizhinjam International Seaport"), ..Habits::default() },
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
async fn a_recorded_answer_is_read_whole() {
    let (setup, outcome) = ask(json(RECORDED)).await;
    let hits = outcome.unwrap().hits;
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0].title, "Customs grants approval to Vizhinjam International Seaport");
    assert_eq!(hits[0].language.as_deref(), Some("en"));
    assert_eq!(hits[1].title, "ട്രോളിങ് നിയന്ത്രണം നീങ്ങി; വിഴിഞ്ഞം തീരത്ത് ആവേശം, vizhinjam, fish");
    assert_eq!(hits[1].language.as_deref(), Some("ml"));
    assert!(hits.iter().all(|hit| hit.published_at.is_none()), "the time it was crawled is not when it was published");
    let seen = setup.server.seen().remove(0);
    assert_eq!(seen.path(), "/api/v2/doc/doc");
    assert_eq!(seen.parameter("query").as_deref(), Some("Vizhinjam \"International Seaport\" sourcelang:english"));
    assert_eq!(
        (seen.parameter("mode").as_deref(), seen.parameter("format").as_deref()),
        (Some("artlist"), Some("json"))
    );
    assert!(seen.header("user-agent").is_some_and(|agent| !agent.is_empty()));
}

#[tokio::test]
async fn every_sentence_it_refuses_with_has_its_class() {
    let permanent = [
        "Your query was too short or too long.",
        "The specified phrase is too short.",
        "One or more of your keywords were too short, too long or too common: (locationcc:br)",
        "One or more of your keywords contained an illegal character. To use a dash in a word, place it in quotes like \"f-16\".",
        "One or more of your parenthetical clauses had an error in it.",
        "Queries containing OR'd terms must be surrounded by ().",
        "Parentheses may only be used around OR'd statements.",
        "Invalid/Unsupported Country.",
        "A maximum of 250 records can be returned.",
        "Your query must contain at least one station.",
    ];
    for sentence in permanent {
        let (setup, outcome) = ask(prose(200, &format!("{sentence}\n"))).await;
        let AskError::Refused { detail } = outcome.unwrap_err() else { panic!("{sentence}") };
        assert_eq!(detail, sentence);
        assert_eq!(setup.provider.status().state, GateState::Ready, "the next query may be fine");
    }
    for status in [200, 429] {
        let (setup, outcome) = ask(prose(status, THROTTLE)).await;
        assert_eq!(outcome.unwrap_err(), AskError::Throttled { retry_after: None }, "{status}");
        let status = setup.provider.status();
        let wait = (status.until.unwrap() - contract::now()).num_minutes();
        assert!((29..=33).contains(&wait), "half an hour, whatever the operator's cool-down: {status:?}");
    }
}

#[tokio::test]
async fn a_refused_query_is_followed_by_one_simpler_query() {
    let refusal = "One or more of your keywords were too short, too long or too common: (vizhinjam)";
    let setup = Setup::start(&subject(), [prose(200, refusal), json(RECORDED), json(RECORDED)]).await;
    let asked = Query { domains: vec!["thehindu.com".into()], ..query() };
    assert_eq!(setup.ask(&asked).await.unwrap().hits.len(), 1, "other domains fall out of the answer");
    setup.ask(&query()).await.unwrap();
    let sent: Vec<_> = setup.server.seen().iter().map(|seen| seen.parameter("query").unwrap()).collect();
    let first = "Vizhinjam \"International Seaport\" domainis:thehindu.com sourcelang:english";
    assert_eq!(sent[..2], [first, "International Seaport sourcelang:english"]);
    assert!(
        !sent[2].to_lowercase().contains("vizhinjam"),
        "what it refused by name is not asked for again: {}",
        sent[2]
    );

    let setup = Setup::start(&subject(), [prose(200, "The specified phrase is too short.")]).await;
    assert_eq!(setup.ask(&query()).await.unwrap_err().label(), "refused");
    assert_eq!(setup.server.seen().len(), 2, "one simpler query, not more");
    let setup = Setup::start(&subject(), [prose(200, "A maximum of 250 records can be returned.")]).await;
    assert_eq!(setup.ask(&query()).await.unwrap_err().label(), "refused");
    assert_eq!(setup.server.seen().len(), 1, "other words would not help");
}

#[tokio::test]
async fn json_is_repaired_when_its_fault_is_known() {
    let body = "{\"articles\":[{\"url\":\"https://a.example/1\",\"title\":\"one\u{1} it\\'s\"},\
        {\"url\":\"https://a.example/2\",\"title\":\"bad \\x\"}]}";
    let hits = ask(json(body)).await.1.unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.title.as_str()).collect::<Vec<_>>(), ["one it's", "bad x"]);
    let mut bytes = br#"{"articles":[{"url":"https://a.example/1","title":"caf"#.to_vec();
    bytes.extend([0xe9]);
    bytes.extend(br#""}]}"#);
    let hits = ask(answer(200, &[], bytes)).await.1.unwrap().hits;
    assert_eq!(hits[0].title, "caf\u{fffd}", "bytes that are no UTF-8 are replaced");
}

#[tokio::test]
async fn other_domains_than_asked_for_are_left_out() {
    let setup = Setup::start(&subject(), [json(RECORDED)]).await;
    let asked = Query { domains: vec!["mathrubhumi.com".into()], ..query() };
    let hits = setup.ask(&asked).await.unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert!(setup.server.seen()[0].parameter("query").unwrap().contains(" domainis:mathrubhumi.com "));
}

#[tokio::test]
async fn a_wall_before_the_service_is_no_bad_key() {
    let (_, outcome) = ask(prose(403, "<html>Forbidden")).await;
    assert_eq!(outcome.unwrap_err().label(), "could_not_ask");
}

#[tokio::test]
async fn a_query_without_words_is_not_asked() {
    let setup = Setup::start(&subject(), [json(RECORDED)]).await;
    let outcome = setup.ask(&Query { text: "!?".into(), terms: vec!["a".into()], ..query() }).await;
    assert_eq!(outcome.unwrap_err().label(), "refused");
    assert!(setup.server.seen().is_empty());
}

#[test]
fn it_is_asked_rarely_and_never_twice_at_once() {
    let settings = gate_settings(Duration::from_mins(10));
    assert!(settings.rpm <= 6 && settings.max_attempts == 1);
    assert_eq!(settings.cooldown, Duration::from_mins(30));
    assert_eq!(gate_settings(Duration::from_hours(2)).cooldown, Duration::from_hours(2));
}

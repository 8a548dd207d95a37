//! The words of a language model are shown where they hold against what they cite, and the rules' words where they do not.
//! Against a scripted server; in embedded mode, so that no service is needed.
#![cfg(all(test, feature = "embedded"))]

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::support::daemon::finish;
use crate::support::simulator::{MapWorld, Simulator, Target};

/// What the model answers to a purpose and its data; `None`: the server is down.
type Script = Arc<dyn Fn(&str, &[Section]) -> Option<Value> + Send + Sync>;

/// A claim of a question with its passages, each with the number it has there.
#[derive(Debug, Default)]
struct Section {
    claim: String,
    passages: Vec<(u32, String)>,
}

/// The claims and passages of a message, by their fences.
fn sections(user: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let (mut number, mut kind) = (0, String::new());
    for line in user.lines() {
        if line.starts_with("Claim ") {
            found.push(Section::default());
        } else if let Some(rest) = line.strip_prefix('[') {
            number = rest.split(']').next().and_then(|n| n.parse().ok()).unwrap_or_default();
        } else if let Some(rest) = line.strip_prefix("<data ") {
            kind = rest.trim_end_matches('>').split(' ').skip(1).collect::<Vec<_>>().join(" ");
        } else if line.starts_with("</data ") {
            kind.clear();
        } else if let Some(section) = found.last_mut() {
            match kind.as_str() {
                "claim" => section.claim.push_str(line),
                "passage" => section.passages.push((number, line.to_owned())),
                _ => {}
            }
        }
    }
    found
}

async fn answer(State(script): State<Script>, Json(question): Json<Value>) -> Result<Json<Value>, StatusCode> {
    let purpose = question["response_format"]["json_schema"]["name"].as_str().unwrap_or_default();
    let user = question["messages"][1]["content"].as_str().unwrap_or_default();
    let said = script(purpose, &sections(user)).ok_or(StatusCode::INTERNAL_SERVER_ERROR)?;
    let message = json!({"role": "assistant", "content": said.to_string()});
    Ok(Json(json!({
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    })))
}

/// A server that speaks the API and says what the script says; it ends with the test.
#[expect(clippy::disallowed_methods, reason = "a server of this test, which ends with its runtime")]
async fn serve(script: Script) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(script);
    tokio::task::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/v1")
}

const SHIPPED: &str = "The port of Velmora shipped 4200 tonnes of grain in October 2026, the harbour master said.";
const CLOSED: &str = "The old bridge of Osterik was closed in October 2026 after the storm.";

fn world() -> MapWorld {
    let shipped = |more: &str| {
        let fact = "The port of Velmora shipped fully 4200 tonnes of grain in October 2026, the harbour master said.";
        (format!("Grain leaves Velmora: {more}"), vec![fact.to_owned(), format!("At Velmora {more}.")])
    };
    let open = |more: &str| {
        let fact = "The old bridge of Osterik was not closed in October 2026 after the storm, the mayor said.";
        (format!("The bridge of Osterik: {more}"), vec![fact.to_owned(), format!("In Osterik {more}.")])
    };
    MapWorld {
        searches: vec![("velmora".into(), vec![1, 2, 3]), ("osterik".into(), vec![5, 6, 7])],
        pages: HashMap::from([
            (1, shipped("the silos stand empty for the first time in years")),
            (2, shipped("forty railway wagons brought barley every day")),
            (3, shipped("the insurers lowered their premiums again")),
            (5, open("the pilots worked without a day off")),
            (6, open("the mill bought nothing at all")),
            (7, open("customs counted every lorry twice")),
        ]),
        reviews: Vec::new(),
    }
}

/// `check` with these uses of the model on.
async fn checked(uses: &[&str], script: Script, text: &str) -> Value {
    let simulator = Simulator::start_on_hosts(world(), 4).await;
    let folder = tempfile::tempdir().unwrap();
    let mut environment: Vec<(String, String)> = [
        ("CORROBORATE_DATA_DIR", folder.path().display().to_string()),
        ("ENRICHMENT_PROVIDERS", "opensearch".to_owned()),
        ("ENRICHMENT_SEARXNG_BASE_URL", simulator.base_url(Target::Searxng)),
        ("ENRICHMENT_SEARXNG_RPM", "6000".to_owned()),
        ("ENRICHMENT_FEEDS_ENABLED", "false".to_owned()),
        ("FETCH_ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
        ("INFERENCE_EMBEDDER", "hashed".to_owned()),
        ("INFERENCE_STANCE", "rules".to_owned()),
        ("INFERENCE_RERANKER", "lexical".to_owned()),
        ("LLM_BASE_URL", serve(script).await),
        ("LLM_MODEL", "scripted".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    for used in ["CLAIMS", "SUFFICIENCY", "ADJUDICATE", "SEARCH", "EXPLAIN", "SUMMARY", "CORRECT", "TRANSLATE"] {
        environment.push((format!("LLM_{used}_ENABLED"), uses.contains(&used).to_string()));
    }
    finish(&environment, &["check", "--json", text], "").await.json()
}

fn traced(result: &Value, words: &str) -> bool {
    result["trace"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(words))
}

/// The numbers `[N]` of a text.
fn numbers(text: &str) -> Vec<usize> {
    let marks = text.split('[').skip(1).filter_map(|part| part.split(']').next());
    marks.map(|number| number.parse().unwrap()).collect()
}

/// A model that takes every passage of the shipment for support, in those words; `{n}` is the last passage's number.
fn adjudicating(words: &'static str) -> Script {
    Arc::new(move |purpose, sections| {
        assert_eq!(purpose, "adjudicate");
        let claim = |(at, section): (usize, &Section)| {
            let stance = |text: &str| if text.contains("shipped fully 4200") { "supports" } else { "neutral" };
            let passages: Vec<Value> = section
                .passages
                .iter()
                .map(|(n, text)| json!({"n": n, "stance": stance(text), "elsewhere": false}))
                .collect();
            let telling = section.passages.iter().rfind(|(_, text)| stance(text) == "supports");
            let justification = words.replace("{n}", &telling.map_or(0, |(n, _)| *n).to_string());
            json!({"claim": at + 1, "verdict": "supported", "confidence": 0.9, "justification": justification,
                "passages": passages})
        };
        Some(json!({"claims": sections.iter().enumerate().map(claim).collect::<Vec<_>>()}))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_justification_that_holds_is_shown_and_its_numbers_are_rows_that_say_so() {
    let words = "The harbour master said that 4200 tonnes of grain were shipped [{n}].";
    let result = checked(&["ADJUDICATE"], adjudicating(words), SHIPPED).await;
    let claim = &result["claims"][0];
    assert_eq!(claim["verdict"], "supported", "{result:#}");
    let told = claim["justification"].as_str().unwrap();
    assert!(told.starts_with("The harbour master said that 4200 tonnes of grain were shipped ["), "{result:#}");
    let cited = numbers(told);
    assert_eq!(json!(cited), claim["citations"]);
    for n in cited {
        let row = &claim["evidence"][n - 1];
        assert_eq!(row["n"], n);
        assert!(row["passage"].as_str().unwrap().contains("4200") && row["stance"] == "supports", "{row:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invented_figure_a_number_of_nothing_and_another_language_leave_the_rules_words() {
    for (words, why) in [
        ("The harbour master said that 4900 tonnes of grain were shipped [{n}].", "a figure"),
        ("The harbour master said that 4200 tonnes of grain were shipped [99].", "does not exist"),
        ("Начальник порта сообщил, что отгружено 4200 тонн зерна [{n}].", "another language"),
        ("The harbour master Boris Johnson said that grain was shipped [{n}].", "a name"),
    ] {
        let result = checked(&["ADJUDICATE"], adjudicating(words), SHIPPED).await;
        let claim = &result["claims"][0];
        let told = claim["justification"].as_str().unwrap();
        assert!(told.contains("independent sources support the claim"), "{words}: {result:#}");
        assert!(traced(&result, "was discarded") && traced(&result, why), "{words}: {result:#}");
        assert_eq!(result["degraded"], json!([]), "what is not believed degrades nothing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_holds_has_a_line_for_each_claim_and_its_sources() {
    fn summing(of: fn(&str) -> String) -> Script {
        Arc::new(move |purpose, sections| {
            assert_eq!(purpose, "summary");
            let line = |(at, section): (usize, &Section)| {
                let (n, _) = section.passages.first()?;
                let text = format!("{} [{n}].", of(&section.claim));
                Some(json!({"claim": at + 1, "text": text}))
            };
            Some(json!({"claims": sections.iter().enumerate().filter_map(line).collect::<Vec<_>>()}))
        })
    }
    let text = format!("{SHIPPED} {CLOSED}");
    let right = |claim: &str| {
        let told = if claim.contains("Velmora") { "The port shipped 4200 tonnes" } else { "The bridge was not closed" };
        told.to_owned()
    };
    let result = checked(&["SUMMARY"], summing(right), &text).await;
    let summary = result["overall_summary"].as_str().unwrap();
    let lines: Vec<&str> = summary.lines().collect();
    assert_eq!(lines.len(), 3, "{result:#}");
    assert!(lines[0].starts_with("Supported") && lines[0].contains("The port shipped 4200 tonnes [1]"), "{summary}");
    assert!(lines[1].starts_with("Refuted") && lines[1].contains("The bridge was not closed ["), "{summary}");
    let listed = numbers(lines[2]);
    assert_eq!(listed, (1..=listed.len()).collect::<Vec<_>>());
    assert!(numbers(&lines[..2].join(" ")).iter().all(|n| listed.contains(n)), "every number exists: {summary}");
    let wrong = checked(&["SUMMARY"], summing(|_| "The port shipped 9999 tonnes".to_owned()), &text).await;
    assert_eq!(wrong["overall_summary"], "Claims: 2. Supported: 1; Refuted: 1.", "{wrong:#}");
    assert!(traced(&wrong, "summary: the language model's text was discarded"), "{wrong:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_correction_that_the_passages_bear_out_waits_for_a_person_and_another_is_thrown_away() {
    fn correcting(text: &'static str) -> Script {
        Arc::new(move |purpose, sections| {
            assert_eq!((purpose, sections.len()), ("correct", 1));
            Some(json!({"claims": [{"claim": 1, "text": text}]}))
        })
    }
    let right = "The old bridge of Osterik was not closed in October 2026 after the storm.";
    let result = checked(&["CORRECT"], correcting(right), CLOSED).await;
    let correction = &result["claims"][0]["correction"];
    assert_eq!((&correction["corrected"], &correction["apply"]), (&json!(right), &json!("review")), "{result:#}");
    for wrong in [
        "The old bridge of Osterik was not closed in November 2026 after the storm.",
        "The old bridge of Tarnuk was not closed in October 2026 after the storm.",
        "Старый мост в Остерике не закрывали в октябре 2026 года.",
    ] {
        let result = checked(&["CORRECT"], correcting(wrong), CLOSED).await;
        let correction = &result["claims"][0]["correction"];
        assert_ne!(correction["corrected"], wrong, "{result:#}");
        assert_eq!(correction["type"], "clarify", "the rules' quotation stands: {result:#}");
        assert!(traced(&result, "correct: the language model's text was discarded"), "{wrong}: {result:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_model_that_is_down_the_rules_words_stand_and_the_item_says_so() {
    let text = format!("{SHIPPED} {CLOSED}");
    let result = checked(&["ADJUDICATE", "SUMMARY", "CORRECT"], Arc::new(|_, _| None), &text).await;
    assert_eq!(result["overall_summary"], "Claims: 2. Supported: 1; Refuted: 1.", "{result:#}");
    let told = result["claims"][0]["justification"].as_str().unwrap();
    assert!(told.contains("independent sources support the claim"), "{result:#}");
    assert_eq!(result["degraded"], json!(["model_failed:llm"]), "{result:#}");
}

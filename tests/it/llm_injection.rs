//! Texts that try to command the language model. The model of these tests obeys every one of them; what is held is on our side:
//! a text cannot leave its fence, and whatever the model answers makes nothing decisive and turns nothing that is.
#![cfg(test)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Html;
use axum::routing::{get, post};
use corroborate::app::{App, Purpose};
use corroborate::config::{LoadOptions, load};
use corroborate::domain::{Item, ItemResult};
use corroborate::inference::steps::StepError;
use corroborate::pipeline::{Gatherers, Outcome, Request, Steps, run};
use corroborate::providers::Query;
use corroborate::providers::gatherer::{GatheredPage, Gatherer};
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};

use crate::support::daemon::finish;

const CORPUS: &str = include_str!("../data/injections.jsonl");

/// An attack as the corpus holds it.
struct Attack {
    id: String,
    place: String,
    claim: String,
    text: String,
    /// The attack as it stands in a page: in its head, its text, its data or beside a picture.
    html: Option<String>,
}

fn attacks() -> Vec<Attack> {
    let attack = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        Attack {
            id: text("id"),
            place: text("place"),
            claim: text("claim"),
            text: text("text"),
            html: row["html"].as_str().map(str::to_owned),
        }
    };
    CORPUS.lines().map(attack).collect()
}

/// What the model saw, and the stance it gives everything it is asked about.
struct Obedient {
    stance: &'static str,
    seen: Mutex<Vec<(String, String)>>,
}

async fn obey(State(model): State<Arc<Obedient>>, Json(body): Json<Value>) -> Json<Value> {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let user = text("/messages/1/content");
    let passages = user.matches(" passage>\n").count();
    let rows: Vec<Value> =
        (1..=passages).map(|n| json!({"n": n, "stance": model.stance, "elsewhere": false})).collect();
    let verdict = if model.stance == "supports" { "supported" } else { "refuted" };
    let words = "It is so, as every source confirms [1] [2] [99].";
    let claim = json!({"claim": 1, "verdict": verdict, "confidence": 1.0, "justification": words, "passages": rows});
    model.seen.lock().unwrap().push((text("/messages/0/content"), user));
    let message = json!({"role": "assistant", "content": json!({"claims": [claim]}).to_string()});
    Json(json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))
}

/// The claims with these passages, judged by the program with such a model beside; one line a claim.
#[expect(clippy::disallowed_methods, reason = "a server of this test, which ends with its runtime")]
async fn judged(rows: &[Value], stance: &'static str) -> (Vec<Value>, Vec<(String, String)>) {
    let model = Arc::new(Obedient { stance, seen: Mutex::default() });
    let router = axum::Router::new().route("/v1/chat/completions", post(obey)).with_state(Arc::clone(&model));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn(async move { axum::serve(listener, router).await });
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("rows.jsonl"), folder.path().join("out.jsonl"));
    std::fs::write(&file, rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")).unwrap();
    let environment = [
        ("LLM_BASE_URL", format!("http://{address}/v1")),
        ("LLM_MODEL", "obedient".to_owned()),
        ("LLM_RPM", "100000".to_owned()),
        ("LLM_RELIABILITY", "0.98".to_owned()),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value));
    let arguments = ["eval", file.to_str().unwrap(), "--judge", "llm", "--predictions", out.to_str().unwrap()];
    finish(&environment, &arguments, "").await.ok();
    let lines = std::fs::read_to_string(&out).unwrap();
    let seen = std::mem::take(&mut *model.seen.lock().unwrap());
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), seen)
}

fn row(id: &str, claim: &str, passages: &[&str]) -> Value {
    let evidence: Vec<Value> = passages
        .iter()
        .enumerate()
        .map(|(n, text)| json!({"text": text, "url": format!("https://site{n}.example/{n}")}))
        .collect();
    json!({"id": id, "claim": claim, "label": "not_enough_evidence", "evidence": evidence})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_leaves_its_fence_and_an_obedient_model_makes_nothing_firm() {
    let attacks = attacks();
    assert!(attacks.len() >= 60, "{}", attacks.len());
    // Two outlets that carry the same attack in words of their own.
    let rows: Vec<Value> = attacks
        .iter()
        .map(|attack| row(&attack.id, &attack.claim, &[&attack.text, &format!("Second report. {}", attack.text)]))
        .collect();
    for stance in ["supports", "contradicts"] {
        let (lines, seen) = judged(&rows, stance).await;
        assert_eq!(lines.len(), rows.len());
        let firm: Vec<&Value> = lines.iter().filter(|line| line["decisive"] == true).map(|line| &line["id"]).collect();
        assert!(firm.is_empty(), "{stance}: firm by the model's word alone: {firm:?}");
        assert!(!seen.is_empty());
        for (system, user) in &seen {
            is_fenced(system, user);
        }
    }
    assert!(attacks.iter().any(|attack| attack.place == "page_json_ld"));
}

/// What is data stands between marks that no text holds, and without characters that a reader does not see.
fn is_fenced(system: &str, user: &str) {
    let nonce = system.split("NONCE is ").nth(1).and_then(|rest| rest.split(". ").next()).unwrap();
    let (opened, closed) = (format!("<data {nonce} "), format!("</data {nonce}>"));
    assert_eq!(user.matches(&opened).count(), user.matches(&closed).count(), "{user}");
    assert_eq!(user.matches(nonce).count(), 2 * user.matches(&opened).count(), "the nonce stands in no text");
    let is_hidden =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}');
    assert!(!user.chars().any(is_hidden), "{user}");
}

/// Serves each attack as a page, and answers as the model does.
#[expect(clippy::disallowed_methods, reason = "a server of this test, which ends with its runtime")]
async fn serve(pages: Vec<String>, model: &Arc<Obedient>) -> u16 {
    let page = |Path(at): Path<usize>, State(pages): State<Arc<Vec<String>>>| async move { Html(pages[at].clone()) };
    let router = axum::Router::new()
        .route("/pages/{at}", get(page))
        .with_state(Arc::new(pages))
        .merge(axum::Router::new().route("/v1/chat/completions", post(obey)).with_state(Arc::clone(model)));
    // Every page is to have a host of its own.
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::task::spawn(async move { axum::serve(listener, router).await });
    port
}

/// The whole page around the corpus's piece of it.
fn page(attack: &Attack, html: &str) -> String {
    let in_head = html.contains("<meta") || html.contains("<title") || html.contains("ld+json");
    let (head, body) = if in_head { (html, "") } else { ("", html) };
    let Attack { claim, .. } = attack;
    format!(
        "<!doctype html><html><head><meta charset=utf-8>{head}</head><body><article>{body}\
         <p>Readers wrote to us and asked whether this is so: \u{ab}{claim}\u{bb} We put the question to everybody \
         concerned and have had no answer from any of them so far.</p>\
         <p>We will report here as soon as one of them calls back, whatever they have to say about it.</p>\
         </article></body></html>"
    )
}

/// Leads to the page of the attack that is tried just now.
#[derive(Debug, Default)]
struct Pages(Mutex<Option<String>>);

impl Gatherer for Pages {
    fn name(&self) -> &'static str {
        "attacks"
    }

    fn gather<'a>(&'a self, _query: &'a Query) -> BoxFuture<'a, Result<Vec<GatheredPage>, StepError>> {
        let address = self.0.lock().unwrap().clone().unwrap();
        let page = GatheredPage {
            url: address.parse().unwrap(),
            title: String::new(),
            text: None,
            published_at: None,
            credibility: None,
        };
        Box::pin(ready(Ok(vec![page])))
    }
}

async fn enriched(app: &App, attack: &Attack) -> ItemResult {
    let item: Item = serde_json::from_value(json!({"schema": 1, "item_id": attack.id, "text": attack.claim})).unwrap();
    match run(&app.services, &Request::personal(item)).await.unwrap() {
        Outcome::Done(result) => *result,
        Outcome::AlreadyDone { .. } | Outcome::Poorer(_) => panic!("{} was never done before", attack.id),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_the_html_of_a_page_is_data_as_well() {
    let attacks: Vec<Attack> = attacks().into_iter().filter(|attack| attack.html.is_some()).collect();
    assert!(attacks.len() >= 30, "{}", attacks.len());
    for stance in ["supports", "contradicts"] {
        let model = Arc::new(Obedient { stance, seen: Mutex::default() });
        let pages = attacks.iter().map(|attack| page(attack, attack.html.as_deref().unwrap())).collect();
        let port = serve(pages, &model).await;
        let folder = tempfile::tempdir().unwrap();
        let environment = [
            ("CORROBORATE_DATA_DIR", folder.path().display().to_string()),
            ("FETCH_ALLOW_PRIVATE_ADDRESSES", "true".to_owned()),
            ("INFERENCE_EMBEDDER", "hashed".to_owned()),
            ("INFERENCE_STANCE", "rules".to_owned()),
            ("INFERENCE_RERANKER", "lexical".to_owned()),
            ("LLM_BASE_URL", format!("http://127.0.0.1:{port}/v1")),
            ("LLM_MODEL", "obedient".to_owned()),
            ("LLM_ADJUDICATE_ENABLED", "true".to_owned()),
            ("LLM_RPM", "100000".to_owned()),
            ("LLM_RELIABILITY", "0.98".to_owned()),
        ];
        let env = environment.map(|(name, value)| (name.to_owned(), value));
        let config = load(LoadOptions { file: None, env }).unwrap().config;
        let leads = Arc::new(Pages::default());
        let steps =
            Steps { gatherers: Gatherers::Instead(vec![Arc::clone(&leads) as Arc<dyn Gatherer>]), ..Steps::default() };
        let app = App::open_with_steps(Arc::new(config), Purpose::Check, steps).await.unwrap();
        let mut read = 0;
        for (at, attack) in attacks.iter().enumerate() {
            *leads.0.lock().unwrap() = Some(format!("http://127.0.1.{}:{port}/pages/{at}", at + 1));
            let result = enriched(&app, attack).await;
            for claim in &result.claims {
                assert!(!claim.decisive, "{} ({stance}): {claim:#?}", attack.id);
                read += usize::from(claim.judge.contains("llm:obedient"));
            }
        }
        app.close().await.unwrap();
        let seen = std::mem::take(&mut *model.seen.lock().unwrap());
        for (system, user) in &seen {
            is_fenced(system, user);
        }
        assert!(read * 10 >= attacks.len() * 9, "{read} of {} pages reached the model", attacks.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_firm_without_the_model_stands_whatever_the_model_answers() {
    let claim = "The port of Velmora shipped 4200 tonnes of grain in October 2026.";
    let told = [
        "The port of Velmora shipped 4200 tonnes of grain in October 2026, its manager said.",
        "In October 2026 the port of Velmora shipped 4200 tonnes of grain, customs said.",
        "Velmora: the port shipped 4200 tonnes of grain in October 2026, the ministry of transport reported.",
        "The port of Velmora shipped 4200 tonnes of grain in October 2026. Barley made up half of it.",
    ];
    let rows = [row("told", claim, &told)];
    let (agreed, _) = judged(&rows, "supports").await;
    let (denied, _) = judged(&rows, "contradicts").await;
    assert_eq!((&agreed[0]["verdict"], &denied[0]["verdict"]), (&json!("supported"), &json!("supported")));
    assert_eq!(agreed[0]["decisive"], true, "it is firm where nothing denies it: {}", agreed[0]);
    assert_eq!(denied[0]["decisive"], false, "no editor is told that it is firm while the model denies it all");
}

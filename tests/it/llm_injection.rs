//! Texts that try to command the language model. The model of these tests obeys every one of them; what is held is on our side:
//! a text cannot leave its fence, and whatever the model answers makes nothing decisive and turns nothing that is.
#![cfg(test)]

use std::sync::{Arc, Mutex};

use axum::Json;
use axum::extract::State;
use axum::routing::post;
use serde_json::{Value, json};

use crate::support::daemon::finish;

const CORPUS: &str = include_str!("../data/injections.jsonl");

/// An attack as the corpus holds it.
struct Attack {
    id: String,
    place: String,
    claim: String,
    text: String,
}

fn attacks() -> Vec<Attack> {
    let attack = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        Attack { id: text("id"), place: text("place"), claim: text("claim"), text: text("text") }
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
            let nonce = system.split("NONCE is ").nth(1).and_then(|rest| rest.split(". ").next()).unwrap();
            let (opened, closed) = (format!("<data {nonce} "), format!("</data {nonce}>"));
            assert_eq!(user.matches(&opened).count(), user.matches(&closed).count(), "{user}");
            assert_eq!(user.matches(nonce).count(), 2 * user.matches(&opened).count(), "the nonce stands in no text");
            assert!(
                !user.chars().any(
                    |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{e0000}'..='\u{e007f}')
                )
            );
        }
    }
    assert!(attacks.iter().any(|attack| attack.place == "page_json_ld"));
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

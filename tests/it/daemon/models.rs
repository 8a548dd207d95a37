//! A model that fails costs an item its judgement, never the item: the rules judge, and the result says so.

use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::daemon::{finish, until};
use crate::support::stories::{self, TOLD, item};

/// An NLI model on a text-embeddings-inference server: sure that everything follows, as long as it is there.
#[derive(Debug, Clone, Default)]
struct ModelServer {
    away: Arc<AtomicBool>,
    pairs: Arc<AtomicUsize>,
}

impl ModelServer {
    #[expect(clippy::disallowed_methods, reason = "the server ends with the test's own runtime")]
    async fn start(&self) -> SocketAddr {
        let router = Router::new()
            .route("/info", get(Self::info))
            .route("/predict", post(Self::predict))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    fn info() -> Ready<Json<Value>> {
        ready(Json(json!({
            "model_id": "test/nli", "max_client_batch_size": 32, "max_input_length": 512,
            "model_type": {"classifier": {"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}},
        })))
    }

    fn predict(State(server): State<Self>, Json(body): Json<Value>) -> Ready<Result<Json<Value>, StatusCode>> {
        if server.away.load(Ordering::Relaxed) {
            return ready(Err(StatusCode::INTERNAL_SERVER_ERROR));
        }
        let pairs = body["inputs"].as_array().map_or(0, Vec::len);
        server.pairs.fetch_add(pairs, Ordering::Relaxed);
        let follows = json!([
            {"score": 0.97, "label": "entailment"},
            {"score": 0.02, "label": "neutral"},
            {"score": 0.01, "label": "contradiction"},
        ]);
        ready(Ok(Json(json!(vec![follows; pairs]))))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_whose_model_fails_is_judged_by_rule_and_may_be_run_again() {
    let Some(mut app) = TestApp::new(stories::world()).await else { return };
    let server = ModelServer::default();
    app.set("INFERENCE_STANCE", "auto");
    app.set("INFERENCE_STANCE_URL", &format!("http://{}", server.start().await));
    app.set("INFERENCE_TIMEOUT", "2s");
    let daemon = app.start().await;

    app.upstream.publish("item.new", &item("read", TOLD)).await;
    let read = app.upstream.result("read", 1).await;
    assert_eq!(
        (&read["status"], &read["claims"][0]["judge"]),
        (&json!("complete"), &json!("model:test/nli")),
        "{read:#}"
    );
    assert_eq!(read["claims"][0]["verdict"], "supported", "{read:#}");
    assert!(server.pairs.load(Ordering::Relaxed) > 1, "more than the probe was asked");

    server.away.store(true, Ordering::Relaxed);
    app.upstream.publish("item.new", &item("alone", &TOLD.replace("4200", "4,200"))).await;
    let alone = app.upstream.result("alone", 1).await;
    assert_eq!((&alone["status"], &alone["claims"][0]["judge"]), (&json!("degraded"), &json!("rules")), "{alone:#}");
    assert_eq!(alone["degraded"], json!(["model_failed:stance"]));
    assert_eq!(
        alone["claims"][0]["verdict"], "supported",
        "the agreement rule accepts near-verbatim reports: {alone:#}"
    );
    assert_ne!(alone["tier"], "high", "a degraded item is never high");

    server.away.store(false, Ordering::Relaxed);
    let mut runs = 1;
    loop {
        app.upstream.publish("item.new", &item("alone", &TOLD.replace("4200", "4,200"))).await;
        runs += 1;
        let again = app.upstream.result("alone", runs).await;
        if again["status"] == "complete" {
            assert_eq!(again["claims"][0]["judge"], "model:test/nli", "{again:#}");
            break;
        }
        assert!(runs < 100, "the model is never asked again: {again:#}");
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    app.finish(daemon).await;
}

/// Reading costs most where nothing can come of it.
#[tokio::test]
async fn passages_of_another_subject_are_not_put_to_the_model() {
    let server = ModelServer::default();
    let environment = [
        ("INFERENCE_EMBEDDER", "hashed".to_owned()),
        ("INFERENCE_RERANKER", "lexical".to_owned()),
        ("INFERENCE_STANCE", "auto".to_owned()),
        ("INFERENCE_STANCE_URL", format!("http://{}", server.start().await)),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claims.jsonl");
    let asked = async |texts: &[&str]| {
        let evidence: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
        let claim = "The parliament of Orlesk passed the budget for 2024 on Monday.";
        let row = json!({ "claim": claim, "evidence": evidence, "label": "supported" });
        std::fs::write(&file, row.to_string()).unwrap();
        let before = server.pairs.load(Ordering::Relaxed);
        let done = finish(&environment, &["eval", file.to_str().unwrap(), "--json"], "").await.json();
        assert_eq!(done["judge"], "model:test/nli", "{done:#}");
        server.pairs.load(Ordering::Relaxed) - before
    };
    let told = "The parliament of Orlesk passed its budget for 2024 on Monday evening.";
    let told_again = "On Monday the budget of Orlesk for 2024 was passed by the parliament with 210 votes.";
    let alone = asked(&[told]).await;
    assert!(asked(&[told, told_again]).await > alone, "a second text of the subject is read");
    assert_eq!(asked(&[told, "Tomatoes like warm soil and much water in June and July."]).await, alone);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_cannot_be_had_stops_the_start_with_its_mend() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    app.run(&["migrate"]).await.ok();
    let unknown = app.run_set(&[("INFERENCE_STANCE", "bart")], &["doctor"]).await;
    assert_eq!(unknown.code, 78, "{unknown:?}");
    let said = format!("{}{}", unknown.stdout, unknown.stderr);
    assert!(said.contains("bart") && said.contains("INFERENCE_STANCE"), "{said}");
    let without = app.run(&["doctor"]).await;
    for line in ["hashed-ngrams, 384 dimensions", "rules, without a model", "lexical"] {
        assert!(without.stdout.contains(line), "{line}: {}", without.stdout);
    }
    app.clear().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_model_embedded_is_re_embedded() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    app.upstream.result("first", 1).await;
    daemon.stop().await;
    let read = "evidence_claims JOIN evidence_sources page ON page.id = evidence_id WHERE page.origin = 'web' AND";
    let turned = "UPDATE evidence_claims SET embedder = 'another', embedding = (SELECT array_agg(1.0)::vector(384) \
                  FROM generate_series(1, 384))";
    sqlx::query(turned).execute(&app.database).await.unwrap();
    assert!(app.count(&format!("{read} embedder = 'another'")).await > 0);

    let daemon = app.start().await;
    until("everything is re-embedded", async || app.count("evidence_claims WHERE embedder = 'another'").await == 0)
        .await;
    assert_eq!(app.count(&format!("{read} vector_norm(embedding) > 1.01")).await, 0, "the vectors are new ones");
    // What it says is found again.
    let calls = app.searches();
    app.upstream.publish("item.new", &item("second", TOLD)).await;
    let known = app.upstream.result("second", 1).await;
    assert_eq!(known["claims"][0]["verdict"], "supported", "{known:#}");
    assert_eq!(app.searches(), calls, "it was answered from what is known: {known:#}");
    app.finish(daemon).await;
}

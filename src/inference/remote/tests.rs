//! Tests model clients against local servers that use the protocol.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::*;
use crate::config::Config;
use crate::domain::SystemClock;
use crate::judging::profile::TextProfile;
use crate::outbound::test_server::{Reply, SeenRequest, TestServer, answer};

/// `/info` with the kind of model and its batch size.
fn info(kind: &Value, batch: usize) -> Value {
    json!({
        "model_id": "acme/model", "model_sha": "8adb", "model_dtype": "float16", "model_type": kind,
        "max_concurrent_requests": 512, "max_input_length": 512, "max_client_batch_size": batch, "version": "1.9.3"
    })
}

fn embedding() -> Value {
    json!({ "embedding": { "pooling": "mean" } })
}

fn nli() -> Value {
    json!({ "classifier": { "id2label": { "0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL" }, "label2id": {} } })
}

fn reranker() -> Value {
    json!({ "reranker": { "id2label": { "0": "LABEL_0" }, "label2id": { "LABEL_0": 0 } } })
}

fn body(seen: &SeenRequest) -> Value {
    serde_json::from_slice(&seen.body).unwrap_or_default()
}

fn ok(value: &Value) -> Reply {
    answer(200, &[("content-type", "application/json")], value.to_string())
}

fn refusal(status: u16, error: &str, kind: &str) -> Reply {
    answer(status, &[("content-type", "application/json")], json!({ "error": error, "error_type": kind }).to_string())
}

/// A vector that differs between texts: length and first character.
fn vector(text: &str) -> Value {
    json!([text.chars().count() as f64, f64::from(text.chars().next().map_or(1, u32::from)), 3.0])
}

fn vectors(inputs: &Value) -> Value {
    inputs.as_array().unwrap().iter().map(|text| vector(text.as_str().unwrap())).collect()
}

/// Classes by score, as servers send them. A passage with the claim entails it; one with `not` contradicts it.
fn classes(inputs: &Value) -> Value {
    let judge = |pair: &Value| {
        let (passage, claim) = (pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        let best = if passage.contains("not") {
            "CONTRADICTION"
        } else if passage.contains(claim) {
            "ENTAILMENT"
        } else {
            "NEUTRAL"
        };
        let others = ["CONTRADICTION", "ENTAILMENT", "NEUTRAL"].into_iter().filter(|label| *label != best);
        let rest = others.map(|label| json!({ "label": label, "score": 0.1 }));
        std::iter::once(json!({ "label": best, "score": 0.8 })).chain(rest).collect::<Value>()
    };
    inputs.as_array().unwrap().iter().map(judge).collect()
}

/// A correct server.
fn behave(kind: &Value, batch: usize, seen: &SeenRequest) -> Reply {
    let asked = body(seen);
    let count = asked["inputs"].as_array().or(asked["texts"].as_array()).map_or(0, Vec::len);
    if count > batch {
        return refusal(422, &format!("batch size {count} > maximum allowed batch size {batch}"), "Validation");
    }
    match seen.path() {
        "/info" => ok(&info(kind, batch)),
        "/embed" => ok(&vectors(&asked["inputs"])),
        "/predict" => ok(&classes(&asked["inputs"])),
        "/rerank" => {
            let texts = asked["texts"].as_array().unwrap();
            let mut rows: Vec<(usize, f64)> =
                texts.iter().map(|text| text.as_str().unwrap().len() as f64 / 100.0).enumerate().collect();
            rows.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            ok(&rows.into_iter().map(|(index, score)| json!({ "index": index, "score": score })).collect())
        }
        _ => answer(404, &[], ""),
    }
}

async fn serving(kind: Value, batch: usize) -> TestServer {
    TestServer::answering(move |_number, seen| behave(&kind, batch, seen)).await
}

fn config(base: Option<&TestServer>, stance: Option<&TestServer>, rerank: Option<&TestServer>) -> InferenceConfig {
    let url = |server: Option<&TestServer>| server.map(|server| server.url.clone());
    InferenceConfig {
        base_url: url(base),
        stance_url: url(stance),
        rerank_url: url(rerank),
        timeout: Duration::from_secs(2),
        ..Config::built_in().inference
    }
}

async fn connected(config: &InferenceConfig) -> Result<RemoteModels, RemoteError> {
    let http = HttpClient::live("test").unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    connect(config, &http, &clock, Patience::NONE).await
}

async fn embedder(server: &TestServer) -> RemoteEmbedder {
    connected(&config(Some(server), None, None)).await.unwrap().embedder.unwrap()
}

fn pair(claim: &str, passage: &str) -> Pair {
    let profile = |text: &str| Arc::new(TextProfile { text: text.to_owned(), ..TextProfile::default() });
    Pair { claim: profile(claim), passage: profile(passage) }
}

fn of_path<'a>(seen: &'a [SeenRequest], path: &str) -> Vec<&'a SeenRequest> {
    seen.iter().filter(|seen| seen.path() == path).collect()
}

#[tokio::test]
async fn vectors_come_in_order_in_batches_the_server_takes() {
    let server = serving(embedding(), 4).await;
    let embedder = embedder(&server).await;
    assert_eq!((embedder.name(), embedder.dimension()), ("acme/model", 3));
    let texts: Vec<String> = (1..=10).map(|length| "b".repeat(length)).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.insert(3, "  ");
    let vectors = embedder.embed(&texts).await.unwrap();
    assert_eq!(vectors.len(), 11);
    assert_eq!(vectors[3], [0.0; 3], "a text without words is nothing, and is not asked");
    let lengths: Vec<f32> =
        vectors.iter().filter(|row| row[0] > 0.0).map(|row| (row[0] / row[2] * 3.0).round()).collect();
    assert_eq!(lengths, (1..=10).map(|length| length as f32).collect::<Vec<_>>());
    assert!(
        vectors
            .iter()
            .filter(|row| row[0] > 0.0)
            .all(|row| { (row.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-5 })
    );
    let seen = server.seen();
    let asked = of_path(&seen, "/embed");
    let sizes: Vec<usize> = asked.iter().map(|seen| body(seen)["inputs"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [1, 4, 4, 2]);
    assert_eq!(body(asked[1])["truncate"], true, "the default differs between versions");
    assert!(asked[1].header("authorization").is_none());
}

#[tokio::test]
async fn labels_are_matched_by_words_when_their_order_differs() {
    let server = serving(nli(), 2).await;
    let models = connected(&config(None, Some(&server), None)).await.unwrap();
    let stance = models.stance.unwrap();
    assert_eq!(stance.name(), "model:acme/model");
    let pairs = [pair("it is so", "they say it is so"), pair("it is so", "it is not so"), pair("it is so", "rain")];
    let judged = stance.judge(&pairs).await.unwrap();
    let strongest: Vec<(f64, f64, f64)> =
        judged.iter().map(|one| one.probabilities).map(|one| (one.entail, one.contradict, one.neutral)).collect();
    assert_eq!(strongest, [(0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)]);
    let seen = server.seen();
    let inputs = &body(of_path(&seen, "/predict")[1])["inputs"];
    assert_eq!(inputs[0], json!(["they say it is so", "it is so"]), "premise first, each pair a list of its own");
}

#[tokio::test]
async fn relevance_comes_back_by_index_for_every_claim() {
    let server = serving(reranker(), 2).await;
    let models = connected(&config(None, None, Some(&server))).await.unwrap();
    let passages: Vec<String> = [10, 90, 50, 30].iter().map(|length| "p".repeat(*length)).collect();
    let mut pairs: Vec<Pair> = passages.iter().take(3).map(|passage| pair("one", passage)).collect();
    pairs.push(pair("two", &passages[3]));
    let scores = models.reranker.unwrap().relevance(&pairs).await.unwrap();
    assert_eq!(scores, [0.1, 0.9, 0.5, 0.3]);
    let seen = server.seen();
    let queries: Vec<Value> = of_path(&seen, "/rerank").iter().map(|seen| body(seen)["query"].clone()).collect();
    assert_eq!(queries[1..], [json!("one"), json!("one"), json!("two")]);
}

#[tokio::test]
async fn an_overloaded_server_is_asked_again() {
    let server = TestServer::answering(|number, seen| {
        let many = body(seen)["inputs"].as_array().is_some_and(|inputs| inputs.len() > 3);
        if many && number < 4 {
            refusal(429, "Model is overloaded", "Overloaded")
        } else {
            behave(&embedding(), 8, seen)
        }
    })
    .await;
    let embedder = embedder(&server).await;
    assert_eq!(embedder.embed(&["text"; 8]).await.unwrap().len(), 8);
    let seen = server.seen();
    let sizes: Vec<usize> =
        of_path(&seen, "/embed").iter().map(|seen| body(seen)["inputs"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [1, 8, 8, 8]);
}

#[tokio::test]
async fn long_texts_are_cut_and_the_key_is_sent_and_not_shown() {
    let server = serving(embedding(), 4).await;
    let config = InferenceConfig { api_key: Some("s3cret-key".into()), ..config(Some(&server), None, None) };
    let embedder = connected(&config).await.unwrap().embedder.unwrap();
    let long = "я".repeat(200_000);
    embedder.embed(&[&long, "b"]).await.unwrap();
    let seen = server.seen();
    let asked = of_path(&seen, "/embed");
    assert_eq!(body(asked[1])["inputs"][0].as_str().unwrap().chars().count(), 512 * 16);
    assert_eq!(asked[1].header("authorization"), Some("Bearer s3cret-key"));
    assert!(!format!("{embedder:?}").contains("s3cret"));
}

#[tokio::test]
async fn answers_that_are_none_are_refused_in_words() {
    let cases: [(Value, &str, &str); 9] = [
        (embedding(), "[[1,2,null]]", "NaN"),
        (embedding(), "[[0,0,0]]", "length zero"),
        (embedding(), "[]", "0 answers to 1"),
        (embedding(), "[[1,2,3],[1,2,3]]", "2 answers to 1"),
        (embedding(), r#"{"ok":true}"#, "cannot be read"),
        (
            nli(),
            r#"[[{"label":"ENTAILMENT","score":null},{"label":"NEUTRAL","score":0.5},{"label":"CONTRADICTION","score":0.5}]]"#,
            "NaN",
        ),
        (nli(), r#"[[{"label":"ENTAILMENT","score":0.9}]]"#, "1 probabilities that sum to 0.900"),
        (nli(), r#"[[{"label":"joy","score":0.9}]]"#, "unknown label"),
        (reranker(), r#"[{"index":7,"score":0.9}]"#, "row 7 of 1"),
    ];
    for (kind, given, expected) in cases {
        let current = kind.clone();
        let server = TestServer::answering(move |_number, seen| match seen.path() {
            "/info" => ok(&info(&current, 32)),
            _ => answer(200, &[("content-type", "application/json")], given),
        })
        .await;
        let error = connected(&config(Some(&server), None, None)).await.unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.starts_with("INFERENCE_BASE_URL: "),
            "{expected}\nis not in\n{error}"
        );
    }
}

#[tokio::test]
async fn error_names_fix_when_server_refuses() {
    let table: [(u16, &str, &str); 7] = [
        (401, "", "set INFERENCE_API_KEY"),
        (
            424,
            r#"{"error":"Backend error: score is NaN","error_type":"Backend"}"#,
            "status 424: Backend error: score is NaN",
        ),
        (422, "Failed to deserialize the JSON body", "status 422: Failed to deserialize"),
        (503, r#"{"error":"unhealthy","error_type":"Unhealthy"}"#, "failed with status 503"),
        (302, "", "refuses the question: status 302"),
        (413, "", "refuses the question: status 413"),
        (422, r#"{"error":"batch size 64 > maximum allowed batch size 32"}"#, "maximum allowed batch size 32"),
    ];
    for (status, given, expected) in table {
        let server = TestServer::answering(move |_number, seen| match seen.path() {
            "/info" => ok(&info(&embedding(), 32)),
            _ => answer(status, &[], given),
        })
        .await;
        let error = connected(&config(Some(&server), None, None)).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{status}: {expected}\nis not in\n{error}");
        assert!(error.contains(server.url.as_str().trim_end_matches('/')), "{error}");
    }
}

#[tokio::test]
async fn the_wrong_server_for_a_variable_stops_the_start_and_names_the_right_one() {
    let (vectors, judge, ranker) =
        (serving(embedding(), 32).await, serving(nli(), 32).await, serving(reranker(), 32).await);
    let labels = json!({ "classifier": { "id2label": { "0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2" } } });
    let twice = json!({ "classifier": { "id2label": { "0": "ENTAILMENT", "1": "ENTAILMENT", "2": "NEUTRAL" } } });
    let twice = serving(twice, 32).await;
    let (unnamed, web) = (serving(labels, 32).await, TestServer::start([answer(200, &[], "<html>")]).await);
    let cases: [(InferenceConfig, &str); 9] = [
        (config(None, Some(&vectors), None), "serves acme/model, a model for embedding, not for stance"),
        (config(None, Some(&ranker), None), "a model for relevance, not for stance"),
        (config(None, None, Some(&judge)), "a model for stance, not for relevance"),
        (config(None, None, Some(&vectors)), "a model for embedding, not for relevance"),
        (config(Some(&judge), Some(&judge), None), "a second model for stance; keep one server"),
        (config(None, Some(&unnamed), None), "are LABEL_0, LABEL_1, LABEL_2"),
        (config(None, Some(&twice), None), "are ENTAILMENT, ENTAILMENT, NEUTRAL"),
        (config(Some(&web), None, None), "no text-embeddings-inference server"),
        (config(None, Some(&web), None), "INFERENCE_STANCE_URL: the model server at"),
    ];
    for (wrong, expected) in cases {
        let error = connected(&wrong).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}\nis not in\n{error}");
    }
    let all = connected(&config(Some(&vectors), Some(&judge), Some(&ranker))).await.unwrap();
    assert!(all.embedder.is_some() && all.stance.is_some() && all.reranker.is_some());
    let none = connected(&config(None, None, None)).await.unwrap();
    assert!(none.embedder.is_none() && none.stance.is_none() && none.reranker.is_none());
}

#[tokio::test]
async fn a_server_that_starts_is_waited_for_and_one_that_is_away_is_named() {
    let server =
        TestServer::answering(
            |number, seen| {
                if number < 2 { answer(503, &[], "loading") } else { behave(&embedding(), 32, seen) }
            },
        )
        .await;
    let http = HttpClient::live("test").unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let patience = Patience { loading: Duration::from_secs(30), starting: Duration::ZERO };
    assert!(connect(&config(Some(&server), None, None), &http, &clock, patience).await.unwrap().embedder.is_some());
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = InferenceConfig { base_url: Url::parse(&format!("http://{free}")).ok(), ..config(None, None, None) };
    let error = connected(&silent).await.unwrap_err().to_string();
    assert!(error.contains("cannot be reached") && error.contains("unset INFERENCE_BASE_URL"), "{error}");
}

#[tokio::test]
async fn a_model_that_was_replaced_at_its_address_is_noticed() {
    let server = TestServer::answering(|number, seen| match seen.path() {
        "/embed" if number > 1 => ok(&json!([[1.0, 2.0, 3.0, 4.0]])),
        _ => behave(&embedding(), 32, seen),
    })
    .await;
    let error = embedder(&server).await.embed(&["text"]).await.unwrap_err().to_string();
    assert!(error.contains("a vector of 4 numbers") && error.contains("of 3"), "{error}");
}

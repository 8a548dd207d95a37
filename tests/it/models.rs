//! The commands about models, against a hub and model servers on local ports.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use axum::routing::{any, get};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::support::app::TestApp;
use crate::support::daemon::{Finished, finish, free_address, until};
use crate::support::stories::{self, TOLD, item};

/// What `main` stands for at the hub.
const COMMIT: &str = "89abcdef0123456789abcdef0123456789abcdef";
/// The set that is fetched, and what stands in for its weights: encoders of the same families with random weights.
const SET: [(&str, &str, &str, &str); 2] = [
    (
        "multilingual-e5-small",
        "intfloat/multilingual-e5-small",
        "onnx/model_qint8_avx512_vnni.onnx",
        "xlm-roberta-embedding-int8",
    ),
    (
        "mdeberta-v3-base-xnli",
        "MoritzLaurer/mDeBERTa-v3-base-mnli-xnli",
        "onnx/model.onnx",
        "deberta-v3-stance-dynamic",
    ),
];
const CONFIGURATION: &str =
    r#"{"hidden_size": 32, "id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}"#;

fn fixture(name: &str, file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name).join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The file that a hub has at a path, and whether it is kept in the store of large files.
fn content(repository: &str, file: &str) -> Option<(Vec<u8>, bool)> {
    let (_, _, model, stand_in) = SET.into_iter().find(|(_, own, ..)| *own == repository)?;
    if file == "config.json" {
        Some((CONFIGURATION.as_bytes().to_vec(), false))
    } else if file == model {
        Some((fixture(stand_in, "model.onnx"), true))
    } else if matches!(file, "tokenizer.json" | "onnx/tokenizer.json") {
        Some((fixture(stand_in, "tokenizer.json"), true))
    } else {
        None
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// A hub on a local port, until dropped.
struct Hub {
    url: String,
    /// Requests to the store of large files.
    stored: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

async fn resolve(
    method: Method,
    UrlPath((owner, name, revision, file)): UrlPath<(String, String, String, String)>,
) -> Response<Body> {
    let answer = Response::builder();
    let repository = format!("{owner}/{name}");
    let known = matches!(revision.as_str(), "main" | COMMIT) || revision.len() == 40;
    let Some((bytes, large)) = content(&repository, &file).filter(|_| known) else {
        return answer.status(404).header("x-error-code", "EntryNotFound").body(Body::empty()).unwrap();
    };
    let answer = answer.header("x-repo-commit", COMMIT);
    if !large {
        let body = if method == Method::HEAD { Body::empty() } else { Body::from(bytes) };
        return answer.header(header::ETAG, "\"43a6b699\"").body(body).unwrap();
    }
    answer
        .status(StatusCode::FOUND)
        .header(header::LOCATION, format!("/store/{owner}/{name}/{file}"))
        .header("x-linked-etag", format!("\"{}\"", sha256(&bytes)))
        .header("x-linked-size", bytes.len())
        .body(Body::empty())
        .unwrap()
}

/// The store breaks off in the middle of its first answer.
async fn store(
    State(stored): State<Arc<AtomicUsize>>,
    UrlPath((owner, name, file)): UrlPath<(String, String, String)>,
    headers: HeaderMap,
) -> Response<Body> {
    let (bytes, _) = content(&format!("{owner}/{name}"), &file).unwrap();
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let from: usize =
        range.map_or(0, |range| range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap());
    let rest = bytes[from..].to_vec();
    let answer = Response::builder().header(header::CONTENT_LENGTH, rest.len()).header(header::ETAG, "\"s\"");
    let answer = if range.is_none() {
        answer
    } else {
        let span = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
        answer.status(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, span)
    };
    if stored.fetch_add(1, Ordering::Relaxed) > 0 {
        return answer.body(Body::from(rest)).unwrap();
    }
    let half = rest[..rest.len() / 2].to_vec();
    let pieces = [Ok(half), Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))];
    answer.body(Body::from_stream(futures::stream::iter(pieces))).unwrap()
}

async fn serve(router: Router) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut task = JoinSet::new();
    task.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, task)
}

impl Hub {
    async fn start() -> Self {
        let stored = Arc::new(AtomicUsize::new(0));
        let router = Router::new()
            .route("/{owner}/{name}/resolve/{revision}/{*file}", any(resolve))
            .route("/store/{owner}/{name}/{*file}", get(store))
            .with_state(Arc::clone(&stored));
        let (url, task) = serve(router).await;
        Self { url, stored, _task: task }
    }
}

/// A folder for models, and commands that know it.
struct Bed {
    folder: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn models(&self) -> PathBuf {
        self.folder.path().join("models")
    }

    async fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(&[], arguments).await
    }

    async fn run_with(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Finished {
        let models = self.models().display().to_string();
        let environment: Vec<(String, String)> = [("MODELS_DIR", models.as_str())]
            .iter()
            .chain(environment)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        finish(&environment, arguments, "").await
    }

    async fn pull(&self, hub: &Hub, more: &[&str]) -> Finished {
        self.run(&[&["models", "pull", "multilingual", "--hub", &hub.url][..], more].concat()).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_is_fetched_whole_over_a_cut_connection_and_is_then_in_use() {
    let (hub, bed) = (Hub::start().await, Bed::new());
    let pulled = bed.pull(&hub, &["--revision", "main"]).await;
    assert_eq!(hub.stored.load(Ordering::Relaxed), 5, "four files, one of them in two halves");
    assert!(pulled.stderr.contains("fetching multilingual-e5-small/model.onnx"), "{}", pulled.stderr);
    for (name, repository, ..) in SET {
        let manifest = std::fs::read_to_string(bed.models().join(name).join("model.toml")).unwrap();
        assert!(manifest.contains(&format!("origin = \"{repository}@{COMMIT}\"")), "{manifest}");
        // Without its range relevance would go by shared words; without what is expected nobody would see what is lost.
        let key = if name == SET[0].0 { "cosine = [0.7,0.9]" } else { "[expected]\nen = 81" };
        assert!(manifest.contains(key), "{manifest}");
        assert!(pulled.stdout.contains(&format!("fetched: {name}")), "{}", pulled.stdout);
    }
    let again = bed.pull(&hub, &["--revision", "main", "--json"]).await;
    assert_eq!(hub.stored.load(Ordering::Relaxed), 5, "nothing is fetched twice");
    let told: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(told["models"][0]["fetched"], false, "{told:#}");
    let listed = bed.run(&["models", "--json"]).await.json();
    // Those that ship keep the languages that they read; a set that is named judges all of them.
    let shipped = if cfg!(feature = "models") { "mpnet-nli-en-ru-uk-int8+" } else { "" };
    assert_eq!(listed["in_use"]["stance"], format!("{shipped}mdeberta-v3-base-xnli"), "{listed:#}");
    assert_eq!(listed["in_use"]["embedding"], "multilingual-e5-small");
    let named = [("INFERENCE_STANCE", "mdeberta-v3-base-xnli")];
    let named = bed.run_with(&named, &["models", "--json"]).await.json();
    assert_eq!(named["in_use"]["stance"], "mdeberta-v3-base-xnli", "{named:#}");
    let text = bed.run(&["models", "list"]).await;
    assert!(text.ok().contains("mdeberta-v3-base-xnli") && text.stdout.contains("MIT"), "{}", text.stdout);
    // What runs here is another question than what is here.
    let verified = bed.run(&["models", "verify", SET[1].0]).await;
    if cfg!(feature = "models") {
        // Its weights are random, which is what the pairs are there to find.
        assert!(verified.code == 1 && verified.stdout.contains("checksums right, loaded in"), "{}", verified.stdout);
        assert!(verified.stdout.starts_with("WEAK") && verified.stdout.contains("right on "), "{}", verified.stdout);
        assert!(pulled.stdout.contains("another file of it"), "{}", pulled.stdout);
        assert_eq!((pulled.code, again.code), (0, 0), "{}{}", pulled.stdout, pulled.stderr);
    } else {
        assert!(verified.code == 1 && verified.stdout.contains("cannot be run by this build"), "{}", verified.stdout);
    }
    std::fs::write(bed.models().join(SET[1].0).join("tokenizer.json"), "{}").unwrap();
    let damaged = bed.run(&["models", "verify"]).await;
    assert_eq!(damaged.code, 1);
    assert!(damaged.stdout.contains("FAIL") && damaged.stdout.contains("fetch it again"), "{}", damaged.stdout);
    bed.pull(&hub, &["--revision", "main"]).await;
    assert!(!bed.run(&["models", "verify"]).await.stdout.contains("fetch it again"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_what_was_pinned_is_refused_and_nothing_is_left_that_could_be_used() {
    let (hub, bed) = (Hub::start().await, Bed::new());
    let refused = bed.pull(&hub, &[]).await;
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stderr.contains("onnx/tokenizer.json"), "{}", refused.stderr);
    assert_eq!(bed.run(&["models", "--json"]).await.json()["problems"], json!([]));
    let wrong = bed.pull(&hub, &["--revision", "v2"]).await;
    assert!(wrong.code == 1 && wrong.stderr.contains("the hub has no"), "{}", wrong.stderr);
    let nobody = format!("http://{}", free_address());
    let away = bed.run(&["models", "pull", "multilingual", "--hub", &nobody, "--revision", "main"]).await;
    assert_eq!(away.code, 69, "{}", away.stderr);
    assert!(away.stderr.contains("cannot be reached"), "{}", away.stderr);
}

#[tokio::test]
async fn a_person_is_told_what_there_is_and_what_is_missing() {
    let bed = Bed::new();
    let sets = bed.run(&["models", "pull"]).await;
    assert!(sets.ok().contains("multilingual-small") && sets.stdout.contains("MIT"), "{}", sets.stdout);
    assert!(bed.run(&["models", "pull", "--json"]).await.json()[0]["models"][0]["repository"].is_string());
    let unknown = bed.run(&["models", "pull", "everything"]).await;
    assert!(
        unknown.code == 2 && unknown.stderr.contains("multilingual, multilingual-int8, multilingual-small"),
        "{}",
        unknown.stderr
    );
    let no_folder = finish(&[], &["models", "pull", "multilingual"], "").await;
    assert!(no_folder.code == 78 && no_folder.stderr.contains("MODELS_DIR="), "{}", no_folder.stderr);
    assert_eq!(bed.run(&["models", "pull", "multilingual", "--hub", "file:///tmp"]).await.code, 2);
    assert_eq!(bed.run(&["models", "verify", "nobody"]).await.code, 2);
    if cfg!(feature = "models") {
        let lost = "without the cosine, for which the embedder minilm-en-ru-uk-int8";
        assert!(!finish(&[], &["models", "verify"], "").await.ok().contains(lost));
        let hashed = [("INFERENCE_EMBEDDER".to_owned(), "hashed".to_owned())];
        let verified = finish(&hashed, &["models", "verify"], "").await;
        assert!(verified.ok().contains(lost), "{}", verified.stdout);
    }
    let absent = bed.run(&["models", "list"]).await;
    assert!(absent.stderr.contains("MODELS_DIR"), "a folder that is not there is named: {}", absent.stderr);
    for arguments in [&["models", "--help"][..], &["models", "pull", "--help"]] {
        assert!(bed.run(arguments).await.ok().contains("Examples"), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_on_servers_are_listed_as_in_use_and_a_server_that_is_away_is_a_problem() {
    let info = json!({
        "model_id": "BAAI/bge-small-en-v1.5", "model_type": { "embedding": { "pooling": "cls" } },
        "max_input_length": 512, "max_client_batch_size": 32
    });
    let router = Router::new()
        .route("/info", get(move || async move { axum::Json(info) }))
        .route("/embed", axum::routing::post(|| async { axum::Json(json!([[1.0, 2.0, 2.0]])) }));
    let (url, _task) = serve(router).await;
    let bed = Bed::new();
    std::fs::create_dir(bed.models()).unwrap();
    let listed = bed.run_with(&[("INFERENCE_BASE_URL", &url)], &["models", "--json"]).await.json();
    assert_eq!(listed["in_use"]["embedding"], "BAAI/bge-small-en-v1.5", "{listed:#}");
    assert_eq!(listed["models"][0]["location"], url);
    let verified = bed.run_with(&[("INFERENCE_BASE_URL", &url)], &["models", "verify", "BAAI/bge-small-en-v1.5"]).await;
    assert!(verified.ok().contains("the server answers"), "{}", verified.stdout);
    let nobody = format!("http://{}", free_address());
    let away = bed.run_with(&[("INFERENCE_STANCE_URL", &nobody)], &["models", "list"]).await;
    assert!(away.code == 0 && away.stderr.contains("unset INFERENCE_STANCE_URL"), "{}", away.stderr);
    assert_eq!(bed.run_with(&[("INFERENCE_STANCE_URL", &nobody)], &["models", "verify"]).await.code, 1);
}

/// A round passes over what a transaction holds; it must not wait for the next start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentence_that_is_in_use_while_all_others_are_re_embedded_is_come_back_for() {
    let Some(app) = TestApp::new(stories::world()).await else { return };
    let daemon = app.start().await;
    app.upstream.publish("item.new", &item("first", TOLD)).await;
    app.upstream.result("first", 1).await;
    daemon.stop().await;
    sqlx::query("UPDATE evidence_claims SET embedder = 'another'").execute(&app.database).await.unwrap();
    let mut held = app.database.begin().await.unwrap();
    // Not one of the facts that come with the program: those are re-embedded where they are installed.
    let one = "SELECT said.id FROM evidence_claims said JOIN evidence_sources page ON page.id = said.evidence_id \
               WHERE page.origin = 'web' ORDER BY said.id LIMIT 1 FOR UPDATE OF said";
    sqlx::query(one).fetch_one(&mut *held).await.unwrap();

    let daemon = app.start().await;
    let left = async || app.count("evidence_claims WHERE embedder = 'another'").await;
    until("all others are re-embedded", async || left().await == 1).await;
    // As long as the rest of the first round takes, which ends at the one that is held.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(left().await, 1);
    held.rollback().await.unwrap();
    until("what was held is re-embedded as well", async || left().await == 0).await;
    app.finish(daemon).await;
}

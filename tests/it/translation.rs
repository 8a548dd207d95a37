//! What no stance model reads is judged in translation: by model folders of the architectures that people bring (encoders
//! of `tests/fixtures/models`, whose random weights mean nothing by what they answer), with documents of a folder for the
//! evidence and a translation server on a local port.
#![cfg(all(test, feature = "models", feature = "embedded"))]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::support::daemon::finish;

const CLAIM: &str = "Порт Велмора отгрузил 4200 тонн зерна в октябре 2026 года.";
const REPORT: &str = "В октябре 2026 года порт Велмора отправил морем 4200 тонн зерна, сообщил начальник порта.";
/// What the server knows in English.
const KNOWN: [(&str, &str); 2] = [
    (CLAIM, "The port of Velmora shipped 4200 tonnes of grain in October 2026."),
    (REPORT, "In October 2026 the port of Velmora sent 4200 tonnes of grain by sea, its harbour master said."),
];

/// The texts that a server was asked for, with the language asked for.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// A server that speaks as `LibreTranslate` does, until dropped.
struct TranslationServer {
    url: String,
    asked: Asked,
    _task: JoinSet<()>,
}

async fn translate(State(asked): State<Asked>, Json(body): Json<Value>) -> Result<Json<Value>, StatusCode> {
    let field = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let (text, into) = (field("q"), field("target"));
    asked.lock().unwrap().push((text.clone(), into.clone()));
    let known = KNOWN.iter().find(|(original, _)| into == "en" && text == *original);
    known.map(|(_, english)| Json(json!({ "translatedText": english }))).ok_or(StatusCode::BAD_REQUEST)
}

impl TranslationServer {
    async fn start() -> Self {
        let asked = Asked::default();
        let router = Router::new().route("/translate", post(translate)).with_state(Arc::clone(&asked));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, asked, _task: task }
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.asked.lock().unwrap().clone()
    }
}

/// A folder for `MODELS_DIR` with that fixture, as a model of these languages.
fn models(of: &Path, fixture: &str, languages: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(fixture);
    let models = of.join("models");
    let folder = models.join(fixture);
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(from.join(file), folder.join(file)).unwrap();
    }
    let manifest = std::fs::read_to_string(from.join("model.toml")).unwrap();
    let own = manifest.replace("languages = [\"*\"]", &format!("languages = [\"{languages}\"]"));
    assert!(own.contains(&format!("[\"{languages}\"]")), "{manifest}");
    std::fs::write(folder.join("model.toml"), own).unwrap();
    models
}

/// The claim as `check` answers it where that model judges, the report is the only document and the server translates.
async fn checked(server: &TranslationServer, fixture: &str, languages: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(folder.path().join("documents")).unwrap();
    std::fs::write(folder.path().join("documents/2026-11-02-port.txt"), REPORT).unwrap();
    let models = models(folder.path(), fixture, languages);
    let environment: Vec<(String, String)> = [
        ("CORROBORATE_DATA_DIR", at("data")),
        ("MODELS_DIR", models.display().to_string()),
        ("TRANSLATE_BASE_URL", server.url.clone()),
        ("ENRICHMENT_PROVIDERS", "opensearch".to_owned()),
        ("ENRICHMENT_FEEDS_ENABLED", "false".to_owned()),
        ("ENRICHMENT_CORPUS_FOLDER", at("documents")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    finish(&environment, &["check", "--json", CLAIM], "").await.json()["claims"][0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_of_english_judges_a_russian_claim_and_passage_in_translation() {
    for fixture in ["bert-stance-int8", "bert-stance-dynamic"] {
        let server = TranslationServer::start().await;
        let claim = checked(&server, fixture, "en").await;
        assert_eq!(claim["judge"], format!("model:{fixture}+translated"), "{claim:#}");
        assert_eq!(claim["evidence"][0]["passage"], REPORT, "what is shown is what was written: {claim:#}");
        let mut asked = server.asked();
        asked.sort();
        let mut expected = KNOWN.map(|(original, _)| (original.to_owned(), "en".to_owned()));
        expected.sort();
        assert_eq!(asked, expected, "the claim and the passage, each once");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_multilingual_model_judges_them_as_they_stand_and_nothing_is_translated() {
    for fixture in ["xlm-roberta-stance-int8", "xlm-roberta-stance-dynamic"] {
        let server = TranslationServer::start().await;
        let claim = checked(&server, fixture, "*").await;
        assert_eq!(claim["judge"], format!("model:{fixture}"), "{claim:#}");
        assert_eq!(claim["evidence"][0]["passage"], REPORT, "{claim:#}");
        assert_eq!(server.asked(), [], "a translation costs, and loses something");
    }
}

//! The commands about models, with model servers on local ports.
#![cfg(test)]

use std::path::{Path, PathBuf};

use axum::Router;
use axum::routing::get;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::support::app::TestApp;
use crate::support::daemon::{Finished, finish, free_address, until};
use crate::support::stories::{self, TOLD, item};

async fn serve(router: Router) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut task = JoinSet::new();
    task.spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, task)
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
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_reports_a_changed_file() {
    let bed = Bed::new();
    let name = "bert-stance-dynamic";
    let (from, to) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models").join(name), bed.models().join(name));
    std::fs::create_dir_all(&to).unwrap();
    for file in ["model.onnx", "model.toml", "tokenizer.json"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let listed = bed.run(&["models", "--json"]).await.json();
    assert_eq!(listed["in_use"]["stance"], name, "{listed:#}");
    let verified = bed.run(&["models", "verify", name]).await;
    if cfg!(feature = "models") {
        assert!(verified.ok().contains("checksums right, loaded in"), "{}", verified.stdout);
    } else {
        assert!(verified.code == 1 && verified.stdout.contains("cannot be run by this build"), "{}", verified.stdout);
    }
    std::fs::write(to.join("tokenizer.json"), "{}").unwrap();
    let damaged = bed.run(&["models", "verify", name]).await;
    assert!(damaged.code == 1 && damaged.stdout.contains("FAIL"), "{}", damaged.stdout);
}

#[tokio::test]
async fn help_and_hints_name_the_models_folder() {
    let bed = Bed::new();
    assert_eq!(bed.run(&["models", "verify", "nobody"]).await.code, 2);
    if cfg!(feature = "models") {
        finish(&[], &["models", "verify"], "").await.ok();
    }
    let absent = bed.run(&["models", "list"]).await;
    assert!(absent.stderr.contains("MODELS_DIR"), "{}", absent.stderr);
    assert!(bed.run(&["models", "--help"]).await.ok().contains("Examples"));
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

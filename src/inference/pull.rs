//! Downloads models from a hub into the models folder, one run at a time.
//!
//! Files are downloaded to a staging folder, `model.toml` is written last, checksums are verified, and a rename
//! installs the model. The next run continues an interrupted one. An incomplete model is never installed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::folder::MANIFEST_FILE;
use super::labels::labels_of;
use super::sets::{HubModel, PinnedFile};
use super::{Label, ModelError, ModelFolder, Pooling, Task};
use crate::outbound::hub::{FileFacts, HubClient, HubError, HubFile};

/// Staging folder. Without its own `model.toml`, it is not taken for a model.
const STAGING: &str = ".pull";

#[derive(Debug, thiserror::Error)]
pub enum PullError {
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error("another `corroborate models pull` is running in {}; wait until it ends", folder.display())]
    Busy { folder: PathBuf },
    #[error("{} cannot be written: {detail}; give MODELS_DIR a folder that this user may write", path.display())]
    Folder { path: PathBuf, detail: String },
    #[error("{} is there already and was not fetched by this command; move it away first", path.display())]
    Foreign { path: PathBuf },
    #[error("config.json of {repository} is not usable: {detail}; select another revision with --revision")]
    Configuration { repository: &'static str, detail: String },
    #[error("the downloaded files are not a usable model: {0}")]
    Model(#[from] ModelError),
}

/// Progress of a run; sizes in bytes.
#[derive(Debug, Clone, Copy)]
pub enum PullEvent<'a> {
    Begins {
        model: &'a str,
        file: &'a str,
        size: Option<u64>,
    },
    /// Bytes downloaded so far.
    Progress {
        bytes: u64,
    },
    /// The file is complete and verified.
    Ends {
        file: &'a str,
    },
}

pub type Hears<'a> = &'a (dyn Fn(PullEvent<'_>) + Send + Sync);

#[derive(Debug)]
pub struct Pulled {
    pub folder: ModelFolder,
    /// The model was already installed and valid.
    pub was_there: bool,
}

/// Locks the models folder until it is dropped.
#[derive(Debug)]
pub struct PullLock {
    models_dir: PathBuf,
    _file: File,
}

impl PullLock {
    pub fn take(models_dir: &Path) -> Result<Self, PullError> {
        let staging = models_dir.join(STAGING);
        let failed =
            |error: std::io::Error| PullError::Folder { path: models_dir.to_owned(), detail: error.to_string() };
        std::fs::create_dir_all(&staging).map_err(failed)?;
        let file =
            File::options().create(true).truncate(false).write(true).open(staging.join("lock")).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { models_dir: models_dir.to_owned(), _file: file }),
            Err(TryLockError::WouldBlock) => Err(PullError::Busy { folder: models_dir.to_owned() }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Installs one model, unless it is already installed and valid.
    ///
    /// With `revision`, the hub's checksums are trusted. Otherwise the commit and checksums of [`super::sets`] apply.
    pub async fn pull(
        &self,
        hub: &HubClient,
        model: &'static HubModel,
        revision: Option<&str>,
        hears: Hears<'_>,
    ) -> Result<Pulled, PullError> {
        let at = |path| HubFile { repository: model.repository, revision: revision.unwrap_or(model.commit), path };
        let commit = match revision {
            None => model.commit.to_owned(),
            // A branch can move, so its current commit is used for all files.
            Some(named) => hub.facts(at(model.configuration)).await?.commit.unwrap_or_else(|| named.to_owned()),
        };
        let origin = origin(model, &commit);
        let place = self.models_dir.join(model.name);
        if let Some(folder) = there(&place, model, &origin)? {
            return Ok(Pulled { folder, was_there: true });
        }
        let staging = self.models_dir.join(STAGING).join(model.name);
        let failed = |error: std::io::Error| PullError::Folder { path: staging.clone(), detail: error.to_string() };
        std::fs::create_dir_all(&staging).map_err(failed)?;
        let at = |path| HubFile { revision: &commit, ..at(path) };
        let configuration = hub.read(at(model.configuration)).await?;
        let read = read_configuration(model, &configuration)?;
        let mut sums = Vec::with_capacity(2);
        // The small file comes first: a refusal then saves the large download.
        for (file, name) in [(model.tokenizer, "tokenizer.json"), (model.model, "model.onnx")] {
            let facts = facts(hub, at(file.path), file, revision.is_none()).await?;
            hears(PullEvent::Begins { model: model.name, file: name, size: facts.size });
            let progress = |bytes| hears(PullEvent::Progress { bytes });
            let sum = hub.download(at(file.path), &facts, &staging.join(name), &progress).await?;
            hears(PullEvent::Ends { file: name });
            sums.push((name, sum));
        }
        std::fs::write(staging.join(MANIFEST_FILE), manifest(model, &read, &origin, &sums)).map_err(failed)?;
        ModelFolder::read(&staging)?.verify()?;
        only_its_files(&staging).map_err(failed)?;
        self.settle(&staging, &place)?;
        Ok(Pulled { folder: ModelFolder::read(&place)?, was_there: false })
    }

    fn settle(&self, staging: &Path, place: &Path) -> Result<(), PullError> {
        let failed = |error: std::io::Error| PullError::Folder { path: place.to_owned(), detail: error.to_string() };
        let old = self.models_dir.join(STAGING).join("replaced");
        if place.exists() {
            // Left by a run that was interrupted here.
            drop(std::fs::remove_dir_all(&old));
            std::fs::rename(place, &old).map_err(failed)?;
        }
        std::fs::rename(staging, place).map_err(failed)?;
        drop(std::fs::remove_dir_all(&old));
        Ok(())
    }
}

fn only_its_files(staging: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(staging)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !matches!(name, "model.onnx" | "tokenizer.json" | MANIFEST_FILE) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn origin(model: &HubModel, commit: &str) -> String {
    format!("{}@{commit}", model.repository)
}

/// Returns the installed model if it has the expected origin and is valid. A damaged one, or another revision, is
/// downloaded again.
///
/// # Errors
/// [`PullError::Foreign`] if it does not come from this command.
fn there(place: &Path, model: &HubModel, origin: &str) -> Result<Option<ModelFolder>, PullError> {
    if !place.exists() {
        return Ok(None);
    }
    let foreign = || PullError::Foreign { path: place.to_owned() };
    let Ok(folder) = ModelFolder::read(place) else { return Err(foreign()) };
    let stands = folder.manifest.origin.as_deref().unwrap_or_default();
    if stands == origin && folder.verify().is_ok() {
        return Ok(Some(folder));
    }
    if stands.starts_with(&format!("{}@", model.repository)) { Ok(None) } else { Err(foreign()) }
}

/// Returns the pinned size and checksum, or the hub's.
async fn facts(hub: &HubClient, at: HubFile<'_>, file: PinnedFile, pinned: bool) -> Result<FileFacts, HubError> {
    if pinned && let (Some(size), Some(sum)) = (file.size, file.sha256) {
        return Ok(FileFacts::known(Some(size), Some(sum.to_owned())));
    }
    hub.facts(at).await
}

/// Values from `config.json` for `model.toml`.
#[derive(Debug)]
enum Outputs {
    Labels(Vec<Label>),
    Dimension(usize),
    Relevance,
}

#[derive(Debug, Deserialize)]
struct Configuration {
    #[serde(default)]
    id2label: BTreeMap<String, String>,
    hidden_size: Option<usize>,
}

fn read_configuration(model: &HubModel, bytes: &[u8]) -> Result<Outputs, PullError> {
    let wrong = |detail: String| PullError::Configuration { repository: model.repository, detail };
    let configuration: Configuration = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(match model.task {
        Task::Stance => {
            Outputs::Labels(labels_of(&configuration.id2label).map_err(|words| {
                wrong(format!("its labels are {words:?}, not entailment, neutral and contradiction"))
            })?)
        }
        Task::Embedding => {
            Outputs::Dimension(configuration.hidden_size.ok_or_else(|| wrong("it names no hidden_size".to_owned()))?)
        }
        Task::Relevance => Outputs::Relevance,
    })
}

fn manifest(model: &HubModel, outputs: &Outputs, origin: &str, sums: &[(&str, String)]) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = String::from("# Written by `corroborate models pull`.\n");
    let mut line = |key: &str, value: String| {
        let _infallible = writeln!(text, "{key} = {value}");
    };
    line("name", quoted(model.name));
    line("task", quoted(model.task.as_str()));
    line("model", quoted("model.onnx"));
    line("tokenizer", quoted("tokenizer.json"));
    line("max_length", model.max_length.to_string());
    match outputs {
        Outputs::Labels(labels) => line("labels", serde_json::json!(labels).to_string()),
        Outputs::Dimension(dimension) => {
            line("pooling", serde_json::json!(model.pooling.unwrap_or(Pooling::Mean)).to_string());
            line("dimension", dimension.to_string());
            // Without this key, relevance uses shared words.
            if let Some(cosine) = model.cosine {
                line("cosine", serde_json::json!(cosine).to_string());
            }
        }
        Outputs::Relevance => {}
    }
    for (key, prefix) in [("query_prefix", model.query_prefix), ("passage_prefix", model.passage_prefix)] {
        if !prefix.is_empty() {
            line(key, quoted(prefix));
        }
    }
    line("languages", "[\"*\"]".to_owned());
    line("licence", quoted(model.licence));
    line("origin", quoted(origin));
    if !model.expected.is_empty() {
        text.push_str("\n[expected]\n");
    }
    for (language, right) in model.expected {
        let _infallible = writeln!(text, "{language} = {right}");
    }
    text.push_str("\n[sha256]\n");
    for (name, sum) in sums {
        let _infallible = writeln!(text, "{} = {}", quoted(name), quoted(sum));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::outbound::hub::test_hub::{COMMIT, Faults, TestHub, sha256};

    const JUDGE: HubModel = HubModel {
        name: "judge",
        task: Task::Stance,
        repository: "acme/judge",
        commit: COMMIT,
        model: PinnedFile { path: "onnx/model.onnx", size: None, sha256: None },
        tokenizer: PinnedFile { path: "tokenizer.json", size: None, sha256: None },
        configuration: "config.json",
        max_length: 512,
        pooling: None,
        cosine: None,
        expected: &[("en", 81), ("ru", 70)],
        query_prefix: "",
        passage_prefix: "",
        licence: "MIT",
    };
    const VECTORS: HubModel = HubModel {
        name: "vectors",
        task: Task::Embedding,
        repository: "acme/vectors",
        pooling: Some(Pooling::Mean),
        cosine: Some([0.7, 0.9]),
        expected: &[],
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        ..JUDGE
    };
    const PINNED: HubModel = HubModel {
        model: PinnedFile {
            path: "onnx/model.onnx",
            size: Some(7),
            sha256: Some("0000000000000000000000000000000000000000000000000000000000000000"),
        },
        ..JUDGE
    };
    const CONFIGURATION: &str =
        r#"{"hidden_size":384,"id2label":{"2":"contradiction","0":"entailment","1":"neutral"},"architectures":["X"]}"#;

    async fn hub(configuration: &str, faults: Faults) -> TestHub {
        let files = [
            ("onnx/model.onnx", b"weights".to_vec(), true),
            ("tokenizer.json", b"{\"tokens\":1}".to_vec(), false),
            ("config.json", configuration.as_bytes().to_vec(), false),
        ];
        TestHub::start(&files, faults).await
    }

    fn client(hub: &TestHub) -> HubClient {
        HubClient::new("test", hub.url(), None).unwrap()
    }

    async fn pull(hub: &TestHub, models: &Path, model: &'static HubModel) -> Result<Pulled, PullError> {
        PullLock::take(models)?.pull(&client(hub), model, None, &|_| {}).await
    }

    #[tokio::test]
    async fn a_model_is_put_in_its_place_whole_and_a_second_run_does_nothing() {
        let (hub, models) = (hub(CONFIGURATION, Faults::default()).await, tempfile::tempdir().unwrap());
        let heard = Mutex::new(Vec::new());
        let hears = |event: PullEvent<'_>| heard.lock().unwrap().push(format!("{event:?}"));
        let lock = PullLock::take(models.path()).unwrap();
        let first = lock.pull(&client(&hub), &JUDGE, None, &hears).await.unwrap();
        let read = &first.folder.manifest;
        assert!(!first.was_there);
        assert_eq!(read.labels, [Label::Entail, Label::Neutral, Label::Contradict]);
        assert_eq!(read.origin.as_deref(), Some(format!("acme/judge@{COMMIT}").as_str()));
        assert_eq!((read.licence.as_deref(), &read.languages[..]), (Some("MIT"), &["*".to_owned()][..]));
        assert_eq!(read.sha256["model.onnx"], sha256(b"weights"));
        assert_eq!(heard.lock().unwrap()[0], "Begins { model: \"judge\", file: \"tokenizer.json\", size: Some(12) }");
        let vectors = lock.pull(&client(&hub), &VECTORS, Some("main"), &|_| {}).await.unwrap().folder.manifest;
        assert_eq!((vectors.dimension, vectors.query_prefix.as_str()), (Some(384), "query: "));
        assert_eq!((vectors.cosine, read.cosine), (Some([0.7, 0.9]), None));
        assert_eq!((read.expected.get("en"), read.expected.len(), vectors.expected.len()), (Some(&81), 2, 0));
        assert_eq!(vectors.origin, Some(format!("acme/vectors@{COMMIT}")), "a branch is noted as what it stood for");
        let names: Vec<String> =
            crate::inference::scan(models.path()).unwrap().into_iter().map(|found| found.manifest.name).collect();
        assert_eq!(names, ["judge", "vectors"]);
        let asked = hub.server.seen().len();
        assert!(lock.pull(&client(&hub), &JUDGE, None, &|_| {}).await.unwrap().was_there);
        assert_eq!(hub.server.seen().len(), asked, "nothing was asked");
        assert!(lock.pull(&client(&hub), &VECTORS, Some("main"), &|_| {}).await.unwrap().was_there);
    }

    #[tokio::test]
    async fn a_damaged_model_is_fetched_again_and_a_foreign_one_left_alone() {
        let (hub, models) = (hub(CONFIGURATION, Faults::default()).await, tempfile::tempdir().unwrap());
        pull(&hub, models.path(), &JUDGE).await.unwrap();
        let place = models.path().join("judge");
        std::fs::write(place.join("model.onnx"), "garbage").unwrap();
        let again = pull(&hub, models.path(), &JUDGE).await.unwrap();
        assert!(!again.was_there && again.folder.verify().is_ok());
        let manifest = std::fs::read_to_string(place.join(MANIFEST_FILE)).unwrap();
        std::fs::write(place.join(MANIFEST_FILE), manifest.replace("acme/judge@", "mine:")).unwrap();
        let error = pull(&hub, models.path(), &JUDGE).await.unwrap_err();
        assert!(matches!(error, PullError::Foreign { .. }), "{error}");
    }

    #[tokio::test]
    async fn what_is_not_what_was_pinned_or_promised_never_becomes_a_model() {
        let models = tempfile::tempdir().unwrap();
        let other = hub(CONFIGURATION, Faults::default()).await;
        let error = pull(&other, models.path(), &PINNED).await.unwrap_err();
        assert!(error.to_string().contains("was deleted"), "{error}");
        let wrong = hub(CONFIGURATION, Faults { wrong_bytes: true, ..Faults::default() }).await;
        assert!(matches!(pull(&wrong, models.path(), &JUDGE).await, Err(PullError::Hub(HubError::Checksum { .. }))));
        let unnamed = hub(r#"{"id2label":{"0":"LABEL_0","1":"LABEL_1"}}"#, Faults::default()).await;
        let error = pull(&unnamed, models.path(), &JUDGE).await.unwrap_err().to_string();
        assert!(error.contains("LABEL_0, LABEL_1") && error.contains("acme/judge"), "{error}");
        assert!(crate::inference::scan(models.path()).unwrap().is_empty());
        // A model from another hub must not reuse these files.
        std::fs::write(models.path().join(STAGING).join("judge/model.onnx.0123456789ab.part"), "half").unwrap();
        assert!(!pull(&other, models.path(), &JUDGE).await.unwrap().was_there);
        assert_eq!(std::fs::read_dir(models.path().join("judge")).unwrap().count(), 3);
    }

    #[tokio::test]
    async fn one_run_at_a_time_works_on_a_folder() {
        let models = tempfile::tempdir().unwrap();
        let held = PullLock::take(models.path()).unwrap();
        assert!(matches!(PullLock::take(models.path()), Err(PullError::Busy { .. })));
        drop(held);
        assert!(PullLock::take(models.path()).is_ok());
        let file = models.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(PullLock::take(&file), Err(PullError::Folder { .. })));
    }
}

//! `models`: lists and verifies models.
//!
//! Models are in `MODELS_DIR`, in the binary and on servers.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use super::arguments::ModelsAction;
use super::failure::Failure;
use super::output::{Colour, Output};
use crate::config::Config;
use crate::domain::{Clock, SystemClock};
use crate::inference::choice::{self, choose};
use crate::inference::remote::{self, Patience, RemoteModels};
use crate::inference::{Embedder as _, ModelFolder, Reranker as _, StanceModel as _, Task, scan};
use crate::judging::plain::plain;
use crate::outbound::HttpClient;

pub(super) async fn run(config: &Config, action: Option<ModelsAction>, output: Output) -> Result<(), Failure> {
    let inventory = inventory(config).await?;
    match action {
        None | Some(ModelsAction::List) => list(inventory, config, output),
        Some(ModelsAction::Verify { names }) => verify(&inventory, &names, output),
    }
}

/// All models, and errors that hide others.
struct ModelInventory {
    /// In `MODELS_DIR`.
    brought: Vec<ModelFolder>,
    shipped: Vec<ModelFolder>,
    /// On servers.
    served: Vec<ServedModel>,
    problems: Vec<String>,
}

struct ServedModel {
    task: Task,
    name: String,
    location: String,
}

/// Does not wait for model servers.
async fn inventory(config: &Config) -> Result<ModelInventory, Failure> {
    let mut problems = Vec::new();
    let brought = config.models_dir.as_deref().map_or(Ok(Vec::new()), scan);
    let brought = brought.unwrap_or_else(|error| {
        problems.push(error.to_string());
        Vec::new()
    });
    let mut remote = RemoteModels::default();
    if config.inference.servers().next().is_some() {
        let http =
            HttpClient::live(&config.fetch.user_agent).map_err(|error| Failure::unavailable(error.to_string()))?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        match remote::connect(&config.inference, &http, &clock, Patience::NONE).await {
            Ok(models) => remote = models,
            Err(error) => problems.push(error.to_string()),
        }
    }
    let served =
        |task, name: &str, location| ServedModel { task, name: name.trim_start_matches("model:").to_owned(), location };
    let served = [
        remote.embedder.map(|one| served(Task::Embedding, one.name(), one.location())),
        remote.stance.map(|one| served(Task::Stance, one.name(), one.location())),
        remote.reranker.map(|one| served(Task::Relevance, one.name(), one.location())),
    ];
    Ok(ModelInventory {
        brought,
        shipped: ModelFolder::bundled(),
        served: served.into_iter().flatten().collect(),
        problems,
    })
}

#[derive(Debug, Serialize)]
struct Row {
    task: Task,
    name: String,
    /// A path, an address, or the binary.
    location: String,
    in_use: bool,
    /// Unknown for servers.
    size: Option<u64>,
    /// ISO 639-1, or `*`; empty if unknown.
    languages: Vec<String>,
    licence: Option<String>,
    origin: Option<String>,
}

/// Per task: the name, or the word for none.
#[derive(Debug, Serialize)]
struct ModelsInUse {
    embedding: String,
    stance: String,
    relevance: String,
}

#[derive(Debug, Serialize)]
struct ModelList {
    models: Vec<Row>,
    in_use: ModelsInUse,
    problems: Vec<String>,
}

impl ModelInventory {
    fn folders(&self) -> impl Iterator<Item = &ModelFolder> {
        self.brought.iter().chain(&self.shipped)
    }

    /// Returns the name and place of the model in use: a server's before a folder's.
    fn used(&self, task: Task, config: &Config) -> Result<Option<(String, String)>, choice::ChoiceError> {
        if let Some(served) = self.served.iter().find(|served| served.task == task) {
            return Ok(Some((served.name.clone(), served.location.clone())));
        }
        let chosen = choose(task, choice::wanted(&config.inference, task), &self.brought, &self.shipped)?;
        Ok(chosen.map(|folder| (folder.manifest.name.clone(), folder.location())))
    }

    fn listed(mut self, config: &Config) -> ModelList {
        let mut problems = std::mem::take(&mut self.problems);
        let mut used = |task| {
            self.used(task, config).unwrap_or_else(|error| {
                problems.push(error.to_string());
                None
            })
        };
        let used = Task::ALL.map(|task| (task, used(task)));
        let is_used = |task: Task, place: &str| {
            used.iter().any(|(of, model)| *of == task && model.as_ref().is_some_and(|(_, used)| used == place))
        };
        let served = self.served.iter().map(|served| Row {
            task: served.task,
            name: served.name.clone(),
            location: served.location.clone(),
            in_use: true,
            size: None,
            languages: Vec::new(),
            licence: None,
            origin: None,
        });
        let folders = self.folders().map(|folder| Row {
            task: folder.manifest.task,
            name: folder.manifest.name.clone(),
            location: folder.location(),
            in_use: is_used(folder.manifest.task, &folder.location()),
            size: folder.size().ok(),
            languages: folder.manifest.languages.clone(),
            licence: folder.manifest.licence.clone(),
            origin: folder.manifest.origin.clone(),
        });
        let mut models: Vec<Row> = served.chain(folders).collect();
        models.sort_by(|one, other| one.task.cmp(&other.task).then(other.in_use.cmp(&one.in_use)));
        let [embedding, stance, relevance] = used.map(|(_, model)| model.map(|(name, _)| name));
        // Without a reranker, relevance is the embedder's cosine.
        let relevance = relevance
            .or_else(|| embedding.clone().filter(|_| config.inference.reranker == choice::AUTO))
            .unwrap_or_else(|| choice::without(Task::Relevance).to_owned());
        let in_use = ModelsInUse {
            embedding: embedding.unwrap_or_else(|| choice::without(Task::Embedding).to_owned()),
            stance: stance.unwrap_or_else(|| choice::without(Task::Stance).to_owned()),
            relevance,
        };
        ModelList { models, in_use, problems }
    }
}

fn list(inventory: ModelInventory, config: &Config, output: Output) -> Result<(), Failure> {
    let listed = inventory.listed(config);
    if output.json {
        return output.value(&listed);
    }
    output.text(&table(&listed, output))?;
    for problem in &listed.problems {
        output.problem(&format!("problem: {problem}"));
    }
    if config.models_dir.is_none() {
        output.hint("MODELS_DIR is not set; only the shipped models can be used");
    }
    Ok(())
}

fn table(listed: &ModelList, output: Output) -> String {
    let mut text = String::new();
    if !listed.models.is_empty() {
        let _infallible = writeln!(
            text,
            "{:<10} {:<30} {:<7} {:>7}  {:<9} {:<12} where",
            "task", "name", "in use", "size", "languages", "licence"
        );
    }
    for row in &listed.models {
        let (word, colour) = if row.in_use { ("yes", Colour::Green) } else { ("no", Colour::Dim) };
        let size = row.size.map_or_else(|| "-".to_owned(), |size| format!("{} MB", size.div_ceil(1_000_000)));
        let languages = match row.languages.as_slice() {
            [] => "-".to_owned(),
            [all] if all == "*" => "all".to_owned(),
            some => some.join(","),
        };
        let _infallible = writeln!(
            text,
            "{:<10} {:<30} {} {size:>7}  {languages:<9} {:<12} {}",
            row.task.as_str(),
            plain(&row.name),
            output.paint(&format!("{word:<7}"), colour),
            plain(row.licence.as_deref().unwrap_or("-")),
            plain(&row.location),
        );
    }
    let ModelsInUse { embedding, stance, relevance } = &listed.in_use;
    let _infallible =
        writeln!(text, "vectors: {}, stance: {}, relevance: {}", plain(embedding), plain(stance), plain(relevance));
    text
}

#[derive(Debug, Serialize)]
struct Finding {
    task: Task,
    name: String,
    location: String,
    ok: bool,
    /// What was checked, or what to do.
    detail: String,
}

/// Checks the checksums of the named models, or of all, and loads each. Models on servers were tried by the connection.
fn verify(inventory: &ModelInventory, names: &[String], output: Output) -> Result<(), Failure> {
    let problems = &inventory.problems;
    let show_problems = || problems.iter().for_each(|problem| output.problem(&format!("problem: {problem}")));
    let is_known = |name: &&String| {
        let folders = inventory.folders().map(|folder| &folder.manifest.name);
        folders.chain(inventory.served.iter().map(|served| &served.name)).any(|own| own == *name)
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        show_problems();
        return Err(Failure::new(2, format!("no model is called {unknown:?}; see `corroborate models list`")));
    }
    let is_wanted = |name: &String| names.is_empty() || names.contains(name);
    let served = inventory.served.iter().filter(|served| is_wanted(&served.name)).map(|served| Finding {
        task: served.task,
        name: served.name.clone(),
        location: served.location.clone(),
        ok: true,
        detail: "the server answers".to_owned(),
    });
    let folders = inventory.folders().filter(|folder| is_wanted(&folder.manifest.name)).map(|folder| {
        let outcome = tried(folder);
        Finding {
            task: folder.manifest.task,
            name: folder.manifest.name.clone(),
            location: folder.location(),
            ok: outcome.is_ok(),
            detail: outcome.unwrap_or_else(|problem| problem),
        }
    });
    let findings: Vec<Finding> = served.chain(folders).collect();
    let failed = findings.iter().filter(|finding| !finding.ok).count() + problems.len();
    if output.json {
        output.value(&serde_json::json!({ "ok": failed == 0, "models": findings, "problems": problems }))?;
    } else {
        output.text(&lines(&findings, output))?;
        show_problems();
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::failed(format!("{failed} of the models cannot be used; each line says what to do"))),
    }
}

/// Checksums first, because the load error of a damaged file is less clear.
fn tried(folder: &ModelFolder) -> Result<String, String> {
    folder.verify().map_err(|error| error.to_string())?;
    let sums = if folder.manifest.sha256.is_empty() { "its model.toml has no checksums" } else { "checksums right" };
    let began = std::time::Instant::now();
    load(folder)?;
    Ok(format!("{sums}, loaded in {} ms", began.elapsed().as_millis()))
}

/// Loads the model, which tries a normal and the longest input.
#[cfg(feature = "models")]
fn load(folder: &ModelFolder) -> Result<(), String> {
    use crate::inference::local::{LocalEmbedder, LocalReranker, LocalStance};

    let loaded = match folder.manifest.task {
        Task::Embedding => LocalEmbedder::load(folder).map(drop),
        Task::Stance => LocalStance::load(folder).map(drop),
        Task::Relevance => LocalReranker::load(folder).map(drop),
    };
    loaded.map_err(|error| error.to_string())
}

#[cfg(not(feature = "models"))]
fn load(folder: &ModelFolder) -> Result<(), String> {
    Err(format!("{} cannot be run by this build; build with the feature `models`", folder.location()))
}

fn lines(findings: &[Finding], output: Output) -> String {
    let mut text = String::new();
    for finding in findings {
        let (word, colour) = if finding.ok { ("ok  ", Colour::Green) } else { ("FAIL", Colour::Red) };
        let _infallible = writeln!(
            text,
            "{}  {:<10} {:<30} {}",
            output.paint(word, colour),
            finding.task.as_str(),
            plain(&finding.name),
            plain(&finding.detail)
        );
    }
    if findings.is_empty() {
        text.push_str("there is no model: vectors, stance and relevance are made by rule\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(dir: &std::path::Path, name: &str) {
        let dir = dir.join(name);
        std::fs::create_dir(&dir).unwrap();
        let text = format!(
            "name = \"{name}\"\ntask = \"stance\"\nmodel = \"m\"\ntokenizer = \"t\"\nmax_length = 64\nlicence = \"MIT\"\n\
             labels = [\"entail\", \"not_entail\"]\n"
        );
        std::fs::write(dir.join("model.toml"), text).unwrap();
        std::fs::write(dir.join("m"), vec![0; 1_500_000]).unwrap();
        std::fs::write(dir.join("t"), "{}").unwrap();
    }

    fn listed(config: &Config) -> ModelList {
        let brought = config.models_dir.as_deref().map(scan).unwrap().unwrap();
        ModelInventory { brought, shipped: Vec::new(), served: Vec::new(), problems: Vec::new() }.listed(config)
    }

    #[test]
    fn table_shows_models_in_use_and_problems_when_folders_have_models() {
        let models = tempfile::tempdir().unwrap();
        folder(models.path(), "one");
        let mut config = Config::built_in();
        config.models_dir = Some(models.path().to_owned());
        let alone = listed(&config);
        let text = table(&alone, Output::new(false, true, true));
        let line: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(line[..7], ["stance", "one", "yes", "2", "MB", "all", "MIT"], "{text}");
        assert!(text.ends_with("vectors: hashed, stance: one, relevance: lexical\n"), "{text}");
        folder(models.path(), "two");
        let both = listed(&config);
        assert!(both.models.iter().all(|row| !row.in_use) && both.problems[0].contains("one, two"), "{both:?}");
        config.inference.stance = "two".to_owned();
        let chosen = listed(&config);
        assert_eq!((chosen.in_use.stance.as_str(), chosen.problems.len()), ("two", 0));
        config.inference.stance = "rules".to_owned();
        assert_eq!(listed(&config).in_use.stance, "rules");
    }
}

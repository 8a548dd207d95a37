//! `models`: lists and verifies models.
//!
//! Models are in `MODELS_DIR`, in the binary and on servers.

#[cfg(feature = "models")]
mod pairs;
mod probe;
mod verify;

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
    match action {
        None | Some(ModelsAction::List) => list(config, output).await,
        Some(ModelsAction::Verify { names }) => verify::run(config, &names, output).await,
    }
}

/// All models, and errors that hide others.
struct ModelInventory {
    shipped: Vec<ModelFolder>,
    /// In `MODELS_DIR`.
    brought: Vec<ModelFolder>,
    remote: RemoteModels,
    problems: Vec<String>,
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
    Ok(ModelInventory { shipped: ModelFolder::bundled(), brought, remote, problems })
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
    fn chosen(&self, task: Task, config: &Config) -> Result<Option<&ModelFolder>, choice::ChoiceError> {
        choose(task, choice::wanted(&config.inference, task), &self.brought, &self.shipped)
    }

    /// Returns task, name and address.
    fn served(&self) -> Vec<(Task, String, String)> {
        let remote = &self.remote;
        let embedder = remote.embedder.as_ref().map(|one| (Task::Embedding, one.name().to_owned(), one.location()));
        let judge = |name: &str| name.trim_start_matches("model:").to_owned();
        let stance = remote.stance.as_ref().map(|one| (Task::Stance, judge(one.name()), one.location()));
        let reranker = remote.reranker.as_ref().map(|one| (Task::Relevance, one.name().to_owned(), one.location()));
        [embedder, stance, reranker].into_iter().flatten().collect()
    }

    fn listed(mut self, config: &Config) -> ModelList {
        let mut problems = std::mem::take(&mut self.problems);
        let served = self.served();
        let mut used = |task: Task| -> Vec<(String, String)> {
            if let Some((_, name, location)) = served.iter().find(|(of, ..)| *of == task) {
                return vec![(name.clone(), location.clone())];
            }
            match choose(task, choice::wanted(&config.inference, task), &self.brought, &self.shipped) {
                Ok(folder) => {
                    folder.into_iter().map(|folder| (folder.manifest.name.clone(), folder.location())).collect()
                }
                Err(error) => {
                    problems.push(error.to_string());
                    Vec::new()
                }
            }
        };
        let (embedding, stance, relevance) = (used(Task::Embedding), used(Task::Stance), used(Task::Relevance));
        let is_used = |task: Task, location: &str| {
            let of_task = match task {
                Task::Embedding => &embedding,
                Task::Stance => &stance,
                Task::Relevance => &relevance,
            };
            of_task.iter().any(|(_, used)| used == location)
        };
        let mut models: Vec<Row> = served
            .iter()
            .map(|(task, name, location)| Row {
                task: *task,
                name: name.clone(),
                location: location.clone(),
                in_use: true,
                size: None,
                languages: Vec::new(),
                licence: None,
                origin: None,
            })
            .collect();
        for folder in self.brought.iter().chain(&self.shipped) {
            let (manifest, location) = (&folder.manifest, folder.location());
            models.push(Row {
                task: manifest.task,
                name: manifest.name.clone(),
                in_use: is_used(manifest.task, &location),
                location,
                size: folder.size().ok(),
                languages: manifest.languages.clone(),
                licence: manifest.licence.clone(),
                origin: manifest.origin.clone(),
            });
        }
        models.sort_by(|one, other| one.task.cmp(&other.task).then(other.in_use.cmp(&one.in_use)));
        let name = |used: Vec<(String, String)>, task: Task| {
            let names: Vec<String> = used.into_iter().map(|(name, _)| name).collect();
            if names.is_empty() { choice::without(task).to_owned() } else { names.join("+") }
        };
        // Without a reranker, relevance is the embedder's cosine.
        let by_embedder = config.inference.reranker == choice::AUTO && relevance.is_empty();
        let relevance = if by_embedder { embedding.clone() } else { relevance };
        let in_use = ModelsInUse {
            embedding: name(embedding, Task::Embedding),
            stance: name(stance, Task::Stance),
            relevance: name(relevance, Task::Relevance),
        };
        ModelList { models, in_use, problems }
    }
}

async fn list(config: &Config, output: Output) -> Result<(), Failure> {
    let listed = inventory(config).await?.listed(config);
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
        let inventory =
            ModelInventory { shipped: Vec::new(), brought, remote: RemoteModels::default(), problems: Vec::new() };
        inventory.listed(config)
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

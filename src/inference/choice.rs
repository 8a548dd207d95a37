//! Selects the model of each task from the model folders, by the configuration.
//!
//! Nothing is loaded here.

use super::{ModelFolder, Task};
use crate::config::InferenceConfig;

/// Selects the best available model.
pub const AUTO: &str = "auto";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error(
        "there is no {} model {wanted:?}, which {} names; choose one of {known}{AUTO}, {}, or put it into models_dir (MODELS_DIR)",
        task.as_str(), key(*task), without(*task)
    )]
    Unknown { task: Task, wanted: String, known: String },
    #[error(
        "models_dir (MODELS_DIR) holds several {} models ({names}); name one of them in {}",
        task.as_str(), key(*task)
    )]
    Several { task: Task, names: String },
}

/// Returns the configured value: a model name, [`AUTO`], or that of [`without`].
pub fn wanted(config: &InferenceConfig, task: Task) -> &str {
    match task {
        Task::Embedding => &config.embedder,
        Task::Stance => &config.stance,
        Task::Relevance => &config.reranker,
    }
}

/// Returns the configuration key with its environment variable.
pub const fn key(task: Task) -> &'static str {
    match task {
        Task::Embedding => "inference.embedder (INFERENCE_EMBEDDER)",
        Task::Stance => "inference.stance (INFERENCE_STANCE)",
        Task::Relevance => "inference.reranker (INFERENCE_RERANKER)",
    }
}

/// Returns the configuration value for no model.
pub const fn without(task: Task) -> &'static str {
    match task {
        Task::Embedding => "hashed",
        Task::Stance => "rules",
        Task::Relevance => "lexical",
    }
}

/// Returns the named model, otherwise the operator's only one, otherwise the bundled one. `None` if none exists or is
/// wanted.
///
/// # Errors
/// An unknown name, or several operator models without a name.
pub fn choose<'a>(
    task: Task,
    wanted: &str,
    brought: &'a [ModelFolder],
    shipped: &'a [ModelFolder],
) -> Result<Option<&'a ModelFolder>, ChoiceError> {
    let of_task = |folder: &&ModelFolder| folder.manifest.task == task;
    let all = || brought.iter().chain(shipped).filter(of_task);
    if wanted == without(task) {
        return Ok(None);
    }
    if wanted != AUTO {
        let found = all().find(|folder| folder.manifest.name == wanted);
        return found.map(Some).ok_or_else(|| ChoiceError::Unknown {
            task,
            wanted: wanted.to_owned(),
            known: all().fold(String::new(), |known, folder| known + &folder.manifest.name + ", "),
        });
    }
    let brought: Vec<&ModelFolder> = brought.iter().filter(of_task).collect();
    if brought.len() > 1 {
        let names: Vec<&str> = brought.iter().map(|folder| folder.manifest.name.as_str()).collect();
        return Err(ChoiceError::Several { task, names: names.join(", ") });
    }
    Ok(all().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, task: &str) -> ModelFolder {
        let dir = tempfile::tempdir().unwrap();
        let labels = if task == "stance" { "labels = [\"entail\", \"not_entail\"]" } else { "" };
        let text = format!(
            "name = \"{name}\"\ntask = \"{task}\"\nmodel = \"m\"\ntokenizer = \"t\"\nmax_length = 64\n{labels}\n"
        );
        std::fs::write(dir.path().join("model.toml"), text).unwrap();
        ModelFolder::read(dir.path()).unwrap()
    }

    #[test]
    fn what_was_brought_goes_before_what_ships_and_a_name_before_both() {
        let shipped = [folder("small", "stance"), folder("ranker", "relevance")];
        let brought = [folder("large", "stance")];
        let name = |wanted: &str, brought: &[ModelFolder]| {
            choose(Task::Stance, wanted, brought, &shipped).unwrap().map(|folder| folder.manifest.name.clone())
        };
        assert_eq!(name(AUTO, &brought).as_deref(), Some("large"));
        assert_eq!(name(AUTO, &[]).as_deref(), Some("small"));
        assert_eq!(name("small", &brought).as_deref(), Some("small"));
        assert_eq!(name("rules", &brought), None);
        assert!(choose(Task::Embedding, AUTO, &brought, &shipped).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_chosen_lists_the_choices() {
        let brought = [folder("one", "stance"), folder("two", "stance")];
        let error = choose(Task::Stance, AUTO, &brought, &[]).unwrap_err().to_string();
        assert!(error.contains("(one, two)") && error.contains("INFERENCE_STANCE"), "{error}");
        let error = choose(Task::Stance, "three", &brought, &[]).unwrap_err().to_string();
        assert!(error.contains("one, two, auto, rules"), "{error}");
    }
}

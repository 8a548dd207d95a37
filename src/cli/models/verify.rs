//! `models verify`: checks files and checksums, and measures models on labelled pairs.
//!
//! Models on servers were tested when the connection was made.

use std::fmt::Write as _;

use serde::Serialize;

use super::super::failure::Failure;
use super::super::output::{Colour, Output};
use super::probe::{self, ProbeReport};
use super::{ModelInventory, inventory};
use crate::config::Config;
use crate::inference::{ModelFolder, Task};
use crate::judging::plain::plain;

#[derive(Debug, Serialize)]
struct Finding {
    task: Task,
    name: String,
    location: String,
    ok: bool,
    /// Hardly better than chance.
    weak: bool,
    /// What was checked, or what to do.
    detail: String,
}

pub(super) async fn run(config: &Config, names: &[String], output: Output) -> Result<(), Failure> {
    let inventory = inventory(config).await?;
    let served = inventory.served();
    let known = |name: &String| {
        let folders = inventory.brought.iter().chain(&inventory.shipped);
        folders.map(|folder| &folder.manifest.name).chain(served.iter().map(|(_, name, _)| name)).any(|own| own == name)
    };
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        for problem in &inventory.problems {
            output.problem(&format!("problem: {problem}"));
        }
        return Err(Failure::new(2, format!("no model is called {unknown:?}; see `corroborate models list`")));
    }
    let is_wanted = |name: &String| names.is_empty() || names.contains(name);
    let mut findings = Vec::new();
    for (task, name, location) in served.iter().filter(|(_, name, _)| is_wanted(name)) {
        // The connection already tested it.
        let (name, location) = (name.clone(), location.clone());
        findings.push(Finding {
            task: *task,
            name,
            location,
            ok: true,
            weak: false,
            detail: "the server answers".to_owned(),
        });
    }
    let at_work = embedder(&inventory, config);
    let folders = inventory.brought.iter().chain(&inventory.shipped);
    for folder in folders.filter(|folder| is_wanted(&folder.manifest.name)) {
        if !output.json {
            output.hint(&format!("asking {}", folder.manifest.name));
        }
        let ModelCheck { ok, weak, mut detail } = look_at(folder).await;
        if ok && let Some(lost) = lost_cosine(folder, &at_work) {
            detail.push_str(&lost);
        }
        let (manifest, location) = (&folder.manifest, folder.location());
        findings.push(Finding { task: manifest.task, name: manifest.name.clone(), location, ok, weak, detail });
    }
    let failed = findings.iter().filter(|finding| !finding.ok).count() + inventory.problems.len();
    if output.json {
        output.value(&serde_json::json!({ "ok": failed == 0, "models": findings, "problems": inventory.problems }))?;
    } else {
        output.text(&lines(&findings, output))?;
        for problem in &inventory.problems {
            output.problem(&format!("problem: {problem}"));
        }
    }
    let weak = findings.iter().filter(|finding| finding.weak).count();
    match (failed, weak) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::failed(format!("{weak} of the models know too little; each line says what to do"))),
        _ => Err(Failure::failed(format!("{failed} of the models cannot be used; each line says what to do"))),
    }
}

/// Returns an empty text if a server or the hashed fallback is used.
fn embedder(inventory: &ModelInventory, config: &Config) -> String {
    let chosen = if inventory.remote.embedder.is_some() {
        None
    } else {
        inventory.chosen(Task::Embedding, config).ok().flatten()
    };
    chosen.map_or_else(String::new, |folder| folder.manifest.name.clone())
}

/// Reports an NLI model whose calibration needs an embedder that is not in use.
fn lost_cosine(folder: &ModelFolder, at_work: &str) -> Option<String> {
    let fitted = folder.manifest.similarity.as_ref().filter(|fitted| fitted.embedder != at_work)?;
    Some(format!("; without the cosine, for which the embedder {} would have to be at work here", fitted.embedder))
}

pub(super) struct ModelCheck {
    pub(super) ok: bool,
    pub(super) weak: bool,
    pub(super) detail: String,
}

/// Checksums first, because the load error of a damaged file is less clear.
pub(super) async fn look_at(folder: &ModelFolder) -> ModelCheck {
    if let Err(error) = folder.verify() {
        return ModelCheck { ok: false, weak: false, detail: error.to_string() };
    }
    let sums = match folder.manifest.sha256.len() {
        0 => "its model.toml has no checksums",
        _ => "checksums right",
    };
    match probe::run(folder).await {
        Ok(ProbeReport { summary, weak }) => {
            let amiss = weak.as_ref().map(|amiss| format!(": {amiss}")).unwrap_or_default();
            ModelCheck { ok: true, weak: weak.is_some(), detail: format!("{sums}, {summary}{amiss}") }
        }
        Err(error) => ModelCheck { ok: false, weak: false, detail: error },
    }
}

fn lines(findings: &[Finding], output: Output) -> String {
    let mut text = String::new();
    for finding in findings {
        let (word, colour) = match (finding.ok, finding.weak) {
            (true, false) => ("ok  ", Colour::Green),
            (true, true) => ("WEAK", Colour::Yellow),
            (false, _) => ("FAIL", Colour::Red),
        };
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
        text.push_str("there is no model to look at: vectors, stance and relevance are made by rule\n");
    }
    text
}

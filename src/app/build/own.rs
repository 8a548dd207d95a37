//! The operator's own sources: folders, endpoints, a database.

use std::sync::Arc;
use std::time::Duration;

use super::providers::Parts;
use super::{AppError, setup};
use crate::outbound::{Gate, GateSettings};
use crate::pipeline::SearchProviders;
use crate::providers::corpus;

/// Builds those that are configured. A setting that cannot work stops the start with its mend.
pub(super) fn build(parts: &Parts<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    folders(parts, found)
}

/// A gate with the provider's own habits: nothing of the operator's limits fits what is his own.
fn gate(parts: &Parts<'_>, habits: fn(Duration) -> GateSettings) -> Gate {
    parts.gates.guard(habits(parts.gates.config.enrichment.provider_cooldown))
}

fn folders(parts: &Parts<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    let config = &parts.gates.config.providers.corpus;
    let folders: Vec<corpus::FolderSettings> = config
        .folders()
        .into_iter()
        .map(|one| corpus::FolderSettings {
            name: one.name,
            folder: one.folder,
            include: one.include,
            exclude: one.exclude,
            credibility: one.credibility.unwrap_or(config.credibility),
            max_file_bytes: config.max_file_bytes,
            max_bytes: config.max_bytes,
        })
        .collect();
    if folders.is_empty() {
        found.unconfigured.push(corpus::PROFILE.name);
        return Ok(());
    }
    let settings = corpus::CorpusSettings { folders, rescan: config.rescan };
    let built = corpus::new(settings, gate(parts, corpus::gate_settings))
        .map_err(|error| setup("providers.corpus", error))?;
    found.own.push(Arc::new(built));
    Ok(())
}

//! Builds the operator's own sources: folders, endpoints, a database, feeds, and sources of a program that uses this
//! library.
//!
//! A new kind of source needs a function here and a call in [`build`].

use std::sync::Arc;
use std::time::Duration;

use super::providers::Parts;
use super::{AppError, observer, setup};
use crate::config::ApiKey;
use crate::outbound::{Gate, GateSettings, Identity};
use crate::pipeline::{Gatherers, SearchProviders};
use crate::providers::{api, corpus, database, feeds, gatherer};
use crate::store::{ExternalDatabase, ExternalSettings};

/// Longer files are generated or not text.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Text of one folder in memory. Further files are omitted, and a warning names the folder.
const MAX_FOLDER_BYTES: usize = 64 * 1024 * 1024;
/// Each check for changed files costs one file status per file.
const RESCAN_INTERVAL: Duration = Duration::from_mins(1);
/// The operator's server cancels longer queries.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections to the operator's server, in addition to those of the daemon's own database.
const QUERY_CONNECTIONS: u32 = 4;
/// Largest response to one query.
const MAX_QUERY_BYTES: usize = 256 * 1024;

/// Builds the configured sources. An invalid setting stops the start.
pub(super) fn build(parts: &Parts<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    folders(parts, found)?;
    endpoints(parts, found)?;
    database(parts, found)?;
    feeds(parts, found);
    Ok(())
}

/// Returns a gate without the operator's limits, which do not apply to own sources.
fn gate(parts: &Parts<'_>, habits: fn(Duration) -> GateSettings) -> Gate {
    parts.gates.guard(habits(parts.gates.config.enrichment.provider_cooldown))
}

pub(super) fn gatherers(parts: &Parts<'_>, gatherers: &Gatherers, found: &mut SearchProviders) {
    let theirs = match gatherers {
        Gatherers::InAddition(theirs) => theirs,
        Gatherers::Instead(theirs) => {
            *found = SearchProviders::default();
            theirs
        }
    };
    if !theirs.is_empty() {
        let gate = gate(parts, gatherer::gate_settings);
        found.own.push(Arc::new(gatherer::new(theirs.clone(), gate)));
    }
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
            max_file_bytes: MAX_FILE_BYTES,
            max_bytes: MAX_FOLDER_BYTES,
        })
        .collect();
    if folders.is_empty() {
        found.unconfigured.push(corpus::PROFILE.name);
        return Ok(());
    }
    let settings = corpus::CorpusSettings { folders, rescan: RESCAN_INTERVAL };
    let built =
        corpus::new(settings, gate(parts, corpus::gate_settings)).map_err(|error| setup("providers.corpus", error))?;
    found.own.push(Arc::new(built));
    Ok(())
}

fn endpoints(parts: &Parts<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    let config = &parts.gates.config.providers.api;
    if config.endpoints.is_empty() {
        found.unconfigured.push(api::PROFILE.name);
        return Ok(());
    }
    let habits = api::gate_settings(parts.gates.config.enrichment.provider_cooldown);
    let endpoints = config.endpoints.iter().map(|one| {
        let settings = GateSettings { rpm: one.rpm.get(), ..habits.clone() };
        let gate = parts.gates.place(settings, &one.name, Identity::new(one.url.as_str(), one.api_key.as_ref()));
        (one.clone(), gate)
    });
    let built = api::new(endpoints.collect()).map_err(|error| setup("providers.api", error))?;
    found.own.push(Arc::new(built));
    Ok(())
}

fn database(parts: &Parts<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    let config = &parts.gates.config.providers.database;
    let queries = config.queries.clone();
    let Some(url) = config.url.as_ref().filter(|_| !queries.is_empty()) else {
        found.unconfigured.push(database::PROFILE.name);
        return Ok(());
    };
    let settings =
        ExternalSettings { pool_size: QUERY_CONNECTIONS, timeout: QUERY_TIMEOUT, max_bytes: MAX_QUERY_BYTES };
    let bad = |error: &dyn std::fmt::Display| setup("providers.database", error);
    let external = ExternalDatabase::new(url, settings).map_err(|error| bad(&error))?;
    let habits = database::gate_settings(parts.gates.config.enrichment.provider_cooldown);
    // The server limits the query; the rest is for connecting.
    let settings = GateSettings { timeout: QUERY_TIMEOUT * 2, ..habits };
    // The URL contains the password.
    let address = ApiKey::from(url.clone());
    let gate = parts.gates.place(settings, &config.name, Identity::new("", Some(&address)));
    let built = database::new(&config.name, queries, &external, gate).map_err(|error| bad(&error))?;
    found.own.push(Arc::new(built));
    Ok(())
}

/// Adds the feeds to the search providers, because they find pages.
fn feeds(parts: &Parts<'_>, found: &mut SearchProviders) {
    let config = &parts.gates.config.providers.feeds;
    if !config.enabled {
        found.disabled.push(feeds::PROFILE.name);
        return;
    }
    if config.urls.is_empty() && !config.discover {
        found.unconfigured.push(feeds::PROFILE.name);
        return;
    }
    let rules = Arc::clone(parts.rules);
    let parts_of_it = feeds::FeedsParts {
        store: parts.store.clone(),
        pages: Arc::clone(parts.pages),
        parsers: Arc::clone(parts.parsers),
        rules: Arc::new(move || rules.current()),
        clock: Arc::clone(parts.gates.clock),
        // Local to this process: it searches the store.
        gate: Gate::new(
            feeds::gate_settings(parts.gates.config.enrichment.provider_cooldown),
            parts.gates.http.clone(),
            Arc::clone(parts.gates.clock),
            observer(parts.gates.usage),
        ),
    };
    let settings = feeds::FeedsSettings {
        urls: config.urls.clone(),
        discover: config.discover,
        interval: config.interval,
        keep: config.keep,
    };
    found.search.push(Arc::new(feeds::new(settings, parts_of_it)));
}

//! Loads the layers: built-in file, user file, environment.
//!
//! Problems of all layers are collected; loading fails only at the end.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use super::checks;
use super::environment::Environment;
use super::gathered::{LoadState, Source, find, put};
use super::key::Key;
use super::kind::Kind;
use super::mark::{Mark, mark};
use super::model::{Config, DomainEntry};
use super::names::{CONFIG_FILE_ENV, KEYS, by_path};
use super::problem::{ConfigError, Problem, nearest_path, nearest_table, sounds_secret};
use super::show::{ShownKey, shown_value};
use super::value::scalar_text;

/// The reference manual and the lowest layer.
pub const DEFAULT_TOML: &str = include_str!("../../config/default.toml");

#[derive(Debug)]
pub struct LoadOptions<E> {
    /// The file of `--config`; overrides `CORROBORATE_CONFIG`.
    pub file: Option<PathBuf>,
    /// See [`super::process_env`].
    pub env: E,
}

#[derive(Debug, Clone)]
pub struct LoadedConfig {
    pub config: Config,
    /// One line per doubtful setting.
    pub warnings: Vec<String>,
    pub(super) shown: Vec<ShownKey>,
    /// Fingerprints of all values, to detect changes.
    pub(super) marks: Vec<(&'static str, Mark)>,
}

/// Returns every key in the order of the reference file.
pub fn show(loaded: &LoadedConfig) -> Vec<ShownKey> {
    loaded.shown.clone()
}

/// Reads, checks and merges all layers. The error contains all problems.
pub fn load<E: IntoIterator<Item = (String, String)>>(options: LoadOptions<E>) -> Result<LoadedConfig, ConfigError> {
    let mut gathered = LoadState::default();
    let environment = Environment::new(options.env);
    let file = options.file.or_else(|| environment.text(CONFIG_FILE_ENV).map(PathBuf::from));

    let defaults = &*BUILT_IN;
    let file_layer = file.as_deref().map(|path| read_file(path, &mut gathered)).unwrap_or_default();
    let env_layer = environment.read(defaults, &file_layer, &mut gathered);

    let figment = Figment::from(Layer::new("default", defaults.clone()))
        .merge(Layer::new("file", file_layer))
        .merge(Layer::new("environment", env_layer));
    let extracted = extract(&figment).and_then(|config| {
        let figment = figment.merge(Layer::new("followed", followed(&config, &gathered)));
        extract(&figment).map(|config| (config, figment))
    });
    let (mut config, figment) = match extracted {
        Ok(both) => both,
        Err(problem) => {
            gathered.problems.push(problem);
            return Err(ConfigError { problems: gathered.problems });
        }
    };
    known_source_types(&mut config.enrichment.allowlist_domains, defaults);

    let warnings = checks::check(&config, &mut gathered);
    if !gathered.problems.is_empty() {
        return Err(ConfigError { problems: gathered.problems });
    }
    let shown = KEYS.iter().map(|key| shown_key(key, &figment, &gathered)).collect();
    let marks = KEYS.iter().map(|key| (key.path, mark(key, figment.find_value(key.path).ok().as_ref()))).collect();
    Ok(LoadedConfig { config, warnings, shown, marks })
}

/// Fails only if the table of keys and the types differ.
fn extract(figment: &Figment) -> Result<Config, Problem> {
    figment.extract().map_err(|error| {
        Problem::new("configuration", error.kind.to_string(), "report this as a defect of the program")
    })
}

/// Returns defaults that depend on other keys. Explicit values are not changed.
fn followed(config: &Config, gathered: &LoadState) -> Dict {
    let mut layer = Dict::new();
    let mut raise = |path: &'static str, present: u64, least: u64, written: Value| {
        if present < least && !gathered.sources.contains_key(path) {
            put(&mut layer, path, written);
        }
    };
    let request = config.enrichment.max_time.as_secs() + 30;
    let written = Value::from(format!("{request}s"));
    raise("http.request_timeout", config.http.request_timeout.as_secs(), request, written);
    let pages = config.enrichment.max_sources as u64;
    raise("enrichment.candidate_pages", config.enrichment.candidate_pages as u64, pages, Value::from(pages));
    // With fewer than four passages per page, more pages would mean fewer passages of each.
    let passages = pages * 4;
    raise(
        "enrichment.passages_per_claim",
        config.enrichment.passages_per_claim as u64,
        passages,
        Value::from(passages),
    );
    layer
}

fn shown_key(key: &'static Key, figment: &Figment, gathered: &LoadState) -> ShownKey {
    let value = figment.find_value(key.path).ok();
    ShownKey {
        key: key.path,
        env: key.env(),
        value: shown_value(key, value.as_ref()),
        from: gathered.sources.get(key.path).cloned().unwrap_or(Source::Default),
    }
}

pub(super) static BUILT_IN: LazyLock<Dict> = LazyLock::new(|| {
    let raw = <Toml as Format>::from_str::<Dict>(DEFAULT_TOML).expect("config/default.toml is TOML");
    let mut read = Dict::new();
    for key in KEYS.iter() {
        if let Some(value) = find(&raw, key.path) {
            put(&mut read, key.path, key.kind.read_value(value).expect("config/default.toml fits its kinds"));
        }
    }
    read
});

struct Layer {
    name: &'static str,
    values: Dict,
}

impl Layer {
    const fn new(name: &'static str, values: Dict) -> Self {
        Self { name, values }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

/// Records unreadable values and leaves them out.
fn read_file(path: &Path, gathered: &mut LoadState) -> Dict {
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let fix = "give an existing TOML file with --config or CORROBORATE_CONFIG";
            gathered.problems.push(Problem::new(name, format!("cannot be read ({error})"), fix));
            return Dict::new();
        }
    };
    match <Toml as Format>::from_str::<Dict>(&text) {
        Ok(raw) => {
            let mut layer = Dict::new();
            read_table(&raw, "", path, &mut layer, gathered);
            layer
        }
        Err(error) => {
            // The parser's full text quotes the line, which may contain a secret.
            let place = error.span().map(|span| place(&text, span.start)).unwrap_or_default();
            let what = format!("is not TOML: {}{place}", error.message());
            gathered.problems.push(Problem::new(name, what, "mend the line; texts need quotes"));
            Dict::new()
        }
    }
}

/// Returns ` (line 3, column 7)`.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    format!(" (line {line}, column {column})")
}

fn read_table(table: &Dict, prefix: &str, file: &Path, layer: &mut Dict, gathered: &mut LoadState) {
    for (name, value) in table {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let written = format!("{}: {path}", file.display());
        let is_table = KEYS.iter().any(|key| key.path.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.')));
        match (by_path(&path), value) {
            (Some(key), _) if key.is_secret() => {
                let env = key.env();
                let fix = format!("take it out; set {env}, or {env}_FILE with the path of a file that holds it");
                gathered.problems.push(Problem::new(written, "is a secret, and secrets stay out of this file", fix));
                gathered.bad.push(key.path);
            }
            // Allows partly filled templates.
            (Some(_), Value::String(_, text)) if text.trim().is_empty() => {}
            (Some(key), value) => {
                let source = Source::File(file.to_path_buf());
                if let Kind::Tables(shape) = key.kind {
                    gathered.take_tables(key, shape, value, layer, source, &written);
                    continue;
                }
                gathered.take(key, key.kind.read_value(value), layer, source, |fault| {
                    let problem = Problem::new(written, fault.what.clone(), fault.fix.clone());
                    match value {
                        Value::Dict(..) | Value::Array(..) => problem,
                        scalar => problem.with_value(&scalar_text(scalar)),
                    }
                });
            }
            (None, Value::Dict(_, inner)) if is_table => read_table(inner, &path, file, layer, gathered),
            (None, _) if is_table => {
                let fix = format!("write [{path}] on a line of its own, and its keys below");
                gathered.problems.push(Problem::new(written, "is a table, not a value", fix));
            }
            (None, value) => gathered.problems.push(unknown_in_file(written, &path, value)),
        }
    }
}

fn unknown_in_file(written: String, path: &str, value: &Value) -> Problem {
    if let (Value::Dict(..), Some(table)) = (value, nearest_table(path)) {
        return Problem::new(written, "is not a known table", format!("did you mean [{table}]?"));
    }
    let suggestion = nearest_path(path);
    let fix = suggestion.as_ref().map_or_else(
        || "take it out; `corroborate config show` lists every key".to_owned(),
        |found| format!("did you mean {}?", found.name),
    );
    let problem = Problem::new(written, "is not a known key", fix);
    let hidden = sounds_secret(path) || suggestion.is_some_and(|found| found.secret);
    match value {
        Value::Dict(..) | Value::Array(..) => problem,
        _ if hidden => problem,
        scalar => problem.with_value(&scalar_text(scalar)),
    }
}

/// Gives entries the source type of the built-in list.
fn known_source_types(entries: &mut [DomainEntry], defaults: &Dict) {
    let known: Vec<DomainEntry> =
        find(defaults, "enrichment.allowlist_domains").and_then(|value| value.deserialize().ok()).unwrap_or_default();
    for entry in entries.iter_mut().filter(|entry| entry.source_type.is_none()) {
        entry.source_type = known.iter().find(|other| other.domain == entry.domain).and_then(|other| other.source_type);
    }
}

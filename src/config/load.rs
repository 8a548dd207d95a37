//! Loads the layers: defaults, file, environment.
//!
//! A later layer replaces the value of a key. Problems of all layers are collected; loading fails only at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use figment::providers::{Format as _, Toml};
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use super::checks;
use super::kind::{KEYS, Key, Kind, by_path};
use super::problem::{ConfigError, Problem, Suggestion, nearest_env, nearest_path, nearest_table, sounds_secret};
use super::settings::{Config, DomainEntry};
use super::value::scalar_text;

pub(super) const CONFIG_FILE_ENV: &str = "CORROBORATE_CONFIG";

/// Suffix of the variable that holds the path of a secret's file.
pub(super) const FILE_TWIN: &str = "_FILE";

/// An unknown name with one of these prefixes stops the start.
const OUR_PREFIXES: [&str; 8] =
    ["CORROBORATE_", "FACTCHECK_", "ENRICHMENT_", "FETCH_", "LLM_", "TRANSLATE_", "INFERENCE_", "WORKER_"];

/// Prefixes that other programs use too (`HTTP_PROXY`, `DATABASE_HOST`, `LOG_LEVEL`). An unknown name is a problem only
/// within two letters of a known one.
const SHARED_PREFIXES: [&str; 7] = ["HTTP_", "DATABASE_", "AMQP_", "ADMIN_", "LOG_", "MODELS_", "OTEL_"];

/// For tests, measurements and API clients; the daemon does not read them.
const RESERVED_PREFIXES: [&str; 5] =
    ["CORROBORATE_TEST_", "CORROBORATE_BENCH_", "CORROBORATE_SHARED_DATA", "CORROBORATE_TOKEN", "CORROBORATE_URL"];

/// Keys of earlier versions, and tables of such keys with a dot at the end. Each sentence ends the warning.
const REMOVED: [(&str, &str); 42] = [
    ("inference.embedding_model", "a server of embeddings must be a text-embeddings-inference server"),
    ("rejudge.per_hour", "a round of re-evaluation takes up to 200 items"),
    ("http.request_timeout", "it is enrichment.max_time and half a minute"),
    ("jobs.cleanup_interval", "it is a day"),
    ("traces.timeout", "it is ten seconds"),
    ("enrichment.candidate_pages", "it is 15, or enrichment.max_sources if that is more"),
    ("enrichment.passages_per_claim", "it is 20, or four for each of enrichment.max_sources if that is more"),
    ("enrichment.judged_passages", "it is 8"),
    ("enrichment.passages_per_group", "it is 2"),
    ("enrichment.similar_window", "it is two days"),
    ("enrichment.sufficient_relevance", "it is 0.6"),
    ("enrichment.sufficient_age", "it is a day"),
    ("enrichment.links.max", "it is 3"),
    ("enrichment.links.timeout_per_link", "it is five seconds"),
    ("enrichment.links.timeout", "it is ten seconds"),
    ("enrichment.links.max_chars", "it is 6,000"),
    ("providers.corpus.max_file_bytes", "it is 512 KiB"),
    ("providers.corpus.max_bytes", "it is 64 MiB"),
    ("providers.corpus.rescan", "it is a minute"),
    ("providers.api.timeout", "it is ten seconds"),
    ("providers.api.max_bytes", "it is 1 MiB"),
    ("providers.database.pool_size", "it is 4"),
    ("providers.database.timeout", "it is five seconds"),
    ("providers.database.max_bytes", "it is 256 KiB"),
    ("fetch.connect_timeout", "it is five seconds"),
    ("fetch.max_redirects", "it is 5"),
    ("fetch.concurrency", "it is 64"),
    ("fetch.per_host", "it is 2"),
    ("fetch.host_pause", "it is 200 ms, or what robots.txt asks for"),
    ("cache.search_entries", "it is 5,000"),
    ("cache.search_ttl", "it is a quarter of an hour"),
    ("cache.page_failure_ttl", "it is ten minutes"),
    ("cache.fact_check_entries", "it is 10,000"),
    ("scoring.relevance_floor", SCORING),
    ("scoring.half_life", SCORING),
    ("scoring.half_life_breaking", SCORING),
    ("scoring.half_life_lasting", SCORING),
    ("scoring.quality.", SCORING),
    ("scoring.weights.", SCORING),
    ("scoring.score.", SCORING),
    ("scoring.verdict.", SCORING),
    ("scoring.sufficiency.", SCORING),
];

const SCORING: &str = "the scoring rules fix it (docs/scoring.md)";

/// Value that empties a list or unsets a key without a default.
const NONE: &str = "none";

/// Largest secret file, in bytes.
const MAX_SECRET_FILE: u64 = 64 * 1024;

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
    /// Fingerprints of all values, to detect changes. Some values are secrets.
    pub(super) marks: Vec<(&'static str, [u8; 32])>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownKey {
    pub key: &'static str,
    pub env: &'static str,
    /// `set` or `unset` for secrets, `unset` without a value.
    pub value: String,
    pub from: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    File(PathBuf),
    Environment(String),
    SecretFile(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::SecretFile(name) => write!(f, "secret file of {name}"),
        }
    }
}

/// Returns every key in the order of the reference file. No value is a secret.
pub fn show(loaded: &LoadedConfig) -> Vec<ShownKey> {
    loaded.shown.clone()
}

/// Reads, checks and merges all layers. The error contains all problems.
pub fn load<E: IntoIterator<Item = (String, String)>>(options: LoadOptions<E>) -> Result<LoadedConfig, ConfigError> {
    // Container files pass an empty value for an unset variable.
    let env: BTreeMap<String, String> = options.env.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect();
    let mut loader = Loader::default();
    let file = options.file.or_else(|| env.get(CONFIG_FILE_ENV).map(PathBuf::from));
    if let Some(file) = file {
        loader.read_file(&file);
    }
    loader.read_environment(&env);
    let mut config = match loader.config() {
        Ok(config) => config,
        Err(error) => {
            let fix = "report this as a defect of the program";
            loader.problems.push(Problem::new("configuration", error.to_string(), fix));
            return Err(ConfigError { problems: loader.problems });
        }
    };
    add_source_types(&mut config.enrichment.allowlist_domains);
    checks::check(&config, &mut loader);
    if !loader.problems.is_empty() {
        return Err(ConfigError { problems: loader.problems });
    }
    let shown = KEYS.iter().map(|key| loader.shown(key)).collect();
    let marks = KEYS.iter().map(|key| (key.path.as_str(), mark(key, loader.value(key)))).collect();
    Ok(LoadedConfig { config, warnings: loader.warnings, shown, marks })
}

/// Gives entries the source type of the built-in list.
fn add_source_types(entries: &mut [DomainEntry]) {
    let built_in = by_path("enrichment.allowlist_domains").and_then(|key| key.default.clone()).unwrap_or_default();
    let known: Vec<DomainEntry> = serde_json::from_value(built_in).unwrap_or_default();
    for entry in entries.iter_mut().filter(|entry| entry.source_type.is_none()) {
        entry.source_type = known.iter().find(|other| other.domain == entry.domain).and_then(|other| other.source_type);
    }
}

/// Tables whose secrets a running process can change; fingerprints leave these secrets out.
pub(super) const KEYED_TABLES: &str = "providers.api.endpoints";

fn mark(key: &Key, value: Option<&Json>) -> [u8; 32] {
    let mut value = value.cloned().unwrap_or_default();
    if let (Kind::Tables(shape), Json::Array(tables)) = (key.kind, &mut value)
        && key.path == KEYED_TABLES
    {
        for table in tables.iter_mut().filter_map(Json::as_object_mut) {
            table.retain(|name, _| !shape.secrets().any(|(secret, _)| secret == name));
        }
    }
    Sha256::digest(value.to_string()).into()
}

/// The state of loading: values above the defaults, their sources, and all problems. No `Debug`, because it contains
/// secrets.
#[derive(Default)]
pub(super) struct Loader {
    values: BTreeMap<&'static str, (Json, Source)>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<String>,
    /// Keys with a problem, which the checks skip.
    bad: BTreeSet<&'static str>,
}

impl Loader {
    fn value(&self, key: &'static Key) -> Option<&Json> {
        self.values.get(key.path.as_str()).map(|(value, _)| value).or(key.default.as_ref())
    }

    /// Returns true if a file or variable sets the key.
    pub(super) fn is_set(&self, path: &str) -> bool {
        self.values.contains_key(path)
    }

    pub(super) fn is_bad(&self, path: &str) -> bool {
        self.bad.contains(path)
    }

    /// Returns the path in a file, else the variable.
    pub(super) fn written_as(&self, path: &str) -> String {
        match self.values.get(path) {
            Some((_, Source::File(file))) => format!("{}: {path}", file.display()),
            Some((_, Source::Environment(name) | Source::SecretFile(name))) => name.clone(),
            _ => by_path(path).map_or_else(|| path.to_owned(), |key| key.env().to_owned()),
        }
    }

    /// Fails only if `config/default.toml` and the types differ.
    fn config(&self) -> Result<Config, serde_json::Error> {
        let mut tree = Map::new();
        for key in KEYS.iter() {
            put(&mut tree, &key.path, self.value(key).cloned().unwrap_or_default());
        }
        serde_json::from_value(Json::Object(tree))
    }

    fn shown(&self, key: &'static Key) -> ShownKey {
        let name = |element: &Json| element.get("domain").or(element.get("name")).map(scalar_text).unwrap_or_default();
        let value = match self.value(key).map(|value| key.kind.written(value)) {
            None | Some(Json::Null) => "unset".to_owned(),
            Some(_) if key.is_secret() => "set".to_owned(),
            Some(Json::Array(elements)) if elements.is_empty() => "none".to_owned(),
            Some(Json::Array(elements)) => {
                let texts = elements.iter().map(|one| if one.is_object() { name(one) } else { scalar_text(one) });
                texts.collect::<Vec<_>>().join(", ")
            }
            Some(scalar) => scalar_text(&scalar),
        };
        let from = self.values.get(key.path.as_str()).map_or(Source::Default, |(_, source)| source.clone());
        ShownKey { key: &key.path, env: key.env(), value, from }
    }

    /// Stores a value, or records its problems. `written`: the key as the user wrote it.
    fn take(&mut self, key: &'static Key, given: &Json, source: Source, written: &str) {
        match key.kind.read(given) {
            Ok(value) => {
                self.values.insert(&key.path, (value, source));
            }
            Err(faults) => {
                self.bad.insert(&key.path);
                let shown = Some(scalar_text(given)).filter(|text| !key.is_secret() && !text.is_empty());
                self.problems.extend(faults.into_iter().map(|fault| {
                    let value = fault.value.or_else(|| shown.clone().filter(|_| fault.place.is_empty()));
                    let problem = Problem::new(format!("{written}{}", fault.place), fault.what, fault.fix);
                    match value {
                        Some(value) => problem.with_value(&value),
                        None => problem,
                    }
                }));
            }
        }
    }

    fn read_file(&mut self, path: &Path) {
        let name = path.display().to_string();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                let fix = "give an existing TOML file with --config or CORROBORATE_CONFIG";
                self.problems.push(Problem::new(name, format!("cannot be read ({error})"), fix));
                return;
            }
        };
        match Toml::from_str::<Map<String, Json>>(&text) {
            Ok(table) => self.read_table(&table, "", path),
            Err(error) => {
                // The parser's full text quotes the line, which may contain a secret.
                let place = error.span().map(|span| place(&text, span.start)).unwrap_or_default();
                let what = format!("is not TOML: {}{place}", error.message());
                self.problems.push(Problem::new(name, what, "correct the line; texts need quotes"));
            }
        }
    }

    fn read_table(&mut self, table: &Map<String, Json>, prefix: &str, file: &Path) {
        for (name, value) in table {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            let written = format!("{}: {path}", file.display());
            let is_table =
                KEYS.iter().any(|key| key.path.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.')));
            match (by_path(&path), value) {
                (Some(key), _) if key.is_secret() => {
                    let env = key.env();
                    let fix = format!("take it out; set {env}, or {env}_FILE with the path of a file that holds it");
                    self.problems.push(Problem::new(written, "is a secret, and secrets stay out of this file", fix));
                    self.bad.insert(&key.path);
                }
                // Allows partly filled templates.
                (Some(_), Json::String(text)) if text.trim().is_empty() => {}
                (Some(key), value) => self.take(key, value, Source::File(file.to_path_buf()), &written),
                (None, Json::Object(inner)) if is_table => self.read_table(inner, &path, file),
                (None, _) if is_table => {
                    let fix = format!("write [{path}] on a line of its own, and its keys below");
                    self.problems.push(Problem::new(written, "is a table, not a value", fix));
                }
                (None, value) => match removed(&path) {
                    Some(now) => self.warnings.push(format!("{written} has no effect any more: {now}; take it out")),
                    None => self.problems.push(unknown_in_file(written, &path, value)),
                },
            }
        }
    }

    /// Reads known variables and records unknown ones.
    fn read_environment(&mut self, env: &BTreeMap<String, String>) {
        let mut known: BTreeSet<String> = BTreeSet::from([CONFIG_FILE_ENV.to_owned()]);
        for key in KEYS.iter() {
            let name = key.env();
            known.insert(name.to_owned());
            if key.is_secret() {
                known.insert(format!("{name}{FILE_TWIN}"));
                match secret_text(env, name) {
                    Some(Ok((text, source))) => {
                        let written = variable_of(&source).to_owned();
                        self.take(key, &Json::from(text), source, &written);
                    }
                    Some(Err(problem)) => {
                        self.problems.push(problem);
                        self.bad.insert(&key.path);
                    }
                    None => {}
                }
                continue;
            }
            let Some(text) = env.get(name) else { continue };
            let source = Source::Environment(name.to_owned());
            if text.trim().eq_ignore_ascii_case(NONE) && (key.kind.is_list() || key.default.is_none()) {
                let nothing = if key.kind.is_list() { Json::Array(Vec::new()) } else { Json::Null };
                self.values.insert(&key.path, (nothing, source));
            } else {
                self.take(key, &Json::from(text.as_str()), source, name);
            }
        }
        self.read_table_secrets(env, &mut known);
        for (name, value) in env.iter().filter(|(name, _)| !known.contains(*name)) {
            let path = name.strip_prefix("CORROBORATE_").unwrap_or(name);
            match removed(&path.to_lowercase()) {
                Some(now) => self.warnings.push(format!("{name} has no effect any more: {now}; unset it")),
                None => self.problems.extend(unknown_name(name, value)),
            }
        }
    }

    /// Adds the secrets of tables, whose variables contain the table's name.
    fn read_table_secrets(&mut self, env: &BTreeMap<String, String>, known: &mut BTreeSet<String>) {
        for key in KEYS.iter() {
            let (Kind::Tables(shape), Some((Json::Array(tables), _))) =
                (key.kind, self.values.get_mut(key.path.as_str()))
            else {
                continue;
            };
            for table in tables.iter_mut().filter_map(Json::as_object_mut) {
                let table_name = table.get("name").map(scalar_text).unwrap_or_default();
                for (field, kind) in shape.secrets() {
                    let name = shape.secret_env(&table_name, field);
                    known.extend([format!("{name}{FILE_TWIN}"), name.clone()]);
                    match secret_text(env, &name) {
                        Some(Ok((text, source))) => match kind.read(&Json::from(text)) {
                            Ok(value) => drop(table.insert(field.to_owned(), value)),
                            Err(faults) => self.problems.extend(
                                faults.into_iter().map(|one| Problem::new(variable_of(&source), one.what, one.fix)),
                            ),
                        },
                        Some(Err(problem)) => self.problems.push(problem),
                        None => {}
                    }
                }
            }
        }
    }
}

fn variable_of(source: &Source) -> &str {
    match source {
        Source::Environment(name) | Source::SecretFile(name) => name,
        Source::Default | Source::File(_) => "",
    }
}

/// Returns the text of a secret and the variable that gave it.
fn secret_text(env: &BTreeMap<String, String>, name: &str) -> Option<Result<(String, Source), Problem>> {
    let twin = format!("{name}{FILE_TWIN}");
    match (env.get(name), env.get(&twin)) {
        (None, None) => None,
        (Some(_), Some(_)) => Some(Err(Problem::new(name, format!("is set, and {twin} too"), "set one of the two"))),
        (Some(text), None) => Some(Ok((text.clone(), Source::Environment(name.to_owned())))),
        (None, Some(path)) => Some(match read_secret_file(path) {
            Ok(text) => Ok((text, Source::SecretFile(twin))),
            Err(what) => {
                Err(Problem::new(twin, what, "name a readable file that holds the value alone").with_value(path))
            }
        }),
    }
}

fn read_secret_file(path: &str) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| format!("cannot be read ({error})"))?.len();
    if size > MAX_SECRET_FILE {
        return Err(format!("names a file of {size} bytes, which is no secret"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read ({error})"))?;
    let text = text.trim();
    if text.is_empty() { Err("names an empty file".to_owned()) } else { Ok(text.to_owned()) }
}

/// Returns what is in force now. In the path of a variable, each dot is an underscore.
fn removed(path: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace('.', "_");
    let is_it = |known: &str| match known.strip_suffix('.') {
        Some(table) => {
            plain(path).strip_prefix(&plain(table)).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        }
        None => plain(path) == plain(known),
    };
    REMOVED.iter().find(|(known, _)| is_it(known)).map(|(_, now)| *now)
}

/// Returns ` (line 3, column 7)`.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    format!(" (line {line}, column {column})")
}

fn unknown_in_file(written: String, path: &str, value: &Json) -> Problem {
    if let (Json::Object(_), Some(table)) = (value, nearest_table(path)) {
        return Problem::new(written, "is not a known table", format!("did you mean [{table}]?"));
    }
    let fix = "take it out; `corroborate config show` lists every key";
    let value = (!value.is_object() && !value.is_array()).then(|| scalar_text(value));
    unknown(Problem::new(written, "is not a known key", fix), path, value.as_deref(), nearest_path(path))
}

fn unknown_name(name: &str, value: &str) -> Option<Problem> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let is_ours = starts(&OUR_PREFIXES);
    if starts(&RESERVED_PREFIXES) || !(is_ours || starts(&SHARED_PREFIXES)) || is_service_link(name, value) {
        return None;
    }
    let suggestion = nearest_env(name);
    if !is_ours && suggestion.as_ref().is_none_or(|found| found.distance > 2) {
        return None;
    }
    let fix = "unset it; `corroborate config show` lists every name";
    Some(unknown(Problem::new(name, "is not a known name", fix), name, Some(value), suggestion))
}

/// Adds the suggestion, and the value unless it may be secret.
fn unknown(mut problem: Problem, name: &str, value: Option<&str>, suggestion: Option<Suggestion>) -> Problem {
    let is_hidden = sounds_secret(name) || suggestion.as_ref().is_some_and(|found| found.secret);
    if let Some(found) = suggestion {
        problem.fix = format!("did you mean {}?", found.name);
    }
    match value {
        Some(value) if !is_hidden => problem.with_value(value),
        _ => problem,
    }
}

/// Kubernetes adds `<SERVICE>_SERVICE_HOST`, `<SERVICE>_PORT=tcp://…` and `<SERVICE>_PORT_80_TCP_ADDR` to every
/// container, also for a service called `corroborate`, `llm` or `worker`.
fn is_service_link(name: &str, value: &str) -> bool {
    let words: Vec<&str> = name.split('_').collect();
    let after =
        |word: &str| words.iter().position(|part| *part == word).map(|at| words.get(at + 1..).unwrap_or_default());
    let service = name.ends_with("_SERVICE_HOST") || name.contains("_SERVICE_PORT");
    let link = name.ends_with("_PORT") && (value.starts_with("tcp://") || value.starts_with("udp://"));
    let linked_port = after("PORT").is_some_and(|rest| {
        rest.first().is_some_and(|port| port.parse::<u16>().is_ok())
            && rest.get(1).is_some_and(|protocol| matches!(*protocol, "TCP" | "UDP" | "SCTP"))
    });
    service || link || linked_port
}

pub(super) fn find<'a>(table: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(table, |table, name| table.get(name))
}

/// Creates missing tables.
fn put(table: &mut Map<String, Json>, path: &str, value: Json) {
    match path.split_once('.') {
        None => drop(table.insert(path.to_owned(), value)),
        Some((first, rest)) => {
            let entry = table.entry(first).or_insert_with(|| Json::Object(Map::new()));
            if let Json::Object(inner) = entry {
                put(inner, rest, value);
            }
        }
    }
}

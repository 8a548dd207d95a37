//! The environment layer: known variables, the `_FILE` variables of secrets, and unknown names.
//!
//! An unknown name that looks like a setting is a problem. No message contains the value of a secret.

use std::collections::{BTreeMap, BTreeSet};

use figment::value::{Dict, Empty, Value};

use super::gathered::{LoadState, Source, find, is_optional, put};
use super::key::Key;
use super::kind::Kind;
use super::names::{CONFIG_FILE_ENV, FILE_TWIN, KEYS};
use super::problem::{Problem, nearest_env, sounds_secret};
use super::tables;
use super::value::scalar_text;

/// An unknown name with one of these prefixes stops the start.
const OUR_PREFIXES: [&str; 8] =
    ["CORROBORATE_", "FACTCHECK_", "ENRICHMENT_", "FETCH_", "LLM_", "TRANSLATE_", "INFERENCE_", "WORKER_"];

/// Prefixes that other programs use too (`HTTP_PROXY`, `DATABASE_HOST`, `LOG_LEVEL`). An unknown name is a problem only
/// within two letters of a known one.
const SHARED_PREFIXES: [&str; 7] = ["HTTP_", "DATABASE_", "AMQP_", "ADMIN_", "LOG_", "MODELS_", "OTEL_"];

/// For tests and measurements; the daemon does not read them.
const RESERVED_PREFIXES: [&str; 5] = [
    "CORROBORATE_TEST_",
    "CORROBORATE_BENCH_",
    "CORROBORATE_SHARED_DATA",
    // Variables of API clients.
    "CORROBORATE_TOKEN",
    "CORROBORATE_URL",
];

/// Value that empties a list or unsets a key without a default.
const NONE: &str = "none";

/// Largest secret file, in bytes.
const MAX_SECRET_FILE: u64 = 64 * 1024;

/// The environment. No `Debug`, because it contains secrets.
pub(super) struct Environment {
    values: BTreeMap<String, String>,
}

impl Environment {
    pub(super) fn new(env: impl IntoIterator<Item = (String, String)>) -> Self {
        // Container files pass an empty value for an unset variable.
        Self { values: env.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect() }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Reads known variables and records unknown ones. The file layer gives the names of tables with secrets.
    pub(super) fn read(&self, defaults: &Dict, file: &Dict, gathered: &mut LoadState) -> Dict {
        let mut layer = Dict::new();
        for key in KEYS.iter() {
            if key.is_secret() {
                self.read_secret(key, &mut layer, gathered);
            } else {
                self.read_plain(key, defaults, &mut layer, gathered);
            }
        }
        let of_tables = self.read_table_secrets(file, &mut layer, gathered);
        for (name, value) in self.values.iter().filter(|(name, _)| !of_tables.contains(*name)) {
            if let Some(problem) = unknown_name(name, value) {
                gathered.problems.push(problem);
            }
        }
        layer
    }

    fn read_plain(&self, key: &'static Key, defaults: &Dict, layer: &mut Dict, gathered: &mut LoadState) {
        let name = key.env();
        let Some(text) = self.text(&name) else { return };
        let source = Source::Environment(name.to_string());
        if text.trim().eq_ignore_ascii_case(NONE) && (key.kind.is_list() || is_optional(key, defaults)) {
            let nothing = if key.kind.is_list() { Value::from(Vec::<Value>::new()) } else { Value::from(Empty::None) };
            put(layer, key.path, nothing);
            gathered.sources.insert(key.path, source);
            return;
        }
        if let Kind::Tables(shape) = key.kind
            && let Ok(given) = tables::from_json(text)
        {
            gathered.take_tables(key, shape, &given, layer, source, &name);
            return;
        }
        gathered.take(key, key.kind.read_text(text), layer, source, |fault| {
            Problem::new(name.clone(), fault.what.clone(), fault.fix.clone()).with_value(text)
        });
    }

    /// Adds the secrets of tables. Returns the possible variable names, which contain the table's name.
    fn read_table_secrets(&self, file: &Dict, layer: &mut Dict, gathered: &mut LoadState) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for key in KEYS.iter() {
            let Kind::Tables(shape) = key.kind else { continue };
            let Some(Value::Array(tag, tables)) = find(layer, key.path).or_else(|| find(file, key.path)) else {
                continue;
            };
            let (tag, mut tables, mut found) = (*tag, tables.clone(), false);
            for table in &mut tables {
                let Value::Dict(_, table) = table else { continue };
                let own_name = table.get("name").map(scalar_text).unwrap_or_default();
                for field in shape.fields {
                    let Kind::Secret(kind) = field.kind else { continue };
                    let name = shape.secret_env(&own_name, field);
                    let read = self.secret_text(&name, &[], gathered);
                    names.extend([format!("{name}{FILE_TWIN}"), name.clone()]);
                    let Some((text, source)) = read else { continue };
                    let written =
                        if matches!(source, Source::SecretFile(_)) { format!("{name}{FILE_TWIN}") } else { name };
                    match Kind::Secret(kind).read_text(&text) {
                        Ok(value) => found |= table.insert(field.name.to_owned(), value).is_none(),
                        Err(fault) => gathered.problems.push(Problem::new(written, fault.what, fault.fix)),
                    }
                }
            }
            if found {
                put(layer, key.path, Value::Array(tag, tables));
            }
        }
        names
    }

    fn read_secret(&self, key: &'static Key, layer: &mut Dict, gathered: &mut LoadState) {
        let name = key.env().into_owned();
        let Some((text, source)) = self.secret_text(&name, &[key.path], gathered) else { return };
        let twin = format!("{name}{FILE_TWIN}");
        let written = if matches!(source, Source::SecretFile(_)) { twin } else { name };
        // The message never contains the value.
        gathered.take(key, key.kind.read_text(&text), layer, source, |fault| {
            Problem::new(written, fault.what.clone(), fault.fix.clone())
        });
    }
}

impl Environment {
    /// Reads a secret. An error marks the keys `of` as bad.
    fn secret_text(&self, name: &str, of: &[&'static str], gathered: &mut LoadState) -> Option<(String, Source)> {
        let twin = format!("{name}{FILE_TWIN}");
        match (self.text(name), self.text(&twin)) {
            (None, None) => None,
            (Some(_), Some(_)) => {
                let what = format!("is set, and {twin} too");
                gathered.problems.push(Problem::new(name, what, "set one of the two"));
                gathered.bad.extend(of);
                None
            }
            (Some(text), None) => Some((text.to_owned(), Source::Environment(name.to_owned()))),
            (None, Some(path)) => match read_secret_file(path) {
                Ok(text) => Some((text, Source::SecretFile(twin))),
                Err(what) => {
                    let fix = "name a readable file that holds the value alone";
                    gathered.problems.push(Problem::new(twin, what, fix).with_value(path));
                    gathered.bad.extend(of);
                    None
                }
            },
        }
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

fn unknown_name(name: &str, value: &str) -> Option<Problem> {
    let is_known = name == CONFIG_FILE_ENV
        || KEYS.iter().any(|key| {
            key.env() == name || (key.is_secret() && name.strip_suffix(FILE_TWIN) == Some(key.env().as_ref()))
        });
    if is_known || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || is_service_link(name, value) {
        return None;
    }
    let ours = OUR_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let shared = SHARED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    if !ours && !shared {
        return None;
    }
    let suggestion = nearest_env(name);
    if !ours && suggestion.as_ref().is_none_or(|found| found.distance > 2) {
        return None;
    }
    let fix = suggestion.as_ref().map_or_else(
        || "unset it; `corroborate config show` lists every name".to_owned(),
        |found| format!("did you mean {}?", found.name),
    );
    let problem = Problem::new(name, "is not a known name", fix);
    let hidden = sounds_secret(name) || suggestion.is_some_and(|found| found.secret);
    Some(if hidden { problem } else { problem.with_value(value) })
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

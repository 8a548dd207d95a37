//! The files of `docs/reference`, generated from the code, so that they cannot differ from it. Tests only.
//!
//! Each file has one function that returns its text: commands from the clap definition, configuration from the table of
//! keys, metrics from the catalogue, JSON Schemas and the API description from the types, log messages from the sources.
//! `UPDATE_DOCS=1 cargo nextest run --lib reference` writes the files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use serde_json::Value;

use super::Cli;
use crate::domain::{Item, ItemResult};
use crate::telemetry::catalogue::{ALL, MetricKind};

/// Set to `1`, the test writes the files instead of comparing them.
const REGENERATE: &str = "UPDATE_DOCS";

const GENERATED: &str =
    "<!-- Generated from the code. Do not edit: run `UPDATE_DOCS=1 cargo nextest run --lib reference`. -->\n\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn commands() -> String {
    let mut text = format!(
        "# Commands\n\n{GENERATED}Exit codes: 0 done, 1 failed, 2 usage, 69 a required service is unavailable, 78 configuration.\n"
    );
    let mut command = Cli::command().term_width(100);
    command.build();
    describe(&command, "corroborate", &mut text);
    text
}

/// The help of a command and of its subcommands. Global options are described once, at the top.
fn describe(command: &clap::Command, path: &str, text: &mut String) {
    let global = path != "corroborate";
    let shown = command.clone().mut_args(|argument| {
        let hidden = (global && argument.is_global_set()) || matches!(argument.get_id().as_str(), "help" | "version");
        argument.hide(hidden)
    });
    let help = shown.term_width(100).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    writeln!(text, "\n## {path}\n\n```text\n{}\n```", lines.join("\n").trim_end()).unwrap();
    for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
        describe(child, &format!("{path} {}", child.get_name()), text);
    }
}

fn metrics() -> String {
    let mut text = format!(
        "# Metrics\n\n{GENERATED}`GET /metrics` returns them in the text format of Prometheus. A label value outside its set is recorded as `other`.\n\n\
         | metric | kind | meaning | labels |\n|---|---|---|---|\n"
    );
    let mut values: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for metric in ALL {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram(_) => "histogram",
        };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{}`", label.name)).collect();
        writeln!(text, "| `{}` | {kind} | {} | {} |", metric.name, metric.help.replace('|', "\\|"), labels.join(", "))
            .unwrap();
        for label in metric.labels {
            values.entry(label.name).or_default().insert(metric.name, label.values.to_vec());
        }
    }
    text.push_str("\n## Label values\n\n| label | metric | values |\n|---|---|---|\n");
    for (label, metrics) in values {
        for (metric, values) in metrics {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            writeln!(text, "| `{label}` | `{metric}` | {} |", values.join(", ")).unwrap();
        }
    }
    text
}

fn configuration() -> String {
    let schema = crate::config::json_schema();
    let mut text = format!(
        "# Configuration\n\n{GENERATED}The environment overrides the file of `--config`, and the file overrides the defaults. \
         [`config/default.toml`](../../config/default.toml)\nhas the reason for each key. `corroborate config show` prints the values in force.\n\n\
         | key | environment | type | default | meaning |\n|---|---|---|---|---|\n"
    );
    keys(&schema, "", &mut text);
    text.push_str("\n## Secrets\n\nEach secret comes from the environment, or from the file that the second variable names.\n\n| environment | file | meaning |\n|---|---|---|\n");
    for secret in schema["x-secrets"].as_array().unwrap() {
        let [name, file, meaning] = ["env", "env_file", "description"].map(|field| secret[field].as_str().unwrap());
        writeln!(text, "| `{name}` | `{file}` | {meaning} |").unwrap();
    }
    text
}

fn keys(table: &Value, path: &str, text: &mut String) {
    for (name, value) in table["properties"].as_object().unwrap() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let Some(variable) = value["x-env"].as_str() else {
            keys(value, &path, text);
            continue;
        };
        let default = value.get("default").map_or_else(String::new, |default| format!("`{default}`"));
        let meaning = value["description"].as_str().unwrap_or_default();
        writeln!(text, "| `{path}` | `{variable}` | {} | {default} | {} |", kind(value), meaning.replace('|', "\\|"))
            .unwrap();
    }
}

/// The type of a key with its range, in words.
fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_str().unwrap_or_default())).collect();
        return words.join(", ");
    }
    if let Some(either) = schema["anyOf"].as_array() {
        return either.first().map_or_else(String::new, kind);
    }
    let range = match (&schema["minimum"], &schema["maximum"]) {
        (Value::Null, _) | (_, Value::Null) => String::new(),
        (least, most) => format!(" {least}–{most}"),
    };
    let name = match (schema["type"].as_str().unwrap_or("value"), schema["pattern"].as_str(), schema["format"].as_str())
    {
        ("string", Some(_), _) => "duration",
        ("string", _, Some("uri")) => "URL",
        ("string", _, Some(format)) => format,
        ("array", ..) => "list",
        (name, ..) => name,
    };
    format!("{name}{range}")
}

fn logs() -> String {
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for folder in ["src", "crates"] {
        sources(&root().join(folder), &mut |path, source| {
            let place = path.strip_prefix(root()).unwrap().display().to_string();
            if place.contains("test") {
                return;
            }
            let program = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            for (level, message) in messages(program) {
                let places = found.entry((message, level.to_owned())).or_default();
                if !places.contains(&place) {
                    places.push(place.clone());
                }
            }
        });
    }
    let mut text = format!(
        "# Log messages\n\n{GENERATED}A message names an event and does not change between versions without an entry in the changelog. Details are in fields.\n\n\
         | message | level | source |\n|---|---|---|\n"
    );
    for ((message, level), places) in found {
        let places: Vec<String> = places.iter().map(|place| format!("`{place}`")).collect();
        writeln!(text, "| {} | {level} | {} |", message.replace('|', "\\|"), places.join(", ")).unwrap();
    }
    text
}

fn sources(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, each);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The level and the message of each `tracing` call: the message is the last literal of the call's arguments.
fn messages(source: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for level in ["error", "warn", "info", "debug"] {
        for call in source.split(&format!("tracing::{level}!(")).skip(1) {
            if let Some(message) = last_literal(call).filter(|message| !message.contains('{')) {
                found.push((level, message));
            }
        }
    }
    found
}

/// The last string literal before the parenthesis that closes the call.
fn last_literal(call: &str) -> Option<String> {
    let (mut depth, mut literal, mut last, mut escaped) = (1_u32, None::<String>, None, false);
    for letter in call.chars() {
        match (&mut literal, letter) {
            (Some(text), _) if escaped => {
                text.push(letter);
                escaped = false;
            }
            (Some(_), '\\') => escaped = true,
            (Some(_), '"') => last = literal.take(),
            (Some(text), _) => text.push(letter),
            (None, '"') => literal = Some(String::new()),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 {
            break;
        }
    }
    last
}

fn pretty(value: &impl serde::Serialize) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).unwrap())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own switch, no configuration of the product")]
fn docs_reference_equals_the_code() {
    let files = [
        ("commands.md", commands()),
        ("configuration.md", configuration()),
        ("metrics.md", metrics()),
        ("logs.md", logs()),
        ("openapi.json", pretty(&crate::http::openapi_document(env!("CARGO_PKG_VERSION")))),
        ("item.schema.json", pretty(&schemars::schema_for!(Item))),
        ("result.schema.json", pretty(&schemars::schema_for!(ItemResult))),
        ("config.schema.json", pretty(&crate::config::json_schema())),
    ];
    let folder = root().join("docs/reference");
    let regenerate = std::env::var(REGENERATE).is_ok_and(|wanted| wanted == "1");
    for (name, made) in files {
        let path = folder.join(name);
        if regenerate {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = kept.lines().zip(made.lines()).position(|(kept, made)| kept != made);
        assert!(
            kept == made,
            "docs/reference/{name} differs from the code in line {}; run {REGENERATE}=1 cargo nextest run --lib reference",
            differs.map_or(kept.lines().count().min(made.lines().count()), |at| at) + 1
        );
    }
}

#[test]
fn last_literal_is_the_message_and_not_a_field() {
    assert_eq!(
        last_literal(r#"%error, kind = "x", "provider call failed"); next("y")"#).unwrap(),
        "provider call failed"
    );
    assert_eq!(last_literal("%error);"), None);
}

//! `config`: checks and shows the configuration, and shows the language model's prompts. `schema`: prints JSON Schemas.
//!
//! Secrets are never shown.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::arguments::{ConfigAction, SchemaChoice};
use super::failure::Failure;
use super::output::{Colour, Output};
use crate::app;
use crate::config::{ConfigError, LoadedConfig, show};
use crate::domain::{Item, ItemResult};
use crate::inference::llm::prompts;

pub(super) fn run(
    action: ConfigAction,
    loaded: Result<LoadedConfig, ConfigError>,
    output: Output,
) -> Result<(), Failure> {
    let loaded = match loaded {
        Ok(loaded) => loaded,
        // Prompts do not depend on the configuration.
        Err(_) if matches!(action, ConfigAction::Prompts) => return show_prompts(output),
        Err(error) => {
            if output.json && matches!(action, ConfigAction::Check) {
                output.value(&refused(&error))?;
            }
            return Err(Failure::configuration(&error));
        }
    };
    match action {
        ConfigAction::Check => {
            if let Err(error) = app::check_files(&loaded.config) {
                if output.json {
                    let problem = json!({ "key": "scoring.calibration", "value": loaded.config.scoring.calibration, "what": error.to_string() });
                    output.value(&json!({ "ok": false, "problems": [problem] }))?;
                }
                return Err(error.into());
            }
            if output.json {
                return output.value(&json!({ "ok": true, "warnings": loaded.warnings }));
            }
            for warning in &loaded.warnings {
                output.text(&format!("warning: {warning}\n"))?;
            }
            output.text("the configuration can be used\n")
        }
        ConfigAction::Prompts => show_prompts(output),
        ConfigAction::Show => {
            let keys = show(&loaded);
            if output.json {
                let rows: Vec<_> = keys
                    .iter()
                    .map(|key| json!({ "key": key.key, "env": key.env, "value": key.value, "from": key.from.to_string() }))
                    .collect();
                return output.value(&rows);
            }
            let mut text = String::new();
            for key in keys {
                let _infallible = writeln!(text, "{} = {}  [{}]  ({})", key.key, key.value, key.from, key.env);
            }
            output.text(&text)
        }
    }
}

/// Prints a JSON Schema that is generated from the types.
pub(super) fn schema(what: SchemaChoice, output: Output) -> Result<(), Failure> {
    match what {
        SchemaChoice::Item => output.value(&schemars::schema_for!(Item)),
        SchemaChoice::Result => output.value(&schemars::schema_for!(ItemResult)),
        SchemaChoice::Config => output.value(&crate::config::json_schema()),
    }
}

/// Shows the prompts in the order of an item's steps.
fn show_prompts(output: Output) -> Result<(), Failure> {
    let all = prompts::all();
    if output.json {
        let rows: Vec<Value> = all
            .iter()
            .map(|one| {
                json!({
                    "name": one.name, "purpose": one.purpose.as_str(), "version": one.version, "about": one.about,
                    "text": one.text,
                })
            })
            .collect();
        return output.value(&rows);
    }
    let mut text = String::new();
    for one in all {
        let title = output.paint(one.name, Colour::Green);
        let _infallible = writeln!(text, "{title} (purpose {}, version {}): {}\n", one.purpose, one.version, one.about);
        for line in one.text.lines() {
            let _infallible = writeln!(text, "{}", format!("    {line}").trim_end());
        }
        text.push('\n');
    }
    output.text(&text)
}

/// Values that may be secret are null.
fn refused(error: &ConfigError) -> Value {
    let problems: Vec<Value> = error
        .problems
        .iter()
        .map(|one| json!({ "key": one.key, "value": one.value, "what": one.what, "mend": one.fix }))
        .collect();
    json!({ "ok": false, "problems": problems })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LoadOptions, load};

    #[test]
    fn machines_get_every_problem() {
        let env = [("WORKER_CONCURRENCY", "many"), ("FETCH_TIMEOUT", "soon")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let error = load(LoadOptions { file: None, env }).unwrap_err();
        let value = refused(&error);
        assert_eq!(value["ok"], false);
        let keys: Vec<&str> =
            value["problems"].as_array().unwrap().iter().map(|one| one["key"].as_str().unwrap()).collect();
        assert!(keys.len() == error.problems.len() && keys.contains(&"WORKER_CONCURRENCY"), "{value:#}");
        assert!(value["problems"].as_array().unwrap().iter().all(|one| one["mend"].is_string()));
    }
}

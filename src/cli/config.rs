//! `config`: check and show.

use std::fmt::Write as _;

use serde_json::json;

use super::arguments::ConfigAction;
use super::failure::Failure;
use super::output::Output;
use crate::config::{ConfigError, Loaded, show};

pub(super) fn run(action: ConfigAction, loaded: Result<Loaded, ConfigError>, output: Output) -> Result<(), Failure> {
    let loaded = loaded.map_err(|error| Failure::configuration(&error))?;
    match action {
        ConfigAction::Check => {
            if output.json {
                return output.value(&json!({ "ok": true, "warnings": loaded.warnings }));
            }
            for warning in &loaded.warnings {
                output.text(&format!("warning: {warning}\n"))?;
            }
            output.text("the configuration can be used\n")
        }
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

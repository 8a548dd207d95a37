//! `schema`: prints JSON Schemas that are generated from the types.

use super::arguments::SchemaChoice;
use super::failure::Failure;
use super::output::Output;
use crate::domain::{Item, ItemResult};

pub(super) fn run(what: SchemaChoice, output: Output) -> Result<(), Failure> {
    match what {
        SchemaChoice::Item => output.value(&schemars::schema_for!(Item)),
        SchemaChoice::Result => output.value(&schemars::schema_for!(ItemResult)),
        SchemaChoice::Config => output.value(&crate::config::json_schema()),
    }
}

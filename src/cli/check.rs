//! `check`: one claim, for one person.

use std::sync::Arc;

use serde_json::json;

use super::failure::Failure;
use super::output::Output;
use super::reach::{self, Reach};
use super::render;
use crate::config::Config;
use crate::domain::ItemResult;
use crate::http::check_item;
use crate::judging::vocabularies::{Vocabulary, word};
use crate::outbound::Method;
use crate::pipeline::{self, Outcome, Request};

pub(super) async fn run(
    config: Arc<Config>,
    claim: &str,
    vocabulary: Vocabulary,
    language: Option<&str>,
    output: Output,
) -> Result<(), Failure> {
    let claim = claim.trim();
    if claim.is_empty() {
        return Err(Failure::new(2, "the claim is empty; give a sentence to check"));
    }
    let result = match reach::app(&config).await? {
        Reach::Here(app) => {
            let result = here(&app, claim, language).await;
            app.close().await?;
            result?
        }
        Reach::Daemon(daemon) => {
            let body = json!({ "claim": claim, "language": language });
            let answer = daemon.call(Method::POST, "/api/verify", Some(&body)).await?;
            let result = answer.get("result").cloned().unwrap_or_default();
            serde_json::from_value(result)
                .map_err(|error| Failure::failed(format!("the daemon's answer cannot be read: {error}")))?
        }
    };
    show(&result, vocabulary, output)
}

async fn here(app: &crate::app::App, claim: &str, language: Option<&str>) -> Result<ItemResult, Failure> {
    let item = check_item(claim, language);
    match pipeline::run(&app.services, &Request::personal(item.clone())).await? {
        Outcome::Done(result) => Ok(*result),
        Outcome::AlreadyDone => match app.store.item(&item.item_id).await? {
            Some(stored) => Ok(stored.result),
            None => Err(Failure::failed("the stored answer was removed meanwhile; ask again")),
        },
    }
}

fn show(result: &ItemResult, vocabulary: Vocabulary, output: Output) -> Result<(), Failure> {
    if !output.json {
        return output.text(&render::result(result, vocabulary, output));
    }
    let mut value = serde_json::to_value(result)?;
    // The stored value is always ours; another vocabulary is only how it is said.
    if !matches!(vocabulary, Vocabulary::Ours)
        && let Some(claims) = value.get_mut("claims").and_then(serde_json::Value::as_array_mut)
    {
        for (row, claim) in claims.iter_mut().zip(&result.claims) {
            if let Some(row) = row.as_object_mut() {
                row.insert("verdict".to_owned(), word(vocabulary, claim.verdict, claim.decisive).into());
            }
        }
    }
    output.value(&value)
}

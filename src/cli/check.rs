//! `check`: checks one claim for a person.
//!
//! The check runs in this process, or in the daemon that holds the data folder.

use std::sync::Arc;

use serde_json::json;

use super::api::{self, Api};
use super::arguments::ExchangeArguments;
use super::card::card;
use super::exchanges;
use super::failure::Failure;
use super::output::Output;
use super::render;
use crate::app::Purpose;
use crate::config::Config;
use crate::domain::ItemResult;
use crate::judging::labels::{self, ReaderLanguage};
use crate::judging::plain::plain;
use crate::judging::vocabularies::{ModuleFeatures, Vocabulary, word};
use crate::outbound::Method;

/// Longest claim, in characters; the same limit as in the API.
const MAX_CHARS: usize = 5_000;

pub(super) struct Wanted<'a> {
    pub(super) claim: &'a str,
    pub(super) vocabulary: Vocabulary,
    pub(super) language: Option<&'a str>,
    /// Not only the strongest passages.
    pub(super) full: bool,
}

pub(super) async fn run(
    config: Arc<Config>,
    wanted: Wanted<'_>,
    exchanges: &ExchangeArguments,
    output: Output,
) -> Result<(), Failure> {
    let Wanted { claim, vocabulary, language, full } = wanted;
    // Before models are loaded.
    if claim.trim().is_empty() {
        return Err(Failure::new(2, "the claim is empty; give a sentence to check"));
    }
    if claim.chars().nth(MAX_CHARS).is_some() {
        let advice = "give one statement, or a file to `corroborate enrich`";
        return Err(Failure::new(2, format!("the claim is longer than {MAX_CHARS} characters; {advice}")));
    }
    let exchanges = exchanges::open(exchanges, output)?;
    let api = Api::open(&config, Purpose::Check, &exchanges).await?;
    let body = json!({ "claim": claim, "language": language });
    let answer = api.call(Method::POST, "/api/verify", Some(&body)).await;
    let answer = api.close_after(answer.map_err(Failure::from)).await;
    exchanges::close(&exchanges, output);
    let mut answer = answer?;
    let result = api::read(answer.get_mut("result").map(serde_json::Value::take).unwrap_or_default())?;
    show(&result, claim, (vocabulary, full), output)?;
    unasked(&result).map_or(Ok(()), Err)
}

/// Returns the failure if every source failed and no evidence was found. If one source answered, an empty result is an
/// answer.
fn unasked(result: &ItemResult) -> Option<Failure> {
    let found = !result.fact_checks.is_empty() || result.claims.iter().any(|claim| !claim.evidence.is_empty());
    if found || result.degraded.is_empty() {
        return None;
    }
    let away = |source: &String| {
        result.degraded.iter().any(|cause| cause.split_once(':').is_some_and(|(_, name)| name == source))
    };
    // The store and local files always answer, so they do not count.
    let own = |source: &String| crate::providers::profile(source).is_some_and(|profile| profile.local);
    if !result.sources_checked.iter().filter(|source| !own(source)).all(away) {
        return None;
    }
    let causes: Vec<String> =
        result.degraded.iter().map(|cause| labels::cause(cause, ReaderLanguage::English)).collect();
    Some(Failure::unavailable(format!(
        "nothing could be asked ({}); see `corroborate doctor`, or try again later",
        causes.join("; ")
    )))
}

fn show(
    result: &ItemResult,
    asked: &str,
    (vocabulary, full): (Vocabulary, bool),
    output: Output,
) -> Result<(), Failure> {
    if !output.json && full {
        return output.text(&render::result(result, vocabulary, output));
    }
    if !output.json {
        output.text(&card(result, Some(asked), vocabulary, output))?;
        output.hint(&format!(
            "--full shows every passage, --json everything; `corroborate why {}` the figures behind it",
            plain(&result.item_id)
        ));
        return Ok(());
    }
    let mut value = serde_json::to_value(result)?;
    // Stored values use our vocabulary.
    if !matches!(vocabulary, Vocabulary::Ours)
        && let Some(claims) = value.get_mut("claims").and_then(serde_json::Value::as_array_mut)
    {
        for (row, claim) in claims.iter_mut().zip(&result.claims) {
            if let Some(row) = row.as_object_mut() {
                row.insert("verdict".to_owned(), word(vocabulary, claim.verdict, claim.decisive).into());
                if matches!(vocabulary, Vocabulary::Module) {
                    row.insert("features".to_owned(), serde_json::to_value(ModuleFeatures::from(&claim.features))?);
                }
            }
        }
    }
    output.value(&value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::tests::{result, with_claim};
    use crate::domain::Verdict;

    #[test]
    fn nobody_asked_is_a_failure_and_nothing_found_is_not() {
        let rows: [(&[&str], &[&str], bool); 7] = [
            (&["no_provider"], &[], true),
            (&["provider_open:gdelt"], &["gdelt", "knowledge"], true),
            (&["provider_open:gdelt"], &["gdelt"], true),
            (&["provider_failed:gdelt", "provider_disabled:brave"], &["brave", "gdelt"], true),
            (&["provider_open:gdelt"], &["gdelt", "google_factcheck"], false),
            (&["no_page_read"], &["gdelt", "example.org"], false),
            (&[], &["gdelt"], false),
        ];
        let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for (degraded, checked, fails) in rows {
            let mut one = result("a");
            (one.degraded, one.sources_checked) = (words(degraded), words(checked));
            assert_eq!(unasked(&one).map(|failure| failure.code()), fails.then_some(69), "{degraded:?} {checked:?}");
        }
        let mut found = with_claim(Verdict::NotEnoughEvidence, "A b.");
        found.degraded = words(&["provider_open:gdelt"]);
        assert!(unasked(&found).is_none(), "something was found in the store");
    }
}

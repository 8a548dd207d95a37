//! Summarises an item with several claims by a language model, one line per claim.
//! The rules are in `judging::summaries`. If a line breaks them or the model fails, the counted summary stays.

use super::decide::DecidedClaim;
use super::language_model;
use super::normalise::NormalisedItem;
use super::run_context::Journal;
use super::services::Services;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::Verdict;
use crate::inference::llm::summary::{CheckedClaim, question, read};
use crate::inference::llm::{LlmError, Purpose};
use crate::judging::summaries::{cited_rows, lined, place_of, rows_of, worded};
use crate::language::detect;
use crate::telemetry::metrics;

/// Claims with a verdict that an item needs for a summary.
const LEAST: usize = 2;

pub(super) async fn summary(
    services: &Services,
    normal: &NormalisedItem,
    decided: &[DecidedClaim],
    journal: &Journal,
) -> Option<String> {
    let model = services.language_model_for(Purpose::Summary)?;
    let claims: Vec<ClaimResult> = decided.iter().map(|one| one.result.clone()).collect();
    if claims.iter().filter(|claim| claim.verdict != Verdict::NotVerifiable).count() < LEAST {
        return None;
    }
    let rows = cited_rows(&claims);
    let asked: Vec<CheckedClaim<'_>> = lined(&claims)
        .into_iter()
        .map(|claim| CheckedClaim {
            text: &claim.text,
            verdict: claim.verdict.as_str(),
            decisive: claim.decisive,
            passages: rows_of(claim)
                .filter_map(|row| Some((place_of(&rows, row)? + 1, row.passage.as_str())))
                .collect(),
        })
        .collect();
    let language = normal.language.as_deref();
    let question = question(&asked, detect::english_name(language))?;
    let is_read = |answer: &serde_json::Value| read(answer, asked.len()).is_some();
    let answer = model.ask_believing(&question, &journal.llm, journal.judge_until, &is_read).await;
    let lines = answer.and_then(|answer| {
        let unreadable = || LlmError::Unreadable { detail: "it has no line for any claim".to_owned() };
        read(&answer.value, asked.len()).ok_or_else(unreadable)
    });
    let lines = match lines {
        Ok(lines) => lines,
        Err(error) => {
            language_model::unworded(model.name(), "summary", &error, journal);
            return None;
        }
    };
    let is_cut = claims.len() >= services.settings.claims_per_item;
    match worded(&claims, &lines, language, is_cut) {
        Ok(summary) => Some(summary),
        Err(reason) => {
            metrics::llm_discarded(Purpose::Summary.as_str());
            journal.trace(format!("summary: the language model's lines were thrown away: {}", reason.label()));
            None
        }
    }
}

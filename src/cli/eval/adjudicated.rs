//! Measures the language model on labelled pairs.
//!
//! The share of correct stances is the value for `llm.reliability`.

use std::fmt::Write as _;

use serde_json::json;

use super::Answer;
use super::rows::{self, PairRow};
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::domain::verdict::Stance;
use crate::judging::evaluation::{Evaluation, Prediction};
use crate::pipeline::Services;
use crate::pipeline::given::adjudicate_pair;

const FEW: usize = 100;
/// Highest advised reliability: a judge that is never wrong could not be outvoted.
const SUREST: f64 = 0.95;

/// Makes one call per pair. An unreadable answer counts as wrong.
pub(super) async fn of_pairs(services: &Services, rows: &[PairRow], output: Output) -> Result<Vec<Answer>, Failure> {
    let is_two_way = rows.iter().any(|row| row.label == rows::NOT_ENTAIL);
    let bar = output.progress(rows.len() as u64);
    let mut answers = Vec::with_capacity(rows.len());
    let name = services.language_model.as_ref().map_or("", |model| model.name());
    for row in rows {
        let stance = adjudicate_pair(services, &row.claim, &row.evidence).await;
        let predicted = match stance {
            Ok(Some(Stance::Supports)) => rows::ENTAIL,
            Ok(Some(_)) if is_two_way => rows::NOT_ENTAIL,
            Ok(Some(Stance::Contradicts)) => rows::CONTRADICT,
            Ok(Some(Stance::Neutral)) => rows::NEUTRAL,
            Ok(None) => rows::NO_ANSWER,
            Err(error) => {
                output.problem(&format!("{}: {error}", row.id));
                rows::NO_ANSWER
            }
        };
        let gold = if is_two_way && row.label != rows::ENTAIL { rows::NOT_ENTAIL } else { row.label };
        answers.push(Answer {
            id: row.id.clone(),
            claim: row.claim.clone(),
            evidence: row.evidence.clone(),
            prediction: Prediction { gold, predicted, confidence: None },
            shown: None,
            figures: None,
            decisive: false,
            detail: json!({}),
            judge: name.to_owned(),
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(answers)
}

pub(super) fn advice(found: &Evaluation) -> String {
    let mut text = String::new();
    let share = found.accuracy;
    let _infallible = match (found.rows < FEW, share < 0.5) {
        (true, _) => {
            writeln!(text, "\n{} pairs are few: label {FEW} or more before llm.reliability is set by them", found.rows)
        }
        (_, true) => {
            writeln!(text, "\nright in {share:.2} of the stances: leave llm.adjudicate_enabled off with this model")
        }
        _ => writeln!(
            text,
            "\nright in {share:.2} of the stances: LLM_RELIABILITY={:.2} says so to the daemon",
            (share - 0.02).min(SUREST)
        ),
    };
    text
}

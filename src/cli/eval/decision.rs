//! Counts how often a side is taken and is right, and fits the decision model.
//!
//! The labelled claims give both.

use serde::Serialize;

use super::{Answer, rows};
use crate::cli::failure::Failure;
use crate::domain::result::ClaimResult;
use crate::domain::verdict::Verdict;
use crate::judging::decision::fit::{FittedTable, LabelledClaim};
use crate::judging::decision::{FIGURES, JudgeKind};

const FEW: usize = 30;

/// "Not enough evidence" is no side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct SideTakingCounts {
    /// Claims with a side in their label.
    pub(super) sided_by_people: usize,
    /// Of those, claims with a side in their verdict.
    pub(super) of_them_taken: usize,
    /// Claims with a side in their verdict.
    pub(super) taken: usize,
    /// Of those, claims with the label's side.
    pub(super) right: usize,
    pub(super) decisive: usize,
    pub(super) decisive_right: usize,
}

/// Returns `None` for pairs, which have no verdict.
pub(super) fn caution(answers: &[Answer]) -> Option<SideTakingCounts> {
    let claims: Vec<&Answer> = answers.iter().filter(|answer| answer.shown.is_some()).collect();
    if claims.is_empty() {
        return None;
    }
    let takes = |label: &str| label != rows::NOT_ENOUGH_EVIDENCE;
    let count = |test: &dyn Fn(&Answer) -> bool| claims.iter().filter(|answer| test(answer)).count();
    Some(SideTakingCounts {
        sided_by_people: count(&|answer| takes(answer.prediction.gold)),
        of_them_taken: count(&|answer| takes(answer.prediction.gold) && takes(answer.prediction.predicted)),
        taken: count(&|answer| takes(answer.prediction.predicted)),
        right: count(&|answer| takes(answer.prediction.predicted) && answer.prediction.is_right()),
        decisive: count(&|answer| answer.decisive),
        decisive_right: count(&|answer| answer.decisive && answer.prediction.is_right()),
    })
}

impl SideTakingCounts {
    pub(super) fn text(self) -> String {
        let share = |part: usize, of: usize| match of {
            0 => "none".to_owned(),
            _ => format!("{:.2}", part as f64 / of as f64),
        };
        let Self { sided_by_people, of_them_taken, taken, right, decisive, decisive_right } = self;
        format!(
            "\ncoverage {} ({of_them_taken} of {sided_by_people} claims with a side); selective accuracy {} ({right} of {taken}); \
             conclusive and right {} ({decisive_right} of {decisive})\n",
            share(of_them_taken, sided_by_people),
            share(right, taken),
            share(decisive_right, decisive),
        )
    }
}

/// Returns the input of the decision model.
pub(super) fn figures(result: &ClaimResult) -> Option<[f64; FIGURES]> {
    let decision = result.decision.as_ref()?;
    let ([s1, s2, s3], [c1, c2, c3]) = (decision.support, decision.against);
    Some([s1, s2, s3, c1, c2, c3])
}

/// Uses only the most frequent kind of judge, because figures of other kinds mean something else.
pub(super) fn fitted(answers: &[Answer], judged_by: &str) -> Result<FittedTable, Failure> {
    let count = |kind: JudgeKind| answers.iter().filter(|answer| JudgeKind::of(&answer.judge) == kind).count();
    let kinds = [JudgeKind::Rules, JudgeKind::Model];
    let kind = kinds.into_iter().max_by_key(|kind| count(*kind)).unwrap_or(JudgeKind::Model);
    let of_kind = answers.iter().filter(|answer| JudgeKind::of(&answer.judge) == kind);
    let claims: Vec<LabelledClaim> = of_kind
        .filter_map(|answer| {
            let (set, figures) = answer.figures.clone()?;
            let label = Verdict::parse(answer.prediction.gold)?;
            Some(LabelledClaim { claim: answer.claim.clone(), set, label, figures })
        })
        .collect();
    if claims.len() < FEW {
        let why = format!("{} claim(s) with passages on topic are too few to fit a decision model to", claims.len());
        return Err(Failure::new(2, format!("{why}; label {FEW} or more")));
    }
    Ok(FittedTable::fit(kind, judged_by.to_owned(), &claims))
}

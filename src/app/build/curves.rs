//! Reads the fitted files that `scoring.calibration` and `scoring.decision` name.
//!
//! `eval` writes both files.

use std::path::Path;

use super::setup;
use crate::app::AppError;
use crate::config::ScoringConfig;
use crate::judging::calibration::FittedCurves;
use crate::judging::decision::fit;

pub(in crate::app) fn read(path: &Path) -> Result<FittedCurves, AppError> {
    let wrong = |why: String| {
        let mend = "name a file that `corroborate eval FILE --calibration OUT` wrote, or leave scoring.calibration out";
        setup("the calibration", format!("{}: {why}; {mend}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    FittedCurves::parse(&text).map_err(wrong)
}

pub(super) fn decision(path: &Path) -> Result<fit::FittedTable, AppError> {
    let wrong = |why: String| {
        let mend = "name a file that `corroborate eval FILE --decision OUT` wrote, or leave scoring.decision out";
        setup("the decision model", format!("{}: {why}; {mend}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    fit::FittedTable::parse(&text).map_err(wrong)
}

/// Warns if the curves were fitted on another judge. Not an error: a model may have two names.
pub(super) fn warn_of_another_judge(scoring: &ScoringConfig, judge: &str) {
    let Some(Ok(fitted)) = scoring.calibration.as_deref().map(read) else { return };
    let is_own = |by: &str| judge.split('+').any(|own| bare(own) == bare(by));
    if !fitted.judge.split(" and ").any(is_own) {
        tracing::warn!(
            fitted_on = fitted.judge,
            judge,
            "scoring.calibration was fitted for another judge, so confidence is unreliable; refit it with `eval --calibration`"
        );
    }
}

fn bare(judge: &str) -> &str {
    judge.trim_start_matches("model:")
}

//! The file of fitted curves that `scoring.calibration` names.

use std::path::Path;

use super::setup;
use crate::app::AppError;
use crate::config::ScoringConfig;
use crate::judging::calibration::Fitted;
use crate::judging::decision::fit;

/// The curves of a file that `eval` wrote.
pub(in crate::app) fn read(path: &Path) -> Result<Fitted, AppError> {
    let wrong = |why: String| {
        let mend = "name a file that `corroborate eval FILE --calibration OUT` wrote, or leave scoring.calibration out";
        setup("the calibration", format!("{}: {why}; {mend}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Fitted::parse(&text).map_err(wrong)
}

/// The coefficients of a file that `eval` wrote.
pub(super) fn decision(path: &Path) -> Result<fit::Fitted, AppError> {
    let wrong = |why: String| {
        let mend = "name a file that `corroborate eval FILE --decision OUT` wrote, or leave scoring.decision out";
        setup("the decision model", format!("{}: {why}; {mend}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    fit::Fitted::parse(&text).map_err(wrong)
}

/// Curves bend the figures of the judge they were fitted on. Said and not refused: a model may have two names.
pub(super) fn warn_of_another_judge(scoring: &ScoringConfig, judge: &str) {
    let Some(Ok(fitted)) = scoring.calibration.as_deref().map(read) else { return };
    let is_own = |by: &str| judge.split('+').any(|own| bare(own) == bare(by));
    if !fitted.judge.split(" and ").any(is_own) {
        tracing::warn!(fitted_on = fitted.judge, judge, "scoring.calibration was fitted on another judge's figures");
    }
}

/// A judge's name without what says that it is a model.
fn bare(judge: &str) -> &str {
    judge.trim_start_matches("model:")
}

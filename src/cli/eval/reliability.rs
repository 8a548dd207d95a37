//! Measures tiers, scores and confidences on a labelled file.
//!
//! Figures are measured as shown, and calibrated by cross-validation: no curve is fitted on the claim it is measured
//! on.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Answer, rows};
use crate::domain::verdict::Tier;
use crate::judging::calibration::{
    Calibration, FOLDS, FittedCurves, LabelledFigure, Logistic, cross_validated, curves,
};
use crate::judging::evaluation::{Prediction, ReliabilityBin, calibration_error, error_by_chance, reliability};

/// Minimum rows for a curve: 30 rows give a share to within about 9 points.
const FEW: usize = 30;

#[derive(Debug, Clone, Copy)]
pub(super) struct ShownFigures {
    pub(super) tier: Tier,
    /// 0–100.
    pub(super) score: Option<u32>,
    /// Before calibration.
    pub(super) raw: f64,
    /// The highest score for its verdict, 0–1.
    pub(super) cap: f64,
}

/// Calibration errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Error {
    pub(super) rows: usize,
    /// Mean of the shown figures.
    pub(super) shown: f64,
    /// Mean of cross-validated figures.
    pub(super) calibrated: f64,
    /// Expected for perfect figures with as many rows.
    pub(super) by_chance: f64,
    /// Of `calibrated`.
    pub(super) bins: Vec<ReliabilityBin>,
    /// By prediction, because bins of few rows are noisy.
    pub(super) kinds: BTreeMap<&'static str, KindFigures>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct KindFigures {
    pub(super) rows: usize,
    /// Of calibrated figures.
    pub(super) mean: f64,
    /// Share of right predictions.
    pub(super) right: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct TierFigures {
    pub(super) rows: usize,
    /// Share with the label supported.
    pub(super) supported: f64,
    /// Share with the right verdict.
    pub(super) right: f64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Reliability {
    pub(super) folds: usize,
    /// If a side is taken.
    pub(super) confidence: Error,
    /// The score as the share of claims with the label supported. Claims only.
    pub(super) score: Option<Error>,
    /// Claims only.
    pub(super) tiers: BTreeMap<Tier, TierFigures>,
    #[serde(skip)]
    curves: Option<Calibration>,
}

pub(super) fn measure(answers: &[Answer]) -> Reliability {
    let confident: Vec<LabelledFigure<'_>> = answers.iter().filter_map(confidence).collect();
    let pairs = answers.iter().filter_map(|answer| Some((answer.prediction.confidence?, answer.prediction.is_right())));
    let scored: Vec<(LabelledFigure<'_>, ShownFigures)> = answers.iter().filter_map(score).collect();
    let score_rows: Vec<LabelledFigure<'_>> = scored.iter().map(|(row, _)| *row).collect();
    let score_pairs = scored.iter().filter_map(|(row, shown)| Some((f64::from(shown.score?) / 100.0, row.holds)));
    let caps: Vec<f64> = scored.iter().map(|(_, shown)| shown.cap).collect();
    let are_claims = answers.iter().any(|answer| answer.shown.is_some());
    Reliability {
        folds: FOLDS,
        confidence: error(&confident, &vec![1.0; confident.len()], pairs),
        score: (!score_rows.is_empty()).then(|| error(&score_rows, &caps, score_pairs)),
        tiers: tiers(answers),
        curves: are_claims.then(|| {
            let (of_side, of_score) = (curves(&confident), curves(&score_rows));
            // A verdict without rows gets no curve, so its confidence does not change.
            let side = |label| of_side.get(label).copied();
            Calibration {
                score: of_score.get(SCORE).copied().unwrap_or_else(|| Logistic::fit(&[])),
                supported: side(rows::SUPPORTED),
                refuted: side(rows::REFUTED),
                contested: side(rows::CONTESTED),
            }
        }),
    }
}

/// One curve for all scores.
const SCORE: &str = "score";

fn confidence(answer: &Answer) -> Option<LabelledFigure<'_>> {
    let Prediction { predicted, confidence, .. } = answer.prediction;
    Some(LabelledFigure {
        claim: &answer.claim,
        kind: predicted,
        figure: confidence?,
        holds: answer.prediction.is_right(),
    })
}

fn score(answer: &Answer) -> Option<(LabelledFigure<'_>, ShownFigures)> {
    let shown = answer.shown.filter(|shown| shown.score.is_some())?;
    let holds = answer.prediction.gold == rows::SUPPORTED;
    Some((LabelledFigure { claim: &answer.claim, kind: SCORE, figure: shown.raw, holds }, shown))
}

/// Measures calibration errors. `caps` limits the calibrated figures, as in results.
fn error(labelled: &[LabelledFigure<'_>], caps: &[f64], shown: impl Iterator<Item = (f64, bool)>) -> Error {
    let figures = cross_validated(labelled, FOLDS).into_iter().zip(caps).map(|(figure, cap)| figure.min(*cap));
    let figures: Vec<(&LabelledFigure<'_>, f64)> = labelled.iter().zip(figures).collect();
    let bins = reliability(figures.iter().map(|(row, figure)| (*figure, row.holds)));
    Error {
        rows: labelled.len(),
        shown: calibration_error(&reliability(shown)),
        calibrated: calibration_error(&bins),
        by_chance: error_by_chance(&bins),
        bins,
        kinds: kinds(&figures),
    }
}

fn kinds(figures: &[(&LabelledFigure<'_>, f64)]) -> BTreeMap<&'static str, KindFigures> {
    let mut kinds: BTreeMap<&'static str, KindFigures> = BTreeMap::new();
    for (row, figure) in figures {
        let kind = kinds.entry(row.kind).or_default();
        kind.rows += 1;
        kind.mean += figure;
        kind.right += f64::from(u8::from(row.holds));
    }
    for kind in kinds.values_mut() {
        kind.mean /= kind.rows as f64;
        kind.right /= kind.rows as f64;
    }
    kinds
}

fn tiers(answers: &[Answer]) -> BTreeMap<Tier, TierFigures> {
    let mut tiers: BTreeMap<Tier, TierFigures> = BTreeMap::new();
    for (answer, result) in answers.iter().filter_map(|answer| Some((answer, answer.shown?))) {
        let tier = tiers.entry(result.tier).or_default();
        tier.rows += 1;
        tier.supported += f64::from(u8::from(answer.prediction.gold == rows::SUPPORTED));
        tier.right += f64::from(u8::from(answer.prediction.is_right()));
    }
    for tier in tiers.values_mut() {
        tier.supported /= tier.rows as f64;
        tier.right /= tier.rows as f64;
    }
    tiers
}

impl Reliability {
    /// Returns `None` for pairs, which have no verdict.
    pub(super) fn fitted(&self, data: &str, judge: &str, rows: usize) -> Option<FittedCurves> {
        let score = self.score.clone().unwrap_or_default();
        Some(FittedCurves {
            data: data.to_owned(),
            judge: judge.to_owned(),
            rows,
            curves: self.curves?,
            confidence_error: self.confidence.calibrated,
            confidence_reliability: self.confidence.bins.clone(),
            score_error: score.calibrated,
            score_reliability: score.bins,
        })
    }

    /// Curves with few rows.
    pub(super) fn weak(&self) -> Vec<String> {
        let of_score = self.score.iter().map(|score| ("the score", score.rows));
        let of_side = self.confidence.kinds.iter().map(|(side, found)| (*side, found.rows));
        let few = of_score.chain(of_side).filter(|(_, rows)| *rows < FEW);
        few.map(|(curve, rows)| format!("the curve of {curve} rests on {rows} row(s)")).collect()
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (tier, found) in &self.tiers {
            if text.is_empty() {
                let _infallible =
                    writeln!(text, "\n{:20} {:>9} {:>18} {:>14}", "tier", "rows", "people: supported", "verdict right");
            }
            let _infallible =
                writeln!(text, "{tier:20} {:>9} {:>18.3} {:>14.3}", found.rows, found.supported, found.right);
        }
        for (name, error) in self.errors() {
            let _infallible = writeln!(
                text,
                "\n{name}: calibration error {:.3} as shown, {:.3} calibrated ({}-fold cross-validation, {} rows; chance alone \
                 shows {:.3})\n{:20} {:>9} {:>18} {:>14}",
                error.shown,
                error.calibrated,
                self.folds,
                error.rows,
                error.by_chance,
                "calibrated to",
                "rows",
                "mean",
                "turned out"
            );
            for bin in &error.bins {
                let _infallible = writeln!(
                    text,
                    "{:20} {:>9} {:>18.3} {:>14.3}",
                    format!("{:.2} – {:.2}", bin.from, bin.to),
                    bin.rows,
                    bin.confidence,
                    bin.accuracy
                );
            }
            // A single kind repeats the line above.
            if error.kinds.len() > 1 {
                let _infallible =
                    writeln!(text, "{:20} {:>9} {:>18} {:>14}", "of those said", "rows", "mean", "turned out");
                for (kind, of) in &error.kinds {
                    let _infallible = writeln!(text, "{kind:20} {:>9} {:>18.3} {:>14.3}", of.rows, of.mean, of.right);
                }
            }
        }
        text
    }

    pub(super) fn errors(&self) -> impl Iterator<Item = (&'static str, &Error)> {
        let score = self.score.as_ref().map(|error| ("score, as the share that people call supported", error));
        [("confidence, where a side is taken", &self.confidence)].into_iter().chain(score)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn answer(
        number: usize,
        gold: &'static str,
        predicted: &'static str,
        sure: f64,
        shown: Option<ShownFigures>,
    ) -> Answer {
        Answer {
            id: number.to_string(),
            claim: format!("claim {number}"),
            evidence: String::new(),
            prediction: Prediction {
                gold,
                predicted,
                confidence: (predicted != rows::NOT_ENOUGH_EVIDENCE).then_some(sure),
            },
            shown,
            figures: None,
            decisive: false,
            detail: Value::Null,
            judge: "rules".to_owned(),
        }
    }

    #[test]
    fn tier_has_share_of_right_verdicts_when_claims_are_labelled() {
        let of = |tier, score, raw| Some(ShownFigures { tier, score: Some(score), raw, cap: 1.0 });
        let answers: Vec<Answer> = (0..400)
            .map(|n| match n % 4 {
                0 => answer(n, rows::SUPPORTED, rows::SUPPORTED, 1.0, of(Tier::High, 95, 0.9)),
                1 => answer(n, rows::SUPPORTED, rows::NOT_ENOUGH_EVIDENCE, 0.0, of(Tier::Medium, 40, 0.4)),
                2 => answer(n, rows::REFUTED, rows::REFUTED, 1.0, of(Tier::Low, 5, 0.1)),
                _ => answer(n, rows::NOT_ENOUGH_EVIDENCE, rows::REFUTED, 1.0, of(Tier::Low, 5, 0.1)),
            })
            .collect();
        let found = measure(&answers);
        assert_eq!(found.tiers[&Tier::High], TierFigures { rows: 100, supported: 1.0, right: 1.0 });
        assert_eq!(found.tiers[&Tier::Medium], TierFigures { rows: 100, supported: 1.0, right: 0.0 });
        assert_eq!(found.tiers[&Tier::Low], TierFigures { rows: 200, supported: 0.0, right: 0.5 });
        assert_eq!(found.confidence.rows, 300, "a hundred take no side");
        assert!(found.confidence.shown > 0.3 && found.confidence.calibrated < 0.1, "{:?}", found.confidence);
        let refuted = found.confidence.kinds[rows::REFUTED];
        assert!(refuted.rows == 200 && (refuted.right - 0.5).abs() < 1e-9 && (refuted.mean - 0.5).abs() < 0.05);
        let score = found.score.as_ref().unwrap();
        assert!(score.rows == 400 && score.calibrated < score.shown, "{score:?}");
        let fitted = found.fitted("claims.jsonl", "rules", answers.len()).unwrap();
        let sure = |curve: Option<Logistic>| curve.map(|curve| curve.at(1.0));
        assert!(sure(fitted.curves.refuted) < Some(0.6) && sure(fitted.curves.supported) > Some(0.85));
        assert_eq!(sure(fitted.curves.contested), None, "nothing was called so");
        assert!(fitted.curves.score.at(0.9) > fitted.curves.score.at(0.1));
        let text = found.text();
        assert!(
            text.contains("high") && text.contains("10-fold cross-validation, 400 rows; chance alone shows 0.0"),
            "{text}"
        );
    }

    #[test]
    fn pairs_have_a_confidence_and_no_curves_of_their_own() {
        let found = measure(&[answer(1, rows::ENTAIL, rows::ENTAIL, 0.8, None)]);
        assert_eq!((found.confidence.rows, found.tiers.len(), found.score.is_none()), (1, 0, true));
        assert!(found.fitted("pairs.jsonl", "rules", 1).is_none());
        assert_eq!(measure(&[]).confidence.calibrated.to_bits(), 0.0f64.to_bits());
    }
}

//! Calibrates figures: a logistic curve maps a raw figure to the share of right answers.
//!
//! Cross-validation measures each claim with curves that have not seen it. Logistic instead of isotonic, because files
//! have only dozens of verdicts of a kind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use corroborate_domain::ids;
use corroborate_domain::verdict::Verdict;

use super::evaluation::ReliabilityBin;

pub const FOLDS: usize = 10;

/// Regularisation of the slope: a prior with standard deviation 1, against noise in few rows. The offset is free.
const REGULARISATION: f64 = 1.0;

/// Maximum number of Newton steps; under ten are needed.
const MAX_STEPS: usize = 60;

/// The curve 1 / (1 + exp(−(slope·figure + offset))), with slope ≥ 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logistic {
    pub slope: f64,
    pub offset: f64,
}

impl Logistic {
    pub fn at(self, figure: f64) -> f64 {
        1.0 / (1.0 + (-(self.slope * figure + self.offset)).exp())
    }

    /// Fits the curve with Platt's targets, which keep it off 0 and 1; 0.5 without rows.
    pub fn fit(rows: &[(f64, bool)]) -> Self {
        let held = rows.iter().filter(|(_, holds)| *holds).count() as f64;
        let failed = rows.len() as f64 - held;
        let level = ((held + 1.0) / (failed + 1.0)).ln();
        let targets = ((held + 1.0) / (held + 2.0), 1.0 / (failed + 2.0));
        let mut curve = Self { slope: 0.0, offset: level };
        for _ in 0..MAX_STEPS {
            let Some(next) = curve.step(rows, targets) else { break };
            let moved = (next.slope - curve.slope).abs() + (next.offset - curve.offset).abs();
            curve = next;
            if moved < 1e-10 {
                break;
            }
        }
        if curve.slope >= 0.0 { curve } else { Self { slope: 0.0, offset: level } }
    }

    /// One Newton step; `None` if the rows give no direction.
    fn step(self, rows: &[(f64, bool)], targets: (f64, f64)) -> Option<Self> {
        let mut gradient = (REGULARISATION * self.slope, 0.0);
        let (mut of_slope, mut of_both, mut of_offset) = (REGULARISATION, 0.0, 0.0);
        for (figure, holds) in rows {
            let estimate = self.at(*figure);
            let off = estimate - if *holds { targets.0 } else { targets.1 };
            let weight = estimate * (1.0 - estimate);
            gradient.0 += off * figure;
            gradient.1 += off;
            of_slope += weight * figure * figure;
            of_both += weight * figure;
            of_offset += weight;
        }
        let determinant = of_slope * of_offset - of_both * of_both;
        let next = Self {
            slope: self.slope - (of_offset * gradient.0 - of_both * gradient.1) / determinant,
            offset: self.offset - (of_slope * gradient.1 - of_both * gradient.0) / determinant,
        };
        (determinant > 0.0 && next.slope.is_finite() && next.offset.is_finite()).then_some(next)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelledFigure<'a> {
    /// Rows of one claim stay in one fold.
    pub claim: &'a str,
    /// Each kind has its curve, because error rates differ.
    pub kind: &'static str,
    pub figure: f64,
    pub holds: bool,
}

pub fn curves(rows: &[LabelledFigure<'_>]) -> BTreeMap<&'static str, Logistic> {
    let mut of_kind: BTreeMap<&'static str, Vec<(f64, bool)>> = BTreeMap::new();
    for row in rows {
        of_kind.entry(row.kind).or_default().push((row.figure, row.holds));
    }
    of_kind.into_iter().map(|(kind, rows)| (kind, Logistic::fit(&rows))).collect()
}

/// Returns predictions in row order, 0–1, by curves that have not seen the row's claim. Folds depend only on the
/// claim's text.
pub fn cross_validated(rows: &[LabelledFigure<'_>], folds: usize) -> Vec<f64> {
    let folds = folds.max(2);
    let parts: Vec<usize> = rows.iter().map(|row| part(row.claim, folds)).collect();
    let without: Vec<BTreeMap<&'static str, Logistic>> = (0..folds)
        .map(|part| {
            let seen = rows.iter().zip(&parts).filter(|(_, of_row)| **of_row != part);
            curves(&seen.map(|(row, _)| *row).collect::<Vec<_>>())
        })
        .collect();
    let unseen = Logistic::fit(&[]);
    let predict = |(row, part): (&LabelledFigure<'_>, &usize)| {
        without.get(*part).and_then(|curves| curves.get(row.kind)).unwrap_or(&unseen).at(row.figure)
    };
    rows.iter().zip(&parts).map(predict).collect()
}

fn part(claim: &str, folds: usize) -> usize {
    let hash = ids::sentence_hash(claim);
    hash.get(..8).and_then(|head| usize::from_str_radix(head, 16).ok()).unwrap_or(0) % folds
}

/// Curves from `corroborate eval`, used if the operator configures their file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Raw score → share labelled supported; replaces the sigmoid.
    pub score: Logistic,
    /// Confidence → share right; `None` without labelled claims.
    pub supported: Option<Logistic>,
    pub refuted: Option<Logistic>,
    pub contested: Option<Logistic>,
}

impl Calibration {
    /// Returns the calibrated confidence. A verdict without a side or curve, and 0, stay unchanged.
    pub fn confidence(&self, verdict: Verdict, confidence: f64) -> f64 {
        let curve = match verdict {
            Verdict::Supported => self.supported,
            Verdict::Refuted | Verdict::Outdated => self.refuted,
            Verdict::Contested | Verdict::Misleading => self.contested,
            Verdict::NotEnoughEvidence | Verdict::NotVerifiable => return confidence,
        };
        match curve {
            Some(curve) if confidence > 0.0 => curve.at(confidence),
            _ => confidence,
        }
    }
}

/// A calibration with its provenance, as stored in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedCurves {
    pub data: String,
    /// Another judge needs other curves.
    pub judge: String,
    pub rows: usize,
    pub curves: Calibration,
    /// Error on unseen claims, and its bins.
    pub confidence_error: f64,
    pub confidence_reliability: Vec<ReliabilityBin>,
    /// The same for the score.
    pub score_error: f64,
    pub score_reliability: Vec<ReliabilityBin>,
}

impl FittedCurves {
    /// Reads a stored calibration.
    ///
    /// # Errors
    ///
    /// Returns the parse error or the invalid curve.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fitted: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Calibration { score, supported, refuted, contested } = fitted.curves;
        let mut curves = [supported, refuted, contested].into_iter().flatten().chain([score]);
        // JSON has no infinity, but 1e999 is read as one.
        if curves.all(|curve| curve.slope >= 0.0 && curve.slope.is_finite() && curve.offset.is_finite()) {
            Ok(fitted)
        } else {
            Err("a slope is below 0, or a number is too large".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::evaluation::{calibration_error, reliability};
    use super::*;

    /// `of` figures evenly from 0 to 1, labelled by the curve without randomness.
    fn drawn(curve: Logistic, of: usize) -> Vec<(f64, bool)> {
        let mut owed = 0.0;
        (0..of)
            .map(|n| {
                let figure = n as f64 / of as f64;
                owed += curve.at(figure);
                let holds = owed >= 1.0;
                owed -= f64::from(u8::from(holds));
                (figure, holds)
            })
            .collect()
    }

    #[test]
    fn the_curve_that_made_the_rows_is_found_again() {
        for made in [(4.0, -1.5), (1.0, 0.0), (0.0, -0.7), (6.0, -3.0)] {
            let made = Logistic { slope: made.0, offset: made.1 };
            let found = Logistic::fit(&drawn(made, 4_000));
            for figure in [0.0, 0.25, 0.5, 0.75, 1.0] {
                assert!((found.at(figure) - made.at(figure)).abs() < 0.02, "{made:?} {found:?} at {figure}");
            }
        }
    }

    #[test]
    fn curve_is_not_certain_when_rows_are_few() {
        assert!((Logistic::fit(&[]).at(0.9) - 0.5).abs() < 1e-9);
        let one = Logistic::fit(&[(1.0, true)]).at(1.0);
        assert!(one > 0.5 && one < 0.75, "{one}");
        let ten = Logistic::fit(&[(1.0, true); 10]).at(1.0);
        assert!(ten > 0.85 && ten < 0.95, "{ten}");
        let turned: Vec<(f64, bool)> = (0..40).map(|n| (f64::from(n) / 40.0, n < 20)).collect();
        let flat = Logistic::fit(&turned);
        assert!(
            flat.slope.abs() < 1e-12 && (flat.at(1.0) - 0.5).abs() < 1e-9,
            "a surer figure never says less: {flat:?}"
        );
    }

    #[test]
    fn an_overconfident_judge_is_brought_to_what_it_deserves() {
        let claims: Vec<String> = (0..400).map(|n| format!("claim {n}")).collect();
        let rows: Vec<LabelledFigure<'_>> = claims
            .iter()
            .enumerate()
            .map(|(n, claim)| {
                let (kind, figure) = if n % 4 == 0 { ("supported", 0.97) } else { ("refuted", 1.0) };
                // Nineteen of twenty of the first kind hold, and half of the other.
                let holds = if kind == "supported" { n % 80 != 0 } else { n % 2 == 0 };
                LabelledFigure { claim, kind, figure, holds }
            })
            .collect();
        let error = |predicted: &[f64]| {
            calibration_error(&reliability(predicted.iter().copied().zip(rows.iter().map(|row| row.holds))))
        };
        let before: Vec<f64> = rows.iter().map(|row| row.figure).collect();
        let after = cross_validated(&rows, FOLDS);
        assert!(error(&before) > 0.3, "{}", error(&before));
        assert!(error(&after) < 0.06, "{}", error(&after));
        let refuted = curves(&rows)["refuted"];
        let share = rows.iter().filter(|row| row.kind == "refuted" && row.holds).count() as f64 / 300.0;
        assert!((refuted.at(1.0) - share).abs() < 0.02);
    }

    /// Every claim has two rows with one label.
    #[test]
    fn row_is_predicted_without_its_claim_when_cross_validated() {
        let rows: Vec<LabelledFigure<'_>> = [("a", true), ("b", false), ("a", true), ("b", false)]
            .map(|(claim, holds)| LabelledFigure { claim, kind: "k", figure: 0.5, holds })
            .to_vec();
        let predicted = cross_validated(&rows, FOLDS);
        assert!(predicted[0] < 0.5 && predicted[2] < 0.5 && predicted[1] > 0.5 && predicted[3] > 0.5, "{predicted:?}");
        let alone = [LabelledFigure { claim: "a", kind: "only one", figure: 0.9, holds: true }];
        assert!((cross_validated(&alone, 10)[0] - 0.5).abs() < 1e-9, "nothing was seen of its kind");
    }

    #[test]
    fn a_verdict_is_calibrated_by_the_curve_of_its_side() {
        let level = |offset| Logistic { slope: 0.0, offset };
        let curves =
            Calibration { score: level(9.0), supported: Some(level(3.0)), refuted: Some(level(0.0)), contested: None };
        let percent = |verdict, confidence| (curves.confidence(verdict, confidence) * 100.0).round() as i32;
        let rows = [
            (Verdict::Supported, 0.6, 95),
            (Verdict::Refuted, 1.0, 50),
            (Verdict::Outdated, 0.2, 50),
            // No curve exists for these.
            (Verdict::Contested, 0.9, 90),
            (Verdict::Misleading, 0.9, 90),
            (Verdict::NotEnoughEvidence, 0.0, 0),
            (Verdict::NotVerifiable, 0.0, 0),
            (Verdict::Refuted, 0.0, 0),
        ];
        for (verdict, confidence, expected) in rows {
            assert_eq!(percent(verdict, confidence), expected, "{verdict} {confidence}");
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_nonsense_is_refused() {
        let level = Logistic { slope: 1.5, offset: -0.25 };
        let fitted = FittedCurves {
            data: "claims.jsonl".to_owned(),
            judge: "rules".to_owned(),
            rows: 2,
            curves: Calibration { score: level, supported: Some(level), refuted: Some(level), contested: None },
            confidence_error: 0.1,
            confidence_reliability: vec![ReliabilityBin {
                from: 0.5,
                to: 0.75,
                rows: 3,
                confidence: 0.625,
                accuracy: 0.25,
            }],
            score_error: 0.2,
            score_reliability: Vec::new(),
        };
        let text = serde_json::to_string(&fitted).unwrap();
        assert_eq!(FittedCurves::parse(&text), Ok(fitted));
        for broken in [
            "",
            "{}",
            &text.replacen("1.5", "-1.5", 1),
            &text.replacen("1.5", "1e999", 1),
            &text.replace("\"rows\"", "\"row\""),
        ] {
            assert!(FittedCurves::parse(broken).is_err(), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn a_fitted_curve_is_a_probability_that_never_falls(
            rows in prop::collection::vec((-1.0..=2.0f64, any::<bool>()), 0..60), low in -1.0..=2.0f64, more in 0.0..=1.0f64,
        ) {
            let curve = Logistic::fit(&rows);
            prop_assert!(curve.slope >= 0.0);
            for figure in [low, low + more] {
                prop_assert!((0.0..=1.0).contains(&curve.at(figure)));
            }
            prop_assert!(curve.at(low + more) >= curve.at(low));
            let again = Logistic::fit(&rows.iter().rev().copied().collect::<Vec<_>>());
            prop_assert!((again.at(low) - curve.at(low)).abs() < 1e-6, "the order of the rows changes nothing");
        }

        #[test]
        fn cross_validation_predicts_every_row(
            given in prop::collection::vec((0usize..6, 0usize..2, 0.0..=1.0f64, any::<bool>()), 0..40), folds in 0usize..12,
        ) {
            let names = ["a", "b", "c", "d", "e", "f"];
            let rows: Vec<LabelledFigure<'_>> = given
                .iter()
                .map(|(claim, kind, figure, holds)| LabelledFigure {
                    claim: names[*claim],
                    kind: names[*kind],
                    figure: *figure,
                    holds: *holds,
                })
                .collect();
            let predicted = cross_validated(&rows, folds);
            prop_assert_eq!(predicted.len(), rows.len());
            prop_assert!(predicted.iter().all(|share| (0.0..=1.0).contains(share)));
            let turned: Vec<LabelledFigure<'_>> = rows.iter().rev().copied().collect();
            let again = cross_validated(&turned, folds);
            prop_assert!(predicted.iter().zip(again.iter().rev()).all(|(a, b)| (a - b).abs() < 1e-6));
        }
    }
}

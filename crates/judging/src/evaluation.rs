//! Compares predictions with human labels.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Number of calibration bins, as in Guo et al. (2017).
const BINS: usize = 15;

/// A human label, the judge's label and its confidence (0–1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    pub gold: &'static str,
    pub predicted: &'static str,
    /// `None` if the judge takes no side.
    pub confidence: Option<f64>,
}

impl Prediction {
    pub fn is_right(&self) -> bool {
        self.gold == self.predicted
    }
}

/// Results for one label, as shares 0–1; 0 without rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ClassFigures {
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
    /// Number of rows with this human label.
    pub support: usize,
}

/// A point of the reliability diagram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    pub from: f64,
    pub to: f64,
    pub rows: usize,
    /// Mean, 0–1.
    pub confidence: f64,
    pub accuracy: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    pub rows: usize,
    pub accuracy: f64,
    /// Over human labels.
    pub macro_f1: f64,
    pub per_class: BTreeMap<&'static str, ClassFigures>,
    /// By human label, then by the judge's.
    pub confusion: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
    pub sided: usize,
    /// Expected calibration error: mean distance of confidence and accuracy, weighted by rows.
    pub ece: f64,
    /// Non-empty, lowest confidence first.
    pub reliability: Vec<ReliabilityBin>,
}

/// Computes all figures; 0 without rows.
pub fn evaluate(rows: &[Prediction]) -> Evaluation {
    let gold: BTreeSet<&'static str> = rows.iter().map(|row| row.gold).collect();
    let labels: BTreeSet<&'static str> = rows.iter().flat_map(|row| [row.gold, row.predicted]).collect();
    let per_class: BTreeMap<_, _> = labels.into_iter().map(|label| (label, class(rows, label))).collect();
    let f1 = |label: &&'static str| per_class.get(label).map_or(0.0, |figures| figures.f1);
    let mut confusion: BTreeMap<&'static str, BTreeMap<&'static str, usize>> = BTreeMap::new();
    for row in rows {
        *confusion.entry(row.gold).or_default().entry(row.predicted).or_default() += 1;
    }
    let reliability = reliability(rows.iter().filter_map(|row| Some((row.confidence?, row.is_right()))));
    Evaluation {
        rows: rows.len(),
        accuracy: share(rows.iter().filter(|row| row.is_right()).count(), rows.len()),
        macro_f1: if gold.is_empty() { 0.0 } else { gold.iter().map(f1).sum::<f64>() / gold.len() as f64 },
        per_class,
        confusion,
        sided: reliability.iter().map(|bin| bin.rows).sum(),
        ece: calibration_error(&reliability),
        reliability,
    }
}

fn class(rows: &[Prediction], label: &str) -> ClassFigures {
    let support = rows.iter().filter(|row| row.gold == label).count();
    let predicted = rows.iter().filter(|row| row.predicted == label).count();
    let both = rows.iter().filter(|row| row.predicted == label && row.is_right()).count();
    ClassFigures {
        precision: share(both, predicted),
        recall: share(both, support),
        f1: 2.0 * share(both, support + predicted),
        support,
    }
}

/// Returns the non-empty bins, lowest first, from confidence (0–1) and correctness.
pub fn reliability(figures: impl Iterator<Item = (f64, bool)>) -> Vec<ReliabilityBin> {
    let mut bins = [(0usize, 0usize, 0.0f64); BINS];
    for (sure, is_right) in figures {
        let at = ((sure.clamp(0.0, 1.0) * BINS as f64) as usize).min(BINS - 1);
        if let Some((count, right, confidence)) = bins.get_mut(at) {
            *count += 1;
            *right += usize::from(is_right);
            *confidence += sure;
        }
    }
    let bin = |(at, (count, right, confidence)): (usize, (usize, usize, f64))| ReliabilityBin {
        from: at as f64 / BINS as f64,
        to: (at + 1) as f64 / BINS as f64,
        rows: count,
        confidence: confidence / count as f64,
        accuracy: share(right, count),
    };
    bins.into_iter().enumerate().filter(|(_, (count, ..))| *count > 0).map(bin).collect()
}

/// Expected calibration error; 0 without bins.
pub fn calibration_error(bins: &[ReliabilityBin]) -> f64 {
    let rows = bins.iter().map(|bin| bin.rows).sum();
    // Makes the negative zero of an empty sum positive.
    bins.iter().map(|bin| share(bin.rows, rows) * (bin.confidence - bin.accuracy).abs()).sum::<f64>() + 0.0
}

/// Returns the error of perfect figures by chance: about 0.1 for a hundred rows in fifteen bins. A measured error near
/// it means little.
pub fn error_by_chance(bins: &[ReliabilityBin]) -> f64 {
    let rows = bins.iter().map(|bin| bin.rows).sum();
    bins.iter().map(|bin| share(bin.rows, rows) * mean_deviation(bin.rows, bin.confidence)).sum::<f64>() + 0.0
}

/// Mean distance of the share that holds among `of` rows from its probability `p` (De Moivre): 2/n · k · C(n, k) · p^k
/// · (1 − p)^(n − k + 1) with k = ⌊np⌋ + 1.
fn mean_deviation(of: usize, p: f64) -> f64 {
    if of == 0 || p <= 0.0 || p >= 1.0 {
        return 0.0;
    }
    let n = of as f64;
    let k = (n * p).floor() + 1.0;
    let ways: f64 = (1..=k as usize).map(|step| ((n - k + step as f64) / step as f64).ln()).sum();
    2.0 / n * k * (ways + k * p.ln() + (n - k + 1.0) * (1.0 - p).ln()).exp()
}

fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(gold: &'static str, predicted: &'static str, confidence: f64) -> Prediction {
        Prediction { gold, predicted, confidence: Some(confidence) }
    }

    #[test]
    fn the_figures_are_those_of_the_textbook() {
        let rows = [
            row("supported", "supported", 0.9),
            row("supported", "supported", 0.9),
            row("supported", "refuted", 0.6),
            row("refuted", "refuted", 0.6),
            row("refuted", "supported", 0.9),
        ];
        let found = evaluate(&rows);
        assert!((found.accuracy - 0.6).abs() < 1e-9);
        let supported = found.per_class["supported"];
        assert!((supported.precision - 2.0 / 3.0).abs() < 1e-9 && (supported.recall - 2.0 / 3.0).abs() < 1e-9);
        assert!((found.per_class["refuted"].f1 - 0.5).abs() < 1e-9);
        assert!((found.macro_f1 - f64::midpoint(2.0 / 3.0, 0.5)).abs() < 1e-9);
        assert_eq!(found.confusion["supported"]["refuted"], 1);
        // Three rows at 0.9, two right; two at 0.6, one right.
        let expected = 0.6 * (0.9 - 2.0 / 3.0) + 0.4 * (0.6 - 0.5);
        assert!((found.ece - expected).abs() < 1e-9, "{}", found.ece);
        assert_eq!(found.reliability.len(), 2);
    }

    #[test]
    fn label_does_not_count_in_the_mean_when_no_row_has_it() {
        let found = evaluate(&[row("supported", "supported", 1.0), row("supported", "contested", 0.4)]);
        assert_eq!(found.per_class["contested"].support, 0);
        assert!((found.macro_f1 - found.per_class["supported"].f1).abs() < 1e-9);
    }

    #[test]
    fn calibration_error_is_zero_when_no_row_takes_a_side() {
        let silent = Prediction { gold: "not_enough_evidence", predicted: "not_enough_evidence", confidence: None };
        let found = evaluate(&[silent, row("supported", "supported", 0.8)]);
        assert_eq!((found.sided, found.reliability.len()), (1, 1));
        assert!((found.ece - 0.2).abs() < 1e-9 && (found.accuracy - 1.0).abs() < 1e-9);
    }

    #[test]
    fn error_by_chance_equals_the_deviation_of_coins() {
        let of = |rows, confidence| {
            error_by_chance(&[ReliabilityBin { from: 0.0, to: 1.0, rows, confidence, accuracy: 0.0 }])
        };
        for (rows, expected) in [(1, 0.5), (2, 0.25), (3, 0.25), (0, 0.0)] {
            assert!((of(rows, 0.5) - expected).abs() < 1e-9, "{rows}: {}", of(rows, 0.5));
        }
        // Many: √(2p(1 − p)/πn).
        assert!((of(10_000, 0.3) - (0.42 / (std::f64::consts::PI * 10_000.0)).sqrt()).abs() < 1e-5);
        assert_eq!((of(9, 0.0).to_bits(), of(9, 1.0).to_bits()), (0, 0));
        assert_eq!(error_by_chance(&[]).to_bits(), 0.0f64.to_bits());
    }

    #[test]
    fn no_rows_are_no_division_by_zero() {
        let found = evaluate(&[]);
        assert_eq!((found.rows, found.accuracy, found.macro_f1, found.ece), (0, 0.0, 0.0, 0.0));
    }

    proptest! {
        #[test]
        fn every_figure_is_a_share(given in proptest::collection::vec((0usize..3, 0usize..3, 0.0f64..=1.0), 1..60)) {
            const LABELS: [&str; 3] = ["entail", "neutral", "contradict"];
            let rows: Vec<Prediction> = given
                .into_iter()
                .map(|(gold, predicted, confidence)| row(LABELS[gold], LABELS[predicted], confidence))
                .collect();
            let found = evaluate(&rows);
            for figure in [found.accuracy, found.macro_f1, found.ece] {
                prop_assert!((0.0..=1.0 + 1e-9).contains(&figure));
            }
            prop_assert_eq!(found.confusion.values().flat_map(BTreeMap::values).sum::<usize>(), rows.len());
            prop_assert_eq!(found.reliability.iter().map(|bin| bin.rows).sum::<usize>(), rows.len());
        }
    }
}

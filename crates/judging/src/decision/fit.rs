//! Fits a decision table to labelled claims, and measures it on unseen claims and sets.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{CLASSES, Coefficients, FIGURES, GROUPS_PER_SIDE, JudgeKind, Row};
use crate::evaluation::{calibration_error, reliability};
use corroborate_domain::ids;
use corroborate_domain::result::Posterior;
use corroborate_domain::verdict::Verdict;

const FOLDS: usize = 10;
/// A prior with standard deviation 1.
const REGULARISATION: f64 = 1.0;
/// Number of claims that each kind of set weighs, so that none dominates.
const CLAIMS_PER_KIND: f64 = 500.0;
/// The third digit is stable after a few thousand steps.
const STEPS: usize = 3_000;
const STEP: f64 = 0.1;
const MOMENTUM: f64 = 0.9;

/// Maximum coefficient. Fitted ones are under 10; much larger ones overflow.
const MAX_COEFFICIENT: f64 = 1_000.0;

/// Posterior from which a measurement takes a side (`docs/scoring.md`, verdict, step 5).
const MIN_SIDE_POSTERIOR: f64 = 0.5;

#[derive(Debug, Clone, PartialEq)]
pub struct LabelledClaim {
    /// Selects the fold.
    pub claim: String,
    /// A kind and a part, `news_ru`. Sets of one kind share their writers.
    pub set: String,
    pub label: Verdict,
    pub figures: [f64; FIGURES],
}

/// Results on unseen claims, as shares 0–1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOutMetrics {
    pub claims: usize,
    /// Likeliest class equals the label.
    pub accuracy: f64,
    /// Of claims labelled with a side, those with one.
    pub taken: f64,
    /// Of sides, those equal to the label.
    pub right: f64,
    /// Mean distance of posterior and accuracy.
    pub calibration_error: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedTable {
    pub judge: JudgeKind,
    pub judged_by: String,
    pub sets: BTreeMap<String, usize>,
    pub rows: usize,
    pub coefficients: Coefficients,
    /// By tables of nine folds, without the claim.
    pub without_the_claim: BTreeMap<String, HeldOutMetrics>,
    /// By tables without the sets of the same kind; empty for one kind.
    #[serde(alias = "without_the_set")]
    pub without_the_kind: BTreeMap<String, HeldOutMetrics>,
}

impl FittedTable {
    /// Parses a stored table.
    ///
    /// # Errors
    ///
    /// Returns the reason why the table is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fitted: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Coefficients { supported, refuted, contested, open } = fitted.coefficients;
        let weights = |row: Row| std::iter::once(row.intercept).chain(row.support).chain(row.against);
        let is_usable = |weight: f64| weight.abs() <= MAX_COEFFICIENT;
        if ![supported, refuted, contested, open].into_iter().flat_map(weights).all(is_usable) {
            return Err(format!("a coefficient is no number between -{MAX_COEFFICIENT} and {MAX_COEFFICIENT}"));
        }
        if !fitted.coefficients.is_monotone() {
            return Err("by these coefficients more support would make support less likely".to_owned());
        }
        Ok(fitted)
    }

    pub fn fit(judge: JudgeKind, judged_by: String, claims: &[LabelledClaim]) -> Self {
        let all: Vec<&LabelledClaim> = claims.iter().collect();
        let mut sets: BTreeMap<String, usize> = BTreeMap::new();
        for claim in claims {
            *sets.entry(claim.set.clone()).or_default() += 1;
        }
        let kinds: BTreeSet<&str> = sets.keys().map(|set| kind(set)).collect();
        Self {
            judge,
            judged_by,
            rows: claims.len(),
            coefficients: rounded(coefficients(&all)),
            without_the_claim: unseen(&all, |claim| part(&claim.claim)),
            without_the_kind: if kinds.len() > 1 { unseen(&all, |claim| kind(&claim.set)) } else { BTreeMap::new() },
            sets,
        }
    }
}

/// `news` of `news_ru`.
fn kind(set: &str) -> &str {
    set.split_once('_').map_or(set, |(kind, _)| kind)
}

fn part(claim: &str) -> usize {
    let hash = ids::sentence_hash(claim);
    hash.get(..8).and_then(|head| usize::from_str_radix(head, 16).ok()).unwrap_or(0) % FOLDS
}

/// Measures each set by tables without the claims of the same key.
fn unseen<'a, K: Ord>(
    claims: &[&'a LabelledClaim],
    key: impl Fn(&'a LabelledClaim) -> K,
) -> BTreeMap<String, HeldOutMetrics> {
    let mut predicted: BTreeMap<String, Vec<(Verdict, Posterior)>> = BTreeMap::new();
    let keys: BTreeSet<K> = claims.iter().map(|claim| key(claim)).collect();
    for left_out in keys {
        let (out, seen): (Vec<&LabelledClaim>, Vec<&LabelledClaim>) =
            claims.iter().copied().partition(|claim| key(claim) == left_out);
        let table = coefficients(&seen);
        for claim in out {
            predicted.entry(claim.set.clone()).or_default().push((claim.label, table.posterior(&claim.figures)));
        }
    }
    predicted.into_iter().map(|(set, rows)| (set, measure(&rows))).collect()
}

fn measure(rows: &[(Verdict, Posterior)]) -> HeldOutMetrics {
    let share = |part: usize, of: usize| if of == 0 { 0.0 } else { digits(part as f64 / of as f64) };
    let takes_side = |label: Verdict| label != Verdict::NotEnoughEvidence;
    let taken: Vec<(Verdict, Verdict, f64)> = rows
        .iter()
        .filter_map(|(label, posterior)| posterior.side(MIN_SIDE_POSTERIOR).map(|(side, sure)| (*label, side, sure)))
        .collect();
    let sided = rows.iter().filter(|(label, _)| takes_side(*label)).count();
    let outcomes = taken.iter().map(|(label, side, sure)| (*sure, label == side));
    HeldOutMetrics {
        claims: rows.len(),
        accuracy: share(rows.iter().filter(|(label, posterior)| posterior.likeliest() == *label).count(), rows.len()),
        taken: share(taken.iter().filter(|(label, ..)| takes_side(*label)).count(), sided),
        right: share(taken.iter().filter(|(label, side, _)| label == side).count(), taken.len()),
        calibration_error: digits(calibration_error(&reliability(outcomes))),
    }
}

/// A few hundred claims give no more precision.
fn digits(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

fn rounded(Coefficients { supported, refuted, contested, open }: Coefficients) -> Coefficients {
    let row = |row: Row| Row {
        intercept: digits(row.intercept),
        support: row.support.map(digits),
        against: row.against.map(digits),
    };
    Coefficients { supported: row(supported), refuted: row(refuted), contested: row(contested), open: row(open) }
}

/// Weights per class: intercept, then figures.
type Weights = [[f64; FIGURES + 1]; CLASSES.len()];

/// Fits a multinomial logistic regression in which kinds of sets weigh the same, and so do the sets of a kind. A
/// projection after each step keeps support strongest for "supported", contradiction for "refuted".
fn coefficients(claims: &[&LabelledClaim]) -> Coefficients {
    let mut rows: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for claim in claims {
        *rows.entry(kind(&claim.set)).or_default().entry(claim.set.as_str()).or_default() += 1.0;
    }
    let total = CLAIMS_PER_KIND * rows.len().max(1) as f64;
    let shares: Vec<f64> = claims
        .iter()
        .map(|claim| {
            let sets = rows.get(kind(&claim.set));
            let alike = sets.and_then(|sets| sets.get(claim.set.as_str()).map(|rows| rows * sets.len() as f64));
            alike.map_or(0.0, |alike| CLAIMS_PER_KIND / alike / total)
        })
        .collect();
    let (mut weights, mut speed): (Weights, Weights) = Default::default();
    for _ in 0..STEPS {
        let slope = slope(&weights, claims, &shares, REGULARISATION / total);
        for ((row, speed), slope) in weights.iter_mut().zip(&mut speed).zip(&slope) {
            for ((weight, speed), slope) in row.iter_mut().zip(speed).zip(slope) {
                *speed = MOMENTUM * *speed - STEP * slope;
                *weight += *speed;
            }
        }
        project(&mut weights);
    }
    table(&weights)
}

/// Gradient of mean −ln posterior, with regularisation except on intercepts.
fn slope(weights: &Weights, claims: &[&LabelledClaim], shares: &[f64], pull: f64) -> Weights {
    let mut slope = weights.map(|row| row.map(|weight| weight * pull));
    for row in &mut slope {
        row[0] = 0.0;
    }
    let now = table(weights);
    for (claim, share) in claims.iter().zip(shares) {
        let Posterior { supported, refuted, contested, open } = now.posterior(&claim.figures);
        for ((row, predicted), class) in slope.iter_mut().zip([supported, refuted, contested, open]).zip(CLASSES) {
            let off = (predicted - f64::from(u8::from(class == claim.label))) * share;
            for (slope, input) in row.iter_mut().zip(std::iter::once(&1.0).chain(&claim.figures)) {
                *slope += off * input;
            }
        }
    }
    slope
}

/// Projects to the nearest weights of the same sum that keep this order.
fn project(weights: &mut Weights) {
    let [supported, refuted, contested, open] = weights;
    for at in 1..=GROUPS_PER_SIDE {
        pool(&mut supported[at], [&mut refuted[at], &mut contested[at], &mut open[at]]);
        let against = at + GROUPS_PER_SIDE;
        pool(&mut refuted[against], [&mut supported[against], &mut contested[against], &mut open[against]]);
    }
}

/// Makes the first the largest by pooling it with those above it.
fn pool(most: &mut f64, mut others: [&mut f64; CLASSES.len() - 1]) {
    others.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut count) = (*most, 1.0);
    for other in &others {
        if **other > sum / count {
            sum += **other;
            count += 1.0;
        }
    }
    let mean = sum / count;
    for other in others {
        *other = other.min(mean);
    }
    *most = most.max(mean);
}

fn table(weights: &Weights) -> Coefficients {
    let row = |[intercept, s1, s2, s3, c1, c2, c3]: &[f64; FIGURES + 1]| Row {
        intercept: *intercept,
        support: [*s1, *s2, *s3],
        against: [*c1, *c2, *c3],
    };
    let [supported, refuted, contested, open] = weights;
    Coefficients { supported: row(supported), refuted: row(refuted), contested: row(contested), open: row(open) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(number: usize, set: &str, label: Verdict, figures: [f64; FIGURES]) -> LabelledClaim {
        LabelledClaim { claim: format!("{set} {number}"), set: set.to_owned(), label, figures }
    }

    fn claims() -> Vec<LabelledClaim> {
        let (strong, against) = ([4.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
        (0..200)
            .map(|n| {
                let set = if (n / 20) % 2 == 0 { "one" } else { "other" };
                match n % 20 {
                    0..=8 => claim(n, set, Verdict::Supported, strong),
                    9 => claim(n, set, Verdict::NotEnoughEvidence, strong),
                    10..=13 => claim(n, set, Verdict::Refuted, against),
                    14 => claim(n, set, Verdict::NotEnoughEvidence, against),
                    _ => claim(n, set, Verdict::NotEnoughEvidence, [0.0; FIGURES]),
                }
            })
            .collect()
    }

    #[test]
    fn a_fitted_table_is_as_sure_as_it_is_right() {
        let claims = claims();
        let fitted = FittedTable::fit(JudgeKind::Model, "model:test".into(), &claims);
        let posterior_of = |figures| fitted.coefficients.posterior(&figures);
        assert!((posterior_of([4.0, 0.0, 0.0, 0.0, 0.0, 0.0]).supported - 0.9).abs() < 0.05);
        assert!((posterior_of([0.0, 0.0, 0.0, 4.0, 0.0, 0.0]).refuted - 0.8).abs() < 0.07);
        assert!(posterior_of([0.0; FIGURES]).open > 0.8);
        assert!(fitted.coefficients.is_monotone());
        let all = fitted.without_the_claim.values().map(|set| set.claims).sum::<usize>();
        assert_eq!(all, claims.len());
        assert!(fitted.without_the_kind.values().all(|set| set.right > 0.8 && set.taken > 0.95), "{fitted:?}");
        let text = serde_json::to_string(&fitted).unwrap();
        assert_eq!(FittedTable::parse(&text).unwrap(), fitted);
    }

    #[test]
    fn a_table_that_would_turn_support_round_is_refused() {
        let mut fitted = FittedTable::parse(include_str!("../../../../config/decision/rules.json")).unwrap();
        fitted.coefficients.refuted.support = [9.0; GROUPS_PER_SIDE];
        let why = FittedTable::parse(&serde_json::to_string(&fitted).unwrap()).unwrap_err();
        assert!(why.contains("less likely"), "{why}");
        fitted.coefficients.refuted.support = [-1e308; GROUPS_PER_SIDE];
        let why = FittedTable::parse(&serde_json::to_string(&fitted).unwrap()).unwrap_err();
        assert!(why.contains("between"), "{why}");
        assert!(FittedTable::parse("{}").is_err());
    }
}

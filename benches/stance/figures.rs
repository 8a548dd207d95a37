//! What is computed of predictions: F1, accuracy, calibration, confusion.

use std::collections::BTreeMap;

use corroborate::domain::evidence::StanceProbabilities;
use corroborate::judging::evaluation::{ReliabilityBin, calibration_error, error_by_chance, reliability};

use super::sets::Label;

/// The likeliest label of the three.
pub(crate) fn top(p: &StanceProbabilities) -> (Label, f64) {
    let mut best = (Label::Entail, p.entail);
    for (label, share) in [(Label::Neutral, p.neutral), (Label::Contradict, p.contradict)] {
        if share > best.1 {
            best = (label, share);
        }
    }
    best
}

/// One judge's answers on one set.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: Vec<(Label, Label, f64, bool)>,
}

impl Tally {
    /// `numeric`: the claim states a figure.
    pub(crate) fn add(&mut self, gold: Label, p: &StanceProbabilities, is_two_way: bool, numeric: bool) {
        let (mut said, mut share) = top(p);
        if is_two_way && said != Label::Entail {
            (said, share) = (Label::NotEntail, 1.0 - p.entail);
        }
        self.rows.push((gold, said, share, numeric));
    }

    pub(crate) fn accuracy(&self, wanted: Option<bool>) -> f64 {
        let of: Vec<bool> = self
            .rows
            .iter()
            .filter(|(.., numeric)| wanted.is_none_or(|wanted| wanted == *numeric))
            .map(|(gold, said, ..)| gold == said)
            .collect();
        share(of.iter().filter(|right| **right).count(), of.len())
    }

    pub(crate) fn numeric(&self) -> usize {
        self.rows.iter().filter(|(.., numeric)| *numeric).count()
    }

    /// F1 of every label that people gave.
    pub(crate) fn f1(&self) -> BTreeMap<Label, f64> {
        let labels: std::collections::BTreeSet<Label> = self.rows.iter().map(|(gold, ..)| *gold).collect();
        let one = |label: Label| {
            let both = self.rows.iter().filter(|(gold, said, ..)| *gold == label && *said == label).count();
            let gold = self.rows.iter().filter(|(gold, ..)| *gold == label).count();
            let said = self.rows.iter().filter(|(_, said, ..)| *said == label).count();
            2.0 * share(both, gold + said)
        };
        labels.into_iter().map(|label| (label, one(label))).collect()
    }

    pub(crate) fn macro_f1(&self) -> f64 {
        let of = self.f1();
        if of.is_empty() { 0.0 } else { of.values().sum::<f64>() / of.len() as f64 }
    }

    fn bins(&self) -> Vec<ReliabilityBin> {
        reliability(self.rows.iter().map(|(gold, said, confidence, _)| (*confidence, gold == said)))
    }

    /// Expected calibration error of the likeliest label, and what probabilities that are right would show by chance.
    pub(crate) fn calibration_error(&self) -> (f64, f64) {
        let bins = self.bins();
        (calibration_error(&bins), error_by_chance(&bins))
    }

    /// Adds the rows of another set.
    pub(crate) fn extend(&mut self, other: Self) {
        self.rows.extend(other.rows);
    }

    /// Of claims with figures: how many are right here and not in `other`, and the reverse. Both of the same rows.
    pub(crate) fn against(&self, other: &Self) -> (usize, usize) {
        let right = |(gold, said, ..): &(Label, Label, f64, bool)| gold == said;
        let both = || self.rows.iter().zip(&other.rows).filter(|((.., numeric), _)| *numeric);
        let gained = both().filter(|(ours, theirs)| right(ours) && !right(theirs)).count();
        (gained, both().filter(|(ours, theirs)| !right(ours) && right(theirs)).count())
    }

    /// `gold>said count`, all that occur.
    pub(crate) fn confusion(&self) -> String {
        let mut counts: BTreeMap<(Label, Label), usize> = BTreeMap::new();
        for (gold, said, ..) in &self.rows {
            *counts.entry((*gold, *said)).or_default() += 1;
        }
        let one =
            |((gold, said), count): (&(Label, Label), &usize)| format!("{}>{} {count}", gold.as_str(), said.as_str());
        counts.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

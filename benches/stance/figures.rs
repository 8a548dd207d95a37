//! What is computed of predictions: F1, accuracy, calibration, confusion.

use std::collections::BTreeMap;

use corroborate::domain::evidence::StanceProbabilities;

use super::sets::Label;

/// Equally wide bins of the calibration error.
const BINS: usize = 15;

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

    /// Expected calibration error of the likeliest label.
    pub(crate) fn calibration_error(&self) -> f64 {
        let mut bins = vec![(0usize, 0usize, 0.0f64); BINS];
        for (gold, said, confidence, _) in &self.rows {
            let at = ((confidence * BINS as f64) as usize).min(BINS - 1);
            if let Some((rows, right, sum)) = bins.get_mut(at) {
                *rows += 1;
                *right += usize::from(gold == said);
                *sum += confidence;
            }
        }
        let all = self.rows.len().max(1) as f64;
        bins.iter().filter(|(rows, ..)| *rows > 0).map(|(_, right, sum)| (sum - *right as f64).abs() / all).sum()
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

//! Class labels of NLI models.
//!
//! Their words and order differ, so both are read from the configuration. New spellings belong in `label`.

use std::collections::BTreeMap;

use super::Label;
use crate::domain::evidence::StanceProbabilities;

/// Returns the class of a word; `None` for a meaningless word (`LABEL_0`).
fn label(word: &str) -> Option<Label> {
    let word = word.trim().to_lowercase().replace(['-', ' '], "_");
    Some(match word.as_str() {
        "entail" | "entails" | "entailed" | "entailment" | "support" | "supports" | "supported" => Label::Entail,
        "neutral" | "nei" | "not_enough_info" | "not_enough_information" | "not_enough_evidence" => Label::Neutral,
        "contradict" | "contradicts" | "contradiction" | "refute" | "refutes" | "refuted" => Label::Contradict,
        "not_entail" | "not_entailment" | "not_entailed" | "non_entailment" => Label::NotEntail,
        _ => return None,
    })
}

/// Returns the classes in output order, from `id2label`.
///
/// # Errors
/// The words, if they are not NLI labels of two or three classes.
pub(super) fn labels_of(id2label: &BTreeMap<String, String>) -> Result<Vec<Label>, String> {
    let words = || id2label.values().cloned().collect::<Vec<_>>().join(", ");
    let mut numbered: Vec<(usize, Option<Label>)> = Vec::with_capacity(id2label.len());
    for (id, word) in id2label {
        numbered.push((id.trim().parse().map_err(|_no_number| words())?, label(word)));
    }
    numbered.sort_by_key(|(id, _)| *id);
    let is_dense = numbered.iter().enumerate().all(|(position, (id, _))| position == *id);
    let labels: Option<Vec<Label>> = numbered.into_iter().map(|(_, label)| label).collect();
    match labels {
        Some(labels) if is_dense && is_whole(&labels) => Ok(labels),
        _ => Err(words()),
    }
}

/// Whether each class of an NLI model is there once.
pub(super) fn is_whole(labels: &[Label]) -> bool {
    let has = |label| labels.contains(&label);
    match labels.len() {
        2 => has(Label::Entail) && has(Label::NotEntail),
        3 => has(Label::Entail) && has(Label::Neutral) && has(Label::Contradict),
        _ => false,
    }
}

/// Converts to three probabilities. `NotEntail` counts as neutral, because it does not separate neutral and
/// contradiction.
pub(super) fn probabilities(shares: impl IntoIterator<Item = (Label, f64)>) -> StanceProbabilities {
    let mut sums = StanceProbabilities { entail: 0.0, contradict: 0.0, neutral: 0.0 };
    for (label, share) in shares {
        match label {
            Label::Entail => sums.entail += share,
            Label::Contradict => sums.contradict += share,
            Label::Neutral | Label::NotEntail => sums.neutral += share,
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[(&str, &str)]) -> Result<Vec<Label>, String> {
        labels_of(&words.iter().map(|(id, word)| ((*id).to_owned(), (*word).to_owned())).collect())
    }

    #[test]
    fn the_order_is_that_of_the_ids_and_the_words_are_the_models_own() {
        use Label::{Contradict, Entail, Neutral, NotEntail};
        assert_eq!(
            of(&[("0", "entailment"), ("1", "neutral"), ("2", "contradiction")]),
            Ok(vec![Entail, Neutral, Contradict])
        );
        assert_eq!(
            of(&[("2", "ENTAILMENT"), ("0", "CONTRADICTION"), ("1", "NEUTRAL")]),
            Ok(vec![Contradict, Neutral, Entail])
        );
        assert_eq!(
            of(&[("0", "SUPPORTS"), ("1", "REFUTES"), ("2", "Not Enough Info")]),
            Ok(vec![Entail, Contradict, Neutral])
        );
        assert_eq!(of(&[("0", "entailment"), ("1", "not-entailment")]), Ok(vec![Entail, NotEntail]));
    }

    #[test]
    fn error_names_labels_when_they_have_no_meaning() {
        for words in [
            &[("0", "LABEL_0"), ("1", "LABEL_1"), ("2", "LABEL_2")][..],
            &[("0", "entailment"), ("1", "entailment"), ("2", "neutral")],
            &[("0", "entailment"), ("2", "neutral"), ("3", "contradiction")],
            &[("0", "positive"), ("1", "negative")],
            &[("zero", "entailment"), ("1", "not_entailment")],
            &[],
        ] {
            let error = of(words).unwrap_err();
            assert!(words.iter().all(|(_, word)| error.contains(word)), "{error}");
        }
    }

    #[test]
    fn what_is_not_entailed_is_left_open() {
        let two = probabilities([(Label::NotEntail, 0.75), (Label::Entail, 0.25)]);
        assert_eq!(two, StanceProbabilities { entail: 0.25, contradict: 0.0, neutral: 0.75 });
    }
}

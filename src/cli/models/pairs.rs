//! Labelled pairs for `models verify`. Their writers saw no rules and no training texts.
//!
//! The pairs are simple: a model is right on most of them if it reads the language. A damaged model, for example by
//! quantisation, is not.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::inference::Label;

#[derive(Debug, Deserialize)]
pub(super) struct LabelledPair {
    /// ISO 639-1, of both texts.
    pub(super) language: String,
    pub(super) claim: String,
    pub(super) passage: String,
    pub(super) label: Label,
}

static PAIRS: LazyLock<Vec<LabelledPair>> = LazyLock::new(|| {
    // A test checks every line.
    include_str!("pairs.jsonl").lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
});

/// Groups the pairs by language. `*` or an empty list means all.
pub(super) fn read_by(languages: &[String]) -> Vec<(&'static str, Vec<&'static LabelledPair>)> {
    let all = languages.is_empty() || languages.iter().any(|language| language.trim() == "*");
    let mut found: Vec<(&str, Vec<&LabelledPair>)> = Vec::new();
    // Case is ignored, as in judging.
    let is_named = |code: &str| languages.iter().any(|language| language.trim().eq_ignore_ascii_case(code));
    for pair in PAIRS.iter().filter(|pair| all || is_named(&pair.language)) {
        match found.iter_mut().find(|(language, _)| *language == pair.language) {
            Some((_, pairs)) => pairs.push(pair),
            None => found.push((&pair.language, vec![pair])),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_a_hundred_of_each_language_and_a_third_of_each_label() {
        let all = read_by(&[]);
        assert_eq!(all.iter().map(|(language, _)| *language).collect::<Vec<_>>(), ["en", "ru", "uk"]);
        for (language, pairs) in all {
            assert_eq!(pairs.len(), 100, "{language}");
            for label in [Label::Entail, Label::Neutral, Label::Contradict] {
                let share = pairs.iter().filter(|pair| pair.label == label).count();
                assert!((33..=34).contains(&share), "{language} {label:?}: {share}");
            }
        }
        assert_eq!(read_by(&["uk".to_owned(), "pl".to_owned()]).len(), 1);
        assert_eq!(read_by(&["*".to_owned()]).len(), 3);
        let capitals = read_by(&["EN".to_owned(), " Ru".to_owned()]);
        assert_eq!(capitals.iter().map(|(language, _)| *language).collect::<Vec<_>>(), ["en", "ru"]);
    }
}

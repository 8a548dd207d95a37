//! Computes check-worthiness, 0–1: the logistic function of a sum of features.
//!
//! English weights are in `check_worthiness/english.tsv`, in hundredths: a logistic regression on words and word pairs
//! (`CheckThat` 2024, task 1, training part). The test `the_weights_are_what_the_sentences_teach` trains them again and
//! prints them with `CORROBORATE_MEASURE_ALL`. Other languages have a few features chosen by hand.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::entities::entities;
use crate::entities::kind::EntityKind;
use crate::has_cyrillic;
use crate::lexer::{Kind, lex};
use crate::lexicon::{self, Words};
use crate::numbers::{Unit, quantities};
use crate::tokens;
use corroborate_domain::ClaimKind;

/// Causes, changes, comparisons, recorded actions.
static FACTUAL_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    lexicon::entries("statements.check_worthiness.factual")
        .flat_map(|entry| tokens::tokens(entry.form, None))
        .map(|token| token.stem)
        .collect()
});

/// Unstemmed words ("sent" differs from "send"): actions, amounts, votes, fights, payments.
static DONE_WORDS: Words = Words::of("statements.check_worthiness.done");

/// Speaker, listener, possibility, future, judgement.
static TALK_WORDS: Words = Words::of("statements.check_worthiness.talk");

type Weights<'a> = HashMap<&'a str, f64>;

static ENGLISH: LazyLock<Weights<'static>> = LazyLock::new(|| {
    let rows = include_str!("check_worthiness/english.tsv").lines().filter_map(|line| line.split_once('\t'));
    rows.filter_map(|(gram, weight)| Some((gram, weight.parse::<f64>().ok()? / 100.0))).collect()
});

/// The intercept.
const ALWAYS: &str = "*";

/// Returns 0–1; opinions and vague statements below 0.2.
pub(super) fn score(text: &str, kind: ClaimKind, language: Option<&str>) -> f64 {
    let english = language.map_or_else(|| !has_cyrillic(text), |language| language == "en");
    let sum = if english { weighed(&ENGLISH, text) } else { signs(text, language) };
    of_kind(kind, 1.0 / (1.0 + (-sum).exp()))
}

fn of_kind(kind: ClaimKind, score: f64) -> f64 {
    match kind {
        ClaimKind::Factual => score,
        ClaimKind::Mixed => score * 0.9,
        ClaimKind::Opinion | ClaimKind::Ambiguous => score * 0.2,
    }
}

/// Returns distinct words and pairs, and the number of words. Figures are "0"; money and percent signs are words.
fn grams(text: &str) -> (HashSet<String>, usize) {
    let lexemes = lex(text, false);
    let words: Vec<&str> = lexemes
        .iter()
        .filter_map(|lexeme| match &lexeme.kind {
            Kind::Number => Some("0"),
            Kind::Word(word) => Some(word.as_str()),
            Kind::Sign('$' | '%') => Some(lexeme.text),
            Kind::Sign(_) => None,
        })
        .collect();
    let pairs = words.windows(2).map(|pair| pair.join(" "));
    (words.iter().map(|word| (*word).to_owned()).chain(pairs).collect(), words.len())
}

/// Returns the weight of one word, lower in long sentences.
fn share(words: usize) -> f64 {
    4.0 / (words as f64 + 1.0).sqrt()
}

fn weighed(weights: &Weights<'_>, text: &str) -> f64 {
    let (grams, words) = grams(text);
    let weight = |gram: &str| weights.get(gram).copied().unwrap_or_default();
    // Sorted for stable rounding.
    let mut sums: Vec<f64> = grams.iter().map(|gram| weight(gram)).collect();
    sums.sort_by(f64::total_cmp);
    weight(ALWAYS) + share(words) * sums.iter().sum::<f64>()
}

/// Returns the sum for other languages.
fn signs(text: &str, language: Option<&str>) -> f64 {
    let all = tokens::tokens(text, language);
    let content = all.iter().filter(|token| !token.stop).count();
    let stated = quantities(text, language);
    let figures = stated.iter().filter(|quantity| !matches!(quantity.unit, Unit::Identifier | Unit::Ordinal)).count();
    let names = entities(text, language, &[]);
    let strong = names.iter().filter(|name| name.kind != EntityKind::Misc).count();
    let factual = |token: &&tokens::Token| FACTUAL_STEMS.contains(&token.stem) || DONE_WORDS.has(&token.text);
    let factual = all.iter().filter(factual).count();
    let talk = all.iter().filter(|token| TALK_WORDS.has(&token.text)).count();
    // From a logistic regression on English CheckThat 2024, training part.
    -2.06
        + 1.04 * figures.min(2) as f64
        + 0.35 * strong.min(3) as f64
        + 0.65 * factual.min(4) as f64
        + 0.08 * content.min(12) as f64
        - 0.47 * talk.min(5) as f64
}

#[cfg(test)]
mod test_training;

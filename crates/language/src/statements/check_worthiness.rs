//! Check-worthiness: how much a check of a statement would tell, as a sum of signs squashed to 0–1.
//!
//! For English the signs are words and pairs of neighbours, `check_worthiness/english.tsv`: hundredths of the weights of a
//! logistic regression on the training part of `CheckThat` 2024, task 1. The test
//! `the_weights_are_what_the_sentences_teach` learns them again and, with `CORROBORATE_MEASURE_ALL`, prints them. Other
//! languages have fewer, chosen by hand.

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

/// Words of claims: causes, changes, comparisons, deeds that leave a record.
static FACTUAL_STEMS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    lexicon::entries("statements.check_worthiness.factual")
        .flat_map(|entry| tokens::tokens(entry.form, None))
        .map(|token| token.stem)
        .collect()
});

/// Words as they stand: deeds that are done, amounts, and what is voted, fought or paid for. A stem would not tell "sent"
/// from "send".
static DONE_WORDS: Words = Words::of("statements.check_worthiness.done");

/// Words of talk: the speaker, the hearer, what may be, shall be or is good.
static TALK_WORDS: Words = Words::of("statements.check_worthiness.talk");

/// A word or two and what they weigh.
type Weights<'a> = HashMap<&'a str, f64>;

static ENGLISH: LazyLock<Weights<'static>> = LazyLock::new(|| {
    let rows = include_str!("check_worthiness/english.tsv").lines().filter_map(|line| line.split_once('\t'));
    rows.filter_map(|(gram, weight)| Some((gram, weight.parse::<f64>().ok()? / 100.0))).collect()
});

/// The row of the table that every sentence has.
const ALWAYS: &str = "*";

/// 0–1. Opinions and vague statements stay under 0.2, whatever figures they hold.
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

/// The different words of a text and pairs of neighbours, and how many words it has. A figure is "0"; of the signs those of
/// money and percent are words.
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

/// What one word counts in a text of so many: a long sentence has more of everything.
fn share(words: usize) -> f64 {
    4.0 / (words as f64 + 1.0).sqrt()
}

fn weighed(weights: &Weights<'_>, text: &str) -> f64 {
    let (grams, words) = grams(text);
    let weight = |gram: &str| weights.get(gram).copied().unwrap_or_default();
    // In order, so that the last digits do not depend on the set's.
    let mut sums: Vec<f64> = grams.iter().map(|gram| weight(gram)).collect();
    sums.sort_by(f64::total_cmp);
    weight(ALWAYS) + share(words) * sums.iter().sum::<f64>()
}

/// The sum for other languages than English.
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
    // Weights of a logistic regression on the English sentences of CheckThat 2024, training part, to two digits.
    -2.06
        + 1.04 * figures.min(2) as f64
        + 0.35 * strong.min(3) as f64
        + 0.65 * factual.min(4) as f64
        + 0.08 * content.min(12) as f64
        - 0.47 * talk.min(5) as f64
}

#[cfg(test)]
mod learning;

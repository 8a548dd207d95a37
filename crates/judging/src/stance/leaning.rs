//! Estimates a lean to the claim if no precise rule applies, in any language with separate words. Orders neutral
//! passages and never takes a side ([`MOST`]), because shared words only suggest support.

use crate::numbers;
use crate::profile::{SentenceProfile, TextProfile};

use super::lexicon::widened;
use crate::names::Names;
use crate::relations::polarity::{Parity, parity};

/// The features, in the order of [`figures`] and [`WEIGHTS`].
pub const NAMES: [&str; 12] = [
    "share of the claim's words whose root is in the passage",
    "words whose root is nowhere, ln(1 + n)",
    "longest run of such words, share of the claim",
    "words of the claim, ln(1 + n)",
    "the nearest sentence denies what the claim says, or the reverse",
    "one denies an odd number of times, the other an even one",
    "every name of the claim is there",
    "a figure or date of the claim is not there",
    "the claim widens (all, only, first) what the sentence does not",
    "the claim's last word is nowhere",
    "share of all words, small ones too, that are there",
    "the claim has figures or dates",
];

/// Coefficients of a logistic regression on the 19,436 English MNLI pairs of `nli_train` (entailment against the rest,
/// equal weight). Only `widened` and the denials use word lists, in four languages. To fit again: `cargo bench --bench
/// stance -- fit`. On `terra_ru` (not fitted, but seen in development) 58.5 % are right; shared stems 51.8 %.
const WEIGHTS: [f64; 12] = [-3.742, -1.689, -1.983, 0.827, -1.720, -0.872, 0.611, -1.072, -0.966, -0.663, 2.243, 0.336];
const INTERCEPT: f64 = 1.997;

/// Maximum lean, below the 0.5 of support.
const MOST: f64 = 0.49;

/// The rest always contradicts.
pub(super) const LEFT: f64 = 0.95;

/// Common first letters of one root, and their share of the longer stem. Stemmers separate forms more often than they
/// join words ("спасти", "спасают").
const ROOT: usize = 4;
const ROOT_SHARE: f64 = 0.6;

fn same_root(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    let longer = a.chars().count().max(b.chars().count());
    shared >= ROOT && shared as f64 >= ROOT_SHARE * longer as f64
}

fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// The shorter one of equals.
fn nearest<'a>(own: &[&str], passage: &'a TextProfile) -> Option<&'a SentenceProfile> {
    let found = |sentence: &SentenceProfile| {
        own.iter().filter(|stem| sentence.stems.iter().any(|other| same_root(stem, other))).count()
    };
    let ranked = passage.sentences.iter().map(|sentence| (found(sentence), sentence));
    let best = ranked.reduce(|best, next| {
        let shorter = next.0 == best.0 && next.1.stems.len() < best.1.stems.len();
        if next.0 > best.0 || shorter { next } else { best }
    });
    best.map(|(_, sentence)| sentence)
}

/// The features; `None` if a text has no words.
pub fn figures(claim: &TextProfile, passage: &TextProfile) -> Option<[f64; NAMES.len()]> {
    figures_with(claim, passage, &Names::new(claim, passage))
}

fn figures_with(claim: &TextProfile, passage: &TextProfile, names: &Names) -> Option<[f64; NAMES.len()]> {
    let spoken = || claim.sentences.iter().flat_map(|own| &own.spoken);
    let own: Vec<&str> = spoken().filter(|word| word.content).map(|word| word.stem.as_str()).collect();
    let sentence = nearest(&own, passage).filter(|_| !own.is_empty())?;
    let theirs: Vec<&str> = passage.sentences.iter().flat_map(|s| &s.stems).map(String::as_str).collect();
    let there: Vec<bool> = own.iter().map(|stem| theirs.iter().any(|other| same_root(stem, other))).collect();
    let missing = there.iter().filter(|is| !**is).count();
    let run = there.split(|is| *is).map(<[bool]>::len).max().unwrap_or(0);
    let all: Vec<&str> = passage.sentences.iter().flat_map(|s| &s.spoken).map(|word| word.text.as_str()).collect();
    let small = spoken().filter(|word| all.iter().any(|other| same_root(&word.text, other))).count();
    let denials = claim.sentences.iter().map(|own| own.denials.len()).sum::<usize>();
    let has_figures = numbers::has_numbers(claim);
    Some([
        share(own.len() - missing, own.len()),
        (missing as f64).ln_1p(),
        share(run, own.len()),
        (own.len() as f64).ln_1p(),
        flag(parity(claim, sentence) == Parity::Opposite),
        flag(denials % 2 != sentence.denials.len() % 2),
        flag(names.found() >= 1.0),
        flag(has_figures && !numbers::all_found(claim, passage, names)),
        flag(widened(claim, sentence)),
        flag(there.last() == Some(&false)),
        share(small, spoken().count()),
        flag(has_figures),
    ])
}

/// The lean, 0 to [`MOST`]; half of [`LEFT`] at even odds.
pub(super) fn leaning(claim: &TextProfile, passage: &TextProfile, names: &Names) -> f64 {
    let Some(figures) = figures_with(claim, passage, names) else { return 0.0 };
    let sum = figures.iter().zip(WEIGHTS).fold(INTERCEPT, |sum, (figure, weight)| sum + figure * weight);
    let likely = 1.0 / (1.0 + (-sum).exp());
    let even = LEFT / 2.0;
    if likely <= 0.5 { 2.0 * even * likely } else { even + (MOST - even) * 2.0 * (likely - 0.5) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leans(claim: &str, passage: &str) -> f64 {
        let profile = |text: &str| TextProfile::new(text, None, None, &[]);
        let (claim, passage) = (profile(claim), profile(passage));
        leaning(&claim, &passage, &Names::new(&claim, &passage))
    }

    #[test]
    fn what_is_told_in_fewer_words_leans_and_what_is_added_does_not() {
        let passage = "Женщину доставили в больницу, за ее жизнь сейчас борются врачи.";
        let short = leans("Женщину доставили в больницу.", passage);
        let more = leans("Женщину доставили в больницу после аварии на заводе.", passage);
        assert!(short > LEFT / 2.0 && more < LEFT / 2.0, "{short} {more}");
        let denied = leans("Женщину не доставили в больницу.", passage);
        assert!(denied < short, "{denied} {short}");
        let other = leans("Мэр Одессы подал в отставку.", passage);
        assert!(other < 0.2, "{other}");
    }

    #[test]
    fn inflections_are_one_root_and_beginnings_are_not() {
        assert!(same_root("спасти", "спаст") && same_root("resign", "resigned"));
        assert!(!same_root("при", "приезд") && !same_root("inter", "international"));
    }

    proptest! {
        #[test]
        fn a_leaning_takes_no_side(claim in "\\PC{0,60}", passage in "\\PC{0,120}") {
            let found = leans(&claim, &passage);
            prop_assert!((0.0..=MOST).contains(&found));
        }
    }
}

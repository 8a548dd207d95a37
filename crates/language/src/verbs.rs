//! Finds verbs by word lists and endings.
//!
//! Words: `verbs.*` in the lexicon.

use super::lexicon::Words;

use super::{has_cyrillic, lemmas, tokens};

/// English verbs of saying.
static REPORTING_VERBS: Words = Words::of("verbs.saying");

/// Auxiliaries and unambiguous presents.
static PRESENT_VERBS: Words = Words::of("verbs.present");

/// Past forms without "-ed".
static PAST_VERBS: Words = Words::of("verbs.past");

/// Words in "-ed" that are not verbs.
static NON_PAST_WORDS: Words = Words::of("verbs.no_past");

/// Returns normalised words.
pub fn words(text: &str) -> Vec<String> {
    tokens::tokens(text, None).into_iter().map(|token| token.text).collect()
}

/// Whether a lower-case English word can be finite: "was", "killed".
pub fn is_finite(word: &str) -> bool {
    PRESENT_VERBS.has(word) || is_past_english(word)
}

fn is_past_english(word: &str) -> bool {
    PAST_VERBS.has(word) || word.len() > 3 && word.ends_with("ed") && !NON_PAST_WORDS.has(word)
}

/// Whether a lower-case English, Russian or Ukrainian word can be past.
pub fn is_past(word: &str) -> bool {
    if has_cyrillic(word) { is_past_cyrillic(word) } else { is_past_english(word) }
}

/// Whether it is an English verb of saying.
pub fn is_reporting(word: &str) -> bool {
    REPORTING_VERBS.has(word)
}

/// Whether it has a past ending ("погибли", "вбито"). The dictionary excludes nouns such as "генерал".
pub fn is_past_cyrillic(word: &str) -> bool {
    static ENDINGS: Words = Words::of("verbs.past_ending");
    word.chars().count() > 3 && ENDINGS.has_ending_of(word) && lemmas::is_verb(word).unwrap_or(true)
}

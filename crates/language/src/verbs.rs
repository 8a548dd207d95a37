//! Which words of a sentence are its verbs, as far as a list and an ending tell.

use super::lexicon::Words;

use super::{has_cyrillic, lemmas, tokens};

/// English words that tell that something was said.
static SAYING: Words = Words::of("verbs.saying");

/// English auxiliaries and presents that stand for themselves in a sentence.
static PRESENT: Words = Words::of("verbs.present");

/// English past tenses without "-ed".
static PAST: Words = Words::of("verbs.past");

/// Words in "-ed" that are no verbs.
static NO_PAST: Words = Words::of("verbs.no_past");

/// The words of a text, normalised.
pub fn words(text: &str) -> Vec<String> {
    tokens::tokens(text, None).into_iter().map(|token| token.text).collect()
}

/// Whether an English word, in small letters, is a finite verb or may be one: "was", "said", "killed".
pub fn is_finite(word: &str) -> bool {
    PRESENT.has(word) || is_past_english(word)
}

fn is_past_english(word: &str) -> bool {
    PAST.has(word) || word.len() > 3 && word.ends_with("ed") && !NO_PAST.has(word)
}

/// Whether a word, in small letters, is of the past or may be, in English, Russian and Ukrainian.
pub fn is_past(word: &str) -> bool {
    if has_cyrillic(word) { is_past_cyrillic(word) } else { is_past_english(word) }
}

/// Whether an English word tells that something was said.
pub fn says(word: &str) -> bool {
    SAYING.has(word)
}

/// Whether a Russian or Ukrainian word, in small letters, has an ending of the past: "погибли", "були", "ранены", "вбито". Nouns that
/// share one ("генерал") are told by the dictionary, where it has them.
pub fn is_past_cyrillic(word: &str) -> bool {
    static ENDINGS: Words = Words::of("verbs.past_ending");
    word.chars().count() > 3 && ENDINGS.has_ending_of(word) && lemmas::is_verb(word).unwrap_or(true)
}

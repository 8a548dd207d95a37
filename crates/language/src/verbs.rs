//! Which words of a sentence are its verbs, as far as a list and an ending tell.

use std::sync::LazyLock;

use super::word_list::WordList;
use super::{has_cyrillic, lemmas, tokens};

/// English auxiliaries and presents that stand for themselves in a sentence.
static PRESENT: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "is are am be been being has have do does will can could would may might must shall should isn't aren't hasn't haven't won't \
         wouldn't says say makes takes comes goes wins loses meets remains includes follows shows means gets gives",
    )
});

/// English past tenses without "-ed".
static PAST: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "was were had did wasn't weren't hadn't didn't said told made took came went rose fell began won lost met left found held gave got \
         became led sent spent built bought sold hit shot fought broke drove flew grew knew paid put ran saw spoke stood taught thought wore wrote \
         struck caught brought chose kept meant drew beat sank swore threw understood felt cut set shut let read blew burnt",
    )
});

/// Words in "-ed" that are no verbs.
static NO_PAST: LazyLock<WordList> = LazyLock::new(|| {
    WordList::new(
        "need speed seed feed breed indeed hundred red bed united agreed-upon wed shed embed exceed proceed succeed greed weed creed \
         mohammed ahmed muhammed hamed",
    )
});

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
    matches!(
        word,
        "said"
            | "says"
            | "say"
            | "reported"
            | "reports"
            | "report"
            | "wrote"
            | "writes"
            | "told"
            | "tells"
            | "announced"
            | "announces"
            | "added"
            | "according"
    )
}

/// Whether a Russian or Ukrainian word, in small letters, has an ending of the past: "погибли", "були", "ранены", "вбито". Nouns that
/// share one ("генерал") are told by the dictionary, where it has them.
pub fn is_past_cyrillic(word: &str) -> bool {
    const ENDINGS: [&str; 28] = [
        "ал", "ял", "ил", "ел", "ул", "ла", "ло", "ли", "лся", "лась", "лось", "лись", "ены", "аны", "яты", "ено",
        "ано", "ято", "ився", "ався", "ив", "ав", "ув", "ер", "иб", "ік", "ён", "ёк",
    ];
    word.chars().count() > 3
        && ENDINGS.iter().any(|ending| word.ends_with(ending))
        && lemmas::is_verb(word).unwrap_or(true)
}

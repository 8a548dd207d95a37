//! Function words: they carry grammar, not subject matter. Lower case, `ё` written `е`, straight apostrophes.

use std::sync::LazyLock;

use super::lexicon::{self, Words};
use super::word_list::WordList;

static ENGLISH: Words = Words::of_language("grammar.stop", "en");
static RUSSIAN: Words = Words::of_language("grammar.stop", "ru");
static UKRAINIAN: Words = Words::of_language("grammar.stop", "uk");
/// The function words of each language that is written in Latin letters and is not English.
static OTHERS: LazyLock<Vec<(&'static str, WordList)>> = LazyLock::new(|| {
    let mut lists = lexicon::by_language("grammar.stop");
    lists.retain(|(code, _)| !matches!(*code, "en" | "ru" | "uk"));
    lists
});

/// Whether the normalised word (see [`super::tokens`]) is a function word of that ISO 639-1 language. A word in Cyrillic
/// is held against Russian and Ukrainian, one in Latin letters of an unknown language against English.
pub fn is_stop_word(word: &str, language: Option<&str>) -> bool {
    if super::has_cyrillic(word) {
        return match language {
            Some("uk") => UKRAINIAN.has(word),
            Some("ru") => RUSSIAN.has(word),
            _ => RUSSIAN.has(word) || UKRAINIAN.has(word),
        };
    }
    OTHERS
        .iter()
        .find(|(code, _)| language == Some(*code))
        .map_or_else(|| ENGLISH.has(word), |(_, words)| words.has(word))
}

/// Whether the word is an English function word, whatever the text is written in.
pub fn is_english(word: &str) -> bool {
    ENGLISH.has(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stops_only_in_its_own_language() {
        assert!(is_stop_word("the", Some("en")) && is_stop_word("the", None) && is_stop_word("the", Some("ru")));
        assert!(!is_stop_word("die", Some("en")) && is_stop_word("die", Some("de")));
        assert!(is_stop_word("что", Some("ru")) && is_stop_word("що", Some("uk")) && is_stop_word("що", None));
        assert!(!is_stop_word("vaccine", Some("en")) && !is_stop_word("война", Some("ru")));
    }
}

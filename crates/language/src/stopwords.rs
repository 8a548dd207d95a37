//! Function words, normalised: lower case, `ё` as `е`, straight apostrophes.
//!
//! To add a language: role `grammar.stop` in its lexicon folder.

use std::sync::LazyLock;

use super::lexicon::{self, Words};
use super::word_list::WordList;

static ENGLISH: Words = Words::of_language("grammar.stop", "en");
static RUSSIAN: Words = Words::of_language("grammar.stop", "ru");
static UKRAINIAN: Words = Words::of_language("grammar.stop", "uk");
/// Lists of other languages in Latin letters.
static OTHERS: LazyLock<Vec<(&'static str, WordList)>> = LazyLock::new(|| {
    let mut lists = lexicon::by_language("grammar.stop");
    lists.retain(|(code, _)| !matches!(*code, "en" | "ru" | "uk"));
    lists
});

/// Whether a normalised word (see [`super::tokens`]) is a function word of the language (ISO 639-1). Cyrillic words are
/// compared with Russian and Ukrainian, Latin words of unknown language with English.
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

/// Whether it is an English function word, in any text.
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

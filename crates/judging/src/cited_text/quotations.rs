//! Compares quotations of a sentence with its passages, word for word.

use std::sync::LazyLock;

use regex::Regex;

use super::{Told, Unsupported, contains, names};

static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|"([^"]*)"|(?:^|[\s(])[‘']([^‘’']*(?:\s[^‘’']*)+)[’'](?:[\s.,;:!?)]|$)"#,
    )
    .ok()
});

/// Maximum words of a capitalised quotation that is a name: «Динамо».
const WORDS_OF_A_NAME: usize = 3;

pub(super) fn hold(told: &Told<'_>) -> Result<(), Unsupported> {
    let Some(pattern) = QUOTED.as_ref() else { return Err(Unsupported::Quotation) };
    for found in pattern.captures_iter(told.words) {
        let Some(quoted) = found.iter().skip(1).flatten().next() else { continue };
        let words = quoted.as_str().trim();
        let is_name = words.split_whitespace().count() <= WORDS_OF_A_NAME
            && words.chars().find(|c| c.is_alphabetic()).is_some_and(char::is_uppercase);
        let stands = if is_name {
            told.all.iter().copied().chain([told.claim]).any(|side| names::has_words(side, words))
        } else {
            let in_passage = told.own.iter().any(|side| {
                contains(side.source.text, words) || side.source.title.is_some_and(|title| contains(title, words))
            });
            in_passage || (told.is_of_the_claim(quoted.start()) && contains(told.claim.source.text, words))
        };
        if !stands && words.chars().any(char::is_alphanumeric) {
            return Err(Unsupported::Quotation);
        }
    }
    // An unclosed mark quotes to the end.
    let rest = pattern.replace_all(told.words, " ");
    if rest.contains(['"', '“', '”', '„', '«', '»']) { Err(Unsupported::Quotation) } else { Ok(()) }
}

pub(super) fn without(text: &str) -> String {
    QUOTED.as_ref().map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, " ").into_owned())
}

//! Compares quotations of a sentence with its passages, word for word.

use std::sync::LazyLock;

use regex::Regex;

use super::{CheckedSentence, CitedTextError, contains, names};

static QUOTATIONS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|"([^"]*)"|(?:^|[\s(])[‘']([^‘’']*(?:\s[^‘’']*)+)[’'](?:[\s.,;:!?)]|$)"#,
    )
    .ok()
});

/// Maximum words of a capitalised quotation that is a name: «Динамо».
const MAX_NAME_WORDS: usize = 3;

pub(super) fn hold(checked: &CheckedSentence<'_>) -> Result<(), CitedTextError> {
    let Some(pattern) = QUOTATIONS.as_ref() else { return Err(CitedTextError::Quotation) };
    for found in pattern.captures_iter(checked.words) {
        let Some(quoted) = found.iter().skip(1).flatten().next() else { continue };
        let words = quoted.as_str().trim();
        let is_name = words.split_whitespace().count() <= MAX_NAME_WORDS
            && words.chars().find(|c| c.is_alphabetic()).is_some_and(char::is_uppercase);
        let is_present = if is_name {
            checked.all.iter().copied().chain([checked.claim]).any(|side| names::has_words(side, words))
        } else {
            let in_passage = checked.own.iter().any(|side| {
                contains(side.source.text, words) || side.source.title.is_some_and(|title| contains(title, words))
            });
            in_passage || (checked.is_of_the_claim(quoted.start()) && contains(checked.claim.source.text, words))
        };
        if !is_present && words.chars().any(char::is_alphanumeric) {
            return Err(CitedTextError::Quotation);
        }
    }
    // An unclosed mark quotes to the end.
    let rest = pattern.replace_all(checked.words, " ");
    if rest.contains(['"', '“', '”', '„', '«', '»']) { Err(CitedTextError::Quotation) } else { Ok(()) }
}

pub(super) fn without(text: &str) -> String {
    QUOTATIONS.as_ref().map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, " ").into_owned())
}

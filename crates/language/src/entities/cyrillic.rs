//! Combines the network's names of Russian and Ukrainian sentences with the gazetteer.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::kind::EntityKind;
use super::{Entity, Word, add, adjacent, entity_of, known_at, markers, mixed_case, tagger};
use crate::dates::names::is_calendar_word;
use crate::detect::is_cyrillic_language;
use crate::lexicon::Words;
use crate::names::name_key;
use crate::{cut, has_cyrillic, is_cyrillic, lemmas, stopwords};

/// Adds names of the network, of the gazetteer, and other words whose capital has no other reason.
pub(super) fn in_sentence(words: &[Word<'_>], sentence: &str, language: Option<&str>, found: &mut Vec<Entity>) {
    let normalised: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    let is_ukrainian = is_ukrainian(sentence, language);
    let spans = tagger::tagged(sentence, is_ukrainian);
    let span_at = |index: usize| {
        let word = words.get(index)?;
        spans.iter().find(|span| span.start <= word.start && word.start < span.end)
    };
    let mut index = 0;
    while index < words.len() {
        let tagged = span_at(index).and_then(|span| {
            let taken = words_of_span(words, index, span.end, sentence);
            let nothing =
                taken == 1 && words.get(index).is_some_and(|word| owes_its_capital(word, index, is_ukrainian));
            (!nothing).then(|| (taken, entity_of(words, index, taken, sentence, span.kind)))
        });
        // "Ігор" before the network's "Терехов".
        let given = || {
            words.get(index).filter(|word| word.capital && markers::is_first_name(&word.text))?;
            let span = span_at(index + 1).filter(|span| span.kind == EntityKind::Person)?;
            let taken = 1 + words_of_span(words, index + 1, span.end, sentence);
            adjacent(words, index, index + 1, sentence)
                .then(|| (taken, entity_of(words, index, taken, sentence, span.kind)))
        };
        let known = known_at(words, &normalised, index, sentence).map(|(known, taken)| {
            (taken, Entity { key: known.key.to_owned(), ..entity_of(words, index, taken, sentence, known.kind) })
        });
        let other = || {
            let taken = other_name(words, index, sentence, |at| span_at(at).is_some())?;
            Some((taken, entity_of(words, index, taken, sentence, EntityKind::Misc)))
        };
        let longest = match (tagged, known) {
            (Some(tagged), Some(known)) => Some(if known.0 >= tagged.0 { known } else { tagged }),
            (tagged, known) => tagged.or(known).or_else(given).or_else(other),
        };
        index += match longest {
            Some((taken, entity)) => {
                add(found, entity);
                taken.max(1)
            }
            None => 1,
        };
    }
}

/// Counts words from `index` to the byte `end`; an unclosed bracket ends the name.
fn words_of_span(words: &[Word<'_>], index: usize, end: usize, sentence: &str) -> usize {
    let start = words.get(index).map_or(end, |word| word.start);
    let name = cut(sentence, start, end);
    let end = match name.find('(') {
        Some(opened) if !name.contains(')') => start + opened,
        _ => end,
    };
    words.iter().skip(index).take_while(|word| word.start < end).count()
}

/// Whether a one-word name is wrong: an abbreviation, or a first word that is in a dictionary or has only its capital.
fn owes_its_capital(word: &Word<'_>, index: usize, is_ukrainian: bool) -> bool {
    if names_nothing(word.surface) {
        return true;
    }
    let first = index == 0 && !word.acronym && !mixed_case(word.surface);
    let plain = || lemmas::lemma(&word.text, is_ukrainian).is_some() || stopwords::is_stop_word(&word.text, None);
    let like_a_name = || markers::is_first_name(&word.text) || markers::is_surname(&word.text);
    first && (plain() || !(tagger::has_vector(word.surface, is_ukrainian) || like_a_name()))
}

/// Whether the network reads the text. It is trained on Russian, with Ukrainian words converted. Unknown languages and
/// quotations in Latin text may be either.
pub(super) fn is_read(language: Option<&str>) -> bool {
    language.is_none_or(|code| matches!(code, "ru" | "uk") || !is_cyrillic_language(code))
}

/// Whether a sentence is Ukrainian, by its letters, else by the text's language (one short sentence in 25).
pub(super) fn is_ukrainian(sentence: &str, language: Option<&str>) -> bool {
    sentence.contains(['і', 'ї', 'є', 'ґ', 'І', 'Ї', 'Є', 'Ґ'])
        || (language == Some("uk") && !sentence.contains(['ы', 'э', 'ё', 'ъ', 'Ы', 'Э', 'Ё', 'Ъ']))
}

/// Counts words of a name of unknown kind: its capital is inside a sentence, or no plain word has it.
fn other_name(words: &[Word<'_>], index: usize, sentence: &str, is_tagged: impl Fn(usize) -> bool) -> Option<usize> {
    let word = words.get(index).filter(|word| word.capital)?;
    let before = index.checked_sub(1).and_then(|at| words.get(at));
    let opens = before.is_none_or(|before| {
        cut(sentence, before.end, word.start).contains(['«', '"', '“', '„', ':', '—', '.', '?', '!', '…'])
    });
    let sure = (word.acronym && !markers::is_shouted(&word.text)) || mixed_case(word.surface);
    let plain =
        is_calendar_word(&word.text) || stopwords::is_stop_word(&word.text, None) || names_nothing(word.surface);
    if plain && !mixed_case(word.surface) || (opens && !sure) {
        return None;
    }
    let more = (index + 1..words.len())
        .take_while(|at| {
            words.get(*at).is_some_and(|word| word.capital) && !is_tagged(*at) && adjacent(words, at - 1, *at, sentence)
        })
        .count();
    Some(1 + more)
}

static GIVEN_NAMES: LazyLock<HashSet<String>> =
    LazyLock::new(|| markers::first_names().map(name_key).filter(|key| key.chars().count() >= 5).collect());

/// Whether it is a Cyrillic given name in any case: "Хиллари", "Томаса".
pub(super) fn is_given_name(word: &str) -> bool {
    has_cyrillic(word) && word.chars().count() > 4 && GIVEN_NAMES.contains(&name_key(word))
}

/// Whether it is no name: Roman numerals, "СМИ".
pub(super) fn names_nothing(surface: &str) -> bool {
    static WORDS: Words = Words::of("entities.cyrillic.naming_nothing");
    WORDS.has(surface) || (surface.len() > 1 && surface.chars().all(|c| matches!(c, 'I' | 'V' | 'X' | 'L' | 'C')))
}

/// Whether most letters are Cyrillic; one word in brackets is not enough.
pub(super) fn is_mostly(sentence: &str) -> bool {
    let letters = sentence.chars().filter(|c| c.is_alphabetic());
    let (cyrillic, all) = letters.fold((0, 0), |(cyrillic, all), c| (cyrillic + usize::from(is_cyrillic(c)), all + 1));
    cyrillic * 2 > all
}

//! Words that show the kind of an adjacent name: `entities.markers.*` in the lexicon.

use crate::lexicon::Words;

use super::kind::EntityKind;

/// A capital is enough: few sentences are about a turkey.
static EVERYDAY_NAMES: Words = Words::of("entities.markers.everyday_name");

static ACRONYM_WORDS: Words = Words::of("entities.markers.acronym_word");

static FIRST_NAMES: Words = Words::of("entities.markers.first_names");

static TITLES: Words = Words::of("entities.markers.titles");

static ORGANISATION_CUES: Words = Words::of("entities.markers.before_organisation");

static PLACE_CUES: Words = Words::of("entities.markers.before_place");

static ORGANISATION_WORDS: Words = Words::of("entities.markers.organisation_words");

static PLACE_WORDS: Words = Words::of("entities.markers.place_words");

static OTHER_WORDS: Words = Words::of("entities.markers.other_words");

static EVERYDAY_WORDS: Words = Words::of("entities.markers.everyday");

static SHOUTED_WORDS: Words = Words::of("entities.markers.shouted");

static OPENERS: Words = Words::of("entities.markers.openers");

/// Whether it often precedes a name at the beginning of a sentence.
pub(super) fn is_opener(word: &str) -> bool {
    OPENERS.has(word)
}

/// Whether it precedes a person's name.
pub(super) fn is_title(word: &str) -> bool {
    TITLES.has(word)
}

pub(super) fn is_first_name(word: &str) -> bool {
    FIRST_NAMES.has(word) || super::cyrillic::is_given_name(word)
}

pub(super) fn first_names() -> impl Iterator<Item = &'static str> {
    FIRST_NAMES.words()
}

pub(super) fn precedes_organisation(word: &str) -> bool {
    ORGANISATION_CUES.has(word)
}

pub(super) fn precedes_place(word: &str) -> bool {
    PLACE_CUES.has(word)
}

/// Whether it is a name and an everyday word. Alone it needs a capital inside a sentence and other signs.
pub(super) fn is_everyday(word: &str) -> bool {
    EVERYDAY_WORDS.has(word) && !EVERYDAY_NAMES.has(word)
}

/// Whether its lower case is another word.
pub(super) fn needs_capitals(word: &str) -> bool {
    ACRONYM_WORDS.has(word)
}

/// Whether capitals are emphasis: "BREAKING", "СРОЧНО".
pub(super) fn is_shouted(word: &str) -> bool {
    SHOUTED_WORDS.has(word)
}

/// Returns the kind of a name that ends with this word.
pub(super) fn institution(word: &str) -> Option<EntityKind> {
    if ORGANISATION_WORDS.has(word) {
        Some(EntityKind::Org)
    } else if PLACE_WORDS.has(word) {
        Some(EntityKind::Loc)
    } else if OTHER_WORDS.has(word) {
        Some(EntityKind::Misc)
    } else {
        None
    }
}

/// Returns the kind by the last marker: "Bank of America".
pub(super) fn run_kind(words: &[&str]) -> Option<EntityKind> {
    if words.len() < 2 {
        return None;
    }
    words.iter().rev().find_map(|word| institution(word))
}

/// Whether it ends like an East Slavic or Caucasian surname.
pub(super) fn is_surname(word: &str) -> bool {
    static ENDINGS: Words = Words::of("entities.markers.surname_ending");
    let letters = word.chars().count();
    letters >= 6 && ENDINGS.has_ending_of(word)
}

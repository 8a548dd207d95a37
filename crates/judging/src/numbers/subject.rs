//! Decides whether a figure's sentence is about the claim's subject. Otherwise the figure neither supports nor
//! disagrees: life on Earth is younger than the Earth.

use std::collections::HashSet;

use crate::names::Names;
use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::entities::kind::EntityKind;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Quantity, Unit};
use corroborate_language::tokens;
use corroborate_language::word_list::WordList;

use super::{PEOPLE, REPORTING_STEMS};

/// Weighted share of the claim's words that may be missing, except names and figures.
const MAX_MISSING_SHARE: f64 = 0.2;

/// Words of groups, and of measures, with separate figures.
static GROUPS: [(Words, Words); 9] = [
    (Words::of("scope.men"), Words::of("scope.women")),
    (Words::of("scope.north"), Words::of("scope.south")),
    (Words::of("scope.east"), Words::of("scope.west")),
    (Words::of("scope.import"), Words::of("scope.export")),
    (Words::of("scope.children"), Words::of("scope.adults")),
    (Words::of("scope.urban"), Words::of("scope.rural")),
    (Words::of("scope.profit"), Words::of("scope.revenue")),
    (Words::of("scope.pension"), Words::of("scope.wage")),
    (Words::of("scope.hired"), Words::of("scope.dismissed")),
];

/// Words for a part of a whole.
static PARTS: Words = Words::of("scope.part");

/// Whether the claim counts or measures something other than years.
pub(crate) fn has_count(claim: &TextProfile) -> bool {
    claim.quantities.iter().any(|figure| !matches!(figure.unit, Unit::Year | Unit::Ordinal | Unit::Identifier))
}

/// Whether the figure is of another group or measure: men's for women's, imports for exports, turnover for profit.
pub(crate) fn is_of_another_group(claim: &TextProfile, sentence: &SentenceProfile) -> bool {
    let ours = |list: &WordList| claim.sentences.iter().flat_map(|own| &own.words).any(|own| list.has(&own.text));
    let theirs = |list: &WordList| sentence.words.iter().any(|own| list.has(&own.text));
    let other = |one: &WordList, other: &WordList| ours(one) && !ours(other) && theirs(other) && !theirs(one);
    has_count(claim) && GROUPS.iter().any(|(one, two)| other(one, two) || other(two, one))
}

/// Whether a text is about a part only. "Some 300" and "a few 100" are figures.
pub(crate) fn is_about_part(text: &TextProfile) -> bool {
    let begins_with_digit = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    text.sentences.iter().any(|sentence| {
        let next = |at: usize| sentence.words.get(at + 1).is_some_and(|next| begins_with_digit(&next.text));
        sentence.words.iter().enumerate().any(|(at, word)| PARTS.has(&word.text) && !next(at))
    })
}

/// "Exactly" belongs to the figure, not to the subject.
static PRECISION_WORDS: Words = Words::of("numbers.precise");

struct RequiredWord {
    stem: String,
    weight: f64,
}

pub(super) struct Subject<'a> {
    claim: &'a TextProfile,
    names: &'a Names,
    required: Vec<RequiredWord>,
    /// The passage has another of the claim's numbered names.
    is_renumbered: bool,
}

impl<'a> Subject<'a> {
    pub(super) fn new(claim: &'a TextProfile, passage: &TextProfile, names: &'a Names) -> Self {
        Self { claim, names, required: required(claim), is_renumbered: names_another_number(claim, passage) }
    }

    pub(super) fn is_of(&self, sentence: &SentenceProfile) -> bool {
        if self.is_renumbered
            || self.names.found() < 1.0
            || !self.names.are_covered_by(sentence)
            || is_of_another_group(self.claim, sentence)
        {
            return false;
        }
        let (mut all, mut missing) = (0.0, 0.0);
        for word in &self.required {
            all += word.weight;
            if sentence.stems.binary_search(&word.stem).is_err() {
                missing += word.weight;
            }
        }
        // A figure without a word or name has no subject.
        all > 0.0 && missing <= MAX_MISSING_SHARE * all || (all <= 0.0 && !self.claim.entities.is_empty())
    }
}

/// Words for people and reporting never identify a subject.
fn is_light(stem: &str) -> bool {
    PEOPLE.has(stem) || REPORTING_STEMS.has(stem)
}

/// As written, with units.
fn figure_stems(text: &TextProfile) -> HashSet<String> {
    let language = text.language.as_deref();
    let written = text.quantities.iter().map(|quantity| &quantity.text).chain(text.dates.iter().map(|date| &date.text));
    written.flat_map(|written| tokens::content_stems(written, language)).collect()
}

fn required(claim: &TextProfile) -> Vec<RequiredWord> {
    let figures = figure_stems(claim);
    let mut seen: HashSet<&str> = claim.name_stems.iter().flatten().map(String::as_str).collect();
    let mut required = Vec::new();
    for word in claim.sentences.iter().flat_map(|own| &own.words) {
        let is_asked = word.content && !figures.contains(&word.stem) && !is_light(&word.stem);
        if !is_asked || PRECISION_WORDS.has(&word.text) || !seen.insert(&word.stem) {
            continue;
        }
        let Ok(at) = claim.words.binary_search_by(|own| own.stem.cmp(&word.stem)) else { continue };
        required.extend(claim.words.get(at).map(|own| RequiredWord { stem: word.stem.clone(), weight: own.weight }));
    }
    required
}

/// Whether the passage has another numbered name: "Apollo 12" against only Apollo 11.
fn names_another_number(claim: &TextProfile, passage: &TextProfile) -> bool {
    claim.quantities.iter().filter_map(|ours| Some((ours, name_before(claim, ours)?))).any(|(ours, name)| {
        let mut twins = passage
            .quantities
            .iter()
            .filter(|theirs| name_before(passage, theirs).is_some_and(|other| other == name))
            .peekable();
        twins.peek().is_some() && !twins.any(|theirs| (theirs.low - ours.low).abs() < 1e-9)
    })
}

/// The word before a bare number, in lower case. Not a place: "in Odesa 37 people".
fn name_before(text: &TextProfile, quantity: &Quantity) -> Option<String> {
    if !matches!(quantity.unit, Unit::None | Unit::Identifier) {
        return None;
    }
    let before = text.text.get(..quantity.start)?.trim_end_matches([' ', '\u{a0}', '-', '‑']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next()?;
    let is_place = |word: &str| {
        text.entities.iter().any(|name| name.kind == EntityKind::Loc && name.text.split(' ').next_back() == Some(word))
    };
    (word.chars().next()?.is_uppercase() && !is_place(word)).then(|| word.to_lowercase())
}

//! Compares figures and dates of a sentence with its passages.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use corroborate_language::dates::DateMention;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Comparator, Quantity, Unit};
use corroborate_language::tokens;
use corroborate_language::transliterate::to_latin;

use super::{CheckedSentence, CitedTextError, Side, contains};
use crate::numbers::agree;
use crate::profile::TextProfile;

/// Words for the passages as counted things: "two sources report".
static SOURCES: Words = Words::of("cited_text.source");

/// Words after a number that may name its thing.
const MAX_COUNTED_DISTANCE: usize = 3;

/// Maximum ratio to a rounding ("more than 9,000").
const MAX_ROUNDING_RATIO: f64 = 1.5;

/// Digits that are never read as a figure: "12:30", "2:1".
static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d+(?:[.,:/–-]\d+)*").ok());

/// A figure or date of the sentence, and whether one side states it.
struct Figure {
    at: Range<usize>,
    is_stated: bool,
}

pub(super) fn hold(checked: &CheckedSentence<'_>) -> Result<(), CitedTextError> {
    let of_passages: Vec<Vec<Figure>> = checked.own.iter().map(|side| figures(checked, side)).collect();
    let of_claim = figures(checked, checked.claim);
    let holds = of_claim.iter().enumerate().all(|(place, figure)| {
        let states = |figures: &Vec<Figure>| figures.get(place).is_some_and(|figure| figure.is_stated);
        of_passages.iter().any(states)
            || (figure.is_stated && checked.is_of_the_claim(figure.at.start))
            || counts_sources(checked, &figure.at)
    });
    if holds { Ok(()) } else { Err(CitedTextError::Figure) }
}

/// Returns the figures of the sentence. Relative dates count from the side's day.
fn figures(checked: &CheckedSentence<'_>, side: &Side<'_>) -> Vec<Figure> {
    let sentence = TextProfile::new(checked.words, checked.language, Some(side.day), &[]);
    let mut found: Vec<Figure> = Vec::new();
    for date in &sentence.dates {
        let at = date.offset..date.offset + date.text.len();
        found.push(Figure { at, is_stated: states_date(side, date) });
    }
    let overlaps = |found: &[Figure], at: &Range<usize>| {
        found.iter().any(|known| known.at.start < at.end && at.start < known.at.end)
    };
    let of_dates = found.len();
    for quantity in &sentence.quantities {
        let at = quantity.start..quantity.start + quantity.text.len();
        if quantity.unit == Unit::Year && overlaps(found.get(..of_dates).unwrap_or_default(), &at) {
            continue;
        }
        found.push(Figure { at, is_stated: states_quantity(side, quantity) });
    }
    for digits in DIGITS.as_ref().into_iter().flat_map(|digits| digits.find_iter(checked.words)) {
        if !overlaps(&found, &digits.range()) {
            found.push(Figure { at: digits.range(), is_stated: contains(side.source.text, digits.as_str()) });
        }
    }
    found
}

/// Whether a side states the time or one within it: "on 3 May" supports "in May", not the reverse.
fn states_date(side: &Side<'_>, date: &DateMention) -> bool {
    let within = |theirs: &DateMention| date.start <= theirs.start && theirs.end <= date.end;
    side.profile.dates.iter().any(within) || contains(side.source.text, &date.text)
}

fn states_quantity(side: &Side<'_>, ours: &Quantity) -> bool {
    let is_same_name = |theirs: &Quantity| {
        ours.unit == Unit::Identifier && theirs.unit == ours.unit && to_latin(&ours.text) == to_latin(&theirs.text)
    };
    // "More than 9,000" rounds 9,210, but not 12,000.
    let is_near = |theirs: &Quantity| {
        let (one, other) = (ours.high.abs(), theirs.high.abs());
        ours.comparator == Comparator::Exact || one.max(other) <= MAX_ROUNDING_RATIO * one.min(other)
    };
    let states = |theirs: &Quantity| agree(ours, theirs) == Some(true) && is_near(theirs) || is_same_name(theirs);
    side.profile.quantities.iter().any(states)
}

/// "Two sources" in a text that cites two.
fn counts_sources(checked: &CheckedSentence<'_>, at: &Range<usize>) -> bool {
    let counts = |quantity: &Quantity| {
        let count = quantity.low;
        let is_of = |cited: usize| (count - cited as f64).abs() < f64::EPSILON;
        quantity.start == at.start
            && quantity.unit == Unit::None
            && quantity.comparator == Comparator::Exact
            && (quantity.high - count).abs() < f64::EPSILON
            && (is_of(checked.all.len()) || is_of(checked.own.len()))
    };
    let sentence = corroborate_language::numbers::quantities(checked.words, checked.language);
    let behind = checked.words.get(at.start..).unwrap_or_default();
    sentence.iter().any(counts)
        && tokens::tokens(behind, checked.language)
            .iter()
            .skip(1)
            .take(MAX_COUNTED_DISTANCE)
            .any(|word| SOURCES.has(&word.text))
}

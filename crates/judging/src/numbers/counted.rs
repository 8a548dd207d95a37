//! Decides which two figures are comparable.

use super::roles::role;
use super::{agree, sentence_at};
use crate::profile::TextProfile;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Quantity, Unit};

/// Words for people: "11 people were killed" and "11 killed" count the same.
pub(super) static PEOPLE: Words = Words::of("figures.people");

/// Stems that do not name the counted thing.
pub(super) static REPORTING: Words = Words::of("figures.reporting");

/// The nearest word that does not only join ("the toll reached 50").
pub(super) fn thing(quantity: &Quantity) -> Option<&String> {
    quantity.counted.iter().find(|stem| !REPORTING.has(stem))
}

/// Whether both count the same thing, or one "people" and the other their fate.
pub(super) fn same_counted(ours: &Quantity, theirs: &Quantity) -> bool {
    let (Some(mine), Some(other)) = (thing(ours), thing(theirs)) else {
        return false;
    };
    let person = |stem: &String| PEOPLE.has(stem);
    mine == other || (person(other) && theirs.counted.contains(mine)) || (person(mine) && ours.counted.contains(other))
}

/// Whether the claim has one figure for the thing. "17 of the 18 years" is unclear; "50 missiles and 100 drones" has
/// two things.
pub(super) fn alone_here(ours: &Quantity, theirs: &Quantity, claim: &TextProfile) -> bool {
    let by_name = thing(ours).is_some_and(|mine| thing(theirs) == Some(mine));
    let rival = |other: &&Quantity| {
        let alike = if by_name {
            other.counted.is_empty() || thing(other) == thing(ours)
        } else {
            ours.counted.is_empty()
                || other.counted.is_empty()
                || other.counted.iter().any(|word| ours.counted.contains(word))
        };
        other.start != ours.start && other.unit == ours.unit && alike && role(claim, other) == role(claim, ours)
    };
    !claim.quantities.iter().any(|other| rival(&other))
}

/// Whether the equal figure counts another thing: "100 missiles and 50 drones" does not support "50 missiles and 100
/// drones".
pub(super) fn counts_otherwise(ours: &Quantity, theirs: &Quantity, passage: &TextProfile) -> bool {
    let Some(mine) = thing(ours).filter(|_| !same_counted(ours, theirs)) else { return false };
    let answers = |other: &&Quantity| {
        other.unit == ours.unit && thing(other) == Some(mine) && role(passage, other) == role(passage, theirs)
    };
    let mut named = passage.quantities.iter().filter(answers).peekable();
    // "At least 11" leaves open "at least 32".
    named.peek().is_some() && named.all(|other| agree(ours, other) != Some(true))
}

/// Whether the claim's figure is in the same sentence with its thing implied: "Norway won 12 medals and Denmark 4".
pub(super) fn is_told_beside(ours: &Quantity, theirs: &Quantity, passage: &TextProfile) -> bool {
    let Some(sentence) = sentence_at(passage, theirs.start) else { return false };
    passage.quantities.iter().any(|other| {
        other.start != theirs.start
            && (sentence.start..sentence.end).contains(&other.start)
            && (other.unit == ours.unit || other.unit == Unit::None)
            && agree(ours, &Quantity { unit: ours.unit, ..other.clone() }) == Some(true)
            && thing(other).is_none_or(|counted| Some(counted) == thing(ours))
    })
}

/// "By 10 %" is a step, "to 10 %" a level.
pub(super) fn is_step_and_level(
    ours: &Quantity,
    claim: &TextProfile,
    theirs: &Quantity,
    passage: &TextProfile,
) -> bool {
    let before = |text: &TextProfile, quantity: &Quantity| {
        let before = text.text.get(..quantity.start).unwrap_or_default();
        before.split_whitespace().next_back().unwrap_or_default().to_lowercase()
    };
    // "Rose 5%" is a step too.
    let is_step = |word: &str| {
        static MOVED: Words = Words::of("figures.moved");
        matches!(word, "by" | "на") || MOVED.has(word)
    };
    let is_level = |word: &str| matches!(word, "to" | "до");
    let (mine, other) = (before(claim, ours), before(passage, theirs));
    (is_step(&mine) && is_level(&other)) || (is_level(&mine) && is_step(&other))
}

pub(super) fn alone_there(ours: &Quantity, theirs: &Quantity, passage: &TextProfile) -> bool {
    let Some(sentence) = sentence_at(passage, theirs.start) else {
        return false;
    };
    let by_name = same_counted(ours, theirs);
    let rival = |other: &&Quantity| {
        other.start != theirs.start
            && role(passage, other) == role(passage, theirs)
            && (sentence.start..sentence.end).contains(&other.start)
            && other.unit == theirs.unit
            && (!by_name || same_counted(ours, other))
    };
    !passage.quantities.iter().any(|other| rival(&other))
}

/// Whether figures of the passage sum to the claim's: "eight from one prison and five from another" agrees with
/// thirteen.
pub(super) fn adds_up(ours: &Quantity, passage: &TextProfile) -> bool {
    let parts: Vec<f64> =
        passage.quantities.iter().filter(|part| part.unit == ours.unit).map(|part| part.low).take(12).collect();
    let meets = |sum: f64| (sum - ours.low).abs() < 1e-6 || (sum - ours.high).abs() < 1e-6;
    parts.iter().enumerate().any(|(first, a)| {
        parts
            .iter()
            .enumerate()
            .skip(first + 1)
            .any(|(second, b)| meets(a + b) || parts.iter().skip(second + 1).any(|c| meets(a + b + c)))
    })
}

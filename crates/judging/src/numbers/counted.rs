//! Which two figures answer each other: what each counts, and whether another figure stands between them.

use super::roles::role;
use super::{agree, sentence_at};
use crate::profile::TextProfile;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{Quantity, Unit};

/// Words for those of whom something else is counted: "11 people were killed" and "11 killed" count the same.
pub(super) static PEOPLE: Words = Words::of("figures.people");

/// Stems of words that report or measure and say nothing of what; among them what joins a figure with what it counts.
pub(super) static REPORTING: Words = Words::of("figures.reporting");

/// What is counted: the nearest word that does not merely join the figure with it ("the toll reached 50").
pub(super) fn thing(quantity: &Quantity) -> Option<&String> {
    quantity.counted.iter().find(|stem| !REPORTING.has(stem))
}

/// Both name the same thing nearest to the figure; or one says "people" where the other says what became of them.
pub(super) fn same_counted(ours: &Quantity, theirs: &Quantity) -> bool {
    let (Some(mine), Some(other)) = (thing(ours), thing(theirs)) else {
        return false;
    };
    let person = |stem: &String| PEOPLE.has(stem);
    mine == other || (person(other) && theirs.counted.contains(mine)) || (person(mine) && ours.counted.contains(other))
}

/// "17 of the 18 years": with two figures for one thing, which one a passage's figure answers is not to be told. "50 missiles
/// and 100 drones" are two things, and a figure that names its own answers one of them.
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

/// Whether a figure of the claim's value counts another thing there, while what the claim counts is given another figure:
/// "50 missiles and 100 drones" is not borne out by "100 missiles and 50 drones".
pub(super) fn counts_otherwise(ours: &Quantity, theirs: &Quantity, passage: &TextProfile) -> bool {
    let Some(mine) = thing(ours).filter(|_| !same_counted(ours, theirs)) else { return false };
    let answers = |other: &&Quantity| {
        other.unit == ours.unit && thing(other) == Some(mine) && role(passage, other) == role(passage, theirs)
    };
    let mut named = passage.quantities.iter().filter(answers).peekable();
    // "At least 11" leaves open whether they were at least 32, and does not bear it out.
    named.peek().is_some() && named.all(|other| agree(ours, other) != Some(true))
}

/// Whether the claim's figure stands in the sentence of the one that differs, and what it counts is left to be understood: "Norway won
/// 12 medals and Denmark 4".
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

/// "By 10 %" tells how far something went, "to 10 %" where it came to: the same figure of another thing.
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
    // "Rose 5%" is a step as well.
    let is_step = |word: &str| {
        static MOVED: Words = Words::of("figures.moved");
        matches!(word, "by" | "на") || MOVED.has(word)
    };
    let is_level = |word: &str| matches!(word, "to" | "до");
    let (mine, other) = (before(claim, ours), before(passage, theirs));
    (is_step(&mine) && is_level(&other)) || (is_level(&mine) && is_step(&other))
}

/// Whether no other figure of its sentence could be the one that answers the claim's.
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

/// Whether two or three of the passage's figures of that unit together make the claim's: "eight from one prison and five
/// from another" does not disagree with thirteen.
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

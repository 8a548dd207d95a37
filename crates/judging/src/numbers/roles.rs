//! Finds the role of a figure: earlier level, part, whole, or addition. Only figures of one role are comparable.

use crate::profile::TextProfile;
use corroborate_language::lexicon::Words;
use corroborate_language::numbers::{PART_OF, Quantity};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Plain,
    /// "From 9 to 12 percent", "against 48 percent a year ago".
    Left,
    /// "12 of 20 suspects": the 12.
    Part,
    /// The 20.
    Whole,
    /// "Another 13", "20 million more".
    Added,
}

static ADDED: Words = Words::of("figures.added");
/// Words one word after a figure.
static MORE: Words = Words::of("figures.more");
/// Words before an earlier, compared or planned figure.
static LEFT: Words = Words::of("figures.left.from");
static BESIDE: Words = Words::of("figures.left.beside");
static PLANNED: Words = Words::of("figures.left.planned");

pub(super) fn role(text: &TextProfile, figure: &Quantity) -> Role {
    let before = text.text.get(..figure.start).unwrap_or_default().to_lowercase();
    let end = figure.start + figure.text.len();
    let behind = text.text.get(end..).unwrap_or_default().to_lowercase();
    let mut words = before.split_whitespace().rev().map(bare);
    let (last, earlier) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut next = behind.split_whitespace().map(bare);
    let (first, second) = (next.next().unwrap_or_default(), next.next().unwrap_or_default());
    let follows = |other: &&Quantity| other.unit == figure.unit && other.start > end;
    let is_left = LEFT.has(last)
        && text.quantities.iter().filter(follows).any(|other| {
            let between = text.text.get(end..other.start).unwrap_or_default().to_lowercase();
            let between = between.trim();
            between.split_whitespace().count() <= 3
                && matches!(between.split_whitespace().next_back(), Some("to" | "до"))
        });
    let beside = BESIDE.has(last) || (PLANNED.has(last) && matches!(earlier, "при" | "за"));
    // A closed class. "7.1 percent, and 5.2 percent a year earlier".
    let ago = ["a year earlier", "a year ago", "годом ранее", "год назад", "рік тому", "роком раніше"];
    let near = behind.trim_start();
    // "With 300 soldiers a year earlier": the counted thing may be between.
    let counted = |then: &str| {
        near.find(then).is_some_and(|at| {
            let between = near.get(..at).unwrap_or_default();
            between.split_whitespace().count() <= 2
                && between.chars().all(|c| c.is_alphabetic() || c == ' ')
                && between.split_whitespace().all(|word| before.contains(word))
        })
    };
    let is_earlier = ago.iter().any(|then| counted(then))
        && text.quantities.iter().any(|other| other.unit == figure.unit && other.start < figure.start);
    let was = beside || is_earlier || (last == "against" && behind.contains("year"));
    if is_left || was {
        return Role::Left;
    }
    let part_before = text.quantities.iter().any(|other| {
        let ended = other.start + other.text.len();
        let between = text.text.get(ended..figure.start).unwrap_or_default().trim().to_lowercase();
        ended < figure.start && PART_OF.has(&between)
    });
    if part_before {
        return Role::Whole;
    }
    let whole_behind = text.quantities.iter().any(|other| {
        let between = text.text.get(end..other.start).unwrap_or_default().trim().to_lowercase();
        other.start > end && PART_OF.has(&between)
    });
    if whole_behind {
        return Role::Part;
    }
    // Words that may be between; a closed class.
    let is_added = ADDED.has(last)
        || (matches!(last, "an" | "of" | "about" | "at" | "около" | "близько") && ADDED.has(earlier))
        || (matches!(first, "more" | "additional") && second != "or")
        || MORE.has(second);
    if is_added { Role::Added } else { Role::Plain }
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

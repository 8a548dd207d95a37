//! Comparators: "More than", "не менее", "майже".
//!
//! To add one: `numbers.comparator.before` or `numbers.comparator.after` in the lexicon.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Comparator, Reader, units};
use crate::dates;
use crate::lexer::Lexeme;
use crate::lexicon::{self, Entry, Words};

/// The longest match wins, so "no more than" is not "more than".
const BEFORE_SIGNS: &[(Comparator, &str)] = &[
    (Comparator::AtLeast, "≥"),
    (Comparator::MoreThan, ">"),
    (Comparator::AtMost, "≤"),
    (Comparator::LessThan, "<"),
    (Comparator::About, "~"),
    (Comparator::About, "≈"),
    (Comparator::About, "±"),
];

/// After the unit.
const AFTER_SIGNS: &[(Comparator, &str)] = &[(Comparator::AtLeast, "+")];

/// Prepositions between comparator and number.
static PREPOSITIONS: Words = Words::of("numbers.comparator.prepositions");

impl Reader<'_> {
    /// Returns the comparator before a number, or after its unit.
    pub(super) fn comparator(&self, index: usize, end: usize) -> Comparator {
        // "Ниже -30": the comparator precedes the sign.
        let start = index - usize::from(self.is_negative(index));
        let is_new_value = || {
            let comes_to = matches!(self.word_at(start.checked_sub(1)), Some("до" | "to"));
            self.closes_a_change(index) || (start < index && comes_to)
        };
        match before(&self.lexemes, start) {
            // "с 5 до 10" is a change; "похолодает до -30" a new value.
            Some(Comparator::AtMost) if is_new_value() => None,
            found => found.or_else(|| after(&self.lexemes, end)),
        }
        .unwrap_or(Comparator::Exact)
    }
}

/// Returns the comparator before `index`.
pub(super) fn before(lexemes: &[Lexeme<'_>], index: usize) -> Option<Comparator> {
    static PATTERNS: LazyLock<Patterns> =
        LazyLock::new(|| Patterns::new(&all_before(), |pattern| pattern.rsplit(' ').collect()));
    let ending_at = |end: usize| PATTERNS.longest(|| lexemes.get(..end).into_iter().flatten().rev().map(text_of));
    // "более чем в 20 странах", but not "выше на 5 %".
    let prepared = index
        .checked_sub(1)
        .filter(|at| lexemes.get(*at).and_then(Lexeme::word).is_some_and(|word| PREPOSITIONS.has(word)));
    let through = |end: usize| {
        let than = end.checked_sub(1).and_then(|at| lexemes.get(at)).and_then(Lexeme::word);
        let compares = matches!(than, Some("чем" | "ніж" | "як"));
        ending_at(end).filter(|found| compares || matches!(found, Comparator::About | Comparator::AtLeast))
    };
    // "как минимум, четыре"; a maximum before a comma ends its clause.
    let set_off = index.checked_sub(1).filter(|at| lexemes.get(*at).is_some_and(|lexeme| lexeme.is_sign(',')));
    let limit = |end: usize| ending_at(end).filter(|found| *found == Comparator::AtLeast);
    // "c. £66 million", "ca. US$5m"
    let sign = |at: usize| lexemes.get(at).is_some_and(|sign| units::currency_sign(sign).is_some());
    let money = sign(index) || (sign(index + 1) && lexemes.get(index).and_then(Lexeme::word) == Some("us"));
    if dates::is_circa(lexemes, index) || (money && dates::follows_circa(lexemes, index)) {
        return Some(Comparator::About);
    }
    ending_at(index).or_else(|| set_off.and_then(limit)).or_else(|| prepared.and_then(through))
}

/// Returns the comparator at `index`.
pub(super) fn after(lexemes: &[Lexeme<'_>], index: usize) -> Option<Comparator> {
    static PATTERNS: LazyLock<Patterns> =
        LazyLock::new(|| Patterns::new(&all_after(), |pattern| pattern.split(' ').collect()));
    // "1+1" is a sum.
    let sum = lexemes
        .get(index)
        .zip(lexemes.get(index + 1))
        .is_some_and(|(plus, next)| plus.is_sign('+') && next.is_number() && plus.end == next.start);
    if sum {
        return None;
    }
    PATTERNS.longest(|| lexemes.get(index..).into_iter().flatten().map(text_of))
}

fn all_before() -> Vec<(Comparator, &'static str)> {
    table(lexicon::entries("numbers.comparator.before"), BEFORE_SIGNS)
}

fn all_after() -> Vec<(Comparator, &'static str)> {
    table(lexicon::entries("numbers.comparator.after"), AFTER_SIGNS)
}

fn named(name: &str) -> Option<Comparator> {
    Some(match name {
        "at_least" => Comparator::AtLeast,
        "more_than" => Comparator::MoreThan,
        "at_most" => Comparator::AtMost,
        "less_than" => Comparator::LessThan,
        "about" => Comparator::About,
        _ => return None,
    })
}

fn table(
    entries: impl Iterator<Item = Entry>,
    signs: &[(Comparator, &'static str)],
) -> Vec<(Comparator, &'static str)> {
    let patterns = entries.filter_map(|entry| Some((named(entry.value)?, entry.form)));
    patterns.chain(signs.iter().copied()).collect()
}

fn text_of<'a>(lexeme: &'a Lexeme<'_>) -> &'a str {
    lexeme.word().unwrap_or(lexeme.text)
}

/// By the word nearest to the number, longest first.
struct Patterns(HashMap<&'static str, Vec<(Vec<&'static str>, Comparator)>>);

impl Patterns {
    /// Splits the table; `outwards` returns a pattern's words from the number outwards.
    fn new(table: &[(Comparator, &'static str)], outwards: impl Fn(&'static str) -> Vec<&'static str>) -> Self {
        let mut by_nearest: HashMap<&'static str, Vec<(Vec<&'static str>, Comparator)>> = HashMap::new();
        for (comparator, pattern) in table.iter().rev() {
            let words = outwards(pattern);
            if let Some(nearest) = words.first() {
                by_nearest.entry(nearest).or_default().push((words, *comparator));
            }
        }
        // Stable: of equal patterns the later wins.
        for patterns in by_nearest.values_mut() {
            patterns.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        }
        Self(by_nearest)
    }

    /// Returns the longest match, read outwards.
    fn longest<'a, I: Iterator<Item = &'a str>>(&self, outwards: impl Fn() -> I) -> Option<Comparator> {
        let patterns = self.0.get(outwards().next()?)?;
        let fits = |words: &[&str]| {
            let mut found = outwards();
            words.iter().all(|word| found.next() == Some(word))
        };
        patterns.iter().find(|(words, _)| fits(words)).map(|(_, comparator)| *comparator)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lexer::lex;

    /// Finds a match directly in the table: slow, but simple.
    fn plainly(table: &[(Comparator, &'static str)], fits: impl Fn(&[&str]) -> bool) -> Option<Comparator> {
        let split = table.iter().map(|(comparator, text)| (*comparator, text.split(' ').collect::<Vec<_>>()));
        split.filter(|(_, words)| fits(words)).max_by_key(|(_, words)| words.len()).map(|pair| pair.0)
    }

    /// Words of the patterns in any order, and other words.
    fn texts() -> impl Strategy<Value = String> {
        let patterns = all_before().into_iter().chain(all_after()).map(|(_, pattern)| pattern);
        let mut pieces: Vec<&str> = patterns.flat_map(|pattern| pattern.split(' ').chain([pattern])).collect();
        pieces.extend(["the", "5", "км", "$", "c", "."]);
        prop::collection::vec(prop::sample::select(pieces), 0..7).prop_map(|pieces| pieces.join(" "))
    }

    proptest! {
        #[test]
        fn the_tables_say_the_same_as_read_pattern_by_pattern(text in texts()) {
            let lexemes = lex(&text, false);
            let words: Vec<&str> = lexemes.iter().map(text_of).collect();
            for index in 0..=lexemes.len() {
                let behind = words.get(index..).unwrap_or_default();
                let sum = after(&lexemes, index).is_none() && behind.first() == Some(&"+");
                if !sum {
                    prop_assert_eq!(after(&lexemes, index), plainly(&all_after(), |pattern| behind.starts_with(pattern)));
                }
                let ahead = words.get(..index).unwrap_or_default();
                if let Some(expected) = plainly(&all_before(), |pattern| ahead.ends_with(pattern))
                    && before(&lexemes, index) != Some(Comparator::About)
                {
                    prop_assert_eq!(before(&lexemes, index), Some(expected));
                }
            }
        }
    }
}

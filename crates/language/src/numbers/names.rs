//! Finds numbers that are names (COVID-19, article 5, № 12) or parts of names, and ranks that rank nothing.

use super::{Comparator, Quantity, Reader, Unit, Value, comparators, units};
use crate::lexer::Lexeme;
use crate::lexicon::Words;
use crate::word_list::WordList;
use crate::{dates, tokens, verbs};

/// Nouns whose number is always a name: "article 5".
static NUMBERED_NOUNS: Words = Words::of("numbers.names.numbered");

/// Nouns whose number is a name if it counts nothing: "port 4711".
static MAYBE_NUMBERED_NOUNS: Words = Words::of("numbers.names.perhaps_numbered");

/// Abbreviations with a dot.
static ABBREVIATIONS: Words = Words::of("numbers.names.abbreviated");

/// Maximum letters of a case ending.
const MAX_ENDING_LETTERS: usize = 3;

/// Larger figures before "BC" are geological ages.
const MAX_YEAR: u32 = 20_000;

fn among(list: &WordList, word: &str) -> bool {
    list.has_form(word, MAX_ENDING_LETTERS)
}

impl Reader<'_> {
    /// Whether letters, "№" or a numbered noun precede the digits, or letters that are no unit follow: "5G".
    pub(super) fn is_identifier(&self, index: usize, value: Value) -> bool {
        let Some(number) = self.lexemes.get(index).filter(|lexeme| lexeme.is_number()) else { return false };
        let back = |steps: usize| index.checked_sub(steps).and_then(|at| self.lexemes.get(at));
        if let Some(before) = back(1) {
            let is_joined = before.end == number.start;
            let hyphen = is_joined && (before.is_sign('-') || before.is_sign('‑'));
            if before.is_sign('№')
                || before.is_sign('#')
                || before.word().is_some_and(|word| is_joined || self.is_numbered(word, value.next))
                || hyphen && back(2).is_some_and(|noun| noun.word().is_some() && noun.end == before.start)
                || before.is_sign('.') && back(2).and_then(Lexeme::word).is_some_and(|word| ABBREVIATIONS.has(word))
            {
                return true;
            }
        }
        let next = value.next;
        let is_side = matches!(self.word_at(Some(next)), Some("x" | "х"))
            && self.glued(next, next + 1)
            && self.lexemes.get(next + 1).is_some_and(Lexeme::is_number);
        next == index + 1
            && self.glued(index, next)
            && !is_side
            && self.word_at(Some(next)).is_some()
            && units::unit(self.lexemes.get(next..).unwrap_or_default(), true).is_none()
    }

    fn is_numbered(&self, word: &str, next: usize) -> bool {
        // "Часть 2 статьи 105": the noun has its own number.
        let has_own_number = || self.word_at(Some(next)).is_some_and(|noun| among(&NUMBERED_NOUNS, noun));
        among(&NUMBERED_NOUNS, word)
            || (among(&MAYBE_NUMBERED_NOUNS, word) && (self.counts_nothing(next) || has_own_number()))
    }

    /// Whether no unit and no counted noun follows.
    fn counts_nothing(&self, next: usize) -> bool {
        let rest = self.lexemes.get(next..).unwrap_or_default();
        if rest.first().is_some_and(|sign| sign.is_sign('%') || sign.is_sign('°')) || units::unit(rest, false).is_some()
        {
            return false;
        }
        let counted = rest.first().filter(|lexeme| lexeme.word().is_some());
        counted.is_none_or(|lexeme| tokens::content_stems(lexeme.text, self.language).is_empty())
    }

    /// Whether a rank is an adverb: "was first released", "at first", "во-первых".
    pub(super) fn is_adverb(&self, index: usize, next: usize) -> bool {
        let before = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let is_point = before.is_some_and(|sign| sign.is_sign('-'))
            && matches!(self.word_at(index.checked_sub(2)), Some("во" | "в" | "по"));
        let above_all = matches!(self.word_at(index.checked_sub(1)), Some("в" | "у"))
            && matches!(self.word_at(Some(next)), Some("очередь" | "чергу"));
        let is_first = self.word_at(Some(index)) == Some("first")
            && (self.word_at(Some(next)).is_some_and(verbs::is_past)
                || self.word_at(index.checked_sub(1)) == Some("at")
                || self.word_at(Some(next)) == Some("aid"));
        is_point || above_all || is_first
    }

    /// Reads years before Christ, which are negative, and "AD 79". Returns the index after the year.
    pub(super) fn year_of_era(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let year =
            |at: usize| self.lexemes.get(at).and_then(Lexeme::integer).filter(|year| (1..MAX_YEAR).contains(year));
        let first = year(index)?;
        let dash = self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('-') || sign.is_sign('–'));
        let last = if dash { year(index + 2) } else { None };
        let end = if last.is_some() { index + 3 } else { index + 1 };
        let last = last.unwrap_or(first);
        let before = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let is_ad = before.is_some_and(|lexeme| lexeme.text == "AD");
        let (bounds, end) = match dates::before_christ(&self.lexemes, end) {
            Some(behind) => ((-f64::from(first), -f64::from(last)), behind),
            None if is_ad => ((f64::from(first), f64::from(last)), end),
            None if self.lexemes.get(end).is_some_and(|era| matches!(era.text, "AD" | "CE")) => {
                ((f64::from(first), f64::from(last)), end + 1)
            }
            None => return None,
        };
        let about = comparators::before(&self.lexemes, index).filter(|found| *found == Comparator::About);
        let comparator = about.unwrap_or(Comparator::Exact);
        (bounds.0 <= bounds.1).then(|| (vec![self.finish(index, end, bounds, Unit::Year, comparator, 1.0)], end))
    }
}

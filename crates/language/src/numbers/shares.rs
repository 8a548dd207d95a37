//! Reads shares: "half of", "two-thirds", "2/3 of", "треть", "½".
//!
//! Words: `numbers.shares.*` in the lexicon.

use super::{Comparator, Quantity, Reader, Unit, comparators, words};
use crate::lexer::{Kind, Lexeme};
use crate::lexicon::{self, Values, Words};

/// Denominators in English.
static SINGULAR_DENOMINATORS: Values<f64> = Values::of("numbers.shares.one", lexicon::number);
static PLURAL_DENOMINATORS: Values<f64> = Values::of("numbers.shares.several", lexicon::number);

/// Denominators in Russian and Ukrainian.
static DECLINED_DENOMINATORS: Values<f64> = Values::of("numbers.shares.declined", lexicon::number);
/// Shares without a count: "половина".
static BARE_SHARES: Values<f64> = Values::of("numbers.shares.alone", lexicon::number);

/// "three quarters of negative growth": of a year.
static QUARTERLY_NOUNS: Words = Words::of("numbers.shares.quarterly");

fn sign_value(lexeme: &Lexeme<'_>) -> Option<f64> {
    match lexeme.kind {
        Kind::Sign('½') => Some(0.5),
        Kind::Sign('⅓') => Some(1.0 / 3.0),
        Kind::Sign('⅔') => Some(2.0 / 3.0),
        Kind::Sign('¼') => Some(0.25),
        Kind::Sign('¾') => Some(0.75),
        _ => None,
    }
}

impl Reader<'_> {
    /// Reads a share in percent, approximate by default, and the index after it.
    pub(super) fn share(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let (share, end) =
            self.half_or_part(index).or_else(|| self.parts_in_words(index)).or_else(|| self.parts_in_digits(index))?;
        // A new value, no limit: "Выросла до половины".
        let comparator = comparators::before(&self.lexemes, index)
            .filter(|found| *found != Comparator::AtMost || !self.closes_a_change(index));
        let default = if self.is_precise(index) { (Comparator::Exact, 1.0) } else { (Comparator::About, 5.0) };
        let comparator = comparator.unwrap_or(default.0);
        Some((vec![self.finish(index, end, (share, share), Unit::Percent, comparator, default.1)], end))
    }

    fn half_or_part(&self, index: usize) -> Option<(f64, usize)> {
        let before = index.checked_sub(1).and_then(|at| self.word_at(Some(at)));
        let next = self.word_at(Some(index + 1));
        let share = match self.word_at(Some(index))? {
            // No share: the first half of October.
            "half" if before.is_some_and(|word| words::ordinal(word).is_some()) => return None,
            "half" if matches!(next, Some("of" | "the" | "all")) => 50.0,
            "четверть" | "чверть" if before == Some("на") => 25.0,
            word => 100.0 / BARE_SHARES.get(word)?,
        };
        Some((share, index + 1))
    }

    /// Reads "a third of", "two-thirds", "две трети".
    fn parts_in_words(&self, index: usize) -> Option<(f64, usize)> {
        let first = self.word_at(Some(index))?;
        let parts = if first == "a" { 1.0 } else { words::cardinal(first).filter(|parts| *parts < 10.0)? };
        let hyphen = usize::from(self.lexemes.get(index + 1).is_some_and(|lexeme| lexeme.is_sign('-')));
        let at = index + 1 + hyphen;
        let word = self.word_at(Some(at))?;
        let of = self.word_at(Some(at + 1)) == Some("of");
        // A quarter of a million is a number.
        let is_scale = |at: usize| self.word_at(Some(at)).is_some_and(|word| words::scale(word).is_some());
        if of && matches!(self.word_at(Some(at + 2)), Some("a" | "an")) && is_scale(at + 3) {
            return None;
        }
        // No shares: "A third man", "the last two quarters".
        let one = || SINGULAR_DENOMINATORS.get(word).filter(|_| parts <= 1.0 && of);
        let several =
            || PLURAL_DENOMINATORS.get(word).filter(|whole| parts > 1.0 && (of || hyphen == 1 || *whole < 4.0));
        let whole = one().or_else(several).or_else(|| DECLINED_DENOMINATORS.get(word))?;
        // Two quarters are of a year.
        let goes_on = |at: usize| self.word_at(Some(at)).is_some_and(|word| QUARTERLY_NOUNS.has(word));
        let of_a_year = word == "quarters" && (parts < 3.0 || (hyphen == 0 && (goes_on(at + 2) || goes_on(at + 3))));
        (parts < whole && !of_a_year).then_some((100.0 * parts / whole, at + 1))
    }

    /// Reads "2/3 of", "1/3 депутатов". Without a noun it may be a day, score or house number.
    fn parts_in_digits(&self, index: usize) -> Option<(f64, usize)> {
        let figure = |at: usize| self.lexemes.get(at).and_then(Lexeme::integer);
        let stroke = self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('/'));
        let glued = self.glued(index, index + 1) && self.glued(index + 1, index + 2);
        let (parts, whole) = (figure(index)?, figure(index + 2)?);
        let of = self
            .word_at(Some(index + 3))
            .is_some_and(|word| word == "of" || (has_room(word) && !is_round_or_month(word)));
        (stroke && glued && of && (2..=10).contains(&whole) && (1..whole).contains(&parts))
            .then(|| (100.0 * f64::from(parts) / f64::from(whole), index + 3))
    }

    /// Reads "½" and "3½".
    pub(super) fn fraction(&self, index: usize) -> Option<f64> {
        self.lexemes.get(index).and_then(sign_value)
    }
}

/// Whether it is a round ("1/8 финала") or a day ("1/4 мая").
fn is_round_or_month(word: &str) -> bool {
    word.starts_with("финал") || word.starts_with("фінал") || super::dates::names::month(word).is_some()
}

/// Whether it is Cyrillic and long enough for a noun.
fn has_room(word: &str) -> bool {
    super::has_cyrillic(word) && word.chars().count() > 3
}

//! Numbers in words where they stand: counts, ranks, "twice", and spans that are adjectives.

use super::{Comparator, Quantity, Reader, Unit, Value, comparators, units, words};
use crate::language::lexer::{Kind, Lexeme};

/// Words that must follow "one day" for it to be a span: without them it is a day like any other.
const AFTER_ONE_DAY: &[&str] = &["before", "after", "later", "earlier", "prior"];

impl Reader<'_> {
    pub(super) fn value_in_words(&self, index: usize) -> Option<Value> {
        let word = self.lexemes.get(index)?.word()?;
        if self.hour_of_day(index).is_some() {
            return None;
        }
        if let Some((rank, next)) = self.rank(index) {
            return Some(Value { amount: rank, last_digit: 1.0, next, scaled: None, ordinal: true });
        }
        let plain = |amount, next| Value { amount, last_digit: 1.0, next, scaled: None, ordinal: false };
        if let Some(times) = words::times(word) {
            // "Twice as many" compares.
            let compares = self.lexemes.get(index + 1).and_then(Lexeme::word) == Some("as");
            return (!compares).then(|| plain(times, index + 1));
        }
        // "Более тысячи двухсот" is not a thousand.
        let goes_on = self
            .lexemes
            .get(index + 1)
            .is_some_and(|next| next.is_number() || next.word().is_some_and(|next| words::cardinal(next).is_some()));
        let told = !goes_on && comparators::before(&self.lexemes, index).is_some();
        if let Some(scale) = words::lone_scale(word).filter(|_| told) {
            return Some(Value {
                amount: scale,
                last_digit: scale,
                next: index + 1,
                scaled: Some(scale),
                ordinal: false,
            });
        }
        if words::cardinal(word).is_none() && !matches!(word, "a" | "an" | "half" | "пів" | "пол") {
            return None;
        }
        // "twenty-five" is two words and a hyphen.
        let mut run: Vec<&str> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        for (offset, lexeme) in self.lexemes.get(index..)?.iter().enumerate().take(16) {
            match &lexeme.kind {
                Kind::Word(word) => {
                    run.push(word);
                    places.push(index + offset);
                }
                Kind::Sign('-' | '‑') => {}
                _ => break,
            }
        }
        let Some(spelled) = words::spelled(&run) else {
            return self.is_one_of_a_unit(index).then(|| plain(1.0, index + 1));
        };
        let next = places.get(spelled.taken.checked_sub(1)?)? + 1;
        Some(Value { amount: spelled.value, last_digit: spelled.last_digit, next, scaled: None, ordinal: false })
    }

    /// "third", "двадцатое", "twenty-first", "сімдесят п'ятому": the rank and the index after it.
    fn rank(&self, index: usize) -> Option<(f64, usize)> {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        let first = word(index)?;
        if let Some(rank) = words::ordinal(first) {
            return Some((rank, index + 1));
        }
        let tens = words::cardinal(first).filter(|tens| (20.0..100.0).contains(tens) && tens % 10.0 == 0.0)?;
        let next = index + 1 + usize::from(self.lexemes.get(index + 1).is_some_and(|lexeme| lexeme.is_sign('-')));
        let rank = word(next).and_then(words::ordinal).filter(|rank| *rank < 10.0)?;
        Some((tens + rank, next + 1))
    }

    /// "one hour", "один километр": one of something that is measured. On its own "one" is a pronoun.
    fn is_one_of_a_unit(&self, index: usize) -> bool {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        let is_one = word(index).and_then(words::cardinal).is_some_and(|value| (value - 1.0).abs() < f64::EPSILON);
        let is_span =
            word(index + 1) != Some("day") || word(index + 2).is_some_and(|next| AFTER_ONE_DAY.contains(&next));
        is_one && is_span && units::unit(self.lexemes.get(index + 1..).unwrap_or_default(), false).is_some()
    }

    /// "двухдневный", "чотирирічна": a span inside an adjective.
    pub(super) fn spanning(&self, index: usize) -> Option<Quantity> {
        let word = self.lexemes.get(index)?.word()?;
        if let Some((span, base)) = words::half_spans(word) {
            let comparator = comparators::before(&self.lexemes, index).unwrap_or(Comparator::Exact);
            return Some(self.finish(index, index + 1, (span, span), Unit::Measure(base), comparator, span));
        }
        let (value, base, factor) = words::spanning(word)?;
        let span = value * factor;
        Some(self.finish(index, index + 1, (span, span), Unit::Measure(base), Comparator::Exact, factor))
    }

    /// "с половиной", "and a half" behind a number: the index after it.
    pub(super) fn and_a_half(&self, next: usize) -> Option<usize> {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        match (word(next)?, word(next + 1)?) {
            ("с" | "з" | "із", "половиной" | "половиною") => Some(next + 2),
            ("and", "a") if word(next + 2) == Some("half") => Some(next + 3),
            _ => None,
        }
    }

    /// ".5": the decimals of a number that is written without its whole part.
    pub(super) fn without_a_whole(&self, index: usize) -> Option<&str> {
        let point = self.lexemes.get(index).filter(|lexeme| lexeme.is_sign('.'))?;
        let free =
            index.checked_sub(1).and_then(|at| self.lexemes.get(at)).is_none_or(|before| before.end < point.start);
        let decimals = self.lexemes.get(index + 1).filter(|lexeme| lexeme.is_number() && lexeme.start == point.end)?;
        (free && decimals.text.bytes().all(|byte| byte.is_ascii_digit())).then_some(decimals.text)
    }
}

//! Reads durations in several units: "two years and eight months", "2h 11m 48s".

use super::{Quantity, Reader, Stated, Unit, units};
use crate::function_words::{AND_OR_Y, BETWEEN};
use crate::lexer::Lexeme;
use crate::lexicon::Words;

/// Abbreviations whose dot ends no sentence.
static SHORT_SPANS: Words = Words::of("numbers.joined.short_span");

/// Words after a comma they separate: "three years, six months of which were suspended".
static TOLD_APART: Words = Words::of("numbers.joined.told_apart");

/// "respectively" means two durations.
static IN_TURN: Words = Words::of("numbers.joined.in_turn");
/// Lexemes searched after and before.
const IN_TURN_BEHIND: usize = 10;
const IN_TURN_BEFORE: usize = 3;

impl Reader<'_> {
    /// Reads one duration, largest unit first.
    pub(super) fn joined_span(&self, index: usize, first: Stated) -> Option<(Vec<Quantity>, usize)> {
        let mut last = first.unit.filter(|found| matches!(found.unit, Unit::Measure("month" | "s")))?;
        // "between 2 hours and 30 minutes"
        if BETWEEN.has_this(self.word_at(index.checked_sub(1))) || self.is_in_turn(index, first.end) {
            return None;
        }
        let (mut span, mut end) = (first.value.amount * last.factor, first.end);
        while let Some((amount, unit, next)) = self.smaller_part(end, last) {
            span = amount.mul_add(unit.factor, span);
            (last, end) = (unit, next);
        }
        let comparator = self.comparator(index, first);
        (end > first.end)
            .then(|| (vec![self.finish(index, end, (span, span), last.unit, comparator, last.factor)], end))
    }

    /// Reads a smaller unit (less than one larger) or a half: figure, unit, index after it.
    fn smaller_part(&self, end: usize, larger: units::Found) -> Option<(f64, units::Found, usize)> {
        // "a century and a half", "год с половиной"
        if let Some(next) = self.and_a_half(end) {
            return Some((0.5, larger, next));
        }
        let sign = |at: usize, sign: char| self.lexemes.get(at).is_some_and(|lexeme| lexeme.is_sign(sign));
        let short = SHORT_SPANS.has_this(self.word_at(end.checked_sub(1)));
        let stop = end + usize::from(short && sign(end, '.'));
        let comma = stop + usize::from(sign(stop, ','));
        let and = AND_OR_Y.has_this(self.word_at(Some(comma)));
        let at = comma + usize::from(and);
        let value = self.value(at).filter(|value| !value.ordinal && value.scaled.is_none() && value.next > at)?;
        let (unit, next) = if let Some(unit) = self.letter_of_a_clock(end, value.next) {
            (unit, value.next + 1)
        } else {
            let (unit, next) = self.unit_after(value);
            (unit?, next)
        };
        // Two: "two-year and six-month sentences".
        let apart = and && sign(value.next, '-');
        let smaller = unit.unit == larger.unit && value.amount * unit.factor < larger.factor - 1e-9;
        let bare = comma > stop && !and;
        let apart = apart || (bare && self.word_at(Some(next)).is_some_and(|word| TOLD_APART.has(word)));
        (smaller && unit.factor < larger.factor && !apart).then_some((value.amount, unit, next))
    }

    /// Whether there are two: "Four years and six months respectively".
    fn is_in_turn(&self, index: usize, end: usize) -> bool {
        let in_turn = |lexeme: &Lexeme<'_>| lexeme.word().is_some_and(|word| IN_TURN.has(word));
        let before = self.lexemes.get(index.saturating_sub(IN_TURN_BEFORE)..index).unwrap_or_default();
        let mut behind = self
            .lexemes
            .iter()
            .skip(end)
            .take(IN_TURN_BEHIND)
            .take_while(|sign| !(sign.is_sign('.') || sign.is_sign(';')));
        before.iter().any(in_turn) || behind.any(in_turn)
    }

    /// Reads "m" and "s" in "2h 11m 48s"; elsewhere metres and nothing.
    fn letter_of_a_clock(&self, end: usize, next: usize) -> Option<units::Found> {
        let factor = match (self.word_at(end.checked_sub(1))?, self.word_at(Some(next))?) {
            ("h" | "ч", "m" | "м") if self.glued(next.checked_sub(1)?, next) => 60.0,
            ("m" | "min" | "м" | "мин" | "хв", "s" | "с") => 1.0,
            _ => return None,
        };
        Some(units::Found { unit: Unit::Measure("s"), factor, offset: 0.0, taken: 1 })
    }
}

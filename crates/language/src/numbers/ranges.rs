//! Reads pairs of numbers: ranges, changes, dimensions, results, durations in two units.
//!
//! Words: `numbers.ranges.*` in the lexicon.

use super::units::ParsedUnit;
use super::values::Value;
use super::{Comparator, NumberWithUnit, Quantity, Reader, Unit, comparators};
use crate::has_cyrillic;
use crate::lexer::{Kind, Lexeme};
use crate::lexicon::{AND_OR_Y, Words};

/// Joining words after a hyphen: "5- to 10-year-olds".
static JOINING_WORDS: Words = Words::of("numbers.ranges.joining");

/// "And" and "or", which list two figures.
static LISTING_WORDS: Words = Words::of("numbers.ranges.listing");

/// "from 5 to 10" as one range.
static RANGE_WORDS: Words = Words::of("numbers.ranges.ranging");

/// Names of results; two figures before them are no range.
static RESULTS: Words = Words::of("numbers.ranges.results");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// One range: "5–10", "between 5 and 10".
    Range,
    /// Two quantities: "from 5 to 10 hours", "30 x 28 cm".
    Two,
}

impl Reader<'_> {
    fn joint(&self, index: usize, end: usize) -> Option<Joint> {
        let connector = self.lexemes.get(end)?;
        if matches!(connector.kind, Kind::Sign('-' | '–' | '—' | '−' | '‑')) {
            return Some(Joint::Range);
        }
        if connector.is_sign('×') || matches!(connector.word(), Some("x" | "х")) {
            return Some(Joint::Two);
        }
        // A minus sign may be between the words.
        let signed = usize::from(self.is_negative(index) && self.word_at(index.checked_sub(1)).is_none());
        let before = self.word_at(index.checked_sub(1 + signed));
        let ranging = self.word_at(index.checked_sub(2 + signed));
        match (connector.word()?, before) {
            // "between the ages of 35 and 54"
            ("and", Some("of")) if ranging == Some("ages") => Some(Joint::Range),
            ("to", Some("from")) if ranging.is_some_and(|word| RANGE_WORDS.has(word)) => Some(Joint::Range),
            ("to", Some("from")) | ("до", Some("с" | "со" | "з" | "із" | "зі")) => Some(Joint::Two),
            ("to", _) | ("and" | "и" | "і" | "та", Some("between" | "между" | "між")) | ("до", Some("от" | "від")) => {
                Some(Joint::Range)
            }
            ("or" | "или" | "або" | "чи", _) if self.is_one_more(index, end) => Some(Joint::Range),
            ("and" | "or" | "и" | "или" | "і" | "та" | "або", _) => Some(Joint::Two),
            _ => None,
        }
    }

    /// Whether both are one approximate count: "three or four days".
    fn is_one_more(&self, index: usize, end: usize) -> bool {
        let (first, second) = (self.value(index), self.value(end + 1));
        first.zip(second).is_some_and(|(first, second)| {
            // "two or three million": without their scales.
            let count = |value: Value| value.amount / value.scale.unwrap_or(1.0);
            !first.is_ordinal && !second.is_ordinal && (count(second) - count(first) - 1.0).abs() < 1e-9
        })
    }

    /// Reads the two figures of a result, "3:1". Minutes of a time have two digits.
    pub(super) fn result(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let points = |at: usize| self.lexemes.get(at).and_then(Lexeme::integer);
        let is_colon = |at: usize| self.lexemes.get(at).is_some_and(|sign| sign.is_sign(':'));
        let is_short = self.lexemes.get(index + 2).is_some_and(|theirs| theirs.text.len() == 1);
        let (ours, theirs) = (points(index)?, points(index + 2)?);
        let is_result = is_short
            && is_colon(index + 1)
            && !is_colon(index + 3)
            && self.glued(index, index + 1)
            && self.glued(index + 1, index + 2);
        let one = |at: usize, points: u32| {
            let points = f64::from(points);
            // A result counts nothing, because its order may be reversed elsewhere.
            let figure = self.finish(at, at + 1, (points, points), Unit::None, Comparator::Exact, 1.0);
            Quantity { counted: Vec::new(), ..figure }
        };
        is_result.then(|| (vec![one(index, ours), one(index + 2, theirs)], index + 3))
    }

    /// Reads one quantity ("5–10", "between 5 and 10", "от 5 до 10") or two ("from 5 to 10 million", "30 × 28 cm"). The
    /// first takes scale and unit of the second.
    pub(super) fn range(
        &self,
        index: usize,
        first: NumberWithUnit,
        sign_unit: Option<ParsedUnit>,
    ) -> Option<(Vec<Quantity>, usize)> {
        let hyphen = self.lexemes.get(first.end).is_some_and(|sign| sign.is_sign('-'));
        let connector = first.end + usize::from(hyphen && JOINING_WORDS.has_this(self.word_at(Some(first.end + 1))));
        let joint = self.joint(index, connector)?;
        let (second_sign, start) = self.currency_before(connector + 1);
        let value = self.value(start).filter(|value| !value.is_ordinal)?;
        let (unit, end) = self.unit_after(value);
        // Two units: "Rose 3.5 per cent to £2.3bn".
        let theirs = second_sign.or(unit);
        if first.unit.zip(theirs).is_some_and(|(first, second)| first.unit != second.unit) {
            return None;
        }
        let second = NumberWithUnit { value, unit: theirs.or(sign_unit).or(first.unit), end, bare: false };
        let mut low = first;
        if first.bare || (first.value.scale.is_none() && sign_unit.is_some()) {
            let factor = value.scale.unwrap_or(1.0);
            low.value.amount *= factor;
            low.value.last_digit *= factor;
            low.unit = second.unit;
        }
        // "From 114 billion to 81.5 billion dollars" has one unit, "3 million and $2 billion" two.
        if first.unit.is_none() && first.value.scale.is_some() && value.scale.is_some() && second_sign.is_none() {
            low.unit = second.unit;
        }
        let (a, digit, own) = low.in_base(low.value.amount);
        let (b, last_digit, unit) = second.in_base(value.amount);
        let comparator = comparators::before(&self.lexemes, index);
        if joint == Joint::Two {
            // "from 10 to 12" may be times, so numbers that share nothing are read alone.
            let joining = self.word_at(Some(connector));
            let is_list = matches!(joining, Some("to" | "до")) || LISTING_WORDS.has_this(joining);
            let is_scaled = first.value.scale.is_some() && low.unit.is_some() && first.unit.is_none();
            let shares = is_scaled || first.bare && (second.unit.is_some() || value.scale.is_some() || !is_list);
            return shares.then(|| {
                // "About 50 and 30 metres": both are approximate.
                let comparator = comparator.unwrap_or(Comparator::Exact);
                let one = self.finish(index, first.end, (a, a), own, comparator, digit);
                let other = self.finish(start, end, (b, b), unit, comparator, last_digit);
                (vec![one, other], end)
            });
        }
        // "A 72–90 record": wins and defeats.
        let is_result = self.word_at(Some(end)).is_some_and(|word| RESULTS.has(word))
            || matches!(self.word_at(index.checked_sub(1)), Some("went" | "finished"));
        if is_result && first.bare && unit == Unit::None {
            let one = self.finish(index, first.end, (a, a), own, Comparator::Exact, digit);
            let other = self.finish(start, end, (b, b), unit, Comparator::Exact, last_digit);
            return Some((vec![one, other], end));
        }
        // "won 3–1": a range never decreases. Only "about" applies to ranges.
        let comparator = comparator.filter(|found| *found == Comparator::About).unwrap_or(Comparator::Exact);
        (a < b).then(|| (vec![self.finish(index, end, (a, b), unit, comparator, digit.min(last_digit))], end))
    }

    /// Reads a duration in several units as one: "two years and eight months".
    pub(super) fn duration(&self, index: usize, first: NumberWithUnit) -> Option<(Vec<Quantity>, usize)> {
        let mut last = first.unit.filter(|found| matches!(found.unit, Unit::Measure("month" | "s")))?;
        let (mut span, mut end) = (first.value.amount * last.factor, first.end);
        while let Some((amount, unit, next)) = self.smaller_part(end, last) {
            span = amount.mul_add(unit.factor, span);
            (last, end) = (unit, next);
        }
        let comparator = || comparators::before(&self.lexemes, index).unwrap_or(Comparator::Exact);
        (end > first.end)
            .then(|| (vec![self.finish(index, end, (span, span), last.unit, comparator(), last.factor)], end))
    }

    /// Reads a half, or an amount of a smaller unit that is less than one larger unit.
    fn smaller_part(&self, end: usize, larger: ParsedUnit) -> Option<(f64, ParsedUnit, usize)> {
        if let Some(next) = self.and_a_half(end) {
            return Some((0.5, larger, next));
        }
        // "10 ч. 30 мин."
        let unit_word = self.word_at(end.checked_sub(1)).filter(|word| has_cyrillic(word) && word.chars().count() <= 4);
        let dot = self.lexemes.get(end).is_some_and(|sign| sign.is_sign('.')) && unit_word.is_some();
        let end = end + usize::from(dot);
        let joining = usize::from(AND_OR_Y.has_this(self.word_at(Some(end))));
        let value = self.value(end + joining).filter(|value| !value.is_ordinal && value.scale.is_none())?;
        let (unit, next) = self.unit_after(value);
        // Two: "two-year and six-month sentences".
        let is_apart = self.lexemes.get(value.next).is_some_and(|sign| sign.is_sign('-'));
        let unit = unit.filter(|unit| !is_apart && unit.unit == larger.unit && unit.factor < larger.factor)?;
        (value.amount * unit.factor < larger.factor - 1e-9).then_some((value.amount, unit, next))
    }
}

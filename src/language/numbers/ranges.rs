//! Two numbers that belong together: ranges, changes from one to another, sides of a thing, feet with inches.

use super::{Comparator, Quantity, Reader, Stated, Unit, comparators, units};
use crate::language::lexer::{Kind, Lexeme};

/// How two numbers are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// From one to the other, as one statement: "5–10", "between 5 and 10".
    Range,
    /// Two statements that share a unit: "from 5 to 10 hours", "30 x 28 cm".
    Two,
}

/// One inch, metres.
const INCH: f64 = 0.0254;

impl Reader<'_> {
    fn word_at(&self, at: Option<usize>) -> Option<&str> {
        at.and_then(|at| self.lexemes.get(at)).and_then(Lexeme::word)
    }

    fn joint(&self, index: usize, end: usize) -> Option<Joint> {
        let connector = self.lexemes.get(end)?;
        if matches!(connector.kind, Kind::Sign('-' | '–' | '—' | '−' | '‑')) {
            return Some(Joint::Range);
        }
        if connector.is_sign('×') || matches!(connector.word(), Some("x" | "х")) {
            return Some(Joint::Two);
        }
        // The sign of a negative number stands between.
        let signed = usize::from(self.is_negative(index) && self.word_at(index.checked_sub(1)).is_none());
        let before = self.word_at(index.checked_sub(1 + signed));
        match (connector.word()?, before) {
            ("to", Some("from")) | ("до", Some("с" | "со" | "з" | "із" | "зі")) => Some(Joint::Two),
            ("to", _) | ("and" | "и" | "і" | "та", Some("between" | "между" | "між")) | ("до", Some("от" | "від")) => {
                Some(Joint::Range)
            }
            ("and" | "or" | "и" | "или" | "і" | "та" | "або", _) => Some(Joint::Two),
            _ => None,
        }
    }

    /// "5–10", "5 to 10 %", "between 5 and 10", "от 5 до 10": one quantity; "from 5 to 10 million", "30 × 28 cm": two. The
    /// scale and the unit of the second are meant for both where the first has none.
    pub(super) fn range(
        &self,
        index: usize,
        first: Stated,
        sign_unit: Option<units::Found>,
    ) -> Option<(Vec<Quantity>, usize)> {
        let joint = self.joint(index, first.end)?;
        let (second_sign, start) = self.currency_before(first.end + 1);
        let value = self.value(start).filter(|value| !value.ordinal)?;
        let (unit, end) = self.unit_after(value.next);
        let (unit, end) =
            if joint == Joint::Two && unit.is_none() && !self.is_a_change(first.end) && !self.is_listed(first.end) {
                self.inches(value.next).map_or((unit, end), |(unit, end)| (Some(unit), end))
            } else {
                (unit, end)
            };
        let second = Stated { value, unit: second_sign.or(unit).or(sign_unit).or(first.unit), end, bare: false };
        let mut low = first;
        if first.bare || (first.value.scaled.is_none() && sign_unit.is_some()) {
            let factor = value.scaled.unwrap_or(1.0);
            low.value.amount *= factor;
            low.value.last_digit *= factor;
            low.unit = second.unit;
        }
        let (a, digit, own) = low.in_base(low.value.amount);
        let (b, last_digit, unit) = second.in_base(value.amount);
        if joint == Joint::Two {
            // A time of day is told alike ("from 10 to 12"), and two that share nothing are read one by one.
            let sides = !self.is_a_change(first.end) && !self.is_listed(first.end);
            let shares = first.bare && (second.unit.is_some() || value.scaled.is_some() || sides);
            return shares.then(|| {
                // "About 50 and 30 metres": both are meant so.
                let comparator = comparators::before(&self.lexemes, index).unwrap_or(Comparator::Exact);
                let one = self.finish(index, first.end, (a, a), own, comparator, digit);
                let other = self.finish(start, end, (b, b), unit, comparator, last_digit);
                (vec![one, other], end)
            });
        }
        // "2:1 — 1", "won 3–1": no range runs downwards.
        (a < b).then(|| (vec![self.finish(index, end, (a, b), unit, Comparator::Exact, digit.min(last_digit))], end))
    }

    fn is_a_change(&self, connector: usize) -> bool {
        matches!(self.word_at(Some(connector)), Some("to" | "до"))
    }

    fn is_listed(&self, connector: usize) -> bool {
        matches!(self.word_at(Some(connector)), Some("and" | "or" | "и" | "или" | "і" | "та" | "або"))
    }

    /// "in." behind the sides of a thing is inches; anywhere else "in" is a preposition.
    fn inches(&self, next: usize) -> Option<(units::Found, usize)> {
        let dot = self.lexemes.get(next + 1).is_some_and(|sign| sign.is_sign('.'));
        let found = units::Found { unit: Unit::Measure("m"), factor: INCH, offset: 0.0, taken: 1 };
        (self.word_at(Some(next)) == Some("in") && dot).then_some((found, next + 1))
    }

    /// "6-foot-4", "5 ft 11 in": one height.
    pub(super) fn feet_and_inches(&self, index: usize, feet: Stated) -> Option<(Vec<Quantity>, usize)> {
        let unit = feet.end.checked_sub(1).and_then(|at| self.word_at(Some(at)))?;
        matches!(unit, "foot" | "feet" | "ft").then_some(())?;
        let hyphen = self.lexemes.get(feet.end).is_some_and(|sign| sign.is_sign('-'));
        let at = feet.end + usize::from(hyphen);
        let inches = self.lexemes.get(at)?.integer().filter(|inches| *inches < 12)?;
        let named = matches!(self.word_at(Some(at + 1)), Some("in" | "inch" | "inches"));
        if !(hyphen || named) {
            return None;
        }
        let end = at + 1 + usize::from(named);
        let height = feet.in_base(feet.value.amount).0 + f64::from(inches) * INCH;
        let bounds = (height, height);
        let comparator = comparators::before(&self.lexemes, index).unwrap_or(Comparator::Exact);
        Some((vec![self.finish(index, end, bounds, Unit::Measure("m"), comparator, INCH)], end))
    }
}

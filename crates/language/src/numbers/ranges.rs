//! Reads pairs of numbers: ranges, changes, dimensions, results, feet with inches.
//!
//! Words: `numbers.ranges.*` in the lexicon.

use super::{Comparator, Quantity, Reader, Stated, Unit, comparators, units};
use crate::lexer::{Kind, Lexeme};
use crate::lexicon::Words;

static JOINING: Words = Words::of("numbers.ranges.joining");

static LISTING: Words = Words::of("numbers.ranges.listing");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// One range: "5–10", "between 5 and 10".
    Range,
    /// Two quantities: "from 5 to 10 hours", "30 x 28 cm".
    Two,
}

/// "from 5 to 10" as one range.
static RANGING: Words = Words::of("numbers.ranges.ranging");

static SPREAD: Words = Words::of("numbers.ranges.spread");
static PARTS: Words = Words::of("numbers.ranges.parts");

/// Names of results; two figures before them are no range.
static RESULTS: Words = Words::of("numbers.ranges.results");

static SCORED: Words = Words::of("numbers.ranges.scored");

/// Ratios: "масштаб — 1:5".
static SCALES: Words = Words::of("numbers.ranges.scales");

/// Metres.
const INCH: f64 = 0.0254;

impl Reader<'_> {
    pub(super) fn word_at(&self, at: Option<usize>) -> Option<&str> {
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
        // A minus sign may be between the words.
        let signed = usize::from(self.is_negative(index) && self.word_at(index.checked_sub(1)).is_none());
        let before = self.word_at(index.checked_sub(1 + signed));
        let ranging = index.checked_sub(2 + signed).and_then(|at| self.word_at(Some(at)));
        match (connector.word()?, before) {
            // "between the ages of 35 and 54"
            ("and", Some("of")) if ranging == Some("ages") => Some(Joint::Range),
            ("to", Some("from")) if ranging.is_some_and(|word| RANGING.has(word)) => Some(Joint::Range),
            ("to", Some("from")) | ("до", Some("с" | "со" | "з" | "із" | "зі")) => Some(Joint::Two),
            ("to", _) | ("and" | "и" | "і" | "та", Some("between" | "между" | "між")) | ("до", Some("от" | "від")) => {
                Some(Joint::Range)
            }
            ("or" | "или" | "або" | "чи", _) if self.is_one_more(index, end) => Some(Joint::Range),
            ("and" | "or" | "и" | "или" | "і" | "та" | "або", _) => Some(Joint::Two),
            _ => None,
        }
    }

    /// Reads a result ("a score of 3:1") before it is taken for a time. It counts nothing: the order may be reversed
    /// elsewhere.
    pub(super) fn score(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let back = |steps: usize| index.checked_sub(steps).and_then(|at| self.word_at(Some(at)));
        let scored = |word: &str| word.starts_with("рахун") || SCORED.has(word);
        let joined = matches!(back(1), Some("of" | "by" | "with"));
        let told =
            back(1).is_some_and(scored) || (joined && back(2).is_some_and(scored)) || self.is_a_closing_score(index);
        let glued = |at: usize| {
            self.lexemes.get(at).is_some_and(|sign| sign.is_sign(':'))
                && self.glued(at - 1, at)
                && self.glued(at, at + 1)
        };
        // "2:01:09" is a time.
        let seconds = glued(index + 3) && self.lexemes.get(index + 4).is_some_and(Lexeme::is_number);
        let colon = glued(index + 1) && !seconds;
        let padded = |lexeme: &&Lexeme<'_>| lexeme.text.len() > 1 && lexeme.text.starts_with('0');
        let figure = |at: usize| self.lexemes.get(at).filter(|lexeme| !padded(lexeme));
        let number = |at: usize| figure(at).and_then(Lexeme::integer).filter(|points| *points < 1000);
        let (ours, theirs) = (number(index)?, number(index + 2)?);
        let one = |at: usize, points: u32| {
            let points = f64::from(points);
            let figure = self.finish(at, at + 1, (points, points), Unit::None, Comparator::Exact, 1.0);
            Quantity { counted: Vec::new(), ..figure }
        };
        (told && colon).then(|| (vec![one(index, ours), one(index + 2, theirs)], index + 3))
    }

    /// Whether a result ends the sentence: "Закончил начатое - 1:0." Minutes have two digits.
    fn is_a_closing_score(&self, index: usize) -> bool {
        let dash = index.checked_sub(1).filter(|at| {
            self.lexemes.get(*at).is_some_and(|dash| matches!(dash.kind, Kind::Sign('-' | '–' | '—')))
                && !self.glued(*at, index)
        });
        let scales = |at: usize| self.word_at(at.checked_sub(1)).is_some_and(|word| SCALES.has(word));
        let short = self.lexemes.get(index + 2).is_some_and(|theirs| theirs.text.len() == 1);
        let ends = self.lexemes.get(index + 3).is_none_or(|end| {
            matches!(end.kind, Kind::Sign('.' | '!' | '?' | '…' | ';')) && !self.glued(index + 3, index + 4)
        });
        dash.is_some_and(|at| !scales(at)) && short && ends
    }

    /// Whether "over" means "throughout": "Written over sixty years".
    pub(super) fn is_spread_over(&self, index: usize, stated: Stated) -> bool {
        let back = |steps: usize| index.checked_sub(steps).and_then(|at| self.word_at(Some(at)));
        let behind = self.word_at(Some(stated.end));
        // A count: "Has recorded over 40 hours".
        if back(1) != Some("over") || matches!(back(3), Some("has" | "have" | "had")) {
            return false;
        }
        let time = stated.unit.filter(|found| matches!(found.unit, Unit::Measure("month" | "s")));
        if let Some(time) = time.filter(|_| back(2).is_some_and(|word| SPREAD.has(word))) {
            // An amount: "Filmed over 20 hours of tape".
            let hours_of = behind == Some("of") && time.unit == Unit::Measure("s") && time.factor <= 3600.0;
            return !(hours_of || matches!(behind, Some("ago" | "earlier" | "before")));
        }
        // "five, five-minute rounds"
        let described = self.lexemes.get(stated.end).is_some_and(|sign| sign.is_sign(','))
            && self.lexemes.get(stated.end + 2).is_some_and(|sign| sign.is_sign('-'));
        let farther = self.word_at(Some(stated.end + 4)).filter(|_| described);
        let parts = behind.or(farther).is_some_and(|word| PARTS.has(word));
        let joined = matches!(back(2), Some("in" | "for" | "of" | "than"));
        parts && !joined && (2..=6).any(|steps| back(steps).is_some_and(|word| SPREAD.has(word)))
    }

    /// Whether both are one approximate count: "three or four days".
    fn is_one_more(&self, index: usize, end: usize) -> bool {
        let (first, second) = (self.value(index), self.value(end + 1));
        first.zip(second).is_some_and(|(first, second)| {
            !first.ordinal
                && !second.ordinal
                && first.scaled.is_none()
                && (second.amount - first.amount - 1.0).abs() < 1e-9
        })
    }

    /// Returns the index of the joining word, also after a hyphen: "5- to 10-year-olds".
    fn connector(&self, end: usize) -> usize {
        let hyphen = self.lexemes.get(end).is_some_and(|sign| sign.is_sign('-'));
        let joins = JOINING.has_this(self.word_at(Some(end + 1)));
        end + usize::from(hyphen && joins)
    }

    /// Reads one quantity ("5–10", "between 5 and 10", "от 5 до 10") or two ("from 5 to 10 million", "30 × 28 cm"). The
    /// first takes scale and unit of the second.
    pub(super) fn range(
        &self,
        index: usize,
        first: Stated,
        sign_unit: Option<units::Found>,
    ) -> Option<(Vec<Quantity>, usize)> {
        let connector = self.connector(first.end);
        let joint = self.joint(index, connector)?;
        // Days: "Три дня — 18, 23 и 26 января".
        if self.is_a_day_of_a_list(connector + 1) {
            return None;
        }
        let (second_sign, start) = self.currency_before(connector + 1);
        let value = self.value(start).filter(|value| !value.ordinal)?;
        let (unit, end) = self.unit_after(value);
        let (unit, end) =
            if joint == Joint::Two && unit.is_none() && !self.is_a_change(connector) && !self.is_listed(connector) {
                self.inches(value.next).map_or((unit, end), |(unit, end)| (Some(unit), end))
            } else {
                (unit, end)
            };
        // Two units: "Rose 3.5 per cent to £2.3bn".
        let theirs = second_sign.or(unit);
        if first.unit.zip(theirs).is_some_and(|(first, second)| first.unit != second.unit) {
            return None;
        }
        let second = Stated { value, unit: second_sign.or(unit).or(sign_unit).or(first.unit), end, bare: false };
        let mut low = first;
        if first.bare || (first.value.scaled.is_none() && sign_unit.is_some()) {
            let factor = value.scaled.unwrap_or(1.0);
            low.value.amount *= factor;
            low.value.last_digit *= factor;
            low.unit = second.unit;
        }
        // "From 114 billion to 81.5 billion dollars" has one unit, "3 million and $2 billion" two.
        let both_scaled = first.value.scaled.is_some() && value.scaled.is_some();
        if first.unit.is_none() && both_scaled && second_sign.is_none() {
            low.unit = second.unit;
        }
        let (a, digit, own) = low.in_base(low.value.amount);
        let (b, last_digit, unit) = second.in_base(value.amount);
        if joint == Joint::Two {
            // "from 10 to 12" may be times, so numbers that share nothing are read alone.
            let sides = !self.is_a_change(connector) && !self.is_listed(connector);
            let scaled = first.value.scaled.is_some() && low.unit.is_some() && first.unit.is_none();
            let shares = scaled || first.bare && (second.unit.is_some() || value.scaled.is_some() || sides);
            return shares.then(|| {
                // "About 50 and 30 metres": both are approximate.
                let comparator = comparators::before(&self.lexemes, index).unwrap_or(Comparator::Exact);
                let one = self.finish(index, first.end, (a, a), own, comparator, digit);
                let other = self.finish(start, end, (b, b), unit, comparator, last_digit);
                (vec![one, other], end)
            });
        }
        // "A 72–90 record": wins and defeats.
        let result = self.word_at(Some(end)).is_some_and(|word| RESULTS.has(word))
            || self.word_at(index.checked_sub(1)).is_some_and(|word| matches!(word, "went" | "finished"));
        if result && first.bare && unit == Unit::None {
            let one = self.finish(index, first.end, (a, a), own, Comparator::Exact, digit);
            let other = self.finish(start, end, (b, b), unit, Comparator::Exact, last_digit);
            return Some((vec![one, other], end));
        }
        // "won 3–1": a range never decreases. Only "about" applies to ranges.
        let comparator = comparators::before(&self.lexemes, index).filter(|told| *told == Comparator::About);
        let comparator = comparator.unwrap_or(Comparator::Exact);
        (a < b).then(|| (vec![self.finish(index, end, (a, b), unit, comparator, digit.min(last_digit))], end))
    }

    /// Whether the cross joins dimensions: "1920x1080".
    pub(super) fn is_a_side(&self, cross: usize) -> bool {
        matches!(self.word_at(Some(cross)), Some("x" | "х"))
            && self.glued(cross, cross + 1)
            && self.lexemes.get(cross + 1).is_some_and(Lexeme::is_number)
    }

    fn is_a_change(&self, connector: usize) -> bool {
        matches!(self.word_at(Some(connector)), Some("to" | "до"))
    }

    fn is_listed(&self, connector: usize) -> bool {
        LISTING.has_this(self.word_at(Some(connector)))
    }

    /// Reads "in." after dimensions; otherwise "in" is a preposition.
    fn inches(&self, next: usize) -> Option<(units::Found, usize)> {
        let dot = self.lexemes.get(next + 1).is_some_and(|sign| sign.is_sign('.'));
        let found = units::Found { unit: Unit::Measure("m"), factor: INCH, offset: 0.0, taken: 1 };
        (self.word_at(Some(next)) == Some("in") && dot).then_some((found, next + 1))
    }

    /// Reads a height: "6-foot-4", "5 ft 11 in".
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

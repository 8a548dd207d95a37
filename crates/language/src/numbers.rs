//! Reads quantities: value, unit, counted noun and comparator.
//!
//! Digits in every grouping, number words, scales, currencies, measures, ranges. Numbers in dates are skipped; a year
//! alone is [`Unit::Year`]. To add a unit: `numbers/units.rs`; a number word: `numbers/words.rs`; a comparator:
//! `numbers/comparators.rs`.

mod comparators;
mod names;
mod ranges;
mod shares;
mod skipped;
mod units;
mod values;
mod words;

use std::ops::Range;

use super::lexer::{Kind, Lexeme, lex};
use super::{cut, dates, has_cyrillic, tokens};
use crate::lexicon::Words;
use units::ParsedUnit;
use values::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain count.
    None,
    Percent,
    /// ISO 4217 code.
    Currency(&'static str),
    /// Base unit: `m`, `kg`, `s`, `month`, `°C`, `°`, `m2`, `m3`, `l`, `bbl`, `W`, `Wh`, `Hz`, `m/s`, `B`, `pp`.
    Measure(&'static str),
    /// A rank: "3rd", "третий".
    Ordinal,
    Year,
    /// Part of a name: COVID-19, article 5.
    Identifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    Exact,
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
    About,
}

/// One quantity in base units.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The value, or the lower end of a range. "More than 5" has 5 in `low` and `high`.
    pub low: f64,
    pub high: f64,
    pub unit: Unit,
    pub comparator: Comparator,
    /// "Exactly" precedes it, so it may not be rounded.
    pub is_precise: bool,
    /// Stems of the counted noun, nearest first: up to two words after the number, then two before.
    pub counted: Vec<String>,
    /// One unit of the last digit: 100,000 for "3.5 million".
    pub last_digit: f64,
    /// As written, with the unit.
    pub text: String,
    /// Byte offset of `text`.
    pub start: usize,
}

impl Quantity {
    /// Whether it is a duration back from the day of the text ("40 years ago"), which differs between texts.
    pub fn counts_back(&self) -> bool {
        self.text.rsplit(' ').next().is_some_and(|last| is_back(&last.to_lowercase()))
    }
}

fn is_back(word: &str) -> bool {
    matches!(word, "ago" | "назад" | "тому")
}

/// Whether a word is like "km", "million" or "%".
pub(crate) fn is_unit_or_scale(word: &str) -> bool {
    units::is_unit(word) || words::scale(word).is_some()
}

pub(crate) use words::is_a_rough_scale;

/// Returns the quantities of a text in order.
pub fn quantities(text: &str, language: Option<&str>) -> Vec<Quantity> {
    let cyrillic = has_cyrillic(text);
    let comma_decimal = cyrillic || !matches!(language, None | Some("en" | "zh" | "ja" | "ko" | "he" | "hi" | "th"));
    let reader = Reader {
        lexemes: lex(text, comma_decimal),
        text,
        language,
        comma_decimal,
        ukrainian: language.map_or_else(|| text.contains(['і', 'ї', 'є', 'ґ']), |language| language == "uk"),
        dot_groups: matches!(language, Some("de" | "es" | "pt" | "it" | "nl" | "tr" | "id" | "da" | "el" | "ro")),
    };
    reader.read(&dates::ranges(text))
}

/// Words before a number that is not rounded.
static PRECISION_WORDS: Words = Words::of("numbers.precise");

struct Reader<'a> {
    lexemes: Vec<Lexeme<'a>>,
    text: &'a str,
    language: Option<&'a str>,
    comma_decimal: bool,
    dot_groups: bool,
    /// Whether shared words are read as Ukrainian.
    ukrainian: bool,
}

impl Reader<'_> {
    fn read(&self, date_ranges: &[(Range<usize>, bool)]) -> Vec<Quantity> {
        let mut found = Vec::new();
        let mut pending = date_ranges.iter().peekable();
        let mut index = 0;
        while let Some(lexeme) = self.lexemes.get(index) {
            while pending.next_if(|(range, _)| range.end <= lexeme.start).is_some() {}
            if let Some((range, lone_year)) = pending.peek().filter(|(range, _)| range.contains(&lexeme.start)) {
                let next = self.lexemes.iter().position(|later| later.start >= range.end).unwrap_or(self.lexemes.len());
                if *lone_year && let Some(year) = self.year(index, next) {
                    found.push(year);
                }
                index = next.max(index + 1);
                continue;
            }
            match self.quantity(index) {
                Some((quantities, next)) => {
                    found.extend(quantities);
                    index = next.max(index + 1);
                }
                None => index += 1,
            }
        }
        found
    }

    fn year(&self, from: usize, to: usize) -> Option<Quantity> {
        let year = self.lexemes.get(from..to)?.iter().find_map(Lexeme::integer)?;
        let year = f64::from(year);
        let about = comparators::before(&self.lexemes, from).filter(|found| *found == Comparator::About);
        Some(self.finish(from, to, (year, year), Unit::Year, about.unwrap_or(Comparator::Exact), 1.0))
    }

    /// Returns the quantity (two for "from 5 to 10") and the index after it.
    fn quantity(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        if let Some(found) = self.year_of_era(index).or_else(|| self.result(index)) {
            return Some(found);
        }
        if let Some(next) = self.skipped(index) {
            return Some((Vec::new(), next));
        }
        if let Some(span) = self.compound(index) {
            return Some((vec![span], index + 1));
        }
        if let Some(share) = self.share(index) {
            return Some(share);
        }
        let (sign_unit, start) = self.currency_before(index);
        let mut value = self.value(start)?;
        if let Some(next) = self.and_a_half(value.next).filter(|_| !value.is_ordinal) {
            // "3 million and a half", "3 and a half million"
            if let Some(scale) = value.scale {
                (value.amount, value.last_digit, value.next) = (value.amount + scale / 2.0, scale / 2.0, next);
            } else {
                let (factor, taken) = self.scale(start, next).unwrap_or((1.0, 0));
                let amount = (value.amount + 0.5) * factor;
                (value.amount, value.last_digit, value.next) = (amount, 0.5 * factor, next + taken);
            }
        }
        let one = |unit| {
            let bounds = (value.amount, value.amount);
            Some((vec![self.finish(start, value.next, bounds, unit, Comparator::Exact, 1.0)], value.next))
        };
        if sign_unit.is_none() && self.is_identifier(start, value) {
            return one(Unit::Identifier);
        }
        if value.is_ordinal {
            // "двадцать пятого мая" is a date.
            let next = self.word_at(Some(value.next));
            if next.is_some_and(|word| has_cyrillic(word) && dates::names::month(word).is_some()) {
                return Some((Vec::new(), value.next + 1));
            }
            return one(if self.is_year(value) { Unit::Year } else { Unit::Ordinal });
        }
        if self.is_negative(index) {
            value.amount = -value.amount;
        }
        let (unit, end) = self.unit_after(value);
        let first = NumberWithUnit {
            value,
            unit: sign_unit.or(unit),
            end,
            bare: sign_unit.is_none() && unit.is_none() && value.scale.is_none(),
        };
        if let Some(found) = self.duration(index, first).or_else(|| self.range(index, first, sign_unit)) {
            return Some(found);
        }
        let (low, last_digit, unit) = first.in_base(value.amount);
        Some((vec![self.finish(index, end, (low, low), unit, self.comparator(index, end), last_digit)], end))
    }

    fn is_precise(&self, index: usize) -> bool {
        PRECISION_WORDS.has_this(self.word_at(index.checked_sub(1)))
    }

    fn word_at(&self, at: Option<usize>) -> Option<&str> {
        at.and_then(|at| self.lexemes.get(at)).and_then(Lexeme::word)
    }

    fn glued(&self, index: usize, next: usize) -> bool {
        self.lexemes.get(index).zip(self.lexemes.get(next)).is_some_and(|(a, b)| a.end == b.start && next == index + 1)
    }

    /// Whether it has a minus ("−5", "минус 5"), not a dash or hyphen.
    fn is_negative(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1).and_then(|at| self.lexemes.get(at)) else { return false };
        if matches!(before.word(), Some("minus" | "минус" | "мінус")) {
            return true;
        }
        let starts = self.lexemes.get(index).map_or(0, |lexeme| lexeme.start);
        let dash = before.end == starts && (before.is_sign('-') || before.is_sign('−') || before.is_sign('–'));
        let free =
            index.checked_sub(2).and_then(|at| self.lexemes.get(at)).is_none_or(|earlier| earlier.end < before.start);
        dash && free
    }

    /// Whether "до" or "to" ends a change from "с", "from" or a verb of change.
    fn closes_a_change(&self, index: usize) -> bool {
        let from = index.saturating_sub(9);
        let is_sign =
            |at: usize| self.lexemes.get(at).is_some_and(|sign| matches!(sign.kind, Kind::Sign('.' | '!' | '?')));
        let has_capital =
            |at: usize| self.lexemes.get(at).is_some_and(|word| word.text.starts_with(char::is_uppercase));
        // The dot of "с 5 тыс. до 10 тыс." ends no sentence.
        let end = (from..index).rev().find(|at| is_sign(*at) && has_capital(at + 1));
        let clause = self.lexemes.get(end.unwrap_or(from)..index).unwrap_or_default();
        let mut words = clause.iter().filter_map(Lexeme::word);
        let began = words.clone().any(|word| matches!(word, "с" | "со" | "з" | "із" | "from"))
            && clause.iter().any(Lexeme::is_number);
        began || words.any(words::is_a_change)
    }

    fn finish(
        &self,
        from: usize,
        to: usize,
        bounds: (f64, f64),
        unit: Unit,
        comparator: Comparator,
        last_digit: f64,
    ) -> Quantity {
        let start = self.lexemes.get(from).map_or(0, |lexeme| lexeme.start);
        let back = matches!(unit, Unit::Measure("month" | "s")) && self.word_at(Some(to)).is_some_and(is_back);
        let last = if back { Some(to) } else { to.checked_sub(1) };
        let end = last.and_then(|last| self.lexemes.get(last)).map_or(start, |lexeme| lexeme.end);
        Quantity {
            low: bounds.0,
            high: bounds.1,
            unit,
            comparator,
            is_precise: self.is_precise(from),
            counted: self.counted(from, to),
            last_digit,
            text: cut(self.text, start, end).to_owned(),
            start,
        }
    }

    fn counted(&self, from: usize, to: usize) -> Vec<String> {
        let clause_ends = |lexeme: &Lexeme<'_>| {
            matches!(lexeme.kind, Kind::Sign(',' | '.' | ';' | ':' | '!' | '?' | '(' | ')' | '—' | '–'))
        };
        let content = |lexeme: &Lexeme<'_>| -> Option<String> {
            let word = lexeme.word()?;
            if is_unit_or_scale(word) || word.chars().count() < 2 {
                return None;
            }
            tokens::content_stems(lexeme.text, self.language).into_iter().next()
        };
        let after =
            self.lexemes.iter().skip(to).take(8).take_while(|lexeme| !clause_ends(lexeme) && !lexeme.is_number());
        let mut counted: Vec<String> = after.filter_map(content).take(2).collect();
        let before = self.lexemes.get(..from).unwrap_or_default().iter().rev().take(8);
        let before = before.take_while(|lexeme| !clause_ends(lexeme) && !lexeme.is_number());
        counted.extend(before.filter_map(content).take(2));
        counted
    }
}

/// A number with its unit.
#[derive(Debug, Clone, Copy)]
struct NumberWithUnit {
    value: Value,
    unit: Option<ParsedUnit>,
    end: usize,
    /// No unit, no scale.
    bare: bool,
}

impl NumberWithUnit {
    /// Returns value and last digit in base units, and the unit.
    fn in_base(&self, value: f64) -> (f64, f64, Unit) {
        match self.unit {
            Some(found) => (value * found.factor + found.offset, self.value.last_digit * found.factor, found.unit),
            None => (value, self.value.last_digit, Unit::None),
        }
    }
}

#[cfg(test)]
mod test_data;
#[cfg(test)]
#[path = "numbers/tests.rs"]
mod tests;

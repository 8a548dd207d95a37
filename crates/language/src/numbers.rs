//! Reads quantities: value, unit, counted noun and comparator.
//!
//! Digits in every grouping, number words, scales, currencies, measures, ranges. Numbers in dates are skipped; a year
//! alone is [`Unit::Year`]. To add a unit: `numbers/units.rs`; a number word: `numbers/words.rs`; a comparator:
//! `numbers/comparators.rs`.

mod ages;
mod attached;
mod comparators;
mod digits;
mod eras;
mod identifiers;
mod in_words;
mod joined;
mod money;
mod passed_over;
mod ranges;
mod ranks;
mod shared_nouns;
mod shares;
mod units;
mod words;

use std::ops::Range;

use super::lexer::{Kind, Lexeme, lex};
use super::{cut, dates, has_cyrillic, tokens};
use crate::lexicon::Words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain count.
    None,
    Percent,
    /// ISO 4217 code.
    Currency(&'static str),
    /// Base unit: `m`, `kg`, `s`, `month`, `°C`, `°`, `m2`, `m3`, `l`, `bbl`, `W`, `Wh`, `m/s`, `B`, `pp`.
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

pub use shared_nouns::PART_OF;
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
    let mut found = reader.read(&dates::ranges(text));
    shared_nouns::share(text, &mut found);
    found
}

struct Reader<'a> {
    lexemes: Vec<Lexeme<'a>>,
    text: &'a str,
    language: Option<&'a str>,
    comma_decimal: bool,
    dot_groups: bool,
    /// Whether shared words are read as Ukrainian.
    ukrainian: bool,
}

/// Value, unit of the last digit, index after it, scale, rank.
#[derive(Debug, Clone, Copy)]
struct Value {
    amount: f64,
    last_digit: f64,
    next: usize,
    scaled: Option<f64>,
    ordinal: bool,
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
        let told = comparators::before(&self.lexemes, from).filter(|told| *told == Comparator::About);
        Some(self.finish(from, to, (year, year), Unit::Year, told.unwrap_or(Comparator::Exact), 1.0))
    }

    /// Returns the quantity (two for "from 5 to 10") and the index after it.
    fn quantity(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        if let Some(value) = self.dotted(index) {
            let bounds = (value, value);
            let named = self.finish(index, index + 1, bounds, Unit::Identifier, Comparator::Exact, 1.0);
            return Some((vec![named], index + 1));
        }
        let years =
            || self.of_an_era(index).or_else(|| self.short_year(index)).or_else(|| self.years_in_brackets(index));
        if let Some(both) = self.score(index).or_else(years) {
            return Some(both);
        }
        if let Some(next) = self.passed_over(index) {
            return Some((Vec::new(), next));
        }
        if let Some(span) = self.spanning(index) {
            return Some((vec![span], index + 1));
        }
        if let Some(share) = self.share(index) {
            return Some(share);
        }
        let (sign_unit, start) = self.currency_before(index);
        let mut value = self.value(start)?;
        if let Some(next) = self.and_a_half(value.next).filter(|_| value.scaled.is_none() && !value.ordinal) {
            let (factor, taken) = self.scale(start, next).unwrap_or((1.0, 0));
            (value.amount, value.last_digit, value.next) = ((value.amount + 0.5) * factor, 0.5 * factor, next + taken);
        }
        let and_more = self.and_some_more(value.next);
        value.next = and_more.unwrap_or(value.next);
        if self.is_a_place_in_a_chart(start, value) {
            let bounds = (value.amount, value.amount);
            return Some((
                vec![self.finish(start, value.next, bounds, Unit::Ordinal, Comparator::Exact, 1.0)],
                value.next,
            ));
        }
        if sign_unit.is_none() && self.is_identifier(start, value.next) {
            return Some(self.named(start, value));
        }
        if value.ordinal {
            // "двадцать пятого мая" is a date.
            if self
                .word_at(Some(value.next))
                .is_some_and(|word| has_cyrillic(word) && dates::names::month(word).is_some())
            {
                return Some((Vec::new(), value.next + 1));
            }
            // A year ("у 860-му році") or an age ("на 75-му році").
            let named = self.lexemes.get(value.next).and_then(Lexeme::word).is_some_and(dates::names::is_year_word);
            let unit = if named && value.amount > 99.0 { Unit::Year } else { Unit::Ordinal };
            let bounds = (value.amount, value.amount);
            return Some((vec![self.finish(start, value.next, bounds, unit, Comparator::Exact, 1.0)], value.next));
        }
        if self.is_negative(index) {
            value.amount = -value.amount;
        }
        let (unit, end) = self.unit_after(value);
        let behind = self.told_behind(index, end).filter(|_| unit.is_none() && sign_unit.is_none());
        let unit = unit.or(behind);
        let first = Stated {
            value,
            unit: sign_unit.or(unit),
            end,
            bare: sign_unit.is_none() && unit.is_none() && value.scaled.is_none(),
        };
        let joined = self
            .joined_span(index, first)
            .or_else(|| self.range(index, first, sign_unit))
            .or_else(|| self.feet_and_inches(index, first));
        if let Some(both) = joined {
            return Some(both);
        }
        let comparator = match self.comparator(index, first) {
            _ if and_more.is_some() => Comparator::MoreThan,
            Comparator::Exact if behind.is_some() => Comparator::About,
            Comparator::Exact => self.told_after(end, first.unit.is_none()),
            told => told,
        };
        let (low, last_digit, unit) = first.in_base(value.amount);
        Some((vec![self.finish(index, end, (low, low), unit, comparator, last_digit)], end))
    }

    /// Returns a currency sign ("US$" too) and the index of its number.
    fn currency_before(&self, index: usize) -> (Option<units::Found>, usize) {
        let sign = |at: usize| self.lexemes.get(at).and_then(units::currency_sign);
        let plain = |code| units::Found { unit: Unit::Currency(code), factor: 1.0, offset: 0.0, taken: 1 };
        if let Some(code) = sign(index) {
            return (Some(plain(code)), index + 1);
        }
        let prefix = self
            .lexemes
            .get(index)
            .and_then(Lexeme::word)
            .is_some_and(|word| matches!(word, "us" | "usd" | "eur" | "gbp"));
        let code = match self.lexemes.get(index).and_then(Lexeme::word) {
            Some("usd") => Some("USD"),
            Some("eur") => Some("EUR"),
            Some("gbp") => Some("GBP"),
            _ => None,
        };
        if let Some(code) = code.filter(|_| self.lexemes.get(index + 1).is_some_and(Lexeme::is_number)) {
            return (Some(plain(code)), index + 1);
        }
        match sign(index + 1) {
            Some(code) if prefix => (Some(plain(code)), index + 2),
            _ => (None, index),
        }
    }

    /// Reads a number in digits or words with its scale.
    fn value(&self, index: usize) -> Option<Value> {
        let lexeme = self.lexemes.get(index)?;
        let (mut value, mut last_digit, mut next) = if let Some(decimals) = self.without_a_whole(index) {
            let (value, last_digit) = digits::parse(&format!("0.{decimals}"), false, false)?;
            (value, last_digit, index + 2)
        } else if lexeme.is_number() {
            let (value, last_digit) = digits::parse(lexeme.text, self.comma_decimal, self.dot_groups)?;
            match self.sign_of_a_fraction(index + 1).filter(|_| self.glued(index, index + 1)) {
                Some(part) => (value + part, part, index + 2),
                None => (value, last_digit, index + 1),
            }
        } else if let Some(part) = self.sign_of_a_fraction(index) {
            (part, part, index + 1)
        } else {
            return self.value_in_words(index);
        };
        if let Some(after) = self.counting_suffix(index) {
            next = after;
        }
        if let Some(after) = self.ordinal_suffix(index) {
            return Some(Value { amount: value, last_digit: 1.0, next: after, scaled: None, ordinal: true });
        }
        let mut scaled = None;
        while let Some((factor, taken)) = self.scale(index, next) {
            value *= factor;
            last_digit *= factor;
            scaled = Some(scaled.unwrap_or(1.0) * factor);
            next += taken;
        }
        // "5 тыс. 200 рублей", "2 млн 300 тыс."
        let thousands = scaled.filter(|factor| self.comma_decimal && *factor >= 1e3);
        let rest = self.lexemes.get(next).and_then(Lexeme::integer).filter(|rest| (1..1000).contains(rest));
        if let Some((factor, rest)) = thousands.zip(rest) {
            let (part, taken) = self.scale(next, next + 1).unwrap_or((1.0, 0));
            if part * 1e3 <= factor {
                value += f64::from(rest) * part;
                (last_digit, next) = (part, next + 1 + taken);
            }
        }
        Some(Value { amount: value, last_digit, next, scaled, ordinal: false })
    }

    /// Reads a scale: "million", "млрд.", "5k", "$5m".
    fn scale(&self, number: usize, next: usize) -> Option<(f64, usize)> {
        let lexeme = self.lexemes.get(next)?;
        // "5-million"
        let hyphen = usize::from(lexeme.is_sign('-'));
        let lexeme = self.lexemes.get(next + hyphen)?;
        let word = lexeme.word()?;
        let glued = self.glued(number, next);
        let money = number
            .checked_sub(1)
            .and_then(|before| self.lexemes.get(before))
            .is_some_and(|l| units::currency_sign(l).is_some());
        let factor = match word {
            "k" | "к" if glued => 1e3,
            "m" if glued && (money || lexeme.text == "M") => 1e6,
            "b" if glued && (money || lexeme.text == "B") => 1e9,
            "t" if glued && money => 1e12,
            // A year: "У 2022 сотні людей".
            word => words::scale(word).filter(|_| !(self.has_four_digits(number) && is_a_rough_scale(word)))?,
        };
        let dot = word.chars().count() <= 4
            && self.lexemes.get(next + hyphen + 1).is_some_and(|l| l.is_sign('.'))
            && self.lexemes.get(next + hyphen + 2).is_some();
        Some((factor, 1 + hyphen + usize::from(dot && has_cyrillic(word))))
    }

    fn glued(&self, index: usize, next: usize) -> bool {
        self.lexemes.get(index).zip(self.lexemes.get(next)).is_some_and(|(a, b)| a.end == b.start && next == index + 1)
    }

    /// Returns the index after "3rd", "5-й", "20-го".
    fn ordinal_suffix(&self, index: usize) -> Option<usize> {
        static ORDINAL_SUFFIXES: Words = Words::of("numbers.ordinal_suffix");
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        if self.glued(index, index + 1) && matches!(word(index + 1), Some("st" | "nd" | "rd" | "th")) {
            return Some(index + 2);
        }
        word(index + 2)
            .is_some_and(|word| self.is_suffixed(index) && ORDINAL_SUFFIXES.is_ending(word))
            .then_some(index + 3)
    }

    /// Returns the index after a count: "24-х", "5-ти".
    fn counting_suffix(&self, index: usize) -> Option<usize> {
        let ending = self.lexemes.get(index + 2).and_then(Lexeme::word)?;
        (self.is_suffixed(index) && matches!(ending, "х" | "ти" | "ми" | "и")).then_some(index + 3)
    }

    /// Whether a hyphen follows without spaces.
    fn is_suffixed(&self, index: usize) -> bool {
        self.lexemes.get(index + 1).is_some_and(|l| l.is_sign('-'))
            && self.glued(index, index + 1)
            && self.glued(index + 1, index + 2)
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
        self.lexemes.get(from..index).is_some_and(|run| {
            let began = run.iter().any(|lexeme| matches!(lexeme.word(), Some("с" | "со" | "з" | "із" | "from")))
                && run.iter().any(Lexeme::is_number);
            began || run.iter().filter_map(Lexeme::word).any(words::is_a_change)
        })
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
            counted: self.counted(from - usize::from(unit == Unit::Identifier && self.is_told_at(from)), to),
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
struct Stated {
    value: Value,
    unit: Option<units::Found>,
    end: usize,
    /// No unit, no scale.
    bare: bool,
}

impl Stated {
    /// Returns value and last digit in base units, and the unit.
    fn in_base(&self, value: f64) -> (f64, f64, Unit) {
        match self.unit {
            Some(found) => (value * found.factor + found.offset, self.value.last_digit * found.factor, found.unit),
            None => (value, self.value.last_digit, Unit::None),
        }
    }
}

#[cfg(test)]
mod measured;
#[cfg(test)]
mod misread;
#[cfg(test)]
#[path = "numbers/tests.rs"]
mod tests;
#[cfg(test)]
mod told_otherwise;

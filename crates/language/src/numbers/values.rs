//! Reads the value of a number, in digits or words, with its scale.

use super::{Quantity, Reader, Unit, comparators, units, words};
use crate::dates::names;
use crate::has_cyrillic;
use crate::lexer::{Kind, Lexeme};
use crate::lexicon::{AND, Words};
use crate::numbers::{Comparator, is_a_rough_scale};

/// Endings of ranks in digits: "5-й".
static ORDINAL_SUFFIXES: Words = Words::of("numbers.ordinal_suffix");

/// Words that begin a number but are none: "a", "half".
static OPENING_WORDS: Words = Words::of("numbers.values.opening");

/// Maximum lexemes of a number in words.
const MAX_LEXEMES: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) amount: f64,
    /// One unit of the last digit.
    pub(super) last_digit: f64,
    /// Index of the lexeme after it.
    pub(super) next: usize,
    /// The factor of its scale words.
    pub(super) scale: Option<f64>,
    pub(super) is_ordinal: bool,
}

impl Value {
    pub(super) const fn plain(amount: f64, next: usize) -> Self {
        Self { amount, last_digit: 1.0, next, scale: None, is_ordinal: false }
    }
}

/// Parses digits with separators of any country. Returns the value and one unit of its last digit; `None` for "1.2.3".
pub(super) fn digits(text: &str, comma_decimal: bool, dot_groups: bool) -> Option<(f64, f64)> {
    let plain: String = text.chars().filter(|c| c.is_ascii_digit() || matches!(c, '.' | ',')).collect();
    let is_grouped = |separator: char| {
        let mut parts = plain.split(separator);
        let head = parts.next().unwrap_or_default();
        (1..=3).contains(&head.len()) && head != "0" && parts.all(|part| part.len() == 3)
    };
    let (dots, commas) = (plain.matches('.').count(), plain.matches(',').count());
    let digits = match (dots, commas) {
        (0, 0) => plain,
        (0, 1) if !comma_decimal && is_grouped(',') => plain.replace(',', ""),
        (0, 1) => plain.replace(',', "."),
        (0, _) if is_grouped(',') => plain.replace(',', ""),
        (1, 0) if dot_groups && is_grouped('.') => plain.replace('.', ""),
        (1, 0) => plain,
        (_, 0) if is_grouped('.') => plain.replace('.', ""),
        (1, _) if plain.rfind('.') > plain.rfind(',') => plain.replace(',', ""),
        (_, 1) if plain.rfind(',') > plain.rfind('.') => plain.replace('.', "").replace(',', "."),
        _ => return None,
    };
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = digits.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some((value, 10f64.powi(-i32::try_from(decimals).unwrap_or(0))))
}

impl Reader<'_> {
    /// Reads a number in digits or words with its scale.
    pub(super) fn value(&self, index: usize) -> Option<Value> {
        let lexeme = self.lexemes.get(index)?;
        let mut value = if lexeme.is_number() {
            let (amount, last_digit) = digits(lexeme.text, self.comma_decimal, self.dot_groups)?;
            let fraction = self.fraction(index + 1).filter(|_| self.glued(index, index + 1));
            match fraction {
                Some(part) => Value { last_digit: part, ..Value::plain(amount + part, index + 2) },
                None => Value { last_digit, ..Value::plain(amount, index + 1) },
            }
        } else if let Some(part) = self.fraction(index) {
            Value { last_digit: part, ..Value::plain(part, index + 1) }
        } else if let Some(decimals) = self.decimals_alone(index) {
            let (amount, last_digit) = digits(&format!("0.{decimals}"), false, false)?;
            Value { last_digit, ..Value::plain(amount, index + 2) }
        } else {
            return self.value_in_words(index);
        };
        if let Some(next) = self.counting_suffix(index) {
            value.next = next;
        }
        if let Some(next) = self.ordinal_suffix(index) {
            return Some(Value { is_ordinal: true, ..Value::plain(value.amount, next) });
        }
        while let Some((factor, taken)) = self.scale(index, value.next) {
            value.amount *= factor;
            value.last_digit *= factor;
            value.scale = Some(value.scale.unwrap_or(1.0) * factor);
            value.next += taken;
        }
        // "5 тыс. 200 рублей", "2 млн 300 тыс."
        let thousands = value.scale.filter(|factor| self.comma_decimal && *factor >= 1e3);
        let rest = self.lexemes.get(value.next).and_then(Lexeme::integer).filter(|rest| (1..1000).contains(rest));
        if let Some((factor, rest)) = thousands.zip(rest) {
            let (part, taken) = self.scale(value.next, value.next + 1).unwrap_or((1.0, 0));
            if part * 1e3 <= factor {
                value.amount += f64::from(rest) * part;
                (value.last_digit, value.next) = (part, value.next + 1 + taken);
            }
        }
        Some(value)
    }

    /// Reads a scale: "million", "млрд.", "5k", "$5m". Returns its factor and number of lexemes.
    pub(super) fn scale(&self, number: usize, next: usize) -> Option<(f64, usize)> {
        // "5-million"
        let hyphen = usize::from(self.lexemes.get(next)?.is_sign('-'));
        let lexeme = self.lexemes.get(next + hyphen)?;
        let word = lexeme.word()?;
        let glued = self.glued(number, next);
        let before = number.checked_sub(1).and_then(|before| self.lexemes.get(before));
        let is_money = before.is_some_and(|sign| units::currency_sign(sign).is_some());
        let factor = match word {
            "k" | "к" if glued => 1e3,
            "m" if glued && (is_money || lexeme.text == "M") => 1e6,
            "b" if glued && (is_money || lexeme.text == "B") => 1e9,
            "t" if glued && is_money => 1e12,
            // A year: "У 2022 сотні людей".
            word => words::scale(word).filter(|_| !(self.has_four_digits(number) && is_a_rough_scale(word)))?,
        };
        let dot = word.chars().count() <= 4
            && self.lexemes.get(next + hyphen + 1).is_some_and(|l| l.is_sign('.'))
            && self.lexemes.get(next + hyphen + 2).is_some();
        Some((factor, 1 + hyphen + usize::from(dot && has_cyrillic(word))))
    }

    fn has_four_digits(&self, index: usize) -> bool {
        self.lexemes.get(index).is_some_and(|lexeme| lexeme.text.len() == 4 && lexeme.integer().is_some())
    }

    /// Returns the index after "3rd", "5-й", "20-го".
    fn ordinal_suffix(&self, index: usize) -> Option<usize> {
        if self.glued(index, index + 1) && matches!(self.word_at(Some(index + 1)), Some("st" | "nd" | "rd" | "th")) {
            return Some(index + 2);
        }
        let ending = self.word_at(Some(index + 2))?;
        (self.is_suffixed(index) && ORDINAL_SUFFIXES.is_ending(ending)).then_some(index + 3)
    }

    /// Returns the index after a count: "24-х", "5-ти".
    fn counting_suffix(&self, index: usize) -> Option<usize> {
        let ending = self.word_at(Some(index + 2))?;
        (self.is_suffixed(index) && matches!(ending, "х" | "ти" | "ми" | "и")).then_some(index + 3)
    }

    /// Whether a hyphen follows without spaces.
    fn is_suffixed(&self, index: usize) -> bool {
        self.lexemes.get(index + 1).is_some_and(|l| l.is_sign('-'))
            && self.glued(index, index + 1)
            && self.glued(index + 1, index + 2)
    }

    /// Returns the decimals of ".5".
    fn decimals_alone(&self, index: usize) -> Option<&str> {
        let point = self.lexemes.get(index).filter(|lexeme| lexeme.is_sign('.'))?;
        let before = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let is_free = before.is_none_or(|before| before.end < point.start || before.is_sign('/'));
        let decimals = self.lexemes.get(index + 1).filter(|lexeme| lexeme.is_number() && lexeme.start == point.end)?;
        (is_free && decimals.text.bytes().all(|byte| byte.is_ascii_digit())).then_some(decimals.text)
    }

    fn value_in_words(&self, index: usize) -> Option<Value> {
        let word = self.word_at(Some(index))?;
        if self.hour_of_day(index).is_some() {
            return None;
        }
        if let Some((rank, next)) = self.rank(index).filter(|(_, next)| !self.is_adverb(index, *next)) {
            return Some(Value { is_ordinal: true, ..Value::plain(rank, next) });
        }
        if let Some(times) = words::times(word) {
            // "Twice as" compares.
            return (self.word_at(Some(index + 1)) != Some("as")).then(|| Value::plain(times, index + 1));
        }
        // "Более тысячи двухсот" is not a thousand.
        let goes_on = || {
            let is_number = |next: &str| words::cardinal(next).is_some() || words::scale(next).is_some();
            self.lexemes.get(index + 1).is_some_and(|next| next.is_number() || next.word().is_some_and(is_number))
        };
        let is_compared = || !goes_on() && comparators::before(&self.lexemes, index).is_some();
        if let Some(scale) = words::lone_scale(word).filter(|_| is_compared()) {
            return Some(Value { last_digit: scale, scale: Some(scale), ..Value::plain(scale, index + 1) });
        }
        if word == "half" {
            let article = usize::from(matches!(self.word_at(Some(index + 1)), Some("a" | "an")));
            let hyphen = usize::from(self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('-')));
            let next = index + 1 + article.max(hyphen);
            let is_measured = article == 1 && self.is_unit(next) || self.word_at(Some(next)) == Some("hour");
            if is_measured {
                return Some(Value { last_digit: 0.5, ..Value::plain(0.5, index + 1 + article) });
            }
        }
        let is_number = words::cardinal(word).is_some() || words::scale(word).is_some();
        if !is_number && !OPENING_WORDS.has(word) && !words::begins_a_part(word) {
            return None;
        }
        // "twenty-five" is two words and a hyphen.
        let mut run: Vec<&str> = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        for (offset, lexeme) in self.lexemes.get(index..)?.iter().enumerate().take(MAX_LEXEMES) {
            match &lexeme.kind {
                Kind::Word(word) => {
                    run.push(word);
                    places.push(index + offset);
                }
                Kind::Sign('-' | '‑') => {}
                _ => break,
            }
        }
        let is_lone_scale =
            words::cardinal(word).is_none() && words::scale(word).is_some() && !words::begins_with_scale(&run);
        if is_lone_scale || words::begins_a_part(word) && words::half(&run).is_none() {
            return None;
        }
        let Some(spelled) = words::spelled(&run) else {
            return self.is_one(index).then(|| Value::plain(1.0, index + 1));
        };
        let next = places.get(spelled.taken.checked_sub(1)?)? + 1;
        Some(Value { last_digit: spelled.last_digit, scale: spelled.scale, ..Value::plain(spelled.value, next) })
    }

    /// Reads "third", "twenty-first", "двадцатое". Returns the rank and the index after it.
    fn rank(&self, index: usize) -> Option<(f64, usize)> {
        let first = self.word_at(Some(index))?;
        // In Russian some forms of the Ukrainian "second" mean "friend".
        let second = || (self.ukrainian && words::is_second_in_ukrainian(first)).then_some(2.0);
        if let Some(rank) = words::ordinal(first).or_else(second) {
            return Some((rank, index + 1));
        }
        let tens = words::cardinal(first).filter(|tens| (20.0..100.0).contains(tens) && tens % 10.0 == 0.0)?;
        let next = index + 1 + usize::from(self.lexemes.get(index + 1).is_some_and(|lexeme| lexeme.is_sign('-')));
        let rank = self.word_at(Some(next)).and_then(words::ordinal).filter(|rank| *rank < 10.0)?;
        Some((tens + rank, next + 1))
    }

    /// Whether "one" is a number and not a pronoun: "one hour", "one-year contract", "one son and two daughters".
    fn is_one(&self, index: usize) -> bool {
        let word = |at: usize| self.word_at(Some(at));
        let is_one = word(index).and_then(words::cardinal).is_some_and(|value| (value - 1.0).abs() < f64::EPSILON);
        // "The one year he had", "one day he left".
        if !is_one || self.word_at(index.checked_sub(1)) == Some("the") || word(index + 1) == Some("day") {
            return false;
        }
        let is_counted = |at: Option<usize>| {
            let lexeme = at.and_then(|at| self.lexemes.get(at));
            lexeme.is_some_and(|l| l.is_number() || l.word().and_then(words::cardinal).is_some_and(|more| more > 1.0))
        };
        let hyphen = usize::from(self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('-')));
        let is_range = matches!(word(index + 1), Some("to" | "or" | "или" | "або" | "чи")) || hyphen == 1;
        let is_joined = AND.has_this(self.word_at(index.checked_sub(1))) && is_counted(index.checked_sub(3))
            || AND.has_this(word(index + 2)) && is_counted(Some(index + 3))
            || is_range && is_counted(Some(index + 2));
        is_joined || self.is_unit(index + 1 + hyphen)
    }

    fn is_unit(&self, index: usize) -> bool {
        units::unit(self.lexemes.get(index..).unwrap_or_default(), false).is_some()
    }

    /// Reads a number with its unit in one word: "двухдневный", "полгода".
    pub(super) fn compound(&self, index: usize) -> Option<Quantity> {
        let word = self.word_at(Some(index))?;
        let comparator = || comparators::before(&self.lexemes, index);
        if let Some((base, span)) = words::half_spans(word) {
            let comparator = comparator().unwrap_or(Comparator::Exact);
            return Some(self.finish(index, index + 1, (span, span), Unit::Measure(base), comparator, span));
        }
        let (value, base, factor) = words::spanning(word)?;
        let span = value * factor;
        let unit = if base == "%" { Unit::Percent } else { Unit::Measure(base) };
        // "Более чем двухлетний" has a comparator; "выше двухметрового забора" has none.
        let than = matches!(self.word_at(index.checked_sub(1)), Some("чем" | "ніж" | "як"));
        let comparator = comparator().filter(|found| than || *found == Comparator::About).unwrap_or(Comparator::Exact);
        Some(self.finish(index, index + 1, (span, span), unit, comparator, factor))
    }

    /// Returns the index after "с половиной" or "and a half".
    pub(super) fn and_a_half(&self, next: usize) -> Option<usize> {
        match (self.word_at(Some(next))?, self.word_at(Some(next + 1))?) {
            ("с" | "з" | "із", "половиной" | "половиною") => Some(next + 2),
            ("and", "a") if self.word_at(Some(next + 2)) == Some("half") => Some(next + 3),
            _ => None,
        }
    }

    /// Whether the rank has a year: "у 860-му році".
    pub(super) fn is_year(&self, value: Value) -> bool {
        value.amount > 99.0 && self.word_at(Some(value.next)).is_some_and(names::is_year_word)
    }
}

//! Reads units and currencies and converts to base units.
//!
//! To add a unit: `numbers.currency` or `numbers.measure` in the lexicon.

use crate::lexicon::{self, Values, Words};

use super::values::Value;
use super::{Reader, Unit, words};
use crate::lexer::{Kind, Lexeme};

static DEGREES: Words = Words::of("numbers.degree");

type Measure = (&'static str, f64);

/// Maximum letters of a case ending.
const MAX_ENDING_LETTERS: usize = 4;

/// ISO 4217 codes.
static CURRENCY_WORDS: Values<&'static str> = Values::of("numbers.currency", lexicon::text);

/// Base unit and factor.
static MEASURE_WORDS: Values<Measure> = Values::of("numbers.measure", words::base_and_factor);

pub(super) fn currency_sign(lexeme: &Lexeme<'_>) -> Option<&'static str> {
    let Kind::Sign(sign) = lexeme.kind else { return None };
    Some(match sign {
        '$' => "USD",
        '€' => "EUR",
        '£' => "GBP",
        '¥' => "JPY",
        '₴' => "UAH",
        '₽' => "RUB",
        '₹' => "INR",
        '₩' => "KRW",
        '₺' => "TRY",
        '₿' => "BTC",
        '₸' => "KZT",
        _ => return None,
    })
}

/// Whether it is a unit. "Годах" ("в 20-х годах") is never counted.
pub(super) fn is_unit(word: &str) -> bool {
    word == "годах"
        || CURRENCY_WORDS.of_form(word, MAX_ENDING_LETTERS).is_some()
        || MEASURE_WORDS.of_form(word, MAX_ENDING_LETTERS).is_some()
        || percent_word(word)
}

fn percent_word(word: &str) -> bool {
    word == "percent"
        || word == "pct"
        || word == "проц"
        || ["процент", "відсот"].iter().any(|prefix| word.starts_with(prefix))
}

/// Conversion: value × factor + offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ParsedUnit {
    pub(super) unit: Unit,
    pub(super) factor: f64,
    pub(super) offset: f64,
    /// Lexemes.
    pub(super) taken: usize,
}

impl ParsedUnit {
    fn plain(unit: Unit, taken: usize) -> Self {
        Self { unit, factor: 1.0, offset: 0.0, taken }
    }

    fn measure(base: &'static str, factor: f64, taken: usize) -> Self {
        Self { unit: Unit::Measure(base), factor, offset: 0.0, taken }
    }
}

/// Reads a unit; `glued` means no space after the number.
pub(super) fn unit(rest: &[Lexeme<'_>], glued: bool) -> Option<ParsedUnit> {
    let first = rest.first()?;
    if first.is_sign('%') {
        return Some(ParsedUnit::plain(Unit::Percent, 1));
    }
    if let Some(code) = currency_sign(first) {
        return Some(ParsedUnit::plain(Unit::Currency(code), 1));
    }
    if first.is_sign('°') || first.is_sign('º') {
        let fahrenheit = rest.get(1).and_then(Lexeme::word) == Some("f");
        let letter = rest.get(1).and_then(Lexeme::word).is_some_and(|word| matches!(word, "c" | "f" | "с"));
        return Some(temperature(fahrenheit, 1 + usize::from(letter)));
    }
    let word = first.word()?;
    let next = rest.get(1).and_then(Lexeme::word);
    match (word, next) {
        ("per", Some("cent")) => return Some(ParsedUnit::plain(Unit::Percent, 2)),
        ("percentage", Some("point" | "points")) => return Some(ParsedUnit::measure("pp", 1.0, 2)),
        ("п", _) if rest.get(1).is_some_and(|l| l.is_sign('.')) && rest.get(2).and_then(Lexeme::word) == Some("п") => {
            return Some(ParsedUnit::measure("pp", 1.0, 3));
        }
        (word, _) if DEGREES.has(word) => {
            let scale = next.is_some_and(|word| {
                matches!(word, "celsius" | "c" | "fahrenheit" | "f")
                    || word.starts_with("цельси")
                    || word.starts_with("цельсі")
            });
            let fahrenheit = next.is_some_and(|word| matches!(word, "fahrenheit" | "f"));
            return Some(temperature(fahrenheit, 1 + usize::from(scale)));
        }
        ("c" | "с", _) if glued && first.text.starts_with(['C', 'С']) => return Some(temperature(false, 1)),
        ("f", _) if glued && first.text == "F" => return Some(temperature(true, 1)),
        // "B.C." is not bytes.
        ("b", _) if rest.get(2).is_some_and(|c| c.text == "C") && rest.get(1).is_some_and(|l| l.is_sign('.')) => {
            return None;
        }
        ("b", _) if !glued && first.text == "B" => return Some(ParsedUnit::measure("B", 1.0, 1)),
        // Ringgit; lower case "myr" is years.
        ("myr", _) if first.text == "MYR" => return Some(ParsedUnit::plain(Unit::Currency("MYR"), 1)),
        // "7h15" is a time of day.
        ("h", _) if first.text == "h" && !rest.get(1).is_some_and(|l| l.is_number() && l.start == first.end) => {
            return Some(ParsedUnit::measure("s", 3_600.0, 1));
        }
        // "5G" is a name.
        ("g" | "г", _) if first.text.starts_with(char::is_uppercase) => return None,
        _ => {}
    }
    if percent_word(word) {
        let points = next.is_some_and(|word| word.starts_with("пункт"));
        return Some(if points { ParsedUnit::measure("pp", 1.0, 2) } else { ParsedUnit::plain(Unit::Percent, 1) });
    }
    square_or_cubic(rest).or_else(|| currency_word(rest, word)).or_else(|| measure_word(rest, word))
}

fn currency_word(rest: &[Lexeme<'_>], word: &str) -> Option<ParsedUnit> {
    // "100 US dollars", "100 долларов США".
    if matches!(word, "us" | "u") {
        let code =
            rest.get(1).and_then(Lexeme::word).and_then(|next| CURRENCY_WORDS.of_form(next, MAX_ENDING_LETTERS))?;
        return Some(ParsedUnit::plain(Unit::Currency(code), 2));
    }
    let dollars_of = rest.get(1).and_then(Lexeme::word) == Some("сша");
    CURRENCY_WORDS
        .of_form(word, MAX_ENDING_LETTERS)
        .map(|code| ParsedUnit::plain(Unit::Currency(code), 1 + usize::from(dollars_of)))
}

fn measure_word(rest: &[Lexeme<'_>], word: &str) -> Option<ParsedUnit> {
    let (base, factor) = MEASURE_WORDS.of_form(word, MAX_ENDING_LETTERS)?;
    let sign = |index: usize, sign: char| rest.get(index).is_some_and(|lexeme| lexeme.is_sign(sign));
    // "100 м2"
    let is_power = |digit: &str, power: char| {
        let glued = rest.get(1).filter(|number| rest.first().is_some_and(|unit| unit.end == number.start));
        sign(1, power) || glued.is_some_and(|number| number.text == digit)
    };
    if base == "m" && is_power("2", '²') {
        return Some(ParsedUnit::measure("m2", factor * factor, 2));
    }
    if base == "m" && is_power("3", '³') {
        return Some(ParsedUnit::measure("m3", factor * factor * factor, 2));
    }
    if base != "m" {
        return Some(ParsedUnit::measure(base, factor, 1));
    }
    let joint = rest.get(1).map_or("", |lexeme| lexeme.text);
    let seconds = match (joint, rest.get(2).and_then(Lexeme::word)) {
        ("per" | "/", Some("h" | "hour" | "ч" | "час" | "год"))
        | ("в", Some("час"))
        | ("на" | "за", Some("годину")) => 3600.0,
        ("per" | "/" | "в" | "на" | "за", Some("s" | "sec" | "second" | "с" | "сек" | "секунду")) => {
            1.0
        }
        _ => return Some(ParsedUnit::measure(base, factor, 1)),
    };
    Some(ParsedUnit::measure("m/s", factor / seconds, 3))
}

/// Reads "sq km", "кв. км", "cubic metres", "куб. м".
fn square_or_cubic(rest: &[Lexeme<'_>]) -> Option<ParsedUnit> {
    let word = rest.first()?.word()?;
    let square = matches!(word, "sq" | "square" | "кв") || word.starts_with("квадратн");
    let cubic = matches!(word, "cu" | "cubic" | "куб") || word.starts_with("кубическ") || word.starts_with("кубічн");
    (square || cubic).then_some(())?;
    let dot = usize::from(rest.get(1).is_some_and(|lexeme| lexeme.is_sign('.') || lexeme.is_sign('-')));
    let (base, factor) = MEASURE_WORDS.of_form(rest.get(1 + dot)?.word()?, MAX_ENDING_LETTERS)?;
    (base == "m").then_some(())?;
    Some(if square {
        ParsedUnit::measure("m2", factor * factor, 2 + dot)
    } else {
        ParsedUnit::measure("m3", factor * factor * factor, 2 + dot)
    })
}

fn temperature(fahrenheit: bool, taken: usize) -> ParsedUnit {
    if fahrenheit {
        ParsedUnit { unit: Unit::Measure("°C"), factor: 5.0 / 9.0, offset: -160.0 / 9.0, taken }
    } else {
        ParsedUnit::measure("°C", 1.0, taken)
    }
}

/// Reads the second half of "15-дневный", "1600-километрового".
fn in_adjective(lexeme: &Lexeme<'_>) -> Option<ParsedUnit> {
    let (base, factor) = words::measure_of_an_adjective(lexeme.word()?)?;
    let unit = if base == "%" { Unit::Percent } else { Unit::Measure(base) };
    Some(ParsedUnit { unit, factor, offset: 0.0, taken: 1 })
}

impl Reader<'_> {
    /// Returns the unit after a value and the index after it: "5 km", "5-km", "20-летний".
    pub(super) fn unit_after(&self, value: Value) -> (Option<ParsedUnit>, usize) {
        let next = value.next;
        let glued = next.checked_sub(1).is_some_and(|number| self.glued(number, next));
        let rest = self.lexemes.get(next..).unwrap_or_default();
        // "$1,000-$2,000": the next figure's sign.
        let has_word = rest.get(1).is_some_and(|unit| unit.word().is_some());
        let hyphen = usize::from(glued && has_word && rest.first().is_some_and(|l| l.is_sign('-') || l.is_sign('‑')));
        // Ukrainian hours, Russian years.
        if self.ukrainian && rest.get(hyphen).and_then(Lexeme::word) == Some("год") {
            return (Some(ParsedUnit::measure("s", 3_600.0, 1)), next + hyphen + 1);
        }
        // The next figure's sign: "€1.5m €6m".
        let is_of_next = rest.first().zip(rest.get(1)).is_some_and(|(sign, number)| {
            currency_sign(sign).is_some() && number.is_number() && sign.end == number.start && !glued
        });
        if let Some(found) = rest.get(hyphen..).filter(|_| !is_of_next).and_then(|rest| unit(rest, glued)) {
            return (Some(found), next + hyphen + found.taken);
        }
        let in_adjective = rest.get(1).filter(|_| hyphen == 1).and_then(in_adjective);
        in_adjective.map_or((None, next), |found| (Some(found), next + 1 + found.taken))
    }

    /// Returns a currency sign or code before a number ("US$" too), and the index of the number.
    pub(super) fn currency_before(&self, index: usize) -> (Option<ParsedUnit>, usize) {
        let sign = |at: usize| self.lexemes.get(at).and_then(currency_sign);
        let plain = |code| Some(ParsedUnit::plain(Unit::Currency(code), 1));
        if let Some(code) = sign(index) {
            return (plain(code), index + 1);
        }
        let word = self.word_at(Some(index));
        let code = match word {
            Some("usd") => Some("USD"),
            Some("eur") => Some("EUR"),
            Some("gbp") => Some("GBP"),
            _ => None,
        };
        if let Some(code) = code.filter(|_| self.lexemes.get(index + 1).is_some_and(Lexeme::is_number)) {
            return (plain(code), index + 1);
        }
        match sign(index + 1) {
            Some(code) if matches!(word, Some("us" | "usd" | "eur" | "gbp")) => (plain(code), index + 2),
            _ => (None, index),
        }
    }
}

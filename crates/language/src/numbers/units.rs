//! Reads units and currency signs and converts to base units.
//!
//! To add a unit: `numbers.currency` or `numbers.measure` in the lexicon.

use crate::lexicon::{self, Values, Words};

use super::{Unit, money};
use crate::lexer::{Kind, Lexeme};

static DEGREES: Words = Words::of("numbers.degree");

type Measure = (&'static str, f64);

/// Maximum letters of a case ending.
const ENDING: usize = 4;

/// ISO 4217 codes.
static CURRENCY_WORDS: Values<&'static str> = Values::of("numbers.currency", lexicon::text);

/// Base unit and factor.
static MEASURE_WORDS: Values<Measure> = Values::of("numbers.measure", measure);

fn measure(value: &'static str) -> Option<Measure> {
    let (base, factor) = value.split_once(' ')?;
    Some((base, factor.parse().ok()?))
}

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
        || CURRENCY_WORDS.of_form(word, ENDING).is_some()
        || MEASURE_WORDS.of_form(word, ENDING).is_some()
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
pub(super) struct Found {
    pub(super) unit: Unit,
    pub(super) factor: f64,
    pub(super) offset: f64,
    /// Lexemes.
    pub(super) taken: usize,
}

impl Found {
    fn plain(unit: Unit, taken: usize) -> Self {
        Self { unit, factor: 1.0, offset: 0.0, taken }
    }

    fn measure(base: &'static str, factor: f64, taken: usize) -> Self {
        Self { unit: Unit::Measure(base), factor, offset: 0.0, taken }
    }
}

/// Reads a unit; `glued` means no space after the number.
pub(super) fn unit(rest: &[Lexeme<'_>], glued: bool) -> Option<Found> {
    let first = rest.first()?;
    if first.is_sign('%') {
        return Some(Found::plain(Unit::Percent, 1));
    }
    if let Some(code) = currency_sign(first) {
        return Some(Found::plain(Unit::Currency(code), 1));
    }
    if first.is_sign('°') || first.is_sign('º') {
        let fahrenheit = rest.get(1).and_then(Lexeme::word) == Some("f");
        let letter = rest.get(1).and_then(Lexeme::word).is_some_and(|word| matches!(word, "c" | "f" | "с"));
        return Some(temperature(fahrenheit, 1 + usize::from(letter)));
    }
    let word = first.word()?;
    let next = rest.get(1).and_then(Lexeme::word);
    match (word, next) {
        ("per", Some("cent")) => return Some(Found::plain(Unit::Percent, 2)),
        ("percentage", Some("point" | "points")) => return Some(Found::measure("pp", 1.0, 2)),
        ("п", _) if rest.get(1).is_some_and(|l| l.is_sign('.')) && rest.get(2).and_then(Lexeme::word) == Some("п") => {
            return Some(Found::measure("pp", 1.0, 3));
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
        ("b", _) if !glued && first.text == "B" => return Some(Found::measure("B", 1.0, 1)),
        // Ringgit; lower case "myr" is years.
        ("myr", _) if first.text == "MYR" => return Some(Found::plain(Unit::Currency("MYR"), 1)),
        // "7h15" is a time of day.
        ("h", _) if first.text == "h" && !rest.get(1).is_some_and(|l| l.is_number() && l.start == first.end) => {
            return Some(Found::measure("s", 3_600.0, 1));
        }
        // "5G" is a name.
        ("g" | "г", _) if first.text.starts_with(char::is_uppercase) => return None,
        _ => {}
    }
    if percent_word(word) {
        let points = next.is_some_and(|word| word.starts_with("пункт"));
        return Some(if points { Found::measure("pp", 1.0, 2) } else { Found::plain(Unit::Percent, 1) });
    }
    square_or_cubic(rest).or_else(|| currency_word(rest, word)).or_else(|| measure_word(rest, word))
}

fn currency_word(rest: &[Lexeme<'_>], word: &str) -> Option<Found> {
    if let Some(code) = money::of_a_nation(rest) {
        return Some(Found::plain(Unit::Currency(code), 2));
    }
    // "100 US dollars", "100 долларов США".
    if matches!(word, "us" | "u") {
        let code = rest.get(1).and_then(Lexeme::word).and_then(|next| CURRENCY_WORDS.of_form(next, ENDING))?;
        return Some(Found::plain(Unit::Currency(code), 2));
    }
    let dollars_of = rest.get(1).and_then(Lexeme::word) == Some("сша");
    CURRENCY_WORDS.of_form(word, ENDING).map(|code| Found::plain(Unit::Currency(code), 1 + usize::from(dollars_of)))
}

fn measure_word(rest: &[Lexeme<'_>], word: &str) -> Option<Found> {
    let (base, factor) = MEASURE_WORDS.of_form(word, ENDING)?;
    let sign = |index: usize, sign: char| rest.get(index).is_some_and(|lexeme| lexeme.is_sign(sign));
    if base == "m" && sign(1, '²') {
        return Some(Found::measure("m2", factor * factor, 2));
    }
    if base == "m" && sign(1, '³') {
        return Some(Found::measure("m3", factor * factor * factor, 2));
    }
    if base == "m" && (sign(1, '/') || rest.get(1).and_then(Lexeme::word) == Some("per")) {
        let seconds = match rest.get(2).and_then(Lexeme::word) {
            Some("h" | "hour" | "ч" | "час" | "год") => 3600.0,
            Some("s" | "sec" | "second" | "с" | "сек") => 1.0,
            _ => return Some(Found::measure(base, factor, 1)),
        };
        return Some(Found::measure("m/s", factor / seconds, 3));
    }
    Some(Found::measure(base, factor, 1))
}

/// Reads "sq km", "кв. км", "cubic metres", "куб. м".
fn square_or_cubic(rest: &[Lexeme<'_>]) -> Option<Found> {
    let word = rest.first()?.word()?;
    let square = matches!(word, "sq" | "square" | "кв") || word.starts_with("квадратн");
    let cubic = matches!(word, "cu" | "cubic" | "куб") || word.starts_with("кубическ") || word.starts_with("кубічн");
    (square || cubic).then_some(())?;
    let dot = usize::from(rest.get(1).is_some_and(|lexeme| lexeme.is_sign('.') || lexeme.is_sign('-')));
    let (base, factor) = MEASURE_WORDS.of_form(rest.get(1 + dot)?.word()?, ENDING)?;
    (base == "m").then_some(())?;
    Some(if square {
        Found::measure("m2", factor * factor, 2 + dot)
    } else {
        Found::measure("m3", factor * factor * factor, 2 + dot)
    })
}

fn temperature(fahrenheit: bool, taken: usize) -> Found {
    if fahrenheit {
        Found { unit: Unit::Measure("°C"), factor: 5.0 / 9.0, offset: -160.0 / 9.0, taken }
    } else {
        Found::measure("°C", 1.0, taken)
    }
}

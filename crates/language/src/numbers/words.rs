//! Numbers written as words, and the words that scale a number.

use crate::lexicon::{self, Values, Words};

/// Scales in the singular, which may stand for one of them.
static LONE_SCALES: Words = Words::of("numbers.words.lone_scale");

static OF_THE_SUMMER: Words = Words::of("numbers.words.of_the_summer");

/// Value and every form of it, English, Russian, Ukrainian. Words that mean something else more often are left out
/// ("семью" is a family).
static CARDINALS: Values<f64> = Values::of("numbers.words.cardinal", lexicon::number);

static SCALES: Values<f64> = Values::of("numbers.words.scale", lexicon::number);

static ORDINALS: Values<f64> = Values::of("numbers.words.ordinal", lexicon::number);

/// The value of a number word below a thousand.
pub(super) fn cardinal(word: &str) -> Option<f64> {
    CARDINALS.get(word)
}

/// Beginnings of verbs after which "до" names what was come to, not a limit.
static CHANGES: Words = Words::of("numbers.words.changes");

pub(super) fn is_a_change(word: &str) -> bool {
    CHANGES.has(word)
}

/// A scale that stands for one of it: "более триллиона", "больше тысячи".
pub(super) fn lone_scale(word: &str) -> Option<f64> {
    if word.is_ascii() {
        return None;
    }
    if word == "ста" { Some(100.0) } else { scale(word).filter(|_| LONE_SCALES.has(word)) }
}

/// Adjectives between a number and its span: "два последних года", "three full days".
pub(super) fn stands_before_a_span(word: &str) -> bool {
    static BETWEEN: Words = Words::of("numbers.words.before_a_span");
    BETWEEN.has(word)
}

static HALF_SPANS: Values<(&'static str, f64)> = Values::of("numbers.words.half_span", base_and_factor);

/// Spans of one word, in their base unit.
pub(super) fn half_spans(word: &str) -> Option<(f64, &'static str)> {
    HALF_SPANS.get(word).map(|(base, worth)| (worth, base))
}

/// "Летних", "літні": of the summer, where no hyphen joins it to a number ("три летних лагеря").
pub(super) fn is_of_the_summer(word: &str) -> bool {
    OF_THE_SUMMER.has(word)
}

static TIMES: Values<f64> = Values::of("numbers.words.times", lexicon::number);

/// How often: "twice", "трижды".
pub(super) fn times(word: &str) -> Option<f64> {
    TIMES.get(word)
}

static TOGETHER: Values<f64> = Values::of("numbers.words.together", lexicon::number);

/// How many do it together: "вдвоём", "втрьох".
pub(super) fn together(word: &str) -> Option<f64> {
    TOGETHER.get(word)
}

/// What a word after a number multiplies it by.
pub(super) fn scale(word: &str) -> Option<f64> {
    SCALES.get(word)
}

/// Tens and hundreds that are as often told without a number ("сотні людей"): none of them multiplies what may be a year.
pub(crate) fn is_a_rough_scale(word: &str) -> bool {
    scale(word).is_some_and(|factor| factor < 1000.0)
}

/// Beginnings of ranks that are declined like any adjective.
static RANKS: Values<f64> = Values::of("numbers.words.rank", lexicon::number);

/// Endings of an adjective that no noun of those beginnings has ("пята" is a heel, "пяти" is five).
static ENDINGS: Words = Words::of("numbers.words.rank_ending");

/// "Second" in Ukrainian; Russian reads some of the forms as "friend" and "another".
static UKRAINIAN_SECOND: Words = Words::of("numbers.words.second");

/// Whether a word is "second" in Ukrainian.
pub(super) fn is_second_in_ukrainian(word: &str) -> bool {
    UKRAINIAN_SECOND.has(word)
}

/// The rank an ordinal word names.
pub(super) fn ordinal(word: &str) -> Option<f64> {
    ORDINALS.get(word).or_else(|| {
        if word.is_ascii() {
            return None;
        }
        let declined = |(prefix, rank): &(&str, f64)| {
            let ending = word.strip_prefix(prefix)?;
            (!ending.is_empty() && ENDINGS.is_ending(ending)).then_some(*rank)
        };
        RANKS.prefixes().iter().find_map(declined)
    })
}

/// Spans that adjectives are made of, with what one is worth in its base unit.
fn base_and_factor(value: &'static str) -> Option<(&'static str, f64)> {
    let (base, factor) = value.split_once(' ')?;
    Some((base, factor.parse().ok()?))
}

static SPANS: Values<(&'static str, f64)> = Values::of("numbers.words.span", base_and_factor);

/// Tens as compound words begin with them: "двадцатипятилетний".
static TENS: Words = Words::of("numbers.words.joined_tens");

/// The number that a compound word begins with.
fn joined(number: &str) -> Option<f64> {
    let below_ten = |word: &str| match word {
        "одно" => Some(1.0),
        "дво" => Some(2.0),
        "трьох" | "трех" => Some(3.0),
        word => cardinal(word),
    };
    let compound = || {
        TENS.words().find_map(|tens| {
            let rest = below_ten(number.strip_prefix(tens)?).filter(|rest| *rest < 10.0)?;
            Some(cardinal(tens)? + rest)
        })
    };
    below_ten(number).or_else(compound)
}

/// "двухдневный", "чотирирічна": the number, the base unit, and what one of it is worth there.
pub(super) fn spanning(word: &str) -> Option<(f64, &'static str, f64)> {
    // Every word of a text is asked about, and the spans are all Cyrillic.
    if word.is_ascii() {
        return None;
    }
    SPANS.prefixes().iter().find_map(|(span, (base, factor))| {
        // "Однотонный" is of one colour.
        let (number, ending) = word.split_once(span).filter(|(number, _)| !(*span == "тонн" && *number == "одно"))?;
        let declined = (1..=3).contains(&ending.chars().count());
        // "Годовалый" is of one year.
        let value = if number.is_empty() && *span == "годовал" { Some(1.0) } else { joined(number) };
        value.filter(|_| declined).map(|value| (value, *base, *factor))
    })
}

/// Endings of the adjectives behind a number and a hyphen; "24-часов" and "300-тонн" are none.
static ADJECTIVES: Words = Words::of("numbers.words.measure_ending");

/// "1600-километрового", "15-дневный": the base unit of the adjective behind the hyphen, and what one is worth there.
pub(super) fn measure_of_an_adjective(word: &str) -> Option<(&'static str, f64)> {
    SPANS.prefixes().iter().find_map(|(span, (base, factor))| {
        let ending = word.strip_prefix(span)?;
        (!ending.is_empty() && ADJECTIVES.is_ending(ending)).then_some((*base, *factor))
    })
}

/// A number as words: its value, the unit of its last word, and how many words it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spelled {
    pub(super) value: f64,
    pub(super) last_digit: f64,
    pub(super) taken: usize,
}

/// Reads a number from the first of these words: "two hundred and five", "двадцать одна тысяча", "half a million". A lone
/// "one" is a pronoun, an article or a number of no interest, and is not read.
pub(super) fn spelled(words: &[&str]) -> Option<Spelled> {
    let (mut total, mut current, mut taken, mut last_digit) = (0.0, 0.0, 0, 1.0);
    let mut index = 0;
    if let Some((value, skip)) = half(words) {
        (current, index, taken, last_digit) = (value, skip, skip, value);
    } else if matches!(words.first(), Some(&"a" | &"an")) {
        scale(words.get(1)?)?;
        (current, index, taken) = (1.0, 1, 1);
    }
    let mut added = current > 0.0;
    while let Some(word) = words.get(index) {
        if let Some(value) = cardinal(word).filter(|value| fits(current, *value)) {
            current += value;
            last_digit = unit_of(value);
            added = true;
        } else if let Some(factor) = scale(word).filter(|_| added) {
            current *= factor;
            last_digit *= factor;
            if factor >= 1000.0 {
                total += current;
                current = 0.0;
            }
        } else if *word == "and"
            && added
            && words.get(index + 1).is_some_and(|next| cardinal(next).is_some())
            && (current >= 100.0 || total > 0.0)
        {
            index += 1;
            continue;
        } else {
            break;
        }
        index += 1;
        taken = index;
    }
    let value = total + current;
    let lone_one = taken == 1 && (value - 1.0).abs() < f64::EPSILON;
    (added && taken > 0 && !lone_one).then_some(Spelled { value, last_digit, taken })
}

/// "half a million", "полмиллиона" is one word and is left to the reader, "пів мільйона".
fn half(words: &[&str]) -> Option<(f64, usize)> {
    match words {
        ["half", "a" | "an", next, ..] if scale(next).is_some() => Some((0.5, 2)),
        ["half" | "пів" | "пол", next, ..] if scale(next).is_some() => Some((0.5, 1)),
        _ => None,
    }
}

/// Whether a number word may follow what was read: "twenty" + "five", never "five" + "twenty".
fn fits(current: f64, value: f64) -> bool {
    if current == 0.0 {
        return true;
    }
    let room = if current % 100.0 == 0.0 && current > 0.0 {
        100.0
    } else if current % 10.0 == 0.0 && current % 100.0 >= 20.0 {
        10.0
    } else {
        0.0
    };
    value < room && value > 0.0
}

/// A number word states its last digit; "полтора" states halves.
fn unit_of(value: f64) -> f64 {
    if value.fract() == 0.0 { 1.0 } else { 0.5 }
}

//! Number words and scales.
//!
//! Words: `numbers.words.*` in the lexicon.

use crate::lexicon::{self, Values, Words};

static LONE_SCALES: Words = Words::of("numbers.words.lone_scale");

/// Words with a more frequent other meaning are left out ("семью" is a family).
static CARDINALS: Values<f64> = Values::of("numbers.words.cardinal", lexicon::number);

static SCALES: Values<f64> = Values::of("numbers.words.scale", lexicon::number);

static ORDINALS: Values<f64> = Values::of("numbers.words.ordinal", lexicon::number);

/// Returns a value below a thousand.
pub(super) fn cardinal(word: &str) -> Option<f64> {
    CARDINALS.get(word)
}

/// Verbs after which "до" is a new value, no limit.
static CHANGE_VERBS: Words = Words::of("numbers.words.changes");

pub(super) fn is_a_change(word: &str) -> bool {
    CHANGE_VERBS.has(word)
}

/// Returns one of a scale: "более триллиона".
pub(super) fn lone_scale(word: &str) -> Option<f64> {
    if word.is_ascii() {
        return None;
    }
    if word == "ста" { Some(100.0) } else { scale(word).filter(|_| LONE_SCALES.has(word)) }
}

static HALF_SPANS: Values<(&'static str, f64)> = Values::of("numbers.words.half_span", base_and_factor);

/// Returns base unit and value of a half duration: "полгода".
pub(super) fn half_spans(word: &str) -> Option<(&'static str, f64)> {
    HALF_SPANS.get(word)
}

static TIMES: Values<f64> = Values::of("numbers.words.times", lexicon::number);

/// Returns how often: "twice", "трижды".
pub(super) fn times(word: &str) -> Option<f64> {
    TIMES.get(word)
}

pub(super) fn scale(word: &str) -> Option<f64> {
    SCALES.get(word)
}

/// Whether it is below a thousand. Such a scale is often used alone ("сотні людей"), so it does not multiply a possible
/// year.
pub(crate) fn is_a_rough_scale(word: &str) -> bool {
    scale(word).is_some_and(|factor| factor < 1000.0)
}

/// Stems that decline like adjectives.
static RANKS: Values<f64> = Values::of("numbers.words.rank", lexicon::number);

/// Adjective endings, not those of nouns ("пята" is a heel).
static ENDINGS: Words = Words::of("numbers.words.rank_ending");

/// Ukrainian "second"; in Russian some forms mean "friend".
static UKRAINIAN_SECOND: Words = Words::of("numbers.words.second");

pub(super) fn is_second_in_ukrainian(word: &str) -> bool {
    UKRAINIAN_SECOND.has(word)
}

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

pub(super) fn base_and_factor(value: &'static str) -> Option<(&'static str, f64)> {
    let (base, factor) = value.split_once(' ')?;
    Some((base, factor.parse().ok()?))
}

static SPANS: Values<(&'static str, f64)> = Values::of("numbers.words.span", base_and_factor);

/// "двадцатипятилетний"
static TENS: Words = Words::of("numbers.words.joined_tens");

/// Returns the number in a compound.
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

/// Reads "двухдневный": number, base unit, factor.
pub(super) fn spanning(word: &str) -> Option<(f64, &'static str, f64)> {
    // Fast path: all these words are Cyrillic.
    if word.is_ascii() {
        return None;
    }
    SPANS.prefixes().iter().find_map(|(span, (base, factor))| {
        // Of one colour.
        let (number, ending) = word.split_once(span).filter(|(number, _)| !(*span == "тонн" && *number == "одно"))?;
        let declined = (1..=3).contains(&ending.chars().count());
        // One year old.
        let value = if number.is_empty() && *span == "годовал" { Some(1.0) } else { joined(number) };
        value.filter(|_| declined).map(|value| (value, *base, *factor))
    })
}

/// "24-часов" is no adjective.
static ADJECTIVES: Words = Words::of("numbers.words.measure_ending");

/// Reads "1600-километрового": base unit, factor.
pub(super) fn measure_of_an_adjective(word: &str) -> Option<(&'static str, f64)> {
    SPANS.prefixes().iter().find_map(|(span, (base, factor))| {
        let ending = word.strip_prefix(span)?;
        (!ending.is_empty() && ADJECTIVES.is_ending(ending)).then_some((*base, *factor))
    })
}

/// A number in words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpelledNumber {
    pub(super) value: f64,
    /// One unit of the last word: 1,000 for "three thousand".
    pub(super) last_digit: f64,
    /// The factor of the last word, if it is a scale of at least a thousand.
    pub(super) scale: Option<f64>,
    /// Number of words.
    pub(super) taken: usize,
}

/// Whether a scale begins a number: "тысяча двести".
pub(super) fn begins_with_scale(words: &[&str]) -> bool {
    matches!(words, [first, second, ..] if !first.is_ascii()
        && scale(first).is_some_and(|factor| factor >= 1000.0)
        && cardinal(second).is_some())
}

/// Reads "two hundred and five", "двадцать одна тысяча", "half a million". "One" alone is mostly a pronoun.
pub(super) fn spelled(words: &[&str]) -> Option<SpelledNumber> {
    let (mut total, mut current, mut taken, mut last_digit) = (0.0, 0.0, 0, 1.0);
    let mut index = 0;
    if let Some((value, skip)) = half(words) {
        (current, index, taken, last_digit) = (value, skip, skip, value);
    } else if matches!(words.first(), Some(&"a" | &"an")) {
        scale(words.get(1)?)?;
        (current, index, taken) = (1.0, 1, 1);
    } else if begins_with_scale(words) {
        current = 1.0;
    }
    let mut added = current > 0.0;
    // The largest scale so far, and the last word's.
    let (mut last_scale, mut trailing) = (0.0, None);
    while let Some(word) = words.get(index) {
        let rest = words.get(index..).unwrap_or_default();
        if let Some(value) = cardinal(word).filter(|value| fits(current, *value)) {
            current += value;
            last_digit = unit_of(value);
            (added, trailing) = (true, None);
        } else if let Some(factor) = scale(word).filter(|_| added) {
            current *= factor;
            last_digit *= factor;
            trailing = (factor >= 1000.0).then_some(factor);
            if factor >= 1000.0 {
                total += current;
                current = 0.0;
                last_scale = factor;
            }
        } else if let Some(skip) = and_a_half(rest).filter(|_| added && (current > 0.0 || last_scale > 0.0)) {
            // "a million and a half", "one and a half million"
            let half = if current > 0.0 { 0.5 } else { last_scale / 2.0 };
            current += half;
            (last_digit, trailing) = (half, None);
            index += skip;
            taken = index;
            continue;
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
    (added && taken > 0 && !lone_one).then_some(SpelledNumber { value, last_digit, scale: trailing, taken })
}

/// Reads "and a half" after a scale: "a million and a half". Returns the number of words.
fn and_a_half(words: &[&str]) -> Option<usize> {
    match words {
        ["and", "a", "half", ..] => Some(3),
        ["с", "половиной", ..] | ["з", "половиною", ..] => Some(2),
        _ => None,
    }
}

/// Reads half of a scale in one word: "полмиллиона", "півтисячі".
pub(super) fn half_scale(word: &str) -> Option<f64> {
    let of = |half: &&str| word.strip_prefix(*half).and_then(scale);
    ["пол", "полу", "пів"].iter().find_map(of).map(|factor| factor / 2.0)
}

/// Whether a word may begin a part of a scale ([`half`]).
pub(super) fn begins_a_part(word: &str) -> bool {
    matches!(word, "quarter" | "четверть" | "четверти" | "чверть" | "чверті") || half_scale(word).is_some()
}

/// Reads the beginning of "half a million", "пів мільйона", "a quarter of a million", "четверть миллиона", "полмиллиона":
/// value and number of words.
pub(super) fn half(words: &[&str]) -> Option<(f64, usize)> {
    match words {
        [word, ..] if half_scale(word).is_some() => Some((half_scale(word)?, 1)),
        ["a", "quarter", "of", "a" | "an", next, ..] if scale(next).is_some() => Some((0.25, 4)),
        ["quarter", "of", "a" | "an", next, ..] if scale(next).is_some() => Some((0.25, 3)),
        ["четверть" | "четверти" | "чверть" | "чверті", next, ..] if scale(next).is_some() => {
            Some((0.25, 1))
        }
        ["half", "a" | "an", next, ..] if scale(next).is_some() => Some((0.5, 2)),
        ["half" | "пів" | "пол", next, ..] if scale(next).is_some() => Some((0.5, 1)),
        _ => None,
    }
}

/// Whether a word may follow: "twenty" + "five", not the reverse.
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

/// Returns 1, or 0.5 for "полтора".
fn unit_of(value: f64) -> f64 {
    if value.fract() == 0.0 { 1.0 } else { 0.5 }
}

//! Months, weekdays and words of relative dates, from the lexicon.

use chrono::Weekday;

use crate::lexicon::{self, Entry, Values, Words};

static YEAR_WORDS: Words = Words::of("dates.year_word");

/// Month names as short as an abbreviation.
static SHORT_MONTHS: Words = Words::of("dates.short_month");

static MONTHS: Values<u32> = Values::of("dates.month", lexicon::number);
/// Days from Monday.
static WEEKDAYS: Values<u8> = Values::of("dates.weekday", lexicon::number);
static SPANS: Values<Span> = Values::of("dates.span", span_named);
static DIRECTIONS: Values<i32> = Values::of("dates.direction", lexicon::number);
static DAYS: Values<i64> = Values::of("dates.day_word", lexicon::number);
static SMALL_NUMBERS: Values<i64> = Values::of("dates.small_number", lexicon::number);

/// Returns 1–12 for a normalised word.
pub fn month(word: &str) -> Option<u32> {
    MONTHS.get(word)
}

pub(crate) fn weekday(word: &str) -> Option<Weekday> {
    Weekday::try_from(WEEKDAYS.get(word)?).ok()
}

/// Whether it is a full month or weekday name, which is no entity or keyword.
pub fn is_calendar_word(word: &str) -> bool {
    (word.chars().count() > 3 && month(word).is_some()) || SHORT_MONTHS.has(word) || weekday(word).is_some()
}

/// Whether it is like "year", "г.", "року".
pub(crate) fn is_year_word(word: &str) -> bool {
    YEAR_WORDS.has(word)
}

/// A unit of relative dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    Day,
    Week,
    Month,
    Year,
}

fn span_named(name: &str) -> Option<Span> {
    Some(match name {
        "day" => Span::Day,
        "week" => Span::Week,
        "month" => Span::Month,
        "year" => Span::Year,
        _ => return None,
    })
}

pub(crate) fn span(word: &str) -> Option<Span> {
    SPANS.get(word)
}

/// Returns −1 for "last", 0 for "this", +1 for "next".
pub(crate) fn direction(word: &str) -> Option<i32> {
    DIRECTIONS.get(word)
}

/// Returns the days from the reference: "yesterday".
pub(crate) fn day_word(word: &str) -> Option<i64> {
    DAYS.get(word)
}

pub(crate) fn small_number(word: &str) -> Option<i64> {
    SMALL_NUMBERS.get(word)
}

/// Returns a month (1–12) without a day: "март 2024".
pub(crate) fn month_alone(month: u32, language: &str) -> Option<&'static str> {
    written(lexicon::entries("dates.month_alone"), month, language)
}

/// Returns a month after a day: "5 марта".
pub(crate) fn month_behind_a_day(month: u32, language: &str) -> Option<&'static str> {
    written(lexicon::entries("dates.month_behind_a_day"), month, language)
}

fn written(mut months: impl Iterator<Item = Entry>, month: u32, language: &str) -> Option<&'static str> {
    months.find(|entry| entry.language == language && entry.value.parse() == Ok(month)).map(|entry| entry.form)
}

/// Whether it is a time zone, with case: "10.40 EDT".
pub(crate) fn is_a_zone(written: &str) -> bool {
    static ZONES: Words = Words::of("dates.zone");
    ZONES.has(written)
}

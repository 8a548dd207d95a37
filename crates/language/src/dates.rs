//! Finds dates and periods in English, Russian and Ukrainian text.
//!
//! Absolute dates are always found; "yesterday", "last year" and "5 мая" (no year) need a reference day. Times of day
//! are ignored. To add a pattern: a function in `at` that returns the period at an index and its number of lexemes.

mod decades;
mod eras;
pub mod names;
mod relative;
mod undated;
mod written;
mod year_signs;

use std::ops::Range;

use chrono::{DateTime, Datelike, NaiveDate, Utc};

use super::lexer::{Lexeme, lex};
use super::{cut, has_cyrillic};
use crate::lexicon::{self, AND, Values, Words};

static ORDINAL_ENDINGS: Words = Words::of("dates.ordinal_ending");

static SPAN_JOINTS: Words = Words::of("dates.span_joint");

static QUARTER: Words = Words::of("dates.quarter");

/// Nouns that four digits count; then they are not a year.
static COUNTED_NOUNS: Words = Words::of("dates.counted");
pub(crate) use eras::before_christ;
pub use undated::without_days;
pub use written::{with_written, without_written, written_on};
pub(crate) use year_signs::{follows_circa, is_circa};

/// One date or period in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateMention {
    pub start: NaiveDate,
    /// Inclusive last day.
    pub end: NaiveDate,
    /// As written.
    pub text: String,
    /// Byte offset of `text`.
    pub offset: usize,
    /// Whether it depends on the day of the text: "on Monday", "3 May".
    pub is_relative: bool,
}

impl DateMention {
    /// Whether it depends wholly on the day of the text: "yesterday", but not "3 May".
    pub fn is_relative_day(&self) -> bool {
        self.is_relative && !self.text.contains(|c: char| c.is_ascii_digit())
    }
}

/// First day, last day, number of lexemes.
type DateMatch = (NaiveDate, NaiveDate, usize);

/// Returns the dates in order. Relative dates need `reference`, the time of writing.
pub fn dates(text: &str, reference: Option<DateTime<Utc>>) -> Vec<DateMention> {
    let lexemes = lex(text, false);
    let found = found_in(&lexemes, text, reference);
    let stated = reference.filter(|_| !found.is_empty()).map(|_| found_in(&lexemes, text, None));
    found
        .into_iter()
        .map(|found| {
            let is_relative = stated.as_ref().is_some_and(|stated| !stated.contains(&found));
            let (range, start, end) = found;
            let from = lexemes.get(range.start).map_or(0, |lexeme| lexeme.start);
            let to = lexemes.get(range.end.saturating_sub(1)).map_or(from, |lexeme| lexeme.end);
            DateMention { start, end, text: cut(text, from, to).to_owned(), offset: from, is_relative }
        })
        .collect()
}

/// Returns the byte ranges of dates, which contain no quantities, and whether each is only a year.
pub(crate) fn ranges(text: &str) -> Vec<(Range<usize>, bool)> {
    let lexemes = lex(text, false);
    // Any day works: only positions are used.
    let reference =
        NaiveDate::from_ymd_opt(2000, 1, 1).and_then(|day| day.and_hms_opt(0, 0, 0)).map(|moment| moment.and_utc());
    found_in(&lexemes, text, reference)
        .into_iter()
        .filter_map(|(range, start, end)| {
            let from = lexemes.get(range.start)?.start;
            let to = lexemes.get(range.end.checked_sub(1)?)?.end;
            let whole_year = start.year() == end.year() && start.ordinal() == 1 && end.month() == 12 && end.day() == 31;
            let mut numbers = lexemes.get(range)?.iter().filter(|lexeme| lexeme.is_number());
            // "15 years ago" has a number but not the year's.
            let its_year =
                |number: &Lexeme<'_>| number.integer().is_some_and(|year| i64::from(year) == i64::from(start.year()));
            let one_number = numbers.next().is_some_and(its_year) && numbers.next().is_none();
            Some((from..to, whole_year && one_number))
        })
        .collect()
}

fn found_in(
    lexemes: &[Lexeme<'_>],
    text: &str,
    reference: Option<DateTime<Utc>>,
) -> Vec<(Range<usize>, NaiveDate, NaiveDate)> {
    let american = !has_cyrillic(text);
    let mut found = Vec::new();
    let mut index = 0;
    while index < lexemes.len() {
        match at(lexemes, index, american, reference) {
            Some((start, end, taken)) if start <= end => {
                found.push((index..index + taken.max(1), start, end));
                index += taken.max(1);
            }
            _ => index += 1,
        }
    }
    found
}

fn at(lexemes: &[Lexeme<'_>], index: usize, american: bool, reference: Option<DateTime<Utc>>) -> Option<DateMatch> {
    let rest = lexemes.get(index..)?;
    let before = index.checked_sub(1).and_then(|index| lexemes.get(index));
    numeric(rest, american)
        .or_else(|| day_month(rest, reference))
        .or_else(|| month_day(rest, reference))
        .or_else(|| quarter(rest))
        .or_else(|| decades::decade(rest, decades::is_the(lexemes, index)))
        .or_else(|| {
            year(rest, before, year_signs::closes_a_period(lexemes, index) || year_signs::has_year_sign(lexemes, index))
        })
        .or_else(|| reference.and_then(|moment| relative::relative(rest, before, moment.date_naive())))
}

fn day_of(year: i32, month: u32, day: u32) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(year, month, day)
}

pub(super) fn month_of(year: i32, month: u32) -> Option<(NaiveDate, NaiveDate)> {
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    Some((first, first.checked_add_months(chrono::Months::new(1))?.pred_opt()?))
}

pub(super) fn year_of(year: i32) -> Option<(NaiveDate, NaiveDate)> {
    Some((NaiveDate::from_ymd_opt(year, 1, 1)?, NaiveDate::from_ymd_opt(year, 12, 31)?))
}

/// Reads four digits in 1000–2199.
fn year_number(lexeme: &Lexeme<'_>) -> Option<i32> {
    let number = lexeme.integer().filter(|_| lexeme.text.len() == 4)?;
    (1000..2200).contains(&number).then(|| i32::try_from(number).ok()).flatten()
}

fn full_year(lexeme: &Lexeme<'_>) -> Option<i32> {
    match (lexeme.text.len(), lexeme.integer()?) {
        (4, _) => year_number(lexeme),
        // Two digits: 00–39 are 2000–2039, 40–99 are 1940–1999.
        (2, number) => i32::try_from(number).ok().map(|number| if number < 40 { 2000 + number } else { 1900 + number }),
        _ => None,
    }
}

/// Reads 2024-05-17, 2024/05/17, 17.05.2024, 17.05.24, 17/05/2024 and 5/17/2024.
fn numeric(rest: &[Lexeme<'_>], american: bool) -> Option<DateMatch> {
    let first = rest.first().filter(|first| first.is_number())?;
    // The lexer returns "17.05.2024" as one number.
    let dotted: Vec<&str> = first.text.split('.').collect();
    if let [year, month, day] = dotted.as_slice()
        && year.len() == 4
    {
        let date = day_of(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)?;
        return Some((date, date, 1));
    }
    if let [day, month, year] = dotted.as_slice() {
        let year_text = Lexeme { text: year, ..first.clone() };
        let date = day_of(full_year(&year_text)?, month.parse().ok()?, day.parse().ok()?)?;
        return Some((date, date, 1));
    }
    let [head, sign, middle, sign_again, tail, ..] = rest else { return None };
    if sign.kind != sign_again.kind || !(sign.is_sign('-') || sign.is_sign('/')) {
        return None;
    }
    let (first, second, third) = (head.integer()?, middle.integer()?, tail.integer()?);
    let date = if head.text.len() == 4 {
        day_of(i32::try_from(first).ok()?, second, third)?
    } else {
        let year = full_year(tail).filter(|_| tail.text.len() == 4 || sign.is_sign('/'))?;
        // If both orders are possible, slashes in a Latin-script text mean month first.
        let month_first = second > 12 || (american && sign.is_sign('/') && first <= 12);
        if month_first { day_of(year, first, second)? } else { day_of(year, second, first)? }
    };
    Some((date, date, 5))
}

/// Reads "5", "5th", "5-го". Returns the day and its lexemes.
fn day_number(rest: &[Lexeme<'_>]) -> Option<(u32, usize)> {
    let day = rest
        .first()?
        .integer()
        .filter(|day| (1..=31).contains(day) && rest.first().is_some_and(|l| l.text.len() <= 2))?;
    let glued = |lexeme: &Lexeme<'_>, at: usize| lexeme.start == at;
    let end = rest.first()?.end;
    if let Some(suffix) = rest.get(1).filter(|lexeme| glued(lexeme, end)) {
        if matches!(suffix.word(), Some("st" | "nd" | "rd" | "th")) {
            return Some((day, 2));
        }
        if suffix.is_sign('-') && rest.get(2).is_some_and(|l| ORDINAL_ENDINGS.has_this(l.word())) {
            return Some((day, 3));
        }
    }
    Some((day, 1))
}

/// Reads a month. Short English names, "may" and "march" need a capital.
fn month_name(lexeme: &Lexeme<'_>) -> Option<u32> {
    let word = lexeme.word()?;
    let month = names::month(word)?;
    let english = word.is_ascii();
    let capital = lexeme.text.chars().next().is_some_and(char::is_uppercase);
    (!english || capital || word.len() > 5).then_some(month)
}

/// Reads the year in "May 2024", "мая 2024 года", "May 5, 2024". Returns it and its lexemes.
fn trailing_year(rest: &[Lexeme<'_>]) -> Option<(i32, usize)> {
    let skip = usize::from(
        rest.first().is_some_and(|lexeme| lexeme.is_sign(',') || lexeme.word() == Some("of") || lexeme.is_sign('.')),
    );
    let year = year_number(rest.get(skip)?)?;
    Some((year, skip + 1 + year_word(rest.get(skip + 1..).unwrap_or_default())))
}

/// Returns the lexemes of "года", "г." or "року".
fn year_word(rest: &[Lexeme<'_>]) -> usize {
    if rest.first().and_then(Lexeme::word).is_some_and(names::is_year_word) {
        let short = rest.first().is_some_and(|lexeme| matches!(lexeme.word(), Some("г" | "р" | "гг" | "рр")));
        return 1 + usize::from(short && rest.get(1).is_some_and(|lexeme| lexeme.is_sign('.')));
    }
    0
}

/// Reads 17 May 2024, 17th of May, 3–5 May 2024, 5 травня.
fn day_month(rest: &[Lexeme<'_>], reference: Option<DateTime<Utc>>) -> Option<DateMatch> {
    let (first, mut taken) = day_number(rest)?;
    let mut last = first;
    // "3–5 May", "с 13 по 29 января" and "5 and 6 May" are periods; "5 and 10 May" are two days.
    let joins = |lexeme: &Lexeme<'_>| {
        ['-', '–', '—'].into_iter().any(|sign| lexeme.is_sign(sign)) || SPAN_JOINTS.has_this(lexeme.word())
    };
    let lists = |lexeme: &Lexeme<'_>| AND.has_this(lexeme.word());
    let next_day = |day: u32| day == first + 1;
    if rest.get(taken).is_some_and(|lexeme| joins(lexeme) || lists(lexeme))
        && let Some((day, more)) = rest.get(taken + 1..).and_then(day_number)
        && (next_day(day) || rest.get(taken).is_some_and(joins))
    {
        last = day;
        taken += 1 + more;
    }
    if rest.get(taken).and_then(Lexeme::word) == Some("of") {
        taken += 1;
    }
    let month = month_name(rest.get(taken)?)?;
    taken += 1;
    with_year(rest, taken, month, Some((first, last)), reference)
}

/// Reads day and year of "May 22,1828".
fn day_and_year(lexeme: &Lexeme<'_>) -> Option<(u32, i32)> {
    let (day, year) = lexeme.text.split_once(',').filter(|(day, year)| day.len() <= 2 && year.len() == 4)?;
    Some((day.parse().ok()?, year.parse().ok().filter(|year| (1000..2200).contains(year))?))
}

/// Reads May 17, 2024; May 3–5; в мае 2024 года; in May (with a reference).
fn month_day(rest: &[Lexeme<'_>], reference: Option<DateTime<Utc>>) -> Option<DateMatch> {
    let month = month_name(rest.first()?)?;
    let mut taken =
        1 + usize::from(rest.get(1).is_some_and(|l| l.is_sign('.')) && rest.first().is_some_and(|l| l.text.len() <= 4));
    if let Some((day, year)) = rest.get(taken).and_then(day_and_year) {
        return day_of(year, month, day).map(|day| (day, day, taken + 1));
    }
    let days = rest.get(taken..).and_then(day_number);
    // "мае 5 человек": a Cyrillic month follows its day.
    let days = days.filter(|_| rest.first().is_some_and(|lexeme| lexeme.text.is_ascii()));
    let days = days.map(|(first, more)| {
        taken += more;
        let range = rest.get(taken).is_some_and(|l| l.is_sign('-') || l.is_sign('–'));
        match rest.get(taken + 1..).and_then(day_number).filter(|_| range) {
            Some((last, more)) => {
                taken += 1 + more;
                (first, last)
            }
            None => (first, first),
        }
    });
    with_year(rest, taken, month, days, reference)
}

/// Adds the year that follows, or the nearest to the reference.
fn with_year(
    rest: &[Lexeme<'_>],
    taken: usize,
    month: u32,
    days: Option<(u32, u32)>,
    reference: Option<DateTime<Utc>>,
) -> Option<DateMatch> {
    let behind = rest.get(taken..).unwrap_or_default();
    let stated = eras::year(behind)
        .or_else(|| trailing_year(behind))
        .or_else(|| year_of_the_end(behind, month).map(|year| (year, 0)));
    let (year, more) = match stated {
        Some(stated) => stated,
        None => (nearest_year(month, days.map_or(1, |pair| pair.0), reference?.date_naive()), 0),
    };
    // "May I ask", "march on": without a day these need a year.
    if days.is_none()
        && stated.is_none()
        && rest.first().and_then(Lexeme::word).is_some_and(|word| matches!(word, "may" | "march" | "мар" | "сен"))
    {
        return None;
    }
    let (start, end) = match days {
        Some((first, last)) => (day_of(year, month, first)?, day_of(year, month, last)?),
        None => month_of(year, month)?,
    };
    Some((start, end, taken + more))
}

/// Returns the nearest year, at most 92 days ahead, because news is mostly about the past.
fn nearest_year(month: u32, day: u32, reference: NaiveDate) -> i32 {
    let this_year = reference.year();
    let ahead = NaiveDate::from_ymd_opt(this_year, month, day.min(28)).map_or(0, |date| (date - reference).num_days());
    if ahead > 92 {
        this_year - 1
    } else if ahead < -273 {
        this_year + 1
    } else {
        this_year
    }
}

/// Reads Q1 2024, first quarter of 2024, I квартал 2024.
fn quarter(rest: &[Lexeme<'_>]) -> Option<DateMatch> {
    let word = rest.first()?.word();
    let (number, mut taken) = match word {
        Some("q") => (rest.get(1)?.integer()?, 2),
        word => (QUARTER_NUMBERS.get(word?)?, 1),
    };
    if word != Some("q") {
        QUARTER.has_this(rest.get(taken)?.word()).then_some(())?;
        taken += 1;
    }
    let (year, more) = rest.get(taken..).and_then(trailing_year)?;
    let first_month = (number.checked_sub(1).filter(|quarter| *quarter < 4)?) * 3 + 1;
    Some((month_of(year, first_month)?.0, month_of(year, first_month + 2)?.1, taken + more))
}

static QUARTER_NUMBERS: Values<u32> = Values::of("dates.quarter_number", lexicon::number);

static YEAR_PREPOSITIONS: Words = Words::of("dates.year_prepositions");

/// Reads 2024, 2019–2021, 2023/24, "2024 год". Digits alone are a year only in 1900–2099 and if they count nothing.
fn year(rest: &[Lexeme<'_>], before: Option<&Lexeme<'_>>, is_marked: bool) -> Option<DateMatch> {
    let first = year_number(rest.first()?)?;
    // "1920x1080"
    let side = rest.get(1).is_some_and(|cross| {
        matches!(cross.word(), Some("x" | "х")) && rest.first().is_some_and(|number| number.end == cross.start)
    });
    if side && rest.get(2).is_some_and(Lexeme::is_number) {
        return None;
    }
    let glued_before = before.is_some_and(|lexeme| rest.first().is_some_and(|number| lexeme.end == number.start));
    if glued_before
        && !is_marked
        && before.is_some_and(|lexeme| !matches!(lexeme.text, "(" | "«" | "\"" | "[" | "“" | "—" | "–" | ","))
    {
        return None;
    }
    if before_christ(rest, 1).is_some() || year_signs::counts_with_the_next(rest, before) {
        return None;
    }
    let mut last = first;
    let mut taken = 1;
    if rest.get(1).is_some_and(|l| ['-', '–', '—', '/'].into_iter().any(|sign| l.is_sign(sign)))
        && let Some(second) = rest.get(2).and_then(|lexeme| end_of_years(first, lexeme))
    {
        last = second;
        taken = 3;
    }
    let named = year_word(rest.get(taken..).unwrap_or_default());
    let grown =
        matches!(before.and_then(Lexeme::word), Some("до" | "to")) && !(1900..2100).contains(&first) && !is_marked;
    let prepared = !grown && before.and_then(Lexeme::word).is_some_and(|word| YEAR_PREPOSITIONS.has(word));
    // "(Edinburgh, 1887)"
    let in_brackets = before.is_some_and(|sign| sign.is_sign('(') || sign.is_sign(','))
        && rest.get(1).is_some_and(|sign| sign.is_sign(')'));
    let expected = prepared || is_marked || in_brackets || (1900..2100).contains(&first);
    let alone = named == 0 && taken == 1;
    if alone && (!expected || counts_something(rest.get(taken..).unwrap_or_default(), first)) {
        return None;
    }
    Some((year_of(first)?.0, year_of(last)?.1, taken + named))
}

/// Reads the second year of "2019–2021" or "2023/24".
fn end_of_years(first: i32, lexeme: &Lexeme<'_>) -> Option<i32> {
    let second = match lexeme.text.len() {
        4 => year_number(lexeme)?,
        2 => first / 100 * 100 + i32::try_from(lexeme.integer()?).ok()?,
        _ => return None,
    };
    (second > first).then_some(second)
}

/// Plurals that a year does not count.
static EVENTS: Words = Words::of("dates.events");

/// Whether the digits count: "1999 soldiers", "2000 км", "1950 %".
fn counts_something(rest: &[Lexeme<'_>], number: i32) -> bool {
    let Some(next) = rest.first() else { return false };
    // "2130 GMT" is a time of day.
    if next.is_sign('%') || next.is_sign('°') || next.is_sign('$') || next.is_sign('€') || names::is_a_zone(next.text)
    {
        return true;
    }
    let Some(word) = next.word() else { return false };
    // "У 2022 сотні людей": hundreds of people.
    if super::numbers::is_a_rough_scale(word) {
        return false;
    }
    if super::numbers::is_unit_or_scale(word) {
        return true;
    }
    let english_plural =
        word.is_ascii() && word.len() > 4 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("'s");
    let capital = next.text.chars().next().is_some_and(char::is_uppercase);
    // "The 2000 series" is a product, "the 2021 series" an event.
    let is_an_event = EVENTS.has(word) || (word == "series" && number % 100 != 0);
    let counted = COUNTED_NOUNS.has(word) || (english_plural && !capital && !is_an_event);
    let genitive_plural =
        ["ов", "ев", "ів", "їв", "телей"].iter().any(|ending| word.ends_with(ending)) && word.chars().count() > 4;
    counted || (genitive_plural && !capital && number % 10 == 0)
}

/// Between the months of a span with one year: "с января по май 2012 года".
static YEAR_SPAN_JOINTS: Words = Words::of("dates.spans.joint");

/// Returns the year of the first month. Across the turn of the year it is one less; "June and May 2010" is a list.
fn year_of_the_end(behind: &[Lexeme<'_>], month: u32) -> Option<i32> {
    let [joint, end @ ..] = behind else { return None };
    let joins = joint.is_sign('-') || joint.is_sign('–') || YEAR_SPAN_JOINTS.has_this(joint.word());
    let days = if joins { day_number(end).map_or(0, |(_, taken)| taken) } else { return None };
    let last = month_name(end.get(days)?)?;
    // The day follows: "March 15 to April 14, 2010".
    let behind = end.get(days + 1..)?;
    let passed = if days == 0 { day_number(behind).map_or(0, |(_, taken)| taken) } else { 0 };
    let (year, _) = trailing_year(behind.get(passed..)?)?;
    let listed = AND.has_this(joint.word());
    Some(if month <= last || (listed && month - last <= 6) { year } else { year - 1 })
}

#[cfg(test)]
#[path = "dates/tests.rs"]
mod tests;

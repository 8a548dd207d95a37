//! Reads dates relative to the day of the text.

use chrono::{Datelike, Days, Months, NaiveDate};

use super::names::{self, Span};
use super::{DateMatch, month_of, year_of};
use crate::lexer::Lexeme;
use crate::lexicon::Words;

static DAY_PREPOSITIONS: Words = Words::of("dates.relative.preparing");

/// Words that make a duration: "more than 40 years ago".
static ROUGH_WORDS: Words = Words::of("dates.relative.roughly");

/// Reads "yesterday", "last week", "three days ago", "on Monday", "торік".
pub(super) fn relative(rest: &[Lexeme<'_>], before: Option<&Lexeme<'_>>, today: NaiveDate) -> Option<DateMatch> {
    let word = rest.first()?.word();
    if let Some(days) = word.and_then(names::day_word) {
        let day = shift_days(today, days)?;
        return Some((day, day, 1));
    }
    match word {
        Some("торік") => return year_of(today.year() - 1).map(|(start, end)| (start, end, 1)),
        Some("цьогоріч") => return year_of(today.year()).map(|(start, end)| (start, end, 1)),
        _ => {}
    }
    let rough = before.and_then(Lexeme::word).is_some_and(|word| ROUGH_WORDS.has(word));
    ago(rest, today).filter(|_| !rough).or_else(|| directed(rest, today)).or_else(|| weekday(rest, before, today))
}

fn shift_days(day: NaiveDate, days: i64) -> Option<NaiveDate> {
    let distance = Days::new(days.unsigned_abs());
    if days < 0 { day.checked_sub_days(distance) } else { day.checked_add_days(distance) }
}

/// Returns the unit around a day, `moved` times away.
fn stretch(span: Span, moved: i32, today: NaiveDate) -> Option<(NaiveDate, NaiveDate)> {
    match span {
        Span::Day => shift_days(today, i64::from(moved)).map(|day| (day, day)),
        Span::Week => {
            let monday = shift_days(today, i64::from(moved) * 7 - i64::from(today.weekday().num_days_from_monday()))?;
            Some((monday, shift_days(monday, 6)?))
        }
        Span::Month => {
            let distance = Months::new(moved.unsigned_abs());
            let day =
                if moved < 0 { today.checked_sub_months(distance)? } else { today.checked_add_months(distance)? };
            month_of(day.year(), day.month())
        }
        Span::Year => year_of(today.year().checked_add(moved)?),
    }
}

/// Reads "3 days ago", "два года назад", "неделю назад".
fn ago(rest: &[Lexeme<'_>], today: NaiveDate) -> Option<DateMatch> {
    let number = rest
        .first()
        .and_then(|lexeme| lexeme.integer().map(i64::from).or_else(|| lexeme.word().and_then(names::small_number)));
    let (number, at) = match number {
        Some(number) if number <= 2000 => (i32::try_from(number).ok()?, 1),
        Some(_) => return None,
        None => (1, 0),
    };
    let span = names::span(rest.get(at)?.word()?)?;
    matches!(rest.get(at + 1)?.word(), Some("ago" | "назад" | "тому")).then_some(())?;
    let (start, end) = stretch(span, -number, today)?;
    Some((start, end, at + 2))
}

/// Reads "last year", "next week", "минулого тижня", "last May".
fn directed(rest: &[Lexeme<'_>], today: NaiveDate) -> Option<DateMatch> {
    let moved = names::direction(rest.first()?.word()?)?;
    let next = rest.get(1)?.word()?;
    if let Some(span) = names::span(next).filter(|span| *span != Span::Day) {
        return stretch(span, moved, today).map(|(start, end)| (start, end, 2));
    }
    let day = names::weekday(next)?;
    let from_monday = i64::from(day.num_days_from_monday()) - i64::from(today.weekday().num_days_from_monday());
    let date = match moved {
        -1 => shift_days(today, if from_monday < 0 { from_monday } else { from_monday - 7 })?,
        0 => shift_days(today, from_monday)?,
        _ => shift_days(today, if from_monday > 0 { from_monday } else { from_monday + 7 })?,
    };
    Some((date, date, 2))
}

/// Reads the last such day, today included: "on Monday", "в понедельник".
fn weekday(rest: &[Lexeme<'_>], before: Option<&Lexeme<'_>>, today: NaiveDate) -> Option<DateMatch> {
    let day = names::weekday(rest.first()?.word()?)?;
    let prepared = before.and_then(Lexeme::word).is_some_and(|word| DAY_PREPOSITIONS.has(word));
    let english =
        rest.first().is_some_and(|lexeme| lexeme.text.is_ascii() && lexeme.text.starts_with(char::is_uppercase));
    // "Неделя" is a week, "среда" also surroundings: they need a preposition.
    (prepared || english).then_some(())?;
    let back = (7 + i64::from(today.weekday().num_days_from_monday()) - i64::from(day.num_days_from_monday())) % 7;
    let date = shift_days(today, -back)?;
    Some((date, date, 1))
}

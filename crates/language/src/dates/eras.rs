//! Reads years with an era: "14 January 83 BC", "24 August AD 79", "15 марта 44 г. до н. э.".

use super::names;
use crate::lexer::Lexeme;

/// Lexemes, with case.
const BEFORE_CHRIST: &[&[&str]] = &[
    &["BC"],
    &["BCE"],
    &["B", ".", "C", "."],
    &["B", ".", "C"],
    &["до", "н", ".", "э"],
    &["до", "нашей", "эры"],
    &["до", "н", ".", "е"],
    &["до", "нашої", "ери"],
];

/// The earliest year before Christ in a full date.
const MAX_YEAR_BEFORE_CHRIST: u32 = 4_000;

/// After such a year "BC" before a name is British Columbia: "in 2019 BC Ferries raised fares".
const MODERN_YEARS: std::ops::RangeInclusive<u32> = 1_850..=2_100;

/// Returns the index after "BC" or "г. до н. э." at `index`, which follows a year.
pub(crate) fn before_christ(lexemes: &[Lexeme<'_>], index: usize) -> Option<usize> {
    let word = |at: usize| lexemes.get(at).and_then(Lexeme::word);
    let year = word(index).is_some_and(names::is_year_word);
    let dotted = year && lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('.'));
    let at = index + usize::from(year) + usize::from(dotted);
    let is = |offset: usize, part: &&str| {
        lexemes.get(at + offset).is_some_and(|lexeme| {
            // Latin letters need capitals.
            let written = if part.is_ascii() { lexeme.text } else { lexeme.word().unwrap_or(lexeme.text) };
            written == *part
        })
    };
    let fits = |mark: &&&[&str]| mark.iter().enumerate().all(|(offset, part)| is(offset, part));
    let end = BEFORE_CHRIST.iter().find(fits).map(|mark| at + mark.len())?;
    let year = index.checked_sub(1).and_then(|before| lexemes.get(before)).and_then(Lexeme::integer);
    let is_modern = year.is_some_and(|year| MODERN_YEARS.contains(&year));
    let is_province = lexemes.get(at).is_some_and(|mark| matches!(mark.text, "B" | "BC"))
        && lexemes.get(end).is_some_and(|next| next.text.starts_with(char::is_uppercase));
    (!(is_modern && is_province)).then_some(end)
}

/// Returns a year with era (negative before Christ) and its lexemes.
pub(super) fn year(behind: &[Lexeme<'_>]) -> Option<(i32, usize)> {
    let skip = usize::from(behind.first().is_some_and(|joint| joint.is_sign(',') || joint.word() == Some("of")));
    let number = |at: usize| {
        let year =
            behind.get(at).and_then(Lexeme::integer).filter(|year| (1..MAX_YEAR_BEFORE_CHRIST).contains(year))?;
        i32::try_from(year).ok()
    };
    let is_ad = |at: usize| behind.get(at).is_some_and(|era| era.text == "AD");
    if is_ad(skip) {
        Some((number(skip + 1)?, skip + 2))
    } else if let Some(end) = before_christ(behind, skip + 1) {
        Some((-number(skip)?, end))
    } else {
        // Day and year: "May 5 AD 79".
        Some((number(skip).filter(|_| is_ad(skip + 1) && number(skip + 2).is_none())?, skip + 2))
    }
}

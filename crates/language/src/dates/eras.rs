//! Reads years with an era: "14 January 83 BC", "24 August AD 79", "15 марта 44 г. до н. э.".
//!
//! "BC" may be British Columbia; the checks here separate the two.

use std::ops::RangeInclusive;

use super::names;
use crate::lexer::Lexeme;
use crate::lexicon::Words;
use crate::tokens;

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

/// The earliest year before Christ that is read.
const FARTHEST: u32 = 4_000;
/// For Latin marks, which later may be the province.
const FARTHEST_IN_LATIN: i32 = 1_000;

/// Years before a name: "1500 BC Hydro workers".
const DOUBTFUL: RangeInclusive<u32> = 1_000..=2_100;
/// Years of British Columbia.
const OF_THE_PROVINCE: RangeInclusive<u32> = 1_850..=2_100;

/// Words before a year, not before a count.
static BEFORE_A_YEAR: Words = Words::of("dates.eras.before_a_year");

/// Words after the province.
static VERBS: Words = Words::of("dates.eras.verbs");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Before Christ; the index after the letters.
    Era(usize),
    /// British Columbia; the year is of our era.
    Province,
    /// The figure is not read.
    Unclear,
}

/// Returns the meaning of the letters after a year. In years of the province they are an era only at the end of a
/// clause.
pub(crate) fn mark(lexemes: &[Lexeme<'_>], index: usize, year: u32, before: Option<&Lexeme<'_>>) -> Option<Mark> {
    let end = before_christ(lexemes, index)?;
    let latin = lexemes.get(index).is_some_and(|mark| mark.text.starts_with('B'));
    let late = OF_THE_PROVINCE.contains(&year);
    let Some(next) = lexemes.get(end).filter(|_| latin && DOUBTFUL.contains(&year)) else {
        return Some(Mark::Era(end));
    };
    let Some(word) = next.word() else {
        return Some(if late && next.is_number() { Mark::Unclear } else { Mark::Era(end) });
    };
    let prepared = before.and_then(Lexeme::word).is_some_and(|word| BEFORE_A_YEAR.has(word));
    // Years before Christ are mostly round.
    let province = if year.is_multiple_of(50) { Mark::Unclear } else { Mark::Province };
    let capital = next.text.starts_with(char::is_uppercase);
    let function = tokens::content_stems(next.text, Some("en")).is_empty();
    // "In 2000 B.C. The city"
    let closes = end.checked_sub(1).and_then(|dot| lexemes.get(dot)).is_some_and(|dot| dot.is_sign('.'));
    // "From 2000 BC to 1500 BC"
    let goes_on = matches!(word, "and" | "or" | "to" | "until" | "till")
        && lexemes.get(end + 1).is_some_and(Lexeme::is_number)
        && before_christ(lexemes, end + 2).is_some();
    Some(if late && !capital && VERBS.has(word) {
        province
    } else if function {
        if !late || goes_on || (capital && closes) { Mark::Era(end) } else { Mark::Unclear }
    } else {
        match (capital, late) {
            (true, true) => province,
            (true, false) if !prepared => Mark::Unclear,
            (false, true) if prepared => province,
            _ => Mark::Era(end),
        }
    })
}

pub(super) fn is_before_the_province(rest: &[Lexeme<'_>], before: Option<&Lexeme<'_>>) -> bool {
    let year = rest.first().and_then(Lexeme::integer);
    year.is_some_and(|year| mark(rest, 1, year, before) == Some(Mark::Province))
}

/// Whether it is too early for an exact day ("11 April 1274 BC") and not the province.
pub(super) fn has_a_doubtful_era(behind: &[Lexeme<'_>]) -> bool {
    let skip = usize::from(behind.first().is_some_and(|joint| joint.is_sign(',') || joint.word() == Some("of")));
    let year = behind.get(skip).and_then(Lexeme::integer);
    year.is_some_and(|year| DOUBTFUL.contains(&year) && !OF_THE_PROVINCE.contains(&year))
        && behind.get(skip + 1).is_some_and(|mark| mark.text.starts_with('B'))
        && before_christ(behind, skip + 1).is_some()
}

/// Returns the index after "BC" or "г. до н. э.".
pub(super) fn before_christ(lexemes: &[Lexeme<'_>], index: usize) -> Option<usize> {
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
    BEFORE_CHRIST.iter().find(fits).map(|mark| at + mark.len())
}

/// Returns a year with era (negative before Christ) and its lexemes.
pub(super) fn year(behind: &[Lexeme<'_>]) -> Option<(i32, usize)> {
    let skip = usize::from(behind.first().is_some_and(|joint| joint.is_sign(',') || joint.word() == Some("of")));
    let number = |at: usize| {
        let year = behind.get(at).and_then(Lexeme::integer).filter(|year| (1..FARTHEST).contains(year))?;
        i32::try_from(year).ok()
    };
    let is_ad = |at: usize| behind.get(at).is_some_and(|era| era.text == "AD");
    let (year, end) = if is_ad(skip) {
        (number(skip + 1)?, skip + 2)
    } else if let Some(end) = before_christ(behind, skip + 1) {
        let latin = behind.get(skip + 1).is_some_and(|mark| mark.text.starts_with('B'));
        (-number(skip).filter(|year| !latin || *year <= FARTHEST_IN_LATIN)?, end)
    } else {
        // Day and year: "May 5 AD 79".
        (number(skip).filter(|_| is_ad(skip + 1) && number(skip + 2).is_none())?, skip + 2)
    };
    // The province: "On 14 January 83 BC residents left".
    let counts = behind.get(end).is_some_and(|next| {
        next.text.starts_with(char::is_lowercase)
            && next.text.is_ascii()
            && !tokens::content_stems(next.text, Some("en")).is_empty()
    });
    (!counts).then_some((year, end))
}

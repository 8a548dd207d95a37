//! Reads decades: "the 1990s", "90-х годов", "30-40-ві роки".

use chrono::Datelike;

use super::{DateMatch, names, year_number, year_of, year_word};
use crate::lexer::Lexeme;
use crate::lexicon::Words;
use crate::tokens;

static ENDINGS: Words = Words::of("dates.decades.ending");

static BARE_ENDINGS: Words = Words::of("dates.decades.ending_alone");

static JOINTS: Words = Words::of("dates.decades.joint");

/// Reads 1990s, 1990-х, and the first decade of "30-40-ві роки".
pub(super) fn decade(rest: &[Lexeme<'_>], is_the: bool) -> Option<DateMatch> {
    let first_of_two = || {
        let [number, dash, behind @ ..] = rest else { return None };
        let short = number.integer().filter(|short| dash.is_sign('-') && short % 10 == 0)?;
        // "20-е или 30-е годы"
        let (ending, joint) = (behind.first().and_then(Lexeme::word), behind.get(1).and_then(Lexeme::word));
        let declined = ENDINGS.has_this(ending);
        let apart = declined && JOINTS.has_this(joint);
        let later = if apart { behind.get(2..)? } else { behind };
        let (second, ..) = written_decade(later, is_the)?;
        let century = if number.text.len() == 2 { second.year() / 100 * 100 } else { 0 };
        let year = Some(century + i32::try_from(short).ok()?).filter(|year| *year < second.year() && *year > 1000)?;
        Some((year_of(year)?.0, year_of(year + 9)?.1, if apart { 3 } else { 2 }))
    };
    written_decade(rest, is_the).or_else(first_of_two)
}

fn written_decade(rest: &[Lexeme<'_>], is_the: bool) -> Option<DateMatch> {
    let [number, next, ..] = rest else { return None };
    let year = year_number(number).or_else(|| decade_of_two_digits(rest, is_the)).filter(|year| year % 10 == 0)?;
    let glued = next.start == number.end;
    let ending = rest.get(2).and_then(Lexeme::word);
    // "the 1980's"
    let apostrophe = next.text.chars().all(tokens::is_apostrophe) && ending == Some("s");
    let hyphen = next.is_sign('-') && BARE_ENDINGS.has_this(ending);
    let taken = match (glued, next.word()) {
        (true, Some("s")) => 2,
        (true, _) if apostrophe || hyphen => 3,
        _ => return None,
    };
    let taken = taken + year_word(rest.get(taken..).unwrap_or_default());
    // "90-е годы XVIII века"
    let named = rest.get(taken..).and_then(century).filter(|_| number.text.len() == 2);
    let (year, taken) = named.map_or((year, taken), |(century, more)| (century + year % 100, taken + more));
    Some((year_of(year)?.0, year_of(year + 9)?.1, taken))
}

/// Reads a Roman century: first year (1700 for "XVIII века") and lexemes. "XX съезд" is none.
fn century(rest: &[Lexeme<'_>]) -> Option<(i32, usize)> {
    const CENTURIES: [&str; 8] = ["XIV", "XV", "XVI", "XVII", "XVIII", "XIX", "XX", "XXI"];
    let [roman, named, behind @ ..] = rest else { return None };
    let place = CENTURIES.iter().position(|known| *known == roman.text)?;
    let word = named.word()?;
    let short = matches!(word, "в" | "ст");
    if !short && !["век", "столет", "століт"].iter().any(|beginning| word.starts_with(beginning)) {
        return None;
    }
    let dot = short && behind.first().is_some_and(|sign| sign.is_sign('.'));
    i32::try_from(place).ok().map(|place| (1300 + 100 * place, 2 + usize::from(dot)))
}

/// Whether it is like "the 80s", "the early 90s". "In his 80s" is an age, "30s" a duration.
pub(super) fn is_the(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let passed = |lexeme: &&Lexeme<'_>| {
        lexeme.word().is_none() || matches!(lexeme.word(), Some("early" | "late" | "mid" | "middle"))
    };
    let before = lexemes.get(index.saturating_sub(4)..index).unwrap_or_default();
    before.iter().rev().find(|lexeme| !passed(lexeme)).and_then(Lexeme::word) == Some("the")
}

/// Reads "90-х годов", "the 80s". Decades before the thirties may be of this century.
fn decade_of_two_digits(rest: &[Lexeme<'_>], is_the: bool) -> Option<i32> {
    let [number, next, ..] = rest else { return None };
    let short = number.integer().filter(|short| number.text.len() == 2 && (30..100).contains(short))?;
    let named = rest.get(3).and_then(Lexeme::word).is_some_and(names::is_year_word);
    // "рок 80-х": few counts have this ending.
    let alone = short >= 50 && next.is_sign('-') && rest.get(2).is_some_and(|ending| ending.word() == Some("х"));
    // "мода в 90-е": no noun, so years.
    let ends = rest.get(3).is_none_or(|behind| behind.word().is_none());
    let accusative =
        short >= 50 && next.is_sign('-') && matches!(rest.get(2).and_then(Lexeme::word), Some("е" | "ті" | "ві"));
    let alone = alone || (accusative && ends);
    let plural = next.word() == Some("s") || rest.get(2).and_then(Lexeme::word) == Some("s");
    ((plural && is_the) || named || alone).then(|| i32::try_from(1900 + short).ok()).flatten()
}

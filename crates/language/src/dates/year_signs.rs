//! Other signs that four digits are a year than a preposition or the word "year".
//!
//! Words: `dates.told.*` in the lexicon.

use super::{counts_something, names, year_number};
use crate::lexer::Lexeme;
use crate::lexicon::{AND, BETWEEN, Words};
use crate::tokens;

static DETERMINERS: Words = Words::of("dates.told.determiner");

static RANGE_WORDS: Words = Words::of("dates.told.joined");

static OPENING_WORDS: Words = Words::of("dates.told.opening");

static RANGE_OPENINGS: Words = Words::of("dates.told.from");

/// Words after "between 1599 and 1601"; not counted.
static FOLLOWING_WORDS: Words = Words::of("dates.told.behind_years");

/// Events with a year after a hyphen; other names have a number: "Boeing-1950".
static EVENT_NAMES: Words = Words::of("dates.told.events");
/// Standards and satellites, numbered even in quotation marks.
static NUMBERED_NAMES: Words = Words::of("dates.told.numbered");
/// Lexemes searched for the opening quotation mark.
const MAX_QUOTED_LEXEMES: usize = 8;

/// Words after "the 1980s–2005".
static PERIOD_WORDS: Words = Words::of("dates.told.periods");

/// Words before "back to 1850".
static TRACING_VERBS: Words = Words::of("dates.told.traced");

/// Whether it is like "mid-2005", "the 1787 constitution", "Paris, 1789.", "between 1599 and 1601".
pub(super) fn has_year_sign(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let Some(number) = lexemes.get(index).and_then(Lexeme::integer) else { return false };
    let back = |steps: usize| index.checked_sub(steps).and_then(|at| lexemes.get(at));
    let word = |steps: usize| back(steps).and_then(Lexeme::word);
    let sign = |steps: usize, sign: char| back(steps).is_some_and(|lexeme| lexeme.is_sign(sign));
    let part = sign(1, '-') && matches!(word(2), Some("mid" | "early" | "late" | "pre" | "post"));
    // "c1998" on a title page.
    let glued = back(1).zip(lexemes.get(index)).is_some_and(|(c, year)| c.text == "c" && c.end == year.start);
    // Round ones are counts: "a 1000 watt lamp".
    let old = (1400..1900).contains(&number) && !number.is_multiple_of(100);
    let next = lexemes.get(index + 1);
    let noun = next.is_some_and(|next| next.word().is_some() && next.text.is_ascii());
    let named = old && noun && DETERMINERS.has_this(word(1));
    let capital = back(2).is_some_and(|name| name.text.chars().next().is_some_and(char::is_uppercase));
    let ends = next.is_none_or(|sign| [',', '.', ';', ')'].into_iter().any(|end| sign.is_sign(end)));
    // "Traces its roots back to 1749"
    let traced = (3..=6).any(|steps| word(steps).is_some_and(|verb| TRACING_VERBS.has(verb)));
    let back_to = word(1) == Some("to") && word(2) == Some("back") && traced;
    let circa = is_circa(lexemes, index) && sign(1, '.');
    let old_end = old && sign(1, ',') && capital && ends;
    part || glued
        || circa
        || named
        || back_to
        || old_end
        || are_years_between(lexemes, index)
        || is_of_an_event(lexemes, index)
}

/// Whether it is the year of an event: "Евровидение-2009", "Expo-2020". Round numbers are models ("Мираж-2000").
fn is_of_an_event(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let parts = index.checked_sub(2).and_then(|from| lexemes.get(from..=index));
    let Some([name, hyphen, number]) = parts else { return false };
    let year = year_number(number).is_some_and(|year| (1900..2100).contains(&year) && year % 100 != 0);
    let joined = hyphen.is_sign('-') && name.end == hyphen.start && hyphen.end == number.start;
    let is_quote = |sign: &Lexeme<'_>| ['"', '«', '»', '“', '”', '„'].into_iter().any(|quote| sign.is_sign(quote));
    let next = lexemes.get(index + 1);
    let quoted = next.is_some_and(is_quote)
        && lexemes.get(index.saturating_sub(MAX_QUOTED_LEXEMES)..index).is_some_and(|run| run.iter().any(is_quote));
    let event = name.word().is_some_and(|word| {
        is_an_event(word) || (quoted && !word.is_ascii() && word.chars().count() > 1 && !NUMBERED_NAMES.has(word))
    });
    let goes_on = next.is_some_and(|sign| sign.is_sign('-') && sign.start == number.end);
    year && joined && event && !goes_on
}

/// Maximum letters of a case ending.
const MAX_ENDING_LETTERS: usize = 3;

fn is_an_event(word: &str) -> bool {
    EVENT_NAMES.has_form(word, MAX_ENDING_LETTERS)
}

/// Whether "c." or "ca" precedes, but not "D.C. 500", "vitamin C. 300" or "25 °C. 300".
pub(crate) fn follows_circa(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let back = |steps: usize| index.checked_sub(steps).and_then(|at| lexemes.get(at));
    let dotted = back(1).is_some_and(|sign| sign.is_sign('.'));
    let word = back(1 + usize::from(dotted)).map_or("", |word| word.text);
    let named = word == "ca" || (dotted && word == "c");
    let before = back(2 + usize::from(dotted));
    let free = before.is_none_or(|sign| !(sign.is_sign('.') || sign.is_sign('°') || sign.is_sign('º')));
    named && free
}

/// Whether it is approximate: "c. 1850", "ca 400".
pub(crate) fn is_circa(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let digits = lexemes.get(index).filter(|number| number.is_number()).map_or(0, |number| {
        let whole = number.text.trim_end_matches('.');
        let plain = whole.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        if plain { whole.bytes().filter(u8::is_ascii_digit).count() } else { 0 }
    });
    (3..=4).contains(&digits) && follows_circa(lexemes, index)
}

/// Whether both count: "between 1950 and 2000 people".
pub(super) fn counts_with_the_next(rest: &[Lexeme<'_>], before: Option<&Lexeme<'_>>) -> bool {
    let between = BETWEEN.has_this(before.and_then(Lexeme::word));
    let and = AND.has_this(rest.get(1).and_then(Lexeme::word));
    let second = rest.get(2).and_then(year_number);
    let named = rest.get(3).and_then(Lexeme::word).is_some_and(names::is_year_word);
    between && and && !named && second.is_some_and(|year| counts_something(rest.get(3..).unwrap_or_default(), year))
}

/// Whether "between 1599 and 1601" has years: nothing is counted, and they are not round.
fn are_years_between(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let named = lexemes.get(index + 3).and_then(Lexeme::word).is_some_and(names::is_year_word);
    let round = |year: i32| year % 50 == 0 && !named;
    let year = |at: usize| lexemes.get(at).and_then(year_number).filter(|year| *year >= 1400 && !round(*year));
    let word = |at: usize| lexemes.get(at).and_then(Lexeme::word);
    let between = BETWEEN.has_this(index.checked_sub(1).and_then(word));
    let and = AND.has_this(word(index + 1));
    let near = year(index).zip(year(index + 2)).is_some_and(|(first, second)| (1..200).contains(&(second - first)));
    let free = lexemes.get(index + 3).is_none_or(|behind| {
        [',', '.', ';', ')'].into_iter().any(|end| behind.is_sign(end))
            || behind.word().is_some_and(|word| FOLLOWING_WORDS.has(word))
    });
    between && and && near && (free || named)
}

/// Whether it ends a period of decades: "From the 1040s to 1130", "the 1980s–2005". After a spaced dash it is a count
/// ("В 1990-е годы — 2050 жителей").
fn closes_decades(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let at = |steps: usize| index.checked_sub(steps).and_then(|at| lexemes.get(at));
    let word = |steps: usize| at(steps).and_then(Lexeme::word);
    let dash = at(1).is_some_and(|sign| ['-', '–', '—'].into_iter().any(|dash| sign.is_sign(dash)));
    let glued = dash
        && at(0).zip(at(1)).is_some_and(|(year, dash)| dash.end == year.start)
        && at(1).zip(at(2)).is_some_and(|(dash, decade)| decade.end == dash.start);
    // "годов", "гг."
    let dot = usize::from(at(2).is_some_and(|sign| sign.is_sign('.')) && word(3).is_some_and(names::is_year_word));
    let end = 2 + dot + usize::from(word(2 + dot).is_some_and(names::is_year_word));
    let number = match word(end) {
        Some("s") => end + 1,
        Some("х" | "е" | "ті" | "ві" | "тих") if at(end + 1).is_some_and(|sign| sign.is_sign('-')) => end + 2,
        _ => return false,
    };
    let decade = at(number).and_then(year_number).filter(|decade| decade % 10 == 0);
    let opens = |steps: usize| OPENING_WORDS.has_this(word(steps));
    let opened = (number + 1..=number + 3).any(opens);
    let from = opened && matches!(word(1), Some("to" | "до" | "по"));
    let counted = lexemes.get(index + 1).is_some_and(|noun| {
        noun.word().is_some_and(|word| !names::is_year_word(word) && !PERIOD_WORDS.has(word))
            && !tokens::content_stems(noun.text, None).is_empty()
    });
    let until = matches!(word(1), Some("until" | "till")) || (dash && (glued || opened) && !counted);
    let years = lexemes.get(index).and_then(year_number).zip(decade).map(|(year, decade)| year - decade);
    (until || from) && years.is_some_and(|years| (1..300).contains(&years))
}

/// Whether it ends "from 1820 to 1830".
pub(super) fn closes_a_period(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let back = |steps: usize| index.checked_sub(steps).and_then(|at| lexemes.get(at));
    let word = |steps: usize| back(steps).and_then(Lexeme::word);
    let joined = RANGE_WORDS.has_this(word(1)) && back(2).is_some_and(|first| year_number(first).is_some());
    let period = joined
        && match word(3) {
            Some("between" | "между" | "між") => {
                index.checked_sub(2).is_some_and(|first| are_years_between(lexemes, first))
            }
            Some(word) => RANGE_OPENINGS.has(word),
            None => false,
        };
    period || closes_decades(lexemes, index)
}

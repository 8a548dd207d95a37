//! What makes four digits a year beside a preposition and the word "year".

use super::{counts_something, names, year_number};
use crate::language::lexer::Lexeme;

/// Words behind "between 1599 and 1601" that neither is counted by.
const BEHIND_YEARS: &[&str] = &[
    "in",
    "at",
    "by",
    "on",
    "for",
    "from",
    "with",
    "under",
    "during",
    "as",
    "when",
    "while",
    "the",
    "в",
    "во",
    "на",
    "при",
    "под",
    "с",
    "со",
    "по",
    "у",
    "з",
    "із",
    "під",
    "за",
    "для",
    "через",
];

/// Words before "back to 1850" that speak of when something began.
const TRACED: &[&str] =
    &["dates", "date", "dating", "dated", "trace", "traces", "traced", "goes", "go", "going", "went"];

/// "mid-2005", "c. 1850", "the 1787 constitution", "Paris, 1789.", "between 1599 and 1601".
pub(super) fn is_told_as_a_year(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let Some(number) = lexemes.get(index).and_then(Lexeme::integer) else { return false };
    let back = |steps: usize| index.checked_sub(steps).and_then(|at| lexemes.get(at));
    let word = |steps: usize| back(steps).and_then(Lexeme::word);
    let sign = |steps: usize, sign: char| back(steps).is_some_and(|lexeme| lexeme.is_sign(sign));
    let part = sign(1, '-') && matches!(word(2), Some("mid" | "early" | "late" | "pre" | "post"));
    // "c1998" on a title page.
    let glued = back(1).zip(lexemes.get(index)).is_some_and(|(c, year)| c.text == "c" && c.end == year.start);
    // Older years, round ones apart: "a 1000 watt lamp".
    let old = (1400..1900).contains(&number) && !number.is_multiple_of(100);
    let next = lexemes.get(index + 1);
    let noun = next.is_some_and(|next| next.word().is_some() && next.text.is_ascii());
    let named = old && noun && matches!(word(1), Some("the" | "a" | "an" | "his" | "her" | "their" | "its"));
    let capital = back(2).is_some_and(|name| name.text.chars().next().is_some_and(char::is_uppercase));
    let ends = next.is_none_or(|sign| [',', '.', ';', ')'].into_iter().any(|end| sign.is_sign(end)));
    // "Traces its roots back to 1749"
    let traced = (3..=6).any(|steps| word(steps).is_some_and(|verb| TRACED.contains(&verb)));
    let back_to = word(1) == Some("to") && word(2) == Some("back") && traced;
    let circa = is_circa(lexemes, index) && sign(1, '.');
    let old_end = old && sign(1, ',') && capital && ends;
    part || glued || circa || named || back_to || old_end || are_years_between(lexemes, index)
}

/// "c. 1850", "ca 400": as it is written, for "D.C. 500", "vitamin C. 300" and "25 °C. 300" are none.
pub(crate) fn is_circa(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let back = |steps: usize| index.checked_sub(steps).and_then(|at| lexemes.get(at));
    let dotted = back(1).is_some_and(|sign| sign.is_sign('.'));
    let word = back(1 + usize::from(dotted)).map_or("", |word| word.text);
    let named = word == "ca" || (dotted && word == "c");
    let before = back(2 + usize::from(dotted));
    let free = before.is_none_or(|sign| !(sign.is_sign('.') || sign.is_sign('°') || sign.is_sign('º')));
    let digits = lexemes.get(index).filter(|number| number.is_number()).map_or(0, |number| {
        let whole = number.text.trim_end_matches('.');
        let plain = whole.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        if plain { whole.bytes().filter(u8::is_ascii_digit).count() } else { 0 }
    });
    named && free && (3..=4).contains(&digits)
}

/// "between 1950 and 2000 people": the first number counts with the second.
pub(super) fn counts_with_the_next(rest: &[Lexeme<'_>], before: Option<&Lexeme<'_>>) -> bool {
    let between = matches!(before.and_then(Lexeme::word), Some("between" | "между" | "між"));
    let and = matches!(rest.get(1).and_then(Lexeme::word), Some("and" | "и" | "і" | "та"));
    let second = rest.get(2).and_then(year_number);
    let named = rest.get(3).and_then(Lexeme::word).is_some_and(names::is_year_word);
    between && and && !named && second.is_some_and(|year| counts_something(rest.get(3..).unwrap_or_default(), year))
}

/// Whether the first year of "between 1599 and 1601" stands here: two years where nothing is counted. Round ones are rather
/// counts.
fn are_years_between(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let named = lexemes.get(index + 3).and_then(Lexeme::word).is_some_and(names::is_year_word);
    let round = |year: i32| year % 50 == 0 && !named;
    let year = |at: usize| lexemes.get(at).and_then(year_number).filter(|year| *year >= 1400 && !round(*year));
    let word = |at: usize| lexemes.get(at).and_then(Lexeme::word);
    let between = matches!(index.checked_sub(1).and_then(word), Some("between" | "между" | "між"));
    let and = matches!(word(index + 1), Some("and" | "и" | "і" | "та"));
    let near = year(index).zip(year(index + 2)).is_some_and(|(first, second)| (1..200).contains(&(second - first)));
    let free = lexemes.get(index + 3).is_none_or(|behind| {
        [',', '.', ';', ')'].into_iter().any(|end| behind.is_sign(end))
            || behind.word().is_some_and(|word| BEHIND_YEARS.contains(&word))
    });
    between && and && near && (free || named)
}

/// Whether the number is the second year of "from 1820 to 1830".
pub(super) fn closes_a_period(lexemes: &[Lexeme<'_>], index: usize) -> bool {
    let back = |steps: usize| index.checked_sub(steps).and_then(|at| lexemes.get(at));
    let word = |steps: usize| back(steps).and_then(Lexeme::word);
    let joined = matches!(word(1), Some("to" | "until" | "till" | "and" | "до" | "по" | "и" | "і" | "та"))
        && back(2).is_some_and(|first| year_number(first).is_some());
    joined
        && match word(3) {
            Some("between" | "между" | "між") => {
                index.checked_sub(2).is_some_and(|first| are_years_between(lexemes, first))
            }
            Some(word) => matches!(word, "from" | "с" | "со" | "з" | "із" | "від" | "от"),
            None => false,
        }
}

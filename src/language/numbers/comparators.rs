//! "More than", "не менее", "майже": what a text says about a number beside its value.

use super::Comparator;
use crate::language::lexer::Lexeme;

/// Words right before a number. The longest that fits decides, so "no more than" is not "more than".
const BEFORE: &[(Comparator, &str)] = &[
    (
        Comparator::AtLeast,
        "at least;no fewer than;no less than;not less than;not fewer than;a minimum of;minimum;minimum of;не менее;не меньше;не менее чем;не меньше чем;\
         как минимум;минимум;по меньшей мере;хотя бы;щонайменше;не менше;не менш як;не менш ніж;не менше ніж;принаймні;як мінімум;мінімум;≥",
    ),
    (
        Comparator::MoreThan,
        "more than;over;above;exceeding;exceeds;exceeded;in excess of;greater than;upwards of;just over;well over;higher than;longer than;\
         более;более чем;больше;больше чем;свыше;выше;превышает;превысило;превысил;превысила;дольше;понад;більше;більше ніж;більш як;більш ніж;вище;\
         перевищує;перевищила;перевищив;>",
    ),
    (
        Comparator::AtMost,
        "up to;at most;no more than;not more than;a maximum of;maximum;maximum of;as many as;as much as;до;не более;не больше;не более чем;\
         максимум;не больше чем;не выше;не більше;не більш як;не більше ніж;щонайбільше;≤",
    ),
    (
        Comparator::LessThan,
        "less than;fewer than;under;below;lower than;just under;shorter than;short of;менее;менее чем;меньше;меньше чем;ниже;менше;менше ніж;\
         менш як;менш ніж;нижче;<",
    ),
    (
        Comparator::About,
        "about;around;approximately;roughly;some;nearly;almost;close to;circa;an estimated;estimated;approx;approx .;почти;около;примерно;\
         порядка;приблизительно;ориентировочно;где-то;едва ли не;чуть больше;чуть меньше;почти что;майже;близько;приблизно;орієнтовно;десь;~;≈;±;\
         in the region of;в районе",
    ),
];

/// Words right after a number and its unit.
const AFTER: &[(Comparator, &str)] = &[
    (
        Comparator::AtLeast,
        "or more;or higher;or above;or older;or over;and above;and up;and over;and more;and older;plus;+;и более;и больше;и выше;и старше;или более;\
         и свыше;і більше;та більше;й більше;або більше;і вище",
    ),
    (
        Comparator::AtMost,
        "or less;or fewer;or lower;or under;and under;and below;и менее;и меньше;или менее;і менше;та менше;або менше",
    ),
];

/// Prepositions between a comparator and its number.
const PREPOSITIONS: &[&str] = &["в", "во", "на", "с", "со", "за", "к", "по", "у", "з", "із", "через"];

/// How many lexemes the longest pattern has.
const LONGEST: usize = 4;

/// The comparator that ends right before `index`.
pub(super) fn before(lexemes: &[Lexeme<'_>], index: usize) -> Option<Comparator> {
    let ending_at = |end: usize| {
        let from = end.saturating_sub(LONGEST);
        let run: Vec<&str> = lexemes.get(from..end)?.iter().map(text_of).collect();
        longest(BEFORE, &|pattern: &&str| run.ends_with(&pattern.split(' ').collect::<Vec<_>>()))
    };
    // "более чем в 20 странах", "почти на 5 %": a preposition may stand between, save for "выше на 5 %".
    let prepared = index
        .checked_sub(1)
        .filter(|at| lexemes.get(*at).and_then(Lexeme::word).is_some_and(|word| PREPOSITIONS.contains(&word)));
    let through = |end: usize| {
        let than = end.checked_sub(1).and_then(|at| lexemes.get(at)).and_then(Lexeme::word);
        let compares = matches!(than, Some("чем" | "ніж" | "як"));
        ending_at(end).filter(|found| compares || matches!(found, Comparator::About | Comparator::AtLeast))
    };
    // "как минимум, четыре": a limit may be set off by commas. A maximum that ends a clause is none.
    let set_off = index.checked_sub(1).filter(|at| lexemes.get(*at).is_some_and(|lexeme| lexeme.is_sign(',')));
    let limit = |end: usize| ending_at(end).filter(|found| *found == Comparator::AtLeast);
    ending_at(index).or_else(|| set_off.and_then(limit)).or_else(|| prepared.and_then(through))
}

/// The comparator that begins right at `index`, and how many lexemes it takes.
pub(super) fn after(lexemes: &[Lexeme<'_>], index: usize) -> Option<Comparator> {
    let run: Vec<&str> = lexemes.get(index..)?.iter().take(LONGEST).map(text_of).collect();
    // "1+1" is a sum.
    let sum = lexemes
        .get(index)
        .zip(lexemes.get(index + 1))
        .is_some_and(|(plus, next)| plus.is_sign('+') && next.is_number() && plus.end == next.start);
    if sum {
        return None;
    }
    let fits = |pattern: &&str| run.starts_with(&pattern.split(' ').collect::<Vec<_>>());
    longest(AFTER, &fits)
}

fn text_of<'a>(lexeme: &'a Lexeme<'_>) -> &'a str {
    lexeme.word().unwrap_or(lexeme.text)
}

fn longest(table: &[(Comparator, &'static str)], fits: &dyn Fn(&&str) -> bool) -> Option<Comparator> {
    table
        .iter()
        .flat_map(|(comparator, patterns)| patterns.split(';').map(|pattern| (*comparator, pattern)))
        .filter(|(_, pattern)| fits(pattern))
        .max_by_key(|(_, pattern)| pattern.split(' ').count())
        .map(|pair| pair.0)
}

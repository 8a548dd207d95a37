//! Relative dates told in full: a claim that is read a year later must still say when.

use chrono::{DateTime, Datelike, NaiveDate, Utc};

use super::{DateMention, dates, names};
use crate::language::has_cyrillic;
use crate::language::lexer::{Lexeme, lex};

const ENGLISH: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Of a month alone and behind a day.
const RUSSIAN: [(&str, &str); 12] = [
    ("январь", "января"),
    ("февраль", "февраля"),
    ("март", "марта"),
    ("апрель", "апреля"),
    ("май", "мая"),
    ("июнь", "июня"),
    ("июль", "июля"),
    ("август", "августа"),
    ("сентябрь", "сентября"),
    ("октябрь", "октября"),
    ("ноябрь", "ноября"),
    ("декабрь", "декабря"),
];
const UKRAINIAN: [(&str, &str); 12] = [
    ("січень", "січня"),
    ("лютий", "лютого"),
    ("березень", "березня"),
    ("квітень", "квітня"),
    ("травень", "травня"),
    ("червень", "червня"),
    ("липень", "липня"),
    ("серпень", "серпня"),
    ("вересень", "вересня"),
    ("жовтень", "жовтня"),
    ("листопад", "листопада"),
    ("грудень", "грудня"),
];
/// Where one of these stands, "on Monday" may be the next one.
const AHEAD: &[&str] = &[
    "will",
    "shall",
    "ll",
    "would",
    "due",
    "going",
    "plan",
    "plans",
    "planned",
    "scheduled",
    "set",
    "expected",
    "expects",
    "intends",
    "until",
    "till",
    "by",
    "будет",
    "будут",
    "состоится",
    "состоятся",
    "пройдет",
    "пройдёт",
    "пройдут",
    "планирует",
    "планируют",
    "намерен",
    "намерена",
    "намерены",
    "ожидается",
    "должен",
    "должна",
    "должны",
    "до",
    "буде",
    "будуть",
    "відбудеться",
    "відбудуться",
    "пройде",
    "пройдуть",
    "планує",
    "планують",
    "має",
    "мають",
    "очікується",
];
const PREPOSITIONS: &[&str] = &["on", "since", "в", "во", "у", "с", "со", "з", "із"];
/// "Three years ago" is about that year; "30 years ago" is about that time.
const YEARS_TO_TELL: i32 = 3;

/// The text of one statement with the date behind what counts from the day it was written: "on Tuesday (17 November
/// 2026)". What may mean another day, is part of a name, or is told in full beside it stays as it is.
pub fn in_full(text: &str, language: Option<&str>, written: DateTime<Utc>) -> String {
    let mentions = dates(text, Some(written));
    let lexemes = lex(text, false);
    let mut told = text.to_owned();
    for mention in mentions.iter().rev().filter(|mention| mention.is_relative) {
        let elsewhere = mentions
            .iter()
            .any(|other| other.offset != mention.offset && other.start >= mention.start && other.end <= mention.end);
        if elsewhere || !is_plain(mention, &lexemes) {
            continue;
        }
        let Some(date) = date(mention, language, written.date_naive()) else { continue };
        let after = mention.offset + mention.text.len();
        if told.get(after..).is_some_and(|rest| !rest.trim_start().starts_with('(')) {
            told.insert_str(after, &format!(" ({date})"));
        }
    }
    told
}

/// Whether the words mean that day and no other, and are no part of a name.
fn is_plain(mention: &DateMention, lexemes: &[Lexeme<'_>]) -> bool {
    let Some(first) = lexemes.iter().position(|lexeme| lexeme.start == mention.offset) else { return false };
    let end = mention.offset + mention.text.len();
    let own: Vec<&Lexeme<'_>> = lexemes.iter().filter(|one| one.start >= mention.offset && one.end <= end).collect();
    let words: Vec<&str> = own.iter().filter_map(|lexeme| lexeme.word()).collect();
    // "3 May" and "in May" want a year, and which is a guess.
    if words.is_empty() || words.iter().any(|word| names::month(word).is_some()) {
        return false;
    }
    let before = first.checked_sub(1).and_then(|place| lexemes.get(place));
    let after = lexemes.get(first + own.len());
    let is_capital = |lexeme: &&Lexeme<'_>| lexeme.text.starts_with(char::is_uppercase);
    let prepared = before.and_then(Lexeme::word).is_some_and(|word| PREPOSITIONS.contains(&word));
    if mention.text.starts_with(char::is_uppercase) && !prepared {
        // "USA Today", "Black Friday", "The Sunday Times", "The Tonight Show".
        let in_a_name = before.as_ref().is_some_and(is_capital);
        let begins_a_name = first > 0 && after.as_ref().is_some_and(is_capital);
        if in_a_name || begins_a_name {
            return false;
        }
    }
    let bare_weekday = words.len() == 1 && words.first().is_some_and(|word| names::weekday(word).is_some());
    let ahead = || lexemes.iter().filter_map(Lexeme::word).any(|word| AHEAD.contains(&word));
    // "On Mondays" is every week.
    let every = mention.text.ends_with('s');
    !bare_weekday || !(ahead() || every)
}

/// The day, the month or the year as the text's language writes it; nothing for weeks and for years long past.
fn date(mention: &DateMention, language: Option<&str>, today: NaiveDate) -> Option<String> {
    let DateMention { start, end, .. } = *mention;
    let cyrillic = has_cyrillic(&mention.text);
    let ukrainian = cyrillic && language == Some("uk");
    let month = usize::try_from(start.month0()).ok()?;
    let (day, year) = (start.day(), start.year());
    let months = if ukrainian { &UKRAINIAN } else { &RUSSIAN };
    if start == end {
        return Some(match (cyrillic, ukrainian) {
            (false, _) => format!("{day} {} {year}", ENGLISH.get(month)?),
            (true, false) => format!("{day} {} {year} года", months.get(month)?.1),
            (true, true) => format!("{day} {} {year} року", months.get(month)?.1),
        });
    }
    if (start.year(), start.month()) == (end.year(), end.month()) && end.day() > 27 && start.day() == 1 {
        return Some(match (cyrillic, ukrainian) {
            (false, _) => format!("{} {year}", ENGLISH.get(month)?),
            (true, false) => format!("{} {year} года", months.get(month)?.0),
            (true, true) => format!("{} {year} року", months.get(month)?.0),
        });
    }
    let whole_year = start.year() == end.year() && start.ordinal() == 1 && (end.month(), end.day()) == (12, 31);
    (whole_year && (today.year() - year).abs() <= YEARS_TO_TELL).then(|| match (cyrillic, ukrainian) {
        (false, _) => year.to_string(),
        (true, false) => format!("{year} год"),
        (true, true) => format!("{year} рік"),
    })
}

#[cfg(test)]
mod tests;

//! Finds figures that are no quantities: times of day and list marks.

use super::Reader;
use crate::lexer::{Kind, Lexeme};
use crate::lexicon::Words;

/// Units of a time of day: "часов".
static HOURS: Words = Words::of("numbers.skipped.hour");
/// Words after such a unit: "2 часа дня".
static DAY_WORDS: Words = Words::of("numbers.skipped.of_day");
/// Words after an hour: "11 pm".
static HOUR_SUFFIXES: Words = Words::of("numbers.skipped.after_hour");
/// Parts of the day; after 2–4 possibly counts ("три вечера").
static PARTS_OF_DAY: Words = Words::of("numbers.skipped.parts_of_day");

impl Reader<'_> {
    /// Returns the index after a time of day or a list mark.
    pub(super) fn skipped(&self, index: usize) -> Option<usize> {
        let lexeme = self.lexemes.get(index).filter(|lexeme| lexeme.is_number())?;
        self.clock_time(index).or_else(|| self.is_list_mark(index, lexeme).then_some(index + 1))
    }

    /// Reads "15:30", "2:01:09", "11 a.m.", "7 вечера".
    fn clock_time(&self, index: usize) -> Option<usize> {
        let colon = |at: usize| {
            self.lexemes.get(at).is_some_and(|sign| sign.is_sign(':'))
                && self.glued(at - 1, at)
                && self.glued(at, at + 1)
                && self.lexemes.get(at + 1).is_some_and(Lexeme::is_number)
        };
        if colon(index + 1) {
            return Some(index + if colon(index + 3) { 5 } else { 3 });
        }
        let word = self.word_at(Some(index + 1))?;
        let sign = |at: usize| self.lexemes.get(at).is_some_and(|sign| sign.is_sign('.'));
        let is_dotted = matches!(word, "a" | "p") && sign(index + 2) && self.word_at(Some(index + 3)) == Some("m");
        let is_late = self.lexemes.get(index)?.integer().is_some_and(|hour| (5..=12).contains(&hour));
        let is_hour = HOUR_SUFFIXES.has(word) || is_dotted || PARTS_OF_DAY.has(word) && is_late;
        is_hour.then_some(index + 2).or_else(|| self.hour_of_day(index))
    }

    /// Reads "в 12 часов 30 минут", "около двух часов дня".
    pub(super) fn hour_of_day(&self, index: usize) -> Option<usize> {
        let word = |at: usize| self.word_at(Some(at));
        HOURS.has_this(word(index + 1)).then_some(())?;
        let has_minutes = self.lexemes.get(index + 2).is_some_and(Lexeme::is_number)
            && word(index + 3).is_some_and(|word| word.starts_with("минут") || word.starts_with("хвилин"));
        let end = index + 2 + 2 * usize::from(has_minutes);
        let before = self.word_at(index.checked_sub(1));
        let is_at = matches!(before, Some("в" | "к" | "о" | "об"));
        let is_ukrainian = matches!(before, Some("о" | "об")) && word(index + 1) == Some("годині");
        (is_ukrainian || DAY_WORDS.has_this(word(end)) || (has_minutes && is_at)).then_some(end)
    }

    /// Whether it is a list mark: "2. A point", "1) First". It has a dot and a capital, or an unopened bracket.
    fn is_list_mark(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let Some(number) = lexeme.integer().filter(|number| *number < 1_000 && self.glued(index, index + 1)) else {
            return false;
        };
        let before = self.lexemes.get(..index).unwrap_or_default();
        let ended = before.last().map(|sign| matches!(sign.kind, Kind::Sign('.' | ';' | '!' | '?' | ')')));
        // "Items: 1. One", but "Killed: 37. Wounded: 120."
        let begins = ended.unwrap_or(true) || number == 1 && before.last().is_some_and(|sign| sign.is_sign(':'));
        let capital = match self.lexemes.get(index + 2) {
            Some(word) => word.text.starts_with(char::is_uppercase),
            None => ended == Some(true),
        };
        let bracket = || before.iter().rev().find(|sign| matches!(sign.kind, Kind::Sign('(' | ')')));
        let is_opened = || bracket().is_some_and(|sign| sign.is_sign('('));
        self.lexemes.get(index + 1).is_some_and(|sign| match sign.kind {
            Kind::Sign('.') => begins && capital,
            Kind::Sign(')') => !is_opened(),
            _ => false,
        })
    }
}

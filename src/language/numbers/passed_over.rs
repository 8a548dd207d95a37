//! Figures that say nothing of how many: times of day, telephone numbers, the marks of a list, days without a year.

use super::{Reader, digits, units};
use crate::language::lexer::{Kind, Lexeme};

/// Words behind an hour: of the day, not of a span.
const HOURS_OF_DAY: &[&str] = &["am", "pm", "мск", "o'clock"];
/// The same, which after two, three and four may be a count of evenings and mornings.
const PARTS_OF_DAY: &[&str] = &["вечера", "утра", "ночи", "вечора", "ранку"];

/// Behind "часов": the hour is one of the day.
const OF_DAY: &[&str] = &["дня", "утра", "вечера", "ночи", "пополудни", "ранку", "вечора", "дні"];

impl Reader<'_> {
    /// The index behind a figure that is no quantity.
    pub(super) fn passed_over(&self, index: usize) -> Option<usize> {
        let lexeme = self.lexemes.get(index).filter(|lexeme| lexeme.is_number())?;
        if digits::parse(lexeme.text, self.comma_decimal, self.dot_groups).is_none() {
            return Some(index + 1);
        }
        self.time(index, lexeme).or_else(|| self.telephone(index)).or_else(|| {
            let is_none = self.marks_an_entry(index, lexeme)
                || self.dotted_day_or_time(index, lexeme)
                || self.is_a_reference(index)
                || self.is_before_christ(index)
                || self.is_a_short_year(index, lexeme);
            is_none.then_some(index + 1)
        })
    }

    /// "15:30", "11 am", "11 a.m.", "0800 hours", "7 вечера".
    fn time(&self, index: usize, lexeme: &Lexeme<'_>) -> Option<usize> {
        let next = self.lexemes.get(index + 1)?;
        if next.is_sign(':') && self.glued(index, index + 1) && self.glued(index + 1, index + 2) {
            let seconds = self.lexemes.get(index + 3).is_some_and(|sign| sign.is_sign(':'))
                && self.lexemes.get(index + 4).is_some_and(Lexeme::is_number);
            let end = index + 3 + 2 * usize::from(seconds);
            return self.lexemes.get(index + 2)?.is_number().then_some(end);
        }
        if let Some(end) = self.hour_of_day(index) {
            return Some(end);
        }
        let word = next.word()?;
        let hour = lexeme.integer();
        let spelled_out = matches!(word, "a" | "p")
            && self.lexemes.get(index + 2).is_some_and(|sign| sign.is_sign('.'))
            && self.lexemes.get(index + 3).and_then(Lexeme::word) == Some("m");
        let military = lexeme.text.len() == 4 && lexeme.text.starts_with('0') && matches!(word, "hours" | "hrs");
        let part_of_day = PARTS_OF_DAY.contains(&word) && hour.is_some_and(|hour| (5..=12).contains(&hour));
        (HOURS_OF_DAY.contains(&word) || spelled_out || military || part_of_day).then_some(index + 2)
    }

    /// "в 12 часов 30 минут", "около 2 часов дня".
    pub(super) fn hour_of_day(&self, index: usize) -> Option<usize> {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        matches!(word(index + 1), Some("час" | "часа" | "часов" | "години" | "годині" | "година")).then_some(())?;
        let at = index.checked_sub(1).and_then(word);
        let part = |at: usize| word(at).is_some_and(|word| OF_DAY.contains(&word));
        let minutes = self.lexemes.get(index + 2).is_some_and(Lexeme::is_number)
            && word(index + 3).is_some_and(|word| word.starts_with("минут") || word.starts_with("хвилин"));
        let end = index + 2 + 2 * usize::from(minutes);
        (part(end) || (minutes && matches!(at, Some("в" | "к" | "о" | "об")))).then_some(end)
    }

    /// "[7]": a reference.
    fn is_a_reference(&self, index: usize) -> bool {
        let sign = |at: Option<usize>, sign: char| {
            at.and_then(|at| self.lexemes.get(at)).is_some_and(|lexeme| lexeme.is_sign(sign))
        };
        sign(index.checked_sub(1), '[') && sign(Some(index + 1), ']')
    }

    /// "57 BC": a year.
    fn is_before_christ(&self, index: usize) -> bool {
        self.lexemes.get(index + 1).is_some_and(|era| matches!(era.text, "BC" | "BCE"))
    }

    /// "'40": a year of two digits.
    fn is_a_short_year(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let sign = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let earlier = index.checked_sub(2).and_then(|at| self.lexemes.get(at));
        let apostrophe =
            sign.filter(|sign| matches!(sign.kind, Kind::Sign('\'' | '’' | '‘')) && sign.end == lexeme.start);
        let free = apostrophe.is_some_and(|sign| earlier.is_none_or(|earlier| earlier.end < sign.start));
        free && lexeme.text.len() == 2
    }

    /// "1-800-948-4267": three groups of digits or more, joined.
    fn telephone(&self, index: usize) -> Option<usize> {
        let mut end = index;
        let joined = |at: usize| {
            self.glued(at, at + 1)
                && self.lexemes.get(at + 1).is_some_and(|sign| matches!(sign.kind, Kind::Sign('-' | '‑')))
                && self.glued(at + 1, at + 2)
                && self.lexemes.get(at + 2).is_some_and(Lexeme::is_number)
        };
        while joined(end) {
            end += 2;
        }
        (end >= index + 4).then_some(end + 1)
    }

    /// "2. A point of a list": a small number that begins the text, with a dot and a capital behind it.
    fn marks_an_entry(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let small = lexeme.integer().is_some_and(|number| number < 1_000);
        let dot = self.lexemes.get(1).is_some_and(|sign| sign.is_sign('.') || sign.is_sign(')')) && self.glued(0, 1);
        let capital = self.lexemes.get(2).is_some_and(|word| word.text.chars().next().is_some_and(char::is_uppercase));
        index == 0 && small && dot && capital
    }

    /// "20.07", "19.58" where decimals have a comma: a day or a time, unless a unit says otherwise.
    fn dotted_day_or_time(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let Some((before, after)) = lexeme.text.split_once('.').filter(|_| self.comma_decimal) else { return false };
        let of_two = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() == 2);
        let (Some(first), Some(second)) = (of_two(before), of_two(after)) else { return false };
        let day = (1..=31).contains(&first) && (1..=12).contains(&second);
        let time = first < 24 && second < 60;
        let rest = self.lexemes.get(index + 1..).unwrap_or_default();
        (day || time)
            && units::unit(rest, self.glued(index, index + 1)).is_none()
            && self.scale(index, index + 1).is_none()
    }
}

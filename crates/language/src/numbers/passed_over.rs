//! Finds figures that are no quantities: times of day, telephone numbers, list marks, days without a year.
//!
//! Words: `numbers.passed_over.*` in the lexicon.

use super::{Reader, dates, digits, units, words};
use crate::function_words::AND_OR_Y;
use crate::lexer::{Kind, Lexeme};
use crate::lexicon::Words;

static IS_ONE: Words = Words::of("numbers.passed_over.is_one");

static OF_THEM: Words = Words::of("numbers.passed_over.of_them");

static HOUR_WORDS: Words = Words::of("numbers.passed_over.hour");

static HOURS_COUNTED: Words = Words::of("numbers.passed_over.hour_counted");

/// Words after an hour of the day.
static HOURS_OF_DAY: Words = Words::of("numbers.passed_over.hours_of_day");
/// Parts of the day; after 2–4 possibly counts ("три вечера").
static PARTS_OF_DAY: Words = Words::of("numbers.passed_over.parts_of_day");

/// Words after "часов" for an hour of the day.
static OF_DAY: Words = Words::of("numbers.passed_over.of_day");

pub(super) fn is_part_of_day(word: &str) -> bool {
    OF_DAY.has(word)
}

/// Whether digits can be an hour before a zone: "10.40", "2130".
fn is_an_hour(digits: &str) -> bool {
    let (hour, minute) = match (digits.split_once('.'), digits.len()) {
        (Some((hour, minute)), _) => (hour, minute),
        (None, 4) => digits.split_at_checked(2).unwrap_or_default(),
        (None, _) => (digits, "00"),
    };
    let below = |part: &str, limit: u32| part.len() <= 2 && part.parse::<u32>().is_ok_and(|part| part <= limit);
    below(hour, 24) && minute.len() == 2 && below(minute, 59)
}

/// Events that begin at the hour.
static BEGINNINGS: Words = Words::of("numbers.passed_over.beginnings");

/// Events that last the hours.
static LASTING: Words = Words::of("numbers.passed_over.lasting");
/// Lexemes searched for such a word.
const APPOINTED: usize = 7;

const MOST_GROUPS: usize = 8;
/// Lexemes back to the previous mark or opening bracket.
const FARTHEST_MARK: usize = 100;
/// Lexemes of a reference on each side.
const LONGEST_REFERENCE: usize = 12;

impl Reader<'_> {
    /// Returns the index after a figure that is no quantity.
    pub(super) fn passed_over(&self, index: usize) -> Option<usize> {
        let lexeme = self.lexemes.get(index).filter(|lexeme| lexeme.is_number())?;
        if digits::parse(lexeme.text, self.comma_decimal, self.dot_groups).is_none() {
            return Some(index + 1);
        }
        self.time(index, lexeme)
            .or_else(|| self.telephone(index))
            .or_else(|| self.idiom(index))
            .or_else(|| self.citation(index))
            .or_else(|| {
                let is_none = self.marks_an_entry(index, lexeme)
                    || self.dotted_day_or_time(index, lexeme)
                    || self.is_a_reference(index)
                    || self.is_told_again(index, lexeme)
                    || self.is_a_decade(index, lexeme)
                    || self.is_before_christ(index)
                    || self.is_one_of_them(index, lexeme)
                    || self.is_an_offset(index)
                    || self.names_a_round(index, lexeme)
                    || self.is_a_day_of_a_list(index);
                is_none.then_some(index + 1)
            })
    }

    /// Reads "15:30", "11 a.m.", "0800 hours", "7 вечера".
    fn time(&self, index: usize, lexeme: &Lexeme<'_>) -> Option<usize> {
        let next = self.lexemes.get(index + 1)?;
        if next.is_sign(':') && self.glued(index, index + 1) && self.glued(index + 1, index + 2) {
            let seconds = self.lexemes.get(index + 3).is_some_and(|sign| sign.is_sign(':'))
                && self.lexemes.get(index + 4).is_some_and(Lexeme::is_number);
            let end = index + 3 + 2 * usize::from(seconds);
            return self.lexemes.get(index + 2)?.is_number().then_some(end);
        }
        if let Some(end) = self.hour_of_day(index).or_else(|| self.opening_hours(index)) {
            return Some(end);
        }
        let word = next.word()?;
        let hour = lexeme.integer();
        if dates::names::is_a_zone(next.text) && is_an_hour(lexeme.text) {
            return Some(index + 2);
        }
        let spelled_out = matches!(word, "a" | "p")
            && self.lexemes.get(index + 2).is_some_and(|sign| sign.is_sign('.'))
            && self.lexemes.get(index + 3).and_then(Lexeme::word) == Some("m");
        let military = lexeme.text.len() == 4 && lexeme.text.starts_with('0') && matches!(word, "hours" | "hrs");
        let part_of_day = PARTS_OF_DAY.has(word) && hour.is_some_and(|hour| (5..=12).contains(&hour));
        (HOURS_OF_DAY.has(word) || spelled_out || military || part_of_day).then_some(index + 2)
    }

    /// Whether it is a pronoun: "is 1 of the 7 books".
    fn is_one_of_them(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let word = |at: Option<usize>| self.word_at(at);
        let is = IS_ONE.has_this(word(index.checked_sub(1)));
        let of = matches!(word(Some(index + 1)), Some("of" | "из" | "з" | "із"));
        let them = OF_THEM.has_this(word(Some(index + 2)));
        lexeme.text == "1" && is && of && them
    }

    /// Whether a zone or place follows: "14 часов мск", "14 часов московского времени".
    fn is_of_a_zone(&self, index: usize) -> bool {
        let word = |at: usize| self.word_at(Some(at));
        if matches!(word(index), Some("мск" | "gmt" | "utc")) {
            return true;
        }
        let joined = usize::from(matches!(word(index), Some("по" | "за")));
        // "5 часов рабочего времени" is a duration.
        let of_a_place = word(index + joined).is_some_and(|place| {
            ["ского", "скому", "ського", "ському", "ським"].iter().any(|ending| place.ends_with(ending))
                || matches!(place, "местного" | "местному" | "місцевого" | "місцевим")
        });
        of_a_place && matches!(word(index + joined + 1), Some("времени" | "часу" | "часом"))
    }

    /// Whether the time is appointed: "намечено на 19 часов".
    fn is_appointed(&self, index: usize) -> bool {
        let word = |steps: usize| self.word_at(index.checked_sub(steps));
        let joint = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let joined = joint.is_some_and(|joint| matches!(joint.kind, Kind::Sign('—' | '–' | '-' | ':')));
        if joined && (2..=4).any(|steps| word(steps).is_some_and(|word| BEGINNINGS.has(word))) {
            return true;
        }
        let appointed = |word: &str| ["намеч", "назнач", "признач"].iter().any(|known| word.starts_with(known));
        // "Суд назначил арест на 15 часов"
        let lasts = || {
            let before = self.lexemes.get(index.saturating_sub(APPOINTED)..index).unwrap_or_default();
            let ends = |lexeme: &Lexeme<'_>| matches!(lexeme.kind, Kind::Sign(',' | '.' | ';' | '!' | '?'));
            let clause = before.rsplit(ends).next().unwrap_or_default();
            let mut words = clause.iter().filter_map(Lexeme::word);
            // "Начало работы назначено на 10 часов"
            let begins = words.clone().any(|word| BEGINNINGS.has(word));
            !begins && words.any(|word| LASTING.has(word))
        };
        word(1) == Some("на") && (2..=3).any(|steps| word(steps).is_some_and(appointed)) && !lasts()
    }

    /// Reads "в 12 часов 30 минут", "около 2 часов дня".
    pub(super) fn hour_of_day(&self, index: usize) -> Option<usize> {
        let word = |at: usize| self.lexemes.get(at).and_then(Lexeme::word);
        let plural = matches!(word(index + 1), Some("часов" | "годин" | "hours"));
        let hour = self.lexemes.get(index).and_then(Lexeme::integer).map(f64::from);
        let early = hour.or_else(|| word(index).and_then(words::cardinal)).is_none_or(|hour| hour <= 24.0);
        let minutes = self.lexemes.get(index + 2).is_some_and(Lexeme::is_number)
            && word(index + 3).is_some_and(|word| word.starts_with("минут") || word.starts_with("хвилин"));
        let end = index + 2 + 2 * usize::from(minutes);
        if early
            && (self.is_of_a_zone(end) && (plural || matches!(word(index + 1), Some("часа" | "години" | "час")))
                || (plural && self.is_appointed(index)))
        {
            return Some(end);
        }
        HOUR_WORDS.has_this(word(index + 1)).then_some(())?;
        let at = index.checked_sub(1).and_then(word);
        let part = |at: usize| word(at).is_some_and(|word| OF_DAY.has(word));
        let ukrainian = matches!(at, Some("о" | "об")) && word(index + 1) == Some("годині");
        (ukrainian || part(end) || (minutes && matches!(at, Some("в" | "к" | "о" | "об")))).then_some(end)
    }

    /// Reads "с 9 до 18 часов", unless it is a change. Returns the index after it.
    fn opening_hours(&self, index: usize) -> Option<usize> {
        let word = |at: usize| self.word_at(Some(at));
        let hour = |at: usize| self.lexemes.get(at).and_then(Lexeme::integer).filter(|hour| *hour <= 24);
        let begins = index.checked_sub(1).and_then(word).is_some_and(|word| matches!(word, "с" | "со" | "з" | "із"));
        let named = HOURS_COUNTED.has_this(word(index + 3));
        let rises = hour(index)? < hour(index + 2)?;
        let changes = self
            .lexemes
            .get(index.saturating_sub(6)..index)
            .is_some_and(|run| run.iter().filter_map(Lexeme::word).any(words::is_a_change));
        (begins && word(index + 1) == Some("до") && named && rises && !changes).then_some(index + 4)
    }

    /// Whether it is an offset: "UTC+1", "МСК-2".
    fn is_an_offset(&self, index: usize) -> bool {
        let sign = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let signed = sign.is_some_and(|sign| matches!(sign.kind, Kind::Sign('+' | '-' | '−' | '–')));
        signed
            && index.checked_sub(1).is_some_and(|sign| self.glued(sign, index))
            && matches!(self.word_at(index.checked_sub(2)), Some("utc" | "gmt" | "мск" | "msk"))
    }

    /// Whether it is a round of a cup: "Round of 32". "A round of 16 votes" is a count.
    fn names_a_round(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let teams = lexeme.integer().is_some_and(|teams| matches!(teams, 8 | 16 | 32 | 64 | 128));
        let round = index.checked_sub(2).and_then(|at| self.lexemes.get(at));
        let capital = round.is_some_and(|round| round.text == "Round");
        let counts = self.word_at(Some(index + 1)).is_some_and(|word| word.ends_with('s') && word.is_ascii());
        let the =
            self.word_at(index.checked_sub(3)) == Some("the") && !(counts && self.counts_in_lower_case(index + 1));
        teams
            && self.word_at(index.checked_sub(1)) == Some("of")
            && round.and_then(Lexeme::word) == Some("round")
            && (capital || the)
    }

    /// Whether it is a day whose month comes later: "18, 23 и 26 января".
    pub(super) fn is_a_day_of_a_list(&self, index: usize) -> bool {
        let day = |at: usize| {
            let lexeme = self.lexemes.get(at).filter(|lexeme| lexeme.text.len() <= 2);
            lexeme.and_then(Lexeme::integer).filter(|day| (1..=31).contains(day))
        };
        let month = |at: usize| {
            self.lexemes.get(at).is_some_and(|lexeme| {
                // No month: "Between 5 and 10 may be".
                let written = !lexeme.text.is_ascii() || lexeme.text.starts_with(char::is_uppercase);
                written && lexeme.word().is_some_and(|word| dates::names::month(word).is_some())
            })
        };
        let mut at = index;
        while day(at).zip(day(at + 2)).is_some_and(|(earlier, later)| earlier < later) {
            let Some(joint) = self.lexemes.get(at + 1) else { return false };
            if AND_OR_Y.has_this(joint.word()) {
                return month(at + 3);
            }
            if !joint.is_sign(',') {
                return false;
            }
            at += 2;
        }
        false
    }

    /// Reads a fixed expression: "24/7", "9/11", "1+1".
    fn idiom(&self, index: usize) -> Option<usize> {
        let text = |at: usize| self.lexemes.get(at).map(|lexeme| lexeme.text);
        let glued = self.glued(index, index + 1) && self.glued(index + 1, index + 2);
        let idiom = matches!((text(index), text(index + 1), text(index + 2)), (Some("24"), Some("/"), Some("7")))
            || matches!((text(index), text(index + 1), text(index + 2)), (Some("9"), Some("/"), Some("11")))
            || (text(index + 1) == Some("+") && self.lexemes.get(index + 2).is_some_and(Lexeme::is_number));
        (idiom && glued).then_some(index + 3)
    }

    /// Returns the index after "38 (4): 463–479" (volume, number, pages).
    fn citation(&self, index: usize) -> Option<usize> {
        let number = |at: usize| self.lexemes.get(at).is_some_and(Lexeme::is_number);
        let sign = |at: usize, sign: char| self.lexemes.get(at).is_some_and(|lexeme| lexeme.is_sign(sign));
        let cited = sign(index + 1, '(') && number(index + 2) && sign(index + 3, ')') && sign(index + 4, ':');
        let pages = index + 5;
        let last = pages + 2 * usize::from(sign(pages + 1, '-') || sign(pages + 1, '–'));
        (cited && number(pages) && number(last)).then_some(last + 1)
    }

    /// Whether it repeats a number: "five (5) dollars".
    fn is_told_again(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let sign = |at: Option<usize>, sign: char| {
            at.and_then(|at| self.lexemes.get(at)).is_some_and(|lexeme| lexeme.is_sign(sign))
        };
        let said = index.checked_sub(2).and_then(|at| self.word_at(Some(at))).and_then(words::cardinal);
        let same = said.zip(lexeme.integer()).is_some_and(|(said, number)| (said - f64::from(number)).abs() < 0.5);
        same && sign(index.checked_sub(1), '(') && sign(Some(index + 1), ')')
    }

    /// Whether the brackets have only figures and pages: "[7]", "[12, с. 45]".
    fn is_a_reference(&self, index: usize) -> bool {
        let of_a_reference = |lexeme: &&Lexeme<'_>| match lexeme.word() {
            Some(word) => matches!(word, "с" | "c" | "p" | "pp" | "стр"),
            None => lexeme.is_number() || matches!(lexeme.kind, Kind::Sign(',' | '.' | ';' | '-' | '–' | ':')),
        };
        let before = self.lexemes.get(..index).unwrap_or_default().iter().rev().take(LONGEST_REFERENCE);
        let after = self.lexemes.get(index..).unwrap_or_default().iter().take(LONGEST_REFERENCE);
        let opens = before.clone().find(|lexeme| !of_a_reference(lexeme)).is_some_and(|sign| sign.is_sign('['));
        opens && after.clone().find(|lexeme| !of_a_reference(lexeme)).is_some_and(|sign| sign.is_sign(']'))
    }

    /// Whether it is a decade ("в 20-х годах"), possibly without its century.
    fn is_a_decade(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let tens = lexeme.text.len() == 2 && lexeme.integer().is_some_and(|tens| tens % 10 == 0);
        let next = self.counting_suffix(index).unwrap_or(index + 1);
        tens && matches!(self.word_at(Some(next)), Some("годах" | "роках"))
    }

    /// Whether it may be a year: "57 BC".
    fn is_before_christ(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let year = self.lexemes.get(index).and_then(Lexeme::integer);
        let mark = year.and_then(|year| dates::mark(&self.lexemes, index + 1, year, before));
        let letters = self.lexemes.get(index + 1).is_some_and(|era| matches!(era.text, "BC" | "BCE"));
        mark == Some(dates::Mark::Unclear)
            || (letters && mark != Some(dates::Mark::Province) && !self.counts_in_lower_case(index + 2))
    }

    /// Reads at least three joined groups: "1-800-948-4267", "8 (495) 123-45-67".
    fn telephone(&self, index: usize) -> Option<usize> {
        let mut end = index;
        let mut groups = 1;
        let number = |at: usize| self.lexemes.get(at).is_some_and(Lexeme::is_number);
        // "07 5575 7400", "+44 20 7946 0958"
        let spaced = self.lexemes.iter().skip(index).take(MOST_GROUPS).take_while(|lexeme| lexeme.is_number()).count();
        let plus = index.checked_sub(1).and_then(|at| self.lexemes.get(at)).is_some_and(|sign| sign.is_sign('+'));
        let nought = self.lexemes.get(index).is_some_and(|code| code.integer().is_some() && code.text.starts_with('0'));
        if (plus || nought) && spaced >= 2 {
            return Some(index + spaced);
        }
        let sign = |at: usize, sign: char| self.lexemes.get(at).is_some_and(|lexeme| lexeme.is_sign(sign));
        // The area code, with or without a country code.
        let opens = index.checked_sub(1).is_some_and(|before| sign(before, '('));
        if opens && sign(end + 1, ')') && number(end + 2) {
            (end, groups) = (end + 2, 2);
        } else if sign(end + 1, '(') && number(end + 2) && sign(end + 3, ')') && number(end + 4) {
            (end, groups) = (end + 4, 3);
        }
        let in_brackets = groups > 1;
        while self.glued(end, end + 1)
            && self.lexemes.get(end + 1).is_some_and(|sign| matches!(sign.kind, Kind::Sign('-' | '‑')))
            && self.glued(end + 1, end + 2)
            && number(end + 2)
        {
            (end, groups) = (end + 2, groups + 1);
        }
        let joined = !in_brackets || self.lexemes.get(end - 1).is_some_and(|sign| !sign.is_sign(')'));
        (groups >= 3 && joined).then_some(end + 1)
    }

    /// Whether it is a list mark: "2. A point of a list", "1) First 2) Second".
    ///
    /// A mark is a small number with a dot and a capital, or with an unopened bracket. It begins the text or a clause,
    /// or follows another mark.
    fn marks_an_entry(&self, index: usize, lexeme: &Lexeme<'_>) -> bool {
        let Some(number) = lexeme.integer().filter(|number| *number < 1_000) else { return false };
        if !self.looks_like_a_mark(index) {
            return false;
        }
        let before = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        let begins = before
            .is_none_or(|sign| matches!(sign.kind, Kind::Sign('.' | ':' | ';' | '!' | '?' | '•' | '*' | '#' | ')')));
        begins
            || (index.saturating_sub(FARTHEST_MARK)..index).any(|at| {
                let earlier = self.lexemes.get(at).and_then(Lexeme::integer);
                earlier.is_some_and(|earlier| earlier + 1 == number) && self.looks_like_a_mark(at)
            })
    }

    fn looks_like_a_mark(&self, index: usize) -> bool {
        let sign = |sign: char| {
            self.lexemes.get(index + 1).is_some_and(|lexeme| lexeme.is_sign(sign)) && self.glued(index, index + 1)
        };
        let capital =
            self.lexemes.get(index + 2).is_some_and(|word| word.text.chars().next().is_some_and(char::is_uppercase));
        let opened = || {
            let before = self.lexemes.get(..index).unwrap_or_default().iter().rev().take(FARTHEST_MARK);
            before
                .clone()
                .find(|lexeme| matches!(lexeme.kind, Kind::Sign('(' | ')')))
                .is_some_and(|sign| sign.is_sign('('))
        };
        // Sentence splitting may leave the next mark behind.
        let left_behind = || {
            let before = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
            self.lexemes.get(index + 2).is_none()
                && before.is_some_and(|sign| matches!(sign.kind, Kind::Sign('.' | ')' | ';' | '!' | '?')))
        };
        (sign('.') && (capital || left_behind())) || (sign(')') && !opened())
    }

    /// Whether it is a day or time ("20.07", "19.58"): decimals have a comma and no unit follows.
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

//! Reads years with an era: "AD 79", "around 100 BC", "250 г. до н. э.".
//!
//! Words: `numbers.eras.*` in the lexicon.

use crate::function_words::BETWEEN;
use crate::lexicon::{self, Values, Words};

use super::{Comparator, Quantity, Reader, Unit, comparators};
use crate::lexer::{Kind, Lexeme};
use crate::word_list::WordList;
use crate::{dates, has_cyrillic, tokens};

/// Larger figures with "BC" are geological ages.
const FARTHEST: u32 = 20_000;

/// Words of time with their length in years, and words of a reign, before years in brackets.
static YEARS: Values<f64> = Values::of("numbers.eras.years", lexicon::number);
static REIGNS: Words = Words::of("numbers.eras.reigns");
/// Rulers, followed by their years; "the Emperor's soldiers (200–300)" are counted.
static RULERS: Words = Words::of("numbers.eras.rulers");
/// Lexemes searched for such words.
const BEFORE_BRACKETS: usize = 6;
const BEFORE_A_REIGN: usize = 4;

/// Maximum letters of a case ending.
const ENDING: usize = 4;

fn among(list: &WordList, word: &str) -> bool {
    list.has_form(word, ENDING)
}

impl Reader<'_> {
    /// Reads a year or period (negative before Christ) and the index after it.
    pub(super) fn of_an_era(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let year =
            |at: usize| self.lexemes.get(at).and_then(Lexeme::integer).filter(|year| (1..FARTHEST).contains(year));
        let first = year(index)?;
        // "In AD 79 and 80 people died" has one year, "between 300 and 200 BC" two.
        let between = || BETWEEN.has_this(self.word_at(index.checked_sub(1)));
        let joined = self.lexemes.get(index + 1).is_some_and(|joint| match joint.word() {
            Some("and" | "и" | "і" | "та") => between(),
            Some(word) => matches!(word, "to" | "по" | "до"),
            None => joint.is_sign('-') || joint.is_sign('–'),
        });
        let last = if joined { year(index + 2) } else { None };
        let end = if last.is_some() { index + 3 } else { index + 1 };
        let (first, last) = (f64::from(first), f64::from(last.unwrap_or(first)));
        let (years, end) = if let Some(behind) = self.before_christ(index, end) {
            ((-first, -last), behind)
        } else if self.is_ad(index, end) {
            ((first, last), end)
        } else {
            return None;
        };
        (years.0 <= years.1).then_some(())?;
        // "Composed c. 730–700 BC" is a period; a life "(c. 470–399 BC)" has an approximate year.
        let opens = |steps: usize| {
            index.checked_sub(steps).and_then(|at| self.lexemes.get(at)).is_some_and(|sign| sign.is_sign('('))
        };
        let in_brackets = (2..=3).any(opens);
        let exact = years.0 < years.1 && !in_brackets && dates::is_circa(&self.lexemes, index);
        let told = comparators::before(&self.lexemes, index).filter(|told| *told == Comparator::About && !exact);
        Some((vec![self.finish(index, end, years, Unit::Year, told.unwrap_or(Comparator::Exact), 1.0)], end))
    }

    /// Reads "a conflict of nearly fifty years (633 to 680)", "his reign (336–323)", but not "in recent years
    /// (421–467)".
    pub(super) fn years_in_brackets(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let sign = |at: Option<usize>, sign: char| {
            at.and_then(|at| self.lexemes.get(at)).is_some_and(|lexeme| lexeme.is_sign(sign))
        };
        let year = |at: usize| self.lexemes.get(at).and_then(Lexeme::integer).filter(|year| (100..2100).contains(year));
        let (first, last) = (year(index)?, year(index + 2).filter(|_| sign(Some(index + 3), ')'))?);
        let joined = sign(Some(index + 1), '-')
            || sign(Some(index + 1), '–')
            || matches!(self.word_at(Some(index + 1)), Some("to" | "по" | "до"));
        let opened = index.checked_sub(1).filter(|at| sign(Some(*at), '('))?;
        let years = f64::from(last) - f64::from(first);
        let round = first.is_multiple_of(100) && last.is_multiple_of(100);
        let from = opened.saturating_sub(BEFORE_BRACKETS);
        let lasts = |at: usize| self.word_at(Some(at)).is_some_and(|word| self.lasts_years(at, word, years));
        let of_time = (from..opened).any(lasts) || (!round && self.is_of_a_reign(opened));
        let (first, last) = (f64::from(first), f64::from(last));
        (joined && of_time && first < last).then(|| {
            (vec![self.finish(index, index + 3, (first, last), Unit::Year, Comparator::Exact, 1.0)], index + 3)
        })
    }

    /// Whether only a name precedes the brackets: "The Emperor Heraclius (610–640)".
    fn is_of_a_reign(&self, opened: usize) -> bool {
        let mut named = false;
        for steps in 1..=BEFORE_A_REIGN {
            let lexeme = opened.checked_sub(steps).and_then(|at| self.lexemes.get(at));
            let Some((lexeme, word)) = lexeme.and_then(|lexeme| Some((lexeme, lexeme.word()?))) else { return false };
            if among(&REIGNS, word) || among(&RULERS, word) {
                return named || among(&REIGNS, word);
            }
            let capital = lexeme.text.starts_with(char::is_uppercase);
            named |= capital;
            if !capital && !matches!(word, "of" | "the") {
                return false;
            }
        }
        false
    }

    /// Whether the word, with its count, lasts so many years.
    fn lasts_years(&self, at: usize, word: &str, years: f64) -> bool {
        let Some(each) = YEARS.get(word) else { return false };
        let ending_here = |back: usize| {
            let value = at.checked_sub(back).and_then(|from| self.value(from))?;
            (value.next == at && !value.ordinal).then_some(value.amount * each)
        };
        let counted = (1..=4).rev().find_map(ending_here);
        counted.is_some_and(|counted| (years - counted).abs() <= counted / 4.0 + 1.0)
    }

    /// Reads "'40"; 00–39 are of this century.
    pub(super) fn short_year(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let lexeme = self.lexemes.get(index).filter(|lexeme| lexeme.text.len() == 2)?;
        let short = f64::from(lexeme.integer()?);
        let sign = index.checked_sub(1).and_then(|at| self.lexemes.get(at))?;
        let earlier = index.checked_sub(2).and_then(|at| self.lexemes.get(at));
        let apostrophe = matches!(sign.kind, Kind::Sign('\'' | '’' | '‘')) && sign.end == lexeme.start;
        let free = earlier.is_none_or(|earlier| earlier.end < sign.start);
        let year = if short < 40.0 { 2000.0 + short } else { 1900.0 + short };
        let one = || self.finish(index, index + 1, (year, year), Unit::Year, Comparator::Exact, 1.0);
        (apostrophe && free).then(|| (vec![one()], index + 1))
    }

    /// Returns the index after "BC" at `end`, for the years from `index`.
    fn before_christ(&self, index: usize, end: usize) -> Option<usize> {
        let year = end.checked_sub(1).and_then(|at| self.lexemes.get(at)).and_then(Lexeme::integer)?;
        let before = index.checked_sub(1).and_then(|at| self.lexemes.get(at));
        match dates::mark(&self.lexemes, end, year, before)? {
            dates::Mark::Era(behind) => {
                Some(behind).filter(|behind| has_cyrillic(self.text) || !self.counts_in_lower_case(*behind))
            }
            dates::Mark::Province | dates::Mark::Unclear => None,
        }
    }

    /// Whether a noun is counted ("500 BC residents"), so that the letters are no era.
    pub(super) fn counts_in_lower_case(&self, next: usize) -> bool {
        self.lexemes.get(next).is_some_and(|lexeme| {
            lexeme.text.starts_with(char::is_lowercase) && !tokens::content_stems(lexeme.text, self.language).is_empty()
        })
    }

    /// Whether "AD" or "A.D." precedes. Without dots it may be a party, so nothing may be counted.
    fn is_ad(&self, index: usize, end: usize) -> bool {
        let sign = |at: usize| self.lexemes.get(at).is_some_and(|lexeme| lexeme.is_sign('.'));
        let dotted = index.checked_sub(4).is_some_and(|at| {
            self.word_at(Some(at)) == Some("a")
                && self.word_at(Some(at + 2)) == Some("d")
                && sign(at + 1)
                && sign(at + 3)
        });
        let short = index.checked_sub(1).and_then(|at| self.lexemes.get(at)).is_some_and(|lexeme| lexeme.text == "AD");
        dotted || (short && !self.counts_in_lower_case(end))
    }
}

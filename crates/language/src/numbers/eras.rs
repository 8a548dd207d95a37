//! Years that have their era beside them: "AD 79", "around 100 BC", "A.D. 590–1073", "250 г. до н. э.".

use crate::function_words::BETWEEN;
use crate::lexicon::{self, Values, Words};

use super::{Comparator, Quantity, Reader, Unit, comparators};
use crate::lexer::{Kind, Lexeme};
use crate::word_list::WordList;
use crate::{dates, has_cyrillic, tokens};

/// The last year a year before Christ or of our era is looked for in; earlier figures with "BC" are ages of the earth.
const FARTHEST: u32 = 20_000;

/// Words of time before two years in brackets with the years in one, and words of a reign; a star ends a beginning.
static YEARS: Values<f64> = Values::of("numbers.eras.years", lexicon::number);
static REIGNS: Words = Words::of("numbers.eras.reigns");
/// Who reigns: the years are theirs behind their name only ("the Emperor's soldiers (200–300)" are counted).
static RULERS: Words = Words::of("numbers.eras.rulers");
/// Lexemes before the brackets among which a word of time is looked for, and one of a reign.
const BEFORE_BRACKETS: usize = 6;
const BEFORE_A_REIGN: usize = 4;

/// Endings of a declension. Letters.
const ENDING: usize = 4;

fn among(list: &WordList, word: &str) -> bool {
    list.has_form(word, ENDING)
}

impl Reader<'_> {
    /// The year or the span of years at an index, and the index behind it. Years before Christ are negative.
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
        // "Composed c. 730–700 BC" says of a work how long it took, and not that either year is a guess. Whoever lived "(c. 470–399
        // BC)" has a year that is one.
        let opens = |steps: usize| {
            index.checked_sub(steps).and_then(|at| self.lexemes.get(at)).is_some_and(|sign| sign.is_sign('('))
        };
        let in_brackets = (2..=3).any(opens);
        let exact = years.0 < years.1 && !in_brackets && dates::is_circa(&self.lexemes, index);
        let told = comparators::before(&self.lexemes, index).filter(|told| *told == Comparator::About && !exact);
        Some((vec![self.finish(index, end, years, Unit::Year, told.unwrap_or(Comparator::Exact), 1.0)], end))
    }

    /// "a conflict of nearly fifty years (633 to 680)", "his reign (336–323)": two years, where words of time or of a reign stand
    /// before the brackets. Other figures there count something ("in recent years (421–467)").
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

    /// "The Emperor Heraclius (610–640)", "the reign of Trajan (98–117)": between such a word and the brackets at an index only a
    /// name stands.
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

    /// Whether a word of time goes with so many years: with the count before it.
    fn lasts_years(&self, at: usize, word: &str, years: f64) -> bool {
        let Some(each) = YEARS.get(word) else { return false };
        let ending_here = |back: usize| {
            let value = at.checked_sub(back).and_then(|from| self.value(from))?;
            (value.next == at && !value.ordinal).then_some(value.amount * each)
        };
        let counted = (1..=4).rev().find_map(ending_here);
        counted.is_some_and(|counted| (years - counted).abs() <= counted / 4.0 + 1.0)
    }

    /// "'40": the year by its last two digits, of this century up to the thirties.
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

    /// The index behind "BC" and its like, which stands at `end` behind the years from `index` on.
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

    /// "500 BC residents": what is counted here, behind the dot of "B.C." too, so that the letters before are no era.
    pub(super) fn counts_in_lower_case(&self, next: usize) -> bool {
        self.lexemes.get(next).is_some_and(|lexeme| {
            lexeme.text.starts_with(char::is_lowercase) && !tokens::content_stems(lexeme.text, self.language).is_empty()
        })
    }

    /// "AD" or "A.D." right before an index. Two letters may be a party's, so that nothing is counted behind theirs.
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

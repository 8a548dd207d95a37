//! Years that have their era beside them: "AD 79", "around 100 BC", "A.D. 590–1073", "250 г. до н. э.".

use super::{Comparator, Quantity, Reader, Unit, comparators};
use crate::language::lexer::{Kind, Lexeme};
use crate::language::{has_cyrillic, tokens};

/// Marks behind a year before Christ, lexeme by lexeme.
const BEFORE_CHRIST: &[&[&str]] = &[
    &["BC"],
    &["BCE"],
    &["B", ".", "C", "."],
    &["B", ".", "C"],
    &["до", "н", ".", "э"],
    &["до", "нашей", "эры"],
    &["до", "н", ".", "е"],
    &["до", "нашої", "ери"],
];

/// The last year a year before Christ or of our era is looked for in; earlier figures with "BC" are ages of the earth.
const FARTHEST: u32 = 20_000;

impl Reader<'_> {
    /// The year or the span of years at an index, and the index behind it. Years before Christ are negative.
    pub(super) fn of_an_era(&self, index: usize) -> Option<(Vec<Quantity>, usize)> {
        let year =
            |at: usize| self.lexemes.get(at).and_then(Lexeme::integer).filter(|year| (1..FARTHEST).contains(year));
        let first = year(index)?;
        // "In AD 79 and 80 people died" has one year, "between 300 and 200 BC" two.
        let between = || matches!(self.word_at(index.checked_sub(1)), Some("between" | "между" | "між"));
        let joined = self.lexemes.get(index + 1).is_some_and(|joint| match joint.word() {
            Some("and" | "и" | "і" | "та") => between(),
            Some(word) => matches!(word, "to" | "по" | "до"),
            None => joint.is_sign('-') || joint.is_sign('–'),
        });
        let last = if joined { year(index + 2) } else { None };
        let end = if last.is_some() { index + 3 } else { index + 1 };
        let (first, last) = (f64::from(first), f64::from(last.unwrap_or(first)));
        let (years, end) = if let Some(behind) = self.before_christ(end) {
            ((-first, -last), behind)
        } else if self.is_ad(index, end) {
            ((first, last), end)
        } else {
            return None;
        };
        (years.0 <= years.1).then_some(())?;
        let told = comparators::before(&self.lexemes, index).filter(|told| *told == Comparator::About);
        Some((vec![self.finish(index, end, years, Unit::Year, told.unwrap_or(Comparator::Exact), 1.0)], end))
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

    /// The index behind "BC" and its like.
    fn before_christ(&self, index: usize) -> Option<usize> {
        // "г." and "р." may stand before it.
        let short = matches!(
            self.word_at(Some(index)),
            Some("г" | "гг" | "р" | "рр" | "год" | "года" | "році" | "року" | "году")
        );
        let dotted = short && self.lexemes.get(index + 1).is_some_and(|sign| sign.is_sign('.'));
        let at = index + usize::from(short) + usize::from(dotted);
        let is = |offset: usize, part: &&str| {
            self.lexemes.get(at + offset).is_some_and(|lexeme| {
                // In Latin letters only capitals are the mark.
                let written = if part.is_ascii() { lexeme.text } else { lexeme.word().unwrap_or(lexeme.text) };
                written == *part
            })
        };
        BEFORE_CHRIST
            .iter()
            .find(|mark| mark.iter().enumerate().all(|(offset, part)| is(offset, part)))
            .map(|mark| at + mark.len())
            .filter(|end| has_cyrillic(self.text) || !self.counts_in_lower_case(*end))
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

//! When a text says that something was: on a day, in a year, before it, after it, since then.

use chrono::{Datelike, Months, NaiveDate};

use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::dates::DateMention;
use corroborate_language::lexicon::{Values, Words};

/// How a text means a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    On,
    Before,
    By,
    After,
    Since,
}

impl Side {
    fn named(value: &str) -> Option<Self> {
        match value {
            "before" => Some(Self::Before),
            "by" => Some(Self::By),
            "after" => Some(Self::After),
            "since" => Some(Self::Since),
            _ => None,
        }
    }
}

/// Words right before a date; the longest that fits decides.
static SIDES: Values<Side> = Values::of("periods.side", Side::named);

/// The words of the longest of them.
const LONGEST: usize = 4;

/// Words that may stand between such a word and the date.
static BETWEEN: Words = Words::of("periods.between");

/// A stated time: the days it leaves open, `None` where there is no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
    side: Side,
    stated: (NaiveDate, NaiveDate),
    /// The whole stretch of which this is one end: "from 2005 to 2021".
    stretch: Option<(NaiveDate, NaiveDate)>,
    /// Known from the day of the text alone ("on Monday"), or, of a day and a month, its year.
    known_by: KnownBy,
}

/// How a date was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownBy {
    Itself,
    /// "9 May".
    ItsDay,
    /// "Yesterday", "on Monday".
    TheDayOfTheText,
}

/// "8 September" in a text of the 9th is of that year; farther off it may be of another. Days.
const SURE_OF_THE_YEAR: i64 = 90;

/// A text of midnight has one day here and another there, and "on Monday" may be the last one or the next: a day apart, or a
/// week, give or take that day.
const SLACK_DAYS: i64 = 8;

/// Days between two tellings of one occasion.
const SAME_OCCASION: i64 = 14;

impl Period {
    fn new(date: &DateMention, side: Side) -> Self {
        let (from, to) = match side {
            Side::On => (Some(date.start), Some(date.end)),
            Side::Before => (None, date.start.pred_opt()),
            Side::By => (None, Some(date.end)),
            Side::After => (date.end.succ_opt(), None),
            Side::Since => (Some(date.start), None),
        };
        Self { from, to, side, stated: (date.start, date.end), stretch: None, known_by: KnownBy::Itself }
    }

    /// The same with how the date is known in a text of that day.
    fn in_text_of(self, date: &DateMention, text: Option<NaiveDate>) -> Self {
        // News tells of what was: "last December" of a text of September is not the coming one.
        let is_far =
            text.is_none_or(|text| date.start > text || (date.start - text).num_days().abs() > SURE_OF_THE_YEAR);
        let known_by = match date.is_relative {
            true if date.is_told_by_the_day() => KnownBy::TheDayOfTheText,
            true if is_far => KnownBy::ItsDay,
            _ => KnownBy::Itself,
        };
        Self { known_by, ..self }
    }

    /// Whether two days that differ may be one, by how they are known.
    fn may_be(&self, other: &Self) -> bool {
        let meet = |a: (NaiveDate, NaiveDate), b: (NaiveDate, NaiveDate)| a.0 <= b.1 && b.0 <= a.1;
        let by = |known: KnownBy| self.known_by == known || other.known_by == known;
        let moved = |months: i32| {
            let shift = |day: NaiveDate| match u32::try_from(months) {
                Ok(months) => day.checked_add_months(Months::new(months)),
                Err(_) => day.checked_sub_months(Months::new(months.unsigned_abs())),
            };
            shift(self.stated.0).zip(shift(self.stated.1))
        };
        let apart = self.days_from(other);
        let is_near = apart <= 1 || apart <= SLACK_DAYS && [0, 1, 6].contains(&(apart % 7));
        by(KnownBy::TheDayOfTheText) && is_near
            || by(KnownBy::ItsDay) && [-12, 12].into_iter().filter_map(moved).any(|stated| meet(stated, other.stated))
    }

    /// Whether it says when something was, and not before or after when.
    pub(super) const fn is_on(&self) -> bool {
        matches!(self.side, Side::On)
    }

    /// Whether two days are so near that one of them may be told wrongly of the other's occasion: "on Monday" and "on Wednesday".
    pub(super) fn may_be_of_one_occasion(&self, other: &Self) -> bool {
        let is_day = |period: &Self| (period.stated.1 - period.stated.0).num_days() < 7;
        is_day(self) && is_day(other) && self.days_from(other) <= SAME_OCCASION
    }

    /// Days between the two as they are stated; 0 where they meet.
    fn days_from(&self, other: &Self) -> i64 {
        (self.stated.0 - other.stated.1).max(other.stated.0 - self.stated.1).num_days().max(0)
    }

    /// Whether the other time bears this one out: `None` where it leaves both open.
    pub(super) fn borne_out_by(&self, other: &Self) -> Option<bool> {
        self.held_against(other).filter(|is_same| *is_same || !self.may_be(other))
    }

    fn held_against(&self, other: &Self) -> Option<bool> {
        let meet = |a: (NaiveDate, NaiveDate), b: (NaiveDate, NaiveDate)| a.0 <= b.1 && b.0 <= a.1;
        match (self.stretch, other.stretch) {
            // What lasted from then to then was so in between.
            // It may as well have begun or ended there, which is another thing.
            (None, Some(whole)) if self.side == Side::On && meet(self.stated, whole) => {
                return meet(self.stated, other.stated).then_some(true);
            }
            (Some(whole), None) if other.side == Side::On && meet(whole, other.stated) => {
                return meet(self.stated, other.stated).then_some(true);
            }
            _ => {}
        }
        if self.side == other.side {
            return Some(meet(self.stated, other.stated));
        }
        let apart =
            |end: Option<NaiveDate>, start: Option<NaiveDate>| end.zip(start).is_some_and(|(end, start)| end < start);
        if apart(self.to, other.from) || apart(other.to, self.from) {
            return Some(false);
        }
        // What began then goes on, so a later day says nothing of "since 1990"; the same year begins it.
        if self.side == Side::Since || (self.side == Side::On && other.side == Side::Since) {
            return meet(self.stated, other.stated).then_some(true);
        }
        let begins = self.from.is_none_or(|from| other.from.is_some_and(|theirs| from <= theirs));
        let ends = self.to.is_none_or(|to| other.to.is_some_and(|theirs| theirs <= to));
        (begins && ends).then_some(true)
    }
}

/// A date of a text with the time it means and where it stands.
#[derive(Debug)]
pub(super) struct Dated<'a> {
    pub(super) mention: &'a DateMention,
    pub(super) period: Period,
}

impl Dated<'_> {
    /// Byte offset of the mention.
    pub(super) const fn start(&self) -> usize {
        self.mention.offset
    }

    /// Byte offset behind it.
    pub(super) fn end(&self) -> usize {
        self.mention.offset + self.mention.text.len()
    }

    pub(super) fn is_in(&self, sentence: &SentenceProfile) -> bool {
        (sentence.start..sentence.end).contains(&self.start())
    }
}

/// The dates of a text with the times they mean, in order.
pub(super) fn periods(text: &TextProfile) -> Vec<Dated<'_>> {
    let mut from = 0;
    let of = text.reference.map(|moment| moment.date_naive());
    let mut found: Vec<Dated<'_>> = Vec::new();
    for mention in &text.dates {
        let between = text.text.get(from..mention.offset).unwrap_or_default();
        let mut side = side_of(between);
        from = mention.offset + mention.text.len();
        let mut stretch = listed(between, mention);
        // "From 1990 to 1995", "с 1990 до 1995", "between 2014 and 2020": two ends of one stretch, each meant as it stands.
        if let Some(earlier) = found.last_mut()
            && (earlier.period.side == Side::Since && matches!(side, Side::Before | Side::By | Side::On)
                || is_between(text, earlier.mention) && AND.has(between.trim()))
            && earlier.mention.start <= mention.end
        {
            let whole = Some((earlier.mention.start, mention.end));
            earlier.period =
                Period { stretch: whole, ..Period::new(earlier.mention, Side::On).in_text_of(earlier.mention, of) };
            (side, stretch) = (Side::On, whole);
        }
        found.push(Dated { mention, period: Period { stretch, ..Period::new(mention, side).in_text_of(mention, of) } });
    }
    found
}

static AND: Words = Words::of("periods.and");

fn is_between(text: &TextProfile, date: &DateMention) -> bool {
    let before = text.text.get(..date.offset).unwrap_or_default().to_lowercase();
    matches!(before.split_whitespace().next_back(), Some("between" | "между" | "між"))
}

/// "On 9, 10 and 12 May", "between 9 and 12 May": the days from the first that is told before the one with the month.
fn listed(before: &str, date: &DateMention) -> Option<(NaiveDate, NaiveDate)> {
    let mut words = before.split_whitespace().rev();
    if date.start != date.end || !words.next().is_some_and(|word| AND.has(word) || word == "&") {
        return None;
    }
    let days = words.map_while(|word| {
        let digits = word.trim_end_matches(',');
        digits.parse::<u32>().ok().filter(|day| digits.len() <= 2 && (1..=31).contains(day))
    });
    let first = days.min()?;
    let start = date.start.with_day(first)?;
    (start < date.start).then_some((start, date.end))
}

fn side_of(before: &str) -> Side {
    let lower = before.to_lowercase();
    let mut words: Vec<&str> = lower.split_whitespace().collect();
    let fits = |words: &[&str]| {
        (1..=LONGEST.min(words.len())).rev().find_map(|length| SIDES.get(&words.get(words.len() - length..)?.join(" ")))
    };
    loop {
        if let Some(side) = fits(&words) {
            return side;
        }
        match words.pop() {
            Some(word) if BETWEEN.has(word) => {}
            _ => return Side::On,
        }
    }
}

//! Reads the time that a text states: on a day, in a year, before, after or since.

use chrono::{Datelike, Months, NaiveDate};

use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::dates::DateMention;
use corroborate_language::lexicon::{Values, Words};

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

/// Words before a date; the longest match decides.
static SIDES: Values<Side> = Values::of("periods.side", Side::named);

const LONGEST: usize = 4;

/// Words allowed before the date.
static BETWEEN: Words = Words::of("periods.between");

/// The possible days; `None` is an open end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
    side: Side,
    stated: (NaiveDate, NaiveDate),
    /// The range that this date ends: "from 2005 to 2021".
    stretch: Option<(NaiveDate, NaiveDate)>,
    known_by: KnownBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownBy {
    Itself,
    /// "9 May".
    ItsDay,
    /// "Yesterday", "on Monday".
    TheDayOfTheText,
}

/// Days within which "8 September" is surely this year's.
const SURE_OF_THE_YEAR: i64 = 90;

/// Days: "on Monday" may be the last or next, plus one day around midnight.
const SLACK_DAYS: i64 = 8;

/// Days between reports of one occasion.
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

    fn in_text_of(self, date: &DateMention, text: Option<NaiveDate>) -> Self {
        // "Last December" in September is not the coming one.
        let is_far =
            text.is_none_or(|text| date.start > text || (date.start - text).num_days().abs() > SURE_OF_THE_YEAR);
        let known_by = match date.is_relative {
            true if date.is_told_by_the_day() => KnownBy::TheDayOfTheText,
            true if is_far => KnownBy::ItsDay,
            _ => KnownBy::Itself,
        };
        Self { known_by, ..self }
    }

    /// Whether different days may be one, by how they are known.
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

    pub(super) const fn is_on(&self) -> bool {
        matches!(self.side, Side::On)
    }

    /// A report may have confused near days ("on Monday", "on Wednesday").
    pub(super) fn may_be_of_one_occasion(&self, other: &Self) -> bool {
        let is_day = |period: &Self| (period.stated.1 - period.stated.0).num_days() < 7;
        is_day(self) && is_day(other) && self.days_from(other) <= SAME_OCCASION
    }

    /// Days between the stated times; 0 if they overlap.
    fn days_from(&self, other: &Self) -> i64 {
        (self.stated.0 - other.stated.1).max(other.stated.0 - self.stated.1).num_days().max(0)
    }

    /// Whether the other time supports this one; `None` if both stay possible.
    pub(super) fn borne_out_by(&self, other: &Self) -> Option<bool> {
        self.held_against(other).filter(|is_same| *is_same || !self.may_be(other))
    }

    fn held_against(&self, other: &Self) -> Option<bool> {
        let meet = |a: (NaiveDate, NaiveDate), b: (NaiveDate, NaiveDate)| a.0 <= b.1 && b.0 <= a.1;
        match (self.stretch, other.stretch) {
            // A range includes its days, but may not mean its ends.
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
        // A later day does not contradict "since 1990"; the same year begins it.
        if self.side == Side::Since || (self.side == Side::On && other.side == Side::Since) {
            return meet(self.stated, other.stated).then_some(true);
        }
        let begins = self.from.is_none_or(|from| other.from.is_some_and(|theirs| from <= theirs));
        let ends = self.to.is_none_or(|to| other.to.is_some_and(|theirs| theirs <= to));
        (begins && ends).then_some(true)
    }
}

#[derive(Debug)]
pub(super) struct Dated<'a> {
    pub(super) mention: &'a DateMention,
    pub(super) period: Period,
}

impl Dated<'_> {
    pub(super) const fn start(&self) -> usize {
        self.mention.offset
    }

    pub(super) fn end(&self) -> usize {
        self.mention.offset + self.mention.text.len()
    }

    pub(super) fn is_in(&self, sentence: &SentenceProfile) -> bool {
        (sentence.start..sentence.end).contains(&self.start())
    }
}

pub(super) fn periods(text: &TextProfile) -> Vec<Dated<'_>> {
    let mut from = 0;
    let of = text.reference.map(|moment| moment.date_naive());
    let mut found: Vec<Dated<'_>> = Vec::new();
    for mention in &text.dates {
        let between = text.text.get(from..mention.offset).unwrap_or_default();
        let mut side = side_of(between);
        from = mention.offset + mention.text.len();
        let mut stretch = listed(between, mention);
        // "С 1990 до 1995", "between 2014 and 2020": two ends of one range.
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

/// "On 9, 10 and 12 May": from the first day to the one with the month.
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

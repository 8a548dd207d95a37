//! Reads the time that a text states: on a day, in a year, before, after or since.

use chrono::{Months, NaiveDate};

use crate::profile::{SentenceProfile, TextProfile};
use corroborate_language::dates::DateMention;
use corroborate_language::lexicon::{Values, Words};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeRelation {
    On,
    Before,
    By,
    After,
    Since,
}

impl TimeRelation {
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
static TIME_RELATIONS: Values<TimeRelation> = Values::of("periods.side", TimeRelation::named);

const MAX_PHRASE_WORDS: usize = 4;

/// Words allowed before the date.
static SKIPPED_WORDS: Words = Words::of("periods.between");

/// The possible days; `None` is an open end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
    relation: TimeRelation,
    stated: (NaiveDate, NaiveDate),
    basis: DateBasis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateBasis {
    FullDate,
    /// "9 May".
    DayOfYear,
    /// "Yesterday", "on Monday".
    DayOfText,
}

/// Days within which "8 September" is surely this year's.
const MAX_SAME_YEAR_DAYS: i64 = 90;

/// Days: "on Monday" may be the last or next, plus one day around midnight.
const MAX_SLACK_DAYS: i64 = 8;

/// Days between reports of one occasion.
const MAX_OCCASION_DAYS: i64 = 14;

impl Period {
    fn new(date: &DateMention, relation: TimeRelation) -> Self {
        let (from, to) = match relation {
            TimeRelation::On => (Some(date.start), Some(date.end)),
            TimeRelation::Before => (None, date.start.pred_opt()),
            TimeRelation::By => (None, Some(date.end)),
            TimeRelation::After => (date.end.succ_opt(), None),
            TimeRelation::Since => (Some(date.start), None),
        };
        Self { from, to, relation, stated: (date.start, date.end), basis: DateBasis::FullDate }
    }

    fn in_text_of(self, date: &DateMention, text: Option<NaiveDate>) -> Self {
        // "Last December" in September is not the coming one.
        let is_far =
            text.is_none_or(|text| date.start > text || (date.start - text).num_days().abs() > MAX_SAME_YEAR_DAYS);
        let basis = match date.is_relative {
            true if date.is_relative_day() => DateBasis::DayOfText,
            true if is_far => DateBasis::DayOfYear,
            _ => DateBasis::FullDate,
        };
        Self { basis, ..self }
    }

    /// Whether different days may be one, by how they are known.
    fn may_be(&self, other: &Self) -> bool {
        let meet = |a: (NaiveDate, NaiveDate), b: (NaiveDate, NaiveDate)| a.0 <= b.1 && b.0 <= a.1;
        let by = |known: DateBasis| self.basis == known || other.basis == known;
        let moved = |months: i32| {
            let shift = |day: NaiveDate| match u32::try_from(months) {
                Ok(months) => day.checked_add_months(Months::new(months)),
                Err(_) => day.checked_sub_months(Months::new(months.unsigned_abs())),
            };
            shift(self.stated.0).zip(shift(self.stated.1))
        };
        let apart = self.days_from(other);
        let is_near = apart <= 1 || apart <= MAX_SLACK_DAYS && [0, 1, 6].contains(&(apart % 7));
        by(DateBasis::DayOfText) && is_near
            || by(DateBasis::DayOfYear)
                && [-12, 12].into_iter().filter_map(moved).any(|stated| meet(stated, other.stated))
    }

    pub(super) const fn is_on(&self) -> bool {
        matches!(self.relation, TimeRelation::On)
    }

    /// A report may have confused near days ("on Monday", "on Wednesday").
    pub(super) fn may_be_of_one_occasion(&self, other: &Self) -> bool {
        let is_day = |period: &Self| (period.stated.1 - period.stated.0).num_days() < 7;
        is_day(self) && is_day(other) && self.days_from(other) <= MAX_OCCASION_DAYS
    }

    /// Days between the stated times; 0 if they overlap.
    fn days_from(&self, other: &Self) -> i64 {
        (self.stated.0 - other.stated.1).max(other.stated.0 - self.stated.1).num_days().max(0)
    }

    /// Whether the other time supports this one; `None` if both stay possible.
    pub(super) fn is_supported_by(&self, other: &Self) -> Option<bool> {
        self.compared_with(other).filter(|is_same| *is_same || !self.may_be(other))
    }

    fn compared_with(&self, other: &Self) -> Option<bool> {
        let meet = |a: (NaiveDate, NaiveDate), b: (NaiveDate, NaiveDate)| a.0 <= b.1 && b.0 <= a.1;
        if self.relation == other.relation {
            return Some(meet(self.stated, other.stated));
        }
        let apart =
            |end: Option<NaiveDate>, start: Option<NaiveDate>| end.zip(start).is_some_and(|(end, start)| end < start);
        if apart(self.to, other.from) || apart(other.to, self.from) {
            return Some(false);
        }
        // A later day does not contradict "since 1990"; the same year begins it.
        if self.relation == TimeRelation::Since
            || (self.relation == TimeRelation::On && other.relation == TimeRelation::Since)
        {
            return meet(self.stated, other.stated).then_some(true);
        }
        let begins = self.from.is_none_or(|from| other.from.is_some_and(|theirs| from <= theirs));
        let ends = self.to.is_none_or(|to| other.to.is_some_and(|theirs| theirs <= to));
        (begins && ends).then_some(true)
    }
}

#[derive(Debug)]
pub(super) struct DatedMention<'a> {
    pub(super) mention: &'a DateMention,
    pub(super) period: Period,
}

impl DatedMention<'_> {
    pub(super) fn is_in(&self, sentence: &SentenceProfile) -> bool {
        (sentence.start..sentence.end).contains(&self.mention.offset)
    }
}

pub(super) fn periods(text: &TextProfile) -> Vec<DatedMention<'_>> {
    let written = text.reference.map(|moment| moment.date_naive());
    let mut from = 0;
    let mut found = Vec::with_capacity(text.dates.len());
    for mention in &text.dates {
        let relation = relation_of(text.text.get(from..mention.offset).unwrap_or_default());
        from = mention.offset + mention.text.len();
        found.push(DatedMention { mention, period: Period::new(mention, relation).in_text_of(mention, written) });
    }
    found
}

fn relation_of(before: &str) -> TimeRelation {
    let lower = before.to_lowercase();
    let mut words: Vec<&str> = lower.split_whitespace().collect();
    let fits = |words: &[&str]| {
        (1..=MAX_PHRASE_WORDS.min(words.len()))
            .rev()
            .find_map(|length| TIME_RELATIONS.get(&words.get(words.len() - length..)?.join(" ")))
    };
    loop {
        if let Some(relation) = fits(&words) {
            return relation;
        }
        match words.pop() {
            Some(word) if SKIPPED_WORDS.has(word) => {}
            _ => return TimeRelation::On,
        }
    }
}

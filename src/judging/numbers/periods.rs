//! When a text says that something was: on a day, in a year, before it, after it, since then.

use chrono::NaiveDate;

use crate::judging::profile::{SentenceProfile, TextProfile};
use crate::language::dates::DateMention;

/// How a text means a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    On,
    Before,
    By,
    After,
    Since,
}

/// Words right before a date; the longest that fits decides.
const SIDES: &[(Side, &str)] = &[
    (
        Side::Before,
        "before;prior to;earlier than;before the;until;till;up to;до;раньше;ранее;перед;вплоть до;раніше;раніше ніж;аж до;antes de",
    ),
    (Side::By, "by;no later than;not later than;by the end of;к;ко;не позднее;не позже;не пізніше"),
    (Side::After, "after;later than;following;после;позже;позднее;після;пізніше;depois de"),
    (
        Side::Since,
        "since;from;starting;starting in;not before;no earlier than;с;со;начиная с;не раньше;з;із;починаючи з;не раніше;desde",
    ),
];

/// Words that may stand between such a word and the date.
const BETWEEN: &[&str] = &["the", "year", "end", "of"];

/// A stated time: the days it leaves open, `None` where there is no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
    side: Side,
    stated: (NaiveDate, NaiveDate),
}

impl Period {
    fn new(date: &DateMention, side: Side) -> Self {
        let (from, to) = match side {
            Side::On => (Some(date.start), Some(date.end)),
            Side::Before => (None, date.start.pred_opt()),
            Side::By => (None, Some(date.end)),
            Side::After => (date.end.succ_opt(), None),
            Side::Since => (Some(date.start), None),
        };
        Self { from, to, side, stated: (date.start, date.end) }
    }

    /// Whether the other time bears this one out: `None` where it leaves both open.
    pub(super) fn borne_out_by(&self, other: &Self) -> Option<bool> {
        let meet = |a: (NaiveDate, NaiveDate), b: (NaiveDate, NaiveDate)| a.0 <= b.1 && b.0 <= a.1;
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
    let mut found: Vec<(&DateMention, Side)> = Vec::new();
    for date in &text.dates {
        let at = date.offset;
        let mut side = side_of(text.text.get(from..at).unwrap_or_default());
        from = at + date.text.len();
        // "From 1990 to 1995", "с 1990 до 1995": two ends of one stretch, each meant as it stands.
        if let Some((_, earlier)) = found.last_mut()
            && *earlier == Side::Since
            && matches!(side, Side::Before | Side::By | Side::On)
        {
            (*earlier, side) = (Side::On, Side::On);
        }
        found.push((date, side));
    }
    found.into_iter().map(|(mention, side)| Dated { mention, period: Period::new(mention, side) }).collect()
}

fn side_of(before: &str) -> Side {
    let lower = before.to_lowercase();
    let mut words: Vec<&str> = lower.split_whitespace().collect();
    let fits = |words: &[&str]| {
        SIDES
            .iter()
            .flat_map(|(side, patterns)| patterns.split(';').map(move |pattern| (*side, pattern)))
            .filter(|(_, pattern)| words.ends_with(&pattern.split(' ').collect::<Vec<_>>()))
            .max_by_key(|(_, pattern)| pattern.split(' ').count())
            .map(|(side, _)| side)
    };
    loop {
        if let Some(side) = fits(&words) {
            return side;
        }
        match words.pop() {
            Some(word) if BETWEEN.contains(&word) => {}
            _ => return Side::On,
        }
    }
}

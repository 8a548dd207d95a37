//! When a statement was written, said in it: "on Tuesday" and "last year" tell a later reader nothing without.

use std::sync::LazyLock;

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use regex::Regex;

use super::{dates, names};

static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r" \((?:written on|написано) (\d{1,2} \p{L}+ \d{4}|\d{4}-\d\d-\d\d)(?: года| року)?\)$").ok()
});

/// The statement with the day it was written behind it, where it has a date that counts from that day: "The court met on
/// Tuesday. (written on 17 November 2026)". The day itself is not put in the place of the words: what they mean is a
/// reading, and this is a fact. The day is that in UTC.
pub fn with_written(statement: &str, language: Option<&str>, written: DateTime<Utc>) -> String {
    if without_written(statement) != statement || !dates(statement, Some(written)).iter().any(|date| date.is_relative) {
        return statement.to_owned();
    }
    format!("{statement} ({})", told(language, written.date_naive()))
}

/// The statement as it was before [`with_written`].
pub fn without_written(statement: &str) -> &str {
    let at = MARK.as_ref().and_then(|mark| mark.find(statement)).map_or(statement.len(), |found| found.start());
    statement.get(..at).unwrap_or(statement)
}

/// The day that [`with_written`] put behind a statement.
pub fn written_on(statement: &str) -> Option<DateTime<Utc>> {
    let day = MARK.as_ref()?.captures(statement)?.get(1)?;
    let day = dates(day.as_str(), None).into_iter().next()?.start;
    Some(day.and_hms_opt(0, 0, 0)?.and_utc())
}

fn told(language: Option<&str>, day: NaiveDate) -> String {
    let in_words = |language: &str| {
        let month = names::month_behind_a_day(day.month(), language).unwrap_or_default();
        format!("{} {month} {}", day.day(), day.year())
    };
    match language {
        Some("ru") => format!("написано {} года", in_words("ru")),
        Some("uk") => format!("написано {} року", in_words("uk")),
        Some("en") => format!("written on {}", day.format("%-d %B %Y")),
        _ => format!("written on {}", day.format("%Y-%m-%d")),
    }
}

#[cfg(test)]
mod tests;

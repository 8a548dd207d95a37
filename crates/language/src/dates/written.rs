//! Adds the day of writing to a statement with a relative date, for later readers.

use chrono::{DateTime, Datelike, NaiveDate, Utc};

use super::{dates, names};
use crate::lexicon::entries;
use crate::patterns::Pattern;

static MARK: Pattern =
    Pattern::of(r" \({dates.written.on} (\d{1,2} \p{L}+ \d{4}|\d{4}-\d\d-\d\d)(?: {dates.written.year})?\)$");

/// Adds the day (UTC): "The court met on Tuesday. (written on 17 November 2026)".
///
/// The words stay, because their meaning is an interpretation but the day is a fact.
pub fn with_written(statement: &str, language: Option<&str>, written: DateTime<Utc>) -> String {
    if without_written(statement) != statement || !dates(statement, Some(written)).iter().any(|date| date.is_relative) {
        return statement.to_owned();
    }
    format!("{statement} ({})", written_day(language, written.date_naive()))
}

/// Removes the day of [`with_written`].
pub fn without_written(statement: &str) -> &str {
    let at = MARK.find(statement).map_or(statement.len(), |found| found.start());
    statement.get(..at).unwrap_or(statement)
}

/// Returns the day of [`with_written`].
pub fn written_on(statement: &str) -> Option<DateTime<Utc>> {
    let day = MARK.captures(statement)?.get(1)?;
    let day = dates(day.as_str(), None).into_iter().next()?.start;
    Some(day.and_hms_opt(0, 0, 0)?.and_utc())
}

/// Uses English words and figures for other languages.
fn written_day(language: Option<&str>, day: NaiveDate) -> String {
    let in_words = |language: &str| {
        let word = |role: &str| entries(role).find(|entry| entry.language == language).map(|entry| entry.form);
        let month = names::month_behind_a_day(day.month(), language)?;
        let year_word = word("dates.written.year").map_or_else(String::new, |word| format!(" {word}"));
        Some(format!("{} {} {month} {}{year_word}", word("dates.written.on")?, day.day(), day.year()))
    };
    language.and_then(in_words).unwrap_or_else(|| format!("written on {}", day.format("%Y-%m-%d")))
}

#[cfg(test)]
mod tests;

//! Finds old events presented as new.

use chrono::{DateTime, TimeDelta, Utc};
use corroborate_language::lexicon::Words;

use super::profile::TextProfile;
use corroborate_language::dates::DateMention;
use corroborate_language::verbs;

/// Maximum age of "yesterday" or "on Monday".
const MAX_RECENT_AGE: TimeDelta = TimeDelta::days(14);
/// A page this much older is about another event.
const MIN_EARLIER_DISTANCE: TimeDelta = TimeDelta::days(60);
/// Maximum span of such a date; excludes "last year".
const MAX_DATE_SPAN: TimeDelta = TimeDelta::days(7);

/// Whether the claim dates an event shortly before, and the page is much older.
pub fn is_of_an_older_time(claim: &TextProfile, published: Option<DateTime<Utc>>) -> bool {
    let Some((claimed, published)) = claim.reference.zip(published) else { return false };
    let (claimed, published) = (claimed.date_naive(), published.date_naive());
    // An absolute date is compared instead, and a general statement is no event.
    if claim.dates.iter().any(|date| !date.is_relative) || !reports_an_event(claim) {
        return false;
    }
    claim.dates.iter().any(|date| {
        is_of_the_last_days(claim, date)
            && date.end.signed_duration_since(date.start) <= MAX_DATE_SPAN
            && claimed.signed_duration_since(date.end) <= MAX_RECENT_AGE
            && date.start.signed_duration_since(published) > MIN_EARLIER_DISTANCE
    })
}

/// Whether the date is recent: not "The Sunday Times", "Wednesday Addams", "a Tuesday", "today".
fn is_of_the_last_days(claim: &TextProfile, date: &DateMention) -> bool {
    static DAYS: Words = Words::of("out_of_context.day");
    static DAY_PREPOSITIONS: Words = Words::of("out_of_context.before_day");
    if !date.is_relative_day() {
        return false;
    }
    let lower = date.text.to_lowercase();
    let before = claim.text.get(..date.offset).unwrap_or_default();
    let behind = claim.text.get(date.offset + date.text.len()..).unwrap_or_default();
    let next = behind.split_whitespace().next().unwrap_or_default();
    let is_in_a_name = behind.starts_with(' ') && next.starts_with(char::is_uppercase);
    let last = before.split_whitespace().next_back().unwrap_or_default().to_lowercase();
    let is_prepared = DAY_PREPOSITIONS.has(&last) || lower.starts_with("last ");
    // Not "The Beatles recorded Yesterday", with a capital inside the sentence.
    let is_day = DAYS.has(&lower) && (before.is_empty() || date.text.starts_with(char::is_lowercase));
    is_day || is_prepared && !is_in_a_name
}

fn reports_an_event(claim: &TextProfile) -> bool {
    claim.sentences.iter().flat_map(|own| &own.words).any(|word| verbs::is_past(&word.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_page_is_of_another_time_where_the_claim_says_when() {
        let at = |text: &str| TextProfile::new(text, Some("en"), "2026-08-15T12:00:00Z".parse().ok(), &[]);
        let old: Option<DateTime<Utc>> = "2018-08-14T12:00:00Z".parse().ok();
        let new: Option<DateTime<Utc>> = "2026-08-14T12:00:00Z".parse().ok();
        assert!(is_of_an_older_time(&at("A bridge collapsed in Genoa yesterday."), old));
        for (claim, published) in [
            ("A bridge collapsed in Genoa yesterday.", new),
            ("A bridge collapsed in Genoa yesterday.", None),
            ("A bridge collapsed in Genoa.", old),
            ("A bridge collapsed in Genoa on 14 August 2018.", old),
            ("A bridge collapsed in Genoa last year.", old),
            ("The Sunday Times was founded in London.", old),
            ("The Beatles recorded Yesterday in London.", old),
            ("Muslims pray in mosques on Friday.", old),
            ("Russia invaded Ukraine on Thursday, 24 February 2022.", old),
            ("Today eight billion people lived on Earth.", old),
            ("The king died on a Thursday.", old),
        ] {
            assert!(!is_of_an_older_time(&at(claim), published), "{claim}");
        }
    }
}

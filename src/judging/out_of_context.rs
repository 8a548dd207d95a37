//! An old event passed off as new: the fact holds, at another time than the claim says.

use chrono::{DateTime, TimeDelta, Utc};

use super::profile::TextProfile;

/// A claim that says "yesterday" or "on Monday" speaks of the last days.
const RECENT: TimeDelta = TimeDelta::days(14);
/// A page from longer before that day tells of another event, however like its words are.
const LONG_BEFORE: TimeDelta = TimeDelta::days(60);
/// "Last year" says nothing of the last days.
const FEW_DAYS: TimeDelta = TimeDelta::days(7);

/// Whether the claim dates what happened by the days just before it was made, and the page is from long before those.
pub fn is_of_an_older_time(claim: &TextProfile, published: Option<DateTime<Utc>>) -> bool {
    let Some((claimed, published)) = claim.reference.zip(published) else { return false };
    let (claimed, published) = (claimed.date_naive(), published.date_naive());
    claim.dates.iter().any(|date| {
        let is_told_by_the_day = date.is_relative && !date.text.contains(|c: char| c.is_ascii_digit());
        is_told_by_the_day
            && date.end.signed_duration_since(date.start) <= FEW_DAYS
            && claimed.signed_duration_since(date.end) <= RECENT
            && date.start.signed_duration_since(published) > LONG_BEFORE
    })
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
        ] {
            assert!(!is_of_an_older_time(&at(claim), published), "{claim}");
        }
    }
}

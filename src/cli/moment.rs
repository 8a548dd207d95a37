//! Parses a time, or a day, which begins at midnight UTC.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

pub(super) fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    let text = text.trim();
    let moment = DateTime::parse_from_rfc3339(text).map(|moment| moment.to_utc());
    let day = || text.parse::<NaiveDate>().map(|day| day.and_time(NaiveTime::MIN).and_utc());
    let problem = format!("{text:?} is no date; write it as 2026-11-20 or 2026-11-20T08:00:00Z");
    moment.or_else(|_no_moment| day()).map_err(|_no_day| problem)
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn a_day_is_its_midnight_and_a_moment_has_its_zone() {
        let read = |text: &str| moment(text).map(|moment| moment.to_rfc3339());
        assert_eq!(read("2020-05-01").unwrap(), "2020-05-01T00:00:00+00:00");
        assert_eq!(read(" 2020-05-02T03:04:05+02:00 ").unwrap(), "2020-05-02T01:04:05+00:00");
        assert!(read("May").unwrap_err().contains("no date"));
    }
}

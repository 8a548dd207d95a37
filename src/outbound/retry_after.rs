//! Parses `Retry-After` in the forms that servers send.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// Maximum accepted wait; values of years were seen. The provider may repeat it the next day.
pub const LONGEST: Duration = Duration::from_hours(24);

/// Parses a `Retry-After` value: seconds, also fractional or negative, or an HTTP date.
///
/// A date is relative to the *server's* `Date` if present, because its clock may be years off, else to `received`. The
/// result is in [0, [`LONGEST`]]. `None` if unreadable.
pub fn parse(value: &str, server_date: Option<&str>, received: DateTime<Utc>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        // `inf` and `nan` parse as numbers.
        if !seconds.is_finite() {
            return None;
        }
        return Some(Duration::from_secs_f64(seconds.clamp(0.0, LONGEST.as_secs_f64())));
    }
    let target = http_date(value)?;
    let now = server_date.and_then(http_date).unwrap_or(received);
    Some((target - now).to_std().unwrap_or(Duration::ZERO).min(LONGEST))
}

/// Parses the standard form, and RFC 2822 offsets, which some servers send. RFC 9110's obsolete forms are not parsed.
fn http_date(value: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc2822(value.trim()).ok().map(|date| date.with_timezone(&Utc))
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    fn noon() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 18, 12, 0, 0).unwrap()
    }

    #[test]
    fn every_form_seen_is_read_or_left_to_our_own_back_off() {
        let cases = [
            ("2", Some(2.0)),
            (" 120 ", Some(120.0)),
            ("0", Some(0.0)),
            ("-5", Some(0.0)),
            ("0.5", Some(0.5)),
            ("99999999", Some(86400.0)),
            ("1e400", None),
            ("NaN", None),
            ("inf", None),
            ("soon", None),
            ("", None),
            ("Wed, 18 Nov 2026 12:00:30 GMT", Some(30.0)),
            ("Wed, 18 Nov 2026 11:00:00 GMT", Some(0.0)),
            ("Fri, 18 Nov 2039 12:00:00 GMT", Some(86400.0)),
        ];
        for (value, seconds) in cases {
            assert_eq!(parse(value, None, noon()).map(|wait| wait.as_secs_f64()), seconds, "{value:?}");
        }
    }

    #[test]
    fn a_date_is_measured_with_the_servers_own_clock() {
        let wait = parse("Mon, 18 Nov 2019 12:00:30 GMT", Some("Mon, 18 Nov 2019 12:00:00 GMT"), noon());
        assert_eq!(wait, Some(Duration::from_secs(30)));
        let unreadable = parse("Wed, 18 Nov 2026 12:00:30 GMT", Some("yesterday"), noon());
        assert_eq!(unreadable, Some(Duration::from_secs(30)));
    }
}

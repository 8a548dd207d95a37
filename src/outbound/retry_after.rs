//! `Retry-After`, as servers really send it.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// The longest wait that is believed. A header that says more (years have been seen) is read as this: the provider is
/// asked again the next day, and says so again if it means it.
pub const LONGEST: Duration = Duration::from_hours(24);

/// Reads a `Retry-After` value: delta-seconds, also fractional or negative, or an HTTP date.
///
/// A date is measured against the *server's* `Date` where there is one, since its clock may be years off; else against
/// `received`. The result is clamped to [0, [`LONGEST`]]. `None` when it cannot be read: the caller has a back-off of
/// its own.
pub fn parse(value: &str, server_date: Option<&str>, received: DateTime<Utc>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        // `inf` and `nan` parse as numbers, and are none here.
        if !seconds.is_finite() {
            return None;
        }
        return Some(Duration::from_secs_f64(seconds.clamp(0.0, LONGEST.as_secs_f64())));
    }
    let target = http_date(value)?;
    let now = server_date.and_then(http_date).unwrap_or(received);
    Some((target - now).to_std().unwrap_or(Duration::ZERO).min(LONGEST))
}

/// The fixed form every server is to send, and RFC 2822's offsets, which some send instead. The two obsolete forms of
/// RFC 9110 are not read.
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

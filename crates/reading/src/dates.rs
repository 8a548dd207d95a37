//! Parses dates as pages and feeds write them.
//!
//! 1. Removes the time of day and its zone.
//! 2. Finds whole expressions: day, month and year next to each other, as numbers or with the name of the month. Words
//!    around them are ignored ("By Jane Whitlock, 28 October 2026").
//! 3. If numbers allow two orders (`07/06/2023`), or a name means two months, the weekday next to the date decides.
//!
//! Ambiguous dates and periods give no date, because a wrong date changes freshness and verdicts. Relative dates
//! ("yesterday") are never read, because nothing here reads a clock.
//!
//! To add a language, add its names to `names`. To add an order, add its pattern to [`FORMS`].

mod names;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};
use regex::{Captures, Regex};

/// A date and the parts that the text stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedDate {
    pub at: DateTime<Utc>,
    /// The day as written, or the day that the page shows next to the time.
    pub day: NaiveDate,
    /// The day that is written with the time.
    pub written: NaiveDate,
    /// If false, `at` is midnight.
    pub has_time: bool,
    /// If false, the time is taken as UTC.
    pub has_zone: bool,
}

/// Hours by which a page's day may differ from the UTC day. A larger difference is the date of a newspaper's next
/// issue.
const MAX_ZONE_HOURS: i64 = 5;

impl ParsedDate {
    /// The day of `at` in the page's time zone.
    pub(super) fn local_day(&self) -> NaiveDate {
        let first = self.day.and_time(NaiveTime::MIN).and_utc();
        let (early, late) = (first - TimeDelta::hours(MAX_ZONE_HOURS), first + TimeDelta::hours(24 + MAX_ZONE_HOURS));
        if !self.has_time || (early..late).contains(&self.at) { self.day } else { self.written }
    }
}

/// Longer texts are cut to this number of bytes.
const MAX_BYTES: usize = 130;

/// Parses one date; a time without a zone is UTC. Future dates are accepted. `None` for ambiguous dates (`11/12/2026`),
/// placeholders (zero, the epoch, year 1) and years outside 1800–2199.
pub fn parse_date(text: &str) -> Option<DateTime<Utc>> {
    parse_dated(text).map(|parsed| parsed.at)
}

/// Parses the date of a text: a value of metadata, or a short line ("Cup • 02.02.2022", "Ann Lee / 7 November 2023").
pub fn parse_dated(text: &str) -> Option<ParsedDate> {
    let text = super::text::cut(text.trim(), MAX_BYTES).trim();
    if text.len() < 6 {
        return None;
    }
    let parsed = if text.bytes().all(|byte| byte.is_ascii_digit()) { digits_only(text) } else { expression(text) };
    parsed.filter(|parsed| is_plausible(parsed.at))
}

const YEARS: Range<i32> = 1800..2200;

/// The epoch's day, in any zone, is a database default.
fn is_plausible(at: DateTime<Utc>) -> bool {
    let epoch_day = at.timestamp().abs() <= 86_400;
    YEARS.contains(&at.year()) && !epoch_day
}

/// Parses `20261118`, `20261118071500`, epoch seconds (9–10 digits) and milliseconds (12–13).
fn digits_only(text: &str) -> Option<ParsedDate> {
    match text.len() {
        8 => NaiveDate::parse_from_str(text, "%Y%m%d").ok().and_then(|day| assemble(day, None, None)),
        14 => {
            let at = NaiveDateTime::parse_from_str(text, "%Y%m%d%H%M%S").ok()?;
            assemble(at.date(), Some(at.time()), None)
        }
        9..=10 => epoch(text.parse().ok()?),
        12..=13 => epoch(text.parse::<i64>().ok()? / 1000),
        _ => None,
    }
}

fn epoch(seconds: i64) -> Option<ParsedDate> {
    let at = DateTime::from_timestamp(seconds, 0)?;
    let day = at.date_naive();
    Some(ParsedDate { at, day, written: day, has_time: true, has_zone: true })
}

/// Replaces the time of day, so that "18 Nov 07:15 2026" is one expression.
const CLOCK_MARK: &str = "\0";

static CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?:^|[^\d:])(?P<h>\d{1,2})[:h](?P<mi>\d{2})(?::(?P<s>\d{2})(?:[.,]\d{1,9})?)?{HALF}{ZONE}")
});
/// A time with a dot follows its date, because elsewhere such numbers are prices and days.
static DOTTED_CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"^[\s,|–-]+(?:(?:at|um|kl|в|о)\.?\s+)?(?P<h>\d{1,2})\.(?P<mi>[0-5]\d)(?:\.(?P<s>\d{2}))?{HALF}{ZONE}(?:[^\d.]|$)",
    )
});

/// Expressions by order. `sep` marks numbers whose order differs by country; dots are always day first.
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?P<y>\d{4})(?:\s?[-/.]\s?|\s?[年년]\s?)(?P<m>\d{1,2})(?:\s?[-/.]\s?|\s?[月월]\s?)(?P<d>\d{1,2})(?:\s?[日일])?",
        r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4}|[0-3]\d)",
        r"(?P<d>\d{1,2})(?P<sep>[-/])(?P<m>\d{1,2})[-/](?P<y>\d{4})",
        // Two-digit years end the text or precede the time.
        r"(?P<d>\d{1,2}){TH}[\s.,/-]{0,4}{OF}{MONTH}{JOIN}{OF}(?P<y>\d{4}|\d{2}[\s)]*(?:\x00|$))",
        r"{MONTH}[\s.-]{1,3}(?P<d>\d{1,2}){TH}{JOIN}{OF}(?P<y>\d{4})",
        r"(?P<y>\d{4}){JOIN}(?:(?:gada|m)\s)?{MONTH}[\s.,/-]{1,3}(?P<d>\d{1,2})",
    ]
    .into_iter()
    .filter_map(|form| pattern(&[r"(?:^|[^\p{Latin}\p{Cyrillic}\d])(?P<date>", form, ")"].concat()))
    .collect()
});

/// Compiles a pattern with the parts that patterns share.
fn pattern(text: &str) -> Option<Regex> {
    let zone =
        [r"(?:\s*\(?(?P<z>(?:GMT|UTC)?\s?[+-]\d{1,2}(?::?\d{2})?|(?:", names::ANY_ZONE.as_str(), r")\b)\)?)?"].concat();
    let month = ["(?P<name>", names::ANY_MONTH.as_str(), ")"].concat();
    let parts = [
        ("{HALF}", r"\s*(?P<ap>[ap]\.?m\b\.?)?"),
        ("{ZONE}", zone.as_str()),
        ("{TH}", r"(?:\s?(?:st|nd|rd|th)|er|re|º|ª|-?(?:го|е|те))?"),
        ("{OF}", r"(?:(?:de|del|di|do|of)\s|d['’])?"),
        ("{MONTH}", month.as_str()),
        ("{JOIN}", r"[\s.,/'’\x00-]{1,4}"),
    ];
    let full = parts.into_iter().fold(text.to_owned(), |text, (name, part)| text.replace(name, part));
    Regex::new(&["(?i)", &full].concat()).ok()
}

/// Words before a date that a second date does not make ambiguous: "Published on 18.11.2026, updated 20.11.2026".
const MAX_WORDS_BEFORE: usize = 3;

/// Reads the date of a text: the only one, or the one at its beginning.
fn expression(text: &str) -> Option<ParsedDate> {
    let clock = CLOCK.as_ref().and_then(|regex| regex.captures(text));
    let rest = match clock.as_ref().and_then(|found| found.get(0)) {
        Some(whole) => Cow::Owned([text.get(..whole.start())?, CLOCK_MARK, text.get(whole.end()..)?].concat()),
        None => Cow::Borrowed(text),
    };
    let mut days = days(&rest)?;
    days.sort_unstable_by_key(|(place, _)| place.start);
    let (place, day) = days.first()?;
    let is_only = days.iter().all(|(_, other)| other == day);
    if !is_only && rest.get(..place.start)?.split_whitespace().count() > MAX_WORDS_BEFORE {
        return None;
    }
    let clock = clock.or_else(|| DOTTED_CLOCK.as_ref()?.captures(rest.get(place.end..)?));
    match clock {
        Some(found) => with_clock(*day, &found),
        None => assemble(*day, None, None),
    }
}

/// Returns the dates with their places. `None` if they belong to a period ("3–5 May 2024").
fn days(text: &str) -> Option<Vec<(Range<usize>, NaiveDate)>> {
    let mut days: Vec<(Range<usize>, NaiveDate)> = Vec::new();
    for found in FORMS.iter().flat_map(|form| form.captures_iter(text)) {
        let Some(place) = found.name("date").map(|date| date.range()) else { continue };
        let (before, after) = (text.get(..place.start)?, text.get(place.end..)?);
        let is_taken = days.iter().any(|(other, _)| place.start < other.end && other.start < place.end);
        if is_taken || is_cut(before, after) {
            continue;
        }
        let Some(day) = decided(&readings(&found), before, after) else { continue };
        if ends_period(before) {
            return None;
        }
        days.push((place, day));
    }
    Some(days)
}

/// True for a part of a longer number or address: `2026-11-181`, `1.2.2022.4`, `a.example/2026/11/18`.
fn is_cut(before: &str, after: &str) -> bool {
    before.strip_suffix(['.', '/']).is_some_and(|rest| rest.ends_with(char::is_alphanumeric))
        || after.strip_prefix('.').unwrap_or(after).starts_with(|character: char| character.is_ascii_digit())
}

fn ends_period(before: &str) -> bool {
    let before = before.trim_end();
    let start = before.trim_end_matches(['-', '–', '—']);
    start.len() < before.len()
        && start.trim_end().trim_end_matches('.').ends_with(|character: char| character.is_ascii_digit())
}

/// The days that an expression may mean.
fn readings(found: &Captures<'_>) -> Vec<NaiveDate> {
    let (Some(year), Some(day)) = (year_of(found), number(found, "d")) else { return Vec::new() };
    let months: Vec<u32> = match found.name("name") {
        Some(name) => names::months(name.as_str()).collect(),
        None => number(found, "m").into_iter().collect(),
    };
    let swapped = months.first().filter(|_| found.name("sep").is_some()).map(|month| (day, *month));
    let stated = months.iter().map(|month| (*month, day)).chain(swapped);
    let mut days: Vec<NaiveDate> =
        stated.filter_map(|(month, day)| NaiveDate::from_ymd_opt(year, month, day)).collect();
    days.dedup();
    days
}

/// Returns the only reading, or the only one with the weekday next to the expression.
fn decided(readings: &[NaiveDate], before: &str, after: &str) -> Option<NaiveDate> {
    if let [only] = readings {
        return Some(*only);
    }
    let is_letter = |character: char| character.is_alphabetic() || matches!(character, '\'' | '’' | 'ʼ' | '-');
    let before = before.trim_end_matches(|character: char| !character.is_alphanumeric());
    let after = after.trim_start_matches(|character: char| !character.is_alphanumeric());
    let start = before.trim_end_matches(is_letter).len();
    let end = after.len() - after.trim_start_matches(is_letter).len();
    let weekday = names::weekday(before.get(start..)?).or_else(|| names::weekday(after.get(..end)?))?;
    let mut fitting = readings.iter().filter(|day| day.weekday() == weekday);
    fitting.next().filter(|_| fitting.next().is_none()).copied()
}

fn number(found: &Captures<'_>, name: &str) -> Option<u32> {
    found.name(name)?.as_str().parse().ok()
}

/// Two digits are 1970–2069, as in RFC 2822 dates of feeds.
fn year_of(found: &Captures<'_>) -> Option<i32> {
    let digits = found.name("y")?.as_str().trim_end_matches(|character: char| !character.is_ascii_digit());
    let year: i32 = digits.parse().ok()?;
    match (digits.len(), year) {
        (2, 0..70) => Some(2000 + year),
        (2, _) => Some(1900 + year),
        _ => YEARS.contains(&year).then_some(year),
    }
}

fn with_clock(day: NaiveDate, found: &Captures<'_>) -> Option<ParsedDate> {
    let zone = found.name("z").map(|zone| zone.as_str());
    let Some(hour) = number(found, "h") else { return assemble(day, None, None) };
    let minute = number(found, "mi")?;
    let second = number(found, "s").unwrap_or(0).min(59);
    let half = found.name("ap").and_then(|half| half.as_str().chars().next()).map(|c| c.to_ascii_lowercase());
    let hour = match half {
        Some('p') if hour < 12 => hour + 12,
        Some('a') if hour == 12 => 0,
        _ => hour,
    };
    // "24:00" and impossible times are dropped, and the day is kept.
    match NaiveTime::from_hms_opt(hour, minute, second) {
        Some(time) => assemble(day, Some(time), zone),
        None => assemble(day, None, None),
    }
}

fn assemble(day: NaiveDate, time: Option<NaiveTime>, zone: Option<&str>) -> Option<ParsedDate> {
    let offset = zone.and_then(names::offset);
    let naive = day.and_time(time.unwrap_or_default());
    let at = match offset {
        Some(offset) => offset.from_local_datetime(&naive).single()?.with_timezone(&Utc),
        None => naive.and_utc(),
    };
    Some(ParsedDate { at, day, written: day, has_time: time.is_some(), has_zone: offset.is_some() })
}

/// The date of a URL is in segments of its own (`/2024/05/03/`, `/20240503/`), or begins or ends a segment
/// (`title-2024-05-03`). Days first only if the day cannot be a month.
static IN_PATH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?P<y>(?:19|20)\d{2})[/_-](?P<m>0?[1-9]|1[0-2])[/_-](?P<d>0?[1-9]|[12]\d|3[01])",
        r"(?P<y>(?:19|20)\d{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])",
        r"(?P<d>0[1-9]|[12]\d|3[01])\.(?P<m>0[1-9]|1[0-2])\.(?P<y>20\d{2})",
        r"(?P<d>1[3-9]|2\d|3[01])-(?P<m>0[1-9]|1[0-2])-(?P<y>20\d{2})",
    ]
    .into_iter()
    .filter_map(|form| Regex::new(&[r"(?:^|[/_~-])(?P<date>", form, r")(?:[/_.-]|$)"].concat()).ok())
    .collect()
});

/// Returns the date in a URL's path if publishers put the day of publication there. A day between words of a segment is
/// the day of the subject (`/fire-2014-05-02-what-we-know`).
pub(super) fn date_in_path(path: &str) -> Option<ParsedDate> {
    let is_between_words = |place: Range<usize>| {
        let has_words = |text: Option<&str>| text.is_some_and(|text| text.contains(char::is_alphabetic));
        has_words(path.get(..place.start).and_then(|before| before.rsplit('/').next()))
            && has_words(path.get(place.end..).and_then(|after| after.split(['/', '.']).next()))
    };
    let found = IN_PATH
        .iter()
        .flat_map(|form| form.captures_iter(path))
        .find(|found| found.name("date").is_some_and(|date| !is_between_words(date.range())))?;
    let day = *readings(&found).first()?;
    assemble(day, None, None).filter(|parsed| is_plausible(parsed.at))
}

#[cfg(test)]
mod tests;

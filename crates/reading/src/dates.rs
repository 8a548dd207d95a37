//! Parses dates as pages write them. Ambiguous dates are rejected, because a wrong date changes freshness and verdicts.

use std::sync::LazyLock;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};
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
const NIGHT: i64 = 5;

impl ParsedDate {
    /// The day of `at` in the page's time zone.
    pub(super) fn local_day(&self) -> NaiveDate {
        let first = self.day.and_time(NaiveTime::MIN).and_utc();
        let (early, late) = (first - TimeDelta::hours(NIGHT), first + TimeDelta::hours(24 + NIGHT));
        if !self.has_time || (early..late).contains(&self.at) { self.day } else { self.written }
    }
}

/// Parses one date; a time without a zone is UTC. Future dates are accepted. `None` for ambiguous dates (`11/12/2026`),
/// placeholders (zero, the epoch, year 1) and years outside 1800–2199.
pub fn parse_date(text: &str) -> Option<DateTime<Utc>> {
    parse_dated(text).map(|parsed| parsed.at)
}

pub fn parse_dated(text: &str) -> Option<ParsedDate> {
    let text = super::text::cut(text.trim(), 120).trim();
    if text.len() < 6 {
        return None;
    }
    let parsed = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        digits_only(text)
    } else {
        numeric(text).or_else(|| spelled(text))
    };
    parsed.filter(|parsed| is_plausible(parsed.at))
}

/// The epoch's day, in any zone, is a database default.
fn is_plausible(at: DateTime<Utc>) -> bool {
    let epoch_day = at.timestamp().abs() <= 86_400;
    (1800..2200).contains(&at.year()) && !epoch_day
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

const TIME: &str = r"(?:[T\s,]+(?:at\s+|um\s+|в\s+|о\s+|\|\s*|-\s+)?(?P<h>\d{1,2})[:.h](?P<mi>\d{2})(?:[:.](?P<s>\d{2})(?:[.,]\d{1,9})?)?\s*(?P<ap>[AaPp]\.?[Mm]\b\.?)?)?";
const ZONE: &str = r"\s*(?:\(?(?P<z>(?:GMT|UTC)?\s?[+-]\d{1,2}(?::?\d{2})?|Z|[A-Za-z]{2,5}\b)\)?)?";

static YEAR_FIRST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"^(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){TIME}{ZONE}")).ok()
});
static YEAR_LAST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"^(?:\p{{L}}+[.,:]*\s+){{0,3}}[(\[|–-]?\s*(?P<a>\d{{1,2}})(?P<sep>[-/.])(?P<b>\d{{1,2}})[-/.](?P<y>\d{{4}}){TIME}{ZONE}"
    ))
    .ok()
});
static CJK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"^(?P<y>\d{{4}})\s*[年년]\s*(?P<m>\d{{1,2}})\s*[月월]\s*(?P<d>\d{{1,2}})\s*[日일]{TIME}{ZONE}"
    ))
    .ok()
});
static CLOCK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?:^|[^\d:])(?P<h>\d{{1,2}})[:h](?P<mi>\d{{2}})(?::(?P<s>\d{{2}}))?\s*(?P<ap>[AaPp]\.?[Mm]\b\.?)?{ZONE}"
    ))
    .ok()
});

/// Parses ISO and similar dates, day-first dates with dots, and unambiguous dates with slashes.
fn numeric(text: &str) -> Option<ParsedDate> {
    for regex in [&YEAR_FIRST, &CJK] {
        if let Some(found) = regex.as_ref().and_then(|regex| regex.captures(text)) {
            if continues_with_digit(text, &found) {
                return None;
            }
            let day = NaiveDate::from_ymd_opt(year_of(&found)?, number(&found, "m")?, number(&found, "d")?)?;
            return with_clock(day, &found);
        }
    }
    let found = YEAR_LAST.as_ref()?.captures(text)?;
    if continues_with_digit(text, &found) {
        return None;
    }
    let (first, second) = (number(&found, "a")?, number(&found, "b")?);
    // Dots are always day first. Slashes and dashes occur in both orders.
    let (day, month) = match found.name("sep").map(|sep| sep.as_str()) {
        Some(".") => (first, second),
        _ if first == second || first > 12 => (first, second),
        _ if second > 12 => (second, first),
        _ => return None,
    };
    with_clock(NaiveDate::from_ymd_opt(year_of(&found)?, month, day)?, &found)
}

/// `2026-11-181` and `18.11.20261` are not dates.
fn continues_with_digit(text: &str, found: &Captures<'_>) -> bool {
    let end = found.get(0).map_or(0, |whole| whole.end());
    text.get(end..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn number(found: &Captures<'_>, name: &str) -> Option<u32> {
    found.name(name)?.as_str().parse().ok()
}

fn year_of(found: &Captures<'_>) -> Option<i32> {
    found.name("y")?.as_str().parse().ok()
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
    let offset = zone.and_then(offset_of);
    let naive = day.and_time(time.unwrap_or_default());
    let at = match offset {
        Some(offset) => offset.from_local_datetime(&naive).single()?.with_timezone(&Utc),
        None => naive.and_utc(),
    };
    Some(ParsedDate { at, day, written: day, has_time: time.is_some(), has_zone: offset.is_some() })
}

/// An unknown name is ignored.
fn offset_of(zone: &str) -> Option<FixedOffset> {
    let zone = zone.trim();
    let bare = zone.trim_start_matches("GMT").trim_start_matches("UTC").trim();
    if let Some(rest) = bare.strip_prefix(['+', '-']) {
        let sign = if bare.starts_with('-') { -1 } else { 1 };
        let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
        let value: i32 = digits.parse().ok()?;
        let (hours, minutes) = if digits.len() <= 2 { (value, 0) } else { (value / 100, value % 100) };
        return (hours <= 14 && minutes < 60)
            .then(|| FixedOffset::east_opt(sign * (hours * 3600 + minutes * 60)))
            .flatten();
    }
    let minutes = match zone.to_ascii_uppercase().as_str() {
        "Z" | "UTC" | "GMT" | "UT" | "WET" => 0,
        "BST" | "WEST" | "CET" | "MEZ" => 60,
        "CEST" | "MESZ" | "EET" | "SAST" => 120,
        "MSK" | "EEST" | "TRT" => 180,
        "EDT" | "AST" => -240,
        "EST" | "CDT" => -300,
        "CST" | "MDT" => -360,
        "MST" | "PDT" => -420,
        "PST" => -480,
        "JST" | "KST" => 540,
        "AEST" => 600,
        "AEDT" => 660,
        // "IST" is Irish, Indian and Israeli time.
        _ => return None,
    };
    FixedOffset::east_opt(minutes * 60)
}

/// Month names in the languages of news pages. Short forms match whole words; forms from four letters match beginnings,
/// because Slavic months decline. Croatian and Czech are missing: they use Polish and Ukrainian names for other months
/// ("listopad", "červen").
const MONTHS: [&[&str]; 12] = [
    &["jan", "янв", "січ", "ene", "gen", "sty", "janu", "janv", "jane", "ener", "genn", "styc", "янва", "січн", "студ"],
    &["feb", "fev", "fév", "фев", "лют", "lut", "luty", "febr", "févr", "fevr", "feve", "febb", "lute", "февр", "люто"],
    &["mar", "mrz", "mär", "мар", "бер", "marc", "märz", "mars", "marz", "març", "maar", "март", "бере", "сака"],
    &["apr", "avr", "abr", "апр", "кві", "kwi", "apri", "avri", "abri", "kwie", "апре", "квіт"],
    &["may", "mai", "mag", "maj", "mei", "май", "мая", "тра", "mayo", "maio", "magg", "maja", "трав"],
    &["jun", "giu", "июн", "чер", "cze", "june", "juni", "juin", "junh", "giug", "czer", "июня", "июнь", "черв"],
    &[
        "jul", "lug", "июл", "лип", "july", "juli", "juil", "julh", "lugl", "lipc", "lipi", "июля", "июль", "липн",
        "липе",
    ],
    &["aug", "aoû", "aou", "ago", "авг", "сер", "sie", "augu", "août", "aout", "agos", "sier", "авгу", "серп"],
    &["sep", "set", "сен", "вер", "wrz", "sept", "sett", "sete", "wrze", "сент", "вере"],
    &["oct", "okt", "out", "ott", "окт", "жов", "paź", "octo", "okto", "octu", "outu", "otto", "paźd", "октя", "жовт"],
    &["nov", "ноя", "лис", "nove", "novi", "нояб", "лист"],
    &[
        "dec", "dez", "déc", "dic", "des", "дек", "гру", "gru", "dece", "deze", "déce", "dici", "dese", "grud", "дека",
        "груд",
    ],
];

fn month_of(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    let fits = |name: &&str| {
        word.strip_prefix(*name)
            .is_some_and(|rest| rest.is_empty() || name.chars().count() > 3 && rest.chars().count() <= 7)
    };
    let month = MONTHS.iter().position(|names| names.iter().any(&fits))?;
    u32::try_from(month + 1).ok()
}

/// Parses dates with a month name: RFC 822, `asctime`, JavaScript, "18 ноября 2026, 07:15", "November 18, 2026 7:15
/// AM". A weekday and few other words are ignored.
fn spelled(text: &str) -> Option<ParsedDate> {
    let clock = CLOCK.as_ref().and_then(|regex| regex.captures(text));
    let (before, after) = clock.as_ref().and_then(|found| found.get(0)).map_or((text, ""), |whole| {
        (text.get(..whole.start()).unwrap_or(text), text.get(whole.end()..).unwrap_or_default())
    });
    let (mut month, mut day, mut year, mut words) = (None, None, None, 0_usize);
    for token in before.split(is_separator).chain(after.split(is_separator)).filter(|token| !token.is_empty()) {
        if let Some(value) = leading_number(token) {
            let digits = token.chars().take_while(char::is_ascii_digit).count();
            match (digits, value) {
                (4, _) if year.is_none() => year = Some(value),
                (1..=2, 1..=31) if day.is_none() => day = Some(value),
                // RFC 822 has two-digit years after the month.
                (2, _) if day.is_some() && month.is_some() && year.is_none() => {
                    year = Some(if value < 70 { 2000 + value } else { 1900 + value });
                }
                _ => return None,
            }
        } else {
            words += 1;
            if month.is_none() {
                month = month_of(token);
            }
        }
    }
    // Longer texts are sentences.
    if words > 6 {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(i32::try_from(year?).ok()?, month?, day?)?;
    match &clock {
        Some(found) => with_clock(date, found),
        None => assemble(date, None, None),
    }
}

fn is_separator(character: char) -> bool {
    !character.is_alphanumeric()
}

/// The number at the start of a token, also with an ordinal ending ("18th", "1er").
fn leading_number(token: &str) -> Option<u32> {
    let digits: String = token.chars().take_while(char::is_ascii_digit).collect();
    let tail = token.chars().skip(digits.len()).count();
    if digits.is_empty() || tail > 3 { None } else { digits.parse().ok() }
}

static WITHIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?:^|[^\d.\p{L}]) (?P<date>
            (?:19|20)\d{2}-\d{2}-\d{2}
          | \d{1,2}\.\s?\d{1,2}\.\s?(?: (?:19|20)\d{2} | \d{2} )
          | \d{1,2}\.?\s(?:de\s)?\p{L}{3,10}\.?\s(?:de\s)?(?:19|20)\d{2}
          | \p{L}{3,10}\.?\s\d{1,2}(?:st|nd|rd|th)?,?\s(?:19|20)\d{2}
        ) (?:$|[^\d.\p{L}]|\.(?:\s|$))",
    )
    .ok()
});

/// Returns the only date in a short line ("Cup • 02.02.2022", "Ann Lee / 7 November 2023"). Two dates or a period ("3–5
/// May 2024") give `None`, because they belong to an event.
pub(super) fn date_within(line: &str) -> Option<ParsedDate> {
    let mut only: Option<ParsedDate> = None;
    for date in WITHIN.as_ref()?.captures_iter(line).filter_map(|found| found.name("date")) {
        let before = line.get(..date.start())?.trim_end();
        let start = before.trim_end_matches(['-', '–', '—']).trim_end().trim_end_matches('.');
        if start.len() < before.len() && start.ends_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let Some(read) = with_short_year(date.as_str()) else { continue };
        if only.is_some_and(|other| other.day != read.day) {
            return None;
        }
        only = Some(read);
    }
    only
}

/// Parses a date whose two-digit year follows a dot and is in 2000–2040.
fn with_short_year(text: &str) -> Option<ParsedDate> {
    let (head, year) = text.rsplit_once('.').unwrap_or((text, ""));
    match year.trim().parse::<u32>() {
        Ok(0..=40) if year.trim().len() == 2 => parse_dated(&[head, ".20", year.trim()].concat()),
        _ => parse_dated(text),
    }
}

static IN_PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[/_\-])(?P<y>(?:19|20)\d{2})([/_\-])(?P<m>0?[1-9]|1[0-2])[/_\-](?P<d>0?[1-9]|[12]\d|3[01])(?:[/_\-.]|$)",
    )
    .ok()
});
static IN_PATH_COMPACT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|[/_\-])(?P<y>(?:19|20)\d{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?:[/_\-.]|$)").ok()
});

/// Day first, as in `/29-10-2021` and `_22.04.2020_`. Dashes only if the day cannot be a month.
static IN_PATH_DAY_FIRST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[/_~\-])(?P<d>0[1-9]|[12]\d|3[01])(?P<sep>[.\-])(?P<m>0[1-9]|1[0-2])[.\-](?P<y>20\d{2})(?:[/_\-.]|$)",
    )
    .ok()
});

/// The date in a URL (`/2024/05/03/`, `/20240503/`, `-2024-05-03`), where publishers put the day of publication.
pub(super) fn date_in_path(path: &str) -> Option<ParsedDate> {
    let found = [&IN_PATH, &IN_PATH_COMPACT, &IN_PATH_DAY_FIRST]
        .into_iter()
        .find_map(|regex| regex.as_ref().and_then(|regex| regex.captures(path)))?;
    let ambiguous = found.name("sep").is_some_and(|sep| sep.as_str() == "-") && number(&found, "d")? <= 12;
    if ambiguous {
        return None;
    }
    let day = NaiveDate::from_ymd_opt(year_of(&found)?, number(&found, "m")?, number(&found, "d")?)?;
    assemble(day, None, None).filter(|parsed| is_plausible(parsed.at))
}

#[cfg(test)]
mod tests;

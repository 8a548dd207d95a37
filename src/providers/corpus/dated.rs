//! The date of a document: from its front matter, its name, or a line of its head. Not the file's time, because copying
//! changes it.

use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate, Utc};
use regex::Regex;

use crate::language::dates::dates;
use crate::reading::documents::{Format, front_matter};

const HEAD: usize = 6;
/// A line with more characters before a dash is prose; its dates belong to its content.
const LONGEST: usize = 60;
/// Words that may be next to the date: a place, or "Published on".
const MAX_OTHER_WORDS: usize = 3;

const KEYS: [&str; 6] = ["date", "published", "published_at", "pubdate", "publishdate", "updated"];

static IN_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^0-9])((?:19|20)[0-9]{2})[-_./]?(0[1-9]|1[0-2])[-_./]?(0[1-9]|[12][0-9]|3[01])(?:[^0-9]|$)").ok()
});

/// Returns the date of a document at midnight; `None` if it has none.
pub(super) fn date(path: &str, text: &str, format: Format) -> Option<DateTime<Utc>> {
    let is_prose = !matches!(format, Format::Code | Format::Data);
    let stated = || of_front_matter(text).or_else(|| of_name(path)).or_else(|| of_head(text));
    let day = if is_prose { stated() } else { of_name(path) };
    day.and_then(|day| day.and_hms_opt(0, 0, 0)).map(|moment| moment.and_utc())
}

fn of_front_matter(text: &str) -> Option<NaiveDate> {
    let matter = front_matter(text)?;
    let value = |key: &str| {
        matter.lines().find_map(|line| {
            let (name, value) = line.split_once([':', '='])?;
            name.trim().eq_ignore_ascii_case(key).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        })
    };
    KEYS.iter().find_map(|key| value(key)).and_then(|value| one_day(&value))
}

fn of_name(path: &str) -> Option<NaiveDate> {
    let found = IN_NAME.as_ref()?.captures(path)?;
    let part = |at: usize| found.get(at)?.as_str().parse::<u32>().ok();
    NaiveDate::from_ymd_opt(i32::try_from(part(1)?).ok()?, part(2)?, part(3)?)
}

/// "10 November 2026", "Published: 2026-11-10", "LARKHAVEN, 10 November 2026 — The bridge …".
fn of_head(text: &str) -> Option<NaiveDate> {
    let rest = front_matter(text).map_or(text, |matter| text.get(matter.len()..).unwrap_or_default());
    let mut lines = rest.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric)).take(HEAD);
    lines.find_map(|line| {
        let before =
            [" — ", " – ", " - "].iter().find_map(|dash| line.split_once(*dash)).map_or(line, |(before, _)| before);
        let short = before.chars().count() <= LONGEST && !before.trim_end().ends_with(['.', '!', '?']);
        if short { one_day(before) } else { None }
    })
}

fn one_day(text: &str) -> Option<NaiveDate> {
    // "2026-11-10T08:00:00Z" counts as its day.
    let text = text
        .split_once('T')
        .map_or(text, |(day, time)| if time.starts_with(|c: char| c.is_ascii_digit()) { day } else { text });
    let found = dates(text, None);
    let [mention] = found.as_slice() else { return None };
    let rest = text.replacen(&mention.text, " ", 1);
    let words = rest.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    (mention.start == mention.end && words <= MAX_OTHER_WORDS).then_some(mention.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(path: &str, text: &str) -> Option<String> {
        date(path, text, Format::Markdown).map(|date| date.date_naive().to_string())
    }

    #[test]
    fn a_document_is_of_the_day_it_names() {
        for (path, text) in [
            ("a.md", "---\ntitle: Bridge\ndate: 2026-11-10\n---\nText."),
            ("a.md", "---\ndate: \"2026-11-10T08:15:00Z\"\n---\nText."),
            ("a.md", "+++\ndate = 2026-11-10\n+++\nText."),
            ("news/2026-11-10-bridge.md", "Text."),
            ("news/2026/11/10/bridge.md", "Text."),
            ("20261110_bridge.txt", "Text."),
            ("a.txt", "Bridge opens\n10 November 2026\n\nText."),
            ("a.txt", "Bridge opens\nPublished: 10 November 2026\n\nText."),
            ("a.txt", "LARKHAVEN, 10 November 2026 — The bridge was opened by the mayor."),
            ("a.txt", "Мост открыт\nОпубликовано 10 ноября 2026 года\n\nТекст."),
        ] {
            assert_eq!(day(path, text).as_deref(), Some("2026-11-10"), "{path} {text}");
        }
    }

    #[test]
    fn document_has_no_day_when_only_its_text_names_one() {
        for (path, text) in [
            ("a.md", "The bridge was opened on 10 November 2026."),
            ("a.md", "# Bridge opened in 2026\n\nText."),
            ("a.md", "Between 1 May 2026 and 3 May 2026"),
            ("part-20261399.md", "Text."),
            ("1234567890123.txt", "Text."),
            ("a.md", "text"),
        ] {
            assert_eq!(day(path, text), None, "{path} {text}");
        }
        assert_eq!(date("a.rs", "// 10 November 2026\nfn a() {}", Format::Code), None);
    }
}

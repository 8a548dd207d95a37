//! Shared parsing for all providers: tolerant JSON, plain text, dates and URLs. Pure.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use regex::Regex;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::Hit;
use crate::domain::limits::storable_date;
use crate::outbound::{ApiResponse, AskError, excerpt};

/// Appends the provider's path to the configured origin and prefix.
pub(super) fn endpoint(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    let prefix = base.path().trim_end_matches('/');
    url.set_path(&format!("{prefix}{path}"));
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Parses a body as a JSON object. Prose, HTML or an empty body is "could not ask"; invalid JSON is malformed, with the
/// position.
pub(super) fn json<T: DeserializeOwned>(response: &ApiResponse) -> Result<T, AskError> {
    json_text(&String::from_utf8_lossy(&response.body))
}

pub(super) fn json_text<T: DeserializeOwned>(text: &str) -> Result<T, AskError> {
    let text = bare(text);
    // A derived `Deserialize` would read a list as its fields in order, and an empty list as "nothing found".
    if text.starts_with('[') && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return Err(AskError::Malformed { detail: "a list where an object belongs".to_owned() });
    }
    any_json(text)
}

pub(super) fn json_of_any_shape(response: &ApiResponse) -> Result<Value, AskError> {
    any_json(bare(&String::from_utf8_lossy(&response.body)))
}

/// Whether the body is HTML, regardless of its headers.
pub(super) fn is_page(response: &ApiResponse) -> bool {
    bare(&String::from_utf8_lossy(&response.body)).starts_with('<')
}

fn bare(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim()
}

fn any_json<T: DeserializeOwned>(text: &str) -> Result<T, AskError> {
    match text.chars().next() {
        None => Err(AskError::CouldNotAsk { detail: "an empty body".to_owned() }),
        Some('{' | '[') => serde_json::from_str(text).map_err(|error| {
            let what = if error.is_eof() { "JSON ends early" } else { "broken JSON" };
            AskError::Malformed { detail: format!("{what} at line {} column {}", error.line(), error.column()) }
        }),
        Some('<') => Err(AskError::CouldNotAsk { detail: format!("a web page instead of JSON: {}", page_title(text)) }),
        Some(_) => Err(AskError::CouldNotAsk { detail: format!("words instead of JSON: {}", excerpt(text)) }),
    }
}

fn page_title(page: &str) -> String {
    static TITLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?is)<title[^>]{0,200}>(.{1,200}?)</title>").ok());
    let found = TITLE.as_ref().and_then(|title| title.captures(page)).and_then(|parts| parts.get(1));
    found.map_or_else(|| "untitled".to_owned(), |title| excerpt(title.as_str()))
}

/// Reads a text field: a number as written, any other type or blanks as absent.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// Reads a field as it is; `null` is `Some`, only a missing field is `None`.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads a list field: `null` is empty, elements of another shape are skipped.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let elements = Option::<Vec<Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(elements.into_iter().filter_map(|element| serde_json::from_value(element).ok()).collect())
}

/// Returns readable text: without inline markup, entities decoded once (`&amp;lt;` becomes `&lt;`), white space
/// collapsed.
pub(super) fn plain(text: &str) -> String {
    static MARKUP: LazyLock<Option<Regex>> = LazyLock::new(|| {
        // Only certain markup: "a < b and c > d" stays.
        Regex::new(r"(?i)</?(?:a|b|br|div|em|font|i|li|mark|ol|p|span|strong|sub|sup|u|ul)(?:\s[^<>]{0,300})?/?>").ok()
    });
    let unmarked = match MARKUP.as_ref() {
        Some(markup) if text.contains('<') => markup.replace_all(text, ""),
        _ => Cow::Borrowed(text),
    };
    one_line(&html_escape::decode_html_entities(&unmarked))
}

pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    let mut line = String::with_capacity(text.len());
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Cuts between words if possible.
pub(super) fn clip(text: &str, characters: usize, words: usize) -> String {
    let mut clipped = String::new();
    let mut taken = 0;
    for word in text.split_whitespace().take(words) {
        let length = word.chars().count();
        let separator = usize::from(taken > 0);
        if taken + separator + length > characters {
            if taken == 0 {
                return word.chars().take(characters).collect();
            }
            break;
        }
        if taken > 0 {
            clipped.push(' ');
        }
        clipped.push_str(word);
        taken += separator + length;
    }
    clipped
}

/// Parses a provider's date. Without a zone it is UTC: a few hours matter less than no date.
pub(super) fn date(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    let found = DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_rfc2822(text))
        .map(|date| date.with_timezone(&Utc))
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").map(|date| date.and_utc()))
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").map(|date| date.and_utc()))
        .ok()
        .or_else(|| Some(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)?.and_utc()))?;
    // "0001-01-01" and the epoch mean "no date".
    storable_date(found).filter(|found| *found > DateTime::UNIX_EPOCH)
}

pub(super) fn page_url(text: &str) -> Option<Url> {
    let url = Url::parse(text.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| !host.is_empty())).then_some(url)
}

/// Returns a key that is equal for URLs of the same page: no scheme, `www.`, fragment or final slash.
pub(super) fn same_page_key(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    let path = url.path().trim_end_matches('/');
    url.query().map_or_else(|| format!("{host}{path}"), |query| format!("{host}{path}?{query}"))
}

pub(super) fn distinct(hits: impl Iterator<Item = Hit>) -> impl Iterator<Item = Hit> {
    let mut seen = HashSet::new();
    hits.filter(move |hit| Url::parse(&hit.url).is_ok_and(|url| seen.insert(same_page_key(&url))))
}

/// Whether the host is one of these domains or a subdomain; no domains: always true.
pub(super) fn is_within(url: &Url, domains: &[String]) -> bool {
    let host = url.host_str().unwrap_or_default();
    domains.is_empty()
        || domains.iter().any(|domain| {
            let domain = domain.trim().trim_start_matches("www.").to_lowercase();
            host.strip_suffix(&domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
}

/// Returns a `site:` restriction for web queries, of few domains because search engines limit operators.
pub(super) fn site_clause(domains: &[String]) -> Option<String> {
    const MOST: usize = 5;
    let valid = domains.iter().filter(|domain| is_domain(domain)).take(MOST);
    let clauses: Vec<String> = valid.map(|domain| format!("site:{domain}")).collect();
    (!clauses.is_empty()).then(|| clauses.join(" OR "))
}

/// Whether the text is a bare domain, which cannot act as an operator.
pub(super) fn is_domain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.contains('.')
        && text.chars().all(|character| character.is_alphanumeric() || matches!(character, '.' | '-'))
        && !text.starts_with(['-', '.'])
}

/// For a provider without a key: a 403 comes from a barrier in front of the service.
pub(super) fn without_key(error: AskError) -> AskError {
    match error {
        AskError::BadKey { detail } => AskError::CouldNotAsk { detail },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_path_is_appended_to_origin_and_prefix() {
        for (base, expected) in [
            ("https://a.example", "https://a.example/v1/x:y"),
            ("https://a.example/", "https://a.example/v1/x:y"),
            ("http://127.0.0.1:9/google/?q#f", "http://127.0.0.1:9/google/v1/x:y"),
        ] {
            assert_eq!(endpoint(&Url::parse(base).unwrap(), "/v1/x:y").as_str(), expected);
        }
    }

    #[test]
    fn error_differs_when_body_is_no_json_or_broken_json() {
        let label = |text: &str| json_text::<Value>(text).map_err(|error| error.label());
        assert!(label("\u{feff} {\"a\":1}\n").is_ok());
        for text in ["", "  ", "<!doctype html><title>Log in</title>", "Please wait", "null", ")]}'{}"] {
            assert_eq!(label(text), Err("could_not_ask"), "{text}");
        }
        let deep = "[".repeat(10_000);
        for text in [
            "{\"a\":[1,",
            "{\"a\":\"cut",
            "{\"a\":NaN}",
            "{\"a\":1e400}",
            r#"{"a":"\ud800"}"#,
            "{} {}",
            "[]",
            "[{}]",
            &deep,
        ] {
            assert_eq!(label(text), Err("malformed"), "{text:.20}");
        }
        let page = json_text::<Value>("<html><head><title>\n Log  in </title>").unwrap_err();
        assert!(page.to_string().ends_with("Log in"), "{page}");
    }

    #[test]
    fn fields_of_another_shape_are_absent() {
        #[derive(Deserialize)]
        struct Row {
            #[serde(default, deserialize_with = "text")]
            a: Option<String>,
            #[serde(default, deserialize_with = "list")]
            b: Vec<String>,
        }
        let read = |json: &str| serde_json::from_str::<Row>(json).unwrap();
        assert_eq!(read(r#"{"a":"x","b":["y",null,7,"z"]}"#).b, ["y", "z"]);
        assert_eq!(read(r#"{"a":5,"b":null}"#).a.as_deref(), Some("5"));
        assert_eq!(read(r#"{"a":{"x":1}}"#).a, None);
        assert_eq!(read(r#"{"a":"  "}"#).a, None);
    }

    #[test]
    fn text_is_decoded_once_and_loses_only_markup() {
        let cases = [
            ("Earth isn&#39;t flat", "Earth isn't flat"),
            ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
            ("a <strong>marked</strong> word<br/>", "a marked word"),
            ("<p class=\"x\">one</p>\n two", "one two"),
            ("a < b and c > d", "a < b and c > d"),
            ("I <3 you", "I <3 you"),
            ("x &unknown; y", "x &unknown; y"),
            ("tab\t\u{0}nul", "tab nul"),
        ];
        for (given, expected) in cases {
            assert_eq!(plain(given), expected);
        }
    }

    #[test]
    fn dates_are_read_in_the_forms_seen() {
        let read = |text: &str| date(text).map(|date| date.to_rfc3339());
        assert_eq!(read("2021-05-11T13:44:56Z").as_deref(), Some("2021-05-11T13:44:56+00:00"));
        assert_eq!(read("2026-11-01T00:00:00").as_deref(), Some("2026-11-01T00:00:00+00:00"));
        assert_eq!(read("2026-11-01 03:04:05").as_deref(), Some("2026-11-01T03:04:05+00:00"));
        assert_eq!(read("2026-11-01T03:00:00+03:00").as_deref(), Some("2026-11-01T00:00:00+00:00"));
        assert_eq!(read("2026-11-01").as_deref(), Some("2026-11-01T00:00:00+00:00"));
        assert_eq!(read("Wed, 18 Nov 2026 07:15:00 GMT").as_deref(), Some("2026-11-18T07:15:00+00:00"));
        for text in ["", "2 hours ago", "11/12/2026", "0000-00-00", "1970-01-01", "0001-01-01T00:00:00"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn domains_hold_by_label() {
        let domains = ["example.com".to_owned(), "www.Other.org".to_owned()];
        let within = |url: &str| is_within(&Url::parse(url).unwrap(), &domains);
        assert!(within("https://example.com/a") && within("https://news.example.com/") && within("http://other.org/"));
        assert!(!within("https://notexample.com/") && !within("https://example.com.evil.net/"));
        assert_eq!(site_clause(&["a.com".into(), "b c.com".into(), "-x.com".into()]).as_deref(), Some("site:a.com"));
        assert_eq!(site_clause(&[]), None);
    }

    proptest! {
        #[test]
        fn clipping_keeps_to_its_bounds(text in "\\PC{0,300}", characters in 1_usize..80, words in 1_usize..10) {
            let clipped = clip(&text, characters, words);
            prop_assert!(clipped.chars().count() <= characters);
            prop_assert!(clipped.split_whitespace().count() <= words);
        }

        #[test]
        fn plain_never_panics_and_gives_one_line(text in "\\PC{0,200}") {
            prop_assert!(!plain(&text).contains('\n'));
        }
    }
}

//! GDELT's format: JSON on success, prose at status 200 on failure, and sometimes JSON with raw control characters.

use std::borrow::Cow;
use std::sync::LazyLock;

use chrono::{DateTime, Duration, Utc};
use regex::Regex;
use serde::Deserialize;
use url::Url;

use super::query;
use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Answer, Hit, Query, wire};

/// A larger number returns status 200 and a sentence.
const MOST_RECORDS: usize = 250;
/// Extra records, because syndicated copies and similar domains are removed later.
const SPARE_RECORDS: usize = 10;
const REACH: Duration = Duration::days(88);
/// The window around a claim's date: announcements come before, reports long after.
const BEFORE: Duration = Duration::days(7);
const AFTER: Duration = Duration::days(30);

const MOST_NAMED: usize = 10;

/// Observed refusals of the query's words, after which a simpler query may pass. Compared in lower case, at the start.
const QUERY_REFUSALS: [&str; 7] = [
    "your query was too short or too long",
    "the specified phrase is too short",
    "one or more of your keywords",
    "one or more of your parenthetical clauses",
    "queries containing or'd terms",
    "parentheses may only be used",
    "invalid query",
];

/// Refusals that other words would not change.
const OTHER_REFUSALS: [&str; 3] =
    ["invalid/unsupported country", "a maximum of 250 records", "your query must contain"];

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default, deserialize_with = "wire::list")]
    articles: Vec<Article>,
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Article {
    #[serde(default, deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    language: Option<String>,
}

/// `text` comes from [`query::build`].
pub(super) fn url(endpoint: &Url, text: &str, asked: &Query, now: DateTime<Utc>) -> Url {
    let mut url = endpoint.clone();
    let mut parameters = url.query_pairs_mut();
    parameters.append_pair("query", text).append_pair("mode", "artlist").append_pair("format", "json");
    parameters.append_pair("maxrecords", &(asked.limit.max(1) + SPARE_RECORDS).min(MOST_RECORDS).to_string());
    // Without a window it searches the last three months, which is also best for older claims.
    if let Some(around) = asked.around.filter(|around| (now - *around) < REACH && *around - BEFORE < now) {
        let stamp = |moment: DateTime<Utc>| moment.format("%Y%m%d%H%M%S").to_string();
        parameters.append_pair("startdatetime", &stamp((around - BEFORE).max(now - REACH)));
        parameters.append_pair("enddatetime", &stamp((around + AFTER).min(now)));
    }
    drop(parameters);
    url
}

#[derive(Debug)]
pub(super) enum Reply {
    Found(Answer),
    /// GDELT refuses this query; another one may pass.
    Unasked {
        detail: String,
    },
}

pub(super) fn read(response: &ApiResponse, asked: &Query) -> Result<Reply, AskError> {
    let text = String::from_utf8_lossy(&response.body);
    let text = text.trim_start_matches('\u{feff}').trim();
    // The throttle comes as 429 and as 200.
    if text.to_lowercase().starts_with("please limit requests") {
        return Err(AskError::Throttled { retry_after: response.retry_after() });
    }
    if let Some(error) = response.status_error() {
        return Err(wire::without_key(error));
    }
    if !text.starts_with(['{', '[', '<']) && !text.is_empty() {
        return prose(text);
    }
    let page: Page = match wire::json_text(text) {
        Err(AskError::Malformed { .. }) => wire::json_text(&repaired(text))?,
        other => other?,
    };
    if let Some(error) = page.error {
        return Err(AskError::CouldNotAsk { detail: excerpt(&error.to_string()) });
    }
    let hits = page.articles.into_iter().filter_map(|article| to_hit(article, asked));
    Ok(Reply::Found(Answer { hits: wire::distinct(hits).take(asked.limit).collect(), ..Answer::default() }))
}

fn to_hit(article: Article, asked: &Query) -> Option<Hit> {
    let url = wire::page_url(&article.url?).filter(|url| wire::is_within(url, &asked.domains))?;
    Some(Hit {
        url: url.to_string(),
        title: title(&article.title.unwrap_or_default()),
        snippet: String::new(),
        // `seendate` is GDELT's crawl time.
        published_at: None,
        language: article.language.as_deref().and_then(query::language_code).map(str::to_owned),
        provider: super::NAME,
        storage: super::STORAGE,
        content: None,
    })
}

fn prose(text: &str) -> Result<Reply, AskError> {
    let folded = text.to_lowercase();
    let starts_with = |refusals: &[&str]| refusals.iter().any(|refusal| folded.starts_with(refusal));
    if starts_with(&QUERY_REFUSALS) {
        Ok(Reply::Unasked { detail: excerpt(text) })
    } else if starts_with(&OTHER_REFUSALS) {
        Err(AskError::Refused { detail: excerpt(text) })
    } else {
        Err(AskError::CouldNotAsk { detail: format!("words instead of JSON: {}", excerpt(text)) })
    }
}

/// Returns the words named as too short, too long or too common: `…: (word, other)`.
pub(super) fn refused_words(detail: &str) -> Vec<String> {
    let Some((_, named)) = detail.rsplit_once(": (") else { return Vec::new() };
    let words = named.trim_end_matches(['.', ' ']).trim_end_matches(')').split([',', ' ']);
    words.map(|word| word.trim_matches('"').to_lowercase()).filter(|word| !word.is_empty()).take(MOST_NAMED).collect()
}

/// Repairs two known faults of its JSON: raw control characters in strings become blanks, unknown escapes lose their
/// backslash.
fn repaired(text: &str) -> Cow<'_, str> {
    let mut fixed = String::with_capacity(text.len());
    let mut in_string = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                in_string = !in_string;
                fixed.push('"');
            }
            '\\' if in_string => {
                let known = ['"', '\\', '/', 'b', 'f', 'n', 'r', 't', 'u'];
                // An unknown escape loses its backslash; the next character is read as usual.
                if let Some(next) = characters.next_if(|next| known.contains(next)) {
                    fixed.push('\\');
                    fixed.push(next);
                }
            }
            control if in_string && control < ' ' => fixed.push(' '),
            other => fixed.push(other),
        }
    }
    Cow::Owned(fixed)
}

/// Removes the blanks of tokenised titles: `WP : Риск`, `off ; fish , boat`, `a " quoted " word`, `Biden ' s`.
fn title(text: &str) -> String {
    static ENDINGS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(\w) (['’]) ?(s|t|re|ve|ll|d|m)\b").ok());
    let plain = wire::plain(text);
    let plain = ENDINGS.as_ref().map_or(Cow::Borrowed(plain.as_str()), |endings| endings.replace_all(&plain, "$1$2$3"));
    let mut joined = String::with_capacity(plain.len());
    let mut quote_is_open = false;
    let mut swallows_blank = false;
    for character in plain.chars() {
        if std::mem::take(&mut swallows_blank) && character == ' ' {
            continue;
        }
        let closes = matches!(character, ',' | ';' | ':' | '.' | '!' | '?' | ')' | '»' | '”');
        let is_quote = character == '"';
        if (closes || is_quote && quote_is_open) && joined.ends_with(' ') {
            joined.pop();
        }
        swallows_blank = matches!(character, '(' | '«' | '“') || is_quote && !quote_is_open;
        quote_is_open ^= is_quote;
        joined.push(character);
    }
    joined
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn titles_lose_the_blanks_of_tokenising() {
        assert_eq!(title("WP : Риск развития , после двух лет"), "WP: Риск развития, после двух лет");
        assert_eq!(title("a ( b ) c &amp; d"), "a (b) c & d");
        assert_eq!(title("He said \" no \" to « Le Monde »"), "He said \"no\" to «Le Monde»");
        assert_eq!(title("Biden ' s plan isn ' t new ."), "Biden's plan isn't new.");
        assert_eq!(title("an open \" quote"), "an open \"quote");
    }

    #[test]
    fn the_words_it_names_are_known_from_then_on() {
        let sentence = "One or more of your keywords were too short, too long or too common: (Said, \"of\")";
        assert_eq!(refused_words(sentence), ["said", "of"]);
        assert!(refused_words("Your query was too short or too long.").is_empty());
    }

    #[test]
    fn parser_repairs_json_when_its_fault_is_known() {
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(&repaired(text)).unwrap();
        assert_eq!(read("{\"a\":\"x\u{1}y\nz\"}")["a"], "x y z");
        assert_eq!(read(r#"{"a":"it\'s \x1 \"q\" \\ \u0041"}"#)["a"], "it's x1 \"q\" \\ A");
        assert!(serde_json::from_str::<serde_json::Value>(&repaired("{\"a\":\"cut")).is_err());
    }

    #[test]
    fn the_window_lies_around_the_date_and_within_reach() {
        let now = Utc.with_ymd_and_hms(2026, 11, 20, 12, 0, 0).unwrap();
        let ask = |around: Option<DateTime<Utc>>| {
            let asked = Query {
                text: "seaport".into(),
                terms: Vec::new(),
                language: None,
                domains: Vec::new(),
                around,
                limit: 300,
                source_document: None,
            };
            url(&Url::parse("https://api.example/api/v2/doc/doc").unwrap(), "seaport", &asked, now).to_string()
        };
        let plain = "https://api.example/api/v2/doc/doc?query=seaport&mode=artlist&format=json&maxrecords=250";
        assert_eq!(ask(None), plain);
        assert_eq!(
            ask(Some(now - Duration::days(2))),
            format!("{plain}&startdatetime=20261111120000&enddatetime=20261120120000")
        );
        assert_eq!(
            ask(Some(now - Duration::days(85))),
            format!("{plain}&startdatetime=20260824120000&enddatetime=20260926120000")
        );
        assert_eq!(ask(Some(now - Duration::days(200))), plain, "beyond reach no window is better than a refused one");
        assert_eq!(ask(Some(now + Duration::days(30))), plain);
    }

    proptest! {
        #[test]
        fn mending_never_panics_and_leaves_good_json_as_it_is(text in "\\PC{0,60}") {
            let _any = repaired(&text);
            let good = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(repaired(&good), good.as_str());
        }
    }
}

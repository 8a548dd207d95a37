//! The format of SearxNG. It parses the query by tokens for commands. An answer without results may mean that the
//! engines failed.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Answer, Hit, Query, wire};

/// The engines cut or refuse longer queries.
const LONGEST_QUERY: usize = 300;
const MOST_WORDS: usize = 40;

#[derive(Debug, Deserialize)]
struct Page {
    /// If it is missing, the answer is not empty: `{"error": …}` is possible too.
    results: Option<Value>,
    #[serde(default, deserialize_with = "wire::list")]
    unresponsive_engines: Vec<Value>,
    #[serde(default, deserialize_with = "wire::text")]
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SearchResult {
    #[serde(default, deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    content: Option<String>,
    #[serde(default, rename = "publishedDate", deserialize_with = "wire::text")]
    published: Option<String>,
}

/// Removes commands: `!bang` (may redirect to another site), `?bang` (old versions), `:language`, `<timeout`. Also
/// after other punctuation, in case it is removed on the way.
///
/// Tokens end at Python's white space, which includes some control characters.
pub(super) fn harmless(text: &str) -> String {
    let tokens = text.split(|character: char| character.is_whitespace() || character.is_control());
    let kept: Vec<String> = tokens.map(without_command).filter(|token| !token.is_empty()).collect();
    wire::clip(&kept.join(" "), LONGEST_QUERY, MOST_WORDS)
}

fn without_command(token: &str) -> String {
    let mut is_leading = true;
    let kept = token.chars().filter(|character| {
        is_leading &= !character.is_alphanumeric();
        !(is_leading && matches!(character, '!' | '?' | ':' | '<'))
    });
    kept.collect()
}

pub(super) fn url(endpoint: &Url, query: &Query, categories: &str) -> Result<Url, AskError> {
    let mut text = harmless(&query.text);
    if text.is_empty() {
        return Err(AskError::Refused { detail: "the query is empty".to_owned() });
    }
    if let Some(sites) = wire::site_clause(&query.domains) {
        text.push(' ');
        text.push_str(&sites);
    }
    let mut url = endpoint.clone();
    let mut parameters = url.query_pairs_mut();
    parameters.append_pair("q", &text).append_pair("format", "json").append_pair("pageno", "1");
    parameters.append_pair("language", query.language.as_deref().filter(|code| is_language(code)).unwrap_or("all"));
    if !categories.trim().is_empty() {
        parameters.append_pair("categories", categories.trim());
    }
    drop(parameters);
    Ok(url)
}

/// Whether the instance accepts the language; others return 400.
fn is_language(code: &str) -> bool {
    let is_letters = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.chars().all(|character| character.is_ascii_alphabetic())
    };
    match code.split_once('-') {
        Some((language, region)) => is_letters(language, 2..=3) && is_letters(region, 2..=2),
        None => is_letters(code, 2..=3) && code.chars().all(|character| character.is_ascii_lowercase()),
    }
}

/// Never empty, because the limiter would refuse it.
pub(super) fn accept_language(language: Option<&str>) -> String {
    match language.filter(|code| is_language(code)) {
        Some("en") | None => "en".to_owned(),
        Some(code) => format!("{code}, en;q=0.5"),
    }
}

pub(super) fn read(response: &ApiResponse, query: &Query) -> Result<Answer, AskError> {
    match response.status {
        200 => {}
        // JSON is off by default, and every request is then refused; a retry does not help.
        403 => {
            let detail = "the instance refuses JSON: add json to search.formats in its settings.yml".to_owned();
            return Err(AskError::Disabled { detail });
        }
        // The limiter classifies us as a bot. If followed, the redirect is the home page at status 200.
        302 if response.header("location").is_some_and(is_home_page) => {
            return Err(AskError::Throttled { retry_after: response.retry_after() });
        }
        401 | 407 => {
            let detail = format!("status {}: something before the instance wants a login", response.status);
            return Err(AskError::Disabled { detail });
        }
        _ => {
            let fallback = AskError::Server { status: response.status };
            return Err(response.status_error().unwrap_or(fallback));
        }
    }
    let page: Page = wire::json(response)?;
    if let Some(error) = page.error {
        return Err(AskError::CouldNotAsk { detail: excerpt(&error) });
    }
    let Some(Value::Array(results)) = page.results else {
        return Err(AskError::Malformed { detail: "the answer has no list of results".to_owned() });
    };
    let found: Vec<SearchResult> = results.into_iter().filter_map(|found| serde_json::from_value(found).ok()).collect();
    // The reasons are translated, so only their presence counts.
    if found.is_empty() && !page.unresponsive_engines.is_empty() {
        return Err(AskError::CouldNotAsk { detail: unresponsive(&page.unresponsive_engines) });
    }
    let hits = found.into_iter().filter_map(|found| to_hit(found, query));
    let hits = wire::distinct(hits).take(query.limit).collect();
    Ok(Answer { hits, ..Answer::default() })
}

fn is_home_page(place: &str) -> bool {
    place == "/" || Url::parse(place).is_ok_and(|url| url.path() == "/" && url.query().is_none())
}

fn unresponsive(engines: &[Value]) -> String {
    let pairs = engines.iter().map(|engine| match engine {
        Value::Array(parts) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(": "),
        other => other.as_str().unwrap_or("unnamed").to_owned(),
    });
    excerpt(&format!("no engine answered ({})", pairs.collect::<Vec<_>>().join(", ")))
}

fn to_hit(found: SearchResult, query: &Query) -> Option<Hit> {
    let url = wire::page_url(&found.url?).filter(|url| wire::is_within(url, &query.domains))?;
    Some(Hit {
        url: url.to_string(),
        // The text is plain: decoding entities would change it.
        title: wire::one_line(&found.title.unwrap_or_default()),
        snippet: wire::one_line(&found.content.unwrap_or_default()),
        published_at: found.published.as_deref().and_then(wire::date),
        language: None,
        provider: super::NAME,
        storage: super::STORAGE,
        content: None,
    })
}

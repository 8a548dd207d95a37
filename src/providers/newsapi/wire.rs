//! The format of `NewsAPI`: `{"status":"ok","articles":[…]}`, or `{"status":"error","code":…,"message":…}`.

use std::sync::LazyLock;

use chrono::{Duration, NaiveDate};
use regex::Regex;
use serde::Deserialize;
use url::Url;

use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Hit, Query, wire};

/// Documented limits of `q`.
const LONGEST_QUERY: usize = 500;
const MOST_WORDS: usize = 30;
const LARGEST_PAGE: usize = 100;
/// Extra rows, because withdrawn ones are removed.
const SPARE_ROWS: usize = 5;
/// The window around a claim's date: announcements come before, reports after.
const BEFORE: Duration = Duration::days(7);
const AFTER: Duration = Duration::days(30);

/// ISO 639-1 and the API's code. Ukrainian is not supported.
const LANGUAGES: [(&str, &str); 14] = [
    ("ar", "ar"),
    ("de", "de"),
    ("en", "en"),
    ("es", "es"),
    ("fr", "fr"),
    ("he", "he"),
    ("it", "it"),
    ("nl", "nl"),
    ("no", "no"),
    ("pt", "pt"),
    ("ru", "ru"),
    ("sv", "sv"),
    ("ur", "ud"),
    ("zh", "zh"),
];

pub(super) const CODES: &[&str] = &{
    let mut codes = [""; LANGUAGES.len()];
    let mut at = 0;
    while at < codes.len() {
        codes[at] = LANGUAGES[at].0;
        at += 1;
    }
    codes
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: NaiveDate,
    pub(super) to: NaiveDate,
}

/// Returns the permitted days around the claim's date. `None` without a date, or if all days are before the plan's
/// limit: later articles mention the claim too.
pub(super) fn window(query: &Query, today: NaiveDate, horizon: Option<NaiveDate>) -> Option<Window> {
    let day = query.around?.date_naive();
    let wanted = day.checked_sub_signed(BEFORE)?;
    let from = horizon.map_or(wanted, |horizon| wanted.max(horizon));
    let to = day.checked_add_signed(AFTER)?.min(today);
    (from <= to).then_some(Window { from, to })
}

pub(super) fn url(endpoint: &Url, query: &Query, window: Option<Window>, page: usize) -> Result<Url, AskError> {
    let text = harmless(&query.text);
    if text.is_empty() {
        return Err(AskError::Refused { detail: "the query is empty".to_owned() });
    }
    let mut url = endpoint.clone();
    let mut parameters = url.query_pairs_mut();
    parameters.append_pair("q", &text);
    let code = query.language.as_deref().and_then(|iso| LANGUAGES.iter().find(|(known, _)| *known == iso));
    if let Some((_, code)) = code {
        parameters.append_pair("language", code);
    }
    let domains: Vec<&str> =
        query.domains.iter().map(String::as_str).filter(|domain| wire::is_domain(domain)).collect();
    if !domains.is_empty() {
        parameters.append_pair("domains", &domains.join(","));
    }
    if let Some(Window { from, to }) = window {
        parameters.append_pair("from", &from.to_string()).append_pair("to", &to.to_string());
    }
    let rows = (query.limit.max(1) + SPARE_ROWS).min(LARGEST_PAGE);
    parameters.append_pair("sortBy", "relevancy");
    parameters.append_pair("pageSize", &rows.to_string()).append_pair("page", &page.to_string());
    drop(parameters);
    Ok(url)
}

/// Removes operators: `+must`, `-not`, `"phrase"`, parentheses, and AND, OR and NOT, which are operators only in
/// capitals.
pub(super) fn harmless(text: &str) -> String {
    let spaced: String =
        text.chars().map(|c| if matches!(c, '"' | '(' | ')' | '“' | '”' | '«' | '»') { ' ' } else { c }).collect();
    let tokens = spaced.split_whitespace().map(|token| token.trim_start_matches(['+', '-']));
    let words = tokens.filter(|token| !token.is_empty()).map(|token| match token {
        "AND" | "OR" | "NOT" => token.to_lowercase(),
        other => other.to_owned(),
    });
    wire::clip(&words.collect::<Vec<_>>().join(" "), LONGEST_QUERY, MOST_WORDS)
}

#[derive(Debug)]
pub(super) enum Page {
    Articles {
        hits: Vec<Hit>,
        is_last: bool,
    },
    /// The page is beyond the plan's limit.
    End,
    /// The window begins before the first permitted day, `granted`.
    TooFar {
        granted: NaiveDate,
    },
}

#[derive(Debug, Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "wire::text")]
    status: Option<String>,
    #[serde(default, rename = "totalResults")]
    total: Option<f64>,
    #[serde(default, deserialize_with = "wire::present")]
    articles: Option<serde_json::Value>,
    #[serde(default, deserialize_with = "wire::text")]
    code: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Article {
    #[serde(default, deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    description: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    content: Option<String>,
    #[serde(default, rename = "publishedAt", deserialize_with = "wire::text")]
    published: Option<String>,
}

pub(super) fn read(response: &ApiResponse, query: &Query) -> Result<Page, AskError> {
    let body = match wire::json::<Body>(response) {
        Ok(body) => body,
        // Its own errors are JSON, so HTML comes from a barrier in front of it and is not about the key.
        Err(_) if matches!(response.status, 401 | 403) => {
            let detail = format!("status {} without NewsAPI's error", response.status);
            return Err(AskError::CouldNotAsk { detail });
        }
        Err(error) => return Err(response.status_error().unwrap_or(error)),
    };
    if response.status != 200 || body.code.is_some() || body.status.as_deref() == Some("error") {
        return refusal(response, &body);
    }
    let Some(articles) = body.articles else {
        return Err(AskError::Malformed { detail: "the answer has no articles, not even none".to_owned() });
    };
    let rows = match articles {
        serde_json::Value::Array(rows) => rows,
        serde_json::Value::Null => Vec::new(),
        _ => return Err(AskError::Malformed { detail: "its articles are no list".to_owned() }),
    };
    let count = rows.len();
    let articles = rows.into_iter().filter_map(|row| serde_json::from_value::<Article>(row).ok());
    let hits = wire::distinct(articles.filter_map(|article| to_hit(article, query))).collect();
    let is_last = body.total.is_none_or(|total| total <= count as f64) || count == 0;
    Ok(Page::Articles { hits, is_last })
}

fn to_hit(article: Article, query: &Query) -> Option<Hit> {
    let url = wire::page_url(&article.url?).filter(|url| wire::is_within(url, &query.domains))?;
    let title = wire::plain(&article.title.unwrap_or_default());
    if title == "[Removed]" || url.host_str() == Some("removed.com") {
        return None;
    }
    let summary = article.description.or(article.content).unwrap_or_default();
    Some(Hit {
        url: url.to_string(),
        title,
        snippet: without_count(&wire::plain(&summary)).to_owned(),
        published_at: article.published.as_deref().and_then(wire::date),
        language: None,
        provider: super::NAME,
        storage: super::STORAGE,
        content: None,
    })
}

/// Removes the count from `First 200 characters … [+2345 chars]`.
fn without_count(text: &str) -> &str {
    match text.rsplit_once("[+") {
        Some((head, tail)) if tail.ends_with("chars]") => head.trim_end(),
        _ => text,
    }
}

/// Classifies a refusal by its code. The end of the pages and a date before the plan's limit are no errors.
fn refusal(response: &ApiResponse, body: &Body) -> Result<Page, AskError> {
    let code = body.code.as_deref().unwrap_or_default();
    let message = body.message.as_deref().unwrap_or_default();
    let detail = excerpt(&format!("{code}: {message}"));
    match code {
        "maximumResultsReached" => return Ok(Page::End),
        "parameterInvalid" => {
            if let Some(granted) = granted(message) {
                return Ok(Page::TooFar { granted });
            }
        }
        _ => {}
    }
    Err(match code {
        "apiKeyInvalid" | "apiKeyMissing" | "apiKeyDisabled" => AskError::BadKey { detail },
        "apiKeyExhausted" => AskError::QuotaGone { until: None },
        "rateLimited" => throttle(response, message),
        "parameterInvalid" | "parametersMissing" | "sourcesTooMany" | "sourceDoesNotExist" => {
            AskError::Refused { detail }
        }
        "userAgentMissing" | "corsNotAllowed" => AskError::Disabled { detail },
        "unexpectedError" => AskError::Server { status: 500 },
        _ => response.status_error().unwrap_or(AskError::CouldNotAsk { detail }),
    })
}

/// Parses `… as far back as 2024-04-29, but you have requested …`, the only source of the plan's limit.
fn granted(message: &str) -> Option<NaiveDate> {
    static GRANTED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)as far back as (\d{4}-\d{2}-\d{2})").ok());
    let found = GRANTED.as_ref()?.captures(message)?;
    NaiveDate::parse_from_str(found.get(1)?.as_str(), "%Y-%m-%d").ok()
}

/// A named period of hours ("50 requests available every 12 hours") is the plan's quota; otherwise it is a burst.
fn throttle(response: &ApiResponse, message: &str) -> AskError {
    static PERIODS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)(?:every|over an?) (\d{1,3})[ -]hours?").ok());
    let hours = |periods: &Regex| -> Option<i64> {
        periods.captures_iter(message).filter_map(|found| found.get(1)?.as_str().parse().ok()).min()
    };
    if let Some(hours) = PERIODS.as_ref().and_then(hours) {
        // The next calls are granted after the shortest period.
        return AskError::QuotaGone { until: response.received_at.checked_add_signed(Duration::hours(hours)) };
    }
    AskError::Throttled { retry_after: response.retry_after() }
}

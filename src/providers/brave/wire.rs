//! Brave's format: web responses have a `web` object (absent if nothing was found), news responses have a bare list.
//! Limits have two windows, one second and one month.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Hit, Query, wire};

/// Documented limits of `q`.
const LONGEST_QUERY: usize = 400;
const MOST_WORDS: usize = 50;
const LARGEST_WEB_PAGE: usize = 20;
const LARGEST_NEWS_PAGE: usize = 50;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Index {
    News,
    Web,
}

impl Index {
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::News => "/res/v1/news/search",
            Self::Web => "/res/v1/web/search",
        }
    }

    const fn largest_page(self) -> usize {
        match self {
            Self::News => LARGEST_NEWS_PAGE,
            Self::Web => LARGEST_WEB_PAGE,
        }
    }
}

/// Brave's own codes and ISO 639-1 codes. Other codes return 422, so they are not sent.
const LANGUAGES: [&str; 46] = [
    "ar", "eu", "bn", "bg", "ca", "hr", "cs", "da", "nl", "en", "et", "fi", "fr", "gl", "de", "el", "gu", "he", "hi",
    "hu", "is", "it", "kn", "ko", "lv", "lt", "ms", "ml", "mr", "nb", "pl", "pa", "ro", "ru", "sr", "sk", "sl", "es",
    "sv", "ta", "te", "th", "tr", "uk", "vi", "jp",
];

#[derive(Debug)]
pub(super) struct Results {
    pub(super) hits: Vec<Hit>,
    pub(super) has_more: bool,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    query: Value,
    #[serde(default)]
    web: Option<Section>,
    #[serde(default)]
    news: Option<Section>,
    /// Only in news responses.
    #[serde(default, deserialize_with = "wire::list")]
    results: Vec<SearchResult>,
    #[serde(default, rename = "type", deserialize_with = "wire::text")]
    kind: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Section {
    #[serde(default, deserialize_with = "wire::list")]
    results: Vec<SearchResult>,
}

#[derive(Debug, Deserialize)]
struct SearchResult {
    #[serde(default, deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    description: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    page_age: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    language: Option<String>,
}

/// `offset` counts pages, not results.
pub(super) fn url(endpoint: &Url, index: Index, query: &Query, offset: usize) -> Result<Url, AskError> {
    let sites = wire::site_clause(&query.domains);
    // The clause is never cut, because a partial clause would be a search word.
    let (longest, most) = sites.as_ref().map_or((LONGEST_QUERY, MOST_WORDS), |sites| {
        (LONGEST_QUERY.saturating_sub(sites.chars().count() + 1), MOST_WORDS - sites.split_whitespace().count())
    });
    let tokens = query.text.split_whitespace().map(|token| token.trim_start_matches(['-', '+', '!']));
    let mut text = wire::clip(&tokens.collect::<Vec<_>>().join(" "), longest, most);
    if text.is_empty() {
        return Err(AskError::Refused { detail: "the query is empty".to_owned() });
    }
    if let Some(sites) = sites {
        text.push(' ');
        text.push_str(&sites);
    }
    let mut url = endpoint.clone();
    let mut parameters = url.query_pairs_mut();
    parameters.append_pair("q", &text);
    parameters.append_pair("count", &query.limit.clamp(1, index.largest_page()).to_string());
    if offset > 0 {
        parameters.append_pair("offset", &offset.to_string());
    }
    // On by default; it may search for another name than the claim's.
    parameters.append_pair("spellcheck", "false");
    parameters.append_pair("text_decorations", "false");
    if let Some(code) = query.language.as_deref().and_then(language) {
        parameters.append_pair("search_lang", code);
    }
    drop(parameters);
    Ok(url)
}

fn language(iso: &str) -> Option<&'static str> {
    match iso {
        "ja" => Some("jp"),
        "zh" => Some("zh-hans"),
        "pt" => Some("pt-pt"),
        "no" => Some("nb"),
        "jp" => None,
        other => LANGUAGES.iter().find(|code| **code == other).copied(),
    }
}

pub(super) fn read(response: &ApiResponse, query: &Query) -> Result<Results, AskError> {
    if response.status != 200 {
        return Err(failure(response));
    }
    let page: Page = wire::json(response)?;
    if page.error.is_some() || page.kind.as_deref() == Some("ErrorResponse") {
        return Err(failure(response));
    }
    let sections = [page.web, page.news].into_iter().flatten().flat_map(|section| section.results);
    let found = page.results.into_iter().chain(sections);
    let hits = wire::distinct(found.filter_map(|found| to_hit(found, query))).collect();
    let has_more = page.query.get("more_results_available").and_then(Value::as_bool).unwrap_or(false);
    Ok(Results { hits, has_more })
}

fn to_hit(found: SearchResult, query: &Query) -> Option<Hit> {
    let url = wire::page_url(&found.url?).filter(|url| wire::is_within(url, &query.domains))?;
    Some(Hit {
        url: url.to_string(),
        title: wire::plain(&found.title.unwrap_or_default()),
        snippet: wire::plain(&found.description.unwrap_or_default()),
        // Without a zone, so up to a day off.
        published_at: found.page_age.as_deref().and_then(wire::date),
        language: found.language,
        provider: super::NAME,
        storage: super::STORAGE,
        content: None,
    })
}

#[derive(Debug, Default, Deserialize)]
struct BraveError {
    #[serde(default, deserialize_with = "wire::text")]
    code: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    detail: Option<String>,
    #[serde(default)]
    meta: Value,
}

/// The documentation shows a list of errors, but the service sends one; both are read.
fn error_of(response: &ApiResponse) -> Option<BraveError> {
    let body: Value = wire::json(response).ok()?;
    let error = body.get("error").or_else(|| body.get("errors")?.get(0))?;
    serde_json::from_value(error.clone()).ok()
}

fn failure(response: &ApiResponse) -> AskError {
    let Some(error) = error_of(response) else {
        return match response.status {
            // From a barrier in front of the service, not from a check of the key.
            200 | 401 | 403 | 404 => {
                AskError::CouldNotAsk { detail: format!("status {} without Brave's error", response.status) }
            }
            _ => response.status_error().unwrap_or(AskError::Server { status: response.status }),
        };
    };
    let detail = excerpt(&format!("{} {}", error.code.as_deref().unwrap_or(""), error.detail.as_deref().unwrap_or("")));
    match (response.status, error.code.as_deref().unwrap_or_default()) {
        (_, "SUBSCRIPTION_TOKEN_INVALID" | "SUBSCRIPTION_NOT_FOUND") => AskError::BadKey { detail },
        (_, "QUOTA_LIMITED") => quota_gone(response),
        (_, "RATE_LIMITED") | (429, _) => throttle(response, &error),
        (422, _) if names_the_key(&error.meta) => AskError::BadKey { detail },
        (401 | 403, _) => AskError::BadKey { detail },
        (404, _) => AskError::CouldNotAsk { detail },
        (400..=499, _) => AskError::Refused { detail },
        (500..=599, _) => AskError::Server { status: response.status },
        _ => AskError::CouldNotAsk { detail },
    }
}

/// A missing key is a validation error of the header.
fn names_the_key(meta: &Value) -> bool {
    let errors = meta.get("errors").and_then(Value::as_array).into_iter().flatten();
    let places = errors.filter_map(|error| error.get("loc")?.as_array());
    places.flatten().filter_map(Value::as_str).any(|place| place.eq_ignore_ascii_case("x-subscription-token"))
}

/// Older plans report a used-up monthly quota as a rate limit; the numbers distinguish them. A quota of 0 means "no
/// limit".
fn throttle(response: &ApiResponse, error: &BraveError) -> AskError {
    let number = |name: &str| error.meta.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let (limit, current) = (number("quota_limit"), number("quota_current"));
    if limit > 0.0 && current >= limit {
        return quota_gone(response);
    }
    // The first window is the one-second window; the largest value would mean a month.
    let reset = windows(response, "x-ratelimit-reset").first().copied().map(Duration::from_secs);
    AskError::Throttled { retry_after: response.retry_after().or(reset) }
}

fn quota_gone(response: &ApiResponse) -> AskError {
    let resets = windows(response, "x-ratelimit-reset");
    // The monthly window is the last of several.
    let month = resets.last().filter(|_| resets.len() > 1).and_then(|seconds| i64::try_from(*seconds).ok());
    let until =
        month.and_then(chrono::Duration::try_seconds).and_then(|wait| response.received_at.checked_add_signed(wait));
    AskError::QuotaGone { until }
}

/// `1, 2528987`: one number per window, shortest first.
fn windows(response: &ApiResponse, name: &str) -> Vec<u64> {
    let values = response.header(name).unwrap_or_default();
    values.split(',').filter_map(|value| value.trim().parse().ok()).collect()
}

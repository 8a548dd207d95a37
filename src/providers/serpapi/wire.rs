//! The format of `SerpAPI`: `organic_results` (web), `news_results` (single stories and clusters), and `error`, which
//! is an answer or a failure by `search_metadata.status`.

use std::sync::LazyLock;

use chrono::{DateTime, Duration, NaiveDate, NaiveDateTime, Utc};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Answer, Hit, Query, wire};

/// Google reads 32 words.
const MOST_WORDS: usize = 32;
const LONGEST_QUERY: usize = 400;
/// Results of a web page; the news have one page of about 100.
const MOST_RESULTS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Web,
    News,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    search_metadata: Option<Metadata>,
    #[serde(default, deserialize_with = "wire::present")]
    organic_results: Option<Value>,
    #[serde(default, deserialize_with = "wire::present")]
    news_results: Option<Value>,
    #[serde(default, deserialize_with = "wire::text")]
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default, deserialize_with = "wire::text")]
    status: Option<String>,
}

/// A result, a story of a cluster, or a cluster, which has no link. `source` (a name or an object) is not needed.
#[derive(Debug, Deserialize)]
struct SearchResult {
    #[serde(default, deserialize_with = "wire::text")]
    link: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    title: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    snippet: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    date: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    iso_date: Option<String>,
    #[serde(default)]
    highlight: Option<Value>,
    #[serde(default, deserialize_with = "wire::list")]
    stories: Vec<Value>,
}

pub(super) fn url(endpoint: &Url, engine: Engine, query: &Query) -> Result<Url, AskError> {
    let sites = wire::site_clause(&query.domains);
    // The clause is never cut, because a partial clause would be a search word.
    let (longest, most) = sites.as_ref().map_or((LONGEST_QUERY, MOST_WORDS), |sites| {
        (LONGEST_QUERY.saturating_sub(sites.chars().count() + 1), MOST_WORDS - sites.split_whitespace().count())
    });
    let mut text = wire::clip(&harmless(&query.text), longest, most);
    if text.is_empty() {
        return Err(AskError::Refused { detail: "the query is empty".to_owned() });
    }
    if let Some(sites) = sites {
        text.push(' ');
        text.push_str(&sites);
    }
    let mut url = endpoint.clone();
    let mut parameters = url.query_pairs_mut();
    match engine {
        Engine::Web => {
            parameters.append_pair("engine", "google");
            parameters.append_pair("num", &query.limit.clamp(1, MOST_RESULTS).to_string());
        }
        Engine::News => {
            parameters.append_pair("engine", "google_news");
        }
    }
    parameters.append_pair("q", &text);
    if let Some(language) = query.language.as_deref().and_then(interface_language) {
        parameters.append_pair("hl", language);
    }
    drop(parameters);
    Ok(url)
}

/// Returns Google's interface language, whose results are preferred. Others are not sent, because an unknown one is
/// refused.
fn interface_language(iso: &str) -> Option<&str> {
    match iso {
        "zh" => Some("zh-cn"),
        "he" => Some("iw"),
        "ar" | "bg" | "ca" | "cs" | "da" | "de" | "el" | "en" | "es" | "et" | "fa" | "fi" | "fr" | "hi" | "hr"
        | "hu" | "id" | "it" | "ja" | "ko" | "lt" | "lv" | "nl" | "no" | "pl" | "pt" | "ro" | "ru" | "sk" | "sl"
        | "sr" | "sv" | "th" | "tr" | "uk" | "vi" => Some(iso),
        _ => None,
    }
}

/// Removes Google's operators: quotes, `-not`, `OR`, `|`, `*`, `site:` and others.
pub(super) fn harmless(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if matches!(c, '"' | '“' | '”' | '«' | '»' | '|' | '*' | '(' | ')') { ' ' } else { c })
        .collect();
    let tokens = spaced.split_whitespace().map(|token| token.trim_start_matches(['-', '+', '~', '@']));
    let words = tokens.filter(|token| !token.is_empty()).map(|token| match token {
        "OR" | "AND" | "AROUND" => token.to_lowercase(),
        // `word:` before text may be an operator; a time (10:30) is not.
        _ if token.starts_with(|c: char| c.is_ascii_alphabetic()) => token.replace(':', " "),
        _ => token.to_owned(),
    });
    wire::one_line(&words.collect::<Vec<_>>().join(" "))
}

pub(super) fn read(response: &ApiResponse, query: &Query) -> Result<Answer, AskError> {
    let page = match wire::json::<Page>(response) {
        Ok(page) => page,
        // Its own errors are JSON, so HTML comes from a barrier in front of it and is not about the key.
        Err(_) if matches!(response.status, 401 | 403) => {
            let detail = format!("status {} without SerpAPI's error", response.status);
            return Err(AskError::CouldNotAsk { detail });
        }
        Err(error) => return Err(response.status_error().unwrap_or(error)),
    };
    if response.status != 200 {
        return Err(refusal(response, page.error.as_deref().unwrap_or_default()));
    }
    let status = page.search_metadata.and_then(|metadata| metadata.status);
    if let Some(error) = page.error {
        let is_answer = status.as_deref() == Some("Success") && error.contains("returned any results");
        return if is_answer { Ok(Answer::default()) } else { Err(refusal(response, &error)) };
    }
    // "Processing" and "Error" without a reason.
    if let Some(status) = status.filter(|status| status != "Success" && status != "Cached") {
        return Err(AskError::CouldNotAsk { detail: format!("the search ended as {}", excerpt(&status)) });
    }
    let lists = [page.news_results, page.organic_results];
    if lists.iter().all(Option::is_none) {
        return Err(AskError::Malformed { detail: "the answer has neither results nor an error".to_owned() });
    }
    let found = lists.into_iter().flatten().flat_map(rows).flat_map(flattened);
    let hits = wire::distinct(found.filter_map(|found| to_hit(found, query, response.received_at)));
    Ok(Answer { hits: hits.take(query.limit).collect(), ..Answer::default() })
}

fn rows(list: Value) -> Vec<SearchResult> {
    let Value::Array(rows) = list else { return Vec::new() };
    rows.into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect()
}

/// Returns a cluster as its stories, the highlighted one first.
fn flattened(mut found: SearchResult) -> Vec<SearchResult> {
    let stories = std::mem::take(&mut found.stories);
    let inner = found.highlight.take().into_iter().chain(stories);
    let inner: Vec<SearchResult> = inner.filter_map(|story| serde_json::from_value(story).ok()).collect();
    let own = found.link.is_some().then_some(found);
    own.into_iter().chain(inner).collect()
}

fn to_hit(found: SearchResult, query: &Query, now: DateTime<Utc>) -> Option<Hit> {
    let url = wire::page_url(&found.link?).filter(|url| wire::is_within(url, &query.domains))?;
    let iso = found.iso_date.as_deref().and_then(wire::date);
    Some(Hit {
        url: url.to_string(),
        title: wire::plain(&found.title.unwrap_or_default()),
        snippet: wire::plain(&found.snippet.unwrap_or_default()),
        published_at: iso.or_else(|| found.date.as_deref().and_then(|text| date(text, now))),
        language: None,
        provider: super::NAME,
        storage: super::STORAGE,
        content: None,
    })
}

/// Parses `09/24/2026, 07:00 AM, +0000 UTC` (month first), `Nov 3, 2026`, or `5 hours ago`. Other languages and months
/// are too vague for a date.
pub(super) fn date(text: &str, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    static RELATIVE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)^(\d{1,3}|an?) (minute|min|hour|day|week)s? ago$").ok());
    let text = text.trim();
    if let Some(found) = RELATIVE.as_ref().and_then(|relative| relative.captures(text)) {
        let count = found.get(1)?.as_str().parse::<i64>().unwrap_or(1);
        let unit = match found.get(2)?.as_str().to_lowercase().as_str() {
            "hour" => Duration::hours(1),
            "day" => Duration::days(1),
            "week" => Duration::weeks(1),
            _ => Duration::minutes(1),
        };
        return now.checked_sub_signed(unit * i32::try_from(count).ok()?);
    }
    let zoned = text.trim_end_matches("UTC").trim_end();
    if let Ok(found) = DateTime::parse_from_str(zoned, "%m/%d/%Y, %I:%M %p, %z") {
        return Some(found.with_timezone(&Utc));
    }
    let moment = NaiveDateTime::parse_from_str(text, "%m/%d/%Y, %I:%M %p").ok().map(|moment| moment.and_utc());
    let day = ["%b %d, %Y", "%B %d, %Y", "%m/%d/%Y"]
        .iter()
        .find_map(|form| NaiveDate::parse_from_str(text, form).ok())
        .and_then(|day| day.and_hms_opt(0, 0, 0))
        .map(|moment| moment.and_utc());
    moment.or(day).or_else(|| wire::date(text))
}

fn refusal(response: &ApiResponse, words: &str) -> AskError {
    let folded = words.to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| folded.contains(sign));
    let detail = excerpt(words);
    if has(&["are exhausted", "run out of searches", "searches for the month"]) {
        return AskError::QuotaGone { until: None };
    }
    if has(&["per hour", "rate limit"]) {
        return AskError::Throttled { retry_after: response.retry_after() };
    }
    if has(&["invalid api key", "missing api key", "api key should be"]) || response.status == 401 {
        return AskError::BadKey { detail };
    }
    match response.status {
        200 if has(&["missing query", "unsupported", "invalid parameter"]) => AskError::Refused { detail },
        200 => AskError::CouldNotAsk { detail },
        // SerpAPI refuses the account, not the key.
        403 => AskError::Disabled { detail },
        _ => response.status_error().unwrap_or(AskError::Server { status: response.status }),
    }
}

/// A 429 without a wait or a clear message is the hourly limit or the end of the monthly quota.
pub(super) fn is_doubtful(response: &ApiResponse, error: &AskError) -> bool {
    let is_clear = |error: &AskError| {
        let words = String::from_utf8_lossy(&response.body).to_lowercase();
        matches!(error, AskError::QuotaGone { .. }) || words.contains("per hour")
    };
    response.status == 429 && response.retry_after().is_none() && !is_clear(error)
}

#[derive(Debug, Deserialize)]
struct Account {
    #[serde(default)]
    total_searches_left: Option<f64>,
    #[serde(default)]
    plan_searches_left: Option<f64>,
}

pub(super) fn account(response: &ApiResponse) -> Result<(), AskError> {
    if let Some(error) = response.status_error() {
        return Err(error);
    }
    let Account { total_searches_left, plan_searches_left } = wire::json(response)?;
    match total_searches_left.or(plan_searches_left) {
        Some(left) if left <= 0.0 => Err(AskError::QuotaGone { until: None }),
        _ => Ok(()),
    }
}

pub(super) fn explain(error: AskError, account: &ApiResponse) -> AskError {
    let account = (account.status == 200).then(|| wire::json::<Account>(account).ok()).flatten();
    let left = account.and_then(|account| account.total_searches_left.or(account.plan_searches_left));
    if left.is_some_and(|left| left <= 0.0) { AskError::QuotaGone { until: None } } else { error }
}

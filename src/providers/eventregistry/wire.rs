//! Event Registry's format: JSON objects in both directions. Refusals are JSON or prose; documentation, Python client
//! and server explain their statuses differently.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::providers::{Answer, Hit, Query, gdelt, wire};

const MOST_ARTICLES: usize = 100;
/// Characters of an article: a snippet, not the text.
const SNIPPET_CHARS: u32 = 400;
/// Older articles are in the paid archive. The API accepts only 7 and 31.
const FREE_WINDOW_DAYS: u32 = 31;
/// The window around a claim's date: announcements come before, reports after.
const BEFORE: chrono::Duration = chrono::Duration::days(7);
const AFTER: chrono::Duration = chrono::Duration::days(30);
/// Far below the domain limit of the smallest plan.
const MOST_SOURCES: usize = 50;
/// Earlier calls end soon.
const CROWDED_WAIT: Duration = Duration::from_secs(3);

/// ISO 639-1 and 639-3.
const LANGUAGES: [(&str, &str); 40] = [
    ("ar", "ara"),
    ("az", "aze"),
    ("be", "bel"),
    ("bg", "bul"),
    ("ca", "cat"),
    ("cs", "ces"),
    ("da", "dan"),
    ("de", "deu"),
    ("el", "ell"),
    ("en", "eng"),
    ("es", "spa"),
    ("et", "est"),
    ("fa", "fas"),
    ("fi", "fin"),
    ("fr", "fra"),
    ("he", "heb"),
    ("hi", "hin"),
    ("hr", "hrv"),
    ("hu", "hun"),
    ("hy", "hye"),
    ("id", "ind"),
    ("it", "ita"),
    ("ja", "jpn"),
    ("ka", "kat"),
    ("kk", "kaz"),
    ("ko", "kor"),
    ("lt", "lit"),
    ("lv", "lav"),
    ("nl", "nld"),
    ("no", "nor"),
    ("pl", "pol"),
    ("pt", "por"),
    ("ro", "ron"),
    ("ru", "rus"),
    ("sk", "slk"),
    ("sl", "slv"),
    ("sr", "srp"),
    ("sv", "swe"),
    ("tr", "tur"),
    ("uk", "ukr"),
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

pub(super) fn body(query: &Query, now: DateTime<Utc>) -> Result<Value, AskError> {
    let phrases = gdelt::key_phrases(query);
    if phrases.is_empty() {
        return Err(AskError::Refused { detail: "the query has no word to look for".to_owned() });
    }
    let mut body = json!({
        "resultType": "articles",
        "keyword": phrases,
        "keywordOper": "and",
        "keywordLoc": "body",
        "dataType": ["news"],
        "isDuplicateFilter": "skipDuplicates",
        "articlesPage": 1,
        "articlesCount": query.limit.clamp(1, MOST_ARTICLES),
        "articlesSortBy": "rel",
        "articleBodyLen": SNIPPET_CHARS,
        // Excludes the archive, whose years cost several tokens each.
        "forceMaxDataTimeWindow": FREE_WINDOW_DAYS,
    });
    let code = query.language.as_deref().and_then(|iso| LANGUAGES.iter().find(|(known, _)| *known == iso));
    if let Some((_, code)) = code {
        body["lang"] = json!(code);
    }
    let domains = query.domains.iter().filter(|domain| wire::is_domain(domain)).take(MOST_SOURCES);
    let domains: Vec<String> = domains.map(|domain| domain.trim_start_matches("www.").to_lowercase()).collect();
    if !domains.is_empty() {
        body["sourceUri"] = json!(domains);
    }
    // An older claim is searched in all free articles, because later reports mention it too.
    let reach = chrono::Duration::days(i64::from(FREE_WINDOW_DAYS));
    if let Some(around) = query.around.filter(|around| now - *around < reach && *around - BEFORE < now) {
        let day = |moment: DateTime<Utc>| moment.format("%Y-%m-%d").to_string();
        body["dateStart"] = json!(day((around - BEFORE).max(now - reach)));
        body["dateEnd"] = json!(day((around + AFTER).min(now)));
    }
    Ok(body)
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    articles: Option<Articles>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Articles {
    #[serde(default, deserialize_with = "wire::list")]
    results: Vec<Article>,
}

#[derive(Debug, Deserialize)]
struct Article {
    #[serde(default, deserialize_with = "wire::text")]
    url: Option<String>,
    #[serde(default)]
    title: Value,
    #[serde(default)]
    body: Value,
    #[serde(default, deserialize_with = "wire::text")]
    lang: Option<String>,
    #[serde(default, rename = "dateTimePub", deserialize_with = "wire::text")]
    published: Option<String>,
    /// When the article was found, usually minutes later.
    #[serde(default, rename = "dateTime", deserialize_with = "wire::text")]
    found: Option<String>,
}

pub(super) fn read(response: &ApiResponse, query: &Query) -> Result<Answer, AskError> {
    log_call(response);
    match response.status {
        200 => {}
        // Documented as "succeeded, without data".
        204 => return Ok(Answer::default()),
        _ => return Err(refusal(response, &words_of(response))),
    }
    let page: Page = wire::json(response)?;
    if let Some(error) = page.error {
        let words = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
        return Err(refusal(response, &words));
    }
    let Some(articles) = page.articles else {
        return Err(AskError::Malformed { detail: "the answer has no articles, not even none".to_owned() });
    };
    let hits = articles.results.into_iter().filter_map(|article| to_hit(article, query));
    Ok(Answer { hits: wire::distinct(hits).take(query.limit).collect(), ..Answer::default() })
}

/// Logs warnings and calls that cost more than one token, for the operator.
fn log_call(response: &ApiResponse) {
    if let Some(warning) = response.header("warning") {
        tracing::warn!(provider = super::NAME, warning = excerpt(warning), "the provider warns");
    }
    let tokens = response.header("req-tokens").and_then(|tokens| tokens.parse::<f64>().ok());
    if let Some(tokens) = tokens.filter(|tokens| *tokens > 1.0) {
        tracing::warn!(provider = super::NAME, tokens, "call cost more than one token");
    }
}

fn to_hit(article: Article, query: &Query) -> Option<Hit> {
    let url = wire::page_url(&article.url?).filter(|url| wire::is_within(url, &query.domains))?;
    let language = article.lang.as_deref();
    let iso = language.and_then(|code| LANGUAGES.iter().find(|(_, known)| *known == code)).map(|(iso, _)| *iso);
    Some(Hit {
        url: url.to_string(),
        title: in_language(&article.title, language),
        snippet: in_language(&article.body, language),
        published_at: article.published.or(article.found).as_deref().and_then(wire::date),
        language: iso.map(str::to_owned),
        provider: super::NAME,
        storage: super::STORAGE,
        content: None,
    })
}

/// Returns the text, or from a map the text in this language, else in English, else any.
fn in_language(value: &Value, language: Option<&str>) -> String {
    let text = match value {
        Value::String(text) => Some(text.as_str()),
        Value::Object(map) => {
            let wanted = language.and_then(|code| map.get(code)).or_else(|| map.get("eng"));
            wanted.or_else(|| map.values().next()).and_then(Value::as_str)
        }
        _ => None,
    };
    text.map(wire::plain).unwrap_or_default()
}

/// Returns the `error` or `message` of a JSON response, else the body.
fn words_of(response: &ApiResponse) -> String {
    let message = wire::json::<Value>(response).ok().and_then(|body| {
        let words = [body.get("error"), body.get("message")].into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<&str> = words.collect();
        (!words.is_empty()).then(|| words.join(": "))
    });
    message.unwrap_or_else(|| String::from_utf8_lossy(&response.body).into_owned())
}

/// Classifies a refusal by its message, then its status. 401 is a used-up account or a bad key; 429 is concurrent or
/// daily calls.
fn refusal(response: &ApiResponse, words: &str) -> AskError {
    let folded = words.to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| folded.contains(sign));
    let detail = excerpt(&format!("status {}: {words}", response.status));
    let is_page = folded.trim_start().starts_with('<');
    if matches!(response.status, 401 | 403) && is_page {
        let detail = format!("status {} with a web page: a wall before the service", response.status);
        return AskError::CouldNotAsk { detail };
    }
    if !is_page && response.status < 500 || has(&["simultaneous", "concurrent"]) {
        if has(&["simultaneous", "concurrent"]) {
            return AskError::Throttled { retry_after: response.retry_after().or(Some(CROWDED_WAIT)) };
        }
        if has(&["api key", "apikey", "api_key"]) && !has(&["limit", "quota", "token"]) {
            return AskError::BadKey { detail };
        }
        if is_used_up(&folded) {
            return AskError::QuotaGone { until: None };
        }
        if response.status == 403 && has(&["disabled", "suspended", "blocked"]) {
            return AskError::Disabled { detail };
        }
    }
    match response.status {
        200 if has(&["parameter", "keyword", "query", "language"]) => AskError::Refused { detail },
        200 => AskError::CouldNotAsk { detail },
        _ => response.status_error().unwrap_or(AskError::Server { status: response.status }),
    }
}

fn is_used_up(folded: &str) -> bool {
    let of_what = ["token", "quota", "limit", "plan"];
    let how = ["reached", "exhaust", "deplet", "used up", "exceed", "no more", "not have enough", "ran out"];
    of_what.iter().any(|sign| folded.contains(sign)) && how.iter().any(|sign| folded.contains(sign))
}

/// Whether to check the account, because the messages for a bad key and a used-up account are easily confused.
pub(super) fn is_doubtful(response: &ApiResponse, error: &AskError) -> bool {
    let wait_is_named = matches!(error, AskError::Throttled { retry_after: Some(_) });
    match error {
        AskError::BadKey { .. } | AskError::QuotaGone { .. } | AskError::Disabled { .. } => true,
        AskError::Throttled { .. } => response.status == 429 && !wait_is_named,
        _ => false,
    }
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default, rename = "availableTokens")]
    available: Option<f64>,
    #[serde(default, rename = "usedTokens")]
    used: Option<f64>,
}

pub(super) fn account(response: &ApiResponse) -> Result<(), AskError> {
    let usage = (response.status == 200).then(|| wire::json::<Usage>(response).ok()).flatten();
    match usage {
        Some(Usage { available: Some(available), used: Some(used) }) if used >= available => {
            Err(AskError::QuotaGone { until: None })
        }
        Some(Usage { available: Some(_), used: Some(_) }) => Ok(()),
        _ => Err(refusal(response, &words_of(response))),
    }
}

pub(super) fn explain(error: AskError, account: &ApiResponse) -> AskError {
    let usage = (account.status == 200).then(|| wire::json::<Usage>(account).ok()).flatten();
    let Some(Usage { available: Some(available), used: Some(used) }) = usage else {
        return error;
    };
    match error {
        _ if used >= available => AskError::QuotaGone { until: None },
        // The key opens the account and tokens are left, so the cause is neither.
        AskError::BadKey { detail } => {
            AskError::Disabled { detail: format!("{detail} (though the key opens its account, with tokens left)") }
        }
        AskError::QuotaGone { .. } => AskError::Throttled { retry_after: None },
        other => other,
    }
}

//! The shapes of the providers that are paid or metered: `SerpAPI`, Event Registry, `NewsAPI`.

use std::collections::HashMap;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::wire::{Found, asked, host_of, number, refusal};

/// `/search.json`: status 200 also for "nothing found", which is an `error` beside `Success`.
pub(super) fn serpapi(parameters: &HashMap<String, String>, search: impl Fn(&str) -> Vec<Found>) -> Response {
    if asked(parameters, "api_key").is_empty() {
        let said = "Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key";
        return refusal(StatusCode::UNAUTHORIZED, json!({ "error": said }));
    }
    let query = asked(parameters, "q");
    if query.trim().is_empty() {
        return refusal(StatusCode::BAD_REQUEST, json!({"error": "Missing query `q` parameter."}));
    }
    let engine = asked(parameters, "engine");
    let found = search(query);
    let metadata =
        json!({"id": "66f0", "status": "Success", "created_at": "2026-11-20 09:00:00 UTC", "total_time_taken": 1.2});
    let parameters = json!({"engine": engine, "q": query});
    if found.is_empty() {
        let said = "Google hasn't returned any results for this query.";
        return Json(json!({"search_metadata": metadata, "search_parameters": parameters, "error": said}))
            .into_response();
    }
    let (field, results) = match engine {
        "google_news" => ("news_results", found.iter().enumerate().map(news_result).collect::<Vec<_>>()),
        _ => ("organic_results", found.iter().enumerate().map(organic_result).collect()),
    };
    Json(json!({"search_metadata": metadata, "search_parameters": parameters, field: results})).into_response()
}

fn organic_result((at, found): (usize, &Found)) -> Value {
    json!({
        "position": at + 1, "title": found.title, "link": found.url, "displayed_link": host_of(&found.url),
        "snippet": found.snippet, "date": "2 days ago", "source": host_of(&found.url),
    })
}

/// Dates are in US order with a twelve-hour clock, and the source is an object.
fn news_result((at, found): (usize, &Found)) -> Value {
    json!({
        "position": at + 1, "title": found.title, "link": found.url, "date": "11/18/2026, 07:00 AM, +0000 UTC",
        "source": {"name": host_of(&found.url), "icon": "", "authors": []},
    })
}

/// Always enough for the hour and the month.
pub(super) fn serpapi_account(searches: u64) -> Response {
    Json(json!({
        "plan_searches_left": 100_000, "total_searches_left": 100_000, "this_hour_searches": searches,
        "account_rate_limit_per_hour": 1_000_000,
    }))
    .into_response()
}

/// `getArticles`: the key and everything else in a JSON body.
pub(super) fn event_registry(body: &[u8], search: impl Fn(&str) -> Vec<Found>) -> Response {
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return refusal(StatusCode::BAD_REQUEST, json!({"error": "The request body is not JSON."}));
    };
    if request["apiKey"].as_str().unwrap_or_default().is_empty() {
        return refusal(StatusCode::UNAUTHORIZED, json!({"error": "The provided API key is not valid."}));
    }
    let count = request["articlesCount"].as_u64().unwrap_or(100);
    if count > 100 {
        return refusal(StatusCode::BAD_REQUEST, json!({"error": "articlesCount is at most 100"}));
    }
    let Some(words) = keywords(&request) else {
        return refusal(StatusCode::BAD_REQUEST, json!({"error": "no condition was given"}));
    };
    let describe = |(at, found): (usize, Found)| {
        json!({
            "uri": format!("75468259{at}"), "lang": "eng", "isDuplicate": false, "dateTime": found.published,
            "dateTimePub": found.published, "dataType": "news", "sim": 0, "url": found.url, "title": found.title,
            "body": found.snippet, "source": {"uri": host_of(&found.url), "dataType": "news", "title": host_of(&found.url)},
            "authors": [], "image": null, "eventUri": null, "sentiment": null, "relevance": 34,
        })
    };
    let found: Vec<Value> =
        search(&words).into_iter().take(usize::try_from(count).unwrap_or(100)).enumerate().map(describe).collect();
    let total = found.len();
    let articles = json!({"results": found, "totalResults": total, "page": 1, "count": count, "pages": 1});
    Json(json!({ "articles": articles })).into_response()
}

/// The keywords of a query, wherever they stand: a string, a list, or inside the query language's object.
fn keywords(request: &Value) -> Option<String> {
    fn gather(value: &Value, inside: bool, words: &mut Vec<String>) {
        match value {
            Value::String(text) if inside => words.push(text.clone()),
            Value::Array(list) => list.iter().for_each(|value| gather(value, inside, words)),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| gather(value, inside || name == "keyword", words));
            }
            _ => {}
        }
    }
    let mut words = Vec::new();
    gather(request, false, &mut words);
    (!words.is_empty()).then(|| words.join(" "))
}

/// Always enough tokens.
pub(super) fn event_registry_usage(searches: u64) -> Response {
    Json(json!({"availableTokens": 1_000_000, "usedTokens": searches})).into_response()
}

/// `/v2/everything`: a status word beside HTTP's, and withdrawn articles among the others.
pub(super) fn newsapi(
    parameters: &HashMap<String, String>,
    headers: &HeaderMap,
    search: impl Fn(&str) -> Vec<Found>,
) -> Response {
    let error = |status: StatusCode, code: &str, message: &str| {
        refusal(status, json!({"status": "error", "code": code, "message": message}))
    };
    if !headers.contains_key("x-api-key") && !headers.contains_key("authorization") {
        return error(StatusCode::UNAUTHORIZED, "apiKeyMissing", "Your API key is missing.");
    }
    let query = asked(parameters, "q");
    if query.is_empty() {
        return error(StatusCode::BAD_REQUEST, "parametersMissing", "Required parameters are missing.");
    }
    if query.chars().count() > 500 || number(parameters, "pageSize", 100) > 100 {
        return error(StatusCode::BAD_REQUEST, "parameterInvalid", "A parameter is invalid.");
    }
    let describe = |found: Found| {
        json!({
            "source": {"id": null, "name": host_of(&found.url)}, "author": null, "title": found.title,
            "description": found.snippet, "url": found.url, "urlToImage": null, "publishedAt": found.published,
            "content": format!("{}… [+2345 chars]", found.snippet),
        })
    };
    let mut articles: Vec<Value> =
        search(query).into_iter().take(number(parameters, "pageSize", 100)).map(describe).collect();
    let total = articles.len();
    if total > 0 {
        articles.push(json!({
            "source": {"id": null, "name": "[Removed]"}, "author": null, "title": "[Removed]", "description": "[Removed]",
            "url": "https://removed.com", "urlToImage": null, "publishedAt": "1970-01-01T00:00:00Z", "content": "[Removed]",
        }));
    }
    Json(json!({"status": "ok", "totalResults": total, "articles": articles})).into_response()
}

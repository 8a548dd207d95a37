//! The providers' own shapes and refusals, as their documentation and observed answers have them.

use std::collections::HashMap;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

use super::world::Review;

/// A page as a search engine knows it.
pub(super) struct Found {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) snippet: String,
    /// RFC 3339, UTC.
    pub(super) published: String,
}

/// The parameters of a query string or form; the last one of a name counts.
pub(super) fn parameters(query: Option<&str>) -> HashMap<String, String> {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

pub(super) fn asked<'a>(parameters: &'a HashMap<String, String>, name: &str) -> &'a str {
    parameters.get(name).map(String::as_str).unwrap_or_default()
}

pub(super) fn number(parameters: &HashMap<String, String>, name: &str, default: usize) -> usize {
    asked(parameters, name).parse().unwrap_or(default)
}

pub(super) fn refusal(status: StatusCode, body: Value) -> Response {
    (status, Json(body)).into_response()
}

/// `claims:search`: proto3 JSON, so that an empty answer is `{}`. The key comes as a parameter or as a header.
pub(super) fn google_fact_check(
    parameters: &HashMap<String, String>,
    headers: &HeaderMap,
    reviews: impl Fn(&str) -> Vec<Review>,
) -> Response {
    let error = |code: StatusCode, status: &str, message: &str, reason: &str| {
        let details = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}]);
        let body = json!({"error": {"code": code.as_u16(), "message": message, "status": status, "details": details}});
        refusal(code, body)
    };
    if !parameters.contains_key("key") && !headers.contains_key("x-goog-api-key") {
        let message = "The request is missing a valid API key.";
        return error(StatusCode::FORBIDDEN, "PERMISSION_DENIED", message, "API_KEY_MISSING");
    }
    let query = asked(parameters, "query");
    if query.is_empty() && !parameters.contains_key("reviewPublisherSiteFilter") {
        let message = "Request must have a query or a reviewPublisherSiteFilter.";
        return error(StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", message, "INVALID_ARGUMENT");
    }
    let describe = |review: Review| {
        json!({
            "text": review.claim,
            "claimDate": "2026-10-02T00:00:00Z",
            "claimReview": [{
                "publisher": {"name": review.publisher, "site": host_of(&review.url)},
                "url": review.url,
                "title": review.claim,
                "reviewDate": "2026-10-05T00:00:00Z",
                "textualRating": review.rating,
                "languageCode": review.language,
            }],
        })
    };
    let claims: Vec<Value> =
        reviews(query).into_iter().take(number(parameters, "pageSize", 10)).map(describe).collect();
    if claims.is_empty() { Json(json!({})).into_response() } else { Json(json!({ "claims": claims })).into_response() }
}

/// DOC 2.0: refusals are plain text with status 200, and "nothing" is `{}`.
pub(super) fn gdelt(parameters: &HashMap<String, String>, search: impl Fn(&str) -> Vec<Found>) -> Response {
    let say = |text: &'static str| Html(text).into_response();
    let query = asked(parameters, "query");
    if query.chars().count() < 2 || query.len() > 250 {
        return say("Your query was too short or too long.\n");
    }
    if query.matches('"').nth(1).is_some()
        && query.split('"').skip(1).step_by(2).any(|phrase| phrase.chars().count() < 5)
    {
        return say("The specified phrase is too short.\n");
    }
    if query.matches('(').count() != query.matches(')').count() {
        return say("One or more of your parenthetical clauses had an error in it.\n");
    }
    let bare: String = query.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    if bare.split_whitespace().any(|word| word == "OR") && !bare.contains('(') {
        return say("Queries containing OR'd terms must be surrounded by ().\n");
    }
    let dashed = |word: &str| !word.contains(':') && word.trim_start_matches('-').contains('-');
    if bare.split_whitespace().any(dashed) {
        return say(
            "One or more of your keywords contained an illegal character. To use a dash in a word, place it in quotes like \"f-16\".\n",
        );
    }
    if number(parameters, "maxrecords", 75) > 250 {
        return say("A maximum of 250 records can be returned.\n");
    }
    if !asked(parameters, "format").eq_ignore_ascii_case("json") {
        return say("<!doctype html><html><body>The answer as a page.</body></html>");
    }
    let describe = |found: Found| {
        json!({
            "url": found.url, "url_mobile": "", "title": found.title,
            // Crawl times are on quarter hours, in ISO basic form.
            "seendate": found.published.replace(['-', ':'], ""), "socialimage": "",
            "domain": host_of(&found.url), "language": "English", "sourcecountry": "United Kingdom",
        })
    };
    let articles: Vec<Value> =
        search(query).into_iter().take(number(parameters, "maxrecords", 75)).map(describe).collect();
    if articles.is_empty() {
        Json(json!({})).into_response()
    } else {
        Json(json!({ "articles": articles })).into_response()
    }
}

/// `/search`: JSON only when asked for; a token that begins like an operator leads away, as it really does.
pub(super) fn searxng(parameters: &HashMap<String, String>, search: impl Fn(&str) -> Vec<Found>) -> Response {
    let query = asked(parameters, "q");
    if query.trim().is_empty() {
        return refusal(StatusCode::BAD_REQUEST, json!({"error": "No query"}));
    }
    if query.split_whitespace().any(|token| token.starts_with("!!")) {
        return (StatusCode::FOUND, [(header::LOCATION, "https://search.invalid/")]).into_response();
    }
    if asked(parameters, "format") != "json" {
        return Html("<!doctype html><html><body>Results as a page.</body></html>").into_response();
    }
    let describe = |found: Found| {
        json!({
            "url": found.url, "engine": "duckduckgo", "parsed_url": ["http", host_of(&found.url), "/", "", "", ""],
            "template": "default.html", "title": found.title, "content": found.snippet,
            "img_src": "", "iframe_src": "", "audio_src": "", "thumbnail": "",
            // Without a zone, as most engines give it.
            "publishedDate": found.published.trim_end_matches('Z'), "pubdate": found.published.replace('T', " ").trim_end_matches('Z'),
            "length": null, "views": "", "author": "", "metadata": "", "priority": "",
            "engines": ["duckduckgo", "brave"], "open_group": false, "close_group": false,
            "positions": [1, 3], "score": 2.5, "category": "general",
        })
    };
    let results: Vec<Value> = search(query).into_iter().map(describe).collect();
    Json(json!({
        "query": query, "results": results, "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
        "unresponsive_engines": [],
    }))
    .into_response()
}

/// The action API, version 2: an error has status 200, and an answer without results has no `query`.
pub(super) fn wikipedia(parameters: &HashMap<String, String>, search: impl Fn(&str) -> Vec<Found>) -> Response {
    let error = |code: &str, info: &str| Json(json!({"error": {"code": code, "info": info}, "servedby": "mw1"}));
    let query = asked(parameters, "gsrsearch");
    if asked(parameters, "action") != "query" || asked(parameters, "generator") != "search" {
        return error("badvalue", "Unrecognized value for parameter \"action\".").into_response();
    }
    if query.trim().is_empty() {
        return error("missingparam", "The \"gsrsearch\" parameter must be set.").into_response();
    }
    let article = |(rank, found): (usize, Found)| {
        json!({
            "pageid": rank + 100, "ns": 0, "title": found.title, "index": rank + 1, "contentmodel": "wikitext",
            "pagelanguage": "en", "touched": "2026-11-20T08:00:00Z", "lastrevid": 1, "length": 9000,
            "fullurl": found.url, "extract": found.snippet,
        })
    };
    let most = number(parameters, "gsrlimit", 10);
    let pages: Vec<Value> = search(query).into_iter().take(most).enumerate().map(article).collect();
    if pages.is_empty() {
        return Json(json!({"batchcomplete": true})).into_response();
    }
    Json(json!({"batchcomplete": true, "query": {"pages": pages}})).into_response()
}

/// Web and news search. A bad key is 422, and every answer carries the two windows' headers.
pub(super) fn brave(
    parameters: &HashMap<String, String>,
    headers: &HeaderMap,
    news: bool,
    search: impl Fn(&str) -> Vec<Found>,
) -> Response {
    let error = |code: &str, detail: &str| {
        let error = json!({"id": "e088898a", "status": 422, "code": code, "detail": detail, "meta": {"component": "authentication"}});
        let body = json!({"type": "ErrorResponse", "error": error, "time": 1_770_578_244});
        refusal(StatusCode::UNPROCESSABLE_ENTITY, body)
    };
    if !headers.contains_key("x-subscription-token") {
        return error("VALIDATION", "Unable to validate request parameter(s)");
    }
    let query = asked(parameters, "q");
    let words = query.split_whitespace().count();
    let most = if news { 50 } else { 20 };
    let count = number(parameters, "count", 20);
    if words == 0 || words > 50 || query.chars().count() > 400 || count == 0 || count > most {
        return error("VALIDATION", "Unable to validate request parameter(s)");
    }
    let describe = |found: Found| {
        let host = host_of(&found.url).to_owned();
        json!({
            "type": if news { "news_result" } else { "search_result" }, "title": found.title, "url": found.url,
            "description": format!("<strong>{}</strong>", found.snippet.replace('\'', "&#x27;")),
            "age": "2 weeks ago", "page_age": found.published.trim_end_matches('Z'), "language": "en", "family_friendly": true,
            "meta_url": {"scheme": "http", "netloc": host, "hostname": host, "favicon": "", "path": ""},
        })
    };
    let results: Vec<Value> = search(query).into_iter().take(count).map(describe).collect();
    let query = json!({"original": query, "altered": null, "spellcheck_off": true, "more_results_available": false});
    let body = if news {
        json!({"type": "news", "query": query, "results": results})
    } else if results.is_empty() {
        json!({"type": "search", "query": query})
    } else {
        json!({"type": "search", "query": query, "web": {"type": "search", "family_friendly": true, "results": results}})
    };
    let windows = [
        ("x-ratelimit-limit", "50, 0"),
        ("x-ratelimit-policy", "50;w=1, 0;w=2592000"),
        ("x-ratelimit-remaining", "49, 0"),
        ("x-ratelimit-reset", "1, 2528987"),
    ];
    (windows, Json(body)).into_response()
}

/// The host of a URL, without the port.
pub(super) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', ':', '?', '#']).next().unwrap_or_default()
}

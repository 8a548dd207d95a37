//! Classifies refusals of `OpenAI` and compatible servers in all known spellings.
//!
//! A new spelling belongs in the lists here and in the tests.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::form::Parameter;
use crate::outbound::{ApiResponse, AskError, excerpt, retry_after};

/// The reason that an answer is missing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    /// The server or model rejects a parameter.
    Parameter(Parameter, String),
    /// The model or a filter declines.
    Declined(String),
    /// The token limit was too low for any text.
    Cut,
    /// No such address, or no web search.
    NoSuchPlace(String),
    Failed(AskError),
}

#[derive(Debug, Default)]
struct Words {
    message: String,
    code: String,
    param: String,
    /// A status in the body.
    status: Option<u16>,
}

/// Returns the refusal; `None` if the response may hold an answer.
pub(super) fn refusal(response: &ApiResponse, model: &str) -> Option<Refusal> {
    let body: Option<Value> = serde_json::from_slice(&response.body).ok();
    let words = body.as_ref().and_then(find_error);
    if response.status == 200 {
        let words = words?;
        // Routers return 200 with the upstream status in the body.
        let status = words.status.unwrap_or_else(|| status_of(&words));
        return Some(classify(status, words, response, model));
    }
    let words = words
        .unwrap_or_else(|| Words { message: excerpt(&String::from_utf8_lossy(&response.body)), ..Words::default() });
    Some(classify(response.status, words, response, model))
}

/// Classifies an error within an answer of status 200.
pub(super) fn refused_within(error: &Value, response: &ApiResponse, model: &str) -> Refusal {
    let words = words_of(error);
    classify(words.status.unwrap_or_else(|| status_of(&words)), words, response, model)
}

/// Finds the error in a body.
fn find_error(body: &Value) -> Option<Words> {
    // Google returns a list of one.
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = body.get("error").filter(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    });
    if let Some(error) = error {
        return Some(words_of(error));
    }
    if body.get("object").and_then(Value::as_str) == Some("error") {
        return Some(words_of(body));
    }
    let is_answer = body.get("choices").is_some() || body.get("output").is_some();
    let detail = body.get("detail").or_else(|| body.get("message")).or_else(|| body.get("errors"))?;
    (!is_answer).then(|| words_of(detail))
}

/// Reads an error: an object, a string, or a list of field errors (`FastAPI`).
fn words_of(error: &Value) -> Words {
    let Value::Object(fields) = error else {
        let message = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
        return Words { message: excerpt(&message), ..Words::default() };
    };
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let code = text("code");
    // The upstream error, from a router.
    let raw = fields.get("metadata").and_then(|metadata| metadata.get("raw")).map(Value::to_string).unwrap_or_default();
    let message = if fields.contains_key("message") { text("message") } else { text("detail") };
    Words {
        message: excerpt(&format!("{message} {raw}")),
        status: code.parse().ok().filter(|status| (400..600).contains(status)),
        code: format!("{code} {}", text("type")).to_lowercase(),
        param: text("param").to_lowercase(),
    }
}

/// Returns the status for an error code.
fn status_of(words: &Words) -> u16 {
    let has = |parts: &[&str]| parts.iter().any(|part| words.code.contains(part));
    if has(&["rate_limit", "too_many", "insufficient_quota"]) {
        429
    } else if has(&["invalid_api_key", "authentication", "unauthorized"]) {
        401
    } else if has(&["server_error", "overloaded", "unavailable", "internal"]) {
        500
    } else if has(&["not_found"]) {
        404
    } else if has(&["invalid", "context_length", "unsupported", "bad_request"]) {
        400
    } else {
        0
    }
}

fn classify(status: u16, words: Words, response: &ApiResponse, model: &str) -> Refusal {
    let Words { message, code, param, .. } = words;
    let lowered = message.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| code.contains(part) || lowered.contains(part));
    let is_request = matches!(status, 400 | 404 | 405 | 415 | 422 | 501);
    if code.contains("insufficient_quota")
        || status == 402
        || has(&["exceeded your current quota", "insufficient credit"])
    {
        return Refusal::Failed(AskError::QuotaGone { until: None });
    }
    if has(&["content_filter", "content_policy", "content management policy", "invalid_prompt", "flagged"]) {
        return Refusal::Declined(message);
    }
    if is_request && has(&["context_length", "context length", "context size", "context window", "too many tokens"]) {
        return Refusal::Failed(AskError::Refused { detail: message });
    }
    if is_request && has(&["output limit was reached", "could not finish the message"]) {
        return Refusal::Cut;
    }
    if is_request && is_of_model(&code, &lowered) {
        let detail = format!(
            "the server knows no model {model:?}: {message}; set llm.model (LLM_MODEL) to the name of one that it has"
        );
        return Refusal::Failed(AskError::Disabled { detail });
    }
    if let (true, Some(parameter)) = (is_request, parameter(&param, &lowered)) {
        return Refusal::Parameter(parameter, message);
    }
    match status {
        400 | 422 if has(&["web_search", "tool type", "tools"]) => Refusal::NoSuchPlace(message),
        404 | 405 | 501 => Refusal::NoSuchPlace(message),
        400 | 413 | 415 | 422 => Refusal::Failed(AskError::Refused { detail: message }),
        401 | 403 | 407 => Refusal::Failed(AskError::BadKey { detail: message }),
        429 => Refusal::Failed(AskError::Throttled { retry_after: wait(response) }),
        503 | 529 if response.header("retry-after").is_some() || response.header("retry-after-ms").is_some() => {
            Refusal::Failed(AskError::Throttled { retry_after: wait(response) })
        }
        500..=599 => Refusal::Failed(AskError::Server { status }),
        _ if response.status == 200 => Refusal::Failed(AskError::CouldNotAsk { detail: message }),
        _ => Refusal::Failed(response.status_error().unwrap_or(AskError::CouldNotAsk { detail: message })),
    }
}

fn is_of_model(code: &str, text: &str) -> bool {
    let missing = [
        "not found",
        "not exist",
        "unknown model",
        "invalid model",
        "no such model",
        "try pulling",
        "not a valid model",
    ];
    code.contains("model_not_found") || (text.contains("model") && missing.iter().any(|words| text.contains(words)))
}

/// Returns the rejected parameter, by `param` or message. `None` if only its value is too large.
fn parameter(param: &str, message: &str) -> Option<Parameter> {
    if ["too large", "at most", "must be less", "exceeds"].iter().any(|words| message.contains(words)) {
        return None;
    }
    let names = [
        (Parameter::MaxTokens, &["max_tokens", "max_completion_tokens"][..]),
        (Parameter::Temperature, &["temperature"]),
        (
            Parameter::ResponseFormat,
            &["response_format", "json_schema", "json_object", "structured output", "json mode"],
        ),
        (Parameter::Include, &["'include'", "\"include\"", "include[", "action.sources"]),
    ];
    let named = |text: &str| names.iter().find(|(_, names)| names.iter().any(|name| text.contains(name)));
    if param == "include" {
        return Some(Parameter::Include);
    }
    named(param).or_else(|| named(message)).map(|(parameter, _)| *parameter)
}

/// Returns the requested wait. `None` for `x-should-retry: false` without one.
pub(super) fn wait(response: &ApiResponse) -> Option<Duration> {
    let bounded = |wait: Duration| wait.min(retry_after::LONGEST);
    let millis = response.header("retry-after-ms").and_then(|value| value.trim().parse::<f64>().ok());
    if let Some(millis) = millis.filter(|millis| millis.is_finite() && *millis >= 0.0) {
        return Some(bounded(Duration::from_secs_f64((millis / 1e3).min(retry_after::LONGEST.as_secs_f64()))));
    }
    if let Some(wait) = response.retry_after() {
        return Some(wait);
    }
    if response.header("x-should-retry").is_some_and(|value| value.trim().eq_ignore_ascii_case("false")) {
        return None;
    }
    let limits = ["requests", "tokens"].map(|what| {
        let left = response.header(&format!("x-ratelimit-remaining-{what}"));
        let reset = response.header(&format!("x-ratelimit-reset-{what}"));
        (left.is_some_and(|left| left.trim() == "0"), reset.and_then(|value| reset_in(value, response.received_at)))
    });
    // The exhausted limit, otherwise the longer one.
    let used_up = limits.iter().filter(|(is_used_up, _)| *is_used_up).filter_map(|(_, wait)| *wait).max();
    used_up.or_else(|| limits.iter().filter_map(|(_, wait)| *wait).max()).map(bounded)
}

/// Parses a Go duration (`6m0s`, `20ms`), seconds, or seconds since 1970.
fn reset_in(value: &str, received: DateTime<Utc>) -> Option<Duration> {
    /// Larger numbers are times in seconds, or from 100 times this in milliseconds.
    const MOMENT: f64 = 1e9;
    let value = value.trim();
    if let Ok(number) = value.parse::<f64>() {
        let seconds = if number >= MOMENT * 1e2 { number / 1e3 } else { number };
        let wait = if seconds >= MOMENT { seconds - received.timestamp_millis() as f64 / 1e3 } else { seconds };
        return Duration::try_from_secs_f64(wait.max(0.0)).ok();
    }
    let mut rest = value;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at_checked(digits)?;
        let units = [("ms", 1e-3), ("µs", 1e-6), ("us", 1e-6), ("ns", 1e-9), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
        let (unit, worth) = units.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        seconds += number.parse::<f64>().ok()? * worth;
        rest = after.strip_prefix(unit)?;
    }
    (!value.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

#[cfg(test)]
#[path = "refusal/tests.rs"]
mod tests;

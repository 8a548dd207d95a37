//! Requests and answers as `OpenAI` documents them and compatible servers send them.
//!
//! Builds chat completions and Responses requests, classifies refusals, and finds the object, the cited addresses and
//! the token counts of an answer.

use serde_json::{Value, json};
use url::Url;

use super::spend::{Usage, tokens};
use super::{LlmError, Question};
use crate::outbound::{ApiResponse, AskError, excerpt};
use crate::reading::canonical_url;

/// Maximum cited addresses; a search can list dozens.
const MAX_URLS: usize = 20;
/// Maximum characters of an address.
const MAX_URL_CHARS: usize = 2_000;
/// Maximum positions of a text at which an object is tried.
const MAX_STARTS: usize = 24;
/// Part of the second request if the first answer was no object of the schema. It is in the user's message, because
/// some chat templates reject two messages of one role. It also changes the answer at temperature 0.
const REMINDER: &str = "\n\nAnswer with one complete JSON object of the schema, and with nothing before or after it.";

/// A field that some servers or models reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// `response_format`: the server enforces no schema.
    Schema,
    /// `max_tokens` or `temperature`: reasoning models take `max_completion_tokens` and no temperature.
    Sampling,
}

/// The rejected fields, which a request leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) without_schema: bool,
    pub(super) without_sampling: bool,
}

impl Form {
    /// Returns every form, because a recording can match any.
    pub(super) const ALL: [Self; 4] = [
        Self { without_schema: false, without_sampling: false },
        Self { without_schema: true, without_sampling: false },
        Self { without_schema: false, without_sampling: true },
        Self { without_schema: true, without_sampling: true },
    ];

    pub(super) const fn without(self, field: Field) -> Self {
        match field {
            Field::Schema => Self { without_schema: true, ..self },
            Field::Sampling => Self { without_sampling: true, ..self },
        }
    }

    const fn token_limit(self) -> &'static str {
        if self.without_sampling { "max_completion_tokens" } else { "max_tokens" }
    }

    /// Builds a chat completion. The schema is also in the instruction, because some servers ignore the field.
    pub(super) fn chat(self, model: &str, question: &Question, max_tokens: u32, is_reminder: bool) -> Value {
        let system = format!(
            "{}\n\nJSON Schema of the answer, which is one JSON object and nothing else:\n{}",
            question.system, question.schema
        );
        let user = format!("{}{}", question.user, if is_reminder { REMINDER } else { "" });
        let mut body = json!({
            "model": model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
            self.token_limit(): max_tokens,
        });
        if !self.without_sampling {
            body["temperature"] = json!(0);
        }
        if !self.without_schema {
            let schema = json!({"name": question.purpose.as_str(), "strict": true, "schema": question.schema});
            body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
        }
        body
    }

    /// Builds the smallest request.
    pub(super) fn one_token(self, model: &str) -> Value {
        json!({"model": model, "messages": [{"role": "user", "content": "Say yes."}], self.token_limit(): 1})
    }
}

/// Builds a Responses request with web search. Its answer is prose, because models omit citations from objects.
pub(super) fn search(model: &str, question: &Question, max_tokens: u32) -> Value {
    json!({
        "model": model,
        "instructions": question.system,
        "input": question.user,
        "max_output_tokens": max_tokens,
        "tools": [{"type": "web_search"}],
        // The provider must not store it.
        "store": false,
    })
}

/// The reason that an answer is missing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    Field(Field, String),
    /// A filter of the server.
    Declined(String),
    /// No such address, or no web search.
    NoEndpoint(String),
    Failed(AskError),
}

/// Words of an error about a value or a text that exceeds a limit.
const LIMITS: &[&str] = &[
    "context_length",
    "context length",
    "context size",
    "context window",
    "too many tokens",
    "too large",
    "output limit",
    "at most",
    "must be less",
    "less than or equal",
    "exceeds",
];

/// Returns the refusal; `None` if the response may hold an answer.
pub(super) fn refusal(response: &ApiResponse, model: &str) -> Option<Refusal> {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    // Gateways send an empty error with an answer.
    let is_empty = |error: &Value| match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let error = body.get("error").filter(|error| !is_empty(error));
    let mut response = response.clone();
    if response.status == 200 {
        // Routers send the status of the server behind them in the body.
        let status = error?.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        response.status = status.filter(|status| (400..600).contains(status)).unwrap_or(200);
    }
    let message = error.and_then(|error| error.get("message").unwrap_or(error).as_str());
    let whole = String::from_utf8_lossy(&response.body);
    // Servers may repeat the request in an error, and its texts must not decide.
    let named = |error: &Value| {
        let fields = ["/message", "/code", "/type", "/param", "/metadata/raw"];
        let texts = fields.iter().filter_map(|field| error.pointer(field)).map(Value::to_string);
        if error.is_object() { texts.collect::<Vec<_>>().join(" ") } else { error.to_string() }
    };
    let words = error.map_or_else(|| whole.to_string(), named).to_lowercase();
    let message = excerpt(message.unwrap_or(&whole));
    let has = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    if response.status == 402 || has(&["insufficient_quota"]) {
        return Some(Refusal::Failed(AskError::QuotaGone { until: None }));
    }
    if has(&["content_filter", "content_policy"]) {
        return Some(Refusal::Declined(message));
    }
    let is_request = matches!(response.status, 400 | 404 | 422);
    let has_no_model = has(&["model_not_found", "model not exist", "invalid model", "not a valid model"])
        || response.status == 404 && has(&["model"]);
    Some(match response.status {
        // Servers name the field of the limit that the texts or the answer exceed.
        400 | 422 if has(LIMITS) => Refusal::Failed(AskError::Refused { detail: message }),
        _ if is_request && has(&["response_format", "json_schema", "structured output"]) => {
            Refusal::Field(Field::Schema, message)
        }
        400 | 422 if has(&["max_tokens", "temperature"]) => Refusal::Field(Field::Sampling, message),
        _ if is_request && has_no_model => {
            let detail = format!(
                "the server knows no model {model:?}: {message}; set llm.model (LLM_MODEL) to the name of one that it \
                 has"
            );
            Refusal::Failed(AskError::Disabled { detail })
        }
        404 | 405 | 501 => Refusal::NoEndpoint(message),
        400 | 422 if has(&["web_search", "tools"]) => Refusal::NoEndpoint(message),
        400 | 422 => Refusal::Failed(AskError::Refused { detail: message }),
        _ => Refusal::Failed(response.status_error().unwrap_or(AskError::CouldNotAsk { detail: message })),
    })
}

/// Returns the body of an answer with its tokens. `read_tokens` is an estimate for servers that do not count.
pub(super) fn body(response: &ApiResponse, read_tokens: u64) -> Result<(Value, Usage), AskError> {
    let malformed = |detail: String| AskError::Malformed { detail };
    let body: Value = serde_json::from_slice(&response.body).map_err(|error| malformed(error.to_string()))?;
    let outputs = || body.get("output").and_then(Value::as_array).into_iter().flatten();
    if body.get("choices").is_none() && body.get("output").is_none() {
        return Err(malformed("it has no choices and no output".to_owned()));
    }
    let count = |names: [&str; 2]| {
        let counted = names.iter().find_map(|name| body.get("usage")?.get(name)?.as_f64());
        counted.filter(|count| (1.0..1e9).contains(count)).map(|count| count as u64)
    };
    let is_search = |output: &&Value| output.get("type").and_then(Value::as_str) == Some("web_search_call");
    let usage = Usage {
        read: count(["prompt_tokens", "input_tokens"]).unwrap_or(read_tokens),
        written: count(["completion_tokens", "output_tokens"]).unwrap_or_else(|| {
            tokens(&content(&body)) + outputs().map(|output| tokens(&output.to_string())).sum::<u64>()
        }),
        searches: outputs().filter(is_search).count() as u64,
    };
    Ok((body, usage))
}

/// Returns the text of a chat completion: a string, or parts of which thoughts are left out.
fn content(body: &Value) -> String {
    match body.pointer("/choices/0/message/content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
        _ => String::new(),
    }
}

/// Returns the object of the schema in a chat completion.
pub(super) fn object(body: &Value, schema: &Value) -> Result<Value, LlmError> {
    let text_at = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (refusal, finish) = (text_at("/choices/0/message/refusal"), text_at("/choices/0/finish_reason"));
    if !refusal.trim().is_empty() {
        return Err(LlmError::Declined { detail: excerpt(refusal) });
    }
    // Text before a filter is not the model's answer.
    if finish == "content_filter" {
        return Err(LlmError::Declined { detail: "a filter of the server struck".to_owned() });
    }
    let text = content(body);
    match object_in(&text, schema) {
        Some(value) => Ok(value),
        None if finish == "length" => Err(LlmError::Cut),
        None => Err(LlmError::Unreadable { detail: format!("it has no object of the schema: {}", excerpt(&text)) }),
    }
}

/// Returns the first complete object with all required properties: alone, fenced, in prose, or after thoughts.
fn object_in(text: &str, schema: &Value) -> Option<Value> {
    let text = text.trim_start();
    let answer = match text.split_once("</think>") {
        _ if text.starts_with(['{', '`']) => text,
        Some((_thoughts, answer)) => answer,
        None if text.starts_with("<think>") => return None,
        None => text,
    };
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    answer.match_indices('{').take(MAX_STARTS).find_map(|(start, _)| {
        let rest = answer.get(start..)?;
        let value = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()?;
        required.iter().all(|name| value.get(name).is_some()).then_some(value)
    })
}

/// Returns the addresses that a Responses answer cites, without tracking parameters, each once.
pub(super) fn citations(body: &Value) -> Result<Vec<String>, LlmError> {
    let items = body.get("output").and_then(Value::as_array).into_iter().flatten();
    let parts: Vec<&Value> = items.filter_map(|item| item.get("content").and_then(Value::as_array)).flatten().collect();
    let mut urls: Vec<String> = Vec::new();
    for annotation in parts.iter().filter_map(|part| part.get("annotations").and_then(Value::as_array)).flatten() {
        let url = annotation.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
        let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else { continue };
        let url = canonical_url(&url).to_string();
        if url.len() <= MAX_URL_CHARS && urls.len() < MAX_URLS && !urls.contains(&url) {
            urls.push(url);
        }
    }
    let reason = body.pointer("/incomplete_details/reason").and_then(Value::as_str);
    let refusal = parts.iter().find_map(|part| part.get("refusal").and_then(Value::as_str));
    match (refusal, body.get("status").and_then(Value::as_str)) {
        _ if reason == Some("content_filter") => {
            Err(LlmError::Declined { detail: "a filter of the server struck".to_owned() })
        }
        _ if !urls.is_empty() => Ok(urls),
        (Some(refusal), _) => Err(LlmError::Declined { detail: excerpt(refusal) }),
        (None, Some("incomplete")) => Err(LlmError::Cut),
        (None, None | Some("completed")) => Ok(urls),
        (None, Some(other)) => Err(LlmError::Unreadable { detail: format!("it ended as {}", excerpt(other)) }),
    }
}

#[cfg(test)]
#[path = "wire/tests.rs"]
mod tests;

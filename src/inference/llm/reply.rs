//! Reads chat completions: the text, the object and the tokens.
//!
//! Refusals and truncated answers become an [`LlmError`].

use serde_json::Value;

use super::json::{ParsedObject, object_in};
use super::prices::{Usage, tokens};
use super::refusal::{Refusal, refused_within};
use super::{LlmError, Question};
use crate::outbound::{ApiResponse, AskError, excerpt};

#[derive(Debug)]
pub(super) struct ParsedReply<T> {
    pub(super) outcome: Result<T, LlmError>,
    pub(super) usage: Usage,
}

pub(super) fn body(response: &ApiResponse) -> Result<Value, AskError> {
    let malformed = |detail: String| AskError::Malformed { detail };
    let body: Value = serde_json::from_slice(&response.body).map_err(|error| malformed(error.to_string()))?;
    if body.is_object() { Ok(body) } else { Err(malformed("it is no JSON object".to_owned())) }
}

/// Finds the object of the schema. `read_tokens` is an estimate for servers that do not count.
pub(super) fn chat(
    body: &Value,
    response: &ApiResponse,
    model: &str,
    question: &Question,
    read_tokens: u64,
) -> Result<ParsedReply<Value>, AskError> {
    let choice = body.pointer("/choices/0");
    if let Some(error) = choice.and_then(|choice| choice.get("error")).filter(|error| !error.is_null()) {
        let outcome = match refused_within(error, response, model) {
            Refusal::Declined(detail) => Err(LlmError::Declined { detail }),
            Refusal::Cut => Err(LlmError::Cut),
            Refusal::Failed(error) => return Err(error),
            Refusal::Parameter(_, detail) | Refusal::NoSuchPlace(detail) => Err(LlmError::Unreadable { detail }),
        };
        return Ok(ParsedReply { outcome, usage: usage(body, read_tokens, "") });
    }
    if body.get("choices").is_none() {
        return Err(AskError::Malformed { detail: "it has no choices".to_owned() });
    }
    let message = choice.and_then(|choice| choice.get("message")).unwrap_or(&Value::Null);
    let content = message.get("content").or_else(|| choice.and_then(|choice| choice.get("text")));
    let ContentText { text, refusal } = written(content.unwrap_or(&Value::Null));
    let usage = usage(body, read_tokens, &text);
    let refused = message.get("refusal").and_then(Value::as_str).map(str::to_owned).or(refusal);
    let finish = choice.and_then(|choice| choice.get("finish_reason")).and_then(Value::as_str).unwrap_or_default();
    if let Some(detail) = refused.filter(|words| !words.trim().is_empty()) {
        return Ok(ParsedReply { outcome: Err(LlmError::Declined { detail: excerpt(&detail) }), usage });
    }
    let is_cut = matches!(finish, "length" | "max_tokens" | "model_length");
    let outcome = match object_in(&text, &question.schema, is_cut) {
        // Text before a filter is not the model's answer.
        _ if finish == "content_filter" => {
            Err(LlmError::Declined { detail: "a filter of the server struck".to_owned() })
        }
        ParsedObject::Object(value) => Ok(value),
        ParsedObject::Part(value) => Err(LlmError::Part(value)),
        ParsedObject::Cut => Err(LlmError::Cut),
        ParsedObject::Nothing if text.trim().is_empty() => {
            Err(LlmError::Unreadable { detail: format!("it is empty (finish_reason {finish:?})") })
        }
        ParsedObject::Nothing => {
            Err(LlmError::Unreadable { detail: format!("it holds no such object: {}", excerpt(&text)) })
        }
    };
    Ok(ParsedReply { outcome, usage })
}

#[derive(Debug, Default)]
pub(super) struct ContentText {
    pub(super) text: String,
    pub(super) refusal: Option<String>,
}

/// Reads a content: text, null, the object, or a list of parts.
pub(super) fn written(content: &Value) -> ContentText {
    match content {
        Value::String(text) => ContentText { text: text.clone(), refusal: None },
        Value::Object(_) => ContentText { text: content.to_string(), refusal: None },
        Value::Array(parts) => {
            let mut written = ContentText::default();
            for part in parts {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
                let text = |name: &str| part.get(name).and_then(Value::as_str);
                match kind {
                    "refusal" => written.refusal = text("refusal").map(str::to_owned),
                    // Visible thoughts.
                    "thinking" | "reasoning" => {}
                    _ => written.text.push_str(part.as_str().or_else(|| text("text")).unwrap_or_default()),
                }
            }
            written
        }
        _ => ContentText::default(),
    }
}

/// Returns the server's counts, or an estimate.
pub(super) fn usage(body: &Value, read_tokens: u64, text: &str) -> Usage {
    let count = |names: [&str; 2]| {
        let counted = names.iter().find_map(|name| body.get("usage")?.get(name));
        counted.and_then(whole_number).filter(|count| *count > 0)
    };
    Usage {
        read: count(["prompt_tokens", "input_tokens"]).unwrap_or(read_tokens),
        written: count(["completion_tokens", "output_tokens"]).unwrap_or_else(|| tokens(text)),
        searches: 0,
    }
}

/// Reads a count, also as a decimal or text.
fn whole_number(value: &Value) -> Option<u64> {
    let figure = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    // A larger number is no token count.
    (0.0..1e9).contains(&figure).then_some(figure as u64)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;
    use crate::inference::llm::Purpose;
    use crate::outbound::header::HeaderMap;

    fn question() -> Question {
        Question {
            purpose: Purpose::Claims,
            version: 1,
            system: String::new(),
            user: String::new(),
            schema: json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}),
            max_tokens: 10,
        }
    }

    fn read(body: &Value) -> Result<ParsedReply<Value>, AskError> {
        let response = ApiResponse {
            status: 200,
            headers: HeaderMap::new(),
            body: Vec::new(),
            content_type: None,
            received_at: DateTime::UNIX_EPOCH,
        };
        chat(body, &response, "m", &question(), 100)
    }

    fn completion(message: &Value, finish: &str) -> Value {
        json!({"id": "", "created": 1.5, "choices": [{"message": message, "finish_reason": finish}]})
    }

    #[test]
    fn an_answer_is_read_from_every_shape_of_content() {
        let answer = json!({"a": 1});
        for content in [
            json!("{\"a\": 1}"),
            json!("```json\n{\"a\": 1}\n```"),
            json!({"a": 1}),
            json!([{"type": "thinking", "thinking": "{\"a\": 2}"}, {"type": "text", "text": "{\"a\""}, {"type": "text", "text": ": 1}"}]),
            json!(["{\"a\": 1}"]),
        ] {
            let read = read(&completion(&json!({"content": content}), "stop")).unwrap();
            assert_eq!(read.outcome, Ok(answer.clone()), "{content}");
        }
        let old = json!({"choices": [{"text": "{\"a\": 1}"}]});
        assert_eq!(read(&old).unwrap().outcome, Ok(answer));
    }

    #[test]
    fn chat_names_cause_when_content_has_no_answer() {
        for (message, finish, outcome) in [
            (json!({"content": null, "refusal": "I must not."}), "stop", "declined"),
            (json!({"content": [{"type": "refusal", "refusal": "No."}]}), "stop", "declined"),
            (json!({"content": "{\"a\": 1}"}), "content_filter", "declined"),
            (json!({"content": null}), "content_filter", "declined"),
            (json!({"content": null, "tool_calls": []}), "tool_calls", "malformed"),
            (json!({"content": "{\"b\": 1"}), "length", "malformed"),
            (json!({"content": "I would rather not say."}), "stop", "malformed"),
            (Value::Null, "stop", "malformed"),
        ] {
            let error = read(&completion(&message, finish)).unwrap().outcome.unwrap_err();
            assert_eq!(error.outcome(), outcome, "{message} {finish}: {error}");
        }
        assert_eq!(read(&json!({"choices": []})).unwrap().outcome.unwrap_err().outcome(), "malformed");
        assert!(matches!(read(&json!({"text": "hello"})), Err(AskError::Malformed { .. })), "no such API");
        let failed = json!({"choices": [{"error": {"code": 502, "message": "upstream"}, "finish_reason": "error"}]});
        assert!(matches!(read(&failed), Err(AskError::Server { status: 502 })));
    }

    #[test]
    fn tokens_are_counted_or_estimated() {
        for (usage, read_tokens, written) in [
            (json!({"prompt_tokens": 7, "completion_tokens": 3}), 7, 3),
            (json!({"prompt_tokens": "7", "completion_tokens": 3.0}), 7, 3),
            (json!({"input_tokens": 7, "output_tokens": 3}), 7, 3),
            (json!({"prompt_tokens": 0, "completion_tokens": null}), 100, 2),
            (Value::Null, 100, 2),
        ] {
            let mut body = completion(&json!({"content": "{\"a\": 1}"}), "stop");
            body["usage"] = usage;
            let found = read(&body).unwrap().usage;
            assert_eq!((found.read, found.written), (read_tokens, written), "{}", body["usage"]);
        }
    }
}

//! An OpenAI-compatible language model: `/llm/v1/chat/completions` and `/llm/v1/responses`.
//!
//! It knows one model and one key, refuses what the documentation says it refuses, and counts tokens. What it says is
//! decided by a script that gets the request; what goes wrong on the way, by [`super::Fault`]s.

use std::sync::{Arc, Mutex};

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::lock;

/// The model it knows, and the key it takes.
pub(crate) const MODEL: &str = "simulated-model";
pub(crate) const KEY: &str = "simulated-llm-key";

/// How the model answers one request.
#[derive(Debug, Clone)]
pub(crate) enum Script {
    /// With this object.
    Object(Value),
    /// With these words: prose, fences, thoughts, half an object.
    Words(String),
    /// With these words, and it stopped because of the limit of tokens.
    Cut(String),
    /// It will not.
    Refusal(String),
    /// With this body and status, whatever it holds.
    Raw(u16, Value),
    /// By a web search that cites these addresses. To a chat: an empty text.
    Citations(Vec<String>),
}

type Model = dyn Fn(&Value) -> Script + Send + Sync;

/// The server's state.
#[derive(Default)]
pub(super) struct Server {
    model: Mutex<Option<Arc<Model>>>,
    asked: Mutex<Vec<Value>>,
}

impl Server {
    pub(super) fn set(&self, model: impl Fn(&Value) -> Script + Send + Sync + 'static) {
        *lock(&self.model) = Some(Arc::new(model));
    }

    pub(super) fn asked(&self) -> Vec<Value> {
        lock(&self.asked).clone()
    }

    pub(super) fn answer(&self, is_chat: bool, headers: &HeaderMap, body: &[u8]) -> Response {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if bearer != Some(&format!("Bearer {KEY}")) {
            let message = "Incorrect API key provided.";
            return error(StatusCode::UNAUTHORIZED, message, "invalid_request_error", "invalid_api_key");
        }
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            return error(StatusCode::BAD_REQUEST, "The body is not JSON.", "invalid_request_error", "invalid_json");
        };
        let model = request["model"].as_str().unwrap_or_default();
        if model != MODEL {
            let message = format!("The model `{model}` does not exist or you do not have access to it.");
            return error(StatusCode::NOT_FOUND, &message, "invalid_request_error", "model_not_found");
        }
        if request["messages"].as_array().is_none_or(Vec::is_empty) && request.get("input").is_none() {
            return error(StatusCode::BAD_REQUEST, "'messages' is required.", "invalid_request_error", "missing");
        }
        lock(&self.asked).push(request.clone());
        let model = lock(&self.model).clone();
        let script = model.map_or_else(|| Script::Refusal("I am not set up.".to_owned()), |model| model(&request));
        if is_chat { chat(script, &request) } else { response(script, &request) }
    }
}

fn error(status: StatusCode, message: &str, kind: &str, code: &str) -> Response {
    (status, Json(json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))).into_response()
}

/// About four characters a token, as the client estimates it too.
fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

fn chat(script: Script, request: &Value) -> Response {
    let (content, refusal, finish) = match script {
        Script::Object(object) => (json!(object.to_string()), Value::Null, "stop"),
        Script::Words(words) => (json!(words), Value::Null, "stop"),
        Script::Cut(words) => (json!(words), Value::Null, "length"),
        Script::Refusal(words) => (Value::Null, json!(words), "stop"),
        Script::Citations(_) => (json!(""), Value::Null, "stop"),
        Script::Raw(status, body) => return raw(status, body),
    };
    let written = tokens(content.as_str().unwrap_or_default());
    let mut answer = chat_answer(&content, finish);
    answer["choices"][0]["message"]["refusal"] = refusal;
    let read = tokens(&request["messages"].to_string());
    answer["usage"] = json!({"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written});
    Json(answer).into_response()
}

/// A chat completion in the documented shape, without a count of tokens.
pub(crate) fn chat_answer(content: &Value, finish: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_741_569_952, "model": MODEL,
        "choices": [{
            "index": 0, "message": {"role": "assistant", "content": content, "refusal": null, "annotations": []},
            "logprobs": null, "finish_reason": finish,
        }],
    })
}

fn response(script: Script, request: &Value) -> Response {
    let (text, urls) = match script {
        Script::Citations(urls) => ("Reports say so.".to_owned(), urls),
        Script::Object(object) => (object.to_string(), Vec::new()),
        Script::Words(words) | Script::Cut(words) => (words, Vec::new()),
        Script::Refusal(words) => {
            let part = json!({"type": "refusal", "refusal": words});
            return Json(completed(&[json!({"type": "message", "content": [part]})], request, 0)).into_response();
        }
        Script::Raw(status, body) => return raw(status, body),
    };
    let annotations: Vec<Value> = urls
        .iter()
        .map(|url| json!({"type": "url_citation", "start_index": 0, "end_index": 7, "url": url, "title": "A page"}))
        .collect();
    let part = json!({"type": "output_text", "text": text, "logprobs": null, "annotations": annotations});
    let items = [
        json!({"type": "reasoning", "id": "rs_1", "summary": []}),
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}),
    ];
    Json(completed(&items, request, tokens(&text))).into_response()
}

fn completed(items: &[Value], request: &Value, written: usize) -> Value {
    let read = tokens(&request["input"].to_string());
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_741_484_430, "status": "completed", "error": null,
        "incomplete_details": null, "model": MODEL, "output": items,
        "usage": {"input_tokens": read, "output_tokens": written, "total_tokens": read + written},
    })
}

fn raw(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).expect("a test names a real status");
    (status, Json(body)).into_response()
}

//! Adapts requests to the parameters that a server accepts.
//!
//! A question starts in the usual form. If a refusal names a parameter, it is repeated without it, and the process
//! remembers that.
//!
//! `max_tokens` comes first, because models that need `max_completion_tokens` reject it. Servers without the
//! new name (Ollama, older llama.cpp) ignore it and write without limit.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value, json};

use super::Question;

/// A parameter that a server may reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    MaxTokens,
    Temperature,
    ResponseFormat,
    /// Lists the search sources in the Responses API.
    Include,
}

const NEW_TOKENS: u8 = 1;
const NO_TEMPERATURE: u8 = 1 << 1;
const NO_SCHEMA: u8 = 1 << 2;
const NO_JSON: u8 = 1 << 3;
const NO_INCLUDE: u8 = 1 << 4;

/// The parameters left out of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RequestFeatures(u8);

/// The parameters that the server rejects.
#[derive(Debug, Default)]
pub(super) struct ServerCapabilities(AtomicU8);

impl ServerCapabilities {
    pub(super) fn form(&self) -> RequestFeatures {
        RequestFeatures(self.0.load(Ordering::Relaxed))
    }

    /// Rejected parameters stay left out.
    pub(super) fn remember(&self, form: RequestFeatures) {
        self.0.fetch_or(form.0, Ordering::Relaxed);
    }
}

impl RequestFeatures {
    /// Leaves out a parameter; `None` if that is not possible.
    pub(super) const fn without(self, parameter: Parameter) -> Option<Self> {
        let left_out = match parameter {
            Parameter::MaxTokens => NEW_TOKENS,
            Parameter::Temperature => NO_TEMPERATURE,
            Parameter::ResponseFormat if self.0 & NO_SCHEMA == 0 => NO_SCHEMA,
            Parameter::ResponseFormat => NO_JSON,
            Parameter::Include => NO_INCLUDE,
        };
        if self.0 & left_out == 0 { Some(Self(self.0 | left_out)) } else { None }
    }

    /// Returns every form, because a recording can match any.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let formats = [0, NO_SCHEMA, NO_SCHEMA | NO_JSON];
        let options = [0, NEW_TOKENS, NO_TEMPERATURE, NEW_TOKENS | NO_TEMPERATURE];
        let chats = formats.into_iter().flat_map(move |format| options.map(|option| Self(format | option)));
        // Only a search has `include`.
        chats.flat_map(|form| [form, Self(form.0 | NO_INCLUDE)])
    }

    const fn has(self, left_out: u8) -> bool {
        self.0 & left_out != 0
    }

    /// Builds a chat completion. The schema is also in the instruction, because some servers ignore the parameter.
    pub(super) fn chat(self, model: &str, question: &Question, max_tokens: u32) -> Value {
        let system = format!(
            "{}\n\nJSON Schema of the answer, which is one JSON object and nothing else:\n{}",
            question.system, question.schema
        );
        let tokens = if self.has(NEW_TOKENS) { "max_completion_tokens" } else { "max_tokens" };
        let mut body = json!({
            "model": model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": question.user}],
            tokens: max_tokens,
        });
        if !self.has(NO_TEMPERATURE) {
            body["temperature"] = json!(0);
        }
        if !self.has(NO_SCHEMA) {
            let schema = json!({"name": question.purpose.as_str(), "strict": true, "schema": question.schema});
            body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
        } else if !self.has(NO_JSON) {
            body["response_format"] = json!({"type": "json_object"});
        }
        body
    }

    /// Builds a Responses request with web search. Its answer is prose, because models omit citations from objects.
    pub(super) fn search(self, model: &str, question: &Question, max_tokens: u32) -> Value {
        let mut body = json!({
            "model": model,
            "instructions": question.system,
            "input": question.user,
            "max_output_tokens": max_tokens,
            "tools": [{"type": "web_search"}],
            // The provider must not store it.
            "store": false,
        });
        if !self.has(NO_INCLUDE) {
            body["include"] = json!(["web_search_call.action.sources"]);
        }
        body
    }

    /// Builds the smallest request.
    pub(super) fn one_token(self, model: &str) -> Value {
        let tokens = if self.has(NEW_TOKENS) { "max_completion_tokens" } else { "max_tokens" };
        json!({"model": model, "messages": [{"role": "user", "content": "Say yes."}], tokens: 1})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::llm::Purpose;

    fn question() -> Question {
        Question {
            purpose: Purpose::Claims,
            version: 1,
            system: "Find claims.".to_owned(),
            user: "<data>".to_owned(),
            schema: json!({"type": "object"}),
            max_tokens: 100,
        }
    }

    #[test]
    fn each_refusal_leaves_one_thing_out_and_is_remembered() {
        let manners = ServerCapabilities::default();
        let first = manners.form().chat("m", &question(), 100);
        assert_eq!((&first["max_tokens"], &first["temperature"]), (&json!(100), &json!(0)));
        assert_eq!(first["response_format"]["json_schema"]["name"], "claims");
        let mut form = manners.form();
        for parameter in [Parameter::MaxTokens, Parameter::Temperature, Parameter::ResponseFormat] {
            form = form.without(parameter).unwrap();
        }
        let body = form.chat("m", &question(), 100);
        assert_eq!((&body["max_completion_tokens"], &body["max_tokens"]), (&json!(100), &Value::Null));
        assert_eq!((&body["temperature"], &body["response_format"]["type"]), (&Value::Null, &json!("json_object")));
        form = form.without(Parameter::ResponseFormat).unwrap();
        assert_eq!(form.chat("m", &question(), 100).get("response_format"), None);
        for parameter in [Parameter::MaxTokens, Parameter::Temperature, Parameter::ResponseFormat] {
            assert_eq!(form.without(parameter), None, "nothing more can be left out");
        }
        manners.remember(form);
        assert_eq!(manners.form(), form);
        manners.remember(RequestFeatures::default());
        assert_eq!(manners.form(), form, "what one question learnt another one does not undo");
        assert!(RequestFeatures::all().any(|one| one == form) && RequestFeatures::all().count() == 24);
    }

    #[test]
    fn request_has_schema_when_server_ignores_the_option() {
        let body = RequestFeatures::default().chat("m", &question(), 100);
        let system = body.pointer("/messages/0/content").and_then(Value::as_str).unwrap();
        assert!(system.starts_with("Find claims.") && system.ends_with("{\"type\":\"object\"}"), "{system}");
        let search = RequestFeatures::default().search("m", &question(), 100);
        assert_eq!(search["tools"], json!([{"type": "web_search"}]));
        assert_eq!(
            RequestFeatures::default().without(Parameter::Include).unwrap().search("m", &question(), 1).get("include"),
            None
        );
    }
}

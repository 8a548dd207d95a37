//! Chat completions: `POST {base}/chat/completions`, an answer by JSON schema.

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::{Answer, ItemSpend, LlmError, Purpose, Question, SearchAnswer, Spent, Until, Uses};
use crate::outbound::{ApiRequest, ApiResponse, AskError, AskMeter, Asker, Gate, header};

/// A model at a server. Share it, do not build two.
#[derive(Debug)]
pub struct LanguageModel {
    url: Url,
    key: Option<SecretString>,
    model: String,
    name: String,
    uses: Uses,
    gate: Gate,
}

impl LanguageModel {
    /// `base` includes `/v1`.
    pub fn new(base: &Url, key: Option<SecretString>, model: &str, uses: Uses, gate: Gate) -> Self {
        let mut url = base.clone();
        let prefix = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{prefix}/chat/completions"));
        Self { url, key, model: model.to_owned(), name: format!("llm:{model}"), uses, gate }
    }

    /// As results name a judge: `llm:<model>`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the operator switched that use on.
    pub fn is_for(&self, purpose: Purpose) -> bool {
        self.uses.has(purpose)
    }

    /// The longest one call may take.
    pub fn patience(&self) -> std::time::Duration {
        self.gate.timeout()
    }

    /// Asks, within the item's means and before `until`. The answer's value is an object.
    pub async fn ask(&self, question: &Question, spend: &ItemSpend, until: Until) -> Result<Answer, LlmError> {
        let reserved = self.gate.cost_usd();
        spend.take(reserved)?;
        let meter = AskMeter::default();
        let asked = self.gate.ask(self.request(question)?, Asker { until, meter: &meter }, read).await;
        let (read_tokens, written) = asked.as_ref().map_or((0, 0), |(_, tokens)| *tokens);
        let really =
            Spent { calls: meter.attempts(), tokens_read: read_tokens, tokens_written: written, usd: meter.usd() };
        spend.settle(reserved, really);
        Ok(Answer { value: asked?.0, cached: false })
    }

    /// Asks the model to search the web for that claim.
    pub async fn search(&self, question: &Question, spend: &ItemSpend, until: Until) -> Result<SearchAnswer, LlmError> {
        let _answer = self.ask(question, spend, until).await?;
        Ok(SearchAnswer::default())
    }

    fn request(&self, question: &Question) -> Result<ApiRequest, AskError> {
        let schema = json!({"name": question.purpose.as_str(), "strict": true, "schema": question.schema});
        let body = json!({
            "model": self.model,
            "temperature": 0,
            "max_tokens": question.max_tokens,
            "response_format": {"type": "json_schema", "json_schema": schema},
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.user},
            ],
        });
        let request = ApiRequest::post_json(self.url.clone(), &body);
        match &self.key {
            Some(key) => {
                let bearer = SecretString::from(format!("Bearer {}", key.expose_secret().trim()));
                request.secret_header(header::AUTHORIZATION, &bearer)
            }
            None => Ok(request),
        }
    }
}

fn read(response: &ApiResponse) -> Result<(Value, (u64, u64)), AskError> {
    if let Some(error) = response.status_error() {
        return Err(error);
    }
    let malformed = |detail: String| AskError::Malformed { detail };
    let answer: Value = serde_json::from_slice(&response.body).map_err(|error| malformed(error.to_string()))?;
    let content = answer.pointer("/choices/0/message/content").and_then(Value::as_str);
    let content = content.ok_or_else(|| malformed("the answer has no content".to_owned()))?;
    let value = serde_json::from_str(content).map_err(|error| malformed(error.to_string()))?;
    let count = |path| answer.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    Ok((value, (count("/usage/prompt_tokens"), count("/usage/completion_tokens"))))
}

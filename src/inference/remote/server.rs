//! One text-embeddings-inference server: its `/info`, its batches and its errors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::Patience;
use crate::config::{ApiKey, InferenceConfig};
use crate::domain::Clock;
use crate::inference::InferenceError;
use crate::outbound::{
    ApiRequest, ApiResponse, AskError, AskMeter, Asker, Delays, Fleet, Gate, GateSettings, HttpClient, Identity,
    NoObserver, excerpt, header,
};
use crate::telemetry::metrics;

/// Calls per minute, above any server's capacity: the server limits the rate itself.
const RATE: u32 = 60_000;
/// Bytes: 64 vectors of 4,096 numbers in JSON.
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// Attempts after connection and server errors.
const ATTEMPTS: u32 = 3;
/// Failures in a row that open the circuit breaker for [`REST`], so that items fail at once.
const FAILURES: u32 = 5;
/// A restarted server is back within seconds or minutes.
const REST: Duration = Duration::from_secs(15);
/// Total time for all calls of a question, in timeouts of one call. It bounds the wait on overload.
const CALLS: u32 = 3;
/// Characters per request. A server accepts 2,000,000 bytes; a character has up to four, plus JSON.
const REQUEST_CHARS: usize = 300_000;
/// Maximum characters per token in text of any language. More is cut here, the rest by the server.
const CHARS_PER_TOKEN: usize = 16;
/// The server's default of inputs per request.
const DEFAULT_BATCH: usize = 32;
/// Input length of most encoders, in tokens.
const DEFAULT_TOKENS: usize = 512;

/// A server that cannot be used. At start it stops the daemon; later it fails one item.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{variable}: the model server at {} {problem}", shown(url))]
pub struct RemoteError {
    /// The configuration key of the server.
    variable: &'static str,
    url: Url,
    /// What is wrong and what to do.
    problem: String,
}

/// Returns the address for logs.
fn shown(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

/// The model of a server, from its `/info`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Info {
    pub(super) model: String,
    pub(super) kind: ModelKind,
    /// Texts or pairs per request.
    max_batch: usize,
    /// Tokens per input.
    max_tokens: usize,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModelKind {
    Embedding(IgnoredAny),
    Reranker(IgnoredAny),
    Classifier { id2label: BTreeMap<String, String> },
}

/// Reads `/info`; `None` if the server is not text-embeddings-inference. Other fields change between its versions.
pub(super) fn read_info(body: &[u8]) -> Option<Info> {
    #[derive(Deserialize)]
    struct Wire {
        model_id: String,
        model_type: ModelKind,
        max_client_batch_size: Option<usize>,
        max_input_length: Option<usize>,
    }
    let wire: Wire = serde_json::from_slice(body).ok()?;
    Some(Info {
        model: wire.model_id,
        kind: wire.model_type,
        max_batch: wire.max_client_batch_size.filter(|size| *size > 0).unwrap_or(DEFAULT_BATCH),
        max_tokens: wire.max_input_length.filter(|length| *length > 0).unwrap_or(DEFAULT_TOKENS),
    })
}

/// A response that is no failure of the server.
enum Reply<T> {
    Done(T),
    Overloaded,
    Refused { status: u16, message: String },
}

#[derive(Debug, Clone)]
pub(super) struct Server {
    variable: &'static str,
    url: Url,
    key: Option<ApiKey>,
    timeout: Duration,
    gate: Arc<Gate>,
    pub(super) info: Info,
}

impl Server {
    /// Waits until the server is ready, and reads its `/info`.
    ///
    /// # Errors
    /// A server that is not ready after `patience`, refuses the key or has no `/info`.
    pub(super) async fn connect(
        variable: &'static str,
        url: Url,
        config: &InferenceConfig,
        (http, clock): (&HttpClient, &Arc<dyn Clock>),
        patience: Patience,
    ) -> Result<Self, RemoteError> {
        let identity = Identity::new(url.as_str(), config.api_key.as_ref());
        let gate = |failures_to_open, max_attempts| {
            let settings = GateSettings {
                name: "inference",
                rpm: RATE,
                max_wait: config.timeout,
                timeout: config.timeout,
                max_bytes: MAX_ANSWER,
                max_attempts,
                cooldown: REST,
                failures_to_open,
                daily_limit: None,
                cost_usd: 0.0,
            };
            // The metrics count batches by model, not provider calls.
            let fleet = Fleet { identity: identity.clone(), ..Fleet::default() };
            Arc::new(Gate::in_fleet(settings, http.clone(), Arc::clone(clock), Arc::new(NoObserver), fleet))
        };
        let (key, timeout) = (config.api_key.clone(), config.timeout);
        let info = Info {
            model: String::new(),
            kind: ModelKind::Embedding(IgnoredAny),
            max_batch: DEFAULT_BATCH,
            max_tokens: DEFAULT_TOKENS,
        };
        // A starting server fails often, so its first gate never opens.
        let starting = Self { variable, url, key, timeout, gate: gate(u32::MAX, 1), info };
        let info = starting.ready(patience).await?;
        Ok(Self { gate: gate(FAILURES, ATTEMPTS), info, ..starting })
    }

    /// Requests `/info` until the server answers.
    async fn ready(&self, patience: Patience) -> Result<Info, RemoteError> {
        let began = Instant::now();
        let mut pauses = Delays::new();
        let mut is_logged = false;
        loop {
            let until = Instant::now() + self.timeout;
            let request = self.authorised(ApiRequest::get(self.at("info")));
            let asked = self.ask(request, until, |body| Ok(read_info(body))).await;
            let (problem, wait) = match asked {
                Ok(Reply::Done(Some(info))) => return Ok(info),
                Ok(Reply::Refused { status: status @ (401 | 403), .. }) => return Err(self.bad_key(status)),
                Ok(Reply::Done(None) | Reply::Refused { .. }) => {
                    return Err(self.failed("is no text-embeddings-inference server: its /info names no model"));
                }
                Ok(Reply::Overloaded) => ("is overloaded".to_owned(), patience.loading),
                Err(error @ AskError::Server { .. }) => (problem(&error), patience.loading),
                Err(error @ (AskError::Connect { .. } | AskError::Lost { .. })) => (problem(&error), patience.starting),
                Err(error) => (problem(&error), Duration::ZERO),
            };
            let again = Instant::now() + pauses.next();
            if again > began + wait {
                let fix = format!("start it, correct the address, or unset {}", self.variable);
                return Err(self.failed(format!("{problem}; {fix}")));
            }
            if !is_logged {
                tracing::info!(server = shown(&self.url), error = problem, "waiting for the model server");
                is_logged = true;
            }
            sleep_until(again).await;
        }
    }

    pub(super) fn location(&self) -> String {
        shown(&self.url).to_owned()
    }

    pub(super) fn failed(&self, problem: impl Into<String>) -> RemoteError {
        RemoteError { variable: self.variable, url: self.url.clone(), problem: problem.into() }
    }

    /// Converts an error to that of an item.
    pub(super) fn item_error(&self, error: &RemoteError) -> InferenceError {
        InferenceError::Failed { model: self.info.model.clone(), detail: error.to_string() }
    }

    fn bad_key(&self, status: u16) -> RemoteError {
        self.failed(format!("refuses the key (status {status}); set INFERENCE_API_KEY to the one it was started with"))
    }

    /// Cuts a text to the model's input length.
    pub(super) fn clip<'a>(&self, text: &'a str) -> &'a str {
        let most = self.info.max_tokens.saturating_mul(CHARS_PER_TOKEN);
        text.char_indices().nth(most).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
    }

    /// Returns one answer per input, in order, in as many requests as needed.
    ///
    /// `model` is the metric label. `body` builds a request from some inputs. `read` orders its answer or returns the
    /// problem.
    pub(super) async fn all<A: DeserializeOwned, T>(
        &self,
        (model, path): (&'static str, &str),
        inputs: &[Value],
        body: impl Fn(&[Value]) -> Value,
        read: impl Fn(A, usize) -> Result<Vec<T>, String>,
    ) -> Result<Vec<T>, RemoteError> {
        let until = Instant::now() + self.timeout * CALLS;
        let mut answers = Vec::with_capacity(inputs.len());
        while let Some(rest) = inputs.get(answers.len()..).filter(|rest| !rest.is_empty()) {
            let size = self.batch_size(rest);
            let batch = rest.get(..size).unwrap_or_default();
            let started = Instant::now();
            let answer = self.answer(path, &body(batch), until).await?;
            metrics::model_batch(model, size, started.elapsed());
            let rows = read(answer, size).map_err(|detail| self.failed(format!("answered {detail}")))?;
            if rows.len() != size {
                return Err(self.failed(format!("gave {} answers to {size} questions", rows.len())));
            }
            answers.extend(rows);
        }
        Ok(answers)
    }

    /// Returns the answer to one batch; repeats the request while the server is overloaded.
    async fn answer<A: DeserializeOwned>(&self, path: &str, body: &Value, until: Instant) -> Result<A, RemoteError> {
        let mut pauses = Delays::new();
        loop {
            let request = self.authorised(ApiRequest::post_json(self.at(path), body));
            let read = |body: &[u8]| {
                serde_json::from_slice(body).map_err(|error| AskError::Malformed { detail: error.to_string() })
            };
            match self.ask(request, until, read).await.map_err(|error| self.failed(problem(&error)))? {
                Reply::Done(answer) => return Ok(answer),
                Reply::Refused { status: status @ (401 | 403), .. } => return Err(self.bad_key(status)),
                Reply::Refused { status, message } => {
                    return Err(self.failed(format!("refuses the question: status {status}: {message}")));
                }
                Reply::Overloaded => {
                    let again = Instant::now() + pauses.next();
                    if again >= until {
                        let fix = "give it more permits (--max-concurrent-requests)";
                        return Err(self.failed(format!("is overloaded (429); {fix}")));
                    }
                    sleep_until(again).await;
                }
            }
        }
    }

    async fn ask<T>(
        &self,
        request: Result<ApiRequest, AskError>,
        until: Instant,
        read: impl Fn(&[u8]) -> Result<T, AskError>,
    ) -> Result<Reply<T>, AskError> {
        let meter = AskMeter::default();
        // Only failures are errors, because these count for the circuit breaker.
        let reply = |response: &ApiResponse| match response.status {
            200 => read(&response.body).map(Reply::Done),
            429 => Ok(Reply::Overloaded),
            status @ 500..=599 => Err(AskError::Server { status }),
            status => Ok(Reply::Refused { status, message: error_text(&response.body) }),
        };
        self.gate.ask(request?, Asker { until, meter: &meter }, reply).await
    }

    fn authorised(&self, request: ApiRequest) -> Result<ApiRequest, AskError> {
        let Some(key) = &self.key else { return Ok(request) };
        request.secret_header_after(header::AUTHORIZATION, "Bearer ", key)
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// Returns how many inputs fit into the next request, at least one.
    fn batch_size(&self, inputs: &[Value]) -> usize {
        let mut characters = 0;
        let fits = inputs.iter().take(self.info.max_batch).take_while(|input| {
            characters += match input {
                Value::Array(texts) => texts.iter().map(length).sum(),
                text => length(text),
            };
            characters <= REQUEST_CHARS
        });
        fits.count().max(1)
    }
}

fn length(text: &Value) -> usize {
    text.as_str().map_or(0, |text| text.chars().count())
}

/// Returns the message of `{"error": "…"}`, `{"message": "…"}` or plain text.
fn error_text(body: &[u8]) -> String {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let message = parsed.as_ref().and_then(|value| value.get("error").or(value.get("message"))?.as_str());
    message.map_or_else(|| excerpt(&String::from_utf8_lossy(body)), excerpt)
}

/// Words an HTTP error for a model server.
fn problem(error: &AskError) -> String {
    match error {
        AskError::Timeout | AskError::Deadline => {
            "did not answer in time; raise INFERENCE_TIMEOUT or use a faster machine".to_owned()
        }
        AskError::Connect { detail } => format!("cannot be reached: {detail}"),
        AskError::Lost { detail } => format!("broke the connection off: {detail}"),
        AskError::Server { status } => format!("failed with status {status}"),
        AskError::Malformed { detail } => format!("gave an answer that cannot be read: {detail}"),
        AskError::Open { until } => format!("failed several times and is not asked until {until}"),
        other => format!("could not be asked: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_of_every_kind_is_read_and_of_others_is_not() {
        let embedder = read_info(br#"{"model_id":"a/b","model_sha":null,"model_dtype":"float16","model_type":{"embedding":{"pooling":"mean"}},"max_concurrent_requests":512,"max_input_length":384,"max_batch_tokens":16384,"max_client_batch_size":8,"auto_truncate":true,"version":"1.9.3"}"#);
        let kind = ModelKind::Embedding(IgnoredAny);
        assert_eq!(embedder, Some(Info { model: "a/b".into(), kind, max_batch: 8, max_tokens: 384 }));
        let reranker = read_info(
            br#"{"model_id":"a/b","model_type":{"reranker":{"id2label":{"0":"LABEL_0"},"label2id":{"LABEL_0":0}}}}"#,
        )
        .unwrap();
        let kind = ModelKind::Reranker(IgnoredAny);
        assert_eq!((reranker.kind, reranker.max_batch, reranker.max_tokens), (kind, 32, 512));
        let classifier = read_info(br#"{"model_id":"a/b","model_type":{"classifier":{"id2label":{"0":"entailment"},"label2id":{"entailment":0}}}}"#).unwrap();
        let id2label = [("0".to_owned(), "entailment".to_owned())].into();
        assert_eq!(classifier.kind, ModelKind::Classifier { id2label });
        for other in [&b"<html>"[..], b"{}", br#"{"model_id":"a","model_type":{"poet":{}}}"#, br#"{"status":"ok"}"#] {
            assert_eq!(read_info(other), None);
        }
    }

    #[test]
    fn errors_of_every_shape_give_their_words() {
        assert_eq!(error_text(br#"{"error":"Model is overloaded","error_type":"Overloaded"}"#), "Model is overloaded");
        assert_eq!(error_text(br#"{"message":"too long","code":422,"type":"Validation"}"#), "too long");
        assert_eq!(error_text(b"Failed to\n deserialize"), "Failed to deserialize");
        assert_eq!(error_text(b""), "");
    }
}

//! One model server: requests, batch sizes and refusals.
//!
//! Inputs are sent in batches that the server accepts. Batches shrink on overload and grow again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::error::{RemoteError, words};
use super::info::Info;
use super::{shown, wire};
use crate::config::{ApiKey, InferenceConfig};
use crate::domain::Clock;
use crate::outbound::{
    ApiRequest, ApiResponse, AskError, AskMeter, Asker, Delays, Fleet, Gate, GateSettings, HttpClient, Identity,
    NoObserver, header,
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
/// Default of inputs per request.
const BATCH: usize = 32;
/// Characters per request. A server accepts 2,000,000 bytes; a character has up to four, plus JSON.
const REQUEST_CHARS: usize = 300_000;
/// Maximum characters per token in text of any language. More is cut here.
const CHARS_PER_TOKEN: usize = 16;
/// Input length of most encoders, in tokens.
const TOKENS: usize = 512;

/// A result that decides what is sent next.
#[derive(Debug)]
pub(super) enum Answer<T> {
    Done(T),
    /// Overloaded.
    Busy,
    /// Too many inputs, with the limit if the server reports it.
    TooMany(Option<usize>),
    TooLong,
    Key(u16),
    Refused(String),
}

#[derive(Debug)]
pub(super) struct Server {
    variable: &'static str,
    url: Url,
    key: Option<ApiKey>,
    timeout: Duration,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    gate: Gate,
    /// Maximum inputs per request.
    most: AtomicUsize,
    /// Current inputs per request; below `most` after overload. There is no lock: a lost update only changes one batch
    /// size.
    batch: AtomicUsize,
    max_chars: usize,
}

fn gate(
    timeout: Duration,
    (failures_to_open, attempts): (u32, u32),
    identity: Identity,
    http: &HttpClient,
    clock: &Arc<dyn Clock>,
) -> Gate {
    let settings = GateSettings {
        name: "inference",
        rpm: RATE,
        max_wait: timeout,
        timeout,
        max_bytes: MAX_ANSWER,
        max_attempts: attempts,
        cooldown: REST,
        failures_to_open,
        daily_limit: None,
        cost_usd: 0.0,
    };
    // The metrics count batches by model, not provider calls.
    let fleet = Fleet { identity, ..Fleet::alone(Arc::clone(clock)) };
    Gate::in_fleet(settings, http.clone(), Arc::clone(clock), Arc::new(NoObserver), fleet)
}

impl Server {
    pub(super) fn new(
        variable: &'static str,
        url: Url,
        config: &InferenceConfig,
        http: HttpClient,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let identity = Identity::new(url.as_str(), config.api_key.as_ref());
        Self {
            variable,
            url,
            key: config.api_key.clone(),
            timeout: config.timeout,
            gate: gate(config.timeout, (FAILURES, ATTEMPTS), identity, &http, &clock),
            http,
            clock,
            most: AtomicUsize::new(BATCH),
            batch: AtomicUsize::new(BATCH),
            max_chars: TOKENS * CHARS_PER_TOKEN,
        }
    }

    /// Uses the limits that the server reports.
    pub(super) fn learn(&mut self, info: &Info) {
        self.most = AtomicUsize::new(info.max_batch);
        self.batch = AtomicUsize::new(info.max_batch);
        self.max_chars = info.max_tokens.saturating_mul(CHARS_PER_TOKEN);
    }

    /// Sets the limit of a server that reports none. With a key, failed calls are not repeated, because a call with a
    /// lost answer may cost too.
    pub(super) fn assume(&mut self, max_chars: usize) {
        self.max_chars = max_chars;
        if self.key.is_some() {
            self.gate = gate(self.timeout, (FAILURES, 1), self.identity(), &self.http, &self.clock);
        }
    }

    fn identity(&self) -> Identity {
        Identity::new(self.url.as_str(), self.key.as_ref())
    }

    pub(super) const fn variable(&self) -> &'static str {
        self.variable
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn shown(&self) -> String {
        shown(&self.url)
    }

    pub(super) fn away(&self, detail: String) -> RemoteError {
        RemoteError::Away { variable: self.variable, url: self.url.clone(), detail }
    }

    pub(super) fn failed(&self, detail: impl Into<String>) -> RemoteError {
        RemoteError::Failed { variable: self.variable, url: self.url.clone(), detail: detail.into() }
    }

    /// Cuts a text to the model's input length.
    pub(super) fn clip<'a>(&self, text: &'a str) -> &'a str {
        wire::first_chars(text, self.max_chars)
    }

    /// Requests `/info` once. The circuit breaker ignores failures, because a starting server fails often.
    pub(super) async fn info(&self) -> Result<Answer<Vec<u8>>, AskError> {
        let request = self.authorised(ApiRequest::get(self.at("info")))?;
        let meter = AskMeter::default();
        let asker = Asker { until: Instant::now() + self.timeout, meter: &meter };
        let gate = gate(self.timeout, (u32::MAX, 1), self.identity(), &self.http, &self.clock);
        gate.ask(request, asker, |response| verdict(response, |body| Ok(body.to_vec()))).await
    }

    /// Returns one answer per input, in order, in as many requests as needed.
    ///
    /// `model` is the metric label. `body` builds a request from some inputs. `read` orders its answer or returns the
    /// problem.
    pub(super) async fn all<A: DeserializeOwned, T>(
        &self,
        (model, path): (&'static str, &str),
        inputs: Vec<Value>,
        body: impl Fn(&[Value]) -> Value,
        read: impl Fn(A, usize) -> Result<Vec<T>, String>,
    ) -> Result<Vec<T>, RemoteError> {
        let mut inputs = inputs;
        let until = Instant::now() + self.timeout * CALLS;
        let mut answers = Vec::with_capacity(inputs.len());
        let mut pauses = Delays::new();
        // Up to here, inputs are sent singly, to find the one that is too long.
        let mut alone_until = 0;
        while answers.len() < inputs.len() {
            let at = answers.len();
            let rest = inputs.get(at..).unwrap_or_default();
            let size = if at < alone_until { 1 } else { self.take(rest) };
            let batch = rest.get(..size).unwrap_or_default();
            let started = Instant::now();
            match self.ask(path, &body(batch), until).await.map_err(|error| self.failed(words(&error)))? {
                Answer::Done(answer) => {
                    metrics::model_batch(model, size, started.elapsed());
                    let rows = read(answer, size).map_err(|detail| self.failed(format!("answered {detail}")))?;
                    if rows.len() != size {
                        return Err(self.failed(format!("gave {} answers to {size} questions", rows.len())));
                    }
                    answers.extend(rows);
                    self.went_well(size);
                }
                Answer::Busy => {
                    let again = Instant::now() + pauses.next();
                    if again >= until {
                        return Err(
                            self.failed("is overloaded (429); give it more permits (--max-concurrent-requests)")
                        );
                    }
                    self.shrink(size / 2);
                    sleep_until(again).await;
                }
                Answer::TooMany(limit) if size > 1 => {
                    let most = limit.filter(|limit| *limit < size).unwrap_or(size / 2).max(1);
                    self.most.fetch_min(most, Ordering::Relaxed);
                    self.shrink(most);
                }
                Answer::TooLong | Answer::TooMany(_) if size > 1 => alone_until = at + size,
                Answer::TooLong | Answer::TooMany(_) => match inputs.get_mut(at).map(wire::shorten) {
                    Some(true) => {}
                    _ => return Err(self.failed("calls an input too long that is a sentence; serve another model")),
                },
                Answer::Key(status) => {
                    return Err(RemoteError::Key { variable: self.variable, url: self.url.clone(), status });
                }
                Answer::Refused(detail) => return Err(self.failed(format!("refuses the question: {detail}"))),
            }
        }
        Ok(answers)
    }

    async fn ask<A: DeserializeOwned>(&self, path: &str, body: &Value, until: Instant) -> Result<Answer<A>, AskError> {
        let request = self.authorised(ApiRequest::post_json(self.at(path), body))?;
        let meter = AskMeter::default();
        let asker = Asker { until, meter: &meter };
        let read = |body: &[u8]| {
            serde_json::from_slice(body).map_err(|error| AskError::Malformed { detail: error.to_string() })
        };
        self.gate.ask(request, asker, |response| verdict(response, read)).await
    }

    fn authorised(&self, request: ApiRequest) -> Result<ApiRequest, AskError> {
        let Some(key) = &self.key else { return Ok(request) };
        request.secret_header_after(header::AUTHORIZATION, "Bearer ", key)
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        // The configured address may end in the version or not.
        let path = if base.ends_with("/v1") { path.trim_start_matches("v1/") } else { path };
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// Returns how many inputs fit into the next request.
    fn take(&self, inputs: &[Value]) -> usize {
        let most = self.batch.load(Ordering::Relaxed).clamp(1, inputs.len().max(1));
        let mut chars = 0;
        let fits = inputs.iter().take(most).take_while(|input| {
            chars += wire::chars(input);
            chars <= REQUEST_CHARS
        });
        fits.count().max(1)
    }

    fn shrink(&self, size: usize) {
        self.batch.store(size.max(1), Ordering::Relaxed);
    }

    /// Grows the batch size after a full batch.
    fn went_well(&self, size: usize) {
        let now = self.batch.load(Ordering::Relaxed);
        if size >= now {
            let most = self.most.load(Ordering::Relaxed);
            self.batch.store((now + now.div_ceil(4)).min(most), Ordering::Relaxed);
        }
    }
}

/// Maps a status to a result. Only failures are errors, because these count for the circuit breaker.
fn verdict<T>(response: &ApiResponse, read: impl Fn(&[u8]) -> Result<T, AskError>) -> Result<Answer<T>, AskError> {
    let message = wire::error_text(&response.body);
    match response.status {
        200 => read(&response.body).map(Answer::Done),
        429 => Ok(Answer::Busy),
        401 | 403 => Ok(Answer::Key(response.status)),
        // The documentation has 413, the code 422. A body above the limit is a 413 without a message.
        413 | 422 | 400 | 500 if wire::concerns_length(&message) => Ok(Answer::TooLong),
        413 => Ok(Answer::TooMany(None)),
        422 if wire::concerns_batch(&message) => Ok(Answer::TooMany(wire::last_number(&message))),
        400 | 404 | 405 | 415 | 422 | 424 => Ok(Answer::Refused(format!("status {}: {message}", response.status))),
        // Also with `Retry-After`: the server is loading, and only a new request shows when it is ready.
        500..=599 => Err(AskError::Server { status: response.status }),
        _ => Err(response.status_error().unwrap_or(AskError::CouldNotAsk { detail: message })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::domain::SystemClock;

    fn server(url: &str) -> Server {
        let config = Config::built_in().inference;
        let http = HttpClient::live("test").unwrap();
        Server::new("INFERENCE_BASE_URL", Url::parse(url).unwrap(), &config, http, Arc::new(SystemClock))
    }

    #[test]
    fn a_prefix_stays_and_a_version_is_not_doubled() {
        assert_eq!(server("http://a:8080").at("embed").as_str(), "http://a:8080/embed");
        assert_eq!(server("http://a/tei/").at("embed").as_str(), "http://a/tei/embed");
        for address in ["https://api.example/", "https://api.example/v1", "https://api.example/v1/"] {
            assert_eq!(server(address).at("v1/embeddings").as_str(), "https://api.example/v1/embeddings");
        }
    }

    #[test]
    fn batches_keep_to_the_count_and_the_length() {
        let server = server("http://a");
        let short = vec![Value::from("a"); 100];
        assert_eq!(server.take(&short), BATCH);
        server.shrink(5);
        assert_eq!(server.take(&short), 5);
        server.went_well(5);
        assert_eq!(server.take(&short), 7);
        server.went_well(3);
        assert_eq!(server.take(&short), 7, "a part of a batch says nothing of a larger one");
        let long = vec![Value::from("я".repeat(200_000)); 3];
        assert_eq!(server.take(&long), 1);
        assert_eq!(server.take(&[]), 1);
    }
}

//! The HTTP client for provider APIs: pooled, without redirects, with a size limit. It sends live, records, or replays.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{ACCEPT_ENCODING, HeaderValue};
use reqwest::redirect;
use tokio::time::{Instant, timeout_at};

use super::body;
use super::body_error::{BodyError, innermost};
use super::decode;
use super::error::AskError;
use super::record::Recorder;
use super::replay::{Archive, Failure, RecordedOutcome};
use super::request::ApiRequest;
use super::response::{ApiResponse, header_map, response};
use super::secrets;

/// Maximum time for TCP and TLS. A slower provider would not answer in time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle time of pooled connections. Shorter than most servers', so that few requests meet a closing connection.
const POOL_IDLE: Duration = Duration::from_secs(50);

#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be built: {detail}; install the system's CA certificates (package ca-certificates)")]
pub struct BuildError {
    detail: String,
}

#[derive(Clone)]
enum Source {
    Live(reqwest::Client),
    Record(reqwest::Client, Arc<Recorder>),
    Replay(Arc<Archive>),
    #[cfg(test)]
    Scripted(Arc<super::script::Script>),
}

#[derive(Clone)]
pub struct HttpClient {
    source: Source,
    transient: bool,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_live() { "HttpClient(live)" } else { "HttpClient(replay)" })
    }
}

/// Installs *ring* as TLS cryptography, unless the broker's connection did.
pub(super) fn install_tls_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // A concurrent thread may have installed it.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}

/// Common settings of all clients. Only the configuration decides where the process connects, so proxies of the
/// environment are ignored.
#[expect(clippy::disallowed_methods, reason = "this is the room where clients are built")]
pub(super) fn client_builder(user_agent: &str) -> reqwest::ClientBuilder {
    install_tls_provider();
    reqwest::Client::builder()
        .user_agent(user_agent)
        .no_proxy()
        .referer(false)
        // `decode` decompresses with limits.
        .gzip(false)
        .brotli(false)
        .zstd(false)
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE)
}

impl BuildError {
    pub(super) fn from_reqwest(error: &reqwest::Error) -> Self {
        Self { detail: innermost(error) }
    }
}

impl HttpClient {
    /// Returns a client for the network. `user_agent` should name the product and a contact.
    pub fn live(user_agent: &str) -> Result<Self, BuildError> {
        let client = client_builder(user_agent).build().map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { source: Source::Live(client), transient: false })
    }

    /// Like [`HttpClient::live`], and records every exchange.
    pub fn recording(user_agent: &str, recorder: Arc<Recorder>) -> Result<Self, BuildError> {
        let client = client_builder(user_agent).build().map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { source: Source::Record(client, recorder), transient: false })
    }

    /// Returns a client for a provider that forbids storing its responses.
    #[must_use]
    pub fn transient(&self) -> Self {
        Self { transient: true, ..self.clone() }
    }

    pub fn replay(archive: Arc<Archive>) -> Self {
        Self { source: Source::Replay(archive), transient: false }
    }

    #[cfg(test)]
    pub(super) fn scripted(script: Arc<super::script::Script>) -> Self {
        Self { source: Source::Scripted(script), transient: false }
    }

    /// Whether requests reach the network. Recordings need no rate limit, breaker or budget.
    pub fn is_live(&self) -> bool {
        !matches!(self.source, Source::Replay(_))
    }

    /// Sends one request and reads the response, until `deadline` and up to `max_bytes`.
    pub(super) async fn send(
        &self,
        request: &ApiRequest,
        deadline: Instant,
        max_bytes: usize,
        now: DateTime<Utc>,
    ) -> Result<ApiResponse, AskError> {
        match &self.source {
            Source::Live(client) => {
                let exchange = live(client, request, max_bytes, now);
                timeout_at(deadline, exchange).await.map_err(|_elapsed| AskError::Timeout)?
            }
            Source::Record(client, recorder) => {
                let exchange = live(client, request, max_bytes, now);
                let outcome = timeout_at(deadline, exchange).await.unwrap_or(Err(AskError::Timeout));
                recorder.api(request, self.transient, &outcome);
                outcome
            }
            Source::Replay(archive) => {
                match archive.outcome(request.method.as_str(), &request.url, request.body.as_deref())? {
                    RecordedOutcome::Answered(recorded) => {
                        Ok(response(recorded.status, header_map(&recorded.headers), recorded.body, now))
                    }
                    RecordedOutcome::Failed(failure) => Err(failed_then(failure)),
                }
            }
            #[cfg(test)]
            Source::Scripted(script) => {
                let exchange = script.answer(request, now);
                timeout_at(deadline, exchange).await.map_err(|_elapsed| AskError::Timeout)?
            }
        }
    }
}

/// A recorded failure fails again.
fn failed_then(failure: Failure) -> AskError {
    let detail = failure.detail;
    match failure.label.as_str() {
        "timeout" => AskError::Timeout,
        "malformed" => AskError::Malformed { detail },
        "refused" => AskError::Refused { detail },
        "too_large" => AskError::TooLarge,
        "connection_lost" => AskError::Lost { detail },
        _ => AskError::Connect { detail },
    }
}

async fn live(
    client: &reqwest::Client,
    request: &ApiRequest,
    max_bytes: usize,
    now: DateTime<Utc>,
) -> Result<ApiResponse, AskError> {
    let url = request.secrets.url(&request.url);
    let codings = HeaderValue::from_static(decode::ACCEPTED);
    let headers = request.secrets.headers(&request.headers)?;
    let mut builder = client.request(request.method.clone(), url).header(ACCEPT_ENCODING, codings).headers(headers);
    if let Some(body) = request.secrets.body(request.body.as_deref())? {
        builder = builder.body(body);
    }
    let answer = builder.send().await.map_err(|error| transport_error(&error))?;
    let status = answer.status().as_u16();
    let headers = answer.headers().clone();
    // API responses are small: the deadline suffices.
    let body = body::read(answer, max_bytes).await.map_err(|error| match error {
        BodyError::TooLarge => AskError::TooLarge,
        BodyError::Idle | BodyError::TooSlow => AskError::Timeout,
        BodyError::Encoding(detail) => AskError::Malformed { detail },
        BodyError::Cut(detail) => AskError::Malformed { detail: format!("cut off: {detail}") },
    })?;
    let mut answer = response(status, headers, body, now);
    // Before the response can be stored.
    secrets::scrub(&mut answer, &request.secrets());
    Ok(answer)
}

/// Classifies an error. Never shows the URL, only the innermost error.
fn transport_error(error: &reqwest::Error) -> AskError {
    if error.is_timeout() {
        AskError::Timeout
    } else if error.is_builder() {
        AskError::Refused { detail: innermost(error) }
    } else if error.is_connect() {
        AskError::Connect { detail: innermost(error) }
    } else {
        AskError::Lost { detail: innermost(error) }
    }
}

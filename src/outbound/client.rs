//! The client for provider APIs: one pooled connection set, no redirects, every body capped.

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

/// Time to a TCP and TLS connection. A provider that cannot be connected to in this time will not answer in time either.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle connections are dropped after this, sooner than most servers do, so that few requests meet a closing one.
const POOL_IDLE: Duration = Duration::from_secs(50);

/// The client could not be built.
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

/// Sends requests to providers: over the network, recorded or not, or answered from recordings.
#[derive(Clone)]
pub struct HttpClient {
    source: Source,
    /// What comes back must not be stored.
    transient: bool,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_live() { "HttpClient(live)" } else { "HttpClient(replay)" })
    }
}

/// Makes *ring* the process's TLS cryptography, once. The broker's connection may have done so before.
pub(super) fn install_tls_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Two threads may get here together: the loser finds the same provider installed.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}

/// What both clients of this room have in common. Proxies of the environment are not used: where the process connects
/// to is decided by its configuration alone.
#[expect(clippy::disallowed_methods, reason = "this is the room where clients are built")]
pub(super) fn client_builder(user_agent: &str) -> reqwest::ClientBuilder {
    install_tls_provider();
    reqwest::Client::builder()
        .user_agent(user_agent)
        .no_proxy()
        .referer(false)
        // Undone by `decode`, with caps.
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
    /// A client that reaches the network. `user_agent` should name the product and a way to reach its operator.
    pub fn live(user_agent: &str) -> Result<Self, BuildError> {
        let client = client_builder(user_agent).build().map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { source: Source::Live(client), transient: false })
    }

    /// The same, and every exchange is kept.
    pub fn recording(user_agent: &str, recorder: Arc<Recorder>) -> Result<Self, BuildError> {
        let client = client_builder(user_agent).build().map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { source: Source::Record(client, recorder), transient: false })
    }

    /// For a provider whose terms forbid storing what it answers.
    #[must_use]
    pub fn transient(&self) -> Self {
        Self { transient: true, ..self.clone() }
    }

    /// A client that answers from recordings and never touches the network.
    pub fn replay(archive: Arc<Archive>) -> Self {
        Self { source: Source::Replay(archive), transient: false }
    }

    #[cfg(test)]
    pub(super) fn scripted(script: Arc<super::script::Script>) -> Self {
        Self { source: Source::Scripted(script), transient: false }
    }

    /// Whether calls cost anything: recordings need no rate limit, no breaker and no budget.
    pub fn is_live(&self) -> bool {
        !matches!(self.source, Source::Replay(_))
    }

    /// Sends one request and reads the whole answer, at most until `deadline` and `max_bytes`.
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
                match archive.api_outcome(request.method.as_str(), &request.url, request.body.as_deref())? {
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

/// A call that brought no answer when it was recorded brings none now.
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
    // The caller's total deadline is the only one: an API answer is small.
    let body = body::read(answer, max_bytes).await.map_err(|error| match error {
        BodyError::TooLarge => AskError::TooLarge,
        BodyError::Idle | BodyError::TooSlow => AskError::Timeout,
        BodyError::Encoding(detail) => AskError::Malformed { detail },
        BodyError::Cut(detail) => AskError::Malformed { detail: format!("cut off: {detail}") },
    })?;
    let mut answer = response(status, headers, body, now);
    // Here, before anybody can keep it.
    secrets::scrub(&mut answer, &request.secrets());
    Ok(answer)
}

/// Never shows the URL: what is left of it in the cause is the innermost error's words.
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

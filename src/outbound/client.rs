//! The client for provider APIs: one pooled connection set, no redirects, every body capped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::body::{self, BodyError};
use super::decode;
use super::error::{AskError, excerpt};
use super::record::Recorder;
use super::replay::{Archive, Failure, RecordedOutcome};
use super::retry_after;
use super::secrets::{self, Secrets};

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

/// One request to a provider. The URL never holds a key: it is logged, recorded and shown.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    pub method: Method,
    pub url: Url,
    /// Keys among them are marked sensitive, see [`ApiRequest::secret_header`].
    pub headers: HeaderMap,
    /// Without the keys that join it on the way, see [`ApiRequest::secret_field`].
    pub body: Option<Vec<u8>>,
    /// Neither in `url` nor in `body` until the request is sent.
    secrets: Secrets,
}

impl ApiRequest {
    pub fn get(url: Url) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: None, secrets: Secrets::default() }
    }

    /// Posts a JSON object and wants JSON back.
    pub fn post_json(url: Url, object: &serde_json::Value) -> Self {
        let json = HeaderValue::from_static("application/json");
        let request = Self { method: Method::POST, body: Some(object.to_string().into_bytes()), ..Self::get(url) };
        request.header(CONTENT_TYPE, json.clone()).header(ACCEPT, json)
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Adds a key. No `Debug` shows it, and errors are redacted. A key that no header can carry is a bad key.
    pub fn secret_header(mut self, name: HeaderName, secret: &SecretString) -> Result<Self, AskError> {
        // The parse error's text may quote the key.
        let mut value = HeaderValue::from_str(secret.expose_secret().trim()).map_err(|_quotes_the_key| {
            AskError::BadKey { detail: "it holds characters that no header can carry".to_owned() }
        })?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Adds a key as a query parameter, for services that take it nowhere else. `url` never holds it: it joins the URL
    /// when the request is sent.
    #[must_use]
    pub fn secret_parameter(mut self, name: &'static str, secret: &SecretString) -> Self {
        self.secrets.parameter(name, secret);
        self
    }

    /// Adds a key as a field of the JSON object that is the body. `body` never holds it.
    #[must_use]
    pub fn secret_field(mut self, name: &'static str, secret: &SecretString) -> Self {
        self.secrets.field(name, secret);
        self
    }

    /// The keys in this request, to be kept out of errors and answers.
    pub(super) fn secrets(&self) -> Vec<String> {
        let sensitive = self.headers.values().filter(|value| value.is_sensitive());
        let in_headers = sensitive.filter_map(|value| value.to_str().ok());
        in_headers.chain(self.secrets.values()).map(str::to_owned).collect()
    }
}

/// A provider's answer, whatever its status.
#[derive(Debug, Clone)]
pub struct ApiResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub content_type: Option<String>,
    /// When it came, by our clock.
    pub received_at: DateTime<Utc>,
}

impl ApiResponse {
    /// A header's value, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The wait the provider asks for, clamped to a day.
    pub fn retry_after(&self) -> Option<Duration> {
        let value = self.header(RETRY_AFTER.as_str())?;
        retry_after::parse(value, self.header(DATE.as_str()), self.received_at)
    }

    /// What a status means when the provider's own documentation does not say otherwise. `None` for 200.
    pub fn status_error(&self) -> Option<AskError> {
        let detail = || {
            let words = String::from_utf8_lossy(&self.body);
            format!("status {}: {}", self.status, excerpt(&words))
        };
        match self.status {
            200 => None,
            429 => Some(AskError::Throttled { retry_after: self.retry_after() }),
            401 | 403 | 407 => Some(AskError::BadKey { detail: detail() }),
            408 => Some(AskError::Timeout),
            // Followed nowhere: a provider that redirects an API call sends it to a home page, or a page to log in.
            300..=399 => {
                let place = self.header(LOCATION.as_str()).map(excerpt).unwrap_or_default();
                Some(AskError::CouldNotAsk { detail: format!("status {}: sent on to {place:?}", self.status) })
            }
            400..=499 => Some(AskError::Refused { detail: detail() }),
            // With a wait named, the provider asks for patience; without, it fails.
            503 if self.retry_after().is_some() => Some(AskError::Throttled { retry_after: self.retry_after() }),
            500..=599 => Some(AskError::Server { status: self.status }),
            _ => Some(AskError::CouldNotAsk { detail: detail() }),
        }
    }
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
        Self { detail: body::innermost(error) }
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
    let mut builder =
        client.request(request.method.clone(), url).header(ACCEPT_ENCODING, codings).headers(request.headers.clone());
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

pub(super) fn response(status: u16, headers: HeaderMap, body: Vec<u8>, received_at: DateTime<Utc>) -> ApiResponse {
    ApiResponse { status, content_type: content_type(&headers), headers, body, received_at }
}

pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Recorded headers as a map. Those that are no valid headers are left out.
pub(super) fn header_map(headers: &[(String, String)]) -> HeaderMap {
    let parsed = headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
    });
    parsed.collect()
}

/// Never shows the URL: what is left of it in the cause is the innermost error's words.
fn transport_error(error: &reqwest::Error) -> AskError {
    if error.is_timeout() {
        AskError::Timeout
    } else if error.is_builder() {
        AskError::Refused { detail: body::innermost(error) }
    } else if error.is_connect() {
        AskError::Connect { detail: body::innermost(error) }
    } else {
        AskError::Lost { detail: body::innermost(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> ApiResponse {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        response(status, header_map(&headers), body.as_bytes().to_vec(), DateTime::UNIX_EPOCH)
    }

    #[test]
    fn every_status_has_a_class() {
        let cases = [
            (429, "throttled"),
            (401, "bad_key"),
            (403, "bad_key"),
            (302, "could_not_ask"),
            (400, "refused"),
            (404, "refused"),
            (408, "timeout"),
            (500, "server_error"),
            (524, "server_error"),
            (204, "could_not_ask"),
            (999, "could_not_ask"),
        ];
        for (status, label) in cases {
            assert_eq!(answer(status, &[], "x").status_error().unwrap().label(), label, "{status}");
        }
        assert_eq!(answer(200, &[], "").status_error(), None);
        let patience = answer(503, &[("retry-after", "7")], "").status_error().unwrap();
        assert_eq!(patience, AskError::Throttled { retry_after: Some(Duration::from_secs(7)) });
    }

    #[test]
    fn a_key_is_in_no_debug_output() {
        let secret = SecretString::from("s3cret-key");
        let url = Url::parse("https://api.example/").unwrap();
        let request = ApiRequest::get(url).secret_header(HeaderName::from_static("x-key"), &secret).unwrap();
        assert!(!format!("{request:?}").contains("s3cret"));
        assert_eq!(request.secrets(), ["s3cret-key"]);
        assert_eq!(request.headers.get("x-key").unwrap(), "s3cret-key");
        let others = ApiRequest::post_json(request.url.clone(), &serde_json::json!({"q": "a"}))
            .secret_field("apiKey", &secret)
            .secret_parameter("api_key", &secret);
        let shown = format!("{others:?} {} {}", others.url, String::from_utf8_lossy(others.body.as_deref().unwrap()));
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(others.secrets(), ["s3cret-key", "s3cret-key"]);
    }

    #[test]
    fn a_key_no_header_can_carry_is_a_bad_key_and_not_quoted() {
        let request = ApiRequest::get(Url::parse("https://api.example/").unwrap());
        let error =
            request.secret_header(HeaderName::from_static("x-key"), &SecretString::from("s3c\nret")).unwrap_err();
        assert_eq!(error.label(), "bad_key");
        assert!(!error.to_string().contains("s3c"));
    }
}

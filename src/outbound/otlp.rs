//! Exports spans to a collector that accepts OTLP over HTTP.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::body_error::innermost;
use super::client::{self, BuildError};

/// Appended to the configured OTLP address.
const PATH: &str = "v1/traces";

#[derive(Debug, Clone)]
pub struct TraceCollector {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum CollectorError {
    #[error("{0}")]
    Client(#[from] BuildError),
    /// The headers are malformed. Never shows them, because they carry keys.
    #[error("its headers are not name=value,name=value, with anything unusual in a value percent-encoded")]
    Headers,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("it cannot be reached: {detail}")]
    Unreachable { detail: String },
    #[error("it did not answer in time")]
    Timeout,
    #[error("it answered with status {status}")]
    Status { status: u16 },
}

impl ExportError {
    /// Whether a retry may succeed, by the protocol's retryable statuses.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout => true,
            Self::Status { status } => matches!(status, 429 | 502 | 503 | 504),
        }
    }
}

impl TraceCollector {
    /// `headers` in the form of the standard variable: `name=value`, comma-separated, values percent-encoded.
    pub fn new(
        user_agent: &str,
        endpoint: &Url,
        headers: Option<&SecretString>,
        timeout: Duration,
    ) -> Result<Self, CollectorError> {
        let client = client::client_builder(user_agent).build().map_err(|error| BuildError::from_reqwest(&error))?;
        let mut url = endpoint.clone();
        url.set_path(&format!("{}/{PATH}", endpoint.path().trim_end_matches('/')));
        let mut named = headers.map(|headers| read_headers(headers.expose_secret())).transpose()?.unwrap_or_default();
        named.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Self { client, url, headers: named, timeout })
    }

    pub async fn send(&self, body: Vec<u8>) -> Result<(), ExportError> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).timeout(self.timeout).body(body);
        let answer = request.send().await.map_err(|error| {
            if error.is_timeout() {
                ExportError::Timeout
            } else {
                ExportError::Unreachable { detail: innermost(&error) }
            }
        })?;
        // The response's errors for single spans are not read, because they cannot be fixed here.
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(ExportError::Status { status: status.as_u16() }) }
    }
}

fn read_headers(text: &str) -> Result<HeaderMap, CollectorError> {
    let mut headers = HeaderMap::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(CollectorError::Headers)?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_no_name| CollectorError::Headers)?;
        let value = percent_encoding::percent_decode_str(value.trim()).collect::<Vec<u8>>();
        let mut value = HeaderValue::from_bytes(&value).map_err(|_no_value| CollectorError::Headers)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_the_standard_writes_them_and_never_shown() {
        let headers = read_headers("Authorization=Bearer%20s3cret, x-team = news,").unwrap();
        assert_eq!(headers.get("authorization").unwrap(), "Bearer s3cret");
        assert_eq!(headers.get("x-team").unwrap(), "news");
        assert!(!format!("{headers:?}").contains("s3cret"));
        for bad in ["s3cret", "a b=c", "a=b%0Ac"] {
            let error = read_headers(bad).unwrap_err();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn spans_go_to_their_place_behind_the_address() {
        let at = |endpoint: &str| {
            let url = endpoint.parse().unwrap();
            TraceCollector::new("corroborate-test", &url, None, Duration::from_secs(1)).unwrap().url.to_string()
        };
        assert_eq!(at("http://collector:4318"), "http://collector:4318/v1/traces");
        assert_eq!(at("https://otlp.example/otlp/"), "https://otlp.example/otlp/v1/traces");
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_cannot_is_not() {
        assert!(ExportError::Timeout.is_passing());
        assert!(ExportError::Status { status: 503 }.is_passing());
        assert!(!ExportError::Status { status: 400 }.is_passing());
        assert!(!ExportError::Status { status: 401 }.is_passing());
    }
}

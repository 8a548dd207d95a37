//! A provider's response and the meaning of its status.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};

use super::error::AskError;
use super::excerpt::excerpt;
use super::retry_after;

#[derive(Debug, Clone)]
pub struct ApiResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub content_type: Option<String>,
    /// Time of receipt by our clock.
    pub received_at: DateTime<Utc>,
}

impl ApiResponse {
    /// A header's value; `None` if it is not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The wait that the provider requests, at most a day.
    pub fn retry_after(&self) -> Option<Duration> {
        let value = self.header(RETRY_AFTER.as_str())?;
        retry_after::parse(value, self.header(DATE.as_str()), self.received_at)
    }

    /// Returns the error of a status unless the provider documents it otherwise. `None` for 200.
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
            // Not followed: a redirected API call leads to a home or login page.
            300..=399 => {
                let place = self.header(LOCATION.as_str()).map(excerpt).unwrap_or_default();
                Some(AskError::CouldNotAsk { detail: format!("status {}: sent on to {place:?}", self.status) })
            }
            400..=499 => Some(AskError::Refused { detail: detail() }),
            // With a wait it is a throttle, without one a failure.
            503 if self.retry_after().is_some() => Some(AskError::Throttled { retry_after: self.retry_after() }),
            500..=599 => Some(AskError::Server { status: self.status }),
            _ => Some(AskError::CouldNotAsk { detail: detail() }),
        }
    }
}

pub(super) fn response(status: u16, headers: HeaderMap, body: Vec<u8>, received_at: DateTime<Utc>) -> ApiResponse {
    ApiResponse { status, content_type: content_type(&headers), headers, body, received_at }
}

pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Recorded headers as a map, without invalid ones.
pub(super) fn header_map(headers: &[(String, String)]) -> HeaderMap {
    let parsed = headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value).ok()?))
    });
    parsed.collect()
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
}

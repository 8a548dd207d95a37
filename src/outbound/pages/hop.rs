//! Interprets one response: redirect, cool-down, or error.

use std::time::Duration;

use reqwest::header::{DATE, HeaderValue, LOCATION, RETRY_AFTER};
use url::Url;

use super::super::fetch_error::FetchError;
use super::super::replay::Failure;
use super::super::retry_after;
use super::transfer::AtCap;
use super::{Hop, blocked};
use crate::domain::{Clock as _, SystemClock};

/// Cool-down after a 429 without a time.
const UNNAMED_REST: Duration = Duration::from_secs(30);

/// A recorded failure fails again.
pub(super) fn failed_then(failure: Failure, url: &Url) -> FetchError {
    let detail = failure.detail;
    match failure.label.as_str() {
        "dns" => FetchError::Dns,
        "tls" => FetchError::Tls { detail },
        "connect" => FetchError::Connect { detail },
        "encoding" => FetchError::Encoding { detail },
        "too_large" => FetchError::TooLarge,
        "too_slow" => FetchError::TooSlow,
        "own_address" => FetchError::OwnAddress { host: url.host_str().unwrap_or_default().to_owned() },
        "private_address" => FetchError::PrivateAddress { host: url.host_str().unwrap_or_default().to_owned() },
        _ => FetchError::Timeout,
    }
}

pub(super) fn rest_asked_for(hop: &Hop) -> Option<Duration> {
    let named = || {
        let text = |name| hop.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        retry_after::parse(text(RETRY_AFTER)?, text(DATE), SystemClock.now())
    };
    match hop.status {
        429 => Some(named().unwrap_or(UNNAMED_REST)),
        503 => named(),
        _ => None,
    }
}

/// For a status other than 2xx. Reads the body if it may be a bot check.
pub(super) async fn refusal(hop: Hop) -> FetchError {
    let status = hop.status;
    let is_wall = blocked::may_be(status)
        && (blocked::has_mark(&hop.headers) || {
            let body = hop.body.read(blocked::LOOKED_AT, AtCap::Cut).await;
            body.is_ok_and(|body| blocked::shows(&body))
        });
    if is_wall { FetchError::BotWall { status } } else { FetchError::Status(status) }
}

/// Returns the target of a redirect, `None` for other statuses, an error for an unusable target.
pub(super) fn redirect_target(hop: &Hop, url: &Url) -> Result<Option<Url>, FetchError> {
    if !matches!(hop.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = hop.headers.get(LOCATION) else { return Err(FetchError::Status(hop.status)) };
    // Servers send raw UTF-8; the header type accepts only ASCII as a string.
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_not_utf8| FetchError::BadUrl)?;
    url.join(location.trim()).map(Some).map_err(|_no_url| FetchError::BadUrl)
}

//! Posts messages to the operator's web servers, signed by the "Standard Webhooks" specification
//! (<https://www.standardwebhooks.com>). Follows no redirect and does not retry.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::{DateTime, Utc};
use hmac::{Hmac, Mac as _};
use reqwest::header::{CONTENT_TYPE, DATE, RETRY_AFTER};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;
use url::Url;

use super::body_error::innermost;
use super::{BuildError, retry_after};

/// Prefix of a secret, which makes a leaked one recognisable.
const PREFIX: &str = "whsec_";
/// Permitted bytes of a secret by the specification.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

#[derive(Clone)]
pub struct WebhookKey(Hmac<Sha256>);

pub fn new_secret() -> String {
    format!("{PREFIX}{}", BASE64.encode(rand::random::<[u8; 32]>()))
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("is not {PREFIX} and the Base64 of 24 to 64 bytes")]
pub struct BadWebhookKey;

impl fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookKey")
    }
}

impl WebhookKey {
    pub fn read(secret: &SecretString) -> Result<Self, BadWebhookKey> {
        let encoded = secret.expose_secret().trim().strip_prefix(PREFIX).ok_or(BadWebhookKey)?;
        let bytes = BASE64.decode(encoded).map_err(|_quotes_the_key| BadWebhookKey)?;
        if !KEY_BYTES.contains(&bytes.len()) {
            return Err(BadWebhookKey);
        }
        Hmac::new_from_slice(&bytes).map(Self).map_err(|_length| BadWebhookKey)
    }

    fn signature(&self, id: &str, at: i64, body: &str) -> String {
        let mut hmac = self.0.clone();
        hmac.update(format!("{id}.{at}.").as_bytes());
        hmac.update(body.as_bytes());
        format!("v1,{}", BASE64.encode(hmac.finalize().into_bytes()))
    }
}

#[derive(Debug, Clone)]
pub struct WebhookReceiver {
    client: reqwest::Client,
    url: Url,
    /// Two during a key change, else one.
    keys: Vec<WebhookKey>,
}

/// Why a message was not accepted. Never contains the receiver's address, which may contain a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("no answer within the time allowed")]
    Timeout,
    #[error("could not be reached: {detail}")]
    Unreachable { detail: String },
    #[error("answered {status}, a redirect, which is not followed; configure the address it leads to")]
    Redirect { status: u16 },
    #[error("answered {status}")]
    Refused {
        status: u16,
        /// The pause that the receiver requests.
        wait: Option<Duration>,
    },
    #[error("answered 410: it wants no more messages")]
    Gone,
}

impl WebhookReceiver {
    /// Returns a receiver. `timeout` is for one attempt, including the connection.
    pub fn new(url: Url, keys: Vec<WebhookKey>, timeout: Duration, user_agent: &str) -> Result<Self, BuildError> {
        let client = super::client::client_builder(user_agent)
            .timeout(timeout)
            .build()
            .map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { client, url, keys })
    }

    /// Posts the JSON `body`. `id` is the same in every attempt. `now` is signed, so that a receiver can reject
    /// replayed messages.
    pub async fn post(&self, id: &str, body: &str, now: DateTime<Utc>) -> Result<(), WebhookError> {
        // An item's id may contain Cyrillic, which a header cannot carry.
        let id: String = id.chars().flat_map(header_safe).collect();
        let at = now.timestamp();
        let signatures: Vec<String> = self.keys.iter().map(|key| key.signature(&id, at, body)).collect();
        let answer = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", at)
            .header("webhook-signature", signatures.join(" "))
            .body(body.to_owned())
            .send()
            .await
            .map_err(|error| {
                if error.is_timeout() {
                    WebhookError::Timeout
                } else {
                    WebhookError::Unreachable { detail: innermost(&error) }
                }
            })?;
        let status = answer.status();
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        match status.as_u16() {
            _ if status.is_success() => Ok(()),
            410 => Err(WebhookError::Gone),
            status @ 300..400 => Err(WebhookError::Redirect { status }),
            status => {
                let wait = header(RETRY_AFTER).and_then(|value| retry_after::parse(value, header(DATE), now));
                Err(WebhookError::Refused { status, wait })
            }
        }
    }
}

/// Escapes all but visible ASCII, so that different ids stay different.
fn header_safe(c: char) -> Vec<char> {
    if c.is_ascii_graphic() && c != '.' { vec![c] } else { c.escape_unicode().filter(|c| *c != '\\').collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: &str) -> Result<WebhookKey, BadWebhookKey> {
        WebhookKey::read(&SecretString::from(secret))
    }

    #[test]
    fn signature_matches_specification_when_message_is_signed() {
        // The example of the specification's reference libraries.
        let key = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = key.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_key_that_is_short_or_has_no_prefix_is_none_and_no_debug_output_shows_one() {
        for bad in ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_%%%", "whsec_", ""] {
            assert_eq!(key(bad).unwrap_err(), BadWebhookKey, "{bad}");
        }
        assert_eq!(format!("{:?}", key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()), "WebhookKey");
    }

    #[test]
    fn a_new_secret_is_a_key_and_no_other() {
        assert!(key(&new_secret()).is_ok());
        assert_ne!(new_secret(), new_secret());
    }

    #[test]
    fn any_id_fits_a_header_and_two_ids_stay_two() {
        let safe = |id: &str| id.chars().flat_map(header_safe).collect::<String>();
        assert_eq!(safe("tg:a-1:result"), "tg:a-1:result");
        assert!(safe("тг:1 2\n").is_ascii() && !safe("a b\n.").contains([' ', '\n', '.']), "{}", safe("a b\n."));
        assert_ne!(safe("тг"), safe("тд"));
    }
}

//! Webhooks: messages posted to web servers of the operator's, signed as the specification "Standard Webhooks" says
//! (<https://www.standardwebhooks.com>), so that receivers can use its libraries.

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

/// Before the Base64 of a secret, so that it is known for one where it leaked.
const PREFIX: &str = "whsec_";
/// Bytes of a secret, as the specification bounds them.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A key that messages are signed with.
#[derive(Clone)]
pub struct WebhookKey(Hmac<Sha256>);

/// A new secret for [`WebhookKey::read`].
pub fn new_secret() -> String {
    format!("{PREFIX}{}", BASE64.encode(rand::random::<[u8; 32]>()))
}

/// The text cannot be read as a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("is not {PREFIX} and the Base64 of 24 to 64 bytes")]
pub struct BadWebhookKey;

impl fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookKey")
    }
}

impl WebhookKey {
    /// Reads `whsec_…`.
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

/// One receiver.
#[derive(Debug, Clone)]
pub struct WebhookReceiver {
    client: reqwest::Client,
    url: Url,
    /// One, or two while the receiver changes from one to the other.
    keys: Vec<WebhookKey>,
}

/// Why a receiver has not taken a message. Says nothing of its address, which may hold a key.
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
        /// The pause it asks for.
        wait: Option<Duration>,
    },
    /// It wants this message no more.
    #[error("answered 410: it wants no more messages")]
    Gone,
}

impl WebhookReceiver {
    /// `timeout` is that of one try, connecting included.
    pub fn new(url: Url, keys: Vec<WebhookKey>, timeout: Duration, user_agent: &str) -> Result<Self, BuildError> {
        let client = super::client::client_builder(user_agent)
            .timeout(timeout)
            .build()
            .map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { client, url, keys })
    }

    /// Posts `body`, JSON. `id` is the same at every try; `now` is signed with it, so that a receiver can refuse what somebody
    /// recorded and sends again later.
    pub async fn post(&self, id: &str, body: &str, now: DateTime<Utc>) -> Result<(), WebhookError> {
        // Of an id only what a header carries: letters of an item's id may be Cyrillic.
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

/// Visible ASCII as it is, everything else as its code, so that two ids stay two.
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
    fn a_message_is_signed_as_the_specification_says() {
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

//! Adds keys to a request when it is sent, and removes them from its response.
//!
//! Before that no part of a request contains a key, so it can be logged and recorded.

use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use url::Url;

use super::error::AskError;
use super::redact::Redactor;
use super::response::{ApiResponse, content_type};
use crate::config::ApiKey;

/// Shorter keys (`k`, `test`) belong to a simulator; redacting them would damage the response.
const SHORTEST_IN_ANSWERS: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyLocation {
    /// A header, after this prefix.
    Header(HeaderName, &'static str),
    Parameter(&'static str),
    /// A field of the JSON body.
    Field(&'static str),
}

/// The keys of one request, added when it is sent, because a key may change during the wait for a permit.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<(KeyLocation, ApiKey)>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(location, _)| location)).finish()
    }
}

/// The parse error may quote the key.
fn header_value(words: &str, key: &ApiKey) -> Result<HeaderValue, AskError> {
    let text = format!("{words}{}", key.current().expose_secret());
    let mut value = HeaderValue::from_str(&text).map_err(|_quotes_the_key| AskError::BadKey {
        detail: "it holds characters that no header can carry".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl Secrets {
    /// Adds a header. A key that no header can carry is a bad key.
    pub(super) fn header(&mut self, name: HeaderName, words: &'static str, key: &ApiKey) -> Result<(), AskError> {
        header_value(words, key)?;
        self.0.push((KeyLocation::Header(name, words), key.clone()));
        Ok(())
    }

    pub(super) fn parameter(&mut self, name: &'static str, key: &ApiKey) {
        self.0.push((KeyLocation::Parameter(name), key.clone()));
    }

    pub(super) fn field(&mut self, name: &'static str, key: &ApiKey) {
        self.0.push((KeyLocation::Field(name), key.clone()));
    }

    pub(super) fn values(&self) -> Vec<String> {
        self.0.iter().flat_map(|(_, key)| key.to_hide()).collect()
    }

    pub(super) fn headers(&self, bare: &HeaderMap) -> Result<HeaderMap, AskError> {
        let mut headers = bare.clone();
        for (location, key) in &self.0 {
            if let KeyLocation::Header(name, words) = location {
                headers.insert(name, header_value(words, key)?);
            }
        }
        Ok(headers)
    }

    pub(super) fn url(&self, bare: &Url) -> Url {
        let mut url = bare.clone();
        for (location, key) in &self.0 {
            if let KeyLocation::Parameter(name) = location {
                url.query_pairs_mut().append_pair(name, key.current().expose_secret());
            }
        }
        url
    }

    /// Returns the body with its keys as fields of the JSON object. Another body is rejected instead of being sent
    /// without its key.
    pub(super) fn body(&self, bare: Option<&[u8]>) -> Result<Option<Vec<u8>>, AskError> {
        let fields = self.0.iter().filter_map(|(location, key)| match location {
            KeyLocation::Field(name) => Some(((*name).to_owned(), Value::from(key.current().expose_secret()))),
            KeyLocation::Header(..) | KeyLocation::Parameter(_) => None,
        });
        let mut fields = fields.peekable();
        if fields.peek().is_none() {
            return Ok(bare.map(<[u8]>::to_vec));
        }
        let Some(Ok(Value::Object(mut object))) = bare.map(serde_json::from_slice::<Value>) else {
            return Err(AskError::Refused { detail: "a key can join a JSON object only".to_owned() });
        };
        object.extend(fields);
        Ok(Some(Value::Object(object).to_string().into_bytes()))
    }
}

/// Redacts keys that the provider sends back, because recordings and results would store them.
pub(super) fn scrub(response: &mut ApiResponse, secrets: &[String]) {
    let redactor = Redactor::new(secrets.iter().cloned(), SHORTEST_IN_ANSWERS);
    response.body = redactor.bytes(&response.body);
    for value in response.headers.values_mut() {
        let clean = redactor.bytes(value.as_bytes());
        if clean != value.as_bytes() {
            *value = HeaderValue::from_bytes(&clean).unwrap_or(HeaderValue::from_static("[key]"));
        }
    }
    response.content_type = content_type(&response.headers);
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::super::response::{header_map, response};
    use super::*;

    fn secrets() -> Secrets {
        let mut secrets = Secrets::default();
        secrets.parameter("api_key", &ApiKey::from("s3cret/key+1"));
        secrets.field("apiKey", &ApiKey::from(" s3cret\"field "));
        secrets
    }

    #[test]
    fn keys_join_the_request_when_it_is_sent_and_never_before() {
        let secrets = secrets();
        let bare = Url::parse("https://api.example/search?q=a").unwrap();
        assert_eq!(secrets.url(&bare).as_str(), "https://api.example/search?q=a&api_key=s3cret%2Fkey%2B1");
        let body = secrets.body(Some(br#"{"q":"a"}"#)).unwrap().unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body, serde_json::json!({"q": "a", "apiKey": "s3cret\"field"}));
        assert_eq!(format!("{secrets:?}"), r#"[Parameter("api_key"), Field("apiKey")]"#);
        for bare in [None, Some(b"[1]".as_slice()), Some(b"not json")] {
            assert_eq!(secrets.body(bare).unwrap_err().label(), "refused", "a request without its key is not sent");
        }
        let none = Secrets::default();
        assert_eq!((none.url(&bare), none.body(Some(b"x")).unwrap()), (bare, Some(b"x".to_vec())));
    }

    #[test]
    fn a_request_that_waited_is_sent_with_the_key_of_now() {
        let (key, mut secrets) = (ApiKey::from("s3cret-old"), Secrets::default());
        secrets.header(HeaderName::from_static("authorization"), "Bearer ", &key).unwrap();
        secrets.parameter("api_key", &key);
        assert!(key.replace(&"s3cret-new".into()));
        let headers = secrets.headers(&HeaderMap::new()).unwrap();
        assert_eq!(headers.get("authorization").unwrap(), "Bearer s3cret-new");
        assert!(headers.get("authorization").unwrap().is_sensitive());
        let bare = Url::parse("https://api.example/").unwrap();
        assert_eq!(secrets.url(&bare).as_str(), "https://api.example/?api_key=s3cret-new");
        assert!(secrets.values().contains(&"s3cret-old".to_owned()), "what was sent with the old one may name it");
        assert!(key.replace(&"s3c\nret".into()));
        let error = secrets.headers(&HeaderMap::new()).unwrap_err();
        assert_eq!(error.label(), "bad_key");
        assert!(!error.to_string().contains("s3c"));
    }

    #[test]
    fn what_the_provider_sends_back_loses_the_key_in_every_form() {
        let keys = ["s3cret/key+1".to_owned(), "s3cret\"field".to_owned(), "k".to_owned()];
        let body = br#"{"a":"s3cret/key+1","b":"https://x/?k=s3cret%2Fkey%2B1&z","c":"s3cret\"field","d":"ok","e":"dXNlcjpzM2NyZXQva2V5KzE="}"#;
        let headers = header_map(&[("location".to_owned(), "/?api_key=s3cret%2Fkey%2B1".to_owned())]);
        let mut answer = response(200, headers, body.to_vec(), DateTime::UNIX_EPOCH);
        scrub(&mut answer, &keys);
        let text = String::from_utf8(answer.body.clone()).unwrap();
        assert_eq!(text, r#"{"a":"[key]","b":"https://x/?k=[key]&z","c":"[key]","d":"ok","e":"dXNlcjp[key]E="}"#);
        assert_eq!(answer.header("location"), Some("/?api_key=[key]"));
    }
}

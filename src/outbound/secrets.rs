//! Keys that no header can carry: they join a request only when it is sent, and leave its answer before anybody reads it.

use std::fmt;

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use url::Url;

use super::error::AskError;
use super::redact::Redactor;
use super::response::{ApiResponse, content_type};

/// Shorter ones are of a simulator (`k`, `test`): redacting them would garble the answer.
const SHORTEST_IN_ANSWERS: usize = 8;

/// Where a key goes that is no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A query parameter.
    Parameter,
    /// A field of the JSON object that is the body.
    Field,
}

/// The keys of one request that are neither in its URL nor in its body until it is sent.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<(Place, &'static str, SecretString)>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(place, name, _)| (place, name))).finish()
    }
}

impl Secrets {
    pub(super) fn parameter(&mut self, name: &'static str, secret: &SecretString) {
        self.0.push((Place::Parameter, name, secret.clone()));
    }

    pub(super) fn field(&mut self, name: &'static str, secret: &SecretString) {
        self.0.push((Place::Field, name, secret.clone()));
    }

    fn at(&self, wanted: Place) -> impl Iterator<Item = (&'static str, &str)> {
        let found = self.0.iter().filter(move |(place, ..)| *place == wanted);
        found.map(|(_, name, secret)| (*name, secret.expose_secret().trim()))
    }

    /// The values, to be kept out of errors.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(.., secret)| secret.expose_secret().trim())
    }

    /// The URL as it is sent.
    pub(super) fn url(&self, bare: &Url) -> Url {
        let mut url = bare.clone();
        let mut parameters = self.at(Place::Parameter).peekable();
        if parameters.peek().is_some() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        url
    }

    /// The body as it is sent. Fields join a JSON object; any other body is refused rather than sent without its key.
    pub(super) fn body(&self, bare: Option<&[u8]>) -> Result<Option<Vec<u8>>, AskError> {
        let mut fields = self.at(Place::Field).peekable();
        if fields.peek().is_none() {
            return Ok(bare.map(<[u8]>::to_vec));
        }
        let Some(Ok(Value::Object(mut object))) = bare.map(serde_json::from_slice::<Value>) else {
            return Err(AskError::Refused { detail: "a key can join a JSON object only".to_owned() });
        };
        object.extend(fields.map(|(name, value)| (name.to_owned(), Value::from(value))));
        Ok(Some(Value::Object(object).to_string().into_bytes()))
    }
}

/// The answer without the keys that the provider sends back: in its body, where recordings and stored results would keep
/// them, and in its headers.
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
        secrets.parameter("api_key", &SecretString::from("s3cret/key+1"));
        secrets.field("apiKey", &SecretString::from(" s3cret\"field "));
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
        assert_eq!(format!("{secrets:?}"), r#"[(Parameter, "api_key"), (Field, "apiKey")]"#);
        for bare in [None, Some(b"[1]".as_slice()), Some(b"not json")] {
            assert_eq!(secrets.body(bare).unwrap_err().label(), "refused", "a request without its key is not sent");
        }
        let none = Secrets::default();
        assert_eq!((none.url(&bare), none.body(Some(b"x")).unwrap()), (bare, Some(b"x".to_vec())));
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

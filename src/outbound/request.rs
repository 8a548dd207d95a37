//! One request to a provider.

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::error::AskError;
use super::secrets::Secrets;

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
    pub(super) secrets: Secrets,
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

#[cfg(test)]
mod tests {
    use super::*;

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

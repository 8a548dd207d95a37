//! Requests to providers.

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::error::AskError;
use super::secrets::Secrets;
use crate::config::ApiKey;

/// One request to a provider. The URL never contains a key, because it is logged, recorded and shown.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    pub method: Method,
    pub url: Url,
    /// Without keys, see [`ApiRequest::secret_header`].
    pub headers: HeaderMap,
    /// Without keys, see [`ApiRequest::secret_field`].
    pub body: Option<Vec<u8>>,
    /// Added when the request is sent.
    pub(super) secrets: Secrets,
}

impl ApiRequest {
    pub fn get(url: Url) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: None, secrets: Secrets::default() }
    }

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

    /// Adds a key as a header, outside `headers`. A key that no header can carry is a bad key.
    pub fn secret_header(self, name: HeaderName, key: &ApiKey) -> Result<Self, AskError> {
        self.secret_header_after(name, "", key)
    }

    /// Like [`ApiRequest::secret_header`], with a prefix for the key's scheme, such as `Bearer`.
    pub fn secret_header_after(
        mut self,
        name: HeaderName,
        words: &'static str,
        key: &ApiKey,
    ) -> Result<Self, AskError> {
        self.secrets.header(name, words, key)?;
        Ok(self)
    }

    /// Adds a key as a query parameter, outside `url`, for services that accept it nowhere else.
    #[must_use]
    pub fn secret_parameter(mut self, name: &'static str, key: &ApiKey) -> Self {
        self.secrets.parameter(name, key);
        self
    }

    /// Adds a key as a field of the JSON body, outside `body`.
    #[must_use]
    pub fn secret_field(mut self, name: &'static str, key: &ApiKey) -> Self {
        self.secrets.field(name, key);
        self
    }

    pub(super) fn secrets(&self) -> Vec<String> {
        self.secrets.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_no_debug_output() {
        let secret = ApiKey::from("s3cret-key");
        let url = Url::parse("https://api.example/").unwrap();
        let request = ApiRequest::get(url).secret_header(HeaderName::from_static("x-key"), &secret).unwrap();
        assert!(!format!("{request:?}").contains("s3cret"));
        assert_eq!(request.secrets(), ["s3cret-key"]);
        assert_eq!(request.headers.get("x-key"), None);
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
        let error = request.secret_header(HeaderName::from_static("x-key"), &ApiKey::from("s3c\nret")).unwrap_err();
        assert_eq!(error.label(), "bad_key");
        assert!(!error.to_string().contains("s3c"));
    }
}

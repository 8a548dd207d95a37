//! `DeepL` as a translator (`/v2/translate`).
//!
//! The key is in a header.

use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::Instant;
use url::Url;

use super::{Translation, Translator, ask};
use crate::config::ApiKey;
use crate::outbound::{ApiRequest, Gate, header};

/// Whether the address is `DeepL`'s or a substitute's under `/v2`.
pub(super) fn is_at(base: &Url) -> bool {
    let is_own = base.host_str().is_some_and(|host| host == "deepl.com" || host.ends_with(".deepl.com"));
    is_own || base.path().trim_end_matches('/').ends_with("/v2")
}

#[derive(Debug)]
pub(super) struct DeepL {
    pub(super) url: Url,
    pub(super) key: Option<ApiKey>,
    pub(super) gate: Gate,
}

/// `DeepL` refuses English and Portuguese targets without a country.
fn target(into: &str) -> String {
    match into {
        "en" => "EN-US".to_owned(),
        "pt" => "PT-PT".to_owned(),
        other => other.to_uppercase(),
    }
}

impl Translator for DeepL {
    fn name(&self) -> &'static str {
        "deepl"
    }

    fn is_language_model(&self) -> bool {
        false
    }

    fn translate<'a>(
        &'a self,
        text: &'a str,
        from: Option<&'a str>,
        into: &'a str,
        until: Instant,
    ) -> BoxFuture<'a, Translation> {
        Box::pin(async move {
            let mut body = json!({ "text": [text], "target_lang": target(into) });
            if let (Some(from), Some(fields)) = (from, body.as_object_mut()) {
                fields.insert("source_lang".to_owned(), json!(from.to_uppercase()));
            }
            let request = ApiRequest::post_json(self.url.clone(), &body);
            let request = match &self.key {
                Some(key) => request.secret_header_after(header::AUTHORIZATION, "DeepL-Auth-Key ", key),
                None => Ok(request),
            };
            ask(&self.gate, request, text, "/translations/0/text", until).await.written_as(into)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_deepl_is_known_and_a_target_has_its_country() {
        for (address, is_deepl) in [
            ("https://api-free.deepl.com/v2", true),
            ("https://api.deepl.com/", true),
            ("http://localhost:5001/v2/", true),
            ("http://libretranslate:5000", false),
            ("https://deepl.com.example/", false),
        ] {
            assert_eq!(is_at(&Url::parse(address).unwrap()), is_deepl, "{address}");
        }
        assert_eq!(["en", "pt", "uk"].map(target), ["EN-US", "PT-PT", "UK"]);
    }
}

//! What of an exchange must not reach a disk: keys, wherever and however they are written.

use serde_json::Value;
use url::Url;

use crate::domain::secret_names::{holds_key, is_secret_name};

/// Shorter values are no keys, and blotting them out would leave nothing of an answer.
const SHORTEST_SECRET: usize = 4;
/// Shorter pieces of a base64 text would be found by chance.
const SHORTEST_CORE: usize = 8;
/// What stands in a secret's place.
const BLOT: &[u8] = b"[key]";

/// Response headers that speak of who asks, by a part of their name.
const PRIVATE_HEADERS: [&str; 7] = ["cookie", "auth", "token", "secret", "api-key", "apikey", "session"];
/// They describe the bytes on the wire, and a recording holds the text.
const WIRE_HEADERS: [&str; 4] = ["content-encoding", "content-length", "transfer-encoding", "connection"];

/// Whether a response header is kept.
pub(super) fn is_kept_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !WIRE_HEADERS.contains(&name.as_str()) && !PRIVATE_HEADERS.iter().any(|private| name.contains(private))
}

/// A URL without the parameters that carry keys.
pub(in crate::outbound) fn without_keys(url: &Url) -> Url {
    let mut bare = url.clone();
    if holds_key(url) {
        let kept: Vec<(String, String)> = url
            .query_pairs()
            .filter(|(name, _)| !is_secret_name(name))
            .map(|(n, v)| (n.into_owned(), v.into_owned()))
            .collect();
        bare.set_query(None);
        if !kept.is_empty() {
            bare.query_pairs_mut().extend_pairs(kept);
        }
    }
    bare
}

/// The body of a request without its keys, in a form in which the order of fields does not matter.
pub(in crate::outbound) fn body_without_keys(body: &[u8]) -> Vec<u8> {
    if let Ok(mut value) = serde_json::from_slice::<Value>(body) {
        drop_keys(&mut value);
        return value.to_string().into_bytes();
    }
    let Ok(text) = std::str::from_utf8(body) else { return body.to_vec() };
    if !text.contains('=') || text.contains(char::is_whitespace) {
        return body.to_vec();
    }
    let mut pairs: Vec<(String, String)> =
        url::form_urlencoded::parse(body).into_owned().filter(|(name, _)| !is_secret_name(name)).collect();
    pairs.sort();
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().into_bytes()
}

fn drop_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // Objects of this library keep their fields sorted.
            fields.retain(|name, _| !is_secret_name(name));
            fields.values_mut().for_each(drop_keys);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_keys),
        _ => {}
    }
}

/// The keys that stand in a URL or a body under a key's name.
pub(super) fn named_secrets(url: &Url, body: Option<&[u8]>) -> Vec<String> {
    let in_url = url.query_pairs().filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value.into_owned());
    let mut found: Vec<String> = in_url.collect();
    let Some(body) = body else { return found };
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => collect(&value, &mut found),
        Err(_no_json) => {
            let pairs = url::form_urlencoded::parse(body).into_owned();
            found.extend(pairs.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value));
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if is_secret_name(name) => found.push(text.clone()),
                    _ => collect(field, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|inner| collect(inner, found)),
        _ => {}
    }
}

/// Every way in which secrets may stand in a text.
#[derive(Debug, Default)]
pub(super) struct Blotter(Vec<Vec<u8>>);

impl Blotter {
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut forms: Vec<Vec<u8>> = Vec::new();
        for secret in secrets {
            // `Bearer s3cret`: the scheme is none, the rest is.
            for word in [secret.trim(), secret.split_whitespace().next_back().unwrap_or_default()] {
                if word.len() >= SHORTEST_SECRET {
                    forms.extend(forms_of(word));
                }
            }
        }
        // The longest first, or a form would leave the rest of a longer one behind.
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self(forms)
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = bytes.to_vec();
        for form in &self.0 {
            if find(&clean, form).is_some() {
                clean = replaced(&clean, form);
            }
        }
        clean
    }

    pub(super) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }
}

fn find(bytes: &[u8], form: &[u8]) -> Option<usize> {
    bytes.windows(form.len()).position(|window| window == form)
}

fn replaced(bytes: &[u8], form: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = find(rest, form) {
        let (before, after) = rest.split_at(at);
        clean.extend_from_slice(before);
        clean.extend_from_slice(BLOT);
        rest = after.split_at(form.len()).1;
    }
    clean.extend_from_slice(rest);
    clean
}

/// As it stands, percent-encoded in the usual ways, in a JSON string, and within a base64 text at any place.
fn forms_of(secret: &str) -> Vec<Vec<u8>> {
    let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let percent = form.replace('+', "%20");
    let json = serde_json::to_string(secret).unwrap_or_default();
    let json = json.trim_matches('"').to_owned();
    let mut texts = vec![secret.to_owned(), form.to_lowercase(), form, percent.to_lowercase(), percent];
    texts.extend([json.replace('/', "\\/"), json]);
    let mut forms: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    for alphabet in [STANDARD, URL_SAFE] {
        forms.extend((0..3).filter_map(|before| base64_core(secret.as_bytes(), before, alphabet)));
    }
    forms.retain(|form| form.len() >= SHORTEST_SECRET);
    forms
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The characters of a base64 text that the secret alone decides, when `before` bytes (modulo 3) stand before it.
fn base64_core(secret: &[u8], before: usize, alphabet: &[u8; 64]) -> Option<Vec<u8>> {
    let bits: Vec<bool> = std::iter::repeat_n(0, before)
        .chain(secret.iter().copied())
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1))
        .collect();
    let whole = bits.as_chunks::<6>().0;
    let first = (before * 8).div_ceil(6);
    let core: Vec<u8> = whole
        .iter()
        .skip(first)
        .map(|six| six.iter().fold(0_usize, |number, bit| number << 1 | usize::from(*bit)))
        .filter_map(|number| alphabet.get(number).copied())
        .collect();
    (core.len() >= SHORTEST_CORE).then_some(core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_out_of_urls_and_bodies_whatever_they_are_called() {
        let url = Url::parse("https://a.example/s?q=x+y&api_key=s3cret&Token=t&apiKey=u&keyword=k").unwrap();
        assert_eq!(without_keys(&url).as_str(), "https://a.example/s?q=x+y&keyword=k");
        let plain = Url::parse("https://a.example/s?q=%20x").unwrap();
        assert_eq!(without_keys(&plain), plain, "what holds no key stays as it is written");
        assert_eq!(body_without_keys(br#"{"q":"x","apiKey":"s3cret","a":[{"key":"k"}]}"#), br#"{"a":[{}],"q":"x"}"#);
        assert_eq!(body_without_keys(b"q=x&key=s3cret&a=1"), b"a=1&q=x");
        assert_eq!(body_without_keys(b"\xff\x00"), b"\xff\x00");
        assert_eq!(named_secrets(&url, Some(br#"{"apiKey":"v"}"#)), ["s3cret", "t", "u", "v"]);
    }

    #[test]
    fn a_secret_is_blotted_out_in_every_form() {
        let secret = "s3c/ret+\"key";
        let blotter = Blotter::new([format!("Bearer {secret}")]);
        let json = serde_json::json!({ "echo": secret }).to_string();
        for text in [
            secret.to_owned(),
            "s3c%2Fret%2B%22key".to_owned(),
            "s3c%2fret%2b%22key".to_owned(),
            json,
            "s3c\\/ret+\\\"key".to_owned(),
            // user:secret, secret, xsecret
            "dXNlcjpzM2MvcmV0KyJrZXk=".to_owned(),
            "czNjL3JldCsia2V5".to_owned(),
            "eHMzYy9yZXQrImtleQ==".to_owned(),
        ] {
            let clean = blotter.text(&format!("before {text} after {text}"));
            assert!(clean.contains("[key]"), "{text}: {clean}");
            assert!(!clean.contains("s3c") && !clean.contains("M2Mv") && !clean.contains("NjL3"), "{text}: {clean}");
            assert!(clean.starts_with("before ") && clean.contains(" after "), "{clean}");
        }
        assert_eq!(Blotter::new(["ab".to_owned(), String::new()]).text("abc"), "abc", "two letters are no key");
    }

    #[test]
    fn headers_that_speak_of_the_asker_or_of_the_wire_are_not_kept() {
        for name in ["Set-Cookie", "WWW-Authenticate", "Authorization", "X-Auth-Token", "Content-Encoding", "x-api-key"]
        {
            assert!(!is_kept_header(name), "{name}");
        }
        for name in ["content-type", "retry-after", "date", "location", "etag", "x-ratelimit-remaining"] {
            assert!(is_kept_header(name), "{name}");
        }
    }
}

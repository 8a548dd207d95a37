//! Removes keys from exchanges, so that they never reach a disk.

use serde_json::Value;
use url::Url;

use crate::domain::secret_names::{holds_key, is_secret_name};

/// Parts of names of headers that identify the client.
const PRIVATE_HEADERS: [&str; 7] = ["cookie", "auth", "token", "secret", "api-key", "apikey", "session"];
/// Headers about the bytes on the wire; a recording contains the decoded text.
const WIRE_HEADERS: [&str; 4] = ["content-encoding", "content-length", "transfer-encoding", "connection"];

pub(super) fn is_kept_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !WIRE_HEADERS.contains(&name.as_str()) && !PRIVATE_HEADERS.iter().any(|private| name.contains(private))
}

pub(super) fn without_keys(url: &Url) -> Url {
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

/// Returns a body without keys, independent of field order.
pub(super) fn body_without_keys(body: &[u8]) -> Vec<u8> {
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
            // `serde_json` objects are sorted.
            fields.retain(|name, _| !is_secret_name(name));
            fields.values_mut().for_each(drop_keys);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_keys),
        _ => {}
    }
}

/// Returns the values under key names in a URL or a body.
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
    fn header_is_dropped_when_it_identifies_the_caller_or_the_transfer() {
        for name in ["Set-Cookie", "WWW-Authenticate", "Authorization", "X-Auth-Token", "Content-Encoding", "x-api-key"]
        {
            assert!(!is_kept_header(name), "{name}");
        }
        for name in ["content-type", "retry-after", "date", "location", "etag", "x-ratelimit-remaining"] {
            assert!(is_kept_header(name), "{name}");
        }
    }
}

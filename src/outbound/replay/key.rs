//! The keys of recordings.

use sha2::{Digest as _, Sha256};
use url::Url;

use super::super::key_fields::body_without_keys;
use super::text::to_hex;

/// Method, scheme, host, port and path.
pub(super) fn search_key(method: &str, url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    format!("{} {bare}", method.to_uppercase())
}

/// The search key, the sorted query parameters and the hash of the body.
pub(super) fn exact_key(method: &str, url: &Url, body: Option<&str>) -> String {
    let mut pairs: Vec<(String, String)> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), the_day(&value).to_owned())).collect();
    pairs.sort();
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("{}?{query} {}", search_key(method, url), body.unwrap_or_default())
}

/// Cuts a timestamp like `20261120121500` to its day: a window that ends now differs in each run.
fn the_day(value: &str) -> &str {
    let is_moment = value.len() == 14 && value.starts_with("20") && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_moment { value.split_at(8).0 } else { value }
}

/// Without keys, 32 hex digits.
pub(in crate::outbound) fn body_hash(body: &[u8]) -> String {
    to_hex(&Sha256::digest(body_without_keys(body))).chars().take(32).collect()
}

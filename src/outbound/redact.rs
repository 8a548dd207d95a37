//! Redacts secrets from texts for readers, logs and disks.
//!
//! Pure. It recognises every encoding in `forms_of`; add further ones there.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Minimum length of a value's last word that counts as a secret by itself.
pub(super) const SHORTEST_SECRET: usize = 4;
/// Minimum length of a base64 piece. Shorter ones would match by chance.
const SHORTEST_CORE: usize = 8;
const MARK: &[u8] = b"[key]";

#[derive(Debug, Default)]
pub(super) struct Redactor(Vec<Vec<u8>>);

impl Redactor {
    /// Returns a redactor. It ignores secrets shorter than `shortest` bytes.
    pub(super) fn new(secrets: impl IntoIterator<Item = String>, shortest: usize) -> Self {
        let shortest = shortest.max(1);
        let mut forms: Vec<Vec<u8>> = Vec::new();
        for secret in secrets {
            let whole = secret.trim();
            // In `Bearer s3cret` only the second word is secret.
            let last = secret.split_whitespace().next_back().filter(|word| word.len() >= SHORTEST_SECRET);
            for word in [whole, last.unwrap_or(whole)].into_iter().filter(|word| word.len() >= shortest) {
                forms.extend(forms_of(word));
            }
        }
        // Longest first, or a short form would leave the rest of a longer one.
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self(forms)
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = bytes.to_vec();
        for form in self.0.iter().filter(|form| find(bytes, form).is_some()) {
            clean = replaced(&clean, form);
        }
        clean
    }

    pub(super) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }
}

/// Redacts the secrets, however short they are.
pub(super) fn redacted(text: &str, secrets: &[String]) -> String {
    Redactor::new(secrets.iter().cloned(), 1).text(text)
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
        clean.extend_from_slice(MARK);
        rest = after.split_at(form.len()).1;
    }
    clean.extend_from_slice(rest);
    clean
}

/// Returns the secret plain, percent-encoded, in a JSON string, and at any position of a base64 text.
fn forms_of(secret: &str) -> Vec<Vec<u8>> {
    let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let percent = form.replace('+', "%20");
    let json = serde_json::to_string(secret).unwrap_or_default();
    let json = json.trim_matches('"').to_owned();
    let mut texts = vec![secret.to_owned(), form.to_lowercase(), form, percent.to_lowercase(), percent];
    texts.extend([json.replace('/', "\\/"), json]);
    let mut forms: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.extend((0..3).filter_map(|before| base64_core(secret.as_bytes(), before, alphabet)));
    }
    forms
}

/// Returns the base64 characters that depend on the secret only, if `before` bytes (modulo 3) precede it.
fn base64_core(secret: &[u8], before: usize, alphabet: &GeneralPurpose) -> Option<Vec<u8>> {
    let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.iter().copied()).collect();
    // A character has six bits; the first and the last may depend on other bytes.
    let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    let core: Vec<u8> = alphabet.encode(&padded).bytes().take(end).skip(first).collect();
    (core.len() >= SHORTEST_CORE).then_some(core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_redacted_in_every_form() {
        let secret = "s3c/ret+\"key";
        let redactor = Redactor::new([format!("Bearer {secret}")], SHORTEST_SECRET);
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
            let clean = redactor.text(&format!("before {text} after {text}"));
            assert!(clean.contains("[key]"), "{text}: {clean}");
            assert!(!clean.contains("s3c") && !clean.contains("M2Mv") && !clean.contains("NjL3"), "{text}: {clean}");
            assert!(clean.starts_with("before ") && clean.contains(" after "), "{clean}");
        }
        let short = ["ab".to_owned(), String::new()];
        assert_eq!(Redactor::new(short.clone(), SHORTEST_SECRET).text("abc"), "abc", "two letters are no key");
        assert_eq!(Redactor::new(short, 1).text("abc"), "[key]c", "unless whoever asks says so");
        assert_eq!(redacted("bad key s3c%2Fret%2B%22key", &[secret.to_owned()]), "bad key [key]");
    }
}

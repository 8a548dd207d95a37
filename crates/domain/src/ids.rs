//! Stable identifiers. The same input gives the same id in every process and run.

use sha2::{Digest, Sha256};

/// First `take` bytes of a SHA-256, in hex. Each part is preceded by its length, so that no two splits collide.
fn digest(parts: &[&str], take: usize) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let whole = hasher.finalize();
    hex(whole.get(..take).unwrap_or(&whole))
}

/// Hash of an item's judged content, 32 hex characters.
pub fn content_hash(parts: &[&str]) -> String {
    digest(parts, 16)
}

/// Returns `clm_` and 20 hex characters, a hash of item and claim text.
pub fn claim_id(item_id: &str, claim: &str) -> String {
    format!("clm_{}", digest(&[item_id, claim], 10))
}

/// Returns `ev_` and 20 hex characters, a hash of the canonical URL.
pub fn evidence_id(url: &str) -> String {
    format!("ev_{}", digest(&[url], 10))
}

/// Hash of a passage's text, 32 hex characters.
pub fn passage_hash(passage: &str) -> String {
    digest(&[passage], 16)
}

/// Hash of a provider query, 64 hex characters. Cached answers are shared by it, without the query text.
pub fn question_hash(key: &str) -> String {
    digest(&[key], 32)
}

/// Hash of a text, 64 hex characters.
pub fn text_hash(text: &str) -> String {
    bytes_hash(text.as_bytes())
}

/// Hash of any bytes, 64 hex characters.
pub fn bytes_hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        use std::fmt::Write as _;
        // Writing to a String cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// Hash by which a page's sentence is stored, 32 hex characters. Letter case is ignored.
pub fn sentence_hash(sentence: &str) -> String {
    passage_hash(&sentence.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(content_hash(&["ab", "c"]), content_hash(&["a", "bc"]));
        assert_eq!(content_hash(&["ab", "c"]), content_hash(&["ab", "c"]));
        assert_eq!(content_hash(&["x"]).len(), 32);
    }
}

//! Stable identifiers: the same input gives the same id in every process and every run.

use sha2::{Digest, Sha256};

/// Hex SHA-256 over the parts, each preceded by its length so that no two splits collide. `take` bytes are kept.
fn digest(parts: &[&str], take: usize) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let whole = hasher.finalize();
    hex(whole.get(..take).unwrap_or(&whole))
}

/// The hash of what is judged of an item: an edited text is another hash. 32 hex characters.
pub fn content_hash(parts: &[&str]) -> String {
    digest(parts, 16)
}

/// `clm_` + 20 hex characters of (item, claim text).
pub fn claim_id(item_id: &str, claim: &str) -> String {
    format!("clm_{}", digest(&[item_id, claim], 10))
}

/// `ev_` + 20 hex characters of the canonical URL.
pub fn evidence_id(url: &str) -> String {
    format!("ev_{}", digest(&[url], 10))
}

/// 32 hex characters of a passage's text.
pub fn passage_hash(passage: &str) -> String {
    digest(&[passage], 16)
}

/// 64 hex characters: a question to a provider, under which its answer is shared without its words.
pub fn question_hash(key: &str) -> String {
    digest(&[key], 32)
}

/// 64 hex characters of a text.
pub fn text_hash(text: &str) -> String {
    bytes_hash(text.as_bytes())
}

/// 64 hex characters of any bytes.
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

/// The hash under which a page's sentence is kept; letter case does not make another sentence.
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

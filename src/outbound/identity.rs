//! The identity that a provider sees: key and address. Each has its own breaker.

use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};

use crate::config::ApiKey;

/// Bytes of the fingerprint: enough to distinguish the keys of one installation.
const FINGERPRINT: usize = 8;

/// A key at an address. A new key does not inherit the old key's failures.
#[derive(Debug, Clone, Default)]
pub struct Identity(Option<(String, Option<ApiKey>)>);

impl Identity {
    pub fn new(address: impl Into<String>, key: Option<&ApiKey>) -> Self {
        Self(Some((address.into(), key.cloned())))
    }

    /// Grows with each key change.
    pub(super) fn version(&self) -> u64 {
        let key = self.0.as_ref().and_then(|(_, key)| key.as_ref());
        key.map_or(0, ApiKey::version)
    }

    /// Hash of the current key and address, from which the key cannot be found. Empty without an address.
    pub(super) fn fingerprint(&self) -> String {
        let Some((address, key)) = &self.0 else { return String::new() };
        let mut hash = Sha256::new();
        hash.update(address);
        hash.update([0]);
        hash.update(key.as_ref().map(|key| key.current().expose_secret().to_owned()).unwrap_or_default());
        hash.finalize().iter().take(FINGERPRINT).fold(String::new(), |mut text, byte| {
            use std::fmt::Write as _;
            let _infallible = write!(text, "{byte:02x}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_key_or_address_is_another_identity_and_shows_neither() {
        let public = "https://api.search.brave.com/";
        let key = ApiKey::from("s3cret-key");
        let of = |address: &str, key: Option<&ApiKey>| Identity::new(address, key).fingerprint();
        let (bare, keyed) = (of(public, None), of(public, Some(&key)));
        assert_eq!(of(public, Some(&" s3cret-key\n".into())), keyed, "blanks around a key are no other key");
        let moved = of("http://localhost:1/", Some(&key));
        assert!(bare != keyed && keyed != moved && bare != moved);
        assert!([&bare, &keyed, &moved].iter().all(|text| text.len() == 2 * FINGERPRINT && !text.contains("s3cret")));
        assert_eq!(Identity::default().fingerprint(), "");
    }

    #[test]
    fn a_changed_key_is_another_identity_at_once() {
        let key = ApiKey::from("s3cret-key");
        let identity = Identity::new("http://localhost:1/", Some(&key));
        let (version, before) = (identity.version(), identity.fingerprint());
        assert!(key.replace(&"s3cret-other".into()));
        assert!(identity.version() > version && identity.fingerprint() != before);
    }
}

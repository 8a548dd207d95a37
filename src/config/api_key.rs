//! A service key that can change at run time.
//!
//! All clones share one key: after [`ApiKey::replace`] every clone returns the new one.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

/// `Debug` shows neither key.
#[derive(Clone, Deserialize)]
#[serde(from = "SecretString")]
pub struct ApiKey(Arc<RwLock<KeyState>>);

struct KeyState {
    current: SecretString,
    /// Errors of running calls may still contain the old key.
    before: Option<SecretString>,
    version: u64,
}

impl ApiKey {
    fn read<T>(&self, look: impl FnOnce(&KeyState) -> T) -> T {
        // A panic cannot leave a half-written value.
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the key without surrounding blanks.
    pub fn current(&self) -> SecretString {
        self.read(|state| SecretString::from(state.current.expose_secret().trim()))
    }

    /// Returns the key and its predecessor.
    pub fn to_hide(&self) -> Vec<String> {
        self.read(|state| {
            let both = [Some(&state.current), state.before.as_ref()].into_iter().flatten();
            both.map(|key| key.expose_secret().trim().to_owned()).collect()
        })
    }

    /// Increases with every change.
    pub fn version(&self) -> u64 {
        self.read(|state| state.version)
    }

    /// Returns false if the key is the same.
    pub fn replace(&self, by: &Self) -> bool {
        let (new, current) = (by.current(), self.current());
        if new.expose_secret() == current.expose_secret() {
            return false;
        }
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        state.before = Some(current);
        state.current = new;
        state.version += 1;
        true
    }
}

impl From<SecretString> for ApiKey {
    fn from(current: SecretString) -> Self {
        Self(Arc::new(RwLock::new(KeyState { current, before: None, version: 0 })))
    }
}

impl From<String> for ApiKey {
    fn from(text: String) -> Self {
        SecretString::from(text).into()
    }
}

impl From<&str> for ApiKey {
    fn from(text: &str) -> Self {
        SecretString::from(text).into()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([REDACTED])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clone_returns_new_key_and_hides_both_when_key_is_replaced() {
        let key = ApiKey::from("s3cret-old");
        let provider = key.clone();
        assert!(!key.replace(&ApiKey::from(" s3cret-old\n")), "blanks around a key are no other key");
        assert_eq!(provider.version(), 0);
        assert!(key.replace(&ApiKey::from(" s3cret-new\n")));
        assert_eq!(provider.current().expose_secret(), "s3cret-new");
        assert_eq!(provider.version(), 1);
        assert_eq!(provider.to_hide(), ["s3cret-new", "s3cret-old"]);
        assert!(!format!("{provider:?}").contains("s3cret"));
    }
}

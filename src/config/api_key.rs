//! A key of a service, which may be changed while the program runs.
//!
//! Whoever holds one holds the same key: what [`ApiKey::replace`] puts in, every copy sends from then on. So a provider
//! keeps its key as it keeps its address, and need not know that keys are ever changed.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret as _, SecretString};

/// A key and the one before it. `Debug` shows neither.
#[derive(Clone)]
pub struct ApiKey(Arc<RwLock<Held>>);

struct Held {
    current: SecretString,
    /// A call that was under way when the key changed may still bring the old one back in an error's text.
    before: Option<SecretString>,
    version: u64,
}

impl ApiKey {
    fn read<T>(&self, look: impl FnOnce(&Held) -> T) -> T {
        // Two texts and a number: a panic in between leaves nothing that is half done.
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key to send, without the blanks that copying leaves around one.
    pub fn current(&self) -> SecretString {
        self.read(|held| SecretString::from(held.current.expose_secret().trim()))
    }

    /// What must not be seen in an error or an answer: the key, and the one before it.
    pub fn to_hide(&self) -> Vec<String> {
        self.read(|held| {
            let both = [Some(&held.current), held.before.as_ref()].into_iter().flatten();
            both.map(|key| key.expose_secret().trim().to_owned()).collect()
        })
    }

    /// Grows with every change; a look at it costs nothing that a call would notice.
    pub fn version(&self) -> u64 {
        self.read(|held| held.version)
    }

    /// Takes over another key, for all who hold this one. False where it is the same.
    pub fn replace(&self, by: &Self) -> bool {
        let (new, current) = (by.current(), self.current());
        if new.expose_secret() == current.expose_secret() {
            return false;
        }
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        held.before = Some(current);
        held.current = new;
        held.version += 1;
        true
    }
}

impl From<SecretString> for ApiKey {
    fn from(current: SecretString) -> Self {
        Self(Arc::new(RwLock::new(Held { current, before: None, version: 0 })))
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
    fn whoever_holds_a_key_has_the_new_one_and_hides_both() {
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

//! A cache of model answers.
//!
//! Passages repeat with every claim, and items with every retry.

use std::collections::HashMap;
use std::fmt;

use moka::future::Cache;
use sha2::{Digest, Sha256};

use crate::telemetry::metrics;

/// Half of a SHA-256, enough against collisions.
pub(super) type Key = [u8; 16];

/// Hashes texts with their lengths, so that the borders count.
pub(super) fn key(texts: &[&str]) -> Key {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let mut key = Key::default();
    for (slot, byte) in key.iter_mut().zip(hash.finalize()) {
        *slot = byte;
    }
    key
}

/// Answers by key, with eviction. Clones share them.
#[derive(Clone)]
pub(super) struct Answers<V> {
    /// A name in the metric catalogue.
    name: &'static str,
    cache: Cache<Key, V>,
}

impl<V> fmt::Debug for Answers<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<V: Clone + Send + Sync + 'static> Answers<V> {
    /// Holds at most `bytes`; `bytes_each` includes the overhead.
    pub(super) fn new(name: &'static str, bytes: u64, bytes_each: usize) -> Self {
        Self { name, cache: Cache::new(bytes / (bytes_each as u64).max(1)) }
    }

    /// Returns one answer per key, in order. `ask` gets the positions of unknown keys, each key once, and answers in
    /// that order.
    ///
    /// # Errors
    /// Those of `ask`; then nothing is cached. `None` if it returned too few.
    pub(super) async fn or_ask<E>(
        &self,
        keys: &[Key],
        ask: impl AsyncFnOnce(&[usize]) -> Result<Vec<V>, E>,
    ) -> Result<Vec<Option<V>>, E> {
        let mut found: HashMap<Key, Option<V>> = HashMap::with_capacity(keys.len());
        let mut missing = Vec::new();
        for (position, key) in keys.iter().enumerate() {
            if found.contains_key(key) {
                continue;
            }
            let known = self.cache.get(key).await;
            if known.is_none() {
                missing.push(position);
            }
            found.insert(*key, known);
        }
        metrics::cache_requests(self.name, "hit", keys.len().saturating_sub(missing.len()));
        metrics::cache_requests(self.name, "miss", missing.len());
        if !missing.is_empty() {
            let answers = ask(&missing).await?;
            for (position, answer) in missing.iter().zip(answers) {
                let Some(key) = keys.get(*position) else { continue };
                self.cache.insert(*key, answer.clone()).await;
                found.insert(*key, Some(answer));
            }
        }
        Ok(keys.iter().map(|key| found.get(key).cloned().flatten()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn model_is_asked_once_when_answer_is_unknown() {
        let answers: Answers<u32> = Answers::new("stance", 1 << 20, 64);
        let keys = [key(&["a"]), key(&["b"]), key(&["a"])];
        let first = answers.or_ask(&keys, async |missing: &[usize]| {
            assert_eq!(missing, [0, 1]);
            Ok::<_, String>(vec![1, 2])
        });
        assert_eq!(first.await.unwrap(), [Some(1), Some(2), Some(1)]);
        let keys = [key(&["b"]), key(&["c"])];
        let second = answers.or_ask(&keys, async |missing: &[usize]| {
            assert_eq!(missing, [1]);
            Ok::<_, String>(vec![3])
        });
        assert_eq!(second.await.unwrap(), [Some(2), Some(3)]);
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let answers: Answers<u32> = Answers::new("stance", 1 << 20, 64);
        let keys = [key(&["a"])];
        answers.or_ask(&keys, async |_: &[usize]| Err("away")).await.unwrap_err();
        let again = answers.or_ask(&keys, async |_: &[usize]| Ok::<_, String>(vec![7])).await;
        assert_eq!(again.unwrap(), [Some(7)]);
    }

    #[test]
    fn the_border_between_texts_counts() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["a", ""]), key(&["a"]));
    }
}

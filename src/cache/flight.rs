//! A bounded cache in which one caller asks and the others wait for its answer.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;

use crate::outbound::{AskError, FetchError, Observer};

/// An error that a flight can end with.
pub trait Refused: Clone + Send + Sync + 'static {
    /// Whether it says something of the one who asked (its time was up) and nothing of the question, so that those who
    /// waited may ask with their own time.
    fn is_the_askers_own(&self) -> bool;
}

impl Refused for AskError {
    fn is_the_askers_own(&self) -> bool {
        matches!(self, Self::Deadline)
    }
}

impl Refused for FetchError {
    fn is_the_askers_own(&self) -> bool {
        matches!(self, Self::Deadline)
    }
}

/// Each value may live for a time of its own.
struct Lifetime<V>(Box<dyn Fn(&V) -> Duration + Send + Sync>);

impl<V> Expiry<String, V> for Lifetime<V> {
    fn expire_after_create(&self, _key: &String, value: &V, _created_at: Instant) -> Option<Duration> {
        Some((self.0)(value))
    }

    fn expire_after_update(&self, _: &String, value: &V, _: Instant, _: Option<Duration>) -> Option<Duration> {
        Some((self.0)(value))
    }
}

pub(super) struct Flight<V: Clone + Send + Sync + 'static> {
    name: &'static str,
    cache: Cache<String, V>,
    observer: Arc<dyn Observer>,
}

impl<V: Clone + Send + Sync + 'static> Clone for Flight<V> {
    fn clone(&self) -> Self {
        Self { name: self.name, cache: self.cache.clone(), observer: Arc::clone(&self.observer) }
    }
}

impl<V: Clone + Send + Sync + 'static> fmt::Debug for Flight<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flight")
            .field("name", &self.name)
            .field("entries", &self.cache.entry_count())
            .finish_non_exhaustive()
    }
}

impl<V: Clone + Send + Sync + 'static> Flight<V> {
    pub(super) fn new(
        name: &'static str,
        capacity: u64,
        weigh: impl Fn(&str, &V) -> u32 + Send + Sync + 'static,
        lifetime: impl Fn(&V) -> Duration + Send + Sync + 'static,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let cache = Cache::builder()
            .name(name)
            .max_capacity(capacity)
            .weigher(move |key: &String, value: &V| weigh(key, value))
            .expire_after(Lifetime(Box::new(lifetime)))
            .build();
        Self { name, cache, observer }
    }

    /// The kept value, or the one `ask` gives; and whether this caller was spared asking.
    pub(super) async fn get_or<E, F, A>(&self, key: &str, ask: F) -> Result<(V, bool), E>
    where
        E: Refused,
        F: Fn() -> A + Send + Sync,
        A: Future<Output = Result<V, E>> + Send,
    {
        loop {
            let asked = AtomicBool::new(false);
            let flight = async {
                asked.store(true, Ordering::Relaxed);
                ask().await
            };
            let outcome = self.cache.try_get_with_by_ref(key, flight).await;
            let spared = !asked.load(Ordering::Relaxed);
            match outcome {
                Ok(value) => {
                    self.observer.cache(self.name, spared);
                    return Ok((value, spared));
                }
                // Ends: each round either joins a flight that another one loses its time on, or asks itself.
                Err(error) if spared && error.is_the_askers_own() => {}
                Err(error) => {
                    self.observer.cache(self.name, false);
                    return Err((*error).clone());
                }
            }
        }
    }

    pub(super) async fn get(&self, key: &str) -> Option<V> {
        let found = self.cache.get(key).await;
        self.observer.cache(self.name, found.is_some());
        found
    }

    pub(super) async fn insert(&self, key: String, value: V) {
        self.cache.insert(key, value).await;
    }

    pub(super) async fn forget(&self, key: &str) {
        self.cache.invalidate(key).await;
    }

    #[cfg(test)]
    pub(super) async fn held(&self) -> u64 {
        self.cache.run_pending_tasks().await;
        self.cache.weighted_size()
    }
}

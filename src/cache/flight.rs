//! A bounded in-memory cache with single flight.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use tokio::time::sleep_until;

use crate::outbound::{AskError, CacheResult, FetchError, Observer};

pub trait FlightError: Clone + Send + Sync + 'static {
    /// Whether the error is about the caller (deadline). Waiting callers may then make their own request.
    fn is_caller_specific(&self) -> bool;
    fn deadline() -> Self;
}

impl FlightError for AskError {
    fn is_caller_specific(&self) -> bool {
        matches!(self, Self::Deadline)
    }

    fn deadline() -> Self {
        Self::Deadline
    }
}

impl FlightError for FetchError {
    fn is_caller_specific(&self) -> bool {
        matches!(self, Self::Deadline)
    }

    fn deadline() -> Self {
        Self::Deadline
    }
}

struct Lifetime<V>(Box<dyn Fn(&V) -> Duration + Send + Sync>);

impl<V> Expiry<String, V> for Lifetime<V> {
    fn expire_after_create(&self, _key: &String, value: &V, _created_at: Instant) -> Option<Duration> {
        Some((self.0)(value))
    }

    fn expire_after_update(&self, _: &String, value: &V, _: Instant, _: Option<Duration>) -> Option<Duration> {
        Some((self.0)(value))
    }
}

/// Whether the `ask` of this caller's own flight has started.
#[derive(Debug, Default)]
struct StartFlag(AtomicBool);

impl StartFlag {
    fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Completes at `until`, unless the caller's own flight runs.
async fn late(until: Option<tokio::time::Instant>, started: &StartFlag) {
    if let Some(until) = until {
        sleep_until(until).await;
        if !started.begun() {
            return;
        }
    }
    std::future::pending::<()>().await;
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

    /// Returns the cached value or the value of `ask`, and how it was obtained. A wait for another caller ends at
    /// `until`; the caller's own `ask` keeps its own deadline.
    pub(super) async fn get_or<E, F, A>(
        &self,
        key: &str,
        until: Option<tokio::time::Instant>,
        ask: F,
    ) -> Result<(V, CacheResult), E>
    where
        E: FlightError,
        F: Fn() -> A + Send + Sync,
        A: Future<Output = Result<(V, CacheResult), E>> + Send,
    {
        if let Some(value) = self.cache.get(key).await {
            self.observer.cache(self.name, CacheResult::Hit);
            return Ok((value, CacheResult::Hit));
        }
        loop {
            let started = StartFlag::default();
            let how = OnceLock::new();
            let flight = self.cache.try_get_with_by_ref::<_, E, _>(key, async {
                started.begin();
                let (value, result) = ask().await?;
                let _set_once = how.set(result);
                Ok(value)
            });
            // Biased, so that an available value wins. The timer runs only if no flight of this caller does.
            let outcome = tokio::select! {
                biased;
                outcome = flight => outcome,
                () = late(until, &started) => {
                    self.observer.cache(self.name, CacheResult::Miss);
                    return Err(E::deadline());
                }
            };
            match outcome {
                Ok(value) => {
                    let result = how.get().copied().unwrap_or(CacheResult::Waited);
                    self.observer.cache(self.name, result);
                    return Ok((value, result));
                }
                // The loop ends: each round joins a flight whose caller runs out of time, or makes the request itself.
                Err(error) if !started.begun() && error.is_caller_specific() => {}
                Err(error) => {
                    self.observer.cache(self.name, CacheResult::Miss);
                    return Err((*error).clone());
                }
            }
        }
    }

    pub(super) async fn get(&self, key: &str) -> Option<V> {
        let found = self.cache.get(key).await;
        self.observer.cache(self.name, if found.is_some() { CacheResult::Hit } else { CacheResult::Miss });
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

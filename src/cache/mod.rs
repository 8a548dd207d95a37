//! Caches for provider responses and pages, in memory and in the store.
//!
//! 1. `flight`: one caller per key makes the request, and the others in the process wait (single flight).
//! 2. `shared`: responses of other and earlier processes, in the store.
//!
//! If a request fails or is cancelled, the next waiting caller makes its own. If the store is unavailable, providers
//! are queried as if the cache were empty. Two processes that make a request at the same moment both send it.
//!
//! A cache never makes a request itself, never keeps an error, and never exceeds its time or size limit. Responses that
//! may not be stored stay in this process for their short time to live.
//!
//! To add a cache, wrap `flight::Flight` with a key and a weight.

mod flight;
mod key;
mod shared;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use flight::Flight;
pub use flight::FlightError;
pub use key::{claim_key, joined, normalise_query};
pub use shared::{Form, SharedLevel};
use tokio::time::Instant;

use crate::outbound::{CacheResult, Observer};

#[derive(Debug, Clone, Copy)]
pub struct AnswerCacheSettings {
    /// Number of responses in memory; each is a few kB.
    pub capacity: u64,
    /// For responses with results.
    pub ttl: Duration,
    /// For empty responses: shorter, because a new event may not be reported yet.
    pub empty_ttl: Duration,
}

impl Default for AnswerCacheSettings {
    fn default() -> Self {
        // Coverage changes within the hour; GDELT requires at least 15 minutes.
        Self { capacity: 5_000, ttl: Duration::from_mins(15), empty_ttl: Duration::from_mins(5) }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub provider: &'static str,
    /// Queries with the same key have the same response. The store keeps a hash of it.
    pub key: &'a str,
    /// The normalised claim of a fact-check lookup, which has its own table.
    pub claim: Option<&'a str>,
    /// Whether the response may be written to the store.
    pub shared: bool,
    /// Latest time to wait for another caller's response.
    pub until: Instant,
    /// The provider's minimum time to live, also for an empty response.
    pub keep_at_least: Duration,
}

/// A response with its remaining time to live.
#[derive(Debug)]
struct TimedAnswer<A> {
    answer: Arc<A>,
    ttl: Duration,
}

impl<A> Clone for TimedAnswer<A> {
    fn clone(&self) -> Self {
        Self { answer: Arc::clone(&self.answer), ttl: self.ttl }
    }
}

#[derive(Debug)]
pub struct AnswerCache<A: Send + Sync + 'static> {
    here: Flight<TimedAnswer<A>>,
    fleet: Option<SharedLevel<A>>,
    settings: AnswerCacheSettings,
    is_brief: fn(&A) -> bool,
}

pub type SearchCache<A> = AnswerCache<A>;

/// By [`claim_key`]; stored in the `fact_check_cache` table.
pub type FactCheckCache<A> = AnswerCache<A>;

impl<A: Send + Sync + 'static> Clone for AnswerCache<A> {
    fn clone(&self) -> Self {
        Self { here: self.here.clone(), fleet: self.fleet.clone(), settings: self.settings, is_brief: self.is_brief }
    }
}

impl<A: Send + Sync + 'static> AnswerCache<A> {
    /// `name` is the metric label. `is_brief` selects empty or incomplete responses for the shorter time to live.
    /// Without `fleet` there is no store level.
    pub fn new(
        name: &'static str,
        settings: AnswerCacheSettings,
        is_brief: fn(&A) -> bool,
        fleet: Option<SharedLevel<A>>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let here = Flight::new(name, settings.capacity, |_key, _answer| 1, |kept: &TimedAnswer<A>| kept.ttl, observer);
        Self { here, fleet, settings, is_brief }
    }

    /// Returns the cached response or that of `ask`, and how it was obtained. One caller of this process runs `ask`;
    /// another runs it only if that call ends without a response.
    pub async fn get_or_ask<E, F, R>(&self, question: &Question<'_>, ask: F) -> Result<(Arc<A>, CacheResult), E>
    where
        E: FlightError,
        F: Fn() -> R + Send + Sync,
        R: Future<Output = Result<A, E>> + Send,
    {
        let AnswerCacheSettings { ttl, empty_ttl, .. } = self.settings;
        let lives = |answer: &A| {
            let usual = if (self.is_brief)(answer) { empty_ttl.min(ttl) } else { ttl };
            usual.max(question.keep_at_least)
        };
        let flight = || async {
            if let Some(fleet) = self.fleet.as_ref().filter(|_| question.shared) {
                return fleet.get_or_ask(question, lives, &ask).await;
            }
            let answer = ask().await?;
            let ttl = lives(&answer);
            Ok((TimedAnswer { answer: Arc::new(answer), ttl }, CacheResult::Miss))
        };
        let (kept, result) = self.here.get_or(question.key, Some(question.until), flight).await?;
        Ok((kept.answer, result))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct PageCacheSettings {
    /// Of all pages, as the caller weighs them.
    pub max_bytes: u64,
    pub ttl: Duration,
}

impl Default for PageCacheSettings {
    fn default() -> Self {
        // A burst of items about one event reads the same few hundred pages; 48 MiB fit a process of 250 MB.
        Self { max_bytes: 48 * 1024 * 1024, ttl: Duration::from_mins(30) }
    }
}

/// Pages by canonical URL, bounded in bytes. `T` is the parsed page; a variant of `T` may store a failure.
pub struct PageCache<T: Send + Sync + 'static>(Flight<(Arc<T>, u32)>);

impl<T: Send + Sync + 'static> Clone for PageCache<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for PageCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PageCache").field(&self.0).finish()
    }
}

/// Bytes of key, counters and allocations per entry.
const ENTRY_OVERHEAD: u32 = 512;

impl<T: Send + Sync + 'static> PageCache<T> {
    pub fn new(settings: PageCacheSettings, observer: Arc<dyn Observer>) -> Self {
        let weigh = |key: &str, page: &(Arc<T>, u32)| {
            page.1.saturating_add(u32::try_from(key.len()).unwrap_or(u32::MAX)).saturating_add(ENTRY_OVERHEAD)
        };
        Self(Flight::new("page", settings.max_bytes, weigh, move |_page| settings.ttl, observer))
    }

    /// Returns the cached page, or the page of `fetch` with its weight in bytes. The flag is true if this caller did
    /// not fetch.
    pub async fn get_or_fetch<E, F, A>(&self, url: &str, fetch: F) -> Result<(Arc<T>, bool), E>
    where
        E: FlightError,
        F: Fn() -> A + Send + Sync,
        A: Future<Output = Result<(T, usize), E>> + Send,
    {
        let fetch = || async {
            let (page, bytes) = fetch().await?;
            Ok(((Arc::new(page), u32::try_from(bytes).unwrap_or(u32::MAX)), CacheResult::Miss))
        };
        let ((page, _), result) = self.0.get_or(url, None, fetch).await?;
        Ok((page, result.spared()))
    }

    pub async fn insert(&self, url: &str, page: Arc<T>, bytes: usize) {
        self.0.insert(url.to_owned(), (page, u32::try_from(bytes).unwrap_or(u32::MAX))).await;
    }

    pub async fn get(&self, url: &str) -> Option<Arc<T>> {
        self.0.get(url).await.map(|(page, _)| page)
    }

    /// Removes a page because its domain was denied or its evidence deleted.
    pub async fn forget(&self, url: &str) {
        self.0.forget(url).await;
    }

    #[cfg(test)]
    async fn held(&self) -> u64 {
        self.0.held().await
    }
}

#[cfg(test)]
mod tests;

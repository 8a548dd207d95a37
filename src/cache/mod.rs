//! What was asked or read lately, in memory: the first level before the store's tables.
//!
//! Each cache lets one caller ask for a key while the others who want the same wait for its answer (single flight). An
//! error is never kept. When the one who asks runs out of time or goes away, one of those who wait asks anew with its
//! own time.
//!
//! What a cache never does: ask by itself, outlive its time, grow beyond its bound, or write to a disk: so answers of
//! providers whose terms forbid storing may pass through, for as long as the time to live, which is short.
//!
//! To add a cache: wrap `flight::Flight` with the key and the weight that fit, and name it after what it holds.

mod flight;
mod key;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use flight::Flight;
pub use flight::Refused;
pub use key::{claim_key, joined, normalise_query};

use crate::outbound::Observer;

/// How long and how many answers are kept.
#[derive(Debug, Clone, Copy)]
pub struct AnswerCacheSettings {
    /// Answers, not bytes: each is a few kB.
    pub capacity: u64,
    /// For answers that hold something.
    pub ttl: Duration,
    /// For "nothing was found": shorter, since the event may just not have been written about yet.
    pub empty_ttl: Duration,
}

impl Default for AnswerCacheSettings {
    fn default() -> Self {
        Self { capacity: 5_000, ttl: Duration::from_mins(15), empty_ttl: Duration::from_mins(3) }
    }
}

/// Answers of providers. `A` is theirs; this room lies below and only asks whether one is empty.
#[derive(Debug)]
pub struct AnswerCache<A: Send + Sync + 'static>(Flight<Arc<A>>);

/// Answers of search providers, by `Provider::cache_key`.
pub type SearchCache<A> = AnswerCache<A>;

/// Answers of fact-check providers, by [`claim_key`]. The level above the `fact_check_cache` table.
pub type FactCheckCache<A> = AnswerCache<A>;

impl<A: Send + Sync + 'static> Clone for AnswerCache<A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A: Send + Sync + 'static> AnswerCache<A> {
    /// `name` is the metric's label: `search` or `fact_check`.
    pub fn new(
        name: &'static str,
        settings: AnswerCacheSettings,
        is_empty: fn(&A) -> bool,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let AnswerCacheSettings { capacity, ttl, empty_ttl } = settings;
        let lifetime = move |answer: &Arc<A>| if is_empty(answer) { empty_ttl.min(ttl) } else { ttl };
        Self(Flight::new(name, capacity, |_key, _answer| 1, lifetime, observer))
    }

    /// The kept answer, or the one `ask` gives. The flag says whether this caller was spared a call: it is false only
    /// for the one whose `ask` ran. `ask` may run a second time only when another's time ran out.
    pub async fn get_or_ask<E, F, R>(&self, key: &str, ask: F) -> Result<(Arc<A>, bool), E>
    where
        E: Refused,
        F: Fn() -> R + Send + Sync,
        R: Future<Output = Result<A, E>> + Send,
    {
        self.0.get_or(key, || async { ask().await.map(Arc::new) }).await
    }

    pub async fn get(&self, key: &str) -> Option<Arc<A>> {
        self.0.get(key).await
    }

    /// Puts in what the store remembered.
    pub async fn insert(&self, key: &str, answer: Arc<A>) {
        self.0.insert(key.to_owned(), answer).await;
    }
}

/// How much of what was read is kept.
#[derive(Debug, Clone, Copy)]
pub struct PageCacheSettings {
    /// Bytes of all pages together, as the caller weighs them.
    pub max_bytes: u64,
    pub ttl: Duration,
}

impl Default for PageCacheSettings {
    fn default() -> Self {
        // A burst of items about one event meets the same few hundred pages; 48 MiB leave room in 250 MB of process.
        Self { max_bytes: 48 * 1024 * 1024, ttl: Duration::from_mins(30) }
    }
}

/// Pages that were read, by canonical URL, bounded in bytes. `T` is what reading made of a page; failures may be kept
/// too, as a variant of `T`, where the pipeline wants them remembered.
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

/// What one entry costs beside what the caller weighs, bytes: key, counters, allocations.
const ENTRY_OVERHEAD: u32 = 512;

impl<T: Send + Sync + 'static> PageCache<T> {
    pub fn new(settings: PageCacheSettings, observer: Arc<dyn Observer>) -> Self {
        let weigh = |key: &str, page: &(Arc<T>, u32)| {
            page.1.saturating_add(u32::try_from(key.len()).unwrap_or(u32::MAX)).saturating_add(ENTRY_OVERHEAD)
        };
        Self(Flight::new("page", settings.max_bytes, weigh, move |_page| settings.ttl, observer))
    }

    /// The kept page, or the one `fetch` gives with its weight in bytes. The flag says whether this caller was spared
    /// the fetch.
    pub async fn get_or_fetch<E, F, A>(&self, url: &str, fetch: F) -> Result<(Arc<T>, bool), E>
    where
        E: Refused,
        F: Fn() -> A + Send + Sync,
        A: Future<Output = Result<(T, usize), E>> + Send,
    {
        let fetch = || async {
            let (page, bytes) = fetch().await?;
            Ok((Arc::new(page), u32::try_from(bytes).unwrap_or(u32::MAX)))
        };
        let ((page, _), spared) = self.0.get_or(url, fetch).await?;
        Ok((page, spared))
    }

    /// Puts in what the store remembered.
    pub async fn insert(&self, url: &str, page: Arc<T>, bytes: usize) {
        self.0.insert(url.to_owned(), (page, u32::try_from(bytes).unwrap_or(u32::MAX))).await;
    }

    pub async fn get(&self, url: &str) -> Option<Arc<T>> {
        self.0.get(url).await.map(|(page, _)| page)
    }

    /// Forgets a page: its domain was denied, or its evidence deleted.
    pub async fn forget(&self, url: &str) {
        self.0.forget(url).await;
    }

    /// Bytes held, as weighed.
    #[cfg(test)]
    async fn held(&self) -> u64 {
        self.0.held().await
    }
}

#[cfg(test)]
mod tests;

//! What was asked or read lately: in memory, and behind it in the store for the whole fleet.
//!
//! Each cache lets one caller ask for a key while the others who want the same wait for its answer (single flight), in
//! this process by `flight`, among all processes by a claim in the store (`shared`). An error is never kept at any level.
//! When the one who asks fails, runs out of time or goes away, those who wait are told so and ask with their own time.
//! What is learnt is written to the store a moment later (`behind`), so that no item waits for it. A store that is away
//! fails nothing: providers are then asked as if nothing were known.
//!
//! What a cache never does: ask by itself, outlive its time, or grow beyond its bound. Answers of providers whose terms
//! forbid storing never leave the process, for as long as the time to live, which is short.
//!
//! To add a cache: wrap `flight::Flight` with the key and the weight that fit, and name it after what it holds.

mod behind;
mod flight;
mod key;
mod shared;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use behind::WriteBehind;
use flight::Flight;
pub use flight::Refused;
pub use key::{claim_key, joined, normalise_query};
pub use shared::{Form, SharedLevel};
use tokio::time::Instant;

use crate::outbound::{CacheResult, Observer};

/// How long and how many answers are kept.
#[derive(Debug, Clone, Copy)]
pub struct AnswerCacheSettings {
    /// Answers in memory, not bytes: each is a few kB.
    pub capacity: u64,
    /// For answers that hold something.
    pub ttl: Duration,
    /// For "nothing was found": shorter, since the event may just not have been written about yet.
    pub empty_ttl: Duration,
}

impl Default for AnswerCacheSettings {
    fn default() -> Self {
        Self { capacity: 5_000, ttl: Duration::from_mins(15), empty_ttl: Duration::from_mins(5) }
    }
}

/// What is asked, of whom, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub provider: &'static str,
    /// Two questions with the same key have the same answer. In the store it is a hash.
    pub key: &'a str,
    /// The normalised claim of a fact-check lookup, whose answers have a table of their own.
    pub claim: Option<&'a str>,
    /// Whether the answer may leave this process.
    pub shared: bool,
    /// Whoever gets the answer of another waits no longer than this.
    pub until: Instant,
    /// What the provider wants to be spared at least, also where nothing was found.
    pub keep_at_least: Duration,
}

/// An answer with the time it has left.
#[derive(Debug)]
struct Kept<A> {
    answer: Arc<A>,
    ttl: Duration,
}

impl<A> Clone for Kept<A> {
    fn clone(&self) -> Self {
        Self { answer: Arc::clone(&self.answer), ttl: self.ttl }
    }
}

/// Answers of providers. `A` is theirs; this room lies below and only asks whether one is kept briefly.
#[derive(Debug)]
pub struct AnswerCache<A: Send + Sync + 'static> {
    here: Flight<Kept<A>>,
    fleet: Option<SharedLevel<A>>,
    settings: AnswerCacheSettings,
    is_brief: fn(&A) -> bool,
}

/// Answers of search providers, by `Provider::cache_key`.
pub type SearchCache<A> = AnswerCache<A>;

/// Answers of fact-check providers, by [`claim_key`]; behind it stands the `fact_check_cache` table.
pub type FactCheckCache<A> = AnswerCache<A>;

impl<A: Send + Sync + 'static> Clone for AnswerCache<A> {
    fn clone(&self) -> Self {
        Self { here: self.here.clone(), fleet: self.fleet.clone(), settings: self.settings, is_brief: self.is_brief }
    }
}

impl<A: Send + Sync + 'static> AnswerCache<A> {
    /// `name` is the metric's label: `search` or `fact_check`. `is_brief`: whether an answer is kept for the shorter time,
    /// since it holds nothing or is not whole. Without `fleet` the process stands alone.
    pub fn new(
        name: &'static str,
        settings: AnswerCacheSettings,
        is_brief: fn(&A) -> bool,
        fleet: Option<SharedLevel<A>>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let here = Flight::new(name, settings.capacity, |_key, _answer| 1, |kept: &Kept<A>| kept.ttl, observer);
        Self { here, fleet, settings, is_brief }
    }

    /// The kept answer, or the one `ask` gives, and how it was come by. `ask` runs for one caller of the whole fleet; it
    /// runs for another only when that one's ended without an answer.
    pub async fn get_or_ask<E, F, R>(&self, question: &Question<'_>, ask: F) -> Result<(Arc<A>, CacheResult), E>
    where
        E: Refused,
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
            Ok((Kept { answer: Arc::new(answer), ttl }, CacheResult::Miss))
        };
        let (kept, result) = self.here.get_or(question.key, Some(question.until), flight).await?;
        Ok((kept.answer, result))
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
            Ok(((Arc::new(page), u32::try_from(bytes).unwrap_or(u32::MAX)), CacheResult::Miss))
        };
        let ((page, _), result) = self.0.get_or(url, None, fetch).await?;
        Ok((page, result.spared()))
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

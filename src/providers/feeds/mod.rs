//! RSS and Atom feeds of the trusted sites: what they published lately, searched in our own store.
//!
//! Feeds are configured, or found on the home pages of the allow-listed domains and remembered. The daemon reads them in
//! rounds (`poll`); a command that asks once reads them itself when nothing was ever read, for a part of its time. Entries
//! of domains that are not on the allow list are never given, whatever feed they came in.

mod poll;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::wire::is_within;
use super::{Answer, Hit, Languages, Profile, Provider, ProviderKind, Query, Storage};
use crate::domain::Clock;
use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;
use crate::language::tokens;
use crate::outbound::{AskError, Asker, Gate, GateSettings, GateStatus, PageFetcher};
use crate::store::{FeedSearch, FoundEntry, Store, StoreError};

const NAME: &str = "feeds";
/// Between two rounds of the daemon; each feed has its own pause.
const ROUND: Duration = Duration::from_mins(1);
/// The most a question waits for feeds that were never read: others can be asked meanwhile.
const LONGEST_FIRST_READ: Duration = Duration::from_secs(8);
/// Rows looked at for an answer: some are of domains that are no longer allowed.
const CANDIDATES: i64 = 100;
/// Entries this far from the claim's date are about something else.
const WINDOW: Duration = Duration::from_hours(14 * 24);

/// The lists of trusted and denied domains as of now.
pub type CurrentRules = Arc<dyn Fn() -> Arc<DomainRules> + Send + Sync>;

/// Which feeds, and how often.
#[derive(Debug, Clone)]
pub struct FeedsSettings {
    pub urls: Vec<Url>,
    /// Whether feeds are looked for on the home pages of the trusted domains.
    pub discover: bool,
    /// Least pause between two reads of one feed.
    pub interval: Duration,
    /// How long entries are kept.
    pub keep: Duration,
}

/// What it works with.
pub struct FeedsParts {
    pub store: Store,
    pub pages: Arc<PageFetcher>,
    pub rules: CurrentRules,
    pub clock: Arc<dyn Clock>,
    pub gate: Gate,
}

impl fmt::Debug for FeedsParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedsParts").field("gate", &self.gate).finish_non_exhaustive()
    }
}

/// What is fixed of it.
pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "RSS and Atom feeds",
    kind: ProviderKind::Search,
    source: SourceKind::Feeds,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "addresses, titles and summaries of what the trusted sites published in the last two weeks",
    terms: "free: feeds are published to be read; each is asked every 15 minutes at most",
    configure: "set ENRICHMENT_FEEDS_URLS, or ENRICHMENT_FEEDS_DISCOVER to true",
};

/// The gate this provider wants: the search is in our own store.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        name: NAME,
        max_wait: Duration::from_secs(10),
        rpm: 60_000,
        timeout: LONGEST_FIRST_READ * 2,
        max_bytes: usize::MAX,
        max_attempts: 1,
        cooldown,
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

/// The provider.
#[derive(Debug)]
pub struct Feeds {
    settings: FeedsSettings,
    parts: FeedsParts,
    /// When this process last read feeds for a question; held while it does.
    first_read: Mutex<Option<Instant>>,
}

pub fn new(settings: FeedsSettings, parts: FeedsParts) -> Feeds {
    Feeds { settings, parts, first_read: Mutex::default() }
}

impl Feeds {
    async fn search(&self, query: &Query, until: Instant) -> Result<Answer, AskError> {
        self.have_something(until).await?;
        let mut seen = BTreeSet::new();
        let mut stems = tokens::content_stems(&query.text, None);
        stems.retain(|stem| seen.insert(stem.clone()));
        if stems.is_empty() {
            return Ok(Answer::default());
        }
        let search = FeedSearch {
            stems: &stems,
            language: query.language.as_deref(),
            around: query.around.map(|around| (around, WINDOW)),
            limit: CANDIDATES,
        };
        let found = self.parts.store.search_feed_entries(&search).await.map_err(|error| unavailable(&error))?;
        let rules = (self.parts.rules)();
        let hits = found.into_iter().filter_map(|entry| hit(entry, query, &rules)).take(query.limit);
        Ok(Answer { hits: hits.collect(), reviews: Vec::new() })
    }

    /// Where no feed was ever read, they are read now, for half of the asker's time at most.
    async fn have_something(&self, until: Instant) -> Result<(), AskError> {
        let has_read = || async { self.parts.store.has_read_feeds().await.map_err(|error| unavailable(&error)) };
        if has_read().await? {
            return Ok(());
        }
        let now = Instant::now();
        let end = now + (until.saturating_duration_since(now) / 2).min(LONGEST_FIRST_READ);
        let mut last = self.first_read.lock().await;
        if last.is_none_or(|at| at.elapsed() >= ROUND) && !has_read().await? {
            self.round(end).await.map_err(|error| unavailable(&error))?;
            *last = Some(Instant::now());
        }
        drop(last);
        if has_read().await? {
            return Ok(());
        }
        Err(AskError::CouldNotAsk { detail: "no feed of a trusted site could be read yet".to_owned() })
    }
}

fn unavailable(error: &StoreError) -> AskError {
    AskError::CouldNotAsk { detail: error.to_string() }
}

/// The entry as a hit; `None` when its domain is not trusted, or not asked for.
fn hit(entry: FoundEntry, query: &Query, rules: &DomainRules) -> Option<Hit> {
    let url = Url::parse(&entry.url).ok()?;
    let host = url.host_str()?;
    if !rules.is_allowed(host) || rules.is_denied(host) || !is_within(&url, &query.domains) {
        return None;
    }
    Some(Hit {
        url: entry.url,
        title: entry.title,
        snippet: entry.summary,
        published_at: entry.published_at,
        language: entry.language,
        provider: NAME,
        storage: PROFILE.storage,
        content: None,
    })
}

impl Provider for Feeds {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn cost_usd(&self) -> f64 {
        0.0
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        let until = asker.until;
        Box::pin(self.parts.gate.run(asker, move || self.search(query, until)))
    }

    fn status(&self) -> GateStatus {
        self.parts.gate.status()
    }

    fn upkeep(&self) -> Option<Duration> {
        Some(ROUND.min(self.settings.interval))
    }

    fn keep_up(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            let end = Instant::now() + ROUND * 2;
            self.round(end).await.map_err(|error| error.to_string())
        })
    }
}

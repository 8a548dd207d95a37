//! RSS, Atom and JSON feeds of the trusted sites; their recent entries are searched in our store.
//!
//! 1. Feeds are configured, or found on the home pages of allow-listed domains and stored.
//! 2. The daemon reads them in rounds (`poll`). The store coordinates which process reads which feed.
//! 3. A query without fresh feeds reads them itself for part of its time. If that fails it returns an error, because
//!    old entries do not answer a question about today.
//!
//! Entries of domains outside the allow list are never returned. The gate is not shared among processes, because each
//! searches the store itself.

mod poll;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::wire::is_within;
use super::{Answer, Hit, Languages, ProbeResult, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::domain::Clock;
use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;
use crate::language::tokens;
use crate::outbound::{AskError, Asker, Gate, GateSettings, PageFetcher};
use crate::parsing::Parsers;
use crate::store::{FeedFreshness, FeedSearch, FoundEntry, Store, StoreError, WantedFeeds};
use crate::telemetry::metrics;

const NAME: &str = "feeds";
/// Interval of the daemon's rounds; each feed has its own interval.
const ROUND: Duration = Duration::from_mins(1);
/// Slack before a feed counts as stale; at least its interval.
const LEAST_SLACK: Duration = Duration::from_mins(5);
/// Maximum wait of a query for stale feeds; other providers are queried meanwhile.
const LONGEST_FIRST_READ: Duration = Duration::from_secs(8);
/// Rows read for an answer, because some domains may no longer be allowed.
const CANDIDATES: i64 = 100;
/// Entries further from the claim's date are about something else.
const WINDOW: Duration = Duration::from_hours(14 * 24);

pub type CurrentRules = Arc<dyn Fn() -> Arc<DomainRules> + Send + Sync>;

#[derive(Debug, Clone)]
pub struct FeedsSettings {
    pub urls: Vec<Url>,
    pub discover: bool,
    pub interval: Duration,
    pub keep: Duration,
}

pub struct FeedsParts {
    pub store: Store,
    pub pages: Arc<PageFetcher>,
    pub parsers: Arc<Parsers>,
    pub rules: CurrentRules,
    pub clock: Arc<dyn Clock>,
    pub gate: Gate,
}

impl fmt::Debug for FeedsParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedsParts").field("gate", &self.gate).finish_non_exhaustive()
    }
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "RSS and Atom feeds",
    kind: ProviderKind::Search,
    source: SourceKind::Feeds,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "URLs, titles and summaries of the last two weeks from trusted sites",
    terms: "free: public feeds; each is read at most every 15 minutes",
    configure: "set ENRICHMENT_FEEDS_URLS, or ENRICHMENT_FEEDS_DISCOVER to true",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings { rpm: 60_000, timeout: LONGEST_FIRST_READ * 2, max_attempts: 1, ..usual_gate(NAME, cooldown) }
}

#[derive(Debug)]
pub struct Feeds {
    settings: FeedsSettings,
    parts: FeedsParts,
    /// When this process last read feeds for a query; locked during a read.
    first_read: Mutex<Option<Instant>>,
    seen_fresh: std::sync::Mutex<Option<Instant>>,
    /// Whether the log reported that most feeds are not read.
    is_reported: AtomicBool,
}

/// How long feeds count as fresh without a check; feeds are read every 15 minutes.
const FRESH_FOR: Duration = Duration::from_secs(10);

pub fn new(settings: FeedsSettings, mut parts: FeedsParts) -> Feeds {
    // Processes compare claims and intervals, so all use the database clock.
    parts.clock = parts.store.queue_clock(parts.clock);
    Feeds {
        settings,
        parts,
        first_read: Mutex::default(),
        seen_fresh: std::sync::Mutex::default(),
        is_reported: AtomicBool::new(false),
    }
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
        Ok(Answer { hits: hits.collect(), ..Answer::default() })
    }

    /// If no feed is fresh, reads feeds for at most half of the caller's time.
    async fn have_something(&self, until: Instant) -> Result<(), AskError> {
        if self.is_known_to_be_fresh() || self.freshness().await?.fresh > 0 {
            return Ok(());
        }
        let now = Instant::now();
        let end = now + (until.saturating_duration_since(now) / 2).min(LONGEST_FIRST_READ);
        if let Ok(mut last) = timeout_at(end, self.first_read.lock()).await
            && last.is_none_or(|at| at.elapsed() >= ROUND)
            && self.freshness().await?.fresh == 0
        {
            self.round(end).await.map_err(|error| unavailable(&error))?;
            *last = Some(Instant::now());
        }
        let FeedFreshness { fresh, stale } = self.freshness().await?;
        if fresh > 0 {
            return Ok(());
        }
        let detail = match stale {
            0 => "no feed of a trusted site is known yet".to_owned(),
            _ => format!("none of {stale} feed(s) of trusted sites could be read lately"),
        };
        Err(AskError::NotReady { detail })
    }

    /// Returns the feeds to read; other stored feeds wait for the clean-up.
    fn wanted(&self) -> WantedFeeds {
        let urls = self.settings.urls.iter().map(Url::to_string).collect();
        WantedFeeds { urls, sites: if self.settings.discover { self.sites() } else { Vec::new() } }
    }

    /// Returns the trusted sites. A wildcard rule names no site.
    fn sites(&self) -> Vec<String> {
        let rules = (self.parts.rules)();
        let hosts = rules.allowed().into_iter().filter(|host| !host.starts_with("*.") && !rules.is_denied(host));
        hosts.filter(|host| host.contains('.')).map(str::to_owned).collect()
    }

    async fn freshness(&self) -> Result<FeedFreshness, AskError> {
        let slack = TimeDelta::from_std(self.settings.interval.max(LEAST_SLACK)).unwrap_or(TimeDelta::MAX / 4);
        let now = self.parts.clock.now();
        let freshness = self.parts.store.feed_freshness(&self.wanted(), now, slack).await;
        let freshness = freshness.map_err(|error| unavailable(&error))?;
        let mut seen = self.seen_fresh.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = (freshness.fresh > 0).then(Instant::now);
        Ok(freshness)
    }

    fn is_known_to_be_fresh(&self) -> bool {
        let seen = self.seen_fresh.lock().unwrap_or_else(PoisonError::into_inner);
        seen.is_some_and(|at| at.elapsed() < FRESH_FOR)
    }

    /// Records how many feeds are read, and logs a change to or from a majority of stale feeds.
    async fn report_freshness(&self) -> Result<(), AskError> {
        let FeedFreshness { fresh, stale } = self.freshness().await?;
        metrics::feeds(fresh, stale);
        let is_poor = stale > fresh;
        if is_poor != self.is_reported.swap(is_poor, Ordering::Relaxed) {
            if is_poor {
                tracing::warn!(fresh, stale, "most feeds of trusted sites failed recently");
            } else {
                tracing::info!(fresh, stale, "most feeds of trusted sites work again");
            }
        }
        Ok(())
    }
}

fn unavailable(error: &StoreError) -> AskError {
    AskError::CouldNotAsk { detail: error.to_string() }
}

/// Returns the entry as a hit; `None` if its domain is not trusted or not in the query.
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

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.parts.gate]
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        let until = asker.until;
        Box::pin(self.parts.gate.run(asker, move || self.search(query, until)))
    }

    /// Reads the configured feeds if none is fresh. It does not search sites for feeds, because that reads many pages;
    /// the daemon does it.
    fn probe<'a>(&'a self, _paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<ProbeResult, AskError>> {
        let until = asker.until;
        let look = move || async move {
            if !self.settings.urls.is_empty() {
                self.have_something(until).await?;
            } else if self.freshness().await?.fresh == 0 {
                let detail = "no feed of a trusted site was read lately; a running daemon finds and reads them";
                return Err(AskError::NotReady { detail: detail.to_owned() });
            }
            Ok(ProbeResult::Answered { failed: Vec::new() })
        };
        Box::pin(self.parts.gate.run(asker, look))
    }

    fn upkeep(&self) -> Option<Duration> {
        Some(ROUND.min(self.settings.interval))
    }

    fn keep_up(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            let end = Instant::now() + ROUND * 2;
            self.round(end).await.map_err(|error| error.to_string())?;
            self.report_freshness().await.map_err(|error| error.to_string())
        })
    }
}

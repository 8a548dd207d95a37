//! RSS, Atom and JSON feeds of the trusted sites: what they published lately, searched in our own store.
//!
//! Feeds are configured, or found on the home pages of the allow-listed domains and remembered. The daemon reads them in
//! rounds (`poll`); a question whose feeds were not read lately reads them itself, for a part of its time, and could not be
//! asked where that fails: what was published three weeks ago is no answer about today. Entries of domains that are not
//! on the allow list are never given, whatever feed they came in.
//!
//! The store that is searched is this process's own way to it, so its gate is no business of the fleet's; who reads which
//! feed when is agreed on in the store.

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
use super::{Answer, Hit, Languages, Probed, Profile, Provider, ProviderKind, Query, Storage};
use crate::domain::Clock;
use crate::domain::item::SourceKind;
use crate::domain::rules::DomainRules;
use crate::language::tokens;
use crate::outbound::{AskError, Asker, Gate, GateSettings, GateStatus, PageFetcher};
use crate::parsing::Parsers;
use crate::store::{FeedFreshness, FeedSearch, FoundEntry, Store, StoreError, WantedFeeds};
use crate::telemetry::metrics;

const NAME: &str = "feeds";
/// Between two rounds of the daemon; each feed has its own pause.
const ROUND: Duration = Duration::from_mins(1);
/// A feed may come so much later than it should before it counts as not read lately, or by its pause if that is longer.
const LEAST_SLACK: Duration = Duration::from_mins(5);
/// The most a question waits for feeds that were not read lately: others can be asked meanwhile.
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
    /// When some were last seen to be fresh.
    seen_fresh: std::sync::Mutex<Option<Instant>>,
    /// Whether it was told that most feeds are not read.
    told: AtomicBool,
}

/// For so long feeds that were fresh are taken to be: they are read every quarter of an hour.
const FRESH_FOR: Duration = Duration::from_secs(10);

pub fn new(settings: FeedsSettings, mut parts: FeedsParts) -> Feeds {
    // Claims and pauses are compared between processes, so all go by the clock of the database.
    parts.clock = parts.store.queue_clock(parts.clock);
    Feeds {
        settings,
        parts,
        first_read: Mutex::default(),
        seen_fresh: std::sync::Mutex::default(),
        told: AtomicBool::new(false),
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

    /// Where no feed was read lately, they are read now, for half of the asker's time at most.
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

    /// What is read now; whatever else is known rests until it is cleaned up.
    fn wanted(&self) -> WantedFeeds {
        let urls = self.settings.urls.iter().map(Url::to_string).collect();
        WantedFeeds { urls, sites: if self.settings.discover { self.sites() } else { Vec::new() } }
    }

    /// Trusted sites. A rule for everything below a suffix names none.
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

    /// Tells how many feeds are read, and once aloud when most of them are not.
    async fn tell(&self) -> Result<(), AskError> {
        let FeedFreshness { fresh, stale } = self.freshness().await?;
        metrics::feeds(fresh, stale);
        let is_poor = stale > fresh;
        if is_poor != self.told.swap(is_poor, Ordering::Relaxed) {
            if is_poor {
                tracing::warn!(fresh, stale, "most feeds of the trusted sites could not be read lately");
            } else {
                tracing::info!(fresh, stale, "most feeds of the trusted sites are read again");
            }
        }
        Ok(())
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

    /// The configured feeds are read where none was read lately. Those that are yet to be found at trusted sites are not
    /// looked for: that is a round of many pages, which the daemon makes.
    fn probe<'a>(&'a self, _paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<Probed, AskError>> {
        let until = asker.until;
        let look = move || async move {
            if !self.settings.urls.is_empty() {
                self.have_something(until).await?;
            } else if self.freshness().await?.fresh == 0 {
                let detail = "no feed of a trusted site was read lately; a running daemon finds and reads them";
                return Err(AskError::NotReady { detail: detail.to_owned() });
            }
            Ok(Probed::Answered { failed: Vec::new() })
        };
        Box::pin(self.parts.gate.run(asker, look))
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
            self.round(end).await.map_err(|error| error.to_string())?;
            self.tell().await.map_err(|error| error.to_string())
        })
    }
}

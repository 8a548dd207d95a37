//! Whether a site lets us fetch a page: its `robots.txt`, asked for once and kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use tokio::time::timeout;
use url::Url;

use super::super::observer::CacheResult;
use super::super::robots::{self, Robots};
use super::{AtCap, FetchError, PageFetcher, redirect_target};

/// How long a file is believed; RFC 9309 (2.4) allows no more than a day.
const KEPT: Duration = Duration::from_hours(24);
/// After a server failed over its file, it is asked again no sooner.
const ASKED_AGAIN: Duration = Duration::from_mins(5);
/// Memory for the rules of all sites together, bytes. A site's rules for us are some hundred bytes.
const MEMORY: u64 = 8 * 1024 * 1024;
/// What an entry costs beside its rules.
const ENTRY: u32 = 512;
/// Redirects of the file that are followed; behind more of them there is no file (RFC 9309, 2.3.1.2).
const REDIRECTS: usize = 5;
/// The file may take this long, and no more than half of the page's time.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest pause that a site may ask for. A page has seconds, not minutes: a site that wants more is asked at this
/// pace, and gives fewer pages.
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// What is known of one site.
#[derive(Debug, Clone)]
enum Known {
    Rules(Arc<Robots>),
    /// Its server failed: what it would say is not known, so everything is forbidden for now (2.3.1.4).
    Unreachable,
}

/// The files of all sites asked lately, by scheme, host and port.
#[derive(Debug)]
pub(super) struct Permissions(Cache<String, Known>);

struct Lifetime {
    kept: Duration,
    asked_again: Duration,
}

impl Expiry<String, Known> for Lifetime {
    fn expire_after_create(&self, _site: &String, known: &Known, _created_at: Instant) -> Option<Duration> {
        Some(match known {
            Known::Rules(_) => self.kept,
            Known::Unreachable => self.asked_again,
        })
    }
}

impl Default for Permissions {
    fn default() -> Self {
        Self::lasting(KEPT, ASKED_AGAIN)
    }
}

impl Permissions {
    pub(super) fn lasting(kept: Duration, asked_again: Duration) -> Self {
        let weigh = |site: &String, known: &Known| {
            let rules = if let Known::Rules(robots) = known { robots.weight() } else { 0 };
            rules.saturating_add(ENTRY).saturating_add(u32::try_from(site.len()).unwrap_or(u32::MAX))
        };
        let lifetime = Lifetime { kept, asked_again };
        Self(Cache::builder().name("robots").max_capacity(MEMORY).weigher(weigh).expire_after(lifetime).build())
    }
}

impl PageFetcher {
    /// Gives the pause the site asks for between two requests, zero where it asks for none.
    pub(super) async fn permission(
        &self,
        url: &Url,
        host: &str,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<Duration, FetchError> {
        if !self.settings.respect_robots {
            return Ok(Duration::ZERO);
        }
        let site = url.origin().ascii_serialization();
        let known = self.permissions.0.get(&site).await;
        self.observer.cache("robots", if known.is_some() { CacheResult::Hit } else { CacheResult::Miss });
        let known = match known {
            Some(known) => known,
            // Single flight: whoever comes meanwhile waits for the same answer. When the one who asks runs out of time,
            // one of those who wait asks anew. Errors are not kept: they are those of the page as well.
            None => self
                .permissions
                .0
                .try_get_with(site, self.ask(url, is_denied))
                .await
                .map_err(|error: Arc<FetchError>| FetchError::clone(&error))?,
        };
        match known {
            Known::Rules(robots) if robots.allows(url) => Ok(robots.crawl_delay.unwrap_or_default().min(LONGEST_DELAY)),
            Known::Rules(_) => Err(FetchError::Robots { host: host.to_owned() }),
            Known::Unreachable => Err(FetchError::RobotsUnreachable { host: host.to_owned() }),
        }
    }

    /// Asks a site for its file, within the time of the page that is wanted.
    async fn ask(&self, url: &Url, is_denied: &(dyn Fn(&str) -> bool + Send + Sync)) -> Result<Known, FetchError> {
        let patience = PATIENCE.min(self.settings.timeout / 2);
        match timeout(patience, self.robots_of(url, is_denied)).await {
            Ok(Err(FetchError::Timeout | FetchError::TooSlow)) | Err(_) => Ok(Known::Unreachable),
            Ok(outcome) => outcome,
        }
    }

    async fn robots_of(
        &self,
        url: &Url,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<Known, FetchError> {
        let none = || Known::Rules(Arc::new(Robots::everything()));
        let Ok(mut url) = url.join("/robots.txt") else { return Ok(none()) };
        for _ in 0..=REDIRECTS {
            url.set_fragment(None);
            match self.check(&url, is_denied) {
                Ok(_host) => {}
                // A redirect that leads to nothing fetchable leads to no file.
                Err(FetchError::BadUrl | FetchError::Scheme) => return Ok(none()),
                Err(error) => return Err(error),
            }
            let _place = self.places.acquire().await.ok();
            let hop = match self.hop(&url, &super::Validators::default()).await {
                // Recordings made before the file was asked for hold none; what they do hold was fetched then.
                Err(FetchError::NoRecording) => return Ok(none()),
                outcome => outcome?,
            };
            match hop.status {
                200..=299 => {
                    return Ok(match hop.body.read(robots::MAX_BYTES, AtCap::Cut).await {
                        Ok(body) => Known::Rules(Arc::new(Robots::parse(&body))),
                        // Half a file may lack the rule that forbids.
                        Err(_unreadable) => Known::Unreachable,
                    });
                }
                301 | 302 | 303 | 307 | 308 => match redirect_target(&hop, &url) {
                    Ok(Some(next)) => url = next,
                    _ => return Ok(none()),
                },
                // "Not now" is no "there is none".
                429 | 500.. => return Ok(Known::Unreachable),
                _ => return Ok(none()),
            }
        }
        Ok(none())
    }
}

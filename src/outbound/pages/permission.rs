//! Whether a site permits fetching a page, by its `robots.txt`.
//!
//! The file is cached in the process. If the server fails to send it, the site's pages are forbidden for some minutes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use tokio::time::timeout;
use url::Url;

use super::super::fetch_error::FetchError;
use super::super::observer::CacheResult;
use super::super::robots::{self, Robots};
use super::hop::redirect_target;
use super::{AtCap, PageFetcher};

/// Cache lifetime; RFC 9309 (2.4) allows at most a day.
const KEPT: Duration = Duration::from_hours(24);
/// Time before a failed file is requested again.
const ASKED_AGAIN: Duration = Duration::from_mins(5);
/// Cache size, bytes. A site's rules have some hundred bytes.
const MEMORY: u64 = 8 * 1024 * 1024;
/// Bytes of an entry without rules.
const ENTRY: u32 = 512;
/// Maximum redirects; after more there is no file (RFC 9309, 2.3.1.2).
const REDIRECTS: usize = 5;
/// Maximum time for the file; also at most half of the page's time.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum pause that a site may request. A page has seconds; a stricter site gives fewer pages.
const LONGEST_DELAY: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
struct SiteRules {
    /// `None`: the server failed, so everything is forbidden for now (RFC 9309, 2.3.1.4).
    rules: Option<Arc<Robots>>,
    lasts: Duration,
}

/// A site's file: `None` if the server failed, empty if there is no file.
type File = Option<Vec<u8>>;

impl SiteRules {
    fn of(file: &File, lasts: Duration) -> Self {
        Self { rules: file.as_ref().map(|file| Arc::new(Robots::parse(file))), lasts }
    }
}

/// By scheme, host and port.
#[derive(Debug)]
pub(super) struct Permissions {
    known: Cache<String, SiteRules>,
    kept: Duration,
    asked_again: Duration,
}

struct Lifetime;

impl Expiry<String, SiteRules> for Lifetime {
    fn expire_after_create(&self, _site: &String, known: &SiteRules, _created_at: Instant) -> Option<Duration> {
        Some(known.lasts)
    }
}

impl Default for Permissions {
    fn default() -> Self {
        Self::lasting(KEPT, ASKED_AGAIN)
    }
}

impl Permissions {
    pub(super) fn lasting(kept: Duration, asked_again: Duration) -> Self {
        let weigh = |site: &String, known: &SiteRules| {
            let rules = known.rules.as_ref().map_or(0, |robots| robots.weight());
            rules.saturating_add(ENTRY).saturating_add(u32::try_from(site.len()).unwrap_or(u32::MAX))
        };
        let known = Cache::builder().name("robots").max_capacity(MEMORY).weigher(weigh).expire_after(Lifetime).build();
        Self { known, kept, asked_again }
    }

    fn lasts(&self, file: &File) -> Duration {
        if file.is_some() { self.kept } else { self.asked_again }
    }
}

impl PageFetcher {
    /// Returns the pause that the site requests between two requests.
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
        let known = self.permissions.known.get(&site).await;
        self.observer.cache("robots", if known.is_some() { CacheResult::Hit } else { CacheResult::Miss });
        let known = if let Some(known) = known {
            known
        } else {
            // Single flight: concurrent callers share one request, and one of them requests again if the first leaves.
            // Errors are not cached, because they may be the page's.
            let known = self.permissions.known.try_get_with(site, self.learn(url, is_denied)).await;
            known.map_err(|error: Arc<FetchError>| FetchError::clone(&error))?
        };
        match known.rules {
            Some(robots) if robots.allows(url) => Ok(robots.crawl_delay.unwrap_or_default().min(LONGEST_DELAY)),
            Some(_) => Err(FetchError::Robots { host: host.to_owned() }),
            None => Err(FetchError::RobotsUnreachable { host: host.to_owned() }),
        }
    }

    async fn learn(
        &self,
        url: &Url,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<SiteRules, FetchError> {
        let patience = PATIENCE.min(self.settings.timeout / 2);
        let file = match timeout(patience, self.robots_of(url, is_denied)).await {
            Ok(Err(FetchError::Timeout | FetchError::TooSlow)) | Err(_) => None,
            Ok(outcome) => outcome?,
        };
        Ok(SiteRules::of(&file, self.permissions.lasts(&file)))
    }

    async fn robots_of(&self, url: &Url, is_denied: &(dyn Fn(&str) -> bool + Send + Sync)) -> Result<File, FetchError> {
        // An empty file forbids nothing.
        let none = || Some(Vec::new());
        let Ok(mut url) = url.join("/robots.txt") else { return Ok(none()) };
        for _ in 0..=REDIRECTS {
            url.set_fragment(None);
            match self.check(&url, is_denied) {
                Ok(_host) => {}
                // A redirect to an unusable URL means no file.
                Err(FetchError::BadUrl | FetchError::Scheme) => return Ok(none()),
                Err(error) => return Err(error),
            }
            let _place = self.places.acquire().await.ok();
            let hop = match self.hop(&url, &super::Validators::default()).await {
                // Old recordings have no `robots.txt`; their pages were fetched.
                Err(FetchError::NoRecording) => return Ok(none()),
                outcome => outcome?,
            };
            match hop.status {
                // A partial file may lack the forbidding rule.
                200..=299 => return Ok(hop.body.read(robots::MAX_BYTES, AtCap::Cut).await.ok()),
                301 | 302 | 303 | 307 | 308 => match redirect_target(&hop, &url) {
                    Ok(Some(next)) => url = next,
                    _ => return Ok(none()),
                },
                // "Not now" is not "no file".
                429 | 500.. => return Ok(None),
                _ => return Ok(none()),
            }
        }
        Ok(none())
    }
}

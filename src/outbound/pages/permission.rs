//! Whether a site lets us fetch a page: its `robots.txt`, asked for once and kept. Processes that share a database ask
//! once for all of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use tokio::time::{sleep, timeout};
use url::Url;

use super::super::fetch_error::FetchError;
use super::super::observer::CacheResult;
use super::super::robots::{self, Robots};
use super::super::ssrf_guard;
use super::hop::redirect_target;
use super::{AtCap, PageFetcher};
use crate::store::{RobotsLook, Store, StoreError};

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

/// Between two looks whether another process has the file.
const LOOK_AGAIN: Duration = Duration::from_millis(150);

/// What is known of one site.
#[derive(Debug, Clone)]
struct Known {
    /// None: its server failed. What it would say is not known, so everything is forbidden for now (2.3.1.4).
    rules: Option<Arc<Robots>>,
    lasts: Duration,
}

/// What a site served: nothing where it failed, an empty file where it has none.
type File = Option<Vec<u8>>;

impl Known {
    fn of(file: &File, lasts: Duration) -> Self {
        Self { rules: file.as_ref().map(|file| Arc::new(Robots::parse(file))), lasts }
    }
}

/// The files of all sites asked lately, by scheme, host and port.
#[derive(Debug)]
pub(super) struct Permissions {
    known: Cache<String, Known>,
    kept: Duration,
    asked_again: Duration,
}

struct Lifetime;

impl Expiry<String, Known> for Lifetime {
    fn expire_after_create(&self, _site: &String, known: &Known, _created_at: Instant) -> Option<Duration> {
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
        let weigh = |site: &String, known: &Known| {
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
        let known = self.permissions.known.get(&site).await;
        self.observer.cache("robots", if known.is_some() { CacheResult::Hit } else { CacheResult::Miss });
        let known = if let Some(known) = known {
            known
        } else {
            // Single flight: whoever comes meanwhile waits for the same answer. When the one who asks runs out of time,
            // one of those who wait asks anew. Errors are not kept: they are those of the page as well.
            let is_private = ssrf_guard::is_private_host(host);
            let known = self.learn(&site, url, is_private, is_denied);
            let known = self.permissions.known.try_get_with(site.clone(), known).await;
            known.map_err(|error: Arc<FetchError>| FetchError::clone(&error))?
        };
        match known.rules {
            Some(robots) if robots.allows(url) => Ok(robots.crawl_delay.unwrap_or_default().min(LONGEST_DELAY)),
            Some(_) => Err(FetchError::Robots { host: host.to_owned() }),
            None => Err(FetchError::RobotsUnreachable { host: host.to_owned() }),
        }
    }

    /// What the fleet knows of a site, or else the site itself says.
    async fn learn(
        &self,
        site: &str,
        url: &Url,
        is_private: bool,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<Known, FetchError> {
        let patience = PATIENCE.min(self.settings.timeout / 2);
        let fleet = self.hosts.fleet().filter(|_| !is_private);
        if let Some(store) = fleet {
            // Not heard in time: who asks is as good as gone.
            let heard = timeout(patience, heard(store, site, patience)).await.unwrap_or(Ok(None));
            match heard {
                Ok(Some(known)) => return Ok(known),
                Ok(None) => {}
                Err(error) => tracing::warn!(site, %error, "what others know of robots.txt cannot be had"),
            }
        }
        let file = match timeout(patience, self.robots_of(url, is_denied)).await {
            Ok(Err(FetchError::Timeout | FetchError::TooSlow)) | Err(_) => Ok(None),
            Ok(outcome) => outcome,
        };
        if let Some(store) = fleet {
            let told = match &file {
                Ok(file) => store.keep_robots(site, file.as_deref(), self.permissions.lasts(file)).await,
                Err(_of_the_page) => store.ask_robots_again(site).await,
            };
            if let Err(error) = told {
                tracing::warn!(site, %error, "others cannot be told what robots.txt says");
            }
        }
        file.map(|file| Known::of(&file, self.permissions.lasts(&file)))
    }

    async fn robots_of(&self, url: &Url, is_denied: &(dyn Fn(&str) -> bool + Send + Sync)) -> Result<File, FetchError> {
        // An empty file forbids nothing.
        let none = || Some(Vec::new());
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
                // Half a file may lack the rule that forbids.
                200..=299 => return Ok(hop.body.read(robots::MAX_BYTES, AtCap::Cut).await.ok()),
                301 | 302 | 303 | 307 | 308 => match redirect_target(&hop, &url) {
                    Ok(Some(next)) => url = next,
                    _ => return Ok(none()),
                },
                // "Not now" is no "there is none".
                429 | 500.. => return Ok(None),
                _ => return Ok(none()),
            }
        }
        Ok(none())
    }
}

/// What another process heard of a site, waited for while it asks; none where it is ours to ask.
async fn heard(store: &Store, site: &str, patience: Duration) -> Result<Option<Known>, StoreError> {
    loop {
        match store.look_at_robots(site, patience).await? {
            RobotsLook::Known { file, expires_in } => return Ok(Some(Known::of(&file, expires_in))),
            RobotsLook::Ask => return Ok(None),
            RobotsLook::Asked => sleep(LOOK_AGAIN).await,
        }
    }
}

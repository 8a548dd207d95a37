//! Fetches untrusted pages: from public addresses only, with limits on bytes, time and redirects.
//!
//! Every hop passes all checks again:
//!
//! 1. scheme, user information, deny list and address ([`PageFetcher::check`]),
//! 2. `robots.txt` (`permission`),
//! 3. a permit for the host; all processes share its pauses and cool-downs (`hosts`).
//!
//! `transfer` reads bodies, `kind` rejects other content, `blocked` recognises bot checks. The fetcher never evades a
//! bot check, sends cookies or keys, uses a proxy, or follows a redirect in markup or script.
//!
//! To add a rule, extend [`PageFetcher::check`] if it needs no network, else the code next to `permission`. To add a
//! cause of failure, add a [`FetchError`] variant and its label to the metrics catalogue.

mod blocked;
mod hop;
mod hosts;
mod kind;
mod permission;
#[cfg(test)]
mod tests;
mod transfer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LAST_MODIFIED,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use hop::{failed_then, redirect_target, refusal, rest_asked_for};
use hosts::{HostRequest, Hosts, NoSlot, Slot};
use permission::Permissions;
use transfer::AtCap;

use super::body_error::BodyError;
use super::client::{BuildError, client_builder};
use super::decode;
use super::excerpt::excerpt;
use super::fetch_error::{FetchError, classify};
use super::names;
use super::observer::{NoObserver, Observer};
use super::record::{ExchangeRecorder, Recorder};
use super::replay::{Archive, RecordedOutcome};
use super::response::header_map;
use super::ssrf_guard::{self, Guard, GuardedResolver, Lookup};
use crate::domain::limits::is_storable_url;
use crate::store::Store;

/// Maximum time from the request to the response head.
const FIRST_BYTE: Duration = Duration::from_secs(10);
/// Bytes of an HTTP/2 header list.
const LARGEST_HEADERS: u32 = 64 * 1024;
/// A longer etag or date is not kept.
const LONGEST_VALIDATOR: usize = 512;
const ACCEPTED: &str = "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.8,application/xml;q=0.7,*/*;q=0.1";

#[derive(Debug, Clone)]
pub struct PageSettings {
    /// Maximum time for a page with all redirects.
    pub timeout: Duration,
    /// Maximum time for TCP and TLS.
    pub connect_timeout: Duration,
    /// Maximum body size after decompression.
    pub max_bytes: usize,
    /// Allows private addresses and any port, for tests.
    pub allow_private: bool,
    /// Allowed ports in addition to 80 and 443.
    pub extra_ports: Vec<u16>,
    pub user_agent: String,
    pub max_redirects: usize,
    /// Concurrent requests to all hosts.
    pub concurrency: usize,
    /// Concurrent requests of this process to one host.
    pub per_host: usize,
    /// Minimum time between starts of requests to one host; `robots.txt` may extend it. Does not apply to private
    /// addresses.
    pub host_pause: Duration,
    /// Obeys `robots.txt`. Switch off for your own sites only.
    pub respect_robots: bool,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            max_bytes: 4 * 1024 * 1024,
            allow_private: false,
            extra_ports: Vec::new(),
            user_agent: concat!("corroborate/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_redirects: 5,
            concurrency: 64,
            per_host: 2,
            host_pause: Duration::from_millis(200),
            respect_robots: true,
        }
    }
}

#[derive(Debug, Clone)]
pub enum PageSource {
    Live,
    Record(Arc<Recorder>),
    Replay(Arc<Archive>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// After redirects, without a fragment.
    pub final_url: Url,
    /// 200 to 299.
    pub status: u16,
    pub content_type: Option<String>,
    /// Decompressed, in the page's own charset.
    pub body: Vec<u8>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// Whether a redirect led from https to http.
    pub downgraded: bool,
}

/// The validators of a response, as sent. Weak etags suffice for the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

impl Validators {
    fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let kept = |name| text(name).filter(|value| (1..=LONGEST_VALIDATOR).contains(&value.len())).map(str::to_owned);
        Self { etag: kept(ETAG), last_modified: kept(LAST_MODIFIED) }
    }

    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchOutcome {
    /// The page changed, or the server does not report whether it did.
    Page(FetchedPage),
    /// The page is unchanged. Contains the validators for the next request.
    NotModified(Validators),
}

enum Source {
    Live(reqwest::Client, Option<Arc<Recorder>>),
    Replay(Arc<Archive>),
}

/// Fetches pages. Share one instance: it holds connections and permits.
pub struct PageFetcher {
    settings: PageSettings,
    source: Source,
    guard: Guard,
    places: Semaphore,
    hosts: Hosts,
    permissions: Permissions,
    observer: Arc<dyn Observer>,
}

impl fmt::Debug for PageFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageFetcher").field("settings", &self.settings).finish_non_exhaustive()
    }
}

struct Hop {
    status: u16,
    headers: HeaderMap,
    body: HopBody,
}

enum Step {
    Next(Url),
    Fetched(FetchOutcome),
}

enum HopBody {
    Live(reqwest::Response, Option<Box<ExchangeRecorder>>),
    Recorded(Vec<u8>),
}

impl PageFetcher {
    pub fn new(settings: PageSettings, source: PageSource) -> Result<Self, BuildError> {
        let guard = if settings.allow_private { Guard::open() } else { Guard::public(&settings.extra_ports) };
        Self::with_guard(settings, source, names::system_lookup(), guard)
    }

    pub(super) fn with_guard(
        settings: PageSettings,
        source: PageSource,
        lookup: Lookup,
        guard: Guard,
    ) -> Result<Self, BuildError> {
        let source = match source {
            PageSource::Replay(archive) => Source::Replay(archive),
            live @ (PageSource::Live | PageSource::Record(_)) => {
                let client = client_builder(&settings.user_agent)
                    .connect_timeout(settings.connect_timeout)
                    .dns_resolver(GuardedResolver::new(lookup, guard.clone()))
                    .http2_max_header_list_size(LARGEST_HEADERS)
                    .build();
                let recorder = if let PageSource::Record(recorder) = live { Some(recorder) } else { None };
                Source::Live(client.map_err(|error| BuildError::from_reqwest(&error))?, recorder)
            }
        };
        let places = Semaphore::new(settings.concurrency.max(1));
        let (hosts, permissions) = (Hosts::new(settings.per_host), Permissions::default());
        Ok(Self { settings, source, guard, places, hosts, permissions, observer: Arc::new(NoObserver) })
    }

    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Shares pauses and cool-downs of hosts with every process of the store. The embedded store has one process.
    #[must_use]
    pub fn in_fleet(mut self, store: &Store) -> Self {
        if !store.is_embedded() {
            self.hosts.share(store.clone());
        }
        self
    }

    /// Fetches a page and follows redirects. `is_denied` gets each hop's host in lower case, without a trailing dot.
    pub async fn fetch(
        &self,
        url: &Url,
        deadline: Instant,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<FetchedPage, FetchError> {
        match self.fetch_if_changed(url, &Validators::default(), deadline, is_denied).await? {
            FetchOutcome::Page(page) => Ok(page),
            // A 304 to an unconditional request has no page.
            FetchOutcome::NotModified(_) => Err(FetchError::Status(304)),
        }
    }

    /// Like [`PageFetcher::fetch`], with the validators of an earlier fetch. They go to this address only, not to a
    /// redirect's target.
    pub async fn fetch_if_changed(
        &self,
        url: &Url,
        known: &Validators,
        deadline: Instant,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<FetchOutcome, FetchError> {
        let patience = Instant::now() + self.settings.timeout;
        let mut url = url.clone();
        url.set_fragment(None);
        let end = patience.min(deadline);
        match timeout_at(end, self.follow(url, known, end, is_denied)).await {
            // Either timer may be seen first.
            Ok(Err(FetchError::HostBusy { .. } | FetchError::Timeout)) | Err(_) if Instant::now() >= deadline => {
                Err(FetchError::Deadline)
            }
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(FetchError::Timeout),
        }
    }

    async fn follow(
        &self,
        mut url: Url,
        known: &Validators,
        end: Instant,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<FetchOutcome, FetchError> {
        let mut downgraded = false;
        for number in 0..=self.settings.max_redirects {
            url.set_fragment(None);
            let host = self.check(&url, is_denied)?;
            let pause = self.permission(&url, &host, is_denied).await?;
            let slot = self.slot(&host, pause, end).await?;
            let nothing = Validators::default();
            let known = if number == 0 { known } else { &nothing };
            let step = self.step(&url, known, &slot).await;
            // Held until the body is read.
            drop(slot);
            match step? {
                Step::Next(next) => {
                    downgraded |= url.scheme() == "https" && next.scheme() == "http";
                    url = next;
                }
                Step::Fetched(FetchOutcome::Page(page)) => {
                    return Ok(FetchOutcome::Page(FetchedPage { downgraded, ..page }));
                }
                Step::Fetched(unchanged) => return Ok(unchanged),
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn step(&self, url: &Url, known: &Validators, slot: &Slot) -> Result<Step, FetchError> {
        // After the host's permit, so that waiting for a slow host uses no place. Never closed.
        let _place = self.places.acquire().await.ok();
        let hop = self.hop(url, known).await?;
        if let Some(next) = redirect_target(&hop, url)? {
            return Ok(Step::Next(next));
        }
        if hop.status == 304 && !known.is_empty() {
            let sent = Validators::of(&hop.headers);
            return Ok(Step::Fetched(FetchOutcome::NotModified(Validators {
                etag: sent.etag.or_else(|| known.etag.clone()),
                last_modified: sent.last_modified.or_else(|| known.last_modified.clone()),
            })));
        }
        if let Some(rest) = rest_asked_for(&hop) {
            slot.rest(rest).await;
        }
        Ok(Step::Fetched(FetchOutcome::Page(self.read(hop, url.clone()).await?)))
    }

    /// Applies the rules that need no network. Returns the host.
    fn check(&self, url: &Url, is_denied: &(dyn Fn(&str) -> bool + Send + Sync)) -> Result<String, FetchError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchError::Scheme);
        }
        if !is_storable_url(url.as_str()) || !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::BadUrl);
        }
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() {
            return Err(FetchError::BadUrl);
        }
        if is_denied(&host) {
            return Err(FetchError::Denied { host });
        }
        self.guard.check_url(url)?;
        Ok(host)
    }

    /// Waits for the host's permit until `end`. A missing permit is no fault of the server.
    async fn slot(&self, host: &str, crawl_delay: Duration, end: Instant) -> Result<Slot, FetchError> {
        let is_private = ssrf_guard::is_private_host(host);
        let pause = if is_private { Duration::ZERO } else { self.settings.host_pause.max(crawl_delay) };
        let wish = HostRequest { host, pause, end };
        match timeout_at(end, self.hosts.slot(wish)).await {
            // Too late to finish a request.
            Ok(Ok(slot)) if Instant::now() < end => Ok(slot),
            Ok(Err(NoSlot::Resting(rest))) => Err(FetchError::HostResting { host: host.to_owned(), rest }),
            Ok(Ok(_) | Err(NoSlot::Busy)) | Err(_) => Err(FetchError::HostBusy { host: host.to_owned() }),
        }
    }

    async fn hop(&self, url: &Url, known: &Validators) -> Result<Hop, FetchError> {
        match &self.source {
            Source::Live(client, recorder) => {
                let mut request = client
                    .get(url.clone())
                    .header(ACCEPT, HeaderValue::from_static(ACCEPTED))
                    .header(ACCEPT_ENCODING, HeaderValue::from_static(decode::ACCEPTED));
                // A recording must contain the page, not a 304.
                let known = recorder.is_none().then_some(known);
                let conditions =
                    known.map(|known| [(IF_NONE_MATCH, &known.etag), (IF_MODIFIED_SINCE, &known.last_modified)]);
                for (name, value) in conditions.into_iter().flatten() {
                    if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
                        request = request.header(name, value);
                    }
                }
                let answer = match timeout(FIRST_BYTE, request.send()).await {
                    Ok(answer) => answer.map_err(|error| classify(&error)),
                    Err(_elapsed) => Err(FetchError::Timeout),
                };
                if let (Some(recorder), Err(error)) = (recorder, &answer) {
                    ExchangeRecorder::failed(recorder, url, error);
                }
                let response = answer?;
                let (status, headers) = (response.status().as_u16(), response.headers().clone());
                let tape =
                    recorder.as_ref().map(|recorder| Box::new(ExchangeRecorder::new(recorder, url, status, &headers)));
                Ok(Hop { status, headers, body: HopBody::Live(response, tape) })
            }
            Source::Replay(archive) => {
                let outcome = archive.outcome("GET", url, None).map_err(|_missing| FetchError::NoRecording)?;
                let recorded = match outcome {
                    RecordedOutcome::Answered(recorded) => recorded,
                    RecordedOutcome::Failed(failure) => return Err(failed_then(failure, url)),
                };
                let headers = header_map(&recorded.headers);
                Ok(Hop { status: recorded.status, headers, body: HopBody::Recorded(recorded.body) })
            }
        }
    }

    async fn read(&self, hop: Hop, final_url: Url) -> Result<FetchedPage, FetchError> {
        if !(200..300).contains(&hop.status) {
            return Err(refusal(hop).await);
        }
        let text = |name| hop.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned);
        let content_type = text(CONTENT_TYPE);
        if let Some(content_type) = content_type.as_deref().filter(|content_type| !kind::is_readable(content_type)) {
            return Err(FetchError::NotAPage { content_type: excerpt(content_type) });
        }
        let Validators { etag, last_modified } = Validators::of(&hop.headers);
        let body = hop.body.read(self.settings.max_bytes, AtCap::Refuse).await?;
        if let Some(kind) = kind::of_binary(&body) {
            return Err(FetchError::NotAPage { content_type: kind.to_owned() });
        }
        Ok(FetchedPage { final_url, status: hop.status, content_type, body, etag, last_modified, downgraded: false })
    }
}

impl HopBody {
    async fn read(self, cap: usize, at_cap: AtCap) -> Result<Vec<u8>, FetchError> {
        match self {
            Self::Recorded(body) if body.len() <= cap => Ok(body),
            Self::Recorded(mut body) if at_cap == AtCap::Cut => {
                body.truncate(cap);
                Ok(body)
            }
            Self::Recorded(_) => Err(FetchError::TooLarge),
            Self::Live(response, mut tape) => {
                if let Some(tape) = &mut tape {
                    tape.reading();
                }
                let body = transfer::read(response, cap, at_cap).await.map_err(|error| match error {
                    BodyError::TooLarge => FetchError::TooLarge,
                    BodyError::Idle => FetchError::Timeout,
                    BodyError::TooSlow => FetchError::TooSlow,
                    BodyError::Encoding(detail) => FetchError::Encoding { detail },
                    BodyError::Cut(detail) => FetchError::Connect { detail: format!("cut off: {detail}") },
                });
                if let Some(tape) = tape {
                    tape.read(body.as_deref());
                }
                body
            }
        }
    }
}

//! Fetches pages that strangers wrote and linked: from public addresses only, bounded in bytes, time and hops.
//!
//! Every redirect is followed by hand, and every hop passes all checks anew: scheme, user information, deny list,
//! address. No cookies, no keys, no proxy. A page that refuses us (403, a bot wall) is left alone.
//! `robots.txt` is not read yet.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::body::{self, BodyError};
use super::client::{BuildError, client_builder, header_map};
use super::error::excerpt;
use super::guard::{self, AddressRefused, GuardedResolver, Lookup, Rule};
use super::replay::Archive;

/// Nothing for this long ends a fetch: a page that trickles is not worth its place.
const IDLE: Duration = Duration::from_secs(5);
/// Longer URLs are trackers or attacks; servers commonly refuse them too.
const LONGEST_URL: usize = 4096;
/// Hosts whose semaphores are kept before the unused ones are let go.
const HOSTS_KEPT: usize = 1024;
/// Of one HTTP/2 header list, bytes.
const LARGEST_HEADERS: u32 = 64 * 1024;
/// What is asked for: pages first, anything readable next.
const ACCEPTED: &str = "text/html,application/xhtml+xml;q=0.9,text/plain;q=0.8,application/xml;q=0.7,*/*;q=0.1";

/// How pages are fetched.
#[derive(Debug, Clone)]
pub struct PageSettings {
    /// For one page with all its redirects.
    pub timeout: Duration,
    /// To a TCP and TLS connection: a host slower than this does not deliver the page in time either.
    pub connect_timeout: Duration,
    /// Of a body, after decompression.
    pub max_bytes: usize,
    /// Opens private addresses; for tests against a local server.
    pub allow_private: bool,
    pub user_agent: String,
    /// Redirects followed at most.
    pub max_redirects: usize,
    /// Requests at a time, to all hosts together.
    pub concurrency: usize,
    /// Requests to one host at a time.
    pub per_host: usize,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            max_bytes: 4 * 1024 * 1024,
            allow_private: false,
            user_agent: concat!("corroborate/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_redirects: 5,
            concurrency: 64,
            per_host: 2,
        }
    }
}

/// Where pages come from.
#[derive(Debug, Clone)]
pub enum PageSource {
    Live,
    Replay(Arc<Archive>),
}

/// A page as it was served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// After all redirects, without a fragment.
    pub final_url: Url,
    /// 200 to 299.
    pub status: u16,
    pub content_type: Option<String>,
    /// Decompressed, in the page's own charset.
    pub body: Vec<u8>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// A redirect led from https to http.
    pub downgraded: bool,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the address of the page cannot be used: too long, without a host, or with a user name")]
    BadUrl,
    #[error("only http and https pages are fetched")]
    Scheme,
    #[error("{host} is not on the public internet")]
    PrivateAddress { host: String },
    #[error("the name of the host cannot be resolved")]
    Dns,
    #[error("the page did not come in time")]
    Timeout,
    #[error("the page's server could not be reached: {detail}")]
    Connect { detail: String },
    #[error("the page's server has no valid certificate: {detail}")]
    Tls { detail: String },
    #[error("the page redirects too often")]
    TooManyRedirects,
    #[error("the page's server answered with status {0}")]
    Status(u16),
    #[error("the page is larger than allowed")]
    TooLarge,
    #[error("what is there is no page but {content_type}")]
    NotAPage { content_type: String },
    #[error("the page's encoding cannot be undone: {detail}")]
    Encoding { detail: String },
    #[error("{host} is on the deny list")]
    Denied { host: String },
    #[error("the time was up before the page came")]
    Deadline,
    #[error("no recording for the page; record it, or fetch without replay")]
    NoRecording,
}

impl FetchError {
    /// A word from a closed set, for metrics.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::BadUrl => "bad_url",
            Self::Scheme => "scheme",
            Self::PrivateAddress { .. } => "private_address",
            Self::Dns => "dns",
            Self::Timeout => "timeout",
            Self::Connect { .. } => "connect",
            Self::Tls { .. } => "tls",
            Self::TooManyRedirects => "too_many_redirects",
            Self::Status(_) => "status",
            Self::TooLarge => "too_large",
            Self::NotAPage { .. } => "not_a_page",
            Self::Encoding { .. } => "encoding",
            Self::Denied { .. } => "denied",
            Self::Deadline => "deadline",
            Self::NoRecording => "no_recording",
        }
    }

    /// Whether trying again later may help. The others are the page's own nature, or our rules.
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Dns | Self::Timeout | Self::Connect { .. } | Self::Deadline => true,
            Self::Status(status) => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

/// What a server gave us to ask whether a page has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

/// What came of asking for a page that is known already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// It is another now, or the server does not say: here it is.
    Page(FetchedPage),
    /// It is what it was. The validators are those to ask with the next time.
    NotModified(Validators),
}

enum Source {
    Live(reqwest::Client),
    Replay(Arc<Archive>),
}

/// Fetches pages. Share one: it holds the connections and the hosts' turns.
pub struct PageFetcher {
    settings: PageSettings,
    source: Source,
    rule: Rule,
    places: Semaphore,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl fmt::Debug for PageFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageFetcher").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// One answer, before anything is concluded from it.
struct Hop {
    status: u16,
    headers: HeaderMap,
    body: HopBody,
}

enum HopBody {
    Live(reqwest::Response),
    Recorded(Vec<u8>),
}

impl PageFetcher {
    pub fn new(settings: PageSettings, source: PageSource) -> Result<Self, BuildError> {
        let rule: Rule = if settings.allow_private { |_any| true } else { guard::is_public };
        Self::with_guard(settings, source, guard::system_lookup(), rule)
    }

    pub(super) fn with_guard(
        settings: PageSettings,
        source: PageSource,
        lookup: Lookup,
        rule: Rule,
    ) -> Result<Self, BuildError> {
        let source = match source {
            PageSource::Replay(archive) => Source::Replay(archive),
            PageSource::Live => {
                let client = client_builder(&settings.user_agent)
                    .connect_timeout(settings.connect_timeout)
                    .dns_resolver(GuardedResolver::new(lookup, rule))
                    // A zstd frame may ask its reader for a window of 128 MiB; gzip and brotli stay small.
                    .zstd(false)
                    .http2_max_header_list_size(LARGEST_HEADERS)
                    .build();
                Source::Live(client.map_err(|error| BuildError::from_reqwest(&error))?)
            }
        };
        let places = Semaphore::new(settings.concurrency.max(1));
        Ok(Self { settings, source, rule, places, hosts: Mutex::default() })
    }

    /// Fetches one page, following redirects. `is_denied` is asked for the host of every hop, lower case and without a
    /// trailing dot.
    pub async fn fetch(
        &self,
        url: &Url,
        deadline: Instant,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<FetchedPage, FetchError> {
        match self.fetch_if_changed(url, &Validators::default(), deadline, is_denied).await? {
            Fetched::Page(page) => Ok(page),
            Fetched::NotModified(_) => Err(FetchError::Status(304)),
        }
    }

    /// The same for a page that was fetched before from this very address. The validators are sent to this address alone
    /// and not to where it redirects.
    pub async fn fetch_if_changed(
        &self,
        url: &Url,
        known: &Validators,
        deadline: Instant,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<Fetched, FetchError> {
        let patience = Instant::now() + self.settings.timeout;
        let fetch = self.follow(url, known, is_denied);
        match timeout_at(patience.min(deadline), fetch).await {
            Ok(outcome) => outcome,
            Err(_elapsed) if deadline < patience => Err(FetchError::Deadline),
            Err(_elapsed) => Err(FetchError::Timeout),
        }
    }

    async fn follow(
        &self,
        url: &Url,
        known: &Validators,
        is_denied: &(dyn Fn(&str) -> bool + Send + Sync),
    ) -> Result<Fetched, FetchError> {
        let mut url = url.clone();
        let mut downgraded = false;
        for number in 0..=self.settings.max_redirects {
            url.set_fragment(None);
            let host = self.check(&url, is_denied)?;
            let _turn = self.turn(&host).await;
            // After the host's turn, so that waiting for a slow host holds no place; it is never closed.
            let _place = self.places.acquire().await.ok();
            let nothing = Validators::default();
            let known = if number == 0 { known } else { &nothing };
            let hop = self.hop(&url, known).await?;
            if hop.status == 304 && *known != nothing {
                return Ok(Fetched::NotModified(known.clone()));
            }
            if let Some(next) = redirect_target(&hop, &url)? {
                downgraded |= url.scheme() == "https" && next.scheme() == "http";
                url = next;
                continue;
            }
            return self.read(hop, url, downgraded).await.map(Fetched::Page);
        }
        Err(FetchError::TooManyRedirects)
    }

    /// All rules that need no network; gives the host.
    fn check(&self, url: &Url, is_denied: &(dyn Fn(&str) -> bool + Send + Sync)) -> Result<String, FetchError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchError::Scheme);
        }
        if url.as_str().len() > LONGEST_URL || !url.username().is_empty() || url.password().is_some() {
            return Err(FetchError::BadUrl);
        }
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() {
            return Err(FetchError::BadUrl);
        }
        if is_denied(&host) {
            return Err(FetchError::Denied { host });
        }
        guard::check_literal(url, self.rule).map_err(|refused| FetchError::PrivateAddress { host: refused.host })?;
        Ok(host)
    }

    /// Waits for a place at the host; the whole fetch is bounded, hence so is this.
    async fn turn(&self, host: &str) -> Option<OwnedSemaphorePermit> {
        let places = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            if hosts.len() >= HOSTS_KEPT {
                // Those in use are held by someone else too.
                hosts.retain(|_host, places| Arc::strong_count(places) > 1);
            }
            let places = hosts.entry(host.to_owned());
            Arc::clone(places.or_insert_with(|| Arc::new(Semaphore::new(self.settings.per_host.max(1)))))
        };
        // It is never closed.
        places.acquire_owned().await.ok()
    }

    async fn hop(&self, url: &Url, known: &Validators) -> Result<Hop, FetchError> {
        match &self.source {
            Source::Live(client) => {
                let mut request = client.get(url.clone()).header(ACCEPT, HeaderValue::from_static(ACCEPTED));
                for (name, value) in [(IF_NONE_MATCH, &known.etag), (IF_MODIFIED_SINCE, &known.last_modified)] {
                    if let Some(value) = value {
                        request = request.header(name, value);
                    }
                }
                let response = request.send().await.map_err(|error| classify(&error))?;
                let (status, headers) = (response.status().as_u16(), response.headers().clone());
                Ok(Hop { status, headers, body: HopBody::Live(response) })
            }
            Source::Replay(archive) => {
                let recorded = archive.answer("GET", url).map_err(|_missing| FetchError::NoRecording)?;
                let headers = header_map(&recorded.headers);
                Ok(Hop { status: recorded.status, headers, body: HopBody::Recorded(recorded.body) })
            }
        }
    }

    async fn read(&self, hop: Hop, final_url: Url, downgraded: bool) -> Result<FetchedPage, FetchError> {
        if !(200..300).contains(&hop.status) {
            return Err(FetchError::Status(hop.status));
        }
        let text = |name| hop.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned);
        let content_type = text(CONTENT_TYPE);
        if let Some(content_type) = content_type.as_deref().filter(|content_type| !is_readable(content_type)) {
            return Err(FetchError::NotAPage { content_type: excerpt(content_type) });
        }
        let (etag, last_modified) = (text(ETAG), text(LAST_MODIFIED));
        let body = match hop.body {
            HopBody::Recorded(body) if body.len() > self.settings.max_bytes => return Err(FetchError::TooLarge),
            HopBody::Recorded(body) => body,
            HopBody::Live(response) => {
                body::read(response, self.settings.max_bytes, IDLE).await.map_err(|error| match error {
                    BodyError::TooLarge => FetchError::TooLarge,
                    BodyError::Idle => FetchError::Timeout,
                    BodyError::Encoding(detail) => FetchError::Encoding { detail },
                    BodyError::Cut(detail) => FetchError::Connect { detail: format!("cut off: {detail}") },
                })?
            }
        };
        if let Some(kind) = binary_kind(&body) {
            return Err(FetchError::NotAPage { content_type: kind.to_owned() });
        }
        Ok(FetchedPage { final_url, status: hop.status, content_type, body, etag, last_modified, downgraded })
    }
}

/// Where a redirect leads. `None` when it is none, an error when its target cannot be used.
fn redirect_target(hop: &Hop, url: &Url) -> Result<Option<Url>, FetchError> {
    if !matches!(hop.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = hop.headers.get(LOCATION) else { return Err(FetchError::Status(hop.status)) };
    // Servers send raw UTF-8 here; the header type only calls ASCII a string.
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_not_utf8| FetchError::BadUrl)?;
    url.join(location.trim()).map(Some).map_err(|_no_url| FetchError::BadUrl)
}

/// Whether a content type is text that the reading room understands. Feeds and other XML count; JSON does not.
fn is_readable(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "" | "text/html" | "text/plain" | "text/xml" | "application/xml" | "application/xhtml+xml")
        || essence.ends_with("+xml") && essence != "image/svg+xml"
        // Servers that do not know say this; the body decides.
        || matches!(essence.as_str(), "application/octet-stream" | "unknown/unknown" | "content/unknown" | "none")
}

/// What a body is that claims to be text and is not, by its first bytes.
fn binary_kind(body: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 7] = [
        (b"%PDF-", "application/pdf"),
        (b"\x89PNG", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x7fELF", "application/x-executable"),
        (b"RIFF", "application/x-riff"),
    ];
    if let Some((_, kind)) = KINDS.iter().find(|(magic, _)| body.starts_with(magic)) {
        return Some(kind);
    }
    // UTF-16 and UTF-32 with a byte order mark are full of NULs, other text has none.
    let is_wide = body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff") || body.starts_with(b"\0\0\xfe\xff");
    (!is_wide && body.iter().take(512).any(|byte| *byte == 0)).then_some("application/octet-stream")
}

fn classify(error: &reqwest::Error) -> FetchError {
    for cause in body::chain(error) {
        if let Some(refused) = cause.downcast_ref::<AddressRefused>() {
            return FetchError::PrivateAddress { host: refused.host.clone() };
        }
        if let Some(tls) = tls_error(cause) {
            return FetchError::Tls { detail: excerpt(&tls.to_string()) };
        }
    }
    if error.is_timeout() {
        FetchError::Timeout
    } else if error.is_dns() {
        FetchError::Dns
    } else if error.is_builder() {
        FetchError::BadUrl
    } else {
        FetchError::Connect { detail: body::innermost(error) }
    }
}

/// TLS errors travel inside I/O errors, one or more deep, which do not show them as their source.
fn tls_error<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    tls_error(cause.downcast_ref::<std::io::Error>()?.get_ref()?)
}

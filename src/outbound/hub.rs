//! Downloads model files from a hub and resumes interrupted downloads.
//!
//! It uses the paths of huggingface.co and its mirrors: `/<repository>/resolve/<revision>/<file>`, which redirects to a
//! store of large files. A file gets its name only when its length and checksum are right.

mod error;
mod facts;
mod part;
#[cfg(test)]
pub(crate) mod test_hub;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, ETAG, HeaderValue, IF_RANGE, LOCATION, RANGE};
use reqwest::{Method, Response, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::{sleep, timeout};
use url::Url;

use self::part::Part;
use super::backoff_delays::Delays;
use super::body_error::{BodyError, innermost};
use super::client::BuildError;
use super::{body, client};

pub use error::HubError;
pub use facts::FileFacts;

pub const DEFAULT_HUB: &str = "https://huggingface.co";
/// Maximum time without data in one attempt.
const IDLE: Duration = Duration::from_secs(30);
/// Maximum redirects: a renamed repository, its store, the store's region.
const MOST_HOPS: usize = 5;
/// Maximum successive attempts without new data.
const ATTEMPTS: u32 = 5;
/// Maximum file size if unknown: the largest weights for this runtime.
const MOST_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// Maximum size of a file in memory, such as a configuration.
const MOST_IN_MEMORY: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy)]
pub struct HubFile<'a> {
    /// `owner/name`.
    pub repository: &'a str,
    /// A commit, branch or tag.
    pub revision: &'a str,
    /// From the repository's root.
    pub path: &'a str,
}

/// Receives the bytes on disk.
pub type Progress<'a> = &'a (dyn Fn(u64) + Send + Sync);

#[derive(Debug, Clone)]
pub struct HubClient {
    client: reqwest::Client,
    hub: Url,
    token: Option<SecretString>,
    idle: Duration,
}

enum Attempt {
    Cut(HubError),
    Final(HubError),
}

impl From<HubError> for Attempt {
    fn from(error: HubError) -> Self {
        if error.is_passing() { Self::Cut(error) } else { Self::Final(error) }
    }
}

impl HubClient {
    /// Returns a client. The token goes to the hub only, never to a redirect's target.
    pub fn new(user_agent: &str, hub: Url, token: Option<SecretString>) -> Result<Self, BuildError> {
        let client = client::client_builder(user_agent).build().map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { client, hub, token, idle: IDLE })
    }

    /// The hub's address without a final slash.
    pub fn hub(&self) -> &str {
        self.hub.as_str().trim_end_matches('/')
    }

    /// Returns a file's facts without fetching it.
    ///
    /// # Errors
    /// [`HubError::NotFound`] for an unknown file, revision or repository; [`HubError::Gated`] if a login is required;
    /// others.
    pub async fn facts(&self, file: HubFile<'_>) -> Result<FileFacts, HubError> {
        let mut pauses = Delays::new();
        for _ in 1..ATTEMPTS {
            match self.head(file).await {
                Err(error) if error.is_passing() => sleep(pauses.next()).await,
                outcome => return outcome,
            }
        }
        self.head(file).await
    }

    async fn head(&self, file: HubFile<'_>) -> Result<FileFacts, HubError> {
        let mut url = self.url(file)?;
        for _ in 0..MOST_HOPS {
            let response = self.send(Method::HEAD, &url, &[]).await?;
            let facts = FileFacts::of(response.headers());
            let status = response.status();
            if status.is_success() || (status.is_redirection() && facts.is_linked()) {
                return Ok(facts);
            }
            url = self.next(file, &url, &response)?;
        }
        Err(HubError::Redirects { url: file.url(self.hub()) })
    }

    pub async fn read(&self, file: HubFile<'_>) -> Result<Vec<u8>, HubError> {
        let response = self.get(file, &[]).await?;
        let cut = |detail| HubError::Cut { file: file.path.to_owned(), detail };
        let read = timeout(self.idle, body::read(response, MOST_IN_MEMORY)).await;
        match read {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(BodyError::TooLarge)) => {
                Err(HubError::Size { file: file.path.to_owned(), expected: MOST_IN_MEMORY as u64, found: None })
            }
            Ok(Err(error)) => Err(cut(format!("{error:?}"))),
            Err(_elapsed) => Err(cut("nothing more came".to_owned())),
        }
    }

    /// Downloads a file to `target`, whose folder must exist, and returns its SHA-256. Existing data of the same
    /// content is kept.
    ///
    /// A length or checksum that differs from `facts` is an error and leaves no file at `target`. Without a checksum
    /// nothing is resumed, because the halves may not match.
    pub async fn download(
        &self,
        file: HubFile<'_>,
        facts: &FileFacts,
        target: &Path,
        heard: Progress<'_>,
    ) -> Result<String, HubError> {
        let mut part = Part::open(target, facts).await?;
        let mut pauses = Delays::new();
        let mut fruitless = 0;
        // A restarted file would seem to grow each time.
        let mut most = part.length();
        loop {
            heard(part.length());
            match self.attempt(file, facts, &mut part, heard).await {
                Ok(()) => return part.finish(file.path, facts).await,
                Err(Attempt::Final(error)) => return Err(error),
                Err(Attempt::Cut(error)) => {
                    if part.length() > most {
                        (most, fruitless) = (part.length(), 0);
                        pauses = Delays::new();
                    } else {
                        fruitless += 1;
                    }
                    if fruitless >= ATTEMPTS {
                        part.keep().await?;
                        return Err(error);
                    }
                    tracing::debug!(file = file.path, %error, "download resumed");
                    sleep(pauses.next()).await;
                }
            }
        }
    }

    async fn attempt(
        &self,
        file: HubFile<'_>,
        facts: &FileFacts,
        part: &mut Part,
        heard: Progress<'_>,
    ) -> Result<(), Attempt> {
        if facts.size.is_some_and(|size| size == part.length()) && part.length() > 0 {
            return Ok(());
        }
        let mut headers = Vec::new();
        if part.length() > 0 {
            headers.push((RANGE, format!("bytes={}-", part.length())));
            headers.extend(part.tag().map(|tag| (IF_RANGE, tag.to_owned())));
        }
        let mut response = match self.get(file, &headers).await {
            // The existing data has a wrong length and nothing follows it, so it belongs to other content.
            Err(HubError::Status { status: 416, .. }) => {
                part.begin_anew(None).await?;
                return Err(Attempt::Cut(HubError::Cut {
                    file: file.path.to_owned(),
                    detail: "what was there did not belong to it".to_owned(),
                }));
            }
            outcome => outcome?,
        };
        let tag = facts::strong_tag(response.headers().get(ETAG));
        let goes_on = response.status() == StatusCode::PARTIAL_CONTENT
            && facts::range_start(response.headers()) == Some(part.length());
        if !goes_on {
            // The server ignores ranges, or the content changed.
            part.begin_anew(tag).await?;
            if response.status() == StatusCode::PARTIAL_CONTENT {
                return Err(Attempt::Cut(HubError::Cut {
                    file: file.path.to_owned(),
                    detail: "another part came than the one asked for".to_owned(),
                }));
            }
        }
        let most = facts.size.unwrap_or(MOST_BYTES);
        let is_measured = response.content_length().is_some();
        loop {
            let piece = match timeout(self.idle, response.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    return Err(Attempt::Cut(HubError::Cut { file: file.path.to_owned(), detail: innermost(&error) }));
                }
                Err(_elapsed) => {
                    let detail = format!("nothing came for {} s", self.idle.as_secs());
                    return Err(Attempt::Cut(HubError::Cut { file: file.path.to_owned(), detail }));
                }
            };
            part.write(&piece, facts.size).await?;
            if part.length() > most {
                part.discard().await;
                return Err(Attempt::Final(HubError::Size { file: file.path.to_owned(), expected: most, found: None }));
            }
            heard(part.length());
        }
        match facts.size {
            // All announced bytes came, so a retry brings no more.
            Some(size) if part.length() < size && is_measured => {
                let found = Some(part.length());
                part.discard().await;
                Err(Attempt::Final(HubError::Size { file: file.path.to_owned(), expected: size, found }))
            }
            Some(size) if part.length() < size => Err(Attempt::Cut(HubError::Cut {
                file: file.path.to_owned(),
                detail: format!("{} of {size} bytes came", part.length()),
            })),
            _ => Ok(()),
        }
    }

    async fn get(
        &self,
        file: HubFile<'_>,
        headers: &[(reqwest::header::HeaderName, String)],
    ) -> Result<Response, HubError> {
        let mut url = self.url(file)?;
        for _ in 0..=MOST_HOPS {
            let response = self.send(Method::GET, &url, headers).await?;
            if response.status().is_success() {
                return Ok(response);
            }
            url = self.next(file, &url, &response)?;
        }
        Err(HubError::Redirects { url: file.url(self.hub()) })
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        headers: &[(reqwest::header::HeaderName, String)],
    ) -> Result<Response, HubError> {
        // Lengths and ranges must be the file's own.
        let mut request =
            self.client.request(method, url.clone()).header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(token) = self.token.as_ref().filter(|_| url.origin() == self.hub.origin()) {
            let bearer = format!("Bearer {}", token.expose_secret().trim());
            if let Ok(mut value) = HeaderValue::from_str(&bearer) {
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let away = |detail: String| HubError::Away { host: url.host_str().unwrap_or_default().to_owned(), detail };
        match timeout(self.idle, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(away(innermost(&error))),
            Err(_elapsed) => Err(away(format!("no answer in {} s", self.idle.as_secs()))),
        }
    }

    /// Returns a redirect's target, or the error of a refusal.
    fn next(&self, file: HubFile<'_>, url: &Url, response: &Response) -> Result<Url, HubError> {
        let status = response.status();
        if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Err(HubError::refused(file, self.hub(), response));
        }
        let location = response.headers().get(LOCATION).and_then(|place| std::str::from_utf8(place.as_bytes()).ok());
        let bad = || HubError::Redirects { url: file.url(self.hub()) };
        let next = url.join(location.ok_or_else(bad)?.trim()).map_err(|_no_url| bad())?;
        let is_downgrade = url.scheme() == "https" && next.scheme() != "https";
        if is_downgrade || !matches!(next.scheme(), "http" | "https") {
            return Err(bad());
        }
        Ok(next)
    }

    fn url(&self, file: HubFile<'_>) -> Result<Url, HubError> {
        Url::parse(&file.url(self.hub())).map_err(|_no_url| HubError::Redirects { url: file.url(self.hub()) })
    }
}

impl HubFile<'_> {
    pub fn url(&self, hub: &str) -> String {
        format!("{hub}/{}/resolve/{}/{}", self.repository, self.revision, self.path)
    }
}

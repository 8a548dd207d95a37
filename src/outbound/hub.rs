//! A model hub: the files of its repositories, fetched so that a cut connection costs what is missing and no more.
//!
//! Speaks the paths of huggingface.co, which its mirrors share: `/<repository>/resolve/<revision>/<file>`, sent on to a
//! store of large files. What was fetched is only ever called by its own name when its length and checksum are right.

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

/// The hub that is asked unless another is named.
pub const DEFAULT_HUB: &str = "https://huggingface.co";
/// Nothing for this long ends an attempt; the next one goes on where it stopped.
const IDLE: Duration = Duration::from_secs(30);
/// Redirects of one request: a renamed repository, its store, the store's region.
const MOST_HOPS: usize = 5;
/// Attempts in a row that bring nothing new. One that brought something begins the count anew.
const ATTEMPTS: u32 = 5;
/// Largest file where nobody said its size: the largest weights that this runtime could hold.
const MOST_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// Largest file that is read into memory: a configuration, a small fraction of it.
const MOST_IN_MEMORY: usize = 4 * 1024 * 1024;

/// A file of a repository at a revision.
#[derive(Debug, Clone, Copy)]
pub struct HubFile<'a> {
    /// `owner/name`.
    pub repository: &'a str,
    /// A commit, a branch or a tag.
    pub revision: &'a str,
    /// From the repository's root.
    pub path: &'a str,
}

/// Hears how much of a file is there: bytes on disk.
pub type Progress<'a> = &'a (dyn Fn(u64) + Send + Sync);

/// A client for one hub.
#[derive(Debug, Clone)]
pub struct HubClient {
    client: reqwest::Client,
    hub: Url,
    token: Option<SecretString>,
    idle: Duration,
}

/// How one attempt ended that did not bring the file.
enum Attempt {
    /// Worth another one.
    Cut(HubError),
    Final(HubError),
}

impl From<HubError> for Attempt {
    fn from(error: HubError) -> Self {
        if error.is_passing() { Self::Cut(error) } else { Self::Final(error) }
    }
}

impl HubClient {
    /// A client that reaches the network. The token goes to the hub alone, never to where it sends on.
    pub fn new(user_agent: &str, hub: Url, token: Option<SecretString>) -> Result<Self, BuildError> {
        let client = client::client_builder(user_agent).build().map_err(|error| BuildError::from_reqwest(&error))?;
        Ok(Self { client, hub, token, idle: IDLE })
    }

    /// The hub's address without a slash at its end.
    pub fn hub(&self) -> &str {
        self.hub.as_str().trim_end_matches('/')
    }

    /// What the hub says of a file, without fetching it.
    ///
    /// # Errors
    /// [`HubError::NotFound`] for a file, revision or repository that is not there, [`HubError::Gated`] where one must be
    /// somebody, and the rest.
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

    /// A small file's content.
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

    /// Brings a file to `target`, whose folder is there. What an earlier attempt left of the same content is kept and
    /// only the rest fetched, nothing where it stands at `target` already. Returns its SHA-256.
    ///
    /// `facts` say what is expected: a length and a checksum that are not met are errors, and nothing stands at `target`
    /// then. Without a checksum nothing is resumed, since nobody could tell whether both halves belong together.
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
        // Not what the last attempt found: a file that is begun anew would seem to grow each time.
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
                    tracing::debug!(file = file.path, %error, "the download goes on where it stopped");
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
            // There is nothing behind what is here, and it is not the length it should be: it is of something else.
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
            // From the start: a server that knows no ranges, or content that changed.
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
            // All that was announced came: asking again brings no more.
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

    /// The answer that holds the file, wherever the hub sends for it.
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
        // Lengths and ranges are those of the file itself.
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

    /// Where an answer sends on to, or what its refusal means.
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
    /// Its address at a hub.
    pub fn url(&self, hub: &str) -> String {
        format!("{hub}/{}/resolve/{}/{}", self.repository, self.revision, self.path)
    }
}

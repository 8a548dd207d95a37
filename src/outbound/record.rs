//! Records exchanges for [`super::replay`]: one file a run, one exchange a line, written at once.
//!
//! The first line contains the format and the start time. An incomplete last line is skipped when read. Folder and
//! files are private (0700, 0600).
//!
//! Never recorded:
//!
//! * request headers, and keys in URLs and bodies,
//! * the request's keys in a response, plain, percent-encoded or in base64,
//! * cookies and other identifying headers,
//! * responses that a provider forbids to store, unless the user asks for them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use serde::Serialize;
use url::Url;

use super::error::AskError;
use super::fetch_error::FetchError;
use super::key_fields::{is_kept_header, named_secrets, without_keys};
use super::redact::{Redactor, SHORTEST_SECRET};
use super::replay::{Failure, Head, RecordedResponse, Recording, body_hash};
use super::request::ApiRequest;
use super::response::ApiResponse;
use crate::domain::secret_names::holds_key;

#[derive(Debug, thiserror::Error)]
#[error("nothing can be recorded to {path}: {source}; give --record a folder that can be written to")]
pub struct RecordError {
    path: PathBuf,
    source: std::io::Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingSummary {
    pub file: PathBuf,
    pub exchanges: u64,
    /// Omitted, because the provider's terms forbid storing.
    pub left_out: u64,
    /// Exchanges that could not be written.
    pub lost: u64,
}

#[derive(Debug)]
pub struct Recorder {
    file: Mutex<File>,
    path: PathBuf,
    keeps_transient: bool,
    exchanges: AtomicU64,
    left_out: AtomicU64,
    lost: AtomicU64,
}

impl Recorder {
    /// Creates the folder and this run's file. `keeps_transient` also records what providers forbid to store.
    pub fn create(folder: &Path, recorded_at: DateTime<Utc>, keeps_transient: bool) -> Result<Self, RecordError> {
        let failed = |source| RecordError { path: folder.to_owned(), source };
        private_folder(folder).map_err(failed)?;
        let name = format!("{}-{:08x}.ndjson", recorded_at.format("%Y%m%dT%H%M%SZ"), rand::random::<u32>());
        let path = folder.join(name);
        let recorder = Self {
            file: Mutex::new(private_file(&path).map_err(failed)?),
            path,
            keeps_transient,
            exchanges: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        };
        recorder.line(&Head::now(recorded_at)).map_err(failed)?;
        Ok(recorder)
    }

    pub fn recorded(&self) -> RecordingSummary {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RecordingSummary {
            file: self.path.clone(),
            exchanges: count(&self.exchanges),
            left_out: count(&self.left_out),
            lost: count(&self.lost),
        }
    }

    /// Records an exchange with a provider. `transient`: responses must not be stored.
    pub(super) fn api(&self, request: &ApiRequest, transient: bool, outcome: &Result<ApiResponse, AskError>) {
        if transient && !self.keeps_transient {
            if self.left_out.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!(
                    host = request.url.host_str(),
                    "responses of this provider are not recorded because its terms forbid storing them; use --record-transient for your own use"
                );
            }
            return;
        }
        let named = named_secrets(&request.url, request.body.as_deref());
        let redactor = Redactor::new(request.secrets().into_iter().chain(named), SHORTEST_SECRET);
        let url = without_keys(&request.url);
        let mut recording = match outcome {
            Ok(answer) => Recording::answered(
                request.method.as_str(),
                &url,
                kept(answer.status, &answer.headers, &answer.body, &redactor),
            ),
            Err(error) => Recording::failed(
                request.method.as_str(),
                &url,
                Failure { label: error.label().to_owned(), detail: redactor.text(detail(&error.to_string())) },
            ),
        };
        recording.url = redactor.text(&recording.url);
        recording.request_body = request.body.as_deref().map(body_hash);
        self.keep(&recording);
    }

    fn page(&self, url: &Url, response: RecordedResponse) {
        self.keep(&Recording::answered("GET", &without_keys(url), response));
    }

    fn page_failed(&self, url: &Url, error: &FetchError) {
        let failure = Failure { label: error.label().to_owned(), detail: detail(&error.to_string()).to_owned() };
        self.keep(&Recording::failed("GET", &without_keys(url), failure));
    }

    fn keep(&self, recording: &Recording) {
        match self.line(recording) {
            Ok(()) => _ = self.exchanges.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                if self.lost.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::error!(%error, file = %self.path.display(), "recording an exchange failed");
                }
            }
        }
    }

    /// Writes a line in one call: data in the kernel survives the end of this process.
    fn line(&self, value: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)
    }
}

/// Removes an error's general first part, which the replay adds again.
fn detail(message: &str) -> &str {
    message.split_once(": ").map_or(message, |(_, detail)| detail)
}

fn kept(status: u16, headers: &HeaderMap, body: &[u8], redactor: &Redactor) -> RecordedResponse {
    let headers = headers
        .iter()
        .filter(|(name, _)| is_kept_header(name.as_str()))
        .filter_map(|(name, value)| {
            let text = std::str::from_utf8(value.as_bytes()).ok()?;
            Some((name.as_str().to_owned(), redactor.text(text)))
        })
        .collect();
    RecordedResponse { status, headers, body: redactor.bytes(body) }
}

/// Removes keys of the page's address and its redirect target: a site may send them back.
fn page_kept(url: &Url, status: u16, headers: &HeaderMap, body: &[u8]) -> RecordedResponse {
    let mut page = kept(status, headers, body, &Redactor::new(named_secrets(url, None), SHORTEST_SECRET));
    for (_, value) in page.headers.iter_mut().filter(|(name, _)| name == "location") {
        if let Some(target) = url.join(value).ok().filter(holds_key) {
            *value = without_keys(&target).into();
        }
    }
    page
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    if !folder.is_dir() {
        return DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    // A folder with content may be shared on purpose.
    if std::fs::read_dir(folder)?.next().is_none() {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// One hop, recorded at its end: with its body, its failure, or no body (a redirect, a refusal).
#[derive(Debug)]
pub(super) struct ExchangeRecorder {
    recorder: Arc<Recorder>,
    url: Url,
    state: HopState,
}

#[derive(Debug)]
enum HopState {
    Head(u16, HeaderMap),
    /// A drop now means a timeout.
    Reading(u16, HeaderMap),
    Over,
}

impl ExchangeRecorder {
    pub(super) fn new(recorder: &Arc<Recorder>, url: &Url, status: u16, headers: &HeaderMap) -> Self {
        let state = HopState::Head(status, headers.clone());
        Self { recorder: Arc::clone(recorder), url: url.clone(), state }
    }

    /// Records a hop that ended before its head came.
    pub(super) fn failed(recorder: &Recorder, url: &Url, error: &FetchError) {
        recorder.page_failed(url, error);
    }

    /// Marks the start of the body.
    pub(super) fn reading(&mut self) {
        if let HopState::Head(status, headers) = std::mem::replace(&mut self.state, HopState::Over) {
            self.state = HopState::Reading(status, headers);
        }
    }

    pub(super) fn read(mut self, body: Result<&[u8], &FetchError>) {
        let (HopState::Head(status, headers) | HopState::Reading(status, headers)) =
            std::mem::replace(&mut self.state, HopState::Over)
        else {
            return;
        };
        match body {
            Ok(body) => self.recorder.page(&self.url, page_kept(&self.url, status, &headers, body)),
            Err(error) => self.recorder.page_failed(&self.url, error),
        }
    }
}

impl Drop for ExchangeRecorder {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, HopState::Over) {
            HopState::Head(status, headers) => {
                self.recorder.page(&self.url, page_kept(&self.url, status, &headers, &[]));
            }
            HopState::Reading(..) => self.recorder.page_failed(&self.url, &FetchError::Timeout),
            HopState::Over => {}
        }
    }
}

#[cfg(test)]
mod tests;

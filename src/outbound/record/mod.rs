//! Keeps exchanges as they happen, for [`super::replay`]: one file per run, one exchange a line, written at once.
//!
//! The first line says the format and when the recording began. A line is written whole or, where the machine stops in
//! the middle of it, torn at the end of the file, which a reader skips. Folder and files are the user's own (0700, 0600).
//!
//! What never reaches the disk: request headers; keys in URLs (of pages and feeds too) and bodies; any key of the request
//! in what came back, plain, percent-encoded or in base64; cookies and what else names the asker; and answers of providers
//! whose terms forbid storing, unless the user asks for them.

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

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
#[error("nothing can be recorded to {path}: {source}; give --record a folder that can be written to")]
pub struct RecordError {
    path: PathBuf,
    source: std::io::Error,
}

/// What a run recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub file: PathBuf,
    pub exchanges: u64,
    /// Not kept, because their provider's terms forbid storing.
    pub left_out: u64,
    /// That could not be written.
    pub lost: u64,
}

/// The recorder of one run.
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
    /// Makes the folder where it is missing, and this run's file in it. `keeps_transient`: also what providers forbid to
    /// be stored, on the user's own word.
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

    /// What was recorded so far.
    pub fn recorded(&self) -> Recorded {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Recorded {
            file: self.path.clone(),
            exchanges: count(&self.exchanges),
            left_out: count(&self.left_out),
            lost: count(&self.lost),
        }
    }

    /// An exchange with a provider. `transient`: its answers must not be stored.
    pub(super) fn api(&self, request: &ApiRequest, transient: bool, outcome: &Result<ApiResponse, AskError>) {
        if transient && !self.keeps_transient {
            if self.left_out.fetch_add(1, Ordering::Relaxed) == 0 {
                tracing::warn!(
                    host = request.url.host_str(),
                    "answers of this provider are not recorded, since its terms forbid storing them; a replay will miss them. --record-transient records them for your own use"
                );
            }
            return;
        }
        let named = named_secrets(&request.url, request.body.as_deref());
        let redactor = Redactor::new(request.secrets().into_iter().chain(named), SHORTEST_SECRET);
        let url = without_keys(&request.url);
        let mut recording = match outcome {
            Ok(answer) => Recording::exact(
                request.method.as_str(),
                &url,
                &kept(answer.status, &answer.headers, &answer.body, &redactor),
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

    fn page(&self, url: &Url, response: &RecordedResponse) {
        self.keep(&Recording::exact("GET", &without_keys(url), response));
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
                    tracing::error!(%error, file = %self.path.display(), "an exchange could not be recorded");
                }
            }
        }
    }

    /// One line, in one write: what the kernel has taken survives the end of this process.
    fn line(&self, value: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)
    }
}

/// An error's own words without the sentence that all errors of its kind begin with: the replay says that again.
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

/// A page without what its address, or the one it leads to, holds under a key's name: a site may send it back.
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
    // One that was empty was made for this; another's may be shared on purpose, and only the file is closed.
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

/// One hop of a page under way. It is recorded when it is over: with its body, with the failure it ended in, or, where
/// nobody wanted the body (a redirect, a refusal), without one.
#[derive(Debug)]
pub(super) struct Tape {
    recorder: Arc<Recorder>,
    url: Url,
    state: TapeState,
}

#[derive(Debug)]
enum TapeState {
    /// The head came.
    Head(u16, HeaderMap),
    /// The body is being read; cut off here, it did not come in time.
    Reading(u16, HeaderMap),
    Over,
}

impl Tape {
    /// A hop whose head has come.
    pub(super) fn new(recorder: &Arc<Recorder>, url: &Url, status: u16, headers: &HeaderMap) -> Self {
        let state = TapeState::Head(status, headers.clone());
        Self { recorder: Arc::clone(recorder), url: url.clone(), state }
    }

    /// A hop that ended before a head came.
    pub(super) fn failed(recorder: &Recorder, url: &Url, error: &FetchError) {
        recorder.page_failed(url, error);
    }

    /// From here on the body is wanted.
    pub(super) fn reading(&mut self) {
        if let TapeState::Head(status, headers) = std::mem::replace(&mut self.state, TapeState::Over) {
            self.state = TapeState::Reading(status, headers);
        }
    }

    /// The body as it was read, or why it was not.
    pub(super) fn read(mut self, body: Result<&[u8], &FetchError>) {
        let (TapeState::Head(status, headers) | TapeState::Reading(status, headers)) =
            std::mem::replace(&mut self.state, TapeState::Over)
        else {
            return;
        };
        match body {
            Ok(body) => self.recorder.page(&self.url, &page_kept(&self.url, status, &headers, body)),
            Err(error) => self.recorder.page_failed(&self.url, error),
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, TapeState::Over) {
            TapeState::Head(status, headers) => {
                self.recorder.page(&self.url, &page_kept(&self.url, status, &headers, &[]));
            }
            TapeState::Reading(..) => self.recorder.page_failed(&self.url, &FetchError::Timeout),
            TapeState::Over => {}
        }
    }
}

#[cfg(test)]
mod tests;

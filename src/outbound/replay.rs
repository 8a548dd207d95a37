//! Recorded HTTP exchanges that replace the network in the demo, with `--replay` and in tests.
//!
//! [`Archive`] finds the recording of the same method, URL and body. Parameter order, fragment, keys, and the time of day
//! in a timestamp parameter do not count.
//!
//! It never invents a response: a request without a recording is [`MissingRecording`], never an empty result. A file
//! contains a head and then one [`Recording`] a line, as [`super::record`] writes it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::key_fields::{body_without_keys, without_keys};

const FORMAT: u32 = 2;

/// Maximum number of missed requests that are kept, to name them at the end.
const MAX_MISSED: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedResponse {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// A label of [`super::AskError`] or [`super::FetchError`].
    pub label: String,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedOutcome {
    Answered(RecordedResponse),
    Failed(Failure),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no recording for {method} {url}; record it, or ask without replay")]
pub struct MissingRecording {
    pub method: String,
    pub url: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot read the recordings in {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("no recordings in {path}: it holds no .ndjson file; give the folder that was recorded to")]
    Empty { path: PathBuf },
    #[error("the recordings in {origin} are not in the form expected: {source}")]
    NotJson { origin: String, source: serde_json::Error },
    #[error("the recordings are of format {found}, only {FORMAT} is known; record them again")]
    UnknownFormat { found: u32 },
    #[error("the recording of {url:?} cannot be used: {reason}")]
    Unusable { url: String, reason: String },
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    format: u32,
    recorded_at: DateTime<Utc>,
}

impl Head {
    pub(super) const fn now(recorded_at: DateTime<Utc>) -> Self {
        Self { format: FORMAT, recorded_at }
    }
}

/// One stored exchange. Exactly one of `body` (text), `json` (a value, sent compact) and `body_base64` is the body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    pub method: String,
    /// Without keys.
    pub url: String,
    /// Further URLs with the same response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Hash of the request body without its keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    /// 0 without a response.
    #[serde(default)]
    pub status: u16,
    /// Why no response came; response fields are then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// `source`, `translated` or `composed` if the content did not come over the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Origin of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Recording {
    /// Returns the recording of a response. `url` must not contain a key.
    pub fn answered(method: &str, url: &Url, response: RecordedResponse) -> Self {
        let (body, body_base64) = match String::from_utf8(response.body) {
            Ok(text) => (Some(text), None),
            Err(no_text) => (None, Some(BASE64.encode(no_text.as_bytes()))),
        };
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in response.headers {
            // Joining is equivalent (RFC 9110, 5.3).
            headers
                .entry(name.to_lowercase())
                .and_modify(|present| {
                    present.push_str(", ");
                    present.push_str(&value);
                })
                .or_insert(value);
        }
        Self { status: response.status, headers, body, body_base64, ..Self::bare(method, url) }
    }

    pub(super) fn failed(method: &str, url: &Url, failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::bare(method, url) }
    }

    fn bare(method: &str, url: &Url) -> Self {
        Self {
            method: method.to_owned(),
            url: url.to_string(),
            aliases: Vec::new(),
            request_body: None,
            status: 0,
            failure: None,
            headers: BTreeMap::new(),
            body: None,
            json: None,
            body_base64: None,
            made: None,
            source: None,
        }
    }

    fn outcome(&self) -> Result<RecordedOutcome, ArchiveError> {
        let unusable = |reason: &str| ArchiveError::Unusable { url: self.url.clone(), reason: reason.to_owned() };
        if let Some(failure) = &self.failure {
            return Ok(RecordedOutcome::Failed(failure.clone()));
        }
        if !(100..=599).contains(&self.status) {
            return Err(unusable("the status is none of HTTP's"));
        }
        let body = match (&self.body, &self.json, &self.body_base64) {
            (Some(text), None, None) => text.clone().into_bytes(),
            (None, Some(value), None) => value.to_string().into_bytes(),
            (None, None, Some(encoded)) => {
                BASE64.decode(encoded).map_err(|_no_base64| unusable("body_base64 is not base64"))?
            }
            _ => return Err(unusable("exactly one of body, json and body_base64 is expected")),
        };
        let headers = self.headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
        Ok(RecordedOutcome::Answered(RecordedResponse { status: self.status, headers, body }))
    }

    /// Returns the keys of all its requests.
    fn keys(&self) -> Result<Vec<String>, ArchiveError> {
        let urls = std::iter::once(&self.url).chain(&self.aliases);
        let keys = urls.map(|url| Ok(key(&self.method, &Url::parse(url)?, self.request_body.as_deref())));
        keys.collect::<Result<_, url::ParseError>>()
            .map_err(|error| ArchiveError::Unusable { url: self.url.clone(), reason: error.to_string() })
    }
}

#[derive(Debug, Default)]
pub struct Archive {
    recordings: Vec<Recording>,
    /// Indexes of `recordings`.
    by_key: HashMap<String, usize>,
    /// Start of the latest run that was read.
    recorded_at: Option<DateTime<Utc>>,
    warnings: Vec<String>,
    missed: Mutex<Vec<MissingRecording>>,
}

impl Archive {
    /// Reads every `.ndjson` file of a folder in order of name, for runs the order of time.
    pub fn from_dir(folder: &Path) -> Result<Self, ArchiveError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ArchiveError::Read { path, source }
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "ndjson") {
                files.push(path);
            }
        }
        if files.is_empty() {
            return Err(ArchiveError::Empty { path: folder.to_owned() });
        }
        files.sort();
        let mut archive = Self::default();
        for file in &files {
            let text = std::fs::read_to_string(file).map_err(failed(file))?;
            archive.extend(&text, &file.display().to_string())?;
        }
        Ok(archive)
    }

    /// Adds a file's recordings; `origin` names it in errors. An incomplete last line of a killed run is omitted and
    /// named in [`Archive::warnings`].
    pub fn extend(&mut self, text: &str, origin: &str) -> Result<(), ArchiveError> {
        let mut lines = text.split_inclusive('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
        let Some((_, first)) = lines.next() else { return Ok(()) };
        let bad =
            |number: usize, source| ArchiveError::NotJson { origin: format!("{origin}, line {}", number + 1), source };
        let torn = |line: &str, is_last: bool| is_last && !line.ends_with('\n');
        let head: Head = match serde_json::from_str(first) {
            Ok(head) => head,
            Err(_) if torn(first, lines.peek().is_none()) => {
                self.warnings.push(format!("{origin} is cut off in its first line and holds nothing"));
                return Ok(());
            }
            Err(error) => return Err(bad(0, error)),
        };
        if head.format != FORMAT {
            return Err(ArchiveError::UnknownFormat { found: head.format });
        }
        self.recorded_at = self.recorded_at.max(Some(head.recorded_at));
        while let Some((number, line)) = lines.next() {
            match serde_json::from_str::<Recording>(line) {
                Ok(recording) => self.insert(recording)?,
                Err(_) if torn(line, lines.peek().is_none()) => {
                    let line = number + 1;
                    self.warnings.push(format!("{origin} is cut off in line {line}; that exchange is left out"));
                }
                Err(error) => return Err(bad(number, error)),
            }
        }
        Ok(())
    }

    /// Adds a recording, or replaces the one of the same request. A failure never replaces a response.
    pub fn insert(&mut self, recording: Recording) -> Result<(), ArchiveError> {
        recording.outcome()?;
        let keys = recording.keys()?;
        let known = keys.first().and_then(|key| self.by_key.get(key)).copied();
        let index = known.unwrap_or(self.recordings.len());
        match self.recordings.get_mut(index) {
            Some(present) if recording.failure.is_some() && present.failure.is_none() => return Ok(()),
            Some(present) => *present = recording,
            None => self.recordings.push(recording),
        }
        self.by_key.extend(keys.into_iter().map(|key| (key, index)));
        Ok(())
    }

    /// Returns the recorded end of a request. Keys do not count and appear in no error.
    pub(super) fn outcome(
        &self,
        method: &str,
        url: &Url,
        body: Option<&[u8]>,
    ) -> Result<RecordedOutcome, MissingRecording> {
        let recording = self
            .by_key
            .get(&key(method, url, body.map(body_hash).as_deref()))
            .and_then(|index| self.recordings.get(*index));
        // An inserted recording has a valid outcome.
        recording.and_then(|recording| recording.outcome().ok()).ok_or_else(|| {
            let missing = MissingRecording { method: method.to_owned(), url: without_keys(url).to_string() };
            let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
            if missed.len() < MAX_MISSED && !missed.contains(&missing) {
                missed.push(missing.clone());
            }
            missing
        })
    }

    /// Returns the response to a request without a body.
    #[cfg(test)]
    pub(crate) fn answer(&self, method: &str, url: &Url) -> Result<RecordedResponse, MissingRecording> {
        match self.outcome(method, url, None)? {
            RecordedOutcome::Answered(response) => Ok(response),
            RecordedOutcome::Failed(_) => Err(MissingRecording { method: method.to_owned(), url: url.to_string() }),
        }
    }

    /// Start of the latest run that was read; `None` if no file has a time.
    pub fn recorded_at(&self) -> Option<DateTime<Utc>> {
        self.recorded_at
    }

    /// Whether any exchange with this service was recorded.
    pub fn contains(&self, base: &Url) -> bool {
        self.recordings.iter().any(|recording| recording.url.starts_with(base.as_str()))
    }

    /// Whether any exchange with this path was recorded.
    pub fn contains_path(&self, path: &str) -> bool {
        self.recordings.iter().any(|recording| Url::parse(&recording.url).is_ok_and(|url| url.path() == path))
    }

    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Requests without a recording, each once.
    pub fn missed(&self) -> Vec<MissingRecording> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// In order of insertion.
    pub fn recordings(&self) -> &[Recording] {
        &self.recordings
    }

    pub fn len(&self) -> usize {
        self.recordings.len()
    }

    pub fn is_empty(&self) -> bool {
        self.recordings.is_empty()
    }
}

/// Method, URL without keys and fragment, sorted query parameters, and the hash of the body.
fn key(method: &str, url: &Url, body: Option<&str>) -> String {
    let url = without_keys(url);
    let mut pairs: Vec<(String, String)> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), day_of(&value).to_owned())).collect();
    pairs.sort();
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let mut bare = url;
    bare.set_query(None);
    bare.set_fragment(None);
    format!("{} {bare}?{query} {}", method.to_uppercase(), body.unwrap_or_default())
}

/// Cuts a timestamp like `20261120121500` to its day: a window that ends now differs in each run.
fn day_of(value: &str) -> &str {
    let is_moment = value.len() == 14 && value.starts_with("20") && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_moment { value.split_at(8).0 } else { value }
}

/// Without keys.
pub(super) fn body_hash(body: &[u8]) -> String {
    BASE64.encode(Sha256::digest(body_without_keys(body)))
}

#[cfg(test)]
mod tests;

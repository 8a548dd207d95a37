//! Recorded HTTP exchanges that replace the network in the demo, with `--replay` and in tests.
//!
//! [`Archive`] finds a recording in one of two ways:
//!
//! * *Exact*: same method, URL and body. Parameter order, fragment, keys, and the time of day in a timestamp parameter
//!   do not count.
//! * *Search*: same method, scheme, host and path, and `q` or `query` shares enough words with the recorded claim. An
//!   exact match would lose recordings whenever the pipeline words its queries differently.
//!
//! It never invents a response: a request without a recording is [`MissingRecording`], never an empty result.
//! [`Recording`] describes the JSON form. A folder contains files in it, or in the line form of [`super::record`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

mod key;
mod lines;
mod text;
mod words;

use super::key_fields::without_keys;
pub(super) use key::body_hash;
pub(super) use lines::Head;

use key::{exact_key, search_key};
use text::{encode, from_hex, to_hex};
use words::{content_words, overlap};

const FORMAT: u32 = 1;

/// Minimum share of a query's words that a recording must contain, in tenths. The rest allows for inflection and for
/// added or translated topic words.
const MIN_SHARED_TENTHS: usize = 6;

/// Maximum number of missed requests that are kept, to name them at the end.
const MOST_MISSED: usize = 100;

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
    #[error("no recordings in {path}: it holds no .json or .ndjson file; give the folder that was recorded to")]
    Empty { path: PathBuf },
    #[error("the recordings in {origin} are not in the form expected: {source}")]
    NotJson { origin: String, source: serde_json::Error },
    #[error("the recordings are of format {found}, only {FORMAT} is known; record them again")]
    UnknownFormat { found: u32 },
    #[error("the recording of {url:?} cannot be used: {reason}")]
    Unusable { url: String, reason: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    Exact,
    Search,
}

/// One stored exchange.
///
/// A file is `{"format": 1, "recordings": [Recording, …]}`. Exactly one of `body` (text), `json` (a value, sent
/// compact) and `body_hex` (two hex digits a byte) is the body. With `charset`, the text of `body` is sent in that
/// encoding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    #[serde(rename = "match")]
    pub matched_by: Match,
    pub method: String,
    /// Without keys. For a search only scheme, host and path count.
    pub url: String,
    /// Hash of the request body without its keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    /// The text that a search is matched with. Required for a search, rejected otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
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
    pub body_hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charset: Option<String>,
    /// `source`, `translated` or `composed` if the content did not come over the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Origin of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Recording {
    /// Returns the recording of a real exchange. `url` must not contain a key.
    pub fn exact(method: &str, url: &Url, response: &RecordedResponse) -> Self {
        let (body, body_hex) = match std::str::from_utf8(&response.body) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_not_text) => (None, Some(to_hex(&response.body))),
        };
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &response.headers {
            // Joining is equivalent (RFC 9110, 5.3).
            headers
                .entry(name.to_lowercase())
                .and_modify(|present| {
                    present.push_str(", ");
                    present.push_str(value);
                })
                .or_insert_with(|| value.clone());
        }
        Self {
            matched_by: Match::Exact,
            method: method.to_owned(),
            url: url.to_string(),
            request_body: None,
            claim: None,
            status: response.status,
            failure: None,
            headers,
            body,
            json: None,
            body_hex,
            charset: None,
            made: None,
            source: None,
        }
    }

    pub(super) fn failed(method: &str, url: &Url, failure: Failure) -> Self {
        let nothing = RecordedResponse { status: 0, headers: Vec::new(), body: Vec::new() };
        Self { failure: Some(failure), body: None, ..Self::exact(method, url, &nothing) }
    }

    fn outcome(&self) -> Result<RecordedOutcome, ArchiveError> {
        match &self.failure {
            Some(failure) => Ok(RecordedOutcome::Failed(failure.clone())),
            None => Ok(RecordedOutcome::Answered(self.response()?)),
        }
    }

    fn response(&self) -> Result<RecordedResponse, ArchiveError> {
        let unusable = |reason: &str| ArchiveError::Unusable { url: self.url.clone(), reason: reason.to_owned() };
        if !(100..=599).contains(&self.status) {
            return Err(unusable("the status is none of HTTP's"));
        }
        let body = match (&self.body, &self.json, &self.body_hex) {
            (Some(text), None, None) => match &self.charset {
                None => text.clone().into_bytes(),
                Some(label) => encode(text, label).map_err(unusable)?,
            },
            (None, Some(value), None) => value.to_string().into_bytes(),
            (None, None, Some(hex)) => {
                from_hex(hex).ok_or_else(|| unusable("body_hex is not an even number of hex digits"))?
            }
            _ => return Err(unusable("exactly one of body, json and body_hex is expected")),
        };
        let headers = self.headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
        Ok(RecordedResponse { status: self.status, headers, body })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<R> {
    format: u32,
    recordings: Vec<R>,
}

#[derive(Debug)]
struct SearchEntry {
    index: usize,
    claim: String,
    claim_words: Vec<String>,
    /// Words of the claim and of the recorded result titles.
    all_words: Vec<String>,
}

#[derive(Debug, Default)]
pub struct Archive {
    recordings: Vec<Recording>,
    outcomes: Vec<RecordedOutcome>,
    exact: HashMap<String, usize>,
    searches: HashMap<String, Vec<SearchEntry>>,
    /// Start of the latest run that was read.
    recorded_at: Option<DateTime<Utc>>,
    warnings: Vec<String>,
    missed: Mutex<Vec<MissingRecording>>,
}

impl Archive {
    pub fn from_json(text: &str) -> Result<Self, ArchiveError> {
        let mut archive = Self::default();
        archive.extend_from_json(text, "the text given")?;
        Ok(archive)
    }

    /// Reads every `.json` and `.ndjson` file of a folder in order of name, for runs the order of time.
    pub fn from_dir(folder: &Path) -> Result<Self, ArchiveError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ArchiveError::Read { path, source }
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "json" || extension == "ndjson") {
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
            let origin = file.display().to_string();
            if file.extension().is_some_and(|extension| extension == "ndjson") {
                archive.extend_from_lines(&text, &origin)?;
            } else {
                archive.extend_from_json(&text, &origin)?;
            }
        }
        Ok(archive)
    }

    /// Adds one file's recordings; `origin` names it in errors.
    pub fn extend_from_json(&mut self, text: &str, origin: &str) -> Result<(), ArchiveError> {
        let file: File<Recording> =
            serde_json::from_str(text).map_err(|source| ArchiveError::NotJson { origin: origin.to_owned(), source })?;
        if file.format != FORMAT {
            return Err(ArchiveError::UnknownFormat { found: file.format });
        }
        file.recordings.into_iter().try_for_each(|recording| self.insert(recording))
    }

    /// Returns all recordings in the form that [`Archive::from_json`] reads, one a line.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let lines: Result<Vec<String>, _> = self.recordings.iter().map(serde_json::to_string).collect();
        Ok(format!("{{\"format\":{FORMAT},\"recordings\":[\n{}\n]}}\n", lines?.join(",\n")))
    }

    /// Adds a recording, or replaces the one of the same request (for a search: the same claim).
    pub fn insert(&mut self, recording: Recording) -> Result<(), ArchiveError> {
        let unusable = |reason: String| ArchiveError::Unusable { url: recording.url.clone(), reason };
        let url = without_keys(&Url::parse(&recording.url).map_err(|error| unusable(error.to_string()))?);
        let outcome = recording.outcome()?;
        let position = match (recording.matched_by, &recording.claim) {
            (Match::Exact, None) => {
                let key = exact_key(&recording.method, &url, recording.request_body.as_deref());
                *self.exact.entry(key).or_insert(self.recordings.len())
            }
            (Match::Search, Some(claim)) => self.insert_search(&recording, &url, claim).map_err(unusable)?,
            (Match::Exact, Some(_)) => return Err(unusable("an exact recording has no claim".to_owned())),
            (Match::Search, None) => return Err(unusable("a search needs the claim it was asked for".to_owned())),
        };
        if let (Some(kept), Some(answer)) = (self.recordings.get_mut(position), self.outcomes.get_mut(position)) {
            // A later failure never replaces a recorded response.
            if matches!((&outcome, &*answer), (RecordedOutcome::Failed(_), RecordedOutcome::Answered(_))) {
                return Ok(());
            }
            *kept = recording;
            *answer = outcome;
        } else {
            self.recordings.push(recording);
            self.outcomes.push(outcome);
        }
        Ok(())
    }

    /// Adds a search. Returns the index that its recording has or will have.
    fn insert_search(&mut self, recording: &Recording, url: &Url, claim: &str) -> Result<usize, String> {
        let claim_words = content_words(claim);
        if claim_words.is_empty() {
            return Err("its claim has no words to be found by".to_owned());
        }
        let mut titles = vec![claim.to_owned()];
        if let Some(value) = &recording.json {
            collect_titles(value, &mut titles);
        } else if let Some(Ok(value)) = recording.body.as_deref().map(serde_json::from_str::<Value>) {
            collect_titles(&value, &mut titles);
        }
        let entries = self.searches.entry(search_key(&recording.method, url)).or_default();
        let known = entries.iter().position(|entry| entry.claim == claim);
        let index = known.and_then(|at| entries.get(at)).map_or(self.recordings.len(), |entry| entry.index);
        let all_words = content_words(&titles.join(" "));
        let entry = SearchEntry { index, claim: claim.to_owned(), claim_words, all_words };
        match known.and_then(|at| entries.get_mut(at)) {
            Some(present) => *present = entry,
            None => entries.push(entry),
        }
        Ok(index)
    }

    /// Returns the response to a request without a body. `url` must not contain a key.
    pub fn answer(&self, method: &str, url: &Url) -> Result<RecordedResponse, MissingRecording> {
        match self.outcome(method, url, None)? {
            RecordedOutcome::Answered(response) => Ok(response),
            RecordedOutcome::Failed(_) => Err(MissingRecording { method: method.to_owned(), url: url.to_string() }),
        }
    }

    /// Returns the recorded end of a request. Keys do not count and appear in no error.
    pub(super) fn outcome(
        &self,
        method: &str,
        url: &Url,
        body: Option<&[u8]>,
    ) -> Result<RecordedOutcome, MissingRecording> {
        let url = &without_keys(url);
        let body = body.map(body_hash);
        self.exact
            .get(&exact_key(method, url, body.as_deref()))
            .copied()
            .or_else(|| self.best_search(method, url))
            .and_then(|index| self.outcomes.get(index))
            .cloned()
            .ok_or_else(|| {
                let missing = MissingRecording { method: method.to_owned(), url: url.to_string() };
                let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
                if missed.len() < MOST_MISSED && !missed.contains(&missing) {
                    missed.push(missing.clone());
                }
                missing
            })
    }

    /// Like [`Archive::outcome`], for URLs and bodies with keys.
    pub(super) fn api_outcome(
        &self,
        method: &str,
        url: &Url,
        body: Option<&[u8]>,
    ) -> Result<RecordedOutcome, MissingRecording> {
        self.outcome(method, &without_keys(url), body)
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

    /// Each once.
    pub fn missed(&self) -> Vec<MissingRecording> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the search that shares most words with the query, if enough. Further criteria: same word forms, words in
    /// the claim itself, a shorter claim, and the text, so that file order never decides.
    fn best_search(&self, method: &str, url: &Url) -> Option<usize> {
        let entries = self.searches.get(&search_key(method, url))?;
        let (_, text) = url.query_pairs().find(|(name, _)| name == "q" || name == "query")?;
        let query = content_words(&words::without_operators(&text));
        if query.is_empty() {
            return None;
        }
        entries
            .iter()
            .map(|entry| (overlap(&query, &entry.all_words), entry))
            .filter(|(shared, _)| shared * 10 >= query.len() * MIN_SHARED_TENTHS)
            .max_by_key(|(shared, entry)| {
                let same_form = query.iter().filter(|word| entry.all_words.contains(word)).count();
                let of_claim = overlap(&query, &entry.claim_words);
                (*shared, same_form, of_claim, Reverse(entry.claim_words.len()), Reverse(entry.claim.as_str()))
            })
            .map(|(_, entry)| entry.index)
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

/// Collects texts under a key `title` at any depth, as in results of `SearxNG`, GDELT and Google.
fn collect_titles(value: &Value, titles: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "title" => titles.push(text.clone()),
                    _ => collect_titles(field, titles),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|inner| collect_titles(inner, titles)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;

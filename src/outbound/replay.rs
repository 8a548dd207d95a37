//! Recorded exchanges, answered instead of the network: for the demo, for `--replay`, for tests.
//!
//! An [`Archive`] finds a recording in one of two ways.
//!
//! * *Exact*: the method, the URL and the body of the request are the same. The order of query parameters, the fragment,
//!   parameters and fields that carry keys, and the time of day in a parameter that is a moment do not matter.
//! * *Search*: only method, scheme, host and path are the same, and the words of the `q` or `query` parameter are those of
//!   the recorded claim. Which queries a claim leads to is the pipeline's business and changes with it; a recording that
//!   hung on one exact query string would be lost with every such change.
//!
//! What it never does: invent an answer. A request nothing was recorded for is [`MissingRecording`], never an empty
//! result, since "could not ask" is not "nothing found". Where the provider had nothing, the recording holds the
//! provider's own empty answer.
//!
//! The JSON form is described on [`Recording`]; a folder holds one or more files of it, or of the form that
//! [`super::record`] writes, a recording a line.

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

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// Share of a query's content words that a recording must hold, in tenths. All words of a query come from the claim, so a
/// right match holds nearly all of them; the rest is room for inflection and for a translated or added topic word.
const MIN_SHARED_TENTHS: usize = 6;

/// Requests without a recording that are remembered, to be named at the end.
const MOST_MISSED: usize = 100;

/// One recorded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedResponse {
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// How an exchange ended that brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Of [`super::AskError`] or [`super::FetchError`].
    pub label: String,
    pub detail: String,
}

/// What an exchange came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedOutcome {
    Answered(RecordedResponse),
    Failed(Failure),
}

/// No recording answers this request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no recording for {method} {url}; record it, or ask without replay")]
pub struct MissingRecording {
    pub method: String,
    pub url: String,
}

/// Why recordings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot read the recordings in {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("no recordings in {path}: it holds no .json or .ndjson file; give the folder that was recorded to")]
    Empty { path: PathBuf },
    #[error("the recordings in {origin} are not in the form expected: {source}")]
    NotJson { origin: String, source: serde_json::Error },
    #[error("the recordings are of format {found}, only {FORMAT} is known; record them anew")]
    UnknownFormat { found: u32 },
    #[error("the recording of {url:?} cannot be used: {reason}")]
    Unusable { url: String, reason: String },
}

/// How a recording is found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    Exact,
    Search,
}

/// One exchange as it is kept.
///
/// A file is `{"format": 1, "recordings": [Recording, …]}`. Exactly one of `body` (text), `json` (a value, sent compact)
/// and `body_hex` (bytes, two hex digits each) gives the body; with `charset` the text of `body` is sent in that encoding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    #[serde(rename = "match")]
    pub matched_by: Match,
    pub method: String,
    /// Without a key. For a search only scheme, host and path count.
    pub url: String,
    /// The hash of the request's body without its keys, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    /// The text whose words a search is found by. Required for a search, refused otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// 0 where no answer came.
    #[serde(default)]
    pub status: u16,
    /// Why no answer came; nothing of one is given then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Lower-case names.
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
    /// How the content came to be, where it did not come over the network: `source`, `translated` or `composed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Where the content was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl Recording {
    /// An exchange as it happened. `url` must not hold a key.
    pub fn exact(method: &str, url: &Url, response: &RecordedResponse) -> Self {
        let (body, body_hex) = match std::str::from_utf8(&response.body) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_not_text) => (None, Some(to_hex(&response.body))),
        };
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &response.headers {
            // A repeated header means the same as one with the values joined (RFC 9110, 5.3).
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

    /// An exchange that brought no answer.
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

/// The file's shape.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<R> {
    format: u32,
    recordings: Vec<R>,
}

/// A recorded search, ready to be compared with queries.
#[derive(Debug)]
struct SearchEntry {
    /// Index of the recording.
    index: usize,
    claim: String,
    claim_words: Vec<String>,
    /// The claim's words and those of the recorded results' titles.
    all_words: Vec<String>,
}

/// A set of recordings.
#[derive(Debug, Default)]
pub struct Archive {
    recordings: Vec<Recording>,
    /// Parallel to `recordings`.
    outcomes: Vec<RecordedOutcome>,
    exact: HashMap<String, usize>,
    searches: HashMap<String, Vec<SearchEntry>>,
    /// When the latest of the runs began that were read.
    recorded_at: Option<DateTime<Utc>>,
    /// What was read only in part.
    warnings: Vec<String>,
    /// Requests that nothing was recorded for, in the order they came.
    missed: Mutex<Vec<MissingRecording>>,
}

impl Archive {
    /// Reads one file's text.
    pub fn from_json(text: &str) -> Result<Self, ArchiveError> {
        let mut archive = Self::default();
        archive.extend_from_json(text, "the text given")?;
        Ok(archive)
    }

    /// Reads every `.json` and `.ndjson` file of a folder, in the order of their names, which for runs is that of time.
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

    /// Adds the recordings of one file's text; `origin` names it in errors.
    pub fn extend_from_json(&mut self, text: &str, origin: &str) -> Result<(), ArchiveError> {
        let file: File<Recording> =
            serde_json::from_str(text).map_err(|source| ArchiveError::NotJson { origin: origin.to_owned(), source })?;
        if file.format != FORMAT {
            return Err(ArchiveError::UnknownFormat { found: file.format });
        }
        file.recordings.into_iter().try_for_each(|recording| self.insert(recording))
    }

    /// All recordings in the form [`Archive::from_json`] reads, one a line.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let lines: Result<Vec<String>, _> = self.recordings.iter().map(serde_json::to_string).collect();
        Ok(format!("{{\"format\":{FORMAT},\"recordings\":[\n{}\n]}}\n", lines?.join(",\n")))
    }

    /// Adds one recording. One of the same request (for a search: of the same claim) is replaced.
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
            // What was answered once stands, whatever failed later: a retry's last word is its answer.
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

    /// Files a search under its endpoint; gives the index its recording has or will have.
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

    /// The recorded answer to a request without a body. `url` never holds a key.
    pub fn answer(&self, method: &str, url: &Url) -> Result<RecordedResponse, MissingRecording> {
        match self.outcome(method, url, None)? {
            RecordedOutcome::Answered(response) => Ok(response),
            RecordedOutcome::Failed(_) => Err(MissingRecording { method: method.to_owned(), url: url.to_string() }),
        }
    }

    /// What a request came to. Keys in its URL and body do not matter, and are in no error.
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

    /// The same for a provider's API, whose URL and body may hold keys.
    pub(super) fn api_outcome(
        &self,
        method: &str,
        url: &Url,
        body: Option<&[u8]>,
    ) -> Result<RecordedOutcome, MissingRecording> {
        self.outcome(method, &without_keys(url), body)
    }

    /// When the latest run began that was read; `None` where only files without a time were.
    pub fn recorded_at(&self) -> Option<DateTime<Utc>> {
        self.recorded_at
    }

    /// Whether anything of a service at this address was recorded.
    pub fn knows(&self, base: &Url) -> bool {
        self.recordings.iter().any(|recording| recording.url.starts_with(base.as_str()))
    }

    /// What was read only in part, in words.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What was asked for and not recorded, each once.
    pub fn missed(&self) -> Vec<MissingRecording> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The search whose words the query shares most, if it shares enough of them. Ties: more of them in the very same form,
    /// then more of them in the claim itself, then less of the claim left over, then the claim's text in order, so that
    /// the answer never hangs on the order of files.
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

    /// Every recording, in the order of insertion.
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

/// Every text under a key `title`, at any depth: `SearxNG`'s results, GDELT's articles, Google's reviews have it alike.
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

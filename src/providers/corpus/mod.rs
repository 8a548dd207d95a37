//! The operator's folders of documents or code, dated if the document states a date.
//!
//! The daemon reads only inside the folders: it skips links and hidden or ignored files. A hit includes its passage and
//! the place `corpus://<name>/<path>#L10-L42`. No path of the machine is stored, shown or logged. The document of a
//! claim is never evidence for it.

mod dated;
mod folder;
mod index;
#[cfg(test)]
pub(super) mod tests;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

pub use self::folder::{BadGlob, FolderSettings};
use self::folder::{Choice, File, Passage, Snapshot};
use super::own::{OwnText, merged};
use super::{Answer, Hit, Languages, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::outbound::{AskError, Asker, Gate, GateSettings};

const NAME: &str = "corpus";
/// Passages of one file are one source.
const PER_FILE: usize = 3;

#[derive(Debug, Clone)]
pub struct CorpusSettings {
    pub folders: Vec<FolderSettings>,
    pub rescan: Duration,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Own documents and code",
    kind: ProviderKind::Own,
    source: SourceKind::Corpus,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: false,
    local: true,
    returns: "passages of your own files with line numbers and the date of the document",
    terms: "free: files of your own, searched in memory",
    configure: "set ENRICHMENT_CORPUS_FOLDER",
};

/// Limits the time of a folder that hangs, not the rate.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        rpm: 60_000,
        // The first query waits for the first scan.
        timeout: Duration::from_secs(30),
        max_attempts: 1,
        ..usual_gate(NAME, cooldown)
    }
}

#[derive(Debug)]
struct Folder {
    settings: FolderSettings,
    choice: Choice,
    /// The last scan: what was found, or why it failed. `None` before the first.
    scan: RwLock<Option<Result<Arc<Snapshot>, String>>>,
    /// When the last scan ended; locked during a scan, so that only one runs.
    looked: Arc<Mutex<Option<Instant>>>,
}

#[derive(Debug)]
pub struct Corpus {
    folders: Vec<Arc<Folder>>,
    rescan: Duration,
    gate: Gate,
}

/// Builds the provider. The background task or the first query scans the folders.
pub fn new(settings: CorpusSettings, gate: Gate) -> Result<Corpus, BadGlob> {
    let mut folders = Vec::with_capacity(settings.folders.len());
    for one in settings.folders {
        let choice = Choice::new(&one)?;
        folders.push(Arc::new(Folder { settings: one, choice, scan: RwLock::default(), looked: Arc::default() }));
    }
    Ok(Corpus { folders, rescan: settings.rescan, gate })
}

impl Folder {
    fn seen(&self) -> Option<Arc<Snapshot>> {
        self.scan.read().unwrap_or_else(PoisonError::into_inner).clone()?.ok()
    }

    /// Scans again unless a scan ended within `freshness`. A scan continues for the next caller if its caller is
    /// cancelled.
    async fn refresh(self: &Arc<Self>, freshness: Duration) -> Result<(), AskError> {
        let mut looked = Arc::clone(&self.looked).lock_owned().await;
        if looked.is_some_and(|at| at.elapsed() < freshness) && self.seen().is_some() {
            return Ok(());
        }
        let folder = Arc::clone(self);
        let look = tokio::task::spawn_blocking(move || {
            let before = folder.seen();
            let outcome = folder::look(&folder.settings, &folder.choice, before.as_deref());
            *looked = Some(Instant::now());
            let name = folder.settings.name.as_str();
            let scan = match outcome {
                Ok(None) => return Ok(()),
                Ok(Some(snapshot)) => {
                    let (files, passages, left_out) = (snapshot.files.len(), snapshot.passages(), snapshot.left_out);
                    tracing::info!(corpus = name, files, passages, "folder read");
                    if left_out > 0 {
                        tracing::warn!(
                            corpus = name,
                            left_out,
                            "corpus limit reached; raise providers.corpus.max_bytes"
                        );
                    }
                    Ok(Arc::new(snapshot))
                }
                Err(detail) => Err(format!("folder {name} {detail}; check ENRICHMENT_CORPUS_FOLDER and its rights")),
            };
            let failure = scan.as_ref().err().cloned();
            *folder.scan.write().unwrap_or_else(PoisonError::into_inner) = Some(scan);
            failure.map_or(Ok(()), |detail| Err(AskError::CouldNotAsk { detail }))
        });
        look.await.unwrap_or_else(|panic| Err(AskError::CouldNotAsk { detail: format!("a look ended early: {panic}") }))
    }

    /// Returns the last scan; scans if there is none.
    async fn current(self: &Arc<Self>) -> Result<Arc<Snapshot>, AskError> {
        if self.seen().is_none() {
            self.refresh(Duration::ZERO).await?;
        }
        self.seen().ok_or_else(|| AskError::CouldNotAsk { detail: "the folder was not read".to_owned() })
    }

    /// Returns the hits with their scores, best first.
    fn search(&self, snapshot: &Snapshot, query: &Query) -> Vec<(f64, Hit)> {
        let own = OwnFiles::new(query.source_document.as_deref(), self, snapshot);
        let mut per_file: HashMap<&str, usize> = HashMap::new();
        let hits = snapshot
            .search(&query.text)
            .filter(|(file, _, _)| !own.is(&file.path))
            .filter(|(file, _, _)| {
                let taken = per_file.entry(file.path.as_str()).or_default();
                *taken += 1;
                *taken <= PER_FILE
            })
            .take(query.limit);
        hits.filter_map(|(file, passage, score)| Some((score, self.hit(file, passage)?))).collect()
    }

    fn hit(&self, file: &File, passage: &Passage) -> Option<Hit> {
        let mut url = Url::parse(&format!("corpus://{}/", self.settings.name)).ok()?;
        url.set_path(&file.path);
        url.set_fragment(Some(&format!("L{}-L{}", passage.lines.0, passage.lines.1)));
        let title =
            if passage.heading.is_empty() { file.path.clone() } else { format!("{}: {}", file.path, passage.heading) };
        let text = OwnText {
            origin: Origin::Corpus,
            url: url.into(),
            title,
            text: passage.text.clone(),
            published_at: file.published,
            publisher: self.settings.name.clone(),
            credibility: self.settings.credibility,
        };
        Some(text.hit(&PROFILE))
    }
}

impl Corpus {
    /// Returns the hits of all folders, best first. An unreadable folder is an error only without a hit in another.
    async fn search(&self, query: &Query) -> Result<Answer, AskError> {
        let mut outcomes = Vec::new();
        for folder in &self.folders {
            let hits = folder.current().await.map(|snapshot| folder.search(&snapshot, query));
            outcomes.push((folder.settings.name.as_str(), hits));
        }
        let (mut found, answer) = merged(NAME, outcomes)?;
        // A stable sort keeps the configured order of folders with equal scores.
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        Ok(Answer { hits: found.into_iter().take(query.limit).map(|(_, hit)| hit).collect(), ..answer })
    }
}

/// The files that are the claim's own document. Upstream may name it by a path in the folder, a path of another
/// machine, its `corpus://` address or its name.
struct OwnFiles(Vec<String>);

impl OwnFiles {
    fn new(document: Option<&str>, folder: &Folder, snapshot: &Snapshot) -> Self {
        let Some(document) = document.map(str::trim).filter(|document| !document.is_empty()) else {
            return Self(Vec::new());
        };
        let document = document.replace('\\', "/");
        let address = format!("corpus://{}/", folder.settings.name);
        let path = document.strip_prefix(&address).unwrap_or(&document);
        let path = path.split(['#', '?']).next().unwrap_or(path).trim_start_matches("./").trim_start_matches('/');
        let paths = || snapshot.files.iter().map(|file| file.path.as_str());
        if let Some(exact) = paths().find(|known| *known == path) {
            return Self(vec![exact.to_owned()]);
        }
        // A longer path ends with the file's path; the longest match is right. A shorter one may match several files.
        let outer = paths().filter(|known| ends_with_path(path, known)).max_by_key(|known| known.len());
        match outer {
            Some(known) => Self(vec![known.to_owned()]),
            None => Self(paths().filter(|known| ends_with_path(known, path)).map(str::to_owned).collect()),
        }
    }

    fn is(&self, path: &str) -> bool {
        self.0.iter().any(|own| own == path)
    }
}

fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

impl Provider for Corpus {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    /// The answer depends on the claim's own document, which is excluded.
    fn cache_key(&self, query: &Query) -> String {
        crate::cache::joined([&query.cache_key(NAME), query.source_document.as_deref().unwrap_or_default()])
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.gate.run(asker, move || self.search(query)))
    }

    fn upkeep(&self) -> Option<Duration> {
        Some(self.rescan)
    }

    fn keep_up(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            // A missing folder must not stop the scan of the others.
            let mut lost = Vec::new();
            for folder in &self.folders {
                lost.extend(folder.refresh(self.rescan / 2).await.err().map(|error| error.to_string()));
            }
            if lost.is_empty() { Ok(()) } else { Err(lost.join("; ")) }
        })
    }
}

//! Folders of documentation or code: what a claim about them is held against, dated where the document says of when it is.
//!
//! The folders are read where the daemon runs and never left: links are not followed, hidden and ignored files not read.
//! A hit brings its passage along and names its place as `corpus://<name>/<path>#L10-L42`; no path of the machine is in
//! anything that is stored, shown or logged. The document a claim was taken from is no evidence for it.

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
use super::wire::{clip, one_line};
use super::{Answer, Content, Hit, Languages, Profile, Provider, ProviderKind, Query, Storage};
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::language::detect::detect;
use crate::outbound::{AskError, Asker, Gate, GateSettings, GateStatus};

const NAME: &str = "corpus";
/// Passages of one file in an answer: more of the same document is the same witness.
const PER_FILE: usize = 3;
/// Of a snippet, characters and words.
const SNIPPET: (usize, usize) = (300, 60);

/// The folders.
#[derive(Debug, Clone)]
pub struct CorpusSettings {
    pub folders: Vec<FolderSettings>,
    /// Pause between looks for changed files.
    pub rescan: Duration,
}

/// What is fixed of it.
pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Own documents and code",
    kind: ProviderKind::Own,
    source: SourceKind::Corpus,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: false,
    local: true,
    returns: "passages of your own files with their lines and the day the document names",
    terms: "free: files of your own, searched in memory",
    configure: "set ENRICHMENT_CORPUS_FOLDER",
};

/// The gate this provider wants: it guards against a folder that hangs, not against asking too often.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        name: NAME,
        max_wait: Duration::from_secs(10),
        rpm: 60_000,
        // The first question waits for the first look at the folder.
        timeout: Duration::from_secs(30),
        max_bytes: usize::MAX,
        max_attempts: 1,
        cooldown,
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

/// One folder and what was last seen of it.
#[derive(Debug)]
struct Folder {
    settings: FolderSettings,
    choice: Choice,
    seen: RwLock<Option<Arc<Snapshot>>>,
    /// When the last look ended; held during a look, so that there is one at a time.
    looked: Arc<Mutex<Option<Instant>>>,
    /// Why the last look saw nothing; what was seen before is no longer what is there.
    lost: RwLock<Option<String>>,
}

/// The provider.
#[derive(Debug)]
pub struct Corpus {
    folders: Vec<Arc<Folder>>,
    rescan: Duration,
    gate: Gate,
}

/// Builds it without looking at the folders: that is done in the background, or by the first question.
pub fn new(settings: CorpusSettings, gate: Gate) -> Result<Corpus, BadGlob> {
    let mut folders = Vec::with_capacity(settings.folders.len());
    for one in settings.folders {
        let choice = Choice::new(&one)?;
        folders.push(Arc::new(Folder {
            settings: one,
            choice,
            seen: RwLock::default(),
            looked: Arc::default(),
            lost: RwLock::default(),
        }));
    }
    Ok(Corpus { folders, rescan: settings.rescan, gate })
}

impl Folder {
    fn seen(&self) -> Option<Arc<Snapshot>> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks again unless somebody did within `freshness`. The look goes on when its asker is gone, for the next one.
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
            let outcome = outcome
                .map_err(|detail| format!("folder {name} {detail}; check ENRICHMENT_CORPUS_FOLDER and its rights"));
            *folder.lost.write().unwrap_or_else(PoisonError::into_inner) = outcome.as_ref().err().cloned();
            let snapshot = match outcome {
                Ok(Some(snapshot)) => snapshot,
                Ok(None) => return Ok(()),
                Err(detail) => return Err(AskError::CouldNotAsk { detail }),
            };
            let (files, passages, left_out) = (snapshot.files.len(), snapshot.passages(), snapshot.left_out);
            tracing::info!(corpus = name, files, passages, "folder read");
            if left_out > 0 {
                tracing::warn!(corpus = name, left_out, "no room for every file; raise providers.corpus.max_bytes");
            }
            *folder.seen.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(snapshot));
            Ok(())
        });
        look.await.unwrap_or_else(|panic| Err(AskError::CouldNotAsk { detail: format!("a look ended early: {panic}") }))
    }

    async fn current(self: &Arc<Self>) -> Result<Arc<Snapshot>, AskError> {
        if self.seen().is_none() {
            self.refresh(Duration::ZERO).await?;
        }
        if let Some(detail) = self.lost.read().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(AskError::CouldNotAsk { detail });
        }
        self.seen().ok_or_else(|| AskError::CouldNotAsk { detail: "the folder was not read".to_owned() })
    }

    fn hit(&self, file: &File, passage: &Passage) -> Option<Hit> {
        let mut url = Url::parse(&format!("corpus://{}/", self.settings.name)).ok()?;
        url.set_path(&file.path);
        url.set_fragment(Some(&format!("L{}-L{}", passage.lines.0, passage.lines.1)));
        let title =
            if passage.heading.is_empty() { file.path.clone() } else { format!("{}: {}", file.path, passage.heading) };
        Some(Hit {
            url: url.into(),
            title: one_line(&title),
            snippet: clip(&passage.text, SNIPPET.0, SNIPPET.1),
            published_at: file.published,
            language: detect(&passage.text).language,
            provider: NAME,
            storage: PROFILE.storage,
            content: Some(Content {
                text: passage.text.clone(),
                origin: Origin::Corpus,
                publisher: Some(self.settings.name.clone()),
                credibility: Some(self.settings.credibility),
            }),
        })
    }
}

impl Corpus {
    /// What all folders hold on the question, the best first. A folder that cannot be read is an error unless another
    /// one knows something.
    async fn search(&self, query: &Query) -> Result<Answer, AskError> {
        let mut found: Vec<(f64, Hit)> = Vec::new();
        let (mut answer, mut failure) = (Answer::default(), None);
        for folder in &self.folders {
            let snapshot = match folder.current().await {
                Ok(snapshot) => snapshot,
                Err(error) => {
                    answer.lacks(NAME, &folder.settings.name, &error);
                    failure = Some(error);
                    continue;
                }
            };
            let own = Own::new(query.source_document.as_deref(), folder, &snapshot);
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
            found.extend(hits.filter_map(|(file, passage, score)| Some((score, folder.hit(file, passage)?))));
        }
        if let (true, Some(failure)) = (found.is_empty(), failure) {
            return Err(failure);
        }
        // Stable: of equal scores, the folder that was named first.
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        answer.hits = found.into_iter().take(query.limit).map(|(_, hit)| hit).collect();
        Ok(answer)
    }
}

/// The files of a folder that are the document a claim was taken from, whatever way upstream names it: by its path from
/// the folder down, by a path of another machine, by its address in results, or by its mere name.
struct Own(Vec<String>);

impl Own {
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
        // A longer path ends with the file's, the longest being the right one; a shorter one may mean several.
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

    fn cost_usd(&self) -> f64 {
        0.0
    }

    /// What is left out of an answer depends on the document the claim comes from.
    fn cache_key(&self, query: &Query) -> String {
        crate::cache::joined([&query.cache_key(NAME), query.source_document.as_deref().unwrap_or_default()])
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.gate.run(asker, move || self.search(query)))
    }

    fn status(&self) -> GateStatus {
        self.gate.status()
    }

    fn upkeep(&self) -> Option<Duration> {
        Some(self.rescan)
    }

    fn keep_up(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            // One that is gone keeps nobody from looking at the others.
            let mut lost = Vec::new();
            for folder in &self.folders {
                lost.extend(folder.refresh(self.rescan / 2).await.err().map(|error| error.to_string()));
            }
            if lost.is_empty() { Ok(()) } else { Err(lost.join("; ")) }
        })
    }
}

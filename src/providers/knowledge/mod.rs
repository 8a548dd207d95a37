//! The evidence store: pages read for earlier items, and the [`seeds`], found by the embedding of their sentences.
//!
//! This provider returns addresses of stored pages without texts, because the page is judged as it was read. It never
//! fetches, and compares only vectors of the same embedder.

pub mod seeds;
#[cfg(test)]
pub(super) mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use super::{Answer, Hit, Languages, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::domain::item::SourceKind;
use crate::inference::Embedder;
use crate::outbound::{AskError, Asker, Gate, GateSettings};
use crate::store::{EvidenceIndex, NearEvidence, NearestQuery};

pub const NAME: &str = "knowledge";
const STORAGE: Storage = Storage::Stored;

/// Minimum cosine of a sentence. Passages on the claim's topic reach about 0.5 with hashed words and more with a model;
/// unrelated ones stay below.
const LEAST_SIMILARITY: f64 = 0.3;

/// Pages with the same sentence that rank before other sentences; most are copies.
const REPEATS: usize = 4;

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Knowledge base",
    kind: ProviderKind::Own,
    source: SourceKind::Knowledge,
    storage: STORAGE,
    languages: Languages::All,
    restricts_domains: false,
    local: true,
    returns: "stored pages with the most similar sentences, and built-in facts",
    terms: "free; this daemon's own store",
    configure: "none; it uses DATABASE_URL or the embedded store",
};

/// A separate gate: a slow store must not use up an item's time, and gets a short pause.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        // Far above any real rate: only the circuit breaker and the time limit matter.
        rpm: 600_000,
        max_wait: Duration::from_secs(1),
        timeout: Duration::from_secs(3),
        max_bytes: 0,
        max_attempts: 1,
        cooldown: Duration::from_secs(15),
        ..usual_gate(NAME, cooldown)
    }
}

pub type DenyCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

pub struct Knowledge {
    index: Arc<dyn EvidenceIndex>,
    embedder: Arc<dyn Embedder>,
    denied: DenyCheck,
    gate: Gate,
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knowledge").field("shelf", &self.index).field("gate", &self.gate).finish_non_exhaustive()
    }
}

/// `denied` is called for every answer, because the lists change at run time.
pub fn new(index: Arc<dyn EvidenceIndex>, embedder: Arc<dyn Embedder>, denied: DenyCheck, gate: Gate) -> Knowledge {
    Knowledge { index, embedder, denied, gate }
}

impl Knowledge {
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let found = self.gate.run(asker, || self.look(query)).await?;
        let mut seen: HashSet<&str> = HashSet::new();
        // Each page is one hit, by its best sentence.
        let pages = found.iter().filter(|near| !self.is_denied(near) && seen.insert(near.url.as_str()));
        // A sentence that many pages repeat must not displace other sentences.
        let mut repeated: HashMap<&str, usize> = HashMap::new();
        let (first, repeats): (Vec<_>, Vec<_>) = pages.partition(|near| {
            let count = repeated.entry(near.sentence.as_str()).or_default();
            *count += 1;
            *count <= REPEATS
        });
        let hits = first.into_iter().chain(repeats).take(query.limit).map(hit).collect();
        Ok(Answer { hits, ..Answer::default() })
    }

    async fn look(&self, query: &Query) -> Result<Vec<NearEvidence>, AskError> {
        let failed = |what: &str| AskError::CouldNotAsk { detail: what.to_owned() };
        let embedded = self.embedder.embed(&[query.text.as_str()]).await;
        let embedding = embedded.map_err(|error| failed(&error.to_string()))?.pop().unwrap_or_default();
        // The embedding of a text without words is zero.
        if embedding.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let wanted =
            NearestQuery { embedding: &embedding, embedder: self.embedder.name(), similarity: LEAST_SIMILARITY };
        self.index.nearest(wanted).await.map_err(|error| failed(&error.to_string()))
    }

    fn is_denied(&self, near: &NearEvidence) -> bool {
        let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let hosts = [Some(near.url.as_str()), near.final_url.as_deref()];
        hosts.into_iter().flatten().filter_map(host).any(|host| (self.denied)(&host))
    }
}

fn hit(near: &NearEvidence) -> Hit {
    Hit {
        url: near.url.clone(),
        title: near.title.as_deref().unwrap_or_default().trim().to_owned(),
        snippet: near.sentence.trim().to_owned(),
        published_at: near.published_at,
        language: near.language.clone(),
        provider: NAME,
        storage: STORAGE,
        content: None,
    }
}

impl Provider for Knowledge {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }
}

//! Our own stored evidence: pages read for earlier items, and the [`seeds`], found by the meaning of their sentences.
//!
//! It leads to stored pages by their addresses and brings no text along: what is judged is the page as it was read. It
//! never fetches, never says more than was stored, and compares only what one and the same embedder made.

pub mod seeds;
#[cfg(test)]
pub(super) mod tests;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use super::{Answer, Hit, Languages, Profile, Provider, ProviderKind, Query, Storage};
use crate::domain::item::SourceKind;
use crate::inference::Embedder;
use crate::outbound::{AskError, Asker, Gate, GateSettings, GateStatus};
use crate::store::{EvidenceShelf, NearEvidence, NearTo};

/// As in [`super::NAMES`].
pub const NAME: &str = "knowledge";
const STORAGE: Storage = Storage::Stored;

/// Cosine under which a sentence is about something else. Passages on a claim's topic read about 0.5 by hashed words and
/// more by a model; strangers stay below this with either.
const LEAST_SIMILARITY: f64 = 0.3;

/// Pages that say one and the same sentence before all who say another: copies mostly, and seldom independent.
const REPEATS: usize = 4;

/// What is fixed of it.
pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Knowledge base",
    kind: ProviderKind::Own,
    source: SourceKind::Knowledge,
    storage: STORAGE,
    languages: Languages::All,
    restricts_domains: false,
    local: true,
    returns: "stored pages whose sentences are nearest in meaning, and the seed facts",
    terms: "free; this daemon's own store",
    configure: "nothing to set: it is there as soon as DATABASE_URL, or the embedded store, is",
};

/// A guard of its own: a store that has become slow must not eat an item's time, and is left alone for a moment.
pub fn gate_settings(_cooldown: Duration) -> GateSettings {
    GateSettings {
        name: NAME,
        // Far beyond what a store answers: only the breaker and the time limit are of use here.
        rpm: 600_000,
        max_wait: Duration::from_secs(1),
        timeout: Duration::from_secs(3),
        max_bytes: 0,
        max_attempts: 1,
        cooldown: Duration::from_secs(15),
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

/// Whether a host may not be used now.
pub type Denied = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The provider.
pub struct Knowledge {
    shelf: Arc<dyn EvidenceShelf>,
    embedder: Arc<dyn Embedder>,
    denied: Denied,
    gate: Gate,
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Knowledge").field("shelf", &self.shelf).field("gate", &self.gate).finish_non_exhaustive()
    }
}

/// `denied` is asked anew for every answer: the lists change while the daemon runs.
pub fn new(shelf: Arc<dyn EvidenceShelf>, embedder: Arc<dyn Embedder>, denied: Denied, gate: Gate) -> Knowledge {
    Knowledge { shelf, embedder, denied, gate }
}

impl Knowledge {
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let found = self.gate.run(asker, || self.look(query)).await?;
        let mut seen: HashSet<&str> = HashSet::new();
        // A page comes once, by its best sentence.
        let pages = found.iter().filter(|near| !self.is_denied(near) && seen.insert(near.url.as_str()));
        // What many pages repeat word for word must not keep out what another one says.
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
        // A text without words is near to nothing.
        if embedding.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let wanted = NearTo { embedding: &embedding, embedder: self.embedder.name(), similarity: LEAST_SIMILARITY };
        self.shelf.nearest(wanted).await.map_err(|error| failed(&error.to_string()))
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

    fn cost_usd(&self) -> f64 {
        self.gate.cost_usd()
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }

    fn status(&self) -> GateStatus {
        self.gate.status()
    }
}

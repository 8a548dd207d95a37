//! GDELT DOC 2.0: news of the last three months in 65 languages, free and best-effort.
//!
//! GDELT throttles by address, with a penalty that grows with every call. So calls are rare (six a minute, evenly
//! spaced), are never retried at once, and stop for half an hour after a refusal.

mod query;
#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
pub(super) use query::key_phrases;
use url::Url;

use super::{Answer, Languages, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings};

const NAME: &str = "gdelt";
const STORAGE: Storage = Storage::Stored;
const PATH: &str = "/api/v2/doc/doc";
/// Its measured penalty is 25 minutes or longer, and further calls extend it.
const SHORTEST_COOLDOWN: Duration = Duration::from_mins(30);

/// Its list of stop words has a few hundred.
const MOST_REFUSED_WORDS: usize = 1_000;

#[derive(Debug, Clone)]
pub struct GdeltSettings {
    pub base_url: Url,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "GDELT DOC 2.0",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::Only(query::CODES),
    restricts_domains: true,
    local: false,
    returns: "addresses and titles of news pages of the last three months",
    terms: "free, best effort: one call each 5 seconds, with a growing penalty",
    configure: "add gdelt to ENRICHMENT_PROVIDERS; no key is needed",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        // The documented limit is one call per 5 seconds; one per 10 seconds is tolerated.
        rpm: 6,
        timeout: Duration::from_secs(15),
        max_attempts: 1,
        cooldown: cooldown.max(SHORTEST_COOLDOWN),
        failures_to_open: 3,
        ..usual_gate(NAME, cooldown)
    }
}

#[derive(Debug)]
pub struct Gdelt {
    settings: GdeltSettings,
    gate: Gate,
    /// Words that it refused, in lower case. Not stored, because its list changes.
    refused_words: Mutex<HashSet<String>>,
}

pub fn new(settings: GdeltSettings, gate: Gate) -> Gdelt {
    Gdelt { settings, gate, refused_words: Mutex::new(HashSet::new()) }
}

impl Gdelt {
    /// Searches; after a refusal of the words it sends one simpler query, because the rules are not fully documented.
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let nothing_to_ask = || AskError::Refused { detail: "the query has no word that GDELT would take".to_owned() };
        let text = query::build(query, &self.refused_words()).ok_or_else(nothing_to_ask)?;
        let detail = match self.put(&text, query, asker).await? {
            wire::Reply::Found(answer) => return Ok(answer),
            wire::Reply::Unasked { detail } => detail,
        };
        self.learn(wire::refused_words(&detail));
        let simpler = query::build_simple(query, &self.refused_words()).filter(|simpler| *simpler != text);
        let Some(simpler) = simpler else { return Err(AskError::Refused { detail }) };
        match self.put(&simpler, query, asker).await? {
            wire::Reply::Found(answer) => Ok(answer),
            wire::Reply::Unasked { detail } => {
                self.learn(wire::refused_words(&detail));
                Err(AskError::Refused { detail })
            }
        }
    }

    async fn put(&self, text: &str, query: &Query, asker: Asker<'_>) -> Result<wire::Reply, AskError> {
        let endpoint = super::wire::endpoint(&self.settings.base_url, PATH);
        let url = wire::url(&endpoint, text, query, self.gate.now());
        let request = ApiRequest::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        self.gate.ask(request, asker, |response| wire::read(response, query)).await
    }

    fn refused_words(&self) -> HashSet<String> {
        self.refused_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn learn(&self, words: Vec<String>) {
        let mut known = self.refused_words.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST_REFUSED_WORDS {
            known.extend(words);
        }
    }
}

impl Provider for Gdelt {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn keep_at_least(&self) -> Duration {
        // Its index is updated every 15 minutes, and it penalises frequent calls.
        Duration::from_mins(15)
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    fn cache_key(&self, query: &Query) -> String {
        query::cache_key(query)
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }
}

//! Wikipedia: articles by full-text search in the query's language, without a key.
//!
//! One request to the `MediaWiki` action API returns the best articles with their beginnings. For a stub, its English
//! counterpart is returned instead. The page fetcher reads the articles. Wikimedia asks clients to name themselves with a
//! contact (`fetch.user_agent`), to send requests one after the other, and to stop while the servers lag (`maxlag`).

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use super::{Answer, Languages, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings};

pub const NAME: &str = "wikipedia";
/// CC BY-SA 4.0.
const STORAGE: Storage = Storage::Stored;
pub const PATH: &str = "/w/api.php";

#[derive(Debug, Clone)]
pub struct WikipediaSettings {
    /// Origin without the language, such as `https://wikipedia.org`. The language becomes the first label of a host name;
    /// an IP address is used as it is.
    pub base_url: Url,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Wikipedia",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::Only(wire::LANGUAGES),
    restricts_domains: false,
    local: false,
    returns: "addresses, titles and beginnings of articles; for a stub, those of its English counterpart",
    terms: "free; requests one after the other, with a contact in the User-Agent",
    configure: "add wikipedia to ENRICHMENT_PROVIDERS; no key is needed",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        // There is no published limit for reading; the pages of the articles follow each call.
        rpm: 60,
        timeout: Duration::from_secs(5),
        max_bytes: 1024 * 1024,
        ..usual_gate(NAME, cooldown)
    }
}

#[derive(Debug)]
pub struct Wikipedia {
    settings: WikipediaSettings,
    gate: Gate,
}

pub fn new(settings: WikipediaSettings, gate: Gate) -> Wikipedia {
    Wikipedia { settings, gate }
}

impl Wikipedia {
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let language = query.language.as_deref().unwrap_or(wire::ENGLISH);
        let origin = wire::origin(&self.settings.base_url, language);
        let url = wire::url(&super::wire::endpoint(&origin, PATH), query, language)?;
        let request = ApiRequest::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        self.gate.ask(request, asker, |response| wire::read(response, query, language)).await
    }
}

impl Provider for Wikipedia {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn keep_at_least(&self) -> Duration {
        // Articles and their ranking change slowly.
        Duration::from_hours(1)
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }
}

//! SearxNG: the operator's own metasearch instance, without a key.
//!
//! The instance needs `json` in `search.formats`. Its limiter allows four such requests an hour, so it must be off or
//! have our address on its pass list.

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use super::{Answer, Languages, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, ACCEPT_LANGUAGE, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings};

const NAME: &str = "searxng";
const STORAGE: Storage = Storage::Stored;
const PATH: &str = "/search";
/// Its limiter refuses clients that do not accept HTML.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/html;q=0.9");

#[derive(Debug, Clone)]
pub struct SearxngSettings {
    /// Origin and optional path prefix.
    pub base_url: Url,
    pub categories: String,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "SearxNG",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "URLs, titles and snippets of web and news pages",
    terms: "free; your own instance",
    configure: "set ENRICHMENT_SEARXNG_BASE_URL to your own instance",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings { rpm: 20, timeout: Duration::from_secs(12), ..usual_gate(NAME, cooldown) }
}

#[derive(Debug)]
pub struct Searxng {
    settings: SearxngSettings,
    gate: Gate,
}

pub fn new(settings: SearxngSettings, gate: Gate) -> Searxng {
    Searxng { settings, gate }
}

impl Searxng {
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let endpoint = super::wire::endpoint(&self.settings.base_url, PATH);
        let url = wire::url(&endpoint, query, &self.settings.categories)?;
        let language = wire::accept_language(query.language.as_deref());
        let language = HeaderValue::from_str(&language).unwrap_or(HeaderValue::from_static("en"));
        // The HTTP client sets `Accept-Encoding`, which the limiter also checks.
        let request = ApiRequest::get(url).header(ACCEPT, ACCEPTED).header(ACCEPT_LANGUAGE, language);
        self.gate.ask(request, asker, |response| wire::read(response, query)).await
    }
}

impl Provider for Searxng {
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

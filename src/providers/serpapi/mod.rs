//! `SerpAPI`: Google's web and news results, paid per search.
//!
//! The key is a query parameter. It is added to the URL when the request is sent, and removed from the response, which
//! repeats it. 200 with `error` and 429 have two meanings each.

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use super::{Answer, Languages, ProbeResult, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::config::ApiKey;
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings, Inquiry};

const NAME: &str = "serpapi";
const STORAGE: Storage = Storage::Stored;
const PATH: &str = "/search.json";
const ACCOUNT_PATH: &str = "/account.json";
const KEY_PARAMETER: &str = "api_key";
/// The age of claims that are searched in the news first.
const NEWS_AGE: chrono::Duration = chrono::Duration::days(3);

#[derive(Debug, Clone)]
pub struct SerpApiSettings {
    pub base_url: Url,
    pub api_key: Option<ApiKey>,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "SerpAPI",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "URLs, titles and snippets of Google's news and web results",
    terms: "about 75 USD a month for 5,000 searches, at most a fifth an hour; about 100 free (2026, not confirmed)",
    configure: "set ENRICHMENT_SERPAPI_API_KEY",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        rpm: 10,
        // SerpAPI runs a real search, which takes seconds to tens of seconds.
        timeout: Duration::from_secs(30),
        max_bytes: 4 * 1024 * 1024,
        // Every attempt may be charged.
        max_attempts: 2,
        // 75 dollars for 5,000.
        cost_usd: 0.015,
        ..usual_gate(NAME, cooldown)
    }
}

#[derive(Debug)]
pub struct SerpApi {
    settings: SerpApiSettings,
    gate: Gate,
}

pub fn new(settings: SerpApiSettings, gate: Gate) -> SerpApi {
    SerpApi { settings, gate }
}

impl SerpApi {
    /// Searches the news for a recent claim, and the web if the news have no hit or the claim is older.
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let is_fresh = query.around.is_some_and(|around| (self.gate.now() - around).abs() <= NEWS_AGE);
        if is_fresh {
            let news = self.ask_engine(wire::Engine::News, query, asker).await?;
            if !news.is_empty() {
                return Ok(news);
            }
        }
        self.ask_engine(wire::Engine::Web, query, asker).await
    }

    async fn ask_engine(&self, engine: wire::Engine, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let request = self.request(wire::url(&super::wire::endpoint(&self.settings.base_url, PATH), engine, query)?);
        let inquiry = Inquiry {
            request: self.request(super::wire::endpoint(&self.settings.base_url, ACCOUNT_PATH)),
            is_needed: &wire::is_doubtful,
            explain: &wire::explain,
        };
        self.gate.ask_or_inquire(request, asker, |response| wire::read(response, query), &inquiry).await
    }

    fn request(&self, url: Url) -> ApiRequest {
        let request = ApiRequest::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        match &self.settings.api_key {
            Some(key) => request.secret_parameter(KEY_PARAMETER, key),
            None => request,
        }
    }
}

impl Provider for SerpApi {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }

    /// The account lookup is free and needs a valid key.
    fn probe<'a>(&'a self, _paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<ProbeResult, AskError>> {
        let request = self.request(super::wire::endpoint(&self.settings.base_url, ACCOUNT_PATH));
        Box::pin(async move {
            self.gate.inquire(request, asker, wire::account).await?;
            Ok(ProbeResult::KeyAccepted)
        })
    }
}

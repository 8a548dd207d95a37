//! Brave Search: an independent web and news index, paid per call.
//!
//! Its terms forbid storing raw results ([`Storage::Transient`]).

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use self::wire::{Index, Results};
use super::{Answer, Languages, ProbeResult, Profile, Provider, ProviderKind, Query, Storage, probe, usual_gate};
use crate::config::ApiKey;
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderName, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings};

const NAME: &str = "brave";
const STORAGE: Storage = Storage::Transient;
/// Maximum pages per query, because each is paid.
const MOST_PAGES: usize = 2;
const KEY_HEADER: HeaderName = HeaderName::from_static("x-subscription-token");
/// The age of claims that are searched in the news index first.
const NEWS_AGE: chrono::Duration = chrono::Duration::days(3);

#[derive(Debug, Clone)]
pub struct BraveSettings {
    pub base_url: Url,
    pub api_key: Option<ApiKey>,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Brave Search",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "URLs, titles and snippets of news and web pages",
    terms: "5 USD a thousand calls (September 2026); results must not be stored",
    configure: "set ENRICHMENT_BRAVE_API_KEY",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        // Every attempt may be charged.
        max_attempts: 2,
        // 5 dollars per 1,000 calls, September 2026.
        cost_usd: 0.005,
        ..usual_gate(NAME, cooldown)
    }
}

#[derive(Debug)]
pub struct Brave {
    settings: BraveSettings,
    gate: Gate,
}

pub fn new(settings: BraveSettings, gate: Gate) -> Brave {
    Brave { settings, gate }
}

impl Brave {
    /// Searches the news for a recent claim, then the web if there is no hit; otherwise the web.
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let is_fresh = query.around.is_some_and(|around| (self.gate.now() - around).abs() <= NEWS_AGE);
        if is_fresh {
            let news = self.pages(Index::News, query, asker).await?;
            if !news.is_empty() {
                return Ok(news);
            }
        }
        self.pages(Index::Web, query, asker).await
    }

    async fn pages(&self, index: Index, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let mut first = self.page(index, query, 0, asker).await?;
        let mut answer = Answer::default();
        let mut offset = 1;
        while first.has_more && !first.hits.is_empty() && first.hits.len() < query.limit && offset < MOST_PAGES {
            let known = first.hits.len();
            match self.page(index, query, offset, asker).await {
                Ok(next) => {
                    first.hits.extend(next.hits);
                    first.has_more = next.has_more;
                }
                Err(error) => {
                    answer.lacks(NAME, "a further page of results", &error);
                    break;
                }
            }
            first.hits = super::wire::distinct(std::mem::take(&mut first.hits).into_iter()).collect();
            // A repeated first page ends the list.
            first.has_more &= first.hits.len() > known;
            offset += 1;
        }
        first.hits.truncate(query.limit);
        Ok(Answer { hits: first.hits, ..answer })
    }

    async fn page(&self, index: Index, query: &Query, offset: usize, asker: Asker<'_>) -> Result<Results, AskError> {
        let endpoint = super::wire::endpoint(&self.settings.base_url, index.path());
        let url = wire::url(&endpoint, index, query, offset)?;
        let mut request = ApiRequest::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.settings.api_key {
            request = request.secret_header(KEY_HEADER, key)?;
        }
        self.gate.ask(request, asker, |response| wire::read(response, query)).await
    }
}

impl Provider for Brave {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }

    fn probe<'a>(&'a self, paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<ProbeResult, AskError>> {
        Box::pin(async move {
            if self.paid() && !paid {
                return probe::reachable(&self.gate, &self.settings.base_url, asker).await;
            }
            let answer = self.search(&probe::question(), asker).await?;
            Ok(ProbeResult::Answered { failed: answer.failed })
        })
    }
}

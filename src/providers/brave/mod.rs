//! Brave Search: an independent web and news index, paid per call.
//!
//! Its terms forbid keeping raw results beyond the moment ([`Storage::Transient`]).

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use self::wire::{Index, Results};
use super::{Answer, Languages, Probed, Profile, Provider, ProviderKind, Query, Storage, probe};
use crate::config::ApiKey;
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderName, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings, GateStatus};

const NAME: &str = "brave";
const STORAGE: Storage = Storage::Transient;
/// Pages for one question: each is paid for.
const MOST_PAGES: usize = 2;
const KEY_HEADER: HeaderName = HeaderName::from_static("x-subscription-token");
/// What is that fresh is in the news index first.
const NEWS_AGE: chrono::Duration = chrono::Duration::days(3);

/// How Brave is reached.
#[derive(Debug, Clone)]
pub struct BraveSettings {
    /// Origin with an optional prefix, `https://api.search.brave.com`.
    pub base_url: Url,
    /// Without one nothing is sent for it; recordings and simulators need none.
    pub api_key: Option<ApiKey>,
}

/// What is fixed of it.
pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Brave Search",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "addresses, titles and snippets of news and web pages",
    terms: "5 USD a thousand calls (September 2026); results must not be stored",
    configure: "set ENRICHMENT_BRAVE_API_KEY",
};

/// The gate this provider wants; the operator's rate, limit and price go on top.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        name: NAME,
        max_wait: Duration::from_secs(10),
        rpm: 60,
        timeout: Duration::from_secs(10),
        max_bytes: 2 * 1024 * 1024,
        // Every attempt may be charged.
        max_attempts: 2,
        cooldown,
        failures_to_open: 5,
        daily_limit: None,
        // 5 dollars a thousand, September 2026.
        cost_usd: 0.005,
    }
}

/// The provider.
#[derive(Debug)]
pub struct Brave {
    settings: BraveSettings,
    gate: Gate,
}

pub fn new(settings: BraveSettings, gate: Gate) -> Brave {
    Brave { settings, gate }
}

impl Brave {
    /// A claim of these days is looked for in the news, and in the web when the news know nothing of it; any other in
    /// the web at once.
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

    /// A further page only where more is wanted than one holds, and there is more.
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
            // The first page sent once more ends it.
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

    fn cost_usd(&self) -> f64 {
        self.gate.cost_usd()
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }

    fn probe<'a>(&'a self, paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<Probed, AskError>> {
        Box::pin(async move {
            if self.paid() && !paid {
                return probe::reachable(&self.gate, &self.settings.base_url, asker).await;
            }
            let answer = self.search(&probe::question(), asker).await?;
            Ok(Probed::Answered { failed: answer.failed })
        })
    }

    fn status(&self) -> GateStatus {
        self.gate.status()
    }
}

//! NewsAPI.org: news articles in 14 languages, as far back as the plan permits.
//!
//! Only a refusal states that limit; it is then respected. The free plan is for development only, so the operator must
//! confirm the plan (`providers.newsapi.licensed`).

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chrono::NaiveDate;
use futures::future::BoxFuture;
use url::Url;

use self::wire::Window;
use super::{Answer, Hit, Languages, ProbeResult, Profile, Provider, ProviderKind, Query, Storage, probe, usual_gate};
use crate::config::ApiKey;
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderName, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings};

const NAME: &str = "newsapi";
const STORAGE: Storage = Storage::Stored;
const PATH: &str = "/v2/everything";
const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
/// Withdrawn rows can shorten a page; pages after the second are not worth their price.
const MOST_PAGES: usize = 2;
/// First days tried, including the wanted one, before a request without dates.
const MOST_DATES_TRIED: usize = 2;

#[derive(Debug, Clone)]
pub struct NewsApiSettings {
    pub base_url: Url,
    pub api_key: Option<ApiKey>,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "NewsAPI.org",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::Only(wire::CODES),
    restricts_domains: true,
    local: false,
    returns: "URLs, titles and summaries of news articles, with dates",
    terms: "449 USD a month for 250,000 calls, 0.0018 USD each beyond; the free developer plan (100 calls a day) forbids \
            production",
    configure: "set ENRICHMENT_NEWSAPI_API_KEY, and ENRICHMENT_NEWSAPI_LICENSED=true if your plan permits production use; \
                the free developer plan does not",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        rpm: 30,
        timeout: Duration::from_secs(15),
        // Every attempt counts against the plan.
        max_attempts: 2,
        cost_usd: 0.0018,
        ..usual_gate(NAME, cooldown)
    }
}

#[derive(Debug)]
pub struct NewsApi {
    settings: NewsApiSettings,
    gate: Gate,
    /// How far back the plan reaches, once a refusal stated it. An age, because the first day moves.
    reach: Mutex<Option<chrono::Duration>>,
}

pub fn new(settings: NewsApiSettings, gate: Gate) -> NewsApi {
    NewsApi { settings, gate, reach: Mutex::new(None) }
}

impl NewsApi {
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let (mut hits, mut is_last, window) = self.first_page(query, asker).await?;
        let mut answer = Answer::default();
        for number in 2..=MOST_PAGES {
            if is_last || hits.len() >= query.limit {
                break;
            }
            match self.page(query, window, number, asker).await {
                Ok(wire::Page::Articles { hits: further, is_last: last }) => {
                    let known = hits.len();
                    for hit in further {
                        if !hits.iter().any(|earlier| earlier.url == hit.url) {
                            hits.push(hit);
                        }
                    }
                    // A repeated first page ends the list.
                    is_last = last || hits.len() == known;
                }
                Ok(wire::Page::End | wire::Page::TooFar { .. }) => is_last = true,
                Err(error) => {
                    answer.lacks(NAME, "a further page of articles", &error);
                    is_last = true;
                }
            }
        }
        hits.truncate(query.limit);
        Ok(Answer { hits, ..answer })
    }

    /// Returns the first page and whether it is the last. It tries the wanted dates, then those that the plan grants,
    /// then no dates, because granted dates may be refused too.
    async fn first_page(&self, query: &Query, asker: Asker<'_>) -> Result<(Vec<Hit>, bool, Option<Window>), AskError> {
        let wanted = |horizon| wire::window(query, self.gate.now().date_naive(), horizon);
        let mut window = wanted(self.horizon());
        let mut refusals = 0;
        loop {
            match self.page(query, window, 1, asker).await? {
                wire::Page::Articles { hits, is_last } => return Ok((hits, is_last, window)),
                wire::Page::End => {
                    let detail = "it says that the list ends before its first page".to_owned();
                    return Err(AskError::CouldNotAsk { detail });
                }
                wire::Page::TooFar { granted } => {
                    let Some(refused) = window else {
                        let detail = "the plan refuses a search without any date as too far back".to_owned();
                        return Err(AskError::Refused { detail });
                    };
                    self.learn(granted, refused);
                    refusals += 1;
                    window = wanted(self.horizon()).filter(|_| refusals < MOST_DATES_TRIED);
                }
            }
        }
    }

    async fn page(
        &self,
        query: &Query,
        window: Option<Window>,
        number: usize,
        asker: Asker<'_>,
    ) -> Result<wire::Page, AskError> {
        let endpoint = super::wire::endpoint(&self.settings.base_url, PATH);
        let url = wire::url(&endpoint, query, window, number)?;
        let mut request = ApiRequest::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.settings.api_key {
            request = request.secret_header(KEY_HEADER, key)?;
        }
        self.gate.ask(request, asker, |response| wire::read(response, query)).await
    }

    fn horizon(&self) -> Option<NaiveDate> {
        let reach = *self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        reach.and_then(|reach| self.gate.now().date_naive().checked_sub_signed(reach))
    }

    fn learn(&self, granted: NaiveDate, refused: Window) {
        // The refused day is the granted one, so the next day is meant.
        let first = if refused.from >= granted { refused.from.succ_opt().unwrap_or(granted) } else { granted };
        let reach = (self.gate.now().date_naive() - first).max(chrono::Duration::zero());
        *self.reach.lock().unwrap_or_else(PoisonError::into_inner) = Some(reach);
        tracing::info!(provider = NAME, %first, "provider plan limits the search to this date");
    }
}

impl Provider for NewsApi {
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

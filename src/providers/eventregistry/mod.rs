//! Event Registry (newsapi.ai): news articles in 60 languages, paid per token.
//!
//! The key is in the body. One page of articles costs one token, so only one page is requested, and never the paid
//! archive. The service takes one call at a time and refuses more than five. Its statuses contradict its messages, so a
//! refusal is classified by both, and a doubtful one by an account lookup.

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{Answer, Languages, ProbeResult, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::config::ApiKey;
use crate::domain::item::SourceKind;
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings, Inquiry};

const NAME: &str = "eventregistry";
const STORAGE: Storage = Storage::Stored;
const PATH: &str = "/api/v1/article/getArticles";
/// Costs no token.
const USAGE_PATH: &str = "/api/v1/usage";
const KEY_FIELD: &str = "apiKey";
/// Maximum wait for earlier calls; then the query fails.
const LONGEST_QUEUE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct EventRegistrySettings {
    pub base_url: Url,
    pub api_key: Option<ApiKey>,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Event Registry (newsapi.ai)",
    kind: ProviderKind::Search,
    source: SourceKind::Web,
    storage: STORAGE,
    languages: Languages::Only(wire::CODES),
    restricts_domains: true,
    local: false,
    returns: "URLs, titles and openings of news articles of the last 31 days, with dates",
    terms: "2,000 tokens free, then 0.015 USD a token; a call is one token; at most 5 calls at once (August 2026)",
    configure: "set ENRICHMENT_EVENTREGISTRY_API_KEY",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        rpm: 30,
        timeout: Duration::from_secs(15),
        max_bytes: 4 * 1024 * 1024,
        // Every attempt may cost a token.
        max_attempts: 2,
        // A token beyond the plan, August 2026.
        cost_usd: 0.015,
        ..usual_gate(NAME, cooldown)
    }
}

#[derive(Debug)]
pub struct EventRegistry {
    settings: EventRegistrySettings,
    gate: Gate,
    /// One call at a time, so that the limit of five serves five processes.
    permits: Semaphore,
}

pub fn new(settings: EventRegistrySettings, gate: Gate) -> EventRegistry {
    EventRegistry { settings, gate, permits: Semaphore::new(1) }
}

impl EventRegistry {
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let request = self.request(PATH, &wire::body(query, self.gate.now())?);
        let patience = Instant::now() + LONGEST_QUEUE;
        let Ok(permit) = timeout_at(asker.until.min(patience), self.permits.acquire()).await else {
            let is_late = patience > asker.until;
            return Err(if is_late { AskError::Deadline } else { AskError::Busy { until: self.gate.now() } });
        };
        let inquiry = Inquiry {
            request: self.request(USAGE_PATH, &serde_json::json!({})),
            is_needed: &wire::is_doubtful,
            explain: &wire::explain,
        };
        let answer = self.gate.ask_or_inquire(request, asker, |response| wire::read(response, query), &inquiry).await;
        drop(permit);
        answer
    }

    fn request(&self, path: &str, body: &serde_json::Value) -> ApiRequest {
        let request = ApiRequest::post_json(super::wire::endpoint(&self.settings.base_url, path), body);
        match &self.settings.api_key {
            Some(key) => request.secret_field(KEY_FIELD, key),
            None => request,
        }
    }
}

impl Provider for EventRegistry {
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
        let request = self.request(USAGE_PATH, &serde_json::json!({}));
        Box::pin(async move {
            self.gate.inquire(request, asker, wire::account).await?;
            Ok(ProbeResult::KeyAccepted)
        })
    }
}

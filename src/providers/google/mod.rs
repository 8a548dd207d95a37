//! Google Fact Check Tools, `claims:search`: reviews that fact-checkers published.
//!
//! The search is by meaning: a review of the opposite claim is a normal result, and its rating rates the claim it
//! reviewed, not ours. Comparing the two is the judging room's work.

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::collections::HashSet;
use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use super::{Answer, Languages, Profile, Provider, ProviderKind, Query, Storage};
use crate::config::ApiKey;
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderName, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings, GateStatus};

const NAME: &str = "google_factcheck";
const PATH: &str = "/v1alpha1/claims:search";
/// Keeps the key out of the URL, hence out of logs and recordings.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");
/// Pages read for one question: tokens have been seen to go on for ever.
const MOST_PAGES: usize = 3;

/// How Google Fact Check is reached.
#[derive(Debug, Clone)]
pub struct GoogleSettings {
    /// Origin with an optional prefix, `https://factchecktools.googleapis.com`.
    pub base_url: Url,
    /// Without one nothing is sent for it; recordings and simulators need none.
    pub api_key: Option<ApiKey>,
}

/// What is fixed of it.
pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Google Fact Check Tools",
    kind: ProviderKind::FactCheck,
    source: SourceKind::Factcheck,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "reviews by fact-checkers: claim, rating, publisher, date",
    terms: "free; no quota is published, read yours in the Cloud console",
    configure: "set FACTCHECK_GOOGLE_API_KEY, or FACTCHECK_GOOGLE_ENABLED=false to do without it",
};

/// The gate this provider wants; the operator's rate, limit and price go on top.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        name: NAME,
        max_wait: Duration::from_secs(10),
        rpm: 60,
        timeout: Duration::from_secs(10),
        max_bytes: 2 * 1024 * 1024,
        max_attempts: 3,
        cooldown,
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

/// The provider.
#[derive(Debug)]
pub struct GoogleFactCheck {
    settings: GoogleSettings,
    gate: Gate,
}

pub fn new(settings: GoogleSettings, gate: Gate) -> GoogleFactCheck {
    GoogleFactCheck { settings, gate }
}

impl GoogleFactCheck {
    async fn look_up(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let mut answer = Answer::default();
        let (mut pages_seen, mut tokens_seen) = (HashSet::new(), HashSet::new());
        let mut token: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let request = self.request(query, token.as_deref())?;
            let page = match self.gate.ask(request, asker, wire::read).await {
                Ok(page) => page,
                Err(error) if answer.reviews.is_empty() => return Err(error),
                Err(error) => {
                    answer.lacks(NAME, "a further page of reviews", &error);
                    break;
                }
            };
            // The same review is listed under several claims; the first is the best match.
            answer.reviews.extend(
                page.reviews.into_iter().filter(|(key, _)| pages_seen.insert(key.clone())).map(|(_, review)| review),
            );
            token = page.next_page.filter(|token| tokens_seen.insert(token.clone()));
            if answer.reviews.len() >= query.limit || token.is_none() {
                break;
            }
        }
        answer.reviews.truncate(query.limit);
        Ok(answer)
    }

    fn request(&self, query: &Query, token: Option<&str>) -> Result<ApiRequest, AskError> {
        let url = wire::url(&super::wire::endpoint(&self.settings.base_url, PATH), query, token)?;
        let request = ApiRequest::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        match &self.settings.api_key {
            Some(key) => request.secret_header(KEY_HEADER, key),
            None => Ok(request),
        }
    }
}

impl Provider for GoogleFactCheck {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn cost_usd(&self) -> f64 {
        self.gate.cost_usd()
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.look_up(query, asker))
    }

    fn status(&self) -> GateStatus {
        self.gate.status()
    }
}

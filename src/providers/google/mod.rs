//! Google Fact Check Tools, `claims:search`: published fact-checks.
//!
//! The search is semantic, so it also returns reviews of the opposite claim. A rating is about the reviewed claim, not
//! ours; `judging` compares the two.

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::collections::HashSet;
use std::time::Duration;

use futures::future::BoxFuture;
use url::Url;

use super::{Answer, Languages, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::config::ApiKey;
use crate::domain::item::SourceKind;
use crate::outbound::header::{ACCEPT, HeaderName, HeaderValue};
use crate::outbound::{ApiRequest, AskError, Asker, Gate, GateSettings};

const NAME: &str = "google_factcheck";
const PATH: &str = "/v1alpha1/claims:search";
/// A header keeps the key out of URLs, logs and recordings.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");
/// Maximum pages per query, because page tokens may never end.
const MOST_PAGES: usize = 3;

#[derive(Debug, Clone)]
pub struct GoogleSettings {
    pub base_url: Url,
    pub api_key: Option<ApiKey>,
}

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Google Fact Check Tools",
    kind: ProviderKind::FactCheck,
    source: SourceKind::Factcheck,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: true,
    local: false,
    returns: "fact-checks: claim, rating, publisher, date",
    terms: "free; the quota is in your Cloud console",
    configure: "set FACTCHECK_GOOGLE_API_KEY, or FACTCHECK_GOOGLE_ENABLED=false to disable it",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings { max_attempts: 3, ..usual_gate(NAME, cooldown) }
}

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
            // A review may be listed under several claims; the first is the best match.
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

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.look_up(query, asker))
    }
}

//! The operator's JSON endpoints: one value of the response becomes a sentence and is compared with an expectation.
//!
//! Each endpoint has its own gate, so that a failure does not stop the others.

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use serde_json::Value;
use url::Url;

use self::wire::{Address, Comparison, JsonPath};
use super::statement::{Keywords, Statement};
use super::{Answer, Content, Hit, Languages, ProbeResult, Profile, Provider, ProviderKind, Query, Storage, probe};
use crate::config::{ApiEndpoint, ApiKey};
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::outbound::header::{ACCEPT, HeaderName, HeaderValue};
use crate::outbound::{ApiRequest, ApiResponse, AskError, Asker, Gate, GateSettings, GateState, GateStatus};

const NAME: &str = "api";

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Own endpoints",
    kind: ProviderKind::Own,
    source: SourceKind::Api,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: false,
    local: false,
    returns: "a sentence with a value of a JSON response, and whether it equals the expected one",
    terms: "those of the endpoint's owner",
    configure: "configure [[providers.api.endpoints]], or set CORROBORATE_PROVIDERS_API_ENDPOINTS",
};

pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings {
        name: NAME,
        max_wait: Duration::from_secs(10),
        rpm: 60,
        timeout: Duration::from_secs(10),
        max_bytes: 1024 * 1024,
        max_attempts: 2,
        cooldown,
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("endpoint {endpoint}: {key} {detail}")]
pub struct BadEndpoint {
    endpoint: String,
    key: &'static str,
    detail: String,
}

#[derive(Debug)]
struct Endpoint {
    name: String,
    address: Address,
    path: JsonPath,
    statement: Statement,
    expected: Option<Comparison>,
    keywords: Keywords,
    credibility: f64,
    key: Option<(HeaderName, ApiKey)>,
    gate: Gate,
}

#[derive(Debug)]
pub struct Api {
    endpoints: Vec<Endpoint>,
}

pub fn new(endpoints: Vec<(ApiEndpoint, Gate)>) -> Result<Api, BadEndpoint> {
    let endpoints = endpoints.into_iter().map(|(config, gate)| endpoint(config, gate)).collect::<Result<_, _>>()?;
    Ok(Api { endpoints })
}

fn endpoint(config: ApiEndpoint, gate: Gate) -> Result<Endpoint, BadEndpoint> {
    let bad = |key, detail| BadEndpoint { endpoint: config.name.clone(), key, detail };
    let address = Address::new(&config.url).map_err(|detail| bad("url", detail))?;
    let path = JsonPath::new(&config.path).map_err(|detail| bad("path", detail))?;
    let statement = Statement::new(&config.statement).map_err(|detail| bad("statement", detail))?;
    if let Some(other) = statement.places().find(|name| !matches!(*name, "value" | "entity" | "query")) {
        return Err(bad("statement", format!("knows no {{{other}}}; use {{value}}, {{entity}} and {{query}}")));
    }
    let expected = match (config.expected, config.value.as_deref()) {
        (Some(how), with) => Some(Comparison::new(how, with).map_err(|detail| bad("value", detail))?),
        (None, Some(_)) => {
            return Err(bad("value", "is compared with nothing; set expected, or take it out".to_owned()));
        }
        (None, None) => None,
    };
    let key = match (config.key_header.as_deref(), config.api_key.clone()) {
        (None, None) => None,
        (Some(header), Some(key)) => {
            let header = HeaderName::from_bytes(header.to_ascii_lowercase().as_bytes())
                .map_err(|_no_name| bad("key_header", "is no name of a header".to_owned()))?;
            Some((header, key))
        }
        (Some(_), None) => {
            let variable = format!("ENRICHMENT_API_{}_API_KEY", config.name.to_uppercase().replace('-', "_"));
            return Err(bad("key_header", format!("is set and its key is not; set {variable}")));
        }
        (None, Some(_)) => return Err(bad("key_header", "is missing: a key is set, and no header for it".to_owned())),
    };
    let keywords = Keywords::new(&config.keywords);
    let (name, credibility) = (config.name, config.credibility);
    Ok(Endpoint { name, address, path, statement, expected, keywords, credibility, key, gate })
}

impl Endpoint {
    /// Returns the URL for a claim; `None` if the endpoint does not match the claim.
    fn address(&self, query: &Query) -> Option<Url> {
        let about = |text: &str| self.keywords.are_in(text);
        (about(&query.text) || about(&query.terms.join(" "))).then(|| self.address.of(query)).flatten()
    }

    async fn ask(&self, url: Url, query: &Query, asker: Asker<'_>) -> Result<Option<Hit>, AskError> {
        let mut request = ApiRequest::get(url.clone()).header(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some((header, key)) = &self.key {
            request = request.secret_header(header.clone(), key)?;
        }
        self.gate.ask(request, asker, |response| self.read(response, &url, query)).await
    }

    fn read(&self, response: &ApiResponse, url: &Url, query: &Query) -> Result<Option<Hit>, AskError> {
        // If the URL contains the claim, a JSON "not found" is about the claim.
        if response.status == 404
            && self.address.has_places()
            && super::wire::json_of_any_shape(response).is_ok_and(|body| body.is_object() || body.is_array())
        {
            return Ok(None);
        }
        // HTML at 403 comes from a barrier in front of the endpoint, not from a check of the key.
        if response.status == 403 && super::wire::is_page(response) {
            return Err(AskError::CouldNotAsk { detail: "status 403 with a web page: a wall before it".to_owned() });
        }
        if let Some(error) = response.status_error() {
            return Err(error);
        }
        let answer: Value = if self.path.is_in_a_list() {
            super::wire::json_of_any_shape(response)?
        } else {
            super::wire::json(response)?
        };
        if let Some(detail) = wire::refusal(&answer, &self.path) {
            return Err(AskError::CouldNotAsk { detail });
        }
        let Some(text) = self.text(&answer, query) else { return Ok(None) };
        Ok(Some(Hit {
            url: self.named(url),
            title: url.host_str().map_or_else(|| self.name.clone(), |host| format!("{} at {host}", self.name)),
            snippet: text.clone(),
            published_at: Some(response.received_at),
            language: crate::language::detect::detect(&text).language,
            provider: NAME,
            storage: PROFILE.storage,
            content: Some(Content {
                text,
                origin: Origin::Api,
                publisher: Some(self.name.clone()),
                credibility: Some(self.credibility),
            }),
        }))
    }

    /// Returns the evidence URL. Not the web URL, because that may also be a page with another text.
    fn named(&self, url: &Url) -> String {
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("api://{}{}{query}", self.name, url.path())
    }

    /// Returns the sentences of the response; `None` if there are none.
    fn text(&self, answer: &Value, query: &Query) -> Option<String> {
        let Some(value) = self.path.in_answer(answer) else {
            // If the parent is missing too, the response has another shape and does not answer the query.
            let asked = self.expected.as_ref().is_some_and(Comparison::asks_for_existence);
            let is_missing = asked && self.path.parent_in(answer);
            let of = query.terms.first().map(|entity| format!(" for {entity}")).unwrap_or_default();
            return is_missing.then(|| format!("There is no {}{of}.", self.path.last()));
        };
        let sentence = self.statement.fill(|name| match name {
            "value" => wire::shown(value),
            "entity" => query.terms.first().cloned(),
            _ => Some(query.text.clone()),
        })?;
        let compared = self.expected.as_ref().and_then(|expected| expected.describe(value, query));
        let text: Vec<String> = [Some(sentence), compared].into_iter().flatten().collect();
        Some(super::wire::one_line(&text.join(" ")))
    }
}

impl Api {
    /// Queries all matching endpoints concurrently. A failure is an error only if no other endpoint has a hit.
    async fn search(&self, query: &Query, asker: Asker<'_>) -> Result<Answer, AskError> {
        let asked = self.endpoints.iter().filter_map(|endpoint| Some((endpoint, endpoint.address(query)?)));
        let asked = asked.map(|(endpoint, url)| async move { (endpoint, endpoint.ask(url, query, asker).await) });
        let (mut answer, mut failure) = (Answer::default(), None);
        for (endpoint, outcome) in join_all(asked).await {
            match outcome {
                Ok(hit) => answer.hits.extend(hit),
                Err(error) => {
                    answer.lacks(NAME, &endpoint.name, &error);
                    failure = failure.or(Some(error));
                }
            }
        }
        answer.hits.truncate(query.limit);
        match failure {
            Some(error) if answer.is_empty() => Err(error),
            _ => Ok(answer),
        }
    }
}

impl Provider for Api {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn cost_usd(&self) -> f64 {
        0.0
    }

    fn cache_key(&self, query: &Query) -> String {
        let asked = self.endpoints.iter().filter_map(|endpoint| {
            let url = endpoint.address(query)?;
            let words = endpoint.expected.is_some() || endpoint.statement.places().any(|path| path == "query");
            Some(format!("{} {url} {}", endpoint.name, if words { query.text.as_str() } else { "" }))
        });
        let parts: Vec<String> = std::iter::once(NAME.to_owned()).chain(asked).collect();
        crate::cache::joined(parts.iter().map(String::as_str))
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        Box::pin(self.search(query, asker))
    }

    /// Queries every endpoint, also those whose keywords do not match.
    fn probe<'a>(&'a self, _paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<ProbeResult, AskError>> {
        Box::pin(async move {
            let question = probe::question();
            let asked = self.endpoints.iter().filter_map(|one| Some((one, one.address.of(&question)?)));
            let asked = asked.map(|(one, url)| async move { (one, one.ask(url, &probe::question(), asker).await) });
            let outcomes = join_all(asked).await.into_iter();
            probe::of_parts(outcomes.map(|(one, outcome)| (one.name.clone(), outcome.map(drop))).collect())
        })
    }

    fn status(&self) -> GateStatus {
        let all: Vec<GateStatus> = self.endpoints.iter().map(|endpoint| endpoint.gate.status()).collect();
        let shown = all.iter().find(|status| status.state == GateState::Ready).or(all.first());
        GateStatus {
            name: NAME,
            state: shown.map_or(GateState::Ready, |status| status.state),
            until: all
                .iter()
                .filter_map(|status| status.until)
                .min()
                .filter(|_| shown.is_some_and(|status| status.state != GateState::Ready)),
            reason: shown.and_then(|status| status.reason.clone()),
            rpm: all.iter().map(|status| status.rpm).fold(0, u32::saturating_add),
            calls_today: all.iter().map(|status| status.calls_today).sum(),
            errors_today: all.iter().map(|status| status.errors_today).sum(),
            usd_today: 0.0,
        }
    }
}

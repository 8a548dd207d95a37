//! The operator's JSON endpoints: one value of the response becomes a sentence and is compared with an expectation.
//!
//! Each endpoint has its own gate, so that a failure does not stop the others.

#[cfg(test)]
pub(super) mod tests;
mod wire;

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use url::Url;

use self::wire::{Address, Comparison, JsonPointer};
use super::own::{BadSetting, Keywords, OwnSource, OwnText, Part, Statement, shown};
use super::{Hit, Languages, Profile, ProviderKind, Query, Storage, usual_gate};
use crate::config::{ApiEndpoint, ApiKey};
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::outbound::header::{ACCEPT, HeaderName, HeaderValue};
use crate::outbound::{ApiRequest, ApiResponse, AskError, Asker, Gate, GateSettings};

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
    GateSettings { max_bytes: 1024 * 1024, ..usual_gate(NAME, cooldown) }
}

#[derive(Debug)]
pub struct Endpoint {
    name: String,
    address: Address,
    path: JsonPointer,
    statement: Statement,
    expected: Option<Comparison>,
    keywords: Keywords,
    credibility: f64,
    key: Option<(HeaderName, ApiKey)>,
    gate: Gate,
}

pub type Api = OwnSource<Endpoint>;

pub fn new(endpoints: Vec<(ApiEndpoint, Gate)>) -> Result<Api, BadSetting> {
    Ok(OwnSource::new(&PROFILE, endpoints.into_iter().map(endpoint).collect::<Result<_, _>>()?))
}

fn endpoint((config, gate): (ApiEndpoint, Gate)) -> Result<Endpoint, BadSetting> {
    let bad = |key, detail| BadSetting { part: format!("endpoint {}", config.name), key, detail };
    let address = Address::new(&config.url).map_err(|detail| bad("url", detail))?;
    let path = JsonPointer::new(&config.path).map_err(|detail| bad("path", detail))?;
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
        let query_part = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let text = OwnText {
            origin: Origin::Api,
            // Not the web URL, because that may also be a page with another text.
            url: format!("{NAME}://{}{}{query_part}", self.name, url.path()),
            title: url.host_str().map_or_else(|| self.name.clone(), |host| format!("{} at {host}", self.name)),
            text,
            published_at: Some(response.received_at),
            publisher: self.name.clone(),
            credibility: self.credibility,
        };
        Ok(Some(text.hit(&PROFILE)))
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
            "value" => shown(value),
            "entity" => query.terms.first().cloned(),
            _ => Some(query.text.clone()),
        })?;
        let compared = self.expected.as_ref().and_then(|expected| expected.describe(value, query));
        let text: Vec<String> = [Some(sentence), compared].into_iter().flatten().collect();
        Some(super::wire::one_line(&text.join(" ")))
    }
}

impl Part for Endpoint {
    fn name(&self) -> &str {
        &self.name
    }

    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn key(&self, query: &Query) -> Option<String> {
        let url = self.address.of(query).filter(|_| self.keywords.match_claim(query))?;
        let needs_text = self.expected.is_some() || self.statement.places().any(|place| place == "query");
        Some(format!("{url} {}", if needs_text { query.text.as_str() } else { "" }))
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Option<Hit>, AskError>> {
        Box::pin(async move {
            let Some(url) = self.address.of(query) else { return Ok(None) };
            let mut request = ApiRequest::get(url.clone()).header(ACCEPT, HeaderValue::from_static("application/json"));
            if let Some((header, key)) = &self.key {
                request = request.secret_header(header.clone(), key)?;
            }
            self.gate.ask(request, asker, |response| self.read(response, &url, query)).await
        })
    }
}

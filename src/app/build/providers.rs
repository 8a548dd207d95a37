//! Builds the providers of this daemon, in query order.
//!
//! A provider without its key or address is listed as unconfigured. A new provider needs a function here and a call in
//! [`build`].

use std::sync::Arc;

use url::Url;

use super::gates::Gates;
use super::{AppError, setup};
use crate::config::{OpenSearchBackend, ProviderConfig, SearchProvider};
use crate::inference::Embedder;
use crate::outbound::pages::PageFetcher;
use crate::parsing::Parsers;
use crate::pipeline::{RulesHandle, SearchProviders};
use crate::providers::{
    self, Provider, brave, eventregistry, gdelt, google, knowledge, newsapi, searxng, serpapi, wikipedia,
};
use crate::store::Store;

pub(super) struct Parts<'a> {
    pub(super) gates: Gates<'a>,
    pub(super) store: &'a Store,
    pub(super) embedder: &'a Arc<dyn Embedder>,
    pub(super) pages: &'a Arc<PageFetcher>,
    pub(super) parsers: &'a Arc<Parsers>,
    pub(super) rules: &'a Arc<RulesHandle>,
}

pub(super) fn how_to_configure(provider: &str) -> &'static str {
    providers::profile(provider)
        .map_or("this version does not ask it; take it out of the list of providers", |profile| profile.configure)
}

pub(super) fn build(parts: &Parts<'_>) -> Result<SearchProviders, AppError> {
    let mut found = SearchProviders::default();
    fact_checkers(&parts.gates, &mut found)?;
    found.knowledge = Some(knowledge(parts));
    super::own::build(parts, &mut found)?;
    for wanted in &parts.gates.config.enrichment.providers {
        match wanted {
            SearchProvider::OpenSearch => {
                for backend in &parts.gates.config.enrichment.opensearch_backends {
                    open_search(*backend, &parts.gates, &mut found)?;
                }
            }
            SearchProvider::Gdelt => {
                let one = &parts.gates.config.providers.gdelt;
                let settings = gdelt::GdeltSettings { base_url: base(one, "gdelt")? };
                found.search.push(Arc::new(gdelt::new(settings, parts.gates.gate(gdelt::gate_settings, one))));
            }
            SearchProvider::EventRegistry => event_registry(&parts.gates, &mut found)?,
            SearchProvider::NewsApi => news_api(&parts.gates, &mut found)?,
            SearchProvider::Wikipedia => {
                let one = &parts.gates.config.providers.wikipedia;
                let settings = wikipedia::WikipediaSettings { base_url: base(one, "wikipedia")? };
                found.search.push(Arc::new(wikipedia::new(settings, parts.gates.gate(wikipedia::gate_settings, one))));
            }
        }
    }
    // Fixed order with OpenSearch first, independent of the configured order.
    found.search.sort_by_key(|provider| order(provider.name()));
    Ok(found)
}

fn order(name: &str) -> usize {
    providers::NAMES.iter().position(|known| *known == name).unwrap_or(usize::MAX)
}

fn fact_checkers(gates: &Gates<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    let google = &gates.config.providers.google;
    match (gates.config.fact_check.google_enabled, &google.api_key) {
        (false, _) => found.disabled.push("google_factcheck"),
        (true, None) => found.unconfigured.push("google_factcheck"),
        (true, Some(key)) => {
            let settings = google::GoogleSettings { base_url: base(google, "google")?, api_key: Some(key.clone()) };
            let gate = gates.gate(google::gate_settings, google);
            found.fact_check = Some(Arc::new(google::new(settings, gate)));
        }
    }
    Ok(())
}

fn knowledge(parts: &Parts<'_>) -> Arc<dyn Provider> {
    let rules = Arc::clone(parts.rules);
    let denied = Arc::new(move |host: &str| rules.current().is_denied(host));
    let gate = parts.gates.guard(knowledge::gate_settings(parts.gates.config.enrichment.provider_cooldown));
    Arc::new(knowledge::new(Arc::new(parts.store.clone()), Arc::clone(parts.embedder), denied, gate))
}

fn open_search(backend: OpenSearchBackend, gates: &Gates<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    let settings = &gates.config.providers;
    match backend {
        OpenSearchBackend::Searxng => match &settings.searxng.base_url {
            Some(address) => {
                let own = searxng::SearxngSettings { base_url: address.clone(), categories: "general,news".to_owned() };
                let gate = gates.gate(searxng::gate_settings, &settings.searxng);
                found.search.push(Arc::new(searxng::new(own, gate)) as Arc<dyn Provider>);
            }
            None => found.unconfigured.push("searxng"),
        },
        OpenSearchBackend::Brave => match &settings.brave.api_key {
            Some(key) => {
                let own =
                    brave::BraveSettings { base_url: base(&settings.brave, "brave")?, api_key: Some(key.clone()) };
                let gate = gates.gate(brave::gate_settings, &settings.brave);
                found.search.push(Arc::new(brave::new(own, gate)));
            }
            None => found.unconfigured.push("brave"),
        },
        OpenSearchBackend::SerpApi => match &settings.serpapi.api_key {
            Some(key) => {
                let base_url = base(&settings.serpapi, "serpapi")?;
                let own = serpapi::SerpApiSettings { base_url, api_key: Some(key.clone()) };
                let gate = gates.gate(serpapi::gate_settings, &settings.serpapi);
                found.search.push(Arc::new(serpapi::new(own, gate)));
            }
            None => found.unconfigured.push("serpapi"),
        },
    }
    Ok(())
}

fn event_registry(gates: &Gates<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    let one = &gates.config.providers.eventregistry;
    match &one.api_key {
        Some(key) => {
            let base_url = base(one, "eventregistry")?;
            let own = eventregistry::EventRegistrySettings { base_url, api_key: Some(key.clone()) };
            found.search.push(Arc::new(eventregistry::new(own, gates.gate(eventregistry::gate_settings, one))));
        }
        None => found.unconfigured.push("eventregistry"),
    }
    Ok(())
}

/// Requires a confirmed licence, because the free plan forbids production use.
fn news_api(gates: &Gates<'_>, found: &mut SearchProviders) -> Result<(), AppError> {
    let one = &gates.config.providers.newsapi;
    match &one.api_key {
        Some(key) if one.licensed => {
            let own = newsapi::NewsApiSettings { base_url: base(one, "newsapi")?, api_key: Some(key.clone()) };
            found.search.push(Arc::new(newsapi::new(own, gates.gate(newsapi::gate_settings, one))));
        }
        _ => found.unconfigured.push("newsapi"),
    }
    Ok(())
}

fn base(one: &ProviderConfig, name: &'static str) -> Result<Url, AppError> {
    one.base_url.clone().ok_or_else(|| setup(name, "its base URL is empty; leave it out to use the public one"))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use chrono::DateTime;

    use super::super::OutboundObserver;
    use super::*;
    use crate::config::Config;
    use crate::domain::Clock;
    use crate::domain::clock::FixedClock;
    use crate::outbound::HttpClient;

    fn with_gates<T>(config: &Config, check: impl FnOnce(&Gates<'_>) -> T) -> T {
        let http = HttpClient::live("corroborate-test").unwrap();
        let clock: Arc<dyn Clock> = Arc::new(FixedClock(DateTime::UNIX_EPOCH));
        let (usage, followers) = (Arc::new(OutboundObserver::default()), Mutex::default());
        check(&Gates { config, http: &http, clock: &clock, usage: &usage, store: None, followers: &followers })
    }

    #[test]
    fn what_is_switched_off_is_not_merely_unconfigured() {
        let mut config = Config::built_in();
        let shown = |config: &Config| {
            let mut found = SearchProviders::default();
            with_gates(config, |gates| fact_checkers(gates, &mut found)).unwrap();
            (found.fact_check.is_some(), found.disabled, found.unconfigured.contains(&"google_factcheck"))
        };
        config.fact_check.google_enabled = true;
        assert_eq!(shown(&config), (false, vec![], true));
        config.fact_check.google_enabled = false;
        assert_eq!(shown(&config), (false, vec!["google_factcheck"], false));
        config.providers.google.api_key = Some("key".into());
        assert_eq!(shown(&config), (false, vec!["google_factcheck"], false));
        config.fact_check.google_enabled = true;
        assert_eq!(shown(&config), (true, vec![], false));
    }

    #[test]
    fn newsapi_is_asked_only_when_its_plan_is_confirmed() {
        let mut config = Config::built_in();
        let shown = |config: &Config| {
            let mut found = SearchProviders::default();
            with_gates(config, |gates| news_api(gates, &mut found)).unwrap();
            (found.search.len(), found.unconfigured)
        };
        assert!(!config.providers.newsapi.licensed, "nobody confirmed anything");
        assert_eq!(shown(&config), (0, vec!["newsapi"]));
        config.providers.newsapi.api_key = Some("key".into());
        assert_eq!(shown(&config), (0, vec!["newsapi"]), "a key alone does not say that it may be used");
        assert!(how_to_configure("newsapi").contains("ENRICHMENT_NEWSAPI_LICENSED=true"));
        config.providers.newsapi.licensed = true;
        assert_eq!(shown(&config), (1, vec![]));
    }

    #[test]
    fn how_to_configure_names_variables_that_exist() {
        let known: Vec<_> = crate::config::KEYS.iter().map(crate::config::Key::env).collect();
        for profile in providers::PROFILES.iter().filter(|profile| profile.name != providers::gatherer::PROFILE.name) {
            let is_variable = |word: &&str| word.len() > 4 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            let words: Vec<&str> = profile.configure.split([' ', ',', '=', ';']).filter(is_variable).collect();
            let known = words.iter().all(|word| known.iter().any(|known| known == word));
            assert!(!words.is_empty() && known, "{}", profile.configure);
        }
    }
}

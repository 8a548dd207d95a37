//! Builds the parts that `doctor` checks.
//!
//! Each part is built separately, so that one failure does not hide the others.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::caches::Caches;
use super::gates::Gates;
use super::language_model;
use super::providers::{self, Parts};
use super::settings::page_settings;
use super::{AppError, OutboundObserver, Purpose, learn, models, queue, setup};
use crate::broker::QueueDepth;
use crate::config::Config;
use crate::domain::rules::DomainRules;
use crate::domain::{Clock, SystemClock};
use crate::inference::llm::LanguageModel;
use crate::inference::remote::Patience;
use crate::inference::translation::{self, Translator};
use crate::inference::{Embedder, Fallback, Models};
use crate::outbound::HttpClient;
use crate::outbound::pages::{PageFetcher, PageSource};
use crate::pipeline::{RulesHandle, SearchProviders};
use crate::store::Store;
use crate::supervisor::Supervisor;

#[derive(Debug)]
pub struct Checkup {
    config: Arc<Config>,
    /// A store with a current schema.
    store: Option<Store>,
    clock: Arc<dyn Clock>,
    pub models: Result<Models, AppError>,
    /// `None`: not configured.
    pub translator: Result<Option<Arc<dyn Translator>>, AppError>,
    pub language_model: Option<Arc<LanguageModel>>,
    pub providers: Result<SearchProviders, AppError>,
    usage: Arc<OutboundObserver>,
}

impl Checkup {
    /// Builds all parts that can be built. Without a `store` no limits or breakers are shared. `limit` is the time for
    /// parts that send requests while they are built.
    pub async fn new(mut config: Config, store: Option<&Store>, limit: Duration) -> Self {
        config.providers.retries = 0;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let fallback = Fallback::new(config.inference.embedding_dimension, config.enrichment.min_agreement);
        let supervisor = Supervisor::default();
        let models =
            timeout(limit, Box::pin(models::build(&config, &clock, &fallback, Patience::NONE, &supervisor))).await;
        let models = models.unwrap_or(Err(AppError::Silent { component: "the model server", limit }));
        let embedder = match &models {
            Ok(models) => Arc::clone(&models.embedder),
            Err(_shown_by_its_own_line) => Arc::new(fallback.words) as Arc<dyn Embedder>,
        };
        let usage = Arc::new(OutboundObserver::default());
        let Clients { providers, translator, language_model } =
            outside(&config, store, &embedder, &clock, &usage, limit).await;
        let config = Arc::new(config);
        Self { config, store: store.cloned(), clock, models, translator, language_model, providers, usage }
    }

    /// Returns the queue depth, or `None` if the queue is a table of an unusable store.
    pub async fn queue(&self) -> Result<Option<QueueDepth>, AppError> {
        let store = match (&self.store, &self.config.amqp.url) {
            (Some(store), _) => store.clone(),
            (None, Some(_)) => Store::detached(),
            (None, None) => return Ok(None),
        };
        let supervisor = Supervisor::default();
        let _close_on_drop = supervisor.closing().clone().drop_guard();
        // One attempt, so that the broker's error arrives before the check times out.
        let (clock, patience) = (Arc::clone(&self.clock), Some(Duration::ZERO));
        let queue =
            queue(&self.config, &Purpose::Command { broker: true }, &store, clock, &supervisor, patience).await?;
        let depth = queue.depth().await?;
        queue.stop_receiving();
        Ok(Some(depth))
    }

    /// Stores the calls as usage, because providers count them too.
    pub async fn close(self) {
        if let Some(store) = &self.store {
            let counted = store.add_usage(self.clock.now(), &self.usage.take()).await;
            if let Err(error) = counted {
                tracing::warn!(%error, "doctor calls could not be counted");
            }
        }
    }
}

struct Clients {
    providers: Result<SearchProviders, AppError>,
    translator: Result<Option<Arc<dyn Translator>>, AppError>,
    language_model: Option<Arc<LanguageModel>>,
}

async fn outside(
    config: &Config,
    store: Option<&Store>,
    embedder: &Arc<dyn Embedder>,
    clock: &Arc<dyn Clock>,
    usage: &Arc<OutboundObserver>,
    limit: Duration,
) -> Clients {
    let http = match HttpClient::live(&config.fetch.user_agent) {
        Ok(http) => http,
        Err(error) => {
            let failed = || setup("the HTTP client", &error);
            return Clients { providers: Err(failed()), translator: Err(failed()), language_model: None };
        }
    };
    let followers = Mutex::default();
    let gates = Gates { config, http: &http, clock, usage, store, followers: &followers };
    // Built first, so that a failed provider does not hide them. No cache, so each service is called.
    let caches = Caches { config, usage, store: None };
    let language_model = language_model::build(&config.llm, &gates, caches.language_model());
    let translator = translation::configured(&config.translate, language_model.as_ref(), &|one| gates.unobserved(one));
    let providers = timeout(limit, Box::pin(searches(gates, store, embedder))).await;
    let providers = providers.unwrap_or(Err(AppError::Silent { component: "the store of the domain rules", limit }));
    Clients { providers, translator: Ok(translator), language_model }
}

async fn searches(
    gates: Gates<'_>,
    store: Option<&Store>,
    embedder: &Arc<dyn Embedder>,
) -> Result<SearchProviders, AppError> {
    let config = gates.config;
    let pages = PageFetcher::new(page_settings(config), PageSource::Live);
    let pages = Arc::new(pages.map_err(|error| setup("the page fetcher", error))?);
    let rules = match store {
        Some(store) => store.domain_rules().await?.0,
        None => config.enrichment.first_rules(),
    };
    let rules = Arc::new(RulesHandle::new(DomainRules::new(rules, config.enrichment.allowlist_only), None));
    let detached = Store::detached();
    let parsers = Arc::default();
    let store_or_none = store.unwrap_or(&detached);
    let parts = Parts { gates, store: store_or_none, embedder, pages: &pages, parsers: &parsers, rules: &rules };
    let providers = providers::build(&parts);
    if let Some(store) = store {
        let followers = std::mem::take(&mut *parts.gates.followers.lock().unwrap_or_else(PoisonError::into_inner));
        learn(store, &followers).await?;
    }
    providers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SearchProvider;

    #[tokio::test]
    async fn providers_that_cannot_be_had_do_not_hide_the_translator() {
        let mut config = Config::built_in();
        config.inference.embedder = "hashed".to_owned();
        config.inference.stance = "rules".to_owned();
        config.inference.reranker = "lexical".to_owned();
        config.enrichment.providers = vec![SearchProvider::Gdelt];
        config.providers.gdelt.base_url = None;
        config.translate.base_url = Some("http://translate.example/".parse().unwrap());
        let checkup = Checkup::new(config, None, Duration::from_secs(10)).await;
        assert!(checkup.providers.is_err());
        assert!(checkup.translator.is_ok_and(|translator| translator.is_some()));
    }
}

//! Services and settings of the stages, built once by `app`.
//! A setting is a field here that `config` sets and documents.
//! Domain lists can change while the daemon runs; an item keeps those it started with.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use crate::cache::{FactCheckCache, PageCache, SearchCache};
use crate::config::LanguageRule;
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Note;
use crate::domain::{Clock, Event, Item, ItemResult, Stance, Tier};
use crate::inference::llm::{ItemSpend, LanguageModel, Purpose};
use crate::inference::translation::Translator;
use crate::inference::{Fallback, Models};
use crate::judging::scoring::Scoring;
use crate::outbound::pages::PageFetcher;
use crate::parsing::{ParseError, Parsers};
use crate::providers::{Answer, Provider};
use crate::store::{JudgedWith, Store, StoreError};
use crate::telemetry::metrics;

use super::item_locks::ItemLocks;
use super::latency::Latencies;
use super::page::PreparedPage;
use super::steps::Steps;

#[derive(Debug, Clone)]
pub struct Settings {
    pub enrichment_enabled: bool,
    pub pilot: Pilot,
    pub min_importance: f64,
    pub max_sources: usize,
    pub max_time: Duration,
    pub min_claim_chars: usize,
    pub fact_check_results: usize,
    pub claims_per_item: usize,
    pub queries_per_claim: usize,
    pub languages: LanguagePolicy,
    /// Per claim.
    pub translated_passages: usize,
    /// Per item.
    pub translated_chars: usize,
    /// Per item, for all claims.
    pub passages_shown: usize,
    pub scoring: Scoring,
    pub evidence_ttl: Duration,
    /// Older stored pages are fetched again.
    pub page_ttl: Duration,
    pub dedup_similarity: f64,
    pub similar_item_threshold: f64,
    /// `None` without a broker.
    pub results_exchange: Option<String>,
    pub webhooks: Vec<WebhookTarget>,
    /// Repeats finished requests without a message id: a recording must be complete.
    pub redo: bool,
    /// Per item.
    pub llm_calls_per_item: u32,
    pub llm_usd_per_item: f64,
    /// After retrieval starts.
    pub llm_search_after: Duration,
    /// Pages that an item links to are read.
    pub expands_links: bool,
}

impl Settings {
    /// Returns the number of search results per query: enough to choose the pages.
    pub fn search_results(&self) -> usize {
        self.max_sources.max(15)
    }

    /// Returns the number of embedded passages, over `max_sources` pages. Four hold a page's statements about a claim.
    pub fn passages_per_claim(&self) -> usize {
        (self.max_sources * 4).max(20)
    }

    pub fn listeners(&self) -> Listeners {
        Listeners { results_exchange: self.results_exchange.clone(), webhooks: self.webhooks.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTarget {
    pub name: String,
    pub events: Vec<Event>,
}

impl WebhookTarget {
    pub fn subscribes_to(&self, event: Event) -> bool {
        self.events.contains(&event)
    }
}

/// Receivers of messages about results.
#[derive(Debug, Clone, Default)]
pub struct Listeners {
    /// `None` without a broker.
    pub results_exchange: Option<String>,
    pub webhooks: Vec<WebhookTarget>,
}

/// The operator's policy for searches in other languages; codes are ISO 639-1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LanguagePolicy {
    pub always: Vec<String>,
    pub rules: Vec<LanguageRule>,
    /// Adds English for items in neither English nor Russian, or uncertain ones.
    pub into_english: bool,
}

/// Channels of the pilot; `None` covers every item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pilot(Option<Vec<String>>);

impl Pilot {
    /// Reads the names: `all` covers everything; case and `@` are ignored.
    pub fn new(names: &[String]) -> Self {
        if names.iter().any(|name| name.eq_ignore_ascii_case("all")) {
            return Self(None);
        }
        Self(Some(names.iter().map(|name| plain(name)).collect()))
    }

    pub fn covers(&self, channel: Option<&str>) -> bool {
        match &self.0 {
            None => true,
            Some(names) => channel.is_some_and(|channel| names.contains(&plain(channel))),
        }
    }
}

/// Normalises a channel name for comparison.
pub(super) fn plain(channel: &str) -> String {
    channel.trim().trim_start_matches('@').to_lowercase()
}

/// Providers in query order.
#[derive(Debug, Clone, Default)]
pub struct SearchProviders {
    pub fact_check: Option<Arc<dyn Provider>>,
    /// Queried first, and alone if it suffices.
    pub knowledge: Option<Arc<dyn Provider>>,
    /// Corpus, endpoints and database.
    pub own: Vec<Arc<dyn Provider>>,
    /// In fallback order.
    pub search: Vec<Arc<dyn Provider>>,
    /// Without key or address.
    pub unconfigured: Vec<&'static str>,
    pub disabled: Vec<&'static str>,
}

impl SearchProviders {
    /// Returns the providers in display order.
    pub fn configured(&self) -> impl Iterator<Item = &Arc<dyn Provider>> {
        self.fact_check.iter().chain(&self.knowledge).chain(&self.own).chain(&self.search)
    }
}

/// The domain lists, replaced as a whole when edited.
#[derive(Debug, Default)]
pub struct RulesHandle {
    /// With their version in the store.
    rules: RwLock<(Arc<DomainRules>, Option<i64>)>,
}

impl RulesHandle {
    pub fn new(rules: DomainRules, version: Option<i64>) -> Self {
        Self { rules: RwLock::new((Arc::new(rules), version)) }
    }

    /// Returns the current lists; an item keeps those it started with.
    pub fn current(&self) -> Arc<DomainRules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner).0)
    }

    fn version(&self) -> Option<i64> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).1
    }

    pub fn replace(&self, rules: DomainRules, version: i64) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = (Arc::new(rules), Some(version));
    }
}

/// Why a request failed; nothing was committed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    #[error("the store could not be used")]
    Store(#[from] StoreError),
    #[error("a model failed")]
    Inference(#[from] crate::inference::InferenceError),
    #[error("the texts of the item could not be processed")]
    Texts(#[source] ParseError),
}

impl PipelineError {
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            // A model server may recover; the retry budget limits the attempts.
            Self::Inference(_) => true,
            // A text that crashes our code always does. Slow work may succeed in a retry.
            Self::Texts(error) => *error != ParseError::Crashed,
        }
    }

    pub fn label(&self) -> &'static str {
        match self {
            Self::Store(error) => error.label(),
            Self::Inference(_) => "inference",
            Self::Texts(_) => "text_work",
        }
    }
}

#[derive(Debug)]
pub struct Services {
    pub settings: Settings,
    pub store: Store,
    pub providers: SearchProviders,
    pub pages: Arc<PageFetcher>,
    pub parsers: Arc<Parsers>,
    pub models: Models,
    /// For failed models, and texts that no model reads.
    pub fallback: Fallback,
    pub language_model: Option<Arc<LanguageModel>>,
    pub steps: Steps,
    pub translator: Option<Arc<dyn Translator>>,
    pub rules: Arc<RulesHandle>,
    pub clock: Arc<dyn Clock>,
    pub search_cache: SearchCache<Answer>,
    pub fact_check_cache: FactCheckCache<Answer>,
    pub page_cache: PageCache<PreparedPage>,
    pub item_locks: ItemLocks,
    pub latencies: Latencies,
    /// Settings and models of a worker, whose results are re-evaluated when they change. Unset in commands.
    pub judged_with: OnceLock<JudgedWith>,
}

impl Services {
    pub(super) fn judged_with(&self) -> JudgedWith {
        JudgedWith { lists: self.rules.version(), ..self.judged_with.get().cloned().unwrap_or_default() }
    }

    /// Runs work whose time grows with the texts on a parser thread. On a runtime thread it would delay HTTP,
    /// heartbeats and deadlines.
    pub(crate) async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PipelineError> {
        self.parsers.run_when_free(work).await.map_err(PipelineError::Texts)
    }

    /// Returns the requested time, up to the operator's limit.
    pub(crate) fn time_budget(&self, item: &Item) -> Duration {
        item.options.max_seconds.map_or(self.settings.max_time, |seconds| {
            Duration::from_secs(u64::from(seconds)).min(self.settings.max_time)
        })
    }

    pub(crate) fn item_spend(&self) -> ItemSpend {
        ItemSpend::new(self.settings.llm_calls_per_item, self.settings.llm_usd_per_item)
    }

    pub(crate) fn adjudication_time(&self) -> Duration {
        let by_model = || self.language_model_for(Purpose::Adjudicate).map(LanguageModel::patience);
        let own = self.steps.adjudicator.as_ref().map(|adjudicator| adjudicator.patience());
        own.or_else(by_model).unwrap_or_default()
    }

    pub(crate) fn language_model_for(&self, purpose: Purpose) -> Option<&LanguageModel> {
        self.language_model.as_deref().filter(|model| model.is_for(purpose))
    }

    pub(crate) fn max_sources(&self, item: &Item) -> usize {
        item.options.max_sources.map_or(self.settings.max_sources, |requested| {
            usize::try_from(requested).unwrap_or(usize::MAX).min(self.settings.max_sources)
        })
    }
}

/// Logs a finished item: figures, never text.
pub(super) fn count(result: &ItemResult) {
    for claim in &result.claims {
        metrics::verdict(claim.verdict);
    }
    if let Some(tier) = result.tier {
        metrics::tier(tier);
    }
    let evidence = || result.claims.iter().flat_map(|claim| &claim.evidence);
    let any = |stance| evidence().any(|row| row.stance == stance);
    // In phase 1 nothing was searched.
    if !result.notes.contains(&Note::Phase1Only) {
        metrics::evidence_match(if any(Stance::Supports) {
            "corroborated"
        } else if any(Stance::Contradicts) {
            "contradicted"
        } else {
            "none"
        });
    }
    tracing::info!(
        item.id = %result.item_id,
        result.status = %result.status,
        result.verdict = result.main_claim().map(|claim| claim.verdict.as_str()),
        result.decisive = result.main_claim().map(|claim| claim.decisive),
        result.tier = result.tier.map(Tier::as_str),
        result.score = result.score,
        result.claims = result.claims.len(),
        result.evidence = evidence().count(),
        result.fact_checks = result.fact_checks.len(),
        result.degraded = (!result.degraded.is_empty()).then(|| result.degraded.join(",")),
        cost.provider_calls = result.cost.provider_calls.values().sum::<u32>(),
        cost.usd = result.cost.usd,
        took.ms = result.cost.millis,
        "item enriched"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pilot_covers_every_channel_when_it_names_all() {
        let all = Pilot::new(&["all".to_owned()]);
        assert!(all.covers(None) && all.covers(Some("@any")));
        let some = Pilot::new(&["@News".to_owned()]);
        assert!(some.covers(Some("news")) && some.covers(Some("@NEWS")));
        assert!(!some.covers(Some("@other")) && !some.covers(None));
    }
}

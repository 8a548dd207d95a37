//! What the stages work with. Built once by `app`, shared by every item.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use crate::cache::{FactCheckCache, PageCache, SearchCache};
use crate::domain::rules::DomainRules;
use crate::domain::verdict::Note;
use crate::domain::{Clock, Event, Item, ItemResult, Stance, Tier};
use crate::inference::llm::{ItemSpend, LanguageModel, Purpose};
use crate::inference::translation::Translator;
use crate::inference::{Fallback, Models};
use crate::judging::scoring::Scoring;
use crate::outbound::Tenants;
use crate::outbound::pages::PageFetcher;
use crate::parsing::Parsers;
use crate::providers::{Answer, Provider};
use crate::store::{Basis, JudgedBy, Store};
use crate::telemetry::metrics;

use super::languages::plain;
use super::page::PreparedPage;
use super::{ItemLocks, LanguagePolicy, Latencies, PipelineError, Steps};

/// The numbers the stages go by; each comes from `config`, where its reason stands.
#[derive(Debug, Clone)]
pub struct Settings {
    pub enrichment_enabled: bool,
    /// Channels that get Phase 2.
    pub pilot: Pilot,
    pub min_importance: f64,
    pub max_sources: usize,
    pub max_time: Duration,
    pub min_claim_chars: usize,
    pub fact_check_results: usize,
    pub claims_per_item: usize,
    pub queries_per_claim: usize,
    pub languages: LanguagePolicy,
    /// Passages looked at closely for one claim, shared out over `max_sources` pages.
    pub passages_per_claim: usize,
    pub judged_passages: usize,
    /// Of one claim, those put into a language that the judge reads, where a translator is configured.
    pub translated_passages: usize,
    /// Of one item, characters of such passages.
    pub translated_chars: usize,
    /// Of one independent group, among those judged.
    pub passages_per_group: usize,
    /// Of an item, its claims together.
    pub passages_shown: usize,
    pub scoring: Scoring,
    pub evidence_ttl: Duration,
    pub negative_ttl: Duration,
    /// How long a stored page is taken as it is.
    pub page_ttl: Duration,
    pub dedup_similarity: f64,
    pub similar_item_window: Duration,
    pub similar_item_threshold: f64,
    /// Mean relevance from which stored evidence may settle a claim alone.
    pub sufficient_relevance: f64,
    /// How long ago stored evidence may have been read that settles alone what may change any day.
    pub sufficient_age: Duration,
    /// Where results go; `None` without a broker: nobody would collect them.
    pub results_exchange: Option<String>,
    /// The web servers that results are posted to.
    pub webhooks: Vec<WebhookTarget>,
    pub search_results: usize,
    /// What a message id does not name is done again, though it was done before: a recording must hold all of it.
    pub redo: bool,
    /// Of an item, calls to the language model, and US dollars for them.
    pub llm_calls_per_item: u32,
    pub llm_usd_per_item: f64,
    /// How long after retrieval began the model's own search is started.
    pub llm_search_after: Duration,
    /// How pages that an item links to are read; `None` where they are not.
    pub links: Option<LinkSettings>,
}

impl Settings {
    /// Where messages about results go.
    pub fn listeners(&self) -> Listeners {
        Listeners { results_exchange: self.results_exchange.clone(), webhooks: self.webhooks.clone() }
    }
}

/// A web server that results are posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookTarget {
    pub name: String,
    /// The events that are posted to it.
    pub events: Vec<Event>,
}

impl WebhookTarget {
    pub fn wants(&self, event: Event) -> bool {
        self.events.contains(&event)
    }
}

/// Where messages about results go.
#[derive(Debug, Clone, Default)]
pub struct Listeners {
    /// `None`: nobody listens at the broker.
    pub results_exchange: Option<String>,
    pub webhooks: Vec<WebhookTarget>,
}

/// How pages that an item links to become texts of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSettings {
    /// Of one item.
    pub most: usize,
    /// For one page, and for all of an item.
    pub per_link: Duration,
    pub total: Duration,
    /// Characters taken of a page.
    pub characters: usize,
}

/// The channels of a pilot; `None` is every channel, and items without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pilot(Option<Vec<String>>);

impl Pilot {
    /// `all` among the names means everybody. `@name` and `name` are the same, case aside.
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

/// The providers in the order they are asked.
#[derive(Debug, Clone, Default)]
pub struct SearchProviders {
    pub fact_check: Option<Arc<dyn Provider>>,
    /// Our own stored evidence: before everybody else, and alone where it suffices.
    pub knowledge: Option<Arc<dyn Provider>>,
    /// The operator's own material: corpus, endpoints, database.
    pub own: Vec<Arc<dyn Provider>>,
    /// Feeds and search engines, in fallback order.
    pub search: Vec<Arc<dyn Provider>>,
    /// Known providers that lack a key or an address.
    pub unconfigured: Vec<&'static str>,
    /// Known providers that the operator switched off.
    pub disabled: Vec<&'static str>,
}

impl SearchProviders {
    /// All that can be asked, in the order they are shown.
    pub fn configured(&self) -> impl Iterator<Item = &Arc<dyn Provider>> {
        self.fact_check.iter().chain(&self.knowledge).chain(&self.own).chain(&self.search)
    }
}

/// The live domain lists; swapped whole when an admin edits them.
#[derive(Debug, Default)]
pub struct RulesHandle {
    /// With their version in the store; `None` where they are of no store.
    rules: RwLock<(Arc<DomainRules>, Option<i64>)>,
}

impl RulesHandle {
    pub fn new(rules: DomainRules, version: Option<i64>) -> Self {
        Self { rules: RwLock::new((Arc::new(rules), version)) }
    }

    /// The lists as of now; an item keeps the ones it started with.
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

/// Everything a stage may use.
#[derive(Debug)]
pub struct Services {
    pub settings: Settings,
    pub store: Store,
    pub providers: SearchProviders,
    pub pages: Arc<PageFetcher>,
    pub parsers: Arc<Parsers>,
    pub models: Models,
    /// What does the work of a model that fails, and of texts that no model reads.
    pub fallback: Fallback,
    /// A language model, where the operator has one.
    pub language_model: Option<Arc<LanguageModel>>,
    /// Steps that are not ours.
    pub steps: Steps,
    /// Puts claims and passages into other languages; `None` where none is configured.
    pub translator: Option<Arc<dyn Translator>>,
    pub rules: Arc<RulesHandle>,
    pub clock: Arc<dyn Clock>,
    pub search_cache: SearchCache<Answer>,
    pub fact_check_cache: FactCheckCache<Answer>,
    pub page_cache: PageCache<PreparedPage>,
    pub item_locks: ItemLocks,
    /// Who shares the month's cap.
    pub tenants: Arc<Tenants>,
    /// How long each provider usually takes, learnt while the process runs.
    pub latencies: Latencies,
    /// What this process judges by; set where stored items are judged again.
    pub basis: OnceLock<Basis>,
}

impl Services {
    /// What a run that begins now judges by.
    pub(super) fn judged_by(&self) -> JudgedBy {
        JudgedBy { lists: self.rules.version(), basis: self.basis.get().cloned() }
    }

    /// Does work that takes processor time in proportion to an item's texts on a thread of its own. On the runtime's threads
    /// it would hold up HTTP, heartbeats and the item's own time limit.
    pub(crate) async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PipelineError> {
        self.parsers.run_when_free(work).await.map_err(PipelineError::Texts)
    }

    /// The item's own wish, never more than the operator's limit.
    pub(crate) fn time_budget(&self, item: &Item) -> Duration {
        item.options.max_seconds.map_or(self.settings.max_time, |seconds| {
            Duration::from_secs(u64::from(seconds)).min(self.settings.max_time)
        })
    }

    /// What an item may spend on the language model.
    pub(crate) fn item_spend(&self) -> ItemSpend {
        ItemSpend::new(self.settings.llm_calls_per_item, self.settings.llm_usd_per_item)
    }

    /// What is kept of an item's time to ask the adjudicator about what was found.
    pub(crate) fn adjudication_time(&self) -> Duration {
        let by_model = || self.language_model_for(Purpose::Adjudicate).map(LanguageModel::patience);
        let own = self.steps.adjudicator.as_ref().map(|adjudicator| adjudicator.patience());
        own.or_else(by_model).unwrap_or_default()
    }

    /// The language model, where it is switched on for that.
    pub(crate) fn language_model_for(&self, purpose: Purpose) -> Option<&LanguageModel> {
        self.language_model.as_deref().filter(|model| model.is_for(purpose))
    }

    pub(crate) fn max_sources(&self, item: &Item) -> usize {
        item.options.max_sources.map_or(self.settings.max_sources, |wish| {
            usize::try_from(wish).unwrap_or(usize::MAX).min(self.settings.max_sources)
        })
    }
}

/// Metrics and the one log line of a finished item: its figures, and never its words.
pub(super) fn count(result: &ItemResult) {
    for claim in &result.claims {
        metrics::verdict(claim.verdict);
    }
    if let Some(tier) = result.tier {
        metrics::tier(tier);
    }
    let evidence = || result.claims.iter().flat_map(|claim| &claim.evidence);
    let any = |stance| evidence().any(|row| row.stance == stance);
    // Where nobody was asked there was nothing to match.
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
    fn a_pilot_of_all_covers_everybody_and_another_only_its_channels() {
        let all = Pilot::new(&["all".to_owned()]);
        assert!(all.covers(None) && all.covers(Some("@any")));
        let some = Pilot::new(&["@News".to_owned()]);
        assert!(some.covers(Some("news")) && some.covers(Some("@NEWS")));
        assert!(!some.covers(Some("@other")) && !some.covers(None));
    }
}

//! Queries a provider through the caches, for the fact-check lookup.

use std::sync::Arc;

use super::run_context::Journal;
use super::services::Services;
use crate::cache::{Question, claim_key, normalise_query};
use crate::domain::item::SourceKind;
use crate::outbound::{AskError, AskMeter, Asker};
use crate::providers::{Answer, Provider, ProviderKind, Query, Storage};

impl Services {
    /// Meters only the calls that this item started.
    pub(super) async fn ask(
        &self,
        provider: &Arc<dyn Provider>,
        query: &Query,
        journal: &Journal,
    ) -> Result<Arc<Answer>, AskError> {
        let meter = AskMeter::default();
        let asker = Asker { until: journal.ask_until, meter: &meter };
        let profile = provider.profile();
        let reviews = provider.kind() == ProviderKind::FactCheck;
        // A review belongs to the claim, whatever the query's date and context.
        let claim = reviews.then(|| normalise_query(&query.text));
        let key = if reviews {
            claim_key(provider.name(), &query.text, query.language.as_deref())
        } else {
            provider.cache_key(query)
        };
        let question = Question {
            provider: provider.name(),
            key: &key,
            claim: claim.as_deref(),
            // Own sources are not shared; answers that must not be stored stay in this process.
            shared: provider.storage() == Storage::Stored && provider.kind() != ProviderKind::Own,
            until: journal.ask_until,
            keep_at_least: provider.keep_at_least(),
        };
        let cache = if reviews { &self.fact_check_cache } else { &self.search_cache };
        let asked = if profile.source == SourceKind::Knowledge {
            // Not cached, because the evidence store grows with every item.
            provider.ask(query, asker).await.map(Arc::new)
        } else {
            cache.get_or_ask(&question, || provider.ask(query, asker)).await.map(|(answer, _how)| answer)
        };
        journal.metered(provider.name(), &meter);
        asked
    }
}

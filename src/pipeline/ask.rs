//! Asking a provider through the caches: the one way the stages do it.

use std::sync::Arc;

use super::{Journal, Services};
use crate::cache::{Question, claim_key, normalise_query};
use crate::domain::item::SourceKind;
use crate::outbound::{AskError, Asker};
use crate::providers::{Answer, Provider, ProviderKind, Query, Storage};

impl Services {
    /// The provider's answer, kept or new. What is sent for this item is counted in its journal: another's call that is
    /// waited for is the other's, and a kept answer nobody's.
    pub(super) async fn ask(
        &self,
        provider: &Arc<dyn Provider>,
        query: &Query,
        journal: &Journal,
    ) -> Result<Arc<Answer>, AskError> {
        let meter = journal.meter();
        let asker = Asker { until: journal.ask_until, meter: &meter };
        let profile = provider.profile();
        let reviews = provider.kind() == ProviderKind::FactCheck;
        // A review is of the claim, whatever day and in whatever words around it the claim is asked about.
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
            // What we hold ourselves is read where it lies; what must not be stored stays in this process.
            shared: provider.storage() == Storage::Stored && provider.kind() != ProviderKind::Own,
            until: journal.ask_until,
            keep_at_least: provider.keep_at_least(),
        };
        let cache = if reviews { &self.fact_check_cache } else { &self.search_cache };
        let asked = if profile.source == SourceKind::Knowledge {
            // It grows with every item: what was not in it a minute ago may be there now.
            provider.ask(query, asker).await.map(Arc::new)
        } else {
            cache.get_or_ask(&question, || provider.ask(query, asker)).await.map(|(answer, _how)| answer)
        };
        journal.metered(provider.name(), &meter);
        asked
    }
}

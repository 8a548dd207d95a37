//! What is remembered: in the process, and of providers' answers in the store for all processes.

use std::sync::Arc;

use serde_json::Value;

use super::{OutboundObserver, observer};
use crate::cache::{
    AnswerCache, AnswerCacheSettings, FactCheckCache, Form, PageCache, PageCacheSettings, SearchCache, SharedLevel,
    WriteBehind,
};
use crate::config::Config;
use crate::domain::Clock;
use crate::pipeline::PreparedPage;
use crate::providers::Answer;
use crate::store::Store;

/// What every answer cache is made of.
pub(super) struct Caches<'a> {
    pub(super) config: &'a Config,
    pub(super) usage: &'a Arc<OutboundObserver>,
    pub(super) clock: &'a Arc<dyn Clock>,
    /// The store's level; `None`: each process for itself.
    pub(super) fleet: Option<(&'a Store, &'a WriteBehind)>,
}

impl Caches<'_> {
    pub(super) fn search(&self) -> SearchCache<Answer> {
        let settings = AnswerCacheSettings {
            capacity: self.config.cache.search_entries,
            ttl: self.config.cache.search_ttl,
            empty_ttl: self.config.cache.empty_ttl,
        };
        let form: Form<Answer> = Form {
            write: |answer| answer.is_whole().then(|| serde_json::to_value(answer)).transpose(),
            read: |value| serde_json::from_value(value),
        };
        SearchCache::new("search", settings, is_brief, self.level(form), observer(self.usage))
    }

    /// The table holds the reviews alone.
    pub(super) fn fact_check(&self) -> FactCheckCache<Answer> {
        let settings = AnswerCacheSettings {
            capacity: self.config.cache.fact_check_entries,
            ttl: self.config.fact_check.cache_ttl,
            empty_ttl: self.config.cache.empty_ttl,
        };
        let form: Form<Answer> = Form {
            write: |answer| answer.is_whole().then(|| serde_json::to_value(&answer.reviews)).transpose(),
            read: |value| Ok(Answer { reviews: serde_json::from_value(value)?, ..Answer::default() }),
        };
        FactCheckCache::new("fact_check", settings, is_brief, self.level(form), observer(self.usage))
    }

    /// Answers of the language model, by what it was asked.
    pub(super) fn language_model(&self) -> AnswerCache<Value> {
        let ttl = self.config.llm.answer_ttl;
        let settings = AnswerCacheSettings {
            capacity: self.config.cache.search_entries,
            ttl,
            empty_ttl: self.config.cache.empty_ttl,
        };
        // A search that found nothing may find something soon.
        let is_brief = |answer: &Value| answer.get("urls").and_then(Value::as_array).is_some_and(Vec::is_empty);
        let form: Form<Value> = Form { write: |answer| Ok(Some(answer.clone())), read: Ok };
        AnswerCache::new("llm", settings, is_brief, self.level(form), observer(self.usage))
    }

    fn level<A>(&self, form: Form<A>) -> Option<SharedLevel<A>> {
        let (store, behind) = self.fleet?;
        Some(SharedLevel::new(store.clone(), behind.clone(), Arc::clone(self.clock), form))
    }
}

/// "Nothing found" may have been written about a moment later, and a part that failed may be well again.
fn is_brief(answer: &Answer) -> bool {
    answer.is_empty() || !answer.is_whole()
}

pub(super) fn page(config: &Config, usage: &Arc<OutboundObserver>) -> PageCache<PreparedPage> {
    let max_bytes = u64::try_from(config.cache.page_bytes).unwrap_or(u64::MAX);
    PageCache::new(PageCacheSettings { max_bytes, ttl: config.cache.page_ttl }, observer(usage))
}

//! Builds the caches: in process memory, and for providers' answers also in the store for all processes.
//!
//! An answer that is empty or failed in part is kept for a shorter time.

use std::sync::Arc;

use serde_json::Value;

use super::{OutboundObserver, observer};
use crate::cache::{
    AnswerCache, AnswerCacheSettings, FactCheckCache, Form, PageCache, PageCacheSettings, SearchCache, SharedLevel,
};
use crate::config::Config;
use crate::pipeline::PreparedPage;
use crate::providers::Answer;
use crate::store::Store;

/// Fact-check responses in memory, in front of the table in the store. They are small.
const FACT_CHECK_ENTRIES: u64 = 10_000;

pub(super) struct Caches<'a> {
    pub(super) config: &'a Config,
    pub(super) usage: &'a Arc<OutboundObserver>,
    /// The shared level in the store. `None`: each process caches alone.
    pub(super) store: Option<&'a Store>,
}

impl Caches<'_> {
    pub(super) fn search(&self) -> SearchCache<Answer> {
        let settings = AnswerCacheSettings { empty_ttl: self.config.cache.empty_ttl, ..AnswerCacheSettings::default() };
        let form: Form<Answer> = Form {
            write: |answer| answer.is_whole().then(|| serde_json::to_value(answer)).transpose(),
            read: |value| serde_json::from_value(value),
        };
        SearchCache::new("search", settings, is_brief, self.level(form), observer(self.usage))
    }

    /// Builds the cache of fact-checks. The shared table stores only the reviews.
    pub(super) fn fact_check(&self) -> FactCheckCache<Answer> {
        let settings = AnswerCacheSettings {
            capacity: FACT_CHECK_ENTRIES,
            ttl: self.config.fact_check.cache_ttl,
            empty_ttl: self.config.cache.empty_ttl,
        };
        let form: Form<Answer> = Form {
            write: |answer| answer.is_whole().then(|| serde_json::to_value(&answer.reviews)).transpose(),
            read: |value| Ok(Answer { reviews: serde_json::from_value(value)?, ..Answer::default() }),
        };
        FactCheckCache::new("fact_check", settings, is_brief, self.level(form), observer(self.usage))
    }

    pub(super) fn language_model(&self) -> AnswerCache<Value> {
        let ttl = self.config.llm.answer_ttl;
        let settings =
            AnswerCacheSettings { ttl, empty_ttl: self.config.cache.empty_ttl, ..AnswerCacheSettings::default() };
        let is_brief = |answer: &Value| answer.get("urls").and_then(Value::as_array).is_some_and(Vec::is_empty);
        let form: Form<Value> = Form { write: |answer| Ok(Some(answer.clone())), read: Ok };
        AnswerCache::new("llm", settings, is_brief, self.level(form), observer(self.usage))
    }

    fn level<A>(&self, form: Form<A>) -> Option<SharedLevel<A>> {
        self.store.map(|store| SharedLevel::new(store.clone(), form))
    }
}

fn is_brief(answer: &Answer) -> bool {
    answer.is_empty() || !answer.is_whole()
}

pub(super) fn page(config: &Config, usage: &Arc<OutboundObserver>) -> PageCache<PreparedPage> {
    let max_bytes = u64::try_from(config.cache.page_bytes).unwrap_or(u64::MAX);
    PageCache::new(PageCacheSettings { max_bytes, ttl: config.cache.page_ttl }, observer(usage))
}

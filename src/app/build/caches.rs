//! What is remembered in the process.

use std::sync::Arc;

use super::{OutboundObserver, observer};
use crate::cache::{AnswerCacheSettings, FactCheckCache, PageCache, PageCacheSettings, SearchCache};
use crate::config::Config;
use crate::pipeline::PreparedPage;
use crate::providers::Answer;

pub(super) fn search(config: &Config, usage: &Arc<OutboundObserver>) -> SearchCache<Answer> {
    let settings = AnswerCacheSettings {
        capacity: config.cache.search_entries,
        ttl: config.cache.search_ttl,
        ..AnswerCacheSettings::default()
    };
    SearchCache::new("search", settings, Answer::is_empty, observer(usage))
}

pub(super) fn fact_check(config: &Config, usage: &Arc<OutboundObserver>) -> FactCheckCache<Answer> {
    let settings = AnswerCacheSettings {
        capacity: config.cache.fact_check_entries,
        ttl: config.fact_check.cache_ttl,
        empty_ttl: config.cache.page_failure_ttl,
    };
    FactCheckCache::new("fact_check", settings, Answer::is_empty, observer(usage))
}

pub(super) fn page(config: &Config, usage: &Arc<OutboundObserver>) -> PageCache<PreparedPage> {
    let max_bytes = u64::try_from(config.cache.page_bytes).unwrap_or(u64::MAX);
    PageCache::new(PageCacheSettings { max_bytes, ttl: config.cache.page_ttl }, observer(usage))
}

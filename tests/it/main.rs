//! The integration tests, in one binary: it links once, and they share what is in `support`.

#[cfg(feature = "models")]
#[cfg(test)]
mod architectures;
#[cfg(test)]
mod broker;
#[cfg(test)]
mod caches;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod daemon;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod domain_lists;
#[cfg(test)]
mod eval;
#[cfg(test)]
mod feeds;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod languages;
#[cfg(test)]
mod licences;
#[cfg(test)]
mod llm_claims;
#[cfg(test)]
mod llm_client;
#[cfg(test)]
mod llm_injection;
#[cfg(test)]
mod llm_search;
#[cfg(test)]
mod llm_words;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod models;
#[cfg(test)]
mod openapi;
#[cfg(test)]
mod own_steps;
#[cfg(test)]
mod page_hosts;
#[cfg(feature = "models")]
#[cfg(test)]
mod quality;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod rejudging;
#[cfg(test)]
mod rescore;
#[cfg(test)]
mod store;
#[cfg(all(unix, feature = "embedded"))]
#[cfg(test)]
mod supervision;
#[cfg(test)]
mod support;
#[cfg(test)]
mod table_queue;
#[cfg(test)]
mod tidy;
#[cfg(all(feature = "models", feature = "embedded"))]
#[cfg(test)]
mod translation;
#[cfg(feature = "embedded")]
#[cfg(test)]
mod webhooks;

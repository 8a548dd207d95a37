//! Providers of evidence: one folder each. A provider turns a query into reviews and hits, and says honestly when it
//! could not ask.
//!
//! What a provider never does: use a client of its own (it asks through its [`crate::outbound::Gate`]), cache, judge
//! relevance, put a key into a URL, or take a refusal for "nothing found": the two are different values up to storage.
//!
//! To add a provider: make a folder `<name>` with `mod.rs` (settings, `gate_settings`, `new`, the [`Provider`]),
//! `wire.rs` (pure: query → request parameters, response → [`Answer`] or [`AskError`]) and `tests.rs`; run the shared
//! suite `contract::keeps_the_contract` there, with the provider's own words for a throttle, a used-up quota and a bad
//! key; then build it in `app`. Every field of a response but the outermost container is optional in `wire.rs`, unknown
//! fields are ignored, and success is decided by status, content and shape together.

pub mod brave;
#[cfg(test)]
mod contract;
pub mod gdelt;
pub mod google;
pub mod searxng;
mod wire;

use std::fmt::Debug;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde::Serialize;

use crate::cache::{joined, normalise_query};
use crate::domain::evidence::Review;
use crate::outbound::{AskError, Asker, GateStatus};

/// What is asked. Every provider builds its own request from it, within its own rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Free text, one line, at most some 200 characters. Never holds operators.
    pub text: String,
    /// Words and phrases that matter most, best first; for providers that cannot take a sentence.
    pub terms: Vec<String>,
    /// ISO 639-1 language of the text.
    pub language: Option<String>,
    /// Only these domains, where the provider can restrict (empty: everywhere).
    pub domains: Vec<String>,
    /// The date the claim speaks of or was published; a provider may narrow its window around it.
    pub around: Option<DateTime<Utc>>,
    /// How many results are wanted.
    pub limit: usize,
}

impl Query {
    /// Under which a provider's answer to this query is kept: everything that it depends on. Of the date only the day
    /// counts.
    pub fn cache_key(&self, provider: &str) -> String {
        let mut domains: Vec<String> = self.domains.iter().map(|domain| domain.trim().to_lowercase()).collect();
        domains.sort_unstable();
        let terms: Vec<String> = self.terms.iter().map(|term| normalise_query(term)).collect();
        let day = self.around.map(|around| around.date_naive().to_string()).unwrap_or_default();
        joined([
            provider,
            &normalise_query(&self.text),
            self.language.as_deref().unwrap_or_default(),
            &terms.join("|"),
            &domains.join("|"),
            &day,
            &self.limit.to_string(),
        ])
    }
}

/// One search result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub url: String,
    pub title: String,
    /// Plain text, entities decoded; empty when the provider gives none.
    pub snippet: String,
    /// Publication time, when the provider is known to give that (not GDELT's crawl time).
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    /// Provider's name.
    pub provider: &'static str,
    /// Whether the provider's own words about the page (all but its address) may be kept.
    pub storage: Storage,
}

/// What came back. Both empty means "asked, and nothing was found".
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub hits: Vec<Hit>,
    pub reviews: Vec<Review>,
}

impl Answer {
    /// Asked, and nothing was found.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.reviews.is_empty()
    }
}

/// What a provider gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Reviews by fact-checkers.
    FactCheck,
    /// Pages.
    Search,
}

/// Whether the provider's terms let its raw answers be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    Stored,
    /// For the moment only: never written to a disk, a fixture or a recording that is shipped.
    Transient,
}

/// A source of evidence.
pub trait Provider: Send + Sync + Debug {
    /// As in metrics, results and `degraded`.
    fn name(&self) -> &'static str;
    fn kind(&self) -> ProviderKind;
    /// US dollars a call; the spending cap stops calls that cost.
    fn cost_usd(&self) -> f64;
    /// Whether a call costs money.
    fn paid(&self) -> bool {
        self.cost_usd() > 0.0
    }
    fn storage(&self) -> Storage;
    /// Whether it makes sense to ask in this language (ISO 639-1).
    fn speaks(&self, language: &str) -> bool;
    /// Under which the answer to this query is kept: two queries that this provider would be asked in the same words have
    /// the same key.
    fn cache_key(&self, query: &Query) -> String {
        query.cache_key(self.name())
    }
    /// Asks. Never outlasts the asker's time, and counts at its meter what is sent. An empty answer means that nothing was
    /// found, an error that it could not ask.
    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>>;
    fn status(&self) -> GateStatus;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_question_has_one_key_and_another_has_another() {
        let query = contract::query();
        let key = query.cache_key("p");
        let spelt = Query { text: format!(" {}!", query.text.to_uppercase()), ..query.clone() };
        assert_eq!(spelt.cache_key("p"), key);
        let morning = |hour: i64| Some(DateTime::UNIX_EPOCH + chrono::Duration::hours(hour));
        let dated = Query { around: morning(3), ..query.clone() };
        assert_eq!(dated.cache_key("p"), Query { around: morning(9), ..query.clone() }.cache_key("p"));
        let others = [
            query.cache_key("q"),
            dated.cache_key("p"),
            Query { language: None, ..query.clone() }.cache_key("p"),
            Query { terms: Vec::new(), ..query.clone() }.cache_key("p"),
            Query { domains: vec!["a.com".into()], ..query.clone() }.cache_key("p"),
            Query { limit: 6, ..query.clone() }.cache_key("p"),
            Query { text: "another".into(), ..query }.cache_key("p"),
        ];
        for other in others {
            assert_ne!(other, key);
        }
    }
}

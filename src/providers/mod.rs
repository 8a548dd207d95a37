//! Providers of evidence: one folder each. A provider turns a query into reviews and hits, and says honestly when it
//! could not ask.
//!
//! What a provider never does: use a client of its own (it asks through its [`crate::outbound::Gate`]), cache, judge
//! relevance, put a key into a URL, or take a refusal for "nothing found": the two are different values up to storage.
//!
//! A program that uses this library needs none of the following: it gives a [`gatherer::Gatherer`] (`examples/own_steps.rs`).
//!
//! To add a provider, in this order:
//!
//! 1. Here: its name in [`NAMES`], its profile in [`PROFILES`], and a folder `<name>` with `mod.rs` (its [`Profile`], settings,
//!    `gate_settings`, `new`, the [`Provider`]), `wire.rs` (pure: query → request parameters, response → [`Answer`] or
//!    [`AskError`]) and `tests.rs`. Every field of a response but the outermost container is optional in `wire.rs`, unknown
//!    fields are ignored, and success is decided by status, content and shape together.
//! 2. In its `tests.rs` the shared suite, `contract::keeps_the_contract_with`, with the provider's own words for a throttle,
//!    a used-up quota and a bad key.
//! 3. In `config`: its word in `SearchProvider` and its settings in `Providers` (`model.rs`), their keys and variables
//!    (`names.rs`), what must be set together (`checks.rs`), and its section in `config/default.toml` with the reasons.
//! 4. In `app/build/providers.rs`: how it is built of the settings; in `app/build/mod.rs` its key among the secrets.
//! 5. In `telemetry/catalogue.rs`: its label; in `judging/labels.rs` its name as people read it.
//! 6. `UPDATE_DOCS=1 cargo nextest run --lib docs_providers` writes `docs/providers.md` anew; the tests say what is left out.

pub mod api;
pub mod brave;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod contract_own;
pub mod corpus;
pub mod database;
pub mod eventregistry;
pub mod feeds;
pub mod gatherer;
pub mod gdelt;
pub mod google;
pub mod knowledge;
#[cfg(test)]
mod manual;
pub mod newsapi;
mod probe;
pub mod searxng;
pub mod serpapi;
mod statement;
mod wire;

pub use probe::Probed;

use std::fmt::Debug;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize};

use crate::cache::{joined, normalise_query};
use crate::domain::evidence::Review;
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
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
    /// The document the claim was taken from, as upstream names it: it is no evidence for itself.
    pub source_document: Option<String>,
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

/// One of [`NAMES`]. An alias, or the derived reader below would want borrowed text that lives for ever.
pub type ProviderName = &'static str;

/// One search result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub url: String,
    pub title: String,
    /// Plain text, entities decoded; empty when the provider gives none.
    pub snippet: String,
    /// Publication time, when the provider is known to give that (not GDELT's crawl time).
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    #[serde(deserialize_with = "known_name")]
    pub provider: ProviderName,
    /// Whether the provider's own words about the page (all but its address) may be kept.
    pub storage: Storage,
    /// The text itself, where the provider holds it: nothing is fetched then, and `url` is a name for the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

/// What a provider knows without a page being fetched: a document, a row, an endpoint's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Plain text, paragraphs separated by blank lines.
    pub text: String,
    pub origin: Origin,
    /// Whose words these are: the corpus, database or service by the operator's name for it.
    pub publisher: Option<String>,
    /// The operator's word on it, 0–1; `None`: as any page of its host.
    pub credibility: Option<f64>,
}

/// Providers' names are a closed set: labels, keys and columns hold them.
fn known_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    let name = String::deserialize(deserializer)?;
    NAMES
        .iter()
        .find(|known| **known == name)
        .copied()
        .ok_or_else(|| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&name), &"the name of a provider"))
}

/// Every provider's name, in the order they are shown.
pub const NAMES: [&str; 13] = [
    "google_factcheck",
    "knowledge",
    "corpus",
    "api",
    "database",
    "gatherer",
    "feeds",
    "searxng",
    "brave",
    "serpapi",
    "gdelt",
    "eventregistry",
    "newsapi",
];

/// What came back. All empty means "asked, and nothing was found".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub hits: Vec<Hit>,
    pub reviews: Vec<Review>,
    /// What of the provider could not be asked while the rest answered: an endpoint, a folder, a further page, each by
    /// its name. Such an answer is used, told to be less than whole, and neither shared nor kept for long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Answer {
    /// Nothing was found. With [`Answer::is_whole`] it means that there is nothing.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.reviews.is_empty()
    }

    /// Every part of the provider was asked.
    pub fn is_whole(&self) -> bool {
        self.failed.is_empty()
    }

    /// Notes a part that could not be asked, and says so in the log.
    pub(crate) fn lacks(&mut self, provider: &'static str, part: impl Into<String>, error: &AskError) {
        let part = part.into();
        tracing::debug!(provider, part, %error, "a part of this provider could not be asked; its answer is not whole");
        if !self.failed.contains(&part) {
            self.failed.push(part);
        }
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
    /// Texts the operator or this daemon already holds.
    Own,
}

impl ProviderKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FactCheck => "fact_check",
            Self::Search => "search",
            Self::Own => "own",
        }
    }
}

/// Whether the provider's terms let its raw answers be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    Stored,
    /// For the moment only: never written to a disk, a fixture or a recording that is shipped.
    Transient,
}

/// The languages a provider can be asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Languages {
    /// Whatever the query is written in.
    All,
    /// These, ISO 639-1.
    Only(&'static [&'static str]),
}

/// What is fixed of a provider, in the code and in `docs/providers.md`, which is generated from it.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// As in metrics, results and `degraded`; one of [`NAMES`].
    pub name: &'static str,
    /// As its makers call it.
    pub title: &'static str,
    pub kind: ProviderKind,
    /// Which of an item's `source_types` selects it.
    pub source: SourceKind,
    pub storage: Storage,
    pub languages: Languages,
    /// Whether it keeps to [`Query::domains`] by itself.
    pub restricts_domains: bool,
    /// Whether its answers come from this process's own store or disk: a look there is a call to nobody outside, costs
    /// nothing, and is at this process's own pace.
    pub local: bool,
    /// What comes back, for a reader.
    pub returns: &'static str,
    /// Price, quota and rate as published, with the date, for a reader.
    pub terms: &'static str,
    /// What it needs to be asked, as an instruction.
    pub configure: &'static str,
}

/// Every provider of this version, in the order of [`NAMES`].
pub static PROFILES: [&Profile; 13] = [
    &google::PROFILE,
    &knowledge::PROFILE,
    &corpus::PROFILE,
    &api::PROFILE,
    &database::PROFILE,
    &gatherer::PROFILE,
    &feeds::PROFILE,
    &searxng::PROFILE,
    &brave::PROFILE,
    &serpapi::PROFILE,
    &gdelt::PROFILE,
    &eventregistry::PROFILE,
    &newsapi::PROFILE,
];

/// What is fixed of the provider of that name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name).copied()
}

/// A source of evidence.
pub trait Provider: Send + Sync + Debug {
    fn profile(&self) -> &'static Profile;
    /// As in metrics, results and `degraded`.
    fn name(&self) -> &'static str {
        self.profile().name
    }
    fn kind(&self) -> ProviderKind {
        self.profile().kind
    }
    fn storage(&self) -> Storage {
        self.profile().storage
    }
    /// US dollars a call; the spending cap stops calls that cost.
    fn cost_usd(&self) -> f64;
    /// Whether a call costs money.
    fn paid(&self) -> bool {
        self.cost_usd() > 0.0
    }
    /// Whether it makes sense to ask in this language (ISO 639-1).
    fn speaks(&self, language: &str) -> bool {
        match self.profile().languages {
            Languages::All => true,
            Languages::Only(known) => known.contains(&language),
        }
    }
    /// Under which the answer to this query is kept: two queries that this provider would be asked in the same words have
    /// the same key.
    fn cache_key(&self, query: &Query) -> String {
        query.cache_key(self.name())
    }
    /// How long an answer is reused at least, also one that found nothing, whatever the operator set.
    fn keep_at_least(&self) -> Duration {
        Duration::ZERO
    }
    /// Asks. Never outlasts the asker's time, and counts at its meter what is sent. An empty answer means that nothing was
    /// found, an error that it could not ask.
    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>>;
    /// Whether it can be asked, for a check-up, by the cheapest question there is. Unless `paid`, nothing is asked that
    /// costs money.
    fn probe<'a>(&'a self, paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<Probed, AskError>> {
        Box::pin(async move {
            if self.paid() && !paid {
                return Ok(Probed::NotAsked);
            }
            let answer = self.ask(&probe::question(), asker).await?;
            Ok(Probed::Answered { failed: answer.failed })
        })
    }
    fn status(&self) -> GateStatus;
    /// The pause between two rounds of [`Provider::keep_up`]; `None` where there is nothing to keep up.
    fn upkeep(&self) -> Option<Duration> {
        None
    }
    /// Work beside the asking that keeps the provider's material fresh. The daemon does it at start and after each pause;
    /// a command that asks once does without. The error is for the log.
    fn keep_up(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
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

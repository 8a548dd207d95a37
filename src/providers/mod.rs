//! Providers of evidence, one folder each. A provider turns a query into fact-checks and search results, or returns an
//! error if it could not be queried.
//!
//! A provider never uses its own HTTP client (it calls through its [`crate::outbound::Gate`]), caches, judges
//! relevance, or puts a key into a URL. It never returns a refusal as an empty answer.
//!
//! A program that uses this library only implements [`gatherer::Gatherer`] (`examples/own_steps.rs`).
//!
//! To add a provider:
//!
//! 1. Here: [`NAMES`], [`PROFILES`], and a folder `<name>`. `mod.rs` has its [`Profile`], settings, `gate_settings`,
//!    `new` and [`Provider`]. `wire.rs` is pure: query → request, response → [`Answer`] or [`AskError`]. It requires
//!    only the outermost container of a response; success depends on status, content and shape.
//! 2. In its `tests.rs`: `contract::keeps_the_contract_with`, with its responses for a throttle, a used-up quota and a
//!    bad key.
//! 3. In `config`: `SearchProvider` and `ProvidersConfig` (`settings.rs`), required combinations (`checks.rs`), and a section
//!    with variables and reasons in `config/default.toml`.
//! 4. In `app/build`: its construction (`providers.rs`) and its key among the secrets (`mod.rs`).
//! 5. In `telemetry/catalogue.rs`: its label. In `judging/labels.rs`: its display name.
//! 6. Run `UPDATE_DOCS=1 cargo nextest run --lib docs_providers`. Tests report what is missing.

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
mod own;
mod probe;
pub mod searxng;
pub mod serpapi;
pub mod wikipedia;
mod wire;

pub use probe::ProbeResult;

use std::fmt::Debug;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize};

use crate::cache::{joined, normalise_query};
use crate::domain::evidence::Review;
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::outbound::{AskError, Asker, Gate, GateSettings, GateState, GateStatus};

/// A query to a provider, which builds its own request from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Free text of one line, at most about 200 characters, without operators.
    pub text: String,
    /// Key words and phrases, best first, for providers that cannot take a sentence.
    pub terms: Vec<String>,
    /// ISO 639-1 language of the text.
    pub language: Option<String>,
    /// Restricts the search, if the provider can (empty: everywhere).
    pub domains: Vec<String>,
    /// The date that the claim mentions or was published on; a provider may search around it.
    pub around: Option<DateTime<Utc>>,
    pub limit: usize,
    /// The claim's own document, as upstream names it: it is no evidence for the claim.
    pub source_document: Option<String>,
}

impl Query {
    /// Returns the cache key: everything that the answer depends on. Of the date only the day counts.
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

/// One of [`NAMES`]. An alias, because a plain `&'static str` would make the derived `Deserialize` borrow.
pub type ProviderName = &'static str;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub url: String,
    pub title: String,
    /// Plain text with decoded entities; empty if the provider gives none.
    pub snippet: String,
    /// Publication time, if the provider gives one (not GDELT's crawl time).
    pub published_at: Option<DateTime<Utc>>,
    pub language: Option<String>,
    #[serde(deserialize_with = "known_name")]
    pub provider: ProviderName,
    /// Whether the provider's text (not the address) may be stored.
    pub storage: Storage,
    /// The text, if the provider has it; then nothing is fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

/// A text that needs no fetch: a document, a row, an endpoint's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Plain text; blank lines separate paragraphs.
    pub text: String,
    pub origin: Origin,
    /// The publisher: the operator's name of the corpus, database or service.
    pub publisher: Option<String>,
    /// Credibility set by the operator, 0–1; `None`: that of its host.
    pub credibility: Option<f64>,
}

/// Accepts only provider names, because labels, keys and columns contain them.
fn known_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    let name = String::deserialize(deserializer)?;
    NAMES
        .iter()
        .find(|known| **known == name)
        .copied()
        .ok_or_else(|| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&name), &"the name of a provider"))
}

/// All provider names, in display order.
pub const NAMES: [&str; 14] = [
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
    "wikipedia",
];

/// The response to a query. All fields empty means that nothing was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub hits: Vec<Hit>,
    pub reviews: Vec<Review>,
    /// The failed parts, for example an endpoint or a further page. Such an answer is used and reported as incomplete,
    /// but not shared or cached for long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Answer {
    /// Nothing was found. With [`Answer::is_whole`] it means that nothing exists.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.reviews.is_empty()
    }

    /// Every part of the provider answered.
    pub fn is_whole(&self) -> bool {
        self.failed.is_empty()
    }

    /// Notes and logs a part that failed.
    pub(crate) fn lacks(&mut self, provider: &'static str, part: impl Into<String>, error: &AskError) {
        let part = part.into();
        tracing::debug!(provider, part, %error, "part of a provider failed; its response is incomplete");
        if !self.failed.contains(&part) {
            self.failed.push(part);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    FactCheck,
    Search,
    /// Texts of the operator or of the evidence store.
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

/// Whether the provider's terms allow storing its raw results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    Stored,
    /// Never written to disk, a fixture or a shipped recording.
    Transient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Languages {
    All,
    Only(&'static [&'static str]),
}

/// The constants of a provider, the source of `docs/providers.md`.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// The name in metrics, results and `degraded`; one of [`NAMES`].
    pub name: &'static str,
    /// The maker's name for it.
    pub title: &'static str,
    pub kind: ProviderKind,
    /// The `source_types` value of an item that selects it.
    pub source: SourceKind,
    pub storage: Storage,
    pub languages: Languages,
    /// Whether it applies [`Query::domains`] itself.
    pub restricts_domains: bool,
    /// Whether it reads this process's store or disk: no outside call, no cost, no shared limit.
    pub local: bool,
    pub returns: &'static str,
    /// Published price, quota and rate with the date, for a reader.
    pub terms: &'static str,
    /// How to configure it, as an instruction.
    pub configure: &'static str,
}

pub static PROFILES: [&Profile; 14] = [
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
    &wikipedia::PROFILE,
];

/// Returns the limits of most free providers; each overrides what differs.
fn usual_gate(name: &'static str, cooldown: Duration) -> GateSettings {
    GateSettings {
        name,
        max_wait: Duration::from_secs(10),
        rpm: 60,
        timeout: Duration::from_secs(10),
        max_bytes: 2 * 1024 * 1024,
        max_attempts: 2,
        cooldown,
        failures_to_open: 5,
        daily_limit: None,
        cost_usd: 0.0,
    }
}

pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name).copied()
}

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
    /// Returns the gates of its calls: one, or one per part.
    fn gates(&self) -> Vec<&Gate>;
    /// US dollars per call; the spending cap stops calls that cost.
    fn cost_usd(&self) -> f64 {
        self.gates().first().map_or(0.0, |gate| gate.cost_usd())
    }
    fn paid(&self) -> bool {
        self.cost_usd() > 0.0
    }
    fn accepts(&self, language: &str) -> bool {
        match self.profile().languages {
            Languages::All => true,
            Languages::Only(known) => known.contains(&language),
        }
    }
    /// Returns the cache key, equal for queries that lead to the same request.
    fn cache_key(&self, query: &Query) -> String {
        query.cache_key(self.name())
    }
    /// Minimum time to reuse an answer, even an empty one; it overrides the operator's setting.
    fn keep_at_least(&self) -> Duration {
        Duration::ZERO
    }
    /// Queries the provider within the asker's deadline and counts requests at its meter. An empty answer means that
    /// nothing was found; an error means that the query failed.
    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>>;
    /// Checks by the cheapest request that the provider works. Makes paid requests only if `paid`.
    fn probe<'a>(&'a self, paid: bool, asker: Asker<'a>) -> BoxFuture<'a, Result<ProbeResult, AskError>> {
        Box::pin(async move {
            if self.paid() && !paid {
                return Ok(ProbeResult::NotAsked);
            }
            let answer = self.ask(&probe::question(), asker).await?;
            Ok(ProbeResult::Answered { failed: answer.failed })
        })
    }
    /// Returns the state of a gate that is ready, otherwise of the first, and the sums of all.
    fn status(&self) -> GateStatus {
        let all: Vec<GateStatus> = self.gates().into_iter().map(Gate::status).collect();
        let shown = all.iter().find(|status| status.state == GateState::Ready).or(all.first());
        let is_ready = shown.is_none_or(|status| status.state == GateState::Ready);
        GateStatus {
            name: self.name(),
            state: shown.map_or(GateState::Ready, |status| status.state),
            until: all.iter().filter_map(|status| status.until).min().filter(|_| !is_ready),
            reason: shown.and_then(|status| status.reason.clone()),
            rpm: all.iter().map(|status| status.rpm).fold(0, u32::saturating_add),
            calls_today: all.iter().map(|status| status.calls_today).sum(),
            errors_today: all.iter().map(|status| status.errors_today).sum(),
            usd_today: all.iter().map(|status| status.usd_today).sum(),
        }
    }
    /// The interval of [`Provider::keep_up`]; `None` if there is no upkeep.
    fn upkeep(&self) -> Option<Duration> {
        None
    }
    /// Background work that keeps the data fresh. The daemon runs it at start and at each interval; a one-off command
    /// does not. The error is for the log.
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

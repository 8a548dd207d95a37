//! Sources of a program that uses this library. Every [`Gatherer`] is queried for every claim, within its own time and
//! behind one gate. Its texts are ranked and judged like all others.
//!
//! All gatherers are one provider. A gatherer that fails is named in [`Answer::failed`].

#[cfg(test)]
pub(super) mod tests;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, join_all};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::wire::{clip, one_line};
use super::{Answer, Content, Hit, Languages, Profile, Provider, ProviderKind, Query, Storage, usual_gate};
use crate::domain::item::SourceKind;
use crate::domain::verdict::Origin;
use crate::inference::steps::StepError;
use crate::language::detect::detect;
use crate::outbound::{AskError, Asker, Gate, GateSettings};

const NAME: &str = "gatherer";
/// Maximum time of one source, less than the gate's.
const EACH: Duration = Duration::from_secs(12);
/// Part of the item's time that is kept for combining the results.
const MARGIN: Duration = Duration::from_millis(500);
const SNIPPET: (usize, usize) = (300, 60);

pub static PROFILE: Profile = Profile {
    name: NAME,
    title: "Sources of your program",
    kind: ProviderKind::Own,
    source: SourceKind::Api,
    storage: Storage::Stored,
    languages: Languages::All,
    restricts_domains: false,
    local: true,
    returns: "texts or URLs from a program that uses this library",
    terms: "your own",
    configure: "use corroborate as a library and give it a `Gatherer` (`examples/own_steps.rs`)",
};

/// A source of evidence outside this library.
pub trait Gatherer: Send + Sync + Debug {
    /// The publisher of its texts in results, and its name in the trace if it fails.
    fn name(&self) -> &str;
    /// Returns results, best first. An empty list means "nothing found"; an error means "could not ask". The future is
    /// dropped when the item's time ends.
    fn gather<'a>(&'a self, query: &'a Query) -> BoxFuture<'a, Result<Vec<GatheredPage>, StepError>>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct GatheredPage {
    /// The address. A page (`https://…`) without a text is fetched with the usual protection.
    pub url: Url,
    pub title: String,
    /// Plain text, blank lines between paragraphs; `None`: the page is fetched.
    pub text: Option<String>,
    pub published_at: Option<DateTime<Utc>>,
    /// Credibility set by the program, 0–1; `None`: that of its host.
    pub credibility: Option<f64>,
}

/// Limits the time of a source that hangs, not the rate.
pub fn gate_settings(cooldown: Duration) -> GateSettings {
    GateSettings { rpm: 60_000, timeout: Duration::from_secs(15), max_attempts: 1, ..usual_gate(NAME, cooldown) }
}

#[derive(Debug)]
pub struct GathererProvider {
    gatherers: Vec<Arc<dyn Gatherer>>,
    gate: Gate,
}

pub fn new(gatherers: Vec<Arc<dyn Gatherer>>, gate: Gate) -> GathererProvider {
    GathererProvider { gatherers, gate }
}

impl GathererProvider {
    /// Queries all gatherers. A failure is an error only if no other gatherer has a result.
    async fn search(&self, query: &Query, until: Instant) -> Result<Answer, AskError> {
        // Ends before the gate's time, so that a source that hangs does not discard the other results.
        let own = Instant::now() + EACH;
        let ended = if own < until { AskError::Timeout } else { AskError::Deadline };
        let (until, ended) = (until.min(own), &ended);
        let asked = join_all(self.gatherers.iter().map(|gatherer| async move {
            let found = match timeout_at(until, gatherer.gather(query)).await {
                Ok(found) => found.map_err(|error| AskError::CouldNotAsk { detail: error.to_string() }),
                Err(_elapsed) => Err(ended.clone()),
            };
            (gatherer.name(), found)
        }));
        let (mut answer, mut failure) = (Answer::default(), None);
        for (name, found) in asked.await {
            match found {
                Ok(found) => answer.hits.extend(found.into_iter().filter_map(|one| hit(name, one))),
                Err(error) => {
                    answer.lacks(NAME, name, &error);
                    failure = Some(error);
                }
            }
        }
        if let (true, Some(failure)) = (answer.hits.is_empty(), failure) {
            return Err(failure);
        }
        let mut places: Vec<String> = Vec::new();
        answer.hits.retain(|hit| {
            let is_new = !places.contains(&hit.url);
            if is_new {
                places.push(hit.url.clone());
            }
            is_new
        });
        answer.hits.truncate(query.limit);
        Ok(answer)
    }
}

/// Returns `None` without a text or page, or if the URL contains credentials, which must not be stored.
fn hit(name: &str, one: GatheredPage) -> Option<Hit> {
    let GatheredPage { url, title, text, published_at, credibility } = one;
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let is_page = matches!(url.scheme(), "http" | "https");
    if (text.is_none() && !is_page) || !url.username().is_empty() || url.password().is_some() {
        tracing::debug!(gatherer = name, "gatherer result skipped because it has neither text nor URL");
        return None;
    }
    Some(Hit {
        url: url.into(),
        title: one_line(&title),
        snippet: text.as_deref().map(|text| clip(text, SNIPPET.0, SNIPPET.1)).unwrap_or_default(),
        published_at,
        language: text.as_deref().and_then(|text| detect(text).language),
        provider: NAME,
        storage: PROFILE.storage,
        content: text.map(|text| Content {
            text,
            origin: Origin::Api,
            publisher: Some(name.to_owned()),
            credibility: credibility.map(|figure| figure.clamp(0.0, 1.0)),
        }),
    })
}

impl Provider for GathererProvider {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn gates(&self) -> Vec<&Gate> {
        vec![&self.gate]
    }

    /// The answer depends on the claim's own document and on the gatherers.
    fn cache_key(&self, query: &Query) -> String {
        let names: Vec<&str> = self.gatherers.iter().map(|gatherer| gatherer.name()).collect();
        let (query_key, names) = (query.cache_key(NAME), crate::cache::joined(names));
        crate::cache::joined([&query_key, query.source_document.as_deref().unwrap_or_default(), &names])
    }

    fn ask<'a>(&'a self, query: &'a Query, asker: Asker<'a>) -> BoxFuture<'a, Result<Answer, AskError>> {
        // Less than the remaining time, so that the other results arrive in time.
        let until = asker.until - MARGIN.min(asker.until.saturating_duration_since(Instant::now()) / 10);
        Box::pin(self.gate.run(asker, move || self.search(query, until)))
    }
}

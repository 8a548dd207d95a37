//! Queries the providers for one claim, stage after stage, within the item's time.
//!
//! If a provider is slow, the next one is queried in parallel and the first answer is used. Calls that are no longer
//! needed are dropped; no task is spawned.
//! A paid call is always awaited and no second one starts meanwhile, so that no query is paid for twice.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;

use super::choose::{enough, is_about};
use super::glance::SnippetCache;
use super::own::OwnSite;
use super::stages::{Stage, StageMode};
use crate::cache::{Question, SearchCache};
use crate::domain::Degradation;
use crate::domain::limits::{MAX_URL_BYTES, is_storable_url};
use crate::domain::rules::DomainRules;
use crate::judging::profile::TextProfile;
use crate::outbound::{AskError, AskMeter, Asker};
use crate::pipeline::candidate::Candidate;
use crate::pipeline::latency::Latencies;
use crate::pipeline::run_context::Journal;
use crate::providers::{Answer, Hit, Provider, ProviderKind, Query, Storage};
use crate::reading::{canonical_url, registered_domain};

/// Patience is three times the usual latency, within these limits.
const USUAL_TIMES: u32 = 3;
const LEAST_PATIENCE: Duration = Duration::from_millis(500);
const MOST_PATIENCE: Duration = Duration::from_secs(8);
/// Patience for an unknown latency.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// Patience is at most a quarter of the remaining time.
const PATIENCE_SHARE: u32 = 4;

/// A paid call gets at most half of the remaining time, because it is always awaited.
const PAID_SHARE: u32 = 2;

/// With less time left, no query starts.
const TOO_LATE: Duration = Duration::from_millis(20);

/// Extra time for a provider's gate to report the deadline.
const GRACE: Duration = Duration::from_millis(50);

pub(super) struct Round<'a> {
    pub(super) journal: &'a Journal,
    pub(super) cache: &'a SearchCache<Answer>,
    pub(super) latencies: &'a Latencies,
    pub(super) rules: &'a DomainRules,
    pub(super) snippets: &'a SnippetCache,
    /// No evidence for the item.
    pub(super) own: OwnSite,
    pub(super) wanted: usize,
    /// Deadline of the search.
    pub(super) until: Instant,
    /// Providers that failed for this item; not queried again.
    pub(super) failed: Mutex<BTreeMap<&'static str, Vec<Degradation>>>,
}

#[derive(Debug, Default)]
pub(super) struct Finds {
    /// The operator's texts; not fetched.
    pub(super) own: Vec<Candidate>,
    pub(super) pages: Vec<Candidate>,
    /// Of web search providers, which can replace each other.
    pub(super) failures: Vec<Degradation>,
    /// Of own sources, which nothing replaces.
    pub(super) own_failures: Vec<Degradation>,
    claim: Arc<TextProfile>,
    /// Whether a query without chosen sites was answered.
    opened: bool,
    /// Cache keys.
    asked: Vec<String>,
}

impl Finds {
    pub(super) fn of(claim: &Arc<TextProfile>) -> Self {
        Self { claim: Arc::clone(claim), ..Self::default() }
    }

    fn fail(&mut self, provider: &Arc<dyn Provider>, causes: impl IntoIterator<Item = Degradation>) {
        let own = provider.kind() == ProviderKind::Own;
        let list = if own { &mut self.own_failures } else { &mut self.failures };
        list.extend(causes);
    }
}

struct QueryOutcome<'a> {
    lane: Lane<'a>,
    outcome: Result<Arc<Answer>, AskError>,
    took: Duration,
}

/// A provider with its remaining queries.
struct Lane<'a> {
    provider: &'a Arc<dyn Provider>,
    queries: std::vec::IntoIter<Query>,
}

type RunningCalls<'a> = FuturesUnordered<BoxFuture<'a, QueryOutcome<'a>>>;

/// Records cost and latency on drop. For an abandoned call the latency is a lower bound.
struct Call<'a> {
    round: &'a Round<'a>,
    name: &'static str,
    meter: AskMeter,
    started: Instant,
    answered: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.round.journal.metered(self.name, &self.meter);
        let now = Instant::now();
        let took = now.saturating_duration_since(self.started);
        let longer = self.round.latencies.usual(self.name, now).is_none_or(|usual| took > usual);
        if self.meter.attempts() > 0 && (self.answered || longer) {
            self.round.latencies.took(self.name, took, now);
        }
    }
}

impl<'r> Round<'r> {
    /// Runs the stages until enough is found. Chosen feeds and sites are never enough if there is an open stage.
    pub(super) async fn search(&'r self, stages: Vec<Stage<'r>>, finds: &mut Finds) {
        let mut counts: Vec<String> = Vec::new();
        let may_open = stages.iter().any(Stage::is_open);
        for stage in stages {
            if !stage.is_open() && stage.mode != StageMode::Always && enough(&finds.pages, self.wanted) {
                continue;
            }
            let name = stage.name;
            let before = finds.own.len() + finds.pages.len();
            self.stage(stage, finds).await;
            counts.push(format!("{name} {}", finds.own.len() + finds.pages.len() - before));
        }
        if !counts.is_empty() {
            self.journal.trace(format!("search: new finds by stage: {}", counts.join(", ")));
        }
        // Failures count only if other providers did not compensate.
        let made_up = enough(&finds.pages, self.wanted) && (finds.opened || !may_open);
        let missed = if made_up { &[][..] } else { &finds.failures };
        for cause in finds.own_failures.iter().chain(missed) {
            self.journal.degrade(cause.clone());
        }
    }

    async fn stage(&'r self, stage: Stage<'r>, finds: &mut Finds) {
        let open = stage.is_open();
        let Stage { mode, providers, queries, foreign, .. } = stage;
        let lane = |provider| Lane { provider, queries: queries.clone().into_iter() };
        let mut waiting: VecDeque<Lane<'r>> = providers.into_iter().map(lane).collect();
        let mut running: RunningCalls<'r> = FuturesUnordered::new();
        let (mut paid, mut served) = (0_usize, false);
        let mut last: Option<(&'static str, Instant)> = None;
        loop {
            let satisfied = match mode {
                StageMode::All => false,
                StageMode::First => served || enough(&finds.pages, self.wanted),
                StageMode::Always => served,
                StageMode::UntilEnough => served && enough(&finds.pages, self.wanted),
            };
            if satisfied {
                waiting.clear();
                if paid == 0 {
                    break;
                }
            }
            let next = waiting.iter().position(|lane| paid == 0 || !lane.provider.paid());
            let due = next.and_then(|position| waiting.get(position)).map(|lane| match last {
                Some((name, since)) if mode != StageMode::All && !running.is_empty() => {
                    since + self.patience(name, lane.provider.paid())
                }
                _ => Instant::now(),
            });
            if due.is_some_and(|due| due <= Instant::now())
                && let Some(lane) = next.and_then(|position| waiting.remove(position))
            {
                let provider = lane.provider;
                if let Some(asking) = self.put(lane, finds) {
                    paid += usize::from(provider.paid());
                    last = Some((provider.name(), Instant::now()));
                    running.push(asking);
                }
                continue;
            }
            let wait = sleep_until(due.unwrap_or_else(Instant::now));
            let answered = tokio::select! {
                answered = running.next() => answered,
                () = wait, if due.is_some() => continue,
            };
            let Some(QueryOutcome { lane, outcome, took }) = answered else { break };
            let provider = lane.provider;
            paid -= usize::from(provider.paid());
            match outcome {
                Ok(answer) => {
                    served = true;
                    finds.opened |= open;
                    self.keep(&answer, foreign.as_deref(), finds);
                    self.lacking(provider.name(), &answer, finds);
                    waiting.push_front(lane);
                    last = None;
                }
                Err(error) => self.failed(provider, &error, took, mode, finds),
            }
        }
    }

    /// Starts the next query; `None` if there is none or the provider cannot be queried.
    fn put(&'r self, mut lane: Lane<'r>, finds: &mut Finds) -> Option<BoxFuture<'r, QueryOutcome<'r>>> {
        let provider = lane.provider;
        let name = provider.name();
        if let Some(causes) = self.failures_of(name) {
            finds.fail(provider, causes);
            return None;
        }
        let (query, key) = loop {
            let query = lane.queries.next()?;
            if query.language.as_deref().is_some_and(|language| !provider.accepts(language)) {
                self.journal.trace(format!("search: {name} not asked, it does not speak the language"));
                return None;
            }
            let key = provider.cache_key(&query);
            if !finds.asked.contains(&key) {
                finds.asked.push(key.clone());
                break (query, key);
            }
        };
        let now = Instant::now();
        let left = self.until.saturating_duration_since(now);
        let usual = self.latencies.usual(name, now).unwrap_or_default();
        if left < TOO_LATE || usual > left {
            self.journal.trace(format!("search: {name} not asked, it takes {usual:.1?} and {left:.1?} are left"));
            finds.fail(provider, [Degradation::Deadline]);
            return None;
        }
        let until = if provider.paid() { now + left / PAID_SHARE } else { self.until };
        Some(Box::pin(async move {
            let started = Instant::now();
            let outcome = self.ask(provider, &query, &key, until).await;
            QueryOutcome { lane, outcome, took: started.elapsed() }
        }))
    }

    async fn ask(
        &self,
        provider: &Arc<dyn Provider>,
        query: &Query,
        key: &str,
        until: Instant,
    ) -> Result<Arc<Answer>, AskError> {
        let name = provider.name();
        let mut call = Call { round: self, name, meter: AskMeter::default(), started: Instant::now(), answered: false };
        // Shared calls are charged to the item that started them.
        let asker = Asker { until, meter: &call.meter };
        let asked = async {
            if provider.kind() == ProviderKind::Own {
                // Own sources can change and are free, so they are not cached.
                return provider.ask(query, asker).await.map(Arc::new);
            }
            let question = Question {
                provider: name,
                key,
                claim: None,
                // Answers that must not be stored stay in this process.
                shared: provider.storage() == Storage::Stored,
                until,
                keep_at_least: provider.keep_at_least(),
            };
            self.cache.get_or_ask(&question, || provider.ask(query, asker)).await.map(|(answer, _how)| answer)
        };
        // A wait for another item's call ends too.
        let outcome = timeout_at(until + GRACE, asked).await.unwrap_or(Err(AskError::Deadline));
        call.answered = outcome.is_ok();
        match &outcome {
            // An unrelated own source answers without a query.
            Ok(_) if provider.kind() == ProviderKind::Own && call.meter.attempts() == 0 => {
                self.journal.trace(format!("search: {name} has nothing to be asked for it"));
            }
            Ok(_) => self.journal.checked(name),
            Err(error) => self.journal.trace(format!("search: {name} could not be asked: {error}")),
        }
        outcome
    }

    /// Returns how long to wait before the next provider is queried in parallel; longest if that one is paid.
    fn patience(&self, name: &str, next_is_paid: bool) -> Duration {
        let now = Instant::now();
        let most = (self.until.saturating_duration_since(now) / PATIENCE_SHARE).min(MOST_PATIENCE);
        if next_is_paid {
            return most;
        }
        let wanted = match self.latencies.usual(name, now) {
            None => FIRST_PATIENCE,
            Some(usual) if usual >= FIRST_PATIENCE => LEAST_PATIENCE,
            Some(usual) => (usual * USUAL_TIMES).max(LEAST_PATIENCE),
        };
        wanted.min(most)
    }

    fn failures_of(&self, name: &str) -> Option<Vec<Degradation>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn failed(
        &self,
        provider: &Arc<dyn Provider>,
        error: &AskError,
        took: Duration,
        mode: StageMode,
        finds: &mut Finds,
    ) {
        let name = provider.name();
        let mut causes = vec![error.degradation(name)];
        // The provider had enough time, so the result names it.
        let had_its_time = *error == AskError::Deadline && took >= LEAST_PATIENCE;
        if had_its_time {
            causes.push(Degradation::ProviderFailed(name.to_owned()));
        }
        // A refused query says nothing about the next claim's. A failure in another language must not cost queries in
        // the claims' own.
        if !matches!(error, AskError::Refused { .. }) && mode != StageMode::Always {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).insert(name, causes.clone());
        }
        finds.fail(provider, causes);
    }

    /// Records the failed parts of an answer.
    fn lacking(&self, name: &'static str, answer: &Answer, finds: &mut Finds) {
        if !answer.is_whole() {
            self.journal.trace(format!("search: {name} could not be asked for {}", answer.failed.join(", ")));
            finds.failures.push(Degradation::ProviderFailed(name.to_owned()));
        }
    }

    /// Keeps the usable hits. `foreign` is the claim in the query's language, if that differs.
    fn keep(&self, answer: &Answer, foreign: Option<&TextProfile>, finds: &mut Finds) {
        for hit in &answer.hits {
            let Some(mut candidate) = self.candidate(hit) else { continue };
            let is_of = |claim: &TextProfile| is_about(claim, hit, self.snippets);
            candidate.about = hit.content.is_some() || is_of(&finds.claim) || foreign.is_some_and(is_of);
            let list = if hit.content.is_some() { &mut finds.own } else { &mut finds.pages };
            if !list.iter().any(|known| known.url == candidate.url) {
                list.push(candidate);
            }
        }
    }

    /// Converts a hit. A text keeps its URL and skips the domain lists, because the operator configured it. A page
    /// gets its canonical URL.
    fn candidate(&self, hit: &Hit) -> Option<Candidate> {
        let url = Url::parse(&hit.url).ok()?;
        let on_the_web = matches!(url.scheme(), "http" | "https");
        let host = url.host_str().unwrap_or_default().to_owned();
        if hit.content.is_some() {
            // `corpus://bbc.com` is a folder, not the web site.
            let domain = if on_the_web { registered_domain(&host) } else { format!("{}:{host}", url.scheme()) };
            return self.storable(&url).then(|| Candidate { domain, url, hit: hit.clone(), about: true });
        }
        if !on_the_web || host.is_empty() || self.rules.is_denied(&host) {
            return None;
        }
        let canonical = canonical_url(&url);
        (!self.own.holds(&canonical) && self.storable(&canonical)).then(|| Candidate {
            domain: registered_domain(&host),
            url: canonical,
            hit: hit.clone(),
            about: true,
        })
    }

    /// Whether the store can keep the URL.
    fn storable(&self, url: &Url) -> bool {
        let (text, host) = (url.as_str(), url.host_str().unwrap_or_default());
        if !is_storable_url(text) {
            let host: String = host.chars().take(100).collect();
            let bytes = text.len();
            self.journal.trace(format!(
                "search: a page at {host} is left out, its URL has {bytes} bytes, {MAX_URL_BYTES} at most"
            ));
        }
        is_storable_url(text)
    }
}

#[cfg(test)]
mod tests;

//! Asking the providers of one claim, stage after stage, within the item's time.
//!
//! A provider that takes long is not waited for: the next one is asked beside it, and whoever answers first is used. No
//! task is spawned: what is not needed any more is dropped with its claim. Only what is paid for is waited for to its
//! end, and no second paid call is begun beside it: so that nothing is paid twice for one question.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;

use super::choose::{enough, is_about};
use super::glance::Glances;
use super::own::OwnSite;
use super::stages::{Serve, Stage};
use crate::cache::{Question, SearchCache};
use crate::domain::Degradation;
use crate::domain::limits::{MAX_URL_BYTES, is_storable_url};
use crate::domain::rules::DomainRules;
use crate::judging::profile::TextProfile;
use crate::outbound::{AskError, AskMeter, Asker};
use crate::pipeline::candidate::Candidate;
use crate::pipeline::{Journal, Latencies};
use crate::providers::{Answer, Hit, Provider, ProviderKind, Query, Storage};
use crate::reading::{canonical_url, registered_domain};

/// Before the next provider is asked beside one that has not answered: three times what that one usually takes, at least
/// the first and at most the second figure.
const USUAL_TIMES: u32 = 3;
const LEAST_PATIENCE: Duration = Duration::from_millis(500);
const MOST_PATIENCE: Duration = Duration::from_secs(8);
/// For one nothing is known of. One that usually takes longer is not waited for: it gets [`LEAST_PATIENCE`].
const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// Patience never takes more than this share of the time left.
const PATIENCE_SHARE: u32 = 4;

/// A paid call is waited for; so it may take this share of what is left at most, and leave the rest to others.
const PAID_SHARE: u32 = 2;

/// With less than this left nothing is begun.
const TOO_LATE: Duration = Duration::from_millis(20);

/// Behind the end of its time a provider's own gate has this long to say so.
const GRACE: Duration = Duration::from_millis(50);

/// What all claims of an item share while it is searched for.
pub(super) struct Round<'a> {
    pub(super) journal: &'a Journal,
    pub(super) cache: &'a SearchCache<Answer>,
    pub(super) latencies: &'a Latencies,
    pub(super) rules: &'a DomainRules,
    pub(super) glances: &'a Glances,
    /// The item's own page and site, which are no evidence for it.
    pub(super) own: OwnSite,
    pub(super) wanted: usize,
    /// Searching ends here; the rest of the item's time is for reading and judging.
    pub(super) until: Instant,
    /// Providers that failed for this item in its own words, which are not asked again for it.
    pub(super) failed: Mutex<BTreeMap<&'static str, Vec<Degradation>>>,
}

/// What was found for one claim, and what could not be asked.
#[derive(Debug, Default)]
pub(super) struct Finds {
    /// Texts the operator holds: they come with their content and are no pages to be fetched.
    pub(super) own: Vec<Candidate>,
    pub(super) pages: Vec<Candidate>,
    /// Of those who search the web, who stand in for each other.
    pub(super) failures: Vec<Degradation>,
    /// Of the operator's own sources, for which nobody stands in.
    pub(super) own_failures: Vec<Degradation>,
    /// What it is looked for.
    claim: Arc<TextProfile>,
    /// Somebody answered an open query: one that is restricted to no chosen sites.
    opened: bool,
    /// What was put to whom, by the provider's own idea of the same question.
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

/// How one question ended.
struct Answered<'a> {
    lane: Lane<'a>,
    outcome: Result<Arc<Answer>, AskError>,
    took: Duration,
}

/// A provider with the questions still to be put to it.
struct Lane<'a> {
    provider: &'a Arc<dyn Provider>,
    queries: std::vec::IntoIter<Query>,
}

type Asking<'a> = FuturesUnordered<BoxFuture<'a, Answered<'a>>>;

/// Counts a call for the item, and learns from it, however it ends: a dropped one took at least so long.
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
    /// Goes through the stages until enough is found. What was chosen beforehand, by feeds or by sites, is never enough
    /// alone: where there is an open stage, one of its queries is answered first.
    pub(super) async fn search(&'r self, stages: Vec<Stage<'r>>, finds: &mut Finds) {
        let mut told: Vec<String> = Vec::new();
        let may_open = stages.iter().any(Stage::is_open);
        for stage in stages {
            if !stage.is_open() && stage.serve != Serve::Always && enough(&finds.pages, self.wanted) {
                continue;
            }
            let name = stage.name;
            let before = finds.own.len() + finds.pages.len();
            self.stage(stage, finds).await;
            told.push(format!("{name} {}", finds.own.len() + finds.pages.len() - before));
        }
        if !told.is_empty() {
            self.journal.trace(format!("search: new finds by stage: {}", told.join(", ")));
        }
        // What could not be asked matters only where the others did not make up for it.
        let made_up = enough(&finds.pages, self.wanted) && (finds.opened || !may_open);
        let missed = if made_up { &[][..] } else { &finds.failures };
        for cause in finds.own_failures.iter().chain(missed) {
            self.journal.degrade(cause.clone());
        }
    }

    async fn stage(&'r self, stage: Stage<'r>, finds: &mut Finds) {
        let open = stage.is_open();
        let Stage { serve, providers, queries, foreign, .. } = stage;
        let lane = |provider| Lane { provider, queries: queries.clone().into_iter() };
        let mut waiting: VecDeque<Lane<'r>> = providers.into_iter().map(lane).collect();
        let mut running: Asking<'r> = FuturesUnordered::new();
        let (mut paid, mut served) = (0_usize, false);
        // Whom we wait for, and since when: the provider asked last.
        let mut last: Option<(&'static str, Instant)> = None;
        loop {
            let satisfied = match serve {
                Serve::All => false,
                Serve::First => served || enough(&finds.pages, self.wanted),
                Serve::Always => served,
                Serve::UntilEnough => served && enough(&finds.pages, self.wanted),
            };
            if satisfied {
                waiting.clear();
                // What is paid for is waited for.
                if paid == 0 {
                    break;
                }
            }
            let next = waiting.iter().position(|lane| paid == 0 || !lane.provider.paid());
            let due = next.and_then(|position| waiting.get(position)).map(|lane| match last {
                Some((name, since)) if serve != Serve::All && !running.is_empty() => {
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
            let beside = sleep_until(due.unwrap_or_else(Instant::now));
            let answered = tokio::select! {
                answered = running.next() => answered,
                () = beside, if due.is_some() => continue,
            };
            let Some(Answered { lane, outcome, took }) = answered else { break };
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
                Err(error) => self.failed(provider, &error, took, serve, finds),
            }
        }
    }

    /// Begins the lane's next question; `None` where that provider has nothing left to be asked, or cannot be.
    fn put(&'r self, mut lane: Lane<'r>, finds: &mut Finds) -> Option<BoxFuture<'r, Answered<'r>>> {
        let provider = lane.provider;
        let name = provider.name();
        if let Some(causes) = self.failures_of(name) {
            finds.fail(provider, causes);
            return None;
        }
        let (query, key) = loop {
            let query = lane.queries.next()?;
            if query.language.as_deref().is_some_and(|language| !provider.speaks(language)) {
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
            Answered { lane, outcome, took: started.elapsed() }
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
        let mut call =
            Call { round: self, name, meter: self.journal.meter(), started: Instant::now(), answered: false };
        // Another item's call that is waited for is the other's, and a kept answer nobody's: neither is counted here.
        let asker = Asker { until, meter: &call.meter };
        let asked = async {
            if provider.kind() == ProviderKind::Own {
                // What is our own changes under our hands, and costs nothing to look at again.
                return provider.ask(query, asker).await.map(Arc::new);
            }
            let question = Question {
                provider: name,
                key,
                claim: None,
                // What must not be stored stays in this process.
                shared: provider.storage() == Storage::Stored,
                until,
                keep_at_least: provider.keep_at_least(),
            };
            self.cache.get_or_ask(&question, || provider.ask(query, asker)).await.map(|(answer, _how)| answer)
        };
        // Who waits for another's call has a time of their own all the same.
        let outcome = timeout_at(until + GRACE, asked).await.unwrap_or(Err(AskError::Deadline));
        call.answered = outcome.is_ok();
        match &outcome {
            // An own source that has nothing to do with the claim answers without being asked, and is never kept.
            Ok(_) if provider.kind() == ProviderKind::Own && call.meter.attempts() == 0 => {
                self.journal.trace(format!("search: {name} has nothing to be asked for it"));
            }
            Ok(_) => self.journal.checked(name),
            Err(error) => self.journal.trace(format!("search: {name} could not be asked: {error}")),
        }
        outcome
    }

    /// How long that provider is waited for before another is asked beside it. Paying to save time comes last.
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

    fn failed(&self, provider: &Arc<dyn Provider>, error: &AskError, took: Duration, serve: Serve, finds: &mut Finds) {
        let name = provider.name();
        let mut causes = vec![error.degradation(name)];
        // Our time was up, but it had had its share of it: whoever reads the result should know whom it waited for.
        let had_its_time = *error == AskError::Deadline && took >= LEAST_PATIENCE;
        if had_its_time {
            causes.push(Degradation::ProviderFailed(name.to_owned()));
        }
        // A query it will not take says nothing of the next claim's; and one more, in another language, must not cost the
        // item's other claims those in their own words.
        if !matches!(error, AskError::Refused { .. }) && serve != Serve::Always {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).insert(name, causes.clone());
        }
        finds.fail(provider, causes);
    }

    /// What of a provider that answered could not be asked is missing all the same.
    fn lacking(&self, name: &'static str, answer: &Answer, finds: &mut Finds) {
        if !answer.is_whole() {
            self.journal.trace(format!("search: {name} could not be asked for {}", answer.failed.join(", ")));
            finds.failures.push(Degradation::ProviderFailed(name.to_owned()));
        }
    }

    /// `foreign` is the claim as it was asked for, where that is not in its own words.
    fn keep(&self, answer: &Answer, foreign: Option<&TextProfile>, finds: &mut Finds) {
        for hit in &answer.hits {
            let Some(mut candidate) = self.candidate(hit) else { continue };
            let is_of = |claim: &TextProfile| is_about(claim, hit, self.glances);
            candidate.about = hit.content.is_some() || is_of(&finds.claim) || foreign.is_some_and(is_of);
            let list = if hit.content.is_some() { &mut finds.own } else { &mut finds.pages };
            if !list.iter().any(|known| known.url == candidate.url) {
                list.push(candidate);
            }
        }
    }

    /// A text that was brought along is kept under the very address it was given, and is the operator's wish. A page goes
    /// by its canonical address and the domain lists.
    fn candidate(&self, hit: &Hit) -> Option<Candidate> {
        let url = Url::parse(&hit.url).ok()?;
        let on_the_web = matches!(url.scheme(), "http" | "https");
        let host = url.host_str().unwrap_or_default().to_owned();
        if hit.content.is_some() {
            // Never merged with a site of the web: `corpus://bbc.com` is somebody's folder.
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

    /// Whether the store can keep the page. The trace names a page that it cannot.
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

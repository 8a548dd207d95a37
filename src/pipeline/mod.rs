//! The pipeline: takes one item from admission to commit, one stage after another.
//!
//! ```text
//! admit → expand → normalise → claims → fact_check → corroborate → queries → retrieve
//!       → read → rank → judge → adjudicate → decide → explain → context → commit
//! ```
//!
//! `translate` is not a stage: it translates claims and passages for the NLI model.
//! A stage that cannot query a source records a [`Degradation`]; it never returns an empty list instead. No stage
//! prints, publishes or contains SQL. To add a stage, add a file, a call in [`run`] and a trace line.

mod adjudicate;
mod admit;
mod ask;
mod candidate;
pub mod changed;
mod claims;
mod commit;
mod context;
mod correct;
mod corroborate;
mod credit;
mod decide;
mod embedding;
mod evidence;
mod expand;
mod explain;
mod fact_check;
pub mod given;
mod item_locks;
mod judge;
mod language_model;
mod languages;
mod model_search;
mod models;
mod normalise;
mod page;
mod page_failure;
mod page_reviews;
mod progress;
mod provider_standing;
mod queries;
mod rank;
mod read;
pub mod rescore;
mod retrieve;
mod rounding;
mod services;
mod shown;
mod steps;
mod summary;
mod translate;

use std::collections::BTreeMap;
use std::sync::Mutex;

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::broker::REPLY_REFUSED;
use crate::domain::evidence::MatchedReview;
use crate::domain::item::SourceKind;
use crate::domain::result::{Cost, ItemResult};
use crate::domain::verdict::{Phase, Relation};
use crate::domain::{Degradation, Item};
use crate::inference::llm::ItemSpend;
use crate::outbound::AskMeter;
use crate::parsing::ParseError;
use crate::providers::profile;
use crate::store::{CommitOutcome, StoreError};
use crate::telemetry::{metrics, traces};

pub use admit::Admission;
pub use changed::Rejudging;
pub use commit::signal_event;
pub use context::{DigestEvidence, channels_shown, digest_also_reported, digest_evidence};
pub use decide::BY_FACT_CHECK;
pub use item_locks::ItemLocks;
pub use languages::LanguagePolicy;
pub use page::PreparedPage;
pub use progress::{Progress, Watcher};
pub use provider_standing::ProviderStanding;
pub use retrieve::Latencies;
pub use services::{Listeners, Pilot, RulesHandle, SearchProviders, Services, Settings, WebhookTarget};
pub use steps::{Gatherers, Steps};

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Request {
    pub item: Item,
    pub phase: Phase,
    pub message_id: Option<String>,
    pub reply_to: Option<String>,
    /// Whether `reply_to` names a forbidden queue.
    pub reply_refused: bool,
    pub correlation_id: Option<String>,
    /// Of two texts of an item the later one wins.
    pub sent_at: Option<DateTime<Utc>>,
    pub redelivered: bool,
    /// A person's check: no minimum length, no gates.
    pub personal: bool,
    /// Repeats the judgement even if a result is stored.
    pub again: bool,
    /// Set for a re-evaluation.
    pub rejudging: Option<Rejudging>,
    /// The daemon is overloaded: phase 2 is skipped.
    pub shed: bool,
    pub watcher: Option<Watcher>,
}

impl Request {
    pub fn personal(item: Item) -> Self {
        Self {
            item,
            phase: Phase::Two,
            message_id: None,
            reply_to: None,
            reply_refused: false,
            correlation_id: None,
            sent_at: None,
            redelivered: false,
            personal: true,
            again: false,
            rejudging: None,
            shed: false,
            watcher: None,
        }
    }
}

#[derive(Debug, Clone)]
pub enum Outcome {
    /// Everything is committed, including the outbox.
    Done(Box<ItemResult>),
    /// Nothing was written: the content was processed before, or a later or better result was stored meanwhile. `usd`
    /// is the cost until then, in US dollars.
    AlreadyDone { usd: f64 },
    /// Nothing was written: a re-evaluation was more degraded than the stored result.
    Poorer(Box<ItemResult>),
}

/// Why a request failed; nothing was committed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    #[error("the store could not be used")]
    Store(#[from] StoreError),
    #[error("a model failed")]
    Inference(#[from] crate::inference::InferenceError),
    #[error("the texts of the item could not be processed")]
    Texts(#[source] ParseError),
}

impl PipelineError {
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            // A model server may recover; the retry budget limits the attempts.
            Self::Inference(_) => true,
            // A text that crashes our code always does. Slow work may succeed in a retry.
            Self::Texts(error) => *error != ParseError::Crashed,
        }
    }

    pub fn label(&self) -> &'static str {
        match self {
            Self::Store(error) => error.label(),
            Self::Inference(_) => "inference",
            Self::Texts(_) => "text_work",
        }
    }
}

/// Degradations, costs and trace of an item while it is processed.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) started: Instant,
    /// Deadline of retrieval and reading.
    pub(crate) ask_until: Instant,
    /// Deadline of model calls; later time is for storing.
    pub(crate) judge_until: Instant,
    pub(crate) evaluated_at: DateTime<Utc>,
    /// Whether this is a re-evaluation.
    pub(crate) is_rejudging: bool,
    pub(crate) llm: ItemSpend,
    watcher: Option<Watcher>,
    inner: Mutex<JournalInner>,
}

#[derive(Debug, Default)]
struct JournalInner {
    degraded: Vec<Degradation>,
    calls: BTreeMap<String, u32>,
    usd: f64,
    llm_calls: u32,
    llm_tokens: u32,
    trace: Vec<String>,
    checked: Vec<String>,
    /// Characters sent to a translator.
    translated: usize,
}

impl Journal {
    pub(crate) fn new(now: Instant, budget: std::time::Duration, evaluated_at: DateTime<Utc>) -> Self {
        // A tenth of the time, at most two seconds: a verdict on partial evidence is better than none.
        let reserve = (budget / 10).min(std::time::Duration::from_secs(2));
        Self {
            started: now,
            ask_until: now + budget.saturating_sub(reserve),
            judge_until: now + budget.saturating_sub(reserve / 4),
            evaluated_at,
            is_rejudging: false,
            llm: ItemSpend::new(0, 0.0),
            watcher: None,
            inner: Mutex::default(),
        }
    }

    fn of(services: &Services, request: &Request) -> Self {
        let new = Self::new(Instant::now(), services.time_budget(&request.item), services.clock.now());
        if request.reply_refused {
            new.trace(REPLY_REFUSED);
        }
        Self { is_rejudging: request.rejudging.is_some(), ..new }
            .spending(services.item_spend(), services.adjudication_time())
            .watched(request.watcher.as_ref())
    }

    /// Sets the language model budget. Retrieval stops `earlier` to leave time for the model.
    pub(crate) fn spending(self, llm: ItemSpend, earlier: std::time::Duration) -> Self {
        let earlier = earlier.min((self.ask_until - self.started) / 3);
        Self { llm, ask_until: self.ask_until - earlier, ..self }
    }

    pub(crate) fn watched(self, watcher: Option<&Watcher>) -> Self {
        Self { watcher: watcher.cloned(), ..self }
    }

    /// Reports the start of a stage that only some items reach.
    pub(crate) fn begins(&self, stage: &'static str) {
        self.report(|| Progress::Stage(stage));
    }

    fn report(&self, progress: impl FnOnce() -> Progress) {
        if let Some(watcher) = &self.watcher {
            watcher.report(progress());
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut JournalInner) -> T) -> T {
        // A poisoned journal is still valid.
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        change(&mut inner)
    }

    pub(crate) fn degrade(&self, cause: Degradation) {
        let is_new = self.with(|inner| {
            let is_new = !inner.degraded.contains(&cause);
            if is_new {
                inner.degraded.push(cause.clone());
            }
            is_new
        });
        if is_new {
            self.report(|| Progress::Degraded(cause));
        }
    }

    pub(crate) fn is_degraded_by(&self, cause: &Degradation) -> bool {
        self.with(|inner| inner.degraded.contains(cause))
    }

    pub(crate) fn degraded(&self) -> Vec<Degradation> {
        let mut causes = self.with(|inner| inner.degraded.clone());
        causes.sort();
        causes
    }

    /// Adds the calls to a provider. Lookups in our store or the operator's folders are not calls, because they cost
    /// nothing.
    pub(crate) fn metered(&self, provider: &str, meter: &AskMeter) {
        if meter.attempts() == 0 || profile(provider).is_some_and(|profile| profile.local) {
            return;
        }
        self.with(|inner| {
            *inner.calls.entry(provider.to_owned()).or_default() += meter.attempts();
            inner.usd += meter.usd();
        });
    }

    pub(crate) fn asked_language_model(&self, calls: u32, tokens: u64, usd: f64) {
        self.llm.charge(usd);
        self.with(|inner| {
            inner.llm_calls += calls;
            inner.llm_tokens = inner.llm_tokens.saturating_add(u32::try_from(tokens).unwrap_or(u32::MAX));
        });
    }

    /// Counts `characters` if the item's limit `most` allows them.
    pub(crate) fn may_translate(&self, characters: usize, most: usize) -> bool {
        self.with(|inner| {
            let fits = inner.translated + characters <= most;
            inner.translated += if fits { characters } else { 0 };
            fits
        })
    }

    pub(crate) fn trace(&self, line: impl Into<String>) {
        let line = line.into();
        self.report(|| Progress::Trace(line.clone()));
        self.with(|inner| inner.trace.push(line));
    }

    pub(crate) fn checked(&self, source: &str) {
        self.with(|inner| {
            if !inner.checked.iter().any(|known| known == source) {
                inner.checked.push(source.to_owned());
            }
        });
    }

    pub(crate) fn was_checked(&self, source: &str) -> bool {
        self.with(|inner| inner.checked.iter().any(|known| known == source))
    }

    pub(crate) fn finish(&self) -> (Vec<String>, Vec<String>, Cost) {
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.with(|inner| {
            let model = self.llm.spent();
            let tokens = u32::try_from(model.tokens_read + model.tokens_written).unwrap_or(u32::MAX);
            let cost = Cost {
                usd: inner.usd + model.usd,
                provider_calls: inner.calls.clone(),
                llm_calls: inner.llm_calls + model.calls,
                llm_tokens: inner.llm_tokens.saturating_add(tokens),
                millis,
            };
            let mut checked = inner.checked.clone();
            checked.sort();
            (inner.trace.clone(), checked, cost)
        })
    }
}

/// Runs one stage and records its duration.
async fn timed<T>(stage: &'static str, journal: &Journal, work: impl Future<Output = T>) -> T {
    journal.report(|| Progress::Stage(stage));
    measured(stage, work).await
}

async fn measured<T>(stage: &'static str, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let done = work.instrument(traces::stage_span(stage)).await;
    metrics::stage(stage, started.elapsed());
    done
}

pub async fn run(services: &Services, request: &Request) -> Result<Outcome, PipelineError> {
    // On the heap, because the future is large.
    Box::pin(whole(services, request)).await
}

/// Whether claims need the fact-check provider, but none is configured.
fn fact_check_unavailable(services: &Services, claims: &[claims::Claim]) -> bool {
    services.providers.fact_check.is_none() && claims.iter().any(claims::Claim::checkable)
}

async fn whole(services: &Services, request: &Request) -> Result<Outcome, PipelineError> {
    let hash = request.item.content_hash();
    let _lock = services.item_locks.lock(&request.item.item_id).await;
    let (phase, start) = match measured("admit", admit::admit(services, request, &hash)).await? {
        Admission::Run(phase, start) => (phase, start),
        Admission::AlreadyDone => {
            commit::answer_again(services, request).await?;
            return Ok(Outcome::AlreadyDone { usd: 0.0 });
        }
    };
    let journal = Journal::of(services, request);
    if request.shed {
        journal.degrade(Degradation::Overload);
    }
    let expanded = timed("expand", &journal, expand::expand(services, request, &journal)).await?;
    // Stored as sent, so that a re-evaluation reads the links again.
    let sent = &request.item;
    let request = expanded.as_ref().unwrap_or(request);
    let item = &request.item;
    let normal = timed("normalise", &journal, normalise::normalise(services, item, &journal)).await?;
    let claims = timed("claims", &journal, claims::claims(services, item, &normal, &journal)).await?;
    let (reviews, also_reported_by) = tokio::join!(
        timed("fact_check", &journal, fact_check::look_up(services, request, &claims, &journal)),
        timed("corroborate", &journal, corroborate::channels(services, item, &normal, &journal)),
    );
    let (mut reviews, also_reported_by) = (reviews?, also_reported_by?);
    if (phase == Phase::One || item.source_types.contains(&SourceKind::Factcheck))
        && fact_check_unavailable(services, &claims)
    {
        journal.degrade(Degradation::NoProvider);
    }
    let decides = |review: &MatchedReview| matches!(review.relation, Relation::Same | Relation::Opposite);
    let reviewed: Vec<bool> = reviews.iter().map(|of_claim| of_claim.iter().any(decides)).collect();
    let mut judged = if phase == Phase::Two {
        Box::pin(evidence::evidence(services, request, &normal, &claims, &reviewed, &journal)).await?
    } else {
        judge::JudgedItem::nothing(claims.len())
    };
    fact_check::of_pages(services, request, &claims, &mut judged, &mut reviews, &journal).await?;
    let deciding = decide::decide(services, request, phase, &normal, &claims, &judged, &reviews, &journal);
    let decided = timed("decide", &journal, Box::pin(deciding)).await?;
    // On the heap, because the future is large.
    let explaining = Box::pin(explain::explanation(services, item, &normal, &decided, &journal));
    let explanation = timed("explain", &journal, explaining).await;
    let summary = Box::pin(summary::summary(services, &normal, &decided, &journal)).await;
    let mut result = timed("context", &journal, async {
        context::assemble(services, request, &normal, &decided, &reviews, also_reported_by, &journal)
    })
    .await;
    result.explanation = explanation;
    result.overall_summary = summary.or(result.overall_summary);
    if request.rejudging.as_ref().is_some_and(|rejudging| rejudging.is_poorer(&result)) {
        return Ok(Outcome::Poorer(Box::new(result)));
    }
    let commit = commit::commit(
        services,
        request,
        sent,
        phase,
        &start,
        &hash,
        &normal,
        &decided,
        &judged,
        &reviews,
        &mut result,
    );
    if timed("commit", &journal, commit).await? == CommitOutcome::Superseded {
        tracing::info!(phase = phase.as_str(), "result dropped because a newer or better one is stored");
        commit::answer_again(services, request).await?;
        return Ok(Outcome::AlreadyDone { usd: result.cost.usd });
    }
    metrics::item_degraded(&journal.degraded());
    services::count(&result);
    Ok(Outcome::Done(Box::new(result)))
}

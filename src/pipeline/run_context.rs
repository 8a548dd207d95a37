//! What one run of the pipeline carries through all stages: services, request and journal.
//!
//! Stages import it from here, never from their parent module.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::events::Rejudging;
use super::services::Services;
use crate::broker::REPLY_REFUSED;
use crate::domain::result::Cost;
use crate::domain::verdict::Phase;
use crate::domain::{Degradation, Item};
use crate::inference::llm::ItemSpend;
use crate::outbound::AskMeter;
use crate::providers::profile;
use crate::telemetry::{metrics, traces};

/// One run of an item. The request's item includes the pages of its links.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) services: &'a Services,
    pub(crate) request: &'a Request,
    pub(crate) phase: Phase,
    pub(crate) journal: &'a Journal,
}

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

/// A progress report for a client that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Start of a stage from the metrics catalogue.
    Stage(&'static str),
    Trace(String),
    Degraded(Degradation),
}

/// Receiver of progress. It must not block, because the pipeline calls it directly.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Fn(Progress) + Send + Sync>);

impl Watcher {
    pub fn new(report: Arc<dyn Fn(Progress) + Send + Sync>) -> Self {
        Self(report)
    }

    pub(crate) fn report(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
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
    pub(super) watcher: Option<Watcher>,
    pub(super) inner: Mutex<JournalInner>,
}

#[derive(Debug, Default)]
pub(super) struct JournalInner {
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

    pub(super) fn of(services: &Services, request: &Request) -> Self {
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

    pub(super) fn report(&self, progress: impl FnOnce() -> Progress) {
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
pub(super) async fn timed<T>(stage: &'static str, journal: &Journal, work: impl Future<Output = T>) -> T {
    journal.report(|| Progress::Stage(stage));
    measured(stage, work).await
}

/// As [`timed`], without a progress report.
pub(super) async fn measured<T>(stage: &'static str, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let done = work.instrument(traces::stage_span(stage)).await;
    metrics::stage(stage, started.elapsed());
    done
}

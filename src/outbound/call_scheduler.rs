//! Who may ask a provider now: the fleet's slots, this process's own spacing, and the breaker, in one queue.
//!
//! Slots are leased in blocks, so that a block of calls costs one round trip to the ledger. Callers of one process stand
//! in one queue; only its head leases, so that however many wait, one question goes out. A lease runs on a task of its
//! own: whoever asked for it may go away, and its slots are there for the next.

mod exchange;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::block::{Block, Owed};
use super::breaker::{Admission, Breaker, Learnt, Refusal};
use super::error::AskError;
use super::identity::Identity;
use super::ledger::{Ledger, Limit, Pace, SharedBreaker};
use super::limiter::{Limiter, Place, TooLate};
use super::observer::Observer;
use super::terms::GateState;
use crate::domain::Clock;

/// A reached limit, or a ledger that is away, is not asked about again before this.
const PAUSE: Duration = Duration::from_secs(1);

/// On what terms slots are leased.
#[derive(Debug, Clone)]
pub(super) struct SchedulerSettings {
    pub(super) name: &'static str,
    /// As the ledger keeps it: see [`super::ledger::LeaseTerms::provider`].
    pub(super) account: Arc<str>,
    pub(super) identity: Identity,
    pub(super) pace: Pace,
    pub(super) max_wait: Duration,
    pub(super) day_limit: Option<u32>,
    pub(super) month_limit: Option<u32>,
    /// US dollars a slot.
    pub(super) usd: f64,
    pub(super) cap_usd: Option<f64>,
    /// How long a probe may be out.
    pub(super) probe_time: Duration,
}

/// Why nothing is leased for now.
#[derive(Debug, Clone)]
enum Pause {
    /// The fleet's next slot.
    Rate {
        until: Instant,
    },
    Limited {
        limit: Limit,
        until: Instant,
    },
    Away {
        detail: String,
        until: Instant,
    },
}

#[derive(Debug)]
struct Inner {
    /// Of the breaker: the key it is about, and that key's version.
    identity: Arc<str>,
    version: u64,
    breaker: Breaker,
    block: Option<Block>,
    owed: Owed,
    leasing: bool,
    pause: Option<Pause>,
    /// The limit that is reached, and until when, to be shown.
    limited: Option<(Limit, Instant)>,
    /// The state last reported, so that each change is reported once.
    reported: GateState,
}

/// A slot with a place at the breaker.
#[derive(Debug)]
pub(super) struct Pass {
    /// Whose breaker let it through.
    identity: Arc<str>,
    admission: Admission,
    leased_for: DateTime<Utc>,
}

impl Pass {
    /// Whether it is the one call that decides of an open breaker.
    pub(super) const fn is_probe(&self) -> bool {
        self.admission.probe
    }
}

/// What the head of the queue does next.
enum Step {
    Pass(Pass),
    Refuse(AskError),
    Wait(Instant),
    Lease,
}

/// The scheduler of one provider's calls.
#[derive(Debug)]
pub(super) struct CallScheduler {
    settings: SchedulerSettings,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    limiter: Limiter,
    /// Held for single statements, never across an await.
    inner: Mutex<Inner>,
    /// What goes to the ledger goes one after the other, so that its answers are learnt in order.
    wire: tokio::sync::Mutex<()>,
    /// Grows with every lease that ended.
    answered: watch::Sender<u64>,
    tasks: TaskTracker,
}

impl CallScheduler {
    pub(super) fn new(
        settings: SchedulerSettings,
        breaker: Breaker,
        ledger: Arc<dyn Ledger>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let inner = Inner {
            version: settings.identity.version(),
            identity: settings.identity.fingerprint().into(),
            breaker,
            block: None,
            owed: Owed::default(),
            leasing: false,
            pause: None,
            limited: None,
            reported: GateState::Ready,
        };
        Self {
            limiter: Limiter::new(settings.pace.window / settings.pace.calls.max(1)),
            settings,
            ledger,
            clock,
            observer,
            inner: Mutex::new(inner),
            wire: tokio::sync::Mutex::default(),
            answered: watch::Sender::new(0),
            tasks: TaskTracker::new(),
        }
    }

    pub(super) const fn settings(&self) -> &SchedulerSettings {
        &self.settings
    }

    /// The fingerprint of the key in force.
    pub(super) fn identity(&self) -> Arc<str> {
        Arc::clone(&self.lock().identity)
    }

    /// Waits for a slot; never past the deadline, nor longer than the longest wait.
    pub(super) async fn pass(self: &Arc<Self>, deadline: Instant) -> Result<Pass, AskError> {
        let deadline = deadline.min(Instant::now() + self.settings.max_wait);
        // Asked before the queue, so that an open provider costs no wait, and again at its head.
        if let Some(refusal) = self.refusal(deadline) {
            return Err(refusal);
        }
        let place = self.limiter.enter(deadline).await.map_err(|late| self.too_late(late, deadline))?;
        loop {
            match self.step(&place, deadline) {
                Step::Pass(pass) => return Ok(pass),
                Step::Refuse(refusal) => return Err(refusal),
                Step::Wait(until) => sleep_until(until).await,
                Step::Lease => self.lease(place.waiting(), deadline).await?,
            }
        }
    }

    fn too_late(&self, late: TooLate, deadline: Instant) -> AskError {
        self.refusal(deadline).unwrap_or_else(|| AskError::Busy { until: self.utc(Instant::now() + late.after) })
    }

    fn refusal(&self, deadline: Instant) -> Option<AskError> {
        let now = Instant::now();
        let inner = self.lock();
        if let Some(refusal) = inner.breaker.refusal(now) {
            return Some(self.refused(refusal, inner.breaker.reason()));
        }
        self.paused(inner.pause.as_ref()?, now, deadline)
    }

    fn paused(&self, pause: &Pause, now: Instant, deadline: Instant) -> Option<AskError> {
        match pause {
            // The schedule only ever moves on: who cannot wait that long need not ask.
            Pause::Rate { until } => (*until > deadline).then(|| AskError::Busy { until: self.utc(*until) }),
            Pause::Limited { limit, until } => (now < *until).then(|| limit_error(*limit)),
            Pause::Away { detail, until } => (now < *until).then(|| AskError::StoreAway { detail: detail.clone() }),
        }
    }

    fn step(&self, place: &Place<'_>, deadline: Instant) -> Step {
        let now = Instant::now();
        let mut inner = self.lock();
        if let Some(refusal) = inner.breaker.refusal(now) {
            inner.discard();
            return Step::Refuse(self.refused(refusal, inner.breaker.reason()));
        }
        // Slots that were leased before it opened are not for a probe.
        if inner.breaker.probe_is_due(now) && inner.block.as_ref().is_some_and(|block| !block.probe) {
            inner.discard();
        }
        self.drop_passed(&mut inner, now);
        let Some(at) = inner.block.as_ref().and_then(Block::head) else {
            let paused = inner.pause.as_ref().and_then(|pause| self.paused(pause, now, deadline));
            return paused.map_or(Step::Lease, Step::Refuse);
        };
        if at > deadline {
            return Step::Refuse(AskError::Busy { until: self.utc(at) });
        }
        if at > now {
            return Step::Wait(at);
        }
        if let Err(wait) = place.take() {
            let at = now + wait;
            return if at > deadline { Step::Refuse(AskError::Busy { until: self.utc(at) }) } else { Step::Wait(at) };
        }
        let Inner { identity, breaker, block, .. } = &mut *inner;
        match (breaker.admit(now), block.as_mut()) {
            (Ok(admission), Some(block)) => {
                block.take();
                Step::Pass(Pass { identity: Arc::clone(identity), admission, leased_for: block.leased_for() })
            }
            (Err(refusal), _) => Step::Refuse(self.refused(refusal, breaker.reason())),
            (Ok(_), None) => Step::Lease,
        }
    }

    fn drop_passed(&self, inner: &mut Inner, now: Instant) {
        let Inner { block: Some(block), owed, .. } = inner else { return };
        let lost = block.drop_passed(now);
        if lost > 0 {
            owed.slots(block.leased_for(), lost);
            self.observer.slots_lost(self.settings.name, lost);
        }
    }

    /// Takes over what the fleet knows of this provider, under that key.
    pub(super) fn learn(&self, identity: &str, shared: &SharedBreaker, received: Instant) {
        let mut inner = self.lock();
        if *inner.identity != *identity {
            return;
        }
        let learnt = inner.breaker.learn(shared, received, false);
        if learnt == Some(Learnt::Ready) {
            inner.pause = None;
        }
        self.report(inner, learnt);
    }

    /// Takes over how much of the limits is used, for a process that has not leased yet.
    pub(super) fn learn_use(&self, day: u64, month: u64, spent_usd: f64, day_ends: Instant, month_ends: Instant) {
        let SchedulerSettings { day_limit, month_limit, usd, cap_usd, .. } = self.settings;
        let reached = |limit: Option<u32>, used: u64| limit.is_some_and(|limit| used >= u64::from(limit));
        let limited = if reached(month_limit, month) {
            Some((Limit::Month, month_ends))
        } else if reached(day_limit, day) {
            Some((Limit::Day, day_ends))
        } else if usd > 0.0 && cap_usd.is_some_and(|cap| spent_usd + usd > cap + 1e-9) {
            Some((Limit::Cap, month_ends))
        } else {
            None
        };
        self.lock().limited = limited;
    }

    /// Reports the state where it changed without a call: by a new key, or by time.
    pub(super) fn report_state(&self) {
        self.report(self.lock(), None);
    }

    /// Logs and counts what was learnt, and reports the state where it changed.
    fn report(&self, mut inner: MutexGuard<'_, Inner>, learnt: Option<Learnt>) {
        let (state, until) = inner.breaker.state(Instant::now());
        let changed = inner.reported != state;
        inner.reported = state;
        let reason = inner.breaker.reason().map(str::to_owned);
        let provider = self.settings.name;
        if changed {
            // Under the lock: two changes at the same moment are reported in the order they were made.
            self.observer.circuit(provider, state.as_str());
        }
        drop(inner);
        match learnt {
            Some(Learnt::LeftAlone(kind)) => {
                self.observer.learnt(provider, kind.as_str());
                let until = until.map(|until| self.utc(until).to_rfc3339());
                tracing::info!(provider, state = kind.as_str(), until, reason, "another process paused it");
            }
            Some(Learnt::Ready) => {
                self.observer.learnt(provider, GateState::Ready.as_str());
                tracing::info!(provider, "another process asks it again");
            }
            None => {}
        }
    }

    /// Tells the breaker how a call ended. True when it opened because of it.
    pub(super) fn settle(&self, pass: &Pass, failure: Option<&AskError>) -> bool {
        let (now, utc) = (Instant::now(), self.clock.now());
        let mut inner = self.lock();
        let opened = match failure {
            // The key was changed meanwhile: what the old one met with says nothing of the new one.
            _ if inner.identity != pass.identity => false,
            None => {
                inner.breaker.succeeded(pass.admission);
                false
            }
            Some(error) => inner.breaker.failed(pass.admission, error, now, utc, rand::random()),
        };
        if failure.is_some_and(|error| !error.may_be_billed()) && self.settings.usd > 0.0 {
            inner.owed.unbilled(pass.leased_for);
        }
        if opened {
            inner.discard();
        }
        self.report(inner, None);
        opened
    }

    /// A call cost that much less than was set aside for it, or more where it is negative.
    pub(super) fn give_change(&self, pass: &Pass, usd: f64) {
        if usd != 0.0 {
            self.lock().owed.change(pass.leased_for, usd);
        }
    }

    /// The caller went away: the call may have been made, and billed.
    pub(super) fn abandon(&self, pass: &Pass) {
        let mut inner = self.lock();
        if inner.identity == pass.identity {
            inner.breaker.abandoned(pass.admission, Instant::now());
        }
    }

    /// The state, until when, and why.
    pub(super) fn state(&self) -> (GateState, Option<DateTime<Utc>>, Option<String>) {
        let now = Instant::now();
        let inner = self.lock();
        let (state, until) = inner.breaker.state(now);
        if state != GateState::Ready {
            return (state, until.map(|until| self.utc(until)), inner.breaker.reason().map(str::to_owned));
        }
        match inner.limited {
            Some((limit, ends)) if now < ends => {
                (GateState::Exhausted, Some(self.utc(ends)), Some(limit_error(limit).to_string()))
            }
            _ => (GateState::Ready, None, None),
        }
    }

    /// When a breaker that is open now lets a probe through.
    pub(super) fn open_until(&self, now: Instant) -> Option<Instant> {
        self.lock().breaker.refusal(now).map(|refusal| refusal.until)
    }

    fn refused(&self, refusal: Refusal, reason: Option<&str>) -> AskError {
        let until = self.utc(refusal.until);
        match refusal.kind {
            GateState::Disabled => AskError::Disabled { detail: reason.unwrap_or("it refused us before").to_owned() },
            GateState::Exhausted => AskError::QuotaGone { until: Some(until) },
            _ => AskError::Open { until },
        }
    }

    fn utc(&self, moment: Instant) -> DateTime<Utc> {
        let utc = self.clock.now();
        let ahead = chrono::Duration::from_std(moment.saturating_duration_since(Instant::now())).unwrap_or_default();
        // Whole seconds, for people and for retries, and never an earlier one: who comes back then is let through.
        let moment = utc.checked_add_signed(ahead).unwrap_or(utc);
        let second = moment.trunc_subsecs(0);
        if second < moment { second + TimeDelta::seconds(1) } else { second }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic between two statements leaves numbers, not broken invariants.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // Each look uses the current key, so that a change needs no notification.
        let version = self.settings.identity.version();
        if inner.version != version {
            inner.rekeyed(version, self.settings.identity.fingerprint());
        }
        inner
    }
}

impl Inner {
    /// The key was changed: what the old one met with is forgotten, and the provider is asked again.
    fn rekeyed(&mut self, version: u64, identity: String) {
        self.version = version;
        if *self.identity == *identity {
            return;
        }
        self.identity = identity.into();
        self.breaker = self.breaker.anew();
        // Slots belong to the provider, whatever the key; but a block that was given for a probe is one call.
        self.discard();
    }

    /// The leased slots are of no use any more.
    fn discard(&mut self) {
        let Some(mut block) = self.block.take() else { return };
        self.owed.slots(block.leased_for(), block.rest());
    }
}

const fn limit_error(limit: Limit) -> AskError {
    match limit {
        Limit::Day => AskError::DailyLimit,
        Limit::Month => AskError::MonthlyLimit,
        Limit::Cap => AskError::Budget,
    }
}

//! Schedules the calls to one provider: the fleet's permits, this process's spacing, and the breaker, in one queue.
//!
//! Permits are leased in blocks, one round trip to the ledger each. Only the queue's head leases, so that one request
//! to the ledger is in progress. A lease runs on its own task: if its caller leaves, the next caller uses the permits.
//! `exchange` talks to the ledger. Nothing waits past the caller's deadline.

mod exchange;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::block::{Block, PendingRefunds};
use super::breaker::{Admission, Breaker, BreakerChange, Refusal};
use super::error::AskError;
use super::identity::Identity;
use super::ledger::{Ledger, Limit, Pace, SharedBreaker};
use super::limiter::{Limiter, QueueHead, TooLate};
use super::observer::Observer;
use super::terms::GateState;
use crate::domain::Clock;

/// Minimum time between ledger requests after a reached limit or a failure.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(super) struct SchedulerSettings {
    pub(super) name: &'static str,
    /// See [`super::ledger::LeaseTerms::provider`].
    pub(super) account: Arc<str>,
    pub(super) identity: Identity,
    pub(super) pace: Pace,
    pub(super) max_wait: Duration,
    pub(super) day_limit: Option<u32>,
    pub(super) month_limit: Option<u32>,
    /// US dollars a permit.
    pub(super) usd: f64,
    pub(super) cap_usd: Option<f64>,
    pub(super) probe_time: Duration,
}

#[derive(Debug, Clone)]
enum Pause {
    /// The time of the fleet's next permit.
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
    identity: Arc<str>,
    version: u64,
    breaker: Breaker,
    block: Option<Block>,
    owed: PendingRefunds,
    leasing: bool,
    pause: Option<Pause>,
    /// The reached limit and its end, for display.
    limited: Option<(Limit, Instant)>,
    /// The last reported state, so that each change is reported once.
    reported: GateState,
}

#[derive(Debug)]
pub(super) struct CallPermit {
    identity: Arc<str>,
    admission: Admission,
    leased_for: DateTime<Utc>,
}

impl CallPermit {
    /// Whether this call is the probe of an open breaker.
    pub(super) const fn is_probe(&self) -> bool {
        self.admission.probe
    }
}

enum Step {
    CallPermit(CallPermit),
    Refuse(AskError),
    Wait(Instant),
    Lease,
}

#[derive(Debug)]
pub(super) struct CallScheduler {
    settings: SchedulerSettings,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    limiter: Limiter,
    /// Never held across an await.
    inner: Mutex<Inner>,
    /// Serialises ledger requests, so that responses apply in order.
    wire: tokio::sync::Mutex<()>,
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
            owed: PendingRefunds::default(),
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

    pub(super) fn identity(&self) -> Arc<str> {
        Arc::clone(&self.lock().identity)
    }

    /// Waits for a permit, at most until the deadline and for `max_wait`.
    pub(super) async fn pass(self: &Arc<Self>, deadline: Instant) -> Result<CallPermit, AskError> {
        let deadline = deadline.min(Instant::now() + self.settings.max_wait);
        // Also checked here, so that an open breaker costs no wait.
        if let Some(refusal) = self.refusal(deadline) {
            return Err(refusal);
        }
        let head = self.limiter.enter(deadline).await.map_err(|late| self.too_late(late, deadline))?;
        loop {
            match self.step(&head, deadline) {
                Step::CallPermit(pass) => return Ok(pass),
                Step::Refuse(refusal) => return Err(refusal),
                Step::Wait(until) => sleep_until(until).await,
                Step::Lease => self.lease(head.waiting(), deadline).await?,
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
            // The schedule only moves forward, so an earlier deadline cannot be met.
            Pause::Rate { until } => (*until > deadline).then(|| AskError::Busy { until: self.utc(*until) }),
            Pause::Limited { limit, until } => (now < *until).then(|| limit_error(*limit)),
            Pause::Away { detail, until } => (now < *until).then(|| AskError::StoreAway { detail: detail.clone() }),
        }
    }

    fn step(&self, head: &QueueHead<'_>, deadline: Instant) -> Step {
        let now = Instant::now();
        let mut inner = self.lock();
        if let Some(refusal) = inner.breaker.refusal(now) {
            inner.discard();
            return Step::Refuse(self.refused(refusal, inner.breaker.reason()));
        }
        // Permits from before the opening are not for a probe.
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
        if let Err(wait) = head.take() {
            let at = now + wait;
            return if at > deadline { Step::Refuse(AskError::Busy { until: self.utc(at) }) } else { Step::Wait(at) };
        }
        let Inner { identity, breaker, block, .. } = &mut *inner;
        match (breaker.admit(now), block.as_mut()) {
            (Ok(admission), Some(block)) => {
                block.take();
                Step::CallPermit(CallPermit {
                    identity: Arc::clone(identity),
                    admission,
                    leased_for: block.leased_for(),
                })
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

    pub(super) fn learn(&self, identity: &str, shared: &SharedBreaker, received: Instant) {
        let mut inner = self.lock();
        if *inner.identity != *identity {
            return;
        }
        let learnt = inner.breaker.learn(shared, received, false);
        if learnt == Some(BreakerChange::Ready) {
            inner.pause = None;
        }
        self.report(inner, learnt);
    }

    /// Applies the used share of the limits, for a process that has not leased yet.
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

    /// Reports a state change without a call: a new key, or the passing of time.
    pub(super) fn report_state(&self) {
        self.report(self.lock(), None);
    }

    /// Logs and counts another process's change, and reports a changed state.
    fn report(&self, mut inner: MutexGuard<'_, Inner>, learnt: Option<BreakerChange>) {
        let (state, until) = inner.breaker.state(Instant::now());
        let changed = inner.reported != state;
        inner.reported = state;
        let reason = inner.breaker.reason().map(str::to_owned);
        let provider = self.settings.name;
        if changed {
            // Under the lock, so that simultaneous changes are reported in order.
            self.observer.circuit(provider, state.as_str());
        }
        drop(inner);
        match learnt {
            Some(BreakerChange::LeftAlone(kind)) => {
                self.observer.learnt(provider, kind.as_str());
                let until = until.map(|until| self.utc(until).to_rfc3339());
                tracing::info!(provider, state = kind.as_str(), until, reason, "circuit opened by another process");
            }
            Some(BreakerChange::Ready) => {
                self.observer.learnt(provider, GateState::Ready.as_str());
                tracing::info!(provider, "circuit closed by another process");
            }
            None => {}
        }
    }

    /// Reports a call's end to the breaker. Returns whether the breaker opened because of it.
    pub(super) fn settle(&self, pass: &CallPermit, failure: Option<&AskError>) -> bool {
        let (now, utc) = (Instant::now(), self.clock.now());
        let mut inner = self.lock();
        let opened = match failure {
            // The old key's failure does not count for the new one.
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

    /// Refunds what was reserved and not spent; negative if more was spent.
    pub(super) fn give_change(&self, pass: &CallPermit, usd: f64) {
        if usd != 0.0 {
            self.lock().owed.change(pass.leased_for, usd);
        }
    }

    /// Records that the caller left. The call may have been made and billed.
    pub(super) fn abandon(&self, pass: &CallPermit) {
        let mut inner = self.lock();
        if inner.identity == pass.identity {
            inner.breaker.abandoned(pass.admission, Instant::now());
        }
    }

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
        // Rounded up to seconds: a caller that returns then is admitted.
        let moment = utc.checked_add_signed(ahead).unwrap_or(utc);
        let second = moment.trunc_subsecs(0);
        if second < moment { second + TimeDelta::seconds(1) } else { second }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic leaves plain numbers, no broken invariant.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // A key change needs no notification.
        let version = self.settings.identity.version();
        if inner.version != version {
            inner.rekeyed(version, self.settings.identity.fingerprint());
        }
        inner
    }
}

impl Inner {
    /// Resets the breaker after a key change, so that the provider is called again.
    fn rekeyed(&mut self, version: u64, identity: String) {
        self.version = version;
        if *self.identity == *identity {
            return;
        }
        self.identity = identity.into();
        self.breaker = self.breaker.for_new_key();
        // Permits belong to the provider, but a probe's block is one call.
        self.discard();
    }

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

//! Decides when a provider may be called: rate, quotas, money and circuit breaker in one place.
//!
//! The way of a call:
//!
//! 1. What this process knows refuses it at once: an open breaker, a reached limit, a store that just failed.
//! 2. [`Limiter`] lets one caller at a time through, at the provider's rate.
//! 3. [`Store::take_call`] takes the call for the fleet, in one statement. If other processes used the rate, the caller
//!    waits and tries again. Nothing is reserved for later, so a caller that leaves costs nothing.
//! 4. The [`CallPermit`] comes back with the outcome. [`Store::end_call`] records it if it changes something: the breaker,
//!    or money that was not billed. Most calls need no second statement.
//!
//! A permit counts when it is taken, before its call, so a killed process loses a call and exceeds no limit. While the
//! store is away no call is made: the error is [`AskError::StoreAway`], and the next attempt follows a second later.
//!
//! Without a store (model servers, `eval`, local folders), steps 1 and 2 are all. The breaker, the limit per day and the
//! cap then belong to this gate and end with the process.
//!
//! [`BreakerSync`] applies the state of the fleet, which a job reads each second, so that step 1 knows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, NaiveDate, SubsecRound as _, TimeDelta, Utc};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::task::TaskTracker;

use super::breaker::{Admission, Breaker};
use super::error::AskError;
use super::gate::GateSettings;
use super::identity::Identity;
use super::limiter::Limiter;
use super::observer::Observer;
use crate::domain::Clock;
use crate::store::{
    CallDecision, CallEnd, CallOutcome, CallSnapshot, CallTerms, GateState, Limit, SharedBreaker, Store,
};

/// How long the store counts as unavailable after a failure. Bounds the calls that wait for it.
const STORE_REST: Duration = Duration::from_secs(1);
/// How long a caller waits for the store. A slower one counts as unavailable.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause before another attempt while this process writes a change of the breaker.
const UNWRITTEN_PAUSE: Duration = Duration::from_millis(20);
/// Pauses before the attempts to write a change of the breaker.
const WRITE_PAUSES: [Duration; 5] =
    [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(10)];
/// Tolerance for rounding in a sum of prices. The lowest price is some millionths.
const ROUNDING_USD: f64 = 1e-9;

/// The times of calls.
///
/// Guarantee: at most `calls` requests reach the provider within any `window`, for any interleaving of processes. The
/// store accepts a call that is late by a quarter of `grace` without a delay of the next one. A permit is used within the
/// rest after it was taken, and its request travels for at most `margin`. So of `calls + 1` successive requests, the last
/// arrives at least `calls * period - grace - margin` = `window` after the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub window: Duration,
    pub calls: u32,
    pub grace: Duration,
    pub margin: Duration,
}

impl Pace {
    /// At most `calls` in any sliding minute; 0 counts as 1. The guarantee costs 3 % of the rate.
    pub const fn per_minute(calls: u32) -> Self {
        Self { window: Duration::from_mins(1), calls, grace: Duration::from_secs(1), margin: Duration::from_secs(1) }
    }

    pub fn period(&self) -> Duration {
        (self.window + self.grace + self.margin) / self.calls.max(1)
    }
}

/// What a gate shares with other processes, and the limits that need that.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    /// `None`: the limits of this process.
    pub store: Option<Store>,
    /// One of a provider's endpoints, with its own rate, limits and breaker; `None` if there is one. Metrics and
    /// results name the provider only.
    pub part: Option<String>,
    /// Key and address that the breaker belongs to.
    pub identity: Identity,
    /// Calls per UTC month.
    pub monthly_limit: Option<u32>,
    /// Monthly limit for all providers together, US dollars.
    pub monthly_cap_usd: Option<f64>,
    /// `None`: the settings' rate per minute.
    pub pace: Option<Pace>,
}

/// Calls of this process, per UTC day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DayUsage {
    day: NaiveDate,
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) usd: f64,
}

#[derive(Debug)]
struct Inner {
    identity: Arc<str>,
    key_version: u64,
    breaker: Breaker,
    /// The reached limit and its end.
    limited: Option<(Limit, Instant)>,
    /// Why the store is unavailable, and until when it is not asked.
    away: Option<(String, Instant)>,
    today: DayUsage,
    /// Reserved and billed cost since the start, US dollars.
    spent_usd: f64,
    /// Changes of the breaker that the store does not have yet.
    unwritten: u32,
    /// The last reported state, so that each change is reported once.
    reported: GateState,
}

/// A call that was taken. A drop before [`CallPermit::sent`] returns it. A drop afterwards means that the caller left:
/// another probe may start, but the call may still be billed.
#[derive(Debug)]
pub(super) struct CallPermit {
    control: Arc<CallControl>,
    identity: Arc<str>,
    admission: Admission,
    taken_at: DateTime<Utc>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Taken,
    Sent,
    Ended,
}

/// The result of one attempt to take a call.
enum Attempt {
    Taken(CallPermit),
    /// The wait before the next attempt.
    Later(Duration),
}

#[derive(Debug)]
pub(super) struct CallControl {
    name: &'static str,
    max_wait: Duration,
    /// As the store receives them. The identity is that of the start; [`Inner`] has the present one.
    terms: CallTerms,
    /// Maximum age of a permit when it is used.
    fresh_for: Duration,
    identity: Identity,
    store: Option<Store>,
    limiter: Limiter,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    /// Never held across an await.
    inner: Mutex<Inner>,
    tasks: TaskTracker,
}

impl CallControl {
    pub(super) fn new(
        settings: &GateSettings,
        fleet: Fleet,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Arc<Self> {
        let pace = fleet.pace.unwrap_or_else(|| Pace::per_minute(settings.rpm));
        let name = settings.name;
        let identity: Arc<str> = fleet.identity.fingerprint().into();
        // Its wait for the answer, and its end.
        let probe_time = settings.timeout + Duration::from_secs(2);
        let inner = Inner {
            identity: Arc::clone(&identity),
            key_version: fleet.identity.version(),
            breaker: Breaker::new(settings.cooldown, settings.failures_to_open, probe_time),
            limited: None,
            away: None,
            today: DayUsage::of(clock.now().date_naive()),
            spent_usd: 0.0,
            unwritten: 0,
            reported: GateState::Ready,
        };
        observer.circuit(name, GateState::Ready.as_str());
        Arc::new(Self {
            name,
            max_wait: settings.max_wait,
            terms: CallTerms {
                provider: fleet.part.map_or_else(|| Arc::from(name), |part| format!("{name}:{part}").into()),
                identity,
                period: pace.period(),
                tolerance: pace.grace / 4,
                probe_time,
                day_limit: settings.daily_limit,
                month_limit: fleet.monthly_limit,
                usd: settings.cost_usd,
                cap_usd: fleet.monthly_cap_usd,
            },
            fresh_for: pace.grace * 3 / 4,
            identity: fleet.identity,
            store: fleet.store,
            limiter: Limiter::new(pace.period()),
            clock,
            observer,
            inner: Mutex::new(inner),
            tasks: TaskTracker::new(),
        })
    }

    /// Waits for a permit, at most until the deadline and for `max_wait`.
    pub(super) async fn permit(self: &Arc<Self>, deadline: Instant) -> Result<CallPermit, AskError> {
        let deadline = deadline.min(Instant::now() + self.max_wait);
        let busy = |wait: Duration| AskError::Busy { until: self.utc(Instant::now() + wait) };
        // Also before the wait, so that an open breaker costs none.
        self.check()?;
        let head =
            self.limiter.enter(deadline).await.map_err(|wait| self.check().err().unwrap_or_else(|| busy(wait)))?;
        let mut is_paced = false;
        loop {
            self.check()?;
            let attempt = if !is_paced && let Err(wait) = head.take() {
                Attempt::Later(wait)
            } else {
                is_paced = true;
                match &self.store {
                    Some(store) => self.take(store, deadline).await?,
                    None => self.admit(&mut self.lock(), self.clock.now()),
                }
            };
            let wait = match attempt {
                Attempt::Taken(permit) => return Ok(permit),
                Attempt::Later(wait) => wait,
            };
            if Instant::now() + wait > deadline {
                return Err(busy(wait));
            }
            sleep(wait).await;
        }
    }

    /// Takes a call from the store. The statement has its own task: if the caller leaves, the permit is dropped, which
    /// returns it.
    async fn take(self: &Arc<Self>, store: &Store, deadline: Instant) -> Result<Attempt, AskError> {
        let (asked, is_embedded) = (Instant::now(), store.is_embedded());
        let (this, store) = (Arc::clone(self), store.clone());
        let taking = self.tasks.spawn(async move { this.take_from(&store).await });
        // The one connection of the embedded store may be busy for long.
        let until = if is_embedded { deadline } else { deadline.min(asked + STORE_TIMEOUT) };
        match timeout_at(until, taking).await {
            Ok(taken) => taken.unwrap_or_else(|panic| Err(self.store_away(panic.to_string()))),
            Err(_elapsed) if is_embedded || asked.elapsed() < STORE_REST => Err(AskError::Deadline),
            Err(_elapsed) => Err(self.store_away("it did not answer in time".to_owned())),
        }
    }

    async fn take_from(self: &Arc<Self>, store: &Store) -> Result<Attempt, AskError> {
        let (identity, generation) = {
            let inner = self.lock();
            (Arc::clone(&inner.identity), inner.breaker.generation())
        };
        let terms = CallTerms { identity: Arc::clone(&identity), ..self.terms.clone() };
        let answer = store.take_call(&terms).await.map_err(|error| self.store_away(error.to_string()))?;
        let now = Instant::now();
        let mut inner = self.lock();
        (inner.away, inner.limited) = (None, None);
        // A change here during the statement is newer than the answer. The caller checks it again.
        let is_current = inner.identity == identity && inner.breaker.generation() == generation;
        let may_learn = is_current && inner.unwritten == 0;
        if may_learn {
            let learnt = inner.breaker.learn(&answer.breaker, now, true);
            self.report(&mut inner, learnt);
        }
        match answer.decision {
            CallDecision::Taken { at, probe } => {
                if is_current
                    && now <= answer.asked + self.fresh_for
                    && let Attempt::Taken(permit) = self.admit(&mut inner, at)
                {
                    return Ok(Attempt::Taken(permit));
                }
                // The rate is lost, the rest is returned.
                let outcome = probe.then_some(CallOutcome::Unknown);
                let (version, refund_usd) = (answer.breaker.version, self.terms.usd);
                drop(inner);
                self.record(identity, CallEnd { taken_at: at, version, unused: true, refund_usd, outcome });
                Ok(Attempt::Later(Duration::ZERO))
            }
            CallDecision::Later(wait) => Ok(Attempt::Later(wait)),
            // The breaker here refuses the next attempt, or it closed and the store does not know that yet.
            CallDecision::Refused => Ok(Attempt::Later(if may_learn { Duration::ZERO } else { UNWRITTEN_PAUSE })),
            CallDecision::Limited(limit, ends_in) => {
                inner.limited = Some((limit, now + ends_in));
                Err(limit_error(limit))
            }
        }
    }

    fn admit(self: &Arc<Self>, inner: &mut Inner, taken_at: DateTime<Utc>) -> Attempt {
        // A refusal is the caller's next check.
        let Ok(admission) = inner.breaker.admit(Instant::now()) else { return Attempt::Later(Duration::ZERO) };
        inner.today.calls += 1;
        inner.spent_usd += self.terms.usd;
        let identity = Arc::clone(&inner.identity);
        Attempt::Taken(CallPermit { control: Arc::clone(self), identity, admission, taken_at, stage: Stage::Taken })
    }

    /// Returns the error of a call that is refused without a request to the store.
    fn check(&self) -> Result<(), AskError> {
        let now = Instant::now();
        let inner = self.lock();
        if let Some(refusal) = inner.breaker.refusal(now) {
            let until = self.utc(refusal.until);
            return Err(match refusal.state {
                GateState::Disabled => {
                    let detail = inner.breaker.reason().unwrap_or("it refused us before").to_owned();
                    AskError::Disabled { detail }
                }
                GateState::Exhausted => AskError::QuotaGone { until: Some(until) },
                GateState::Open | GateState::Ready => AskError::Open { until },
            });
        }
        if let Some((detail, until)) = &inner.away
            && now < *until
        {
            return Err(AskError::StoreAway { detail: detail.clone() });
        }
        self.limit(&inner).map_or(Ok(()), |(limit, _ends)| Err(limit_error(limit)))
    }

    /// Returns the reached limit and its end.
    fn limit(&self, inner: &Inner) -> Option<(Limit, Option<DateTime<Utc>>)> {
        if self.store.is_some() {
            let (limit, ends) = inner.limited.filter(|(_, ends)| Instant::now() < *ends)?;
            return Some((limit, Some(self.utc(ends))));
        }
        let CallTerms { day_limit, usd, cap_usd, .. } = self.terms;
        if day_limit.is_some_and(|limit| inner.today.calls >= u64::from(limit)) {
            let tomorrow = inner.today.day.succ_opt().map(|day| day.and_time(chrono::NaiveTime::MIN).and_utc());
            return Some((Limit::Day, tomorrow));
        }
        let is_over = usd > 0.0 && cap_usd.is_some_and(|cap| inner.spent_usd + usd > cap + ROUNDING_USD);
        is_over.then_some((Limit::Cap, None))
    }

    fn store_away(&self, detail: String) -> AskError {
        tracing::debug!(provider = self.name, error = detail, "taking a call from the store failed");
        self.lock().away = Some((detail.clone(), Instant::now() + STORE_REST));
        AskError::StoreAway { detail }
    }

    /// Reports a call's end to the breaker, and its cost. Returns whether the breaker opened because of it.
    fn end(self: &Arc<Self>, permit: &CallPermit, failure: Option<&AskError>, billed_usd: f64) -> bool {
        let mut inner = self.lock();
        inner.today.errors += u64::from(failure.is_some());
        inner.today.usd += billed_usd;
        let generation = inner.breaker.generation();
        let (now, utc) = (Instant::now(), self.clock.now());
        let outcome = match failure {
            // The old key's failure does not count for the new one.
            _ if inner.identity != permit.identity => None,
            None => inner.breaker.succeeded(permit.admission),
            Some(error) => inner.breaker.failed(permit.admission, error, now, utc, rand::random()),
        };
        let opened = matches!(outcome, Some(CallOutcome::Opened { .. })) && inner.breaker.generation() != generation;
        self.finish(inner, permit, self.terms.usd - billed_usd, outcome);
        opened
    }

    /// Records that the caller left.
    fn abandon(self: &Arc<Self>, permit: &CallPermit) {
        let mut inner = self.lock();
        let is_current = inner.identity == permit.identity;
        let outcome = if is_current { inner.breaker.abandoned(permit.admission, Instant::now()) } else { None };
        let refund_usd = match permit.stage {
            Stage::Taken => {
                inner.today.calls = inner.today.calls.saturating_sub(1);
                self.terms.usd
            }
            Stage::Sent | Stage::Ended => {
                inner.today.usd += self.terms.usd;
                0.0
            }
        };
        self.finish(inner, permit, refund_usd, outcome);
    }

    fn finish(
        self: &Arc<Self>,
        mut inner: MutexGuard<'_, Inner>,
        permit: &CallPermit,
        refund_usd: f64,
        outcome: Option<CallOutcome>,
    ) {
        inner.spent_usd -= refund_usd;
        self.report(&mut inner, None);
        drop(inner);
        let (taken_at, version) = (permit.taken_at, permit.admission.version);
        let unused = permit.stage == Stage::Taken;
        self.record(Arc::clone(&permit.identity), CallEnd { taken_at, version, unused, refund_usd, outcome });
    }

    /// Writes the end of a call in the background, if it changes something. A change of the breaker is tried again; a
    /// refund is not, so that it is never paid twice.
    fn record(self: &Arc<Self>, identity: Arc<str>, end: CallEnd) {
        let Some(store) = self.store.clone() else { return };
        if !end.unused && end.refund_usd == 0.0 && end.outcome.is_none() {
            return;
        }
        // Without a runtime the process ends.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let this = Arc::clone(self);
        let changes = u32::from(end.outcome.is_some());
        this.lock().unwritten += changes;
        let writing = async move {
            let written = this.write(&store, &identity, end).await;
            this.lock().unwritten -= changes;
            if let Some(shared) = written {
                this.learn(&identity, &shared, Instant::now());
            }
        };
        self.tasks.spawn_on(writing, &runtime);
    }

    async fn write(&self, store: &Store, identity: &str, mut end: CallEnd) -> Option<SharedBreaker> {
        let begun = Instant::now();
        for pause in WRITE_PAUSES {
            sleep(pause).await;
            let mut now = end.clone();
            if let Some(CallOutcome::Opened { wait, .. }) = &mut now.outcome {
                *wait = wait.saturating_sub(begun.elapsed());
            }
            match store.end_call(&self.terms.provider, identity, &now).await {
                Ok(shared) => return Some(shared),
                Err(error) => {
                    tracing::debug!(provider = self.name, %error, "recording the end of a provider call failed");
                }
            }
            if end.outcome.is_none() {
                break;
            }
            (end.unused, end.refund_usd) = (false, 0.0);
        }
        None
    }

    fn learn(&self, identity: &str, shared: &SharedBreaker, received: Instant) {
        let mut inner = self.lock();
        if *inner.identity == *identity {
            let learnt = inner.breaker.learn(shared, received, false);
            self.report(&mut inner, learnt);
        }
    }

    /// Reports a changed state, and logs `learnt`, which another process caused.
    fn report(&self, inner: &mut Inner, learnt: Option<GateState>) {
        let provider = self.name;
        let (state, until) = inner.breaker.state(Instant::now());
        if std::mem::replace(&mut inner.reported, state) != state {
            // Under the lock, so that simultaneous changes are reported in order.
            self.observer.circuit(provider, state.as_str());
        }
        match learnt {
            Some(GateState::Ready) => tracing::info!(provider, "circuit closed by another process"),
            Some(state) => {
                let until = until.map(|until| self.utc(until).to_rfc3339());
                let reason = inner.breaker.reason();
                tracing::info!(provider, state = state.as_str(), until, reason, "circuit opened by another process");
            }
            None => {}
        }
    }

    /// Counts a call that needs no permit: a recording.
    pub(super) fn count_recorded(&self, failed: bool) {
        let mut inner = self.lock();
        inner.today.calls += 1;
        inner.today.errors += u64::from(failed);
    }

    pub(super) fn today(&self) -> DayUsage {
        self.lock().today
    }

    pub(super) fn state(&self) -> (GateState, Option<DateTime<Utc>>, Option<String>) {
        let inner = self.lock();
        let (state, until) = inner.breaker.state(Instant::now());
        if state != GateState::Ready {
            return (state, until.map(|until| self.utc(until)), inner.breaker.reason().map(str::to_owned));
        }
        match self.limit(&inner) {
            Some((limit, ends)) => (GateState::Exhausted, ends, Some(limit_error(limit).to_string())),
            None => (GateState::Ready, None, None),
        }
    }

    pub(super) fn open_until(&self, now: Instant) -> Option<Instant> {
        self.lock().breaker.refusal(now).map(|refusal| refusal.until)
    }

    fn utc(&self, moment: Instant) -> DateTime<Utc> {
        let utc = self.clock.now();
        let ahead = TimeDelta::from_std(moment.saturating_duration_since(Instant::now())).unwrap_or_default();
        // Rounded up to seconds: a caller that returns then is admitted.
        let moment = utc.checked_add_signed(ahead).unwrap_or(utc);
        let second = moment.trunc_subsecs(0);
        if second < moment { second + TimeDelta::seconds(1) } else { second }
    }

    /// Locks the state after a change of the key or the day.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic leaves plain numbers, no broken invariant.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let key_version = self.identity.version();
        if inner.key_version != key_version {
            inner.key_version = key_version;
            let identity = self.identity.fingerprint();
            if *inner.identity != *identity {
                inner.identity = identity.into();
                inner.breaker = inner.breaker.for_new_key();
            }
        }
        let day = self.clock.now().date_naive();
        // If the clock was set back, the later day stays.
        if day > inner.today.day {
            inner.today = DayUsage::of(day);
        }
        inner
    }
}

impl DayUsage {
    const fn of(day: NaiveDate) -> Self {
        Self { day, calls: 0, errors: 0, usd: 0.0 }
    }
}

impl CallPermit {
    pub(super) fn sent(&mut self) {
        self.stage = Stage::Sent;
    }

    /// Reports the call's outcome and cost. Returns whether the breaker opened because of it.
    pub(super) fn end(mut self, failure: Option<&AskError>, billed_usd: f64) -> bool {
        self.stage = Stage::Ended;
        self.control.end(&self, failure, billed_usd)
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let usd = self.control.terms.usd;
        if self.stage == Stage::Sent && usd > 0.0 {
            self.control.observer.cost(self.control.name, usd);
        }
        if self.stage != Stage::Ended {
            self.control.abandon(self);
        }
    }
}

const fn limit_error(limit: Limit) -> AskError {
    match limit {
        Limit::Day => AskError::DailyLimit,
        Limit::Month => AskError::MonthlyLimit,
        Limit::Cap => AskError::Budget,
    }
}

/// Applies the state of the fleet to one gate. One job reads the snapshot for all gates.
#[derive(Debug, Clone)]
pub struct BreakerSync {
    control: Arc<CallControl>,
}

impl BreakerSync {
    pub(super) fn of(control: &Arc<CallControl>) -> Self {
        Self { control: Arc::clone(control) }
    }

    /// Applies other processes' changes, and the used share of the limits.
    pub fn learn(&self, snapshot: &CallSnapshot, received: Instant) {
        let terms = &self.control.terms;
        let known = snapshot.providers.iter().find(|known| *known.provider == *terms.provider);
        if let Some(known) = known {
            self.control.learn(&known.identity, &known.breaker, received);
        }
        let (day, month) = known.map_or((0, 0), |known| (known.day, known.month));
        let reached = |limit: Option<u32>, used: u64| limit.is_some_and(|limit| used >= u64::from(limit));
        let limit = if reached(terms.day_limit, day) {
            Some((Limit::Day, snapshot.day_ends_in))
        } else if reached(terms.month_limit, month) {
            Some((Limit::Month, snapshot.month_ends_in))
        } else if terms.usd > 0.0
            && terms.cap_usd.is_some_and(|cap| snapshot.spent_usd + terms.usd > cap + ROUNDING_USD)
        {
            Some((Limit::Cap, snapshot.month_ends_in))
        } else {
            None
        };
        let mut inner = self.control.lock();
        inner.limited = limit.map(|(limit, ends_in)| (limit, received + ends_in));
        // A new key or the passing of time may have changed it.
        self.control.report(&mut inner, None);
    }

    /// Waits until the ends of all calls are recorded.
    pub async fn settle(&self) {
        self.control.tasks.close();
        self.control.tasks.wait().await;
        self.control.tasks.reopen();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sliding_minute_holds_no_more_than_the_rate_however_late_calls_are() {
        for calls in [1, 6, 60, 600, 60_000, 1_000_000] {
            let pace = Pace::per_minute(calls);
            let span = pace.period() * calls;
            // The first as late as possible, the last as early as possible.
            let apart = span.saturating_sub(pace.grace + pace.margin);
            assert!(apart + Duration::from_millis(2) >= pace.window, "{calls}: {apart:?}");
            assert!(span <= Duration::from_secs(62), "{calls}: nine tenths of the rate and more are left");
        }
        assert_eq!(Pace::per_minute(0).period(), Pace::per_minute(1).period());
    }
}

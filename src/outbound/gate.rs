//! The one way to ask a provider: limited, guarded by a breaker, retried within the caller's deadline, accounted for.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::backoff_delays::Delays;
use super::breaker::{Admission, Breaker, Refusal};
use super::client::{ApiRequest, ApiResponse, HttpClient};
use super::error::AskError;
use super::limiter::Limiter;
use super::observer::Observer;
use super::spend::{Asker, Spend};
use crate::domain::Clock;

/// The longest wait a provider may name that a call sits out itself. Longer ones are left to later items.
const LONGEST_SAT_OUT: Duration = Duration::from_secs(10);
/// A body that cannot be read is asked for once more, not to the limit: it is more often the provider than the line.
const MALFORMED_ATTEMPTS: u32 = 2;

/// How a provider may be asked.
#[derive(Debug, Clone)]
pub struct GateSettings {
    /// The provider's name, as in metrics and results.
    pub name: &'static str,
    /// Calls a minute, spaced evenly.
    pub rpm: u32,
    /// The longest an attempt waits for its turn under that rate; a longer queue makes the provider one that cannot be
    /// asked now, so that waiting does not eat the caller's whole time.
    pub max_wait: Duration,
    /// For one attempt, from connecting to the last byte.
    pub timeout: Duration,
    /// Of a body, after decompression.
    pub max_bytes: usize,
    /// Attempts in all for one question, at least 1.
    pub max_attempts: u32,
    /// How long the provider is left alone when it does not say itself.
    pub cooldown: Duration,
    /// Failures in a row that open the breaker.
    pub failures_to_open: u32,
    /// Attempts per UTC day.
    pub daily_limit: Option<u32>,
    /// US dollars per call.
    pub cost_usd: f64,
}

/// What a provider is to us right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    Ready,
    Open,
    Exhausted,
    Disabled,
}

impl GateState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Open => "open",
            Self::Exhausted => "exhausted",
            Self::Disabled => "disabled",
        }
    }
}

/// A gate's state, to be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateStatus {
    pub name: &'static str,
    pub state: GateState,
    /// When it is asked again; none while ready, and none when it is disabled for good.
    pub until: Option<DateTime<Utc>>,
    /// Why it is not ready, in words for a person.
    pub reason: Option<String>,
    /// Calls a minute it may get.
    pub rpm: u32,
    pub calls_today: u64,
    pub errors_today: u64,
    pub usd_today: f64,
}

/// The day's account, UTC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DayUsage {
    pub day: NaiveDate,
    pub calls: u64,
    pub errors: u64,
    pub usd: f64,
}

impl DayUsage {
    const fn of(day: NaiveDate) -> Self {
        Self { day, calls: 0, errors: 0, usd: 0.0 }
    }
}

#[derive(Debug)]
struct Inner {
    breaker: Breaker,
    today: DayUsage,
    /// The state last reported, so that each change is reported once.
    reported: GateState,
    /// The error that opened the breaker last.
    reason: Option<String>,
}

/// Guards one provider (with one key). Share it, do not build two.
pub struct Gate {
    settings: GateSettings,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    limiter: Limiter,
    /// Asked before each attempt that costs.
    purse: Option<Arc<dyn Spend>>,
    /// Held for single statements, never across an await.
    inner: Mutex<Inner>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A call that was let through and paid for. Dropped without an outcome (the caller went away), it frees a probe's place;
/// the call may be billed all the same.
struct Permit<'a> {
    gate: &'a Gate,
    admission: Option<Admission>,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let Some(admission) = self.admission.take() else { return };
        let usd = self.gate.settings.cost_usd;
        let mut inner = self.gate.lock();
        inner.breaker.abandoned(admission, Instant::now());
        inner.today.usd += usd;
        drop(inner);
        if usd > 0.0 {
            self.gate.observer.cost(self.gate.settings.name, usd);
        }
    }
}

impl Gate {
    pub fn new(settings: GateSettings, http: HttpClient, clock: Arc<dyn Clock>, observer: Arc<dyn Observer>) -> Self {
        let breaker = Breaker::new(settings.cooldown, settings.failures_to_open, settings.timeout);
        let today = DayUsage::of(clock.now().date_naive());
        let limiter = Limiter::new(settings.rpm);
        observer.circuit(settings.name, GateState::Ready.as_str());
        let inner = Mutex::new(Inner { breaker, today, reported: GateState::Ready, reason: None });
        Self { settings, http, clock, observer, limiter, purse: None, inner }
    }

    /// The purse that attempts are paid from; without one nothing limits what they cost.
    #[must_use]
    pub fn with_purse(mut self, purse: Arc<dyn Spend>) -> Self {
        self.purse = Some(purse);
        self
    }

    pub const fn name(&self) -> &'static str {
        self.settings.name
    }

    /// US dollars per call, 0 for a free provider.
    pub const fn cost_usd(&self) -> f64 {
        self.settings.cost_usd
    }

    /// The present moment by the gate's clock, for providers whose queries speak of dates.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Sends the request and has `read` make sense of the answer, at any status. `read` decides what is a failure.
    ///
    /// Nothing in here outlasts the asker's time: neither the wait for a turn nor a retry nor the call itself. Each attempt
    /// is paid for and counted when it is sent, and never before. Errors hold none of the request's secrets.
    pub async fn ask<T>(
        &self,
        request: ApiRequest,
        asker: Asker<'_>,
        read: impl Fn(&ApiResponse) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let secrets = request.secrets();
        let (request, read) = (&request, &read);
        self.drive(asker, &secrets, |until| async move {
            self.send(request, until).await.and_then(|response| read(&response))
        })
        .await
    }

    /// Does work that is no HTTP call of this client (a database, a folder) under the same discipline. `work` may run
    /// again after a failure that is worth it, and is cut off when the attempt's time is up.
    pub async fn run<T, F>(&self, asker: Asker<'_>, work: impl Fn() -> F) -> Result<T, AskError>
    where
        F: Future<Output = Result<T, AskError>>,
    {
        self.drive(asker, &[], |until| {
            let work = work();
            async move { timeout_at(until, work).await.unwrap_or(Err(AskError::Timeout)) }
        })
        .await
    }

    /// One exchange, at most until then.
    pub(super) async fn send(&self, request: &ApiRequest, until: Instant) -> Result<ApiResponse, AskError> {
        self.http.send(request, until, self.settings.max_bytes, self.clock.now()).await
    }

    pub(super) async fn drive<T, F>(
        &self,
        asker: Asker<'_>,
        secrets: &[String],
        attempt_until: impl Fn(Instant) -> F,
    ) -> Result<T, AskError>
    where
        F: Future<Output = Result<T, AskError>>,
    {
        let deadline = asker.until;
        let mut delays = Delays::new();
        let mut attempt = 1;
        let mut last: Option<AskError> = None;
        loop {
            let permit = match self.permit(deadline).await {
                Ok(permit) => permit,
                Err(refusal) => {
                    if last.is_none() {
                        self.observer.not_asked(self.settings.name, refusal.label());
                    }
                    // The first attempt's error says more than "left alone since".
                    return Err(last.unwrap_or(refusal));
                }
            };
            let usd = self.price().unwrap_or(0.0);
            asker.meter.sent(usd);
            let outcome = self.attempt(deadline, &attempt_until).await.map_err(|error| error.without(secrets));
            if outcome.as_ref().is_err_and(|error| !error.may_be_billed()) {
                asker.meter.not_billed(usd);
            }
            self.settle(permit, &outcome);
            let error = match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(pause) = self.pause_before_retry(&error, attempt, &mut delays) else { return Err(error) };
            let again = Instant::now() + pause;
            if again >= deadline {
                return Err(error);
            }
            sleep_until(again).await;
            attempt += 1;
            last = Some(error);
        }
    }

    /// The state and the day's account.
    pub fn status(&self) -> GateStatus {
        let (now, utc) = (Instant::now(), self.clock.now());
        let mut inner = self.lock();
        roll_over(&mut inner.today, utc);
        let today = inner.today;
        let (mut state, until) = inner.breaker.state(now);
        let mut reason = inner.reason.clone().filter(|_| state != GateState::Ready);
        drop(inner);
        let mut until = until.map(|until| to_utc(until, now, utc));
        if state == GateState::Ready && self.is_daily_limit_reached(today.calls) {
            state = GateState::Exhausted;
            reason = Some(AskError::DailyLimit.to_string());
            until = utc.date_naive().succ_opt().and_then(|day| day.and_hms_opt(0, 0, 0)).map(|time| time.and_utc());
        }
        GateStatus {
            name: self.settings.name,
            state,
            until,
            reason,
            rpm: self.settings.rpm,
            calls_today: today.calls,
            errors_today: today.errors,
            usd_today: today.usd,
        }
    }

    /// Takes over an account kept elsewhere (an earlier process of the same day). Of another day it is ignored.
    pub fn restore(&self, usage: DayUsage) {
        let utc = self.clock.now();
        let mut inner = self.lock();
        roll_over(&mut inner.today, utc);
        if usage.day == inner.today.day {
            inner.today.calls += usage.calls;
            inner.today.errors += usage.errors;
            inner.today.usd += usage.usd;
        }
    }

    /// What an attempt costs, where it costs anything: recordings are free.
    fn price(&self) -> Option<f64> {
        let usd = self.settings.cost_usd;
        (usd > 0.0 && self.http.is_live()).then_some(usd)
    }

    /// A turn at the limiter, a place at the breaker, and the price.
    async fn permit(&self, deadline: Instant) -> Result<Permit<'_>, AskError> {
        if !self.http.is_live() {
            self.lock().today.calls += 1;
            return Ok(Permit { gate: self, admission: None });
        }
        if Instant::now() >= deadline {
            return Err(AskError::Deadline);
        }
        // Asked before the wait, so that an open provider costs none, and again after it.
        self.refuse_early()?;
        let patience = Instant::now() + self.settings.max_wait;
        let turn = self.limiter.turn(deadline.min(patience)).await;
        let waited = turn.map_err(|late| AskError::Open { until: self.clock.now() + late.after })?;
        self.observer.rate_wait(self.settings.name, waited);
        let (now, utc) = (Instant::now(), self.clock.now());
        let mut inner = self.lock();
        roll_over(&mut inner.today, utc);
        if self.is_daily_limit_reached(inner.today.calls) {
            return Err(AskError::DailyLimit);
        }
        let admission = match inner.breaker.admit(now) {
            Ok(admission) => admission,
            Err(refusal) => return Err(refusal_error(refusal, inner.reason.as_deref(), now, utc)),
        };
        if let (Some(usd), Some(purse)) = (self.price(), &self.purse)
            && !purse.reserve(usd)
        {
            inner.breaker.abandoned(admission, now);
            return Err(AskError::Budget);
        }
        inner.today.calls += 1;
        Ok(Permit { gate: self, admission: Some(admission) })
    }

    fn refuse_early(&self) -> Result<(), AskError> {
        let (now, utc) = (Instant::now(), self.clock.now());
        let mut inner = self.lock();
        roll_over(&mut inner.today, utc);
        if let Some(refusal) = inner.breaker.refusal(now) {
            return Err(refusal_error(refusal, inner.reason.as_deref(), now, utc));
        }
        if self.is_daily_limit_reached(inner.today.calls) {
            return Err(AskError::DailyLimit);
        }
        drop(inner);
        match (self.price(), &self.purse) {
            (Some(usd), Some(purse)) if !purse.affords(usd) => Err(AskError::Budget),
            _ => Ok(()),
        }
    }

    async fn attempt<T, F>(&self, deadline: Instant, run: &impl Fn(Instant) -> F) -> Result<T, AskError>
    where
        F: Future<Output = Result<T, AskError>>,
    {
        let started = Instant::now();
        let patience = started + self.settings.timeout;
        let outcome = match run(patience.min(deadline)).await {
            // Cut short by the caller, not by the provider: it is not to blame.
            Err(AskError::Timeout) if deadline < patience && Instant::now() >= deadline => Err(AskError::Deadline),
            outcome => outcome,
        };
        let label = outcome.as_ref().map_or_else(AskError::label, |_answer| "ok");
        self.observer.request(self.settings.name, label, started.elapsed());
        outcome
    }

    /// Tells the breaker and the account how a call ended.
    fn settle<T>(&self, mut permit: Permit<'_>, outcome: &Result<T, AskError>) {
        let Some(admission) = permit.admission.take() else {
            if outcome.is_err() {
                self.lock().today.errors += 1;
            }
            return;
        };
        let (now, utc) = (Instant::now(), self.clock.now());
        let billed = outcome.as_ref().map_or_else(AskError::may_be_billed, |_answer| true);
        let mut inner = self.lock();
        let opened = match outcome {
            Ok(_) => {
                inner.breaker.succeeded(admission);
                false
            }
            Err(error) => {
                inner.today.errors += 1;
                let opened = inner.breaker.failed(admission, error, now, utc, rand::random());
                if opened {
                    inner.reason = Some(error.to_string());
                }
                opened
            }
        };
        if billed {
            inner.today.usd += self.settings.cost_usd;
        }
        let (state, until) = inner.breaker.state(now);
        let changed = inner.reported != state;
        inner.reported = state;
        drop(inner);
        self.account(billed);
        if changed {
            self.observer.circuit(self.settings.name, state.as_str());
        }
        if let (true, Err(error)) = (opened, outcome) {
            self.observer.circuit_opened(self.settings.name, error.label());
            let until = until.map(|until| to_utc(until, now, utc).to_rfc3339());
            let provider = self.settings.name;
            if state == GateState::Disabled {
                tracing::error!(provider, %error, ?until, "provider disabled");
            } else {
                tracing::warn!(provider, %error, ?until, "provider left alone");
            }
        }
    }

    /// Tells what an attempt cost, or puts back what was taken for one that was not billed.
    fn account(&self, billed: bool) {
        match (self.price(), &self.purse) {
            (Some(usd), _) if billed => self.observer.cost(self.settings.name, usd),
            (Some(usd), Some(purse)) => purse.refund(usd),
            _ => {}
        }
    }

    /// How long to wait before the next attempt; none when there is to be none.
    fn pause_before_retry(&self, error: &AskError, attempt: u32, delays: &mut Delays) -> Option<Duration> {
        if !self.http.is_live() || !error.retryable() || attempt >= self.settings.max_attempts {
            return None;
        }
        match error {
            AskError::Throttled { retry_after } => {
                // The breaker knows the moment, jitter included; another call may have made it later.
                let now = Instant::now();
                let wait =
                    self.lock().breaker.refusal(now).and_then(|refusal| refusal.until).map(|until| until - now)?;
                (retry_after.is_some() && wait <= LONGEST_SAT_OUT).then_some(wait)
            }
            AskError::Malformed { .. } if attempt >= MALFORMED_ATTEMPTS => None,
            // It was billed, most likely, and what was slow a moment ago is not worth its price again.
            AskError::Timeout if self.price().is_some() => None,
            _ => Some(delays.next()),
        }
    }

    fn is_daily_limit_reached(&self, calls: u64) -> bool {
        self.http.is_live() && self.settings.daily_limit.is_some_and(|limit| calls >= u64::from(limit))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic between two statements leaves numbers, not broken invariants.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn roll_over(today: &mut DayUsage, utc: DateTime<Utc>) {
    let day = utc.date_naive();
    // Only forwards: a clock set back must not give the day's allowance anew.
    if day > today.day {
        *today = DayUsage::of(day);
    }
}

fn to_utc(moment: Instant, now: Instant, utc: DateTime<Utc>) -> DateTime<Utc> {
    let ahead = chrono::Duration::from_std(moment.saturating_duration_since(now)).unwrap_or_default();
    utc.checked_add_signed(ahead).unwrap_or(utc)
}

fn refusal_error(refusal: Refusal, reason: Option<&str>, now: Instant, utc: DateTime<Utc>) -> AskError {
    let until = refusal.until.map(|until| to_utc(until, now, utc));
    match (refusal.kind, until) {
        (GateState::Disabled, _) => AskError::Disabled { detail: reason.unwrap_or("it refused us before").to_owned() },
        (GateState::Exhausted, until) => AskError::QuotaGone { until },
        (_, until) => AskError::Open { until: until.unwrap_or(utc) },
    }
}

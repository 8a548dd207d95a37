//! The only way to call a provider: with a permit, through the circuit breaker, with retries until the caller's
//! deadline, and billed.
//!
//! Steps of [`Gate::ask`]: wait for a permit, send, report outcome and cost, retry if worthwhile. Recordings need no
//! permit and cost nothing.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::Instrument as _;

use super::backoff_delays::Delays;
use super::breaker::Breaker;
use super::call_scheduler::{CallPermit, CallScheduler};
use super::client::HttpClient;
use super::error::AskError;
use super::fleet::{BreakerSync, Fleet};
use super::observer::Observer;
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::spend::Asker;
use super::terms::{GateSettings, GateState};
use crate::domain::Clock;
use crate::telemetry::traces;

/// Maximum wait, named by a provider, after which a call itself retries. Longer waits are left to later items.
const MAX_INLINE_RETRY_AFTER: Duration = Duration::from_secs(10);
/// An unreadable body is requested only once more, because the provider is the usual cause.
const MALFORMED_ATTEMPTS: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateStatus {
    pub name: &'static str,
    pub state: GateState,
    /// When it may be called again, if only by a probe; `None` if ready.
    pub until: Option<DateTime<Utc>>,
    pub reason: Option<String>,
    /// Calls a minute.
    pub rpm: u32,
    /// Of this process, per UTC day.
    pub calls_today: u64,
    pub errors_today: u64,
    pub usd_today: f64,
}

/// For display only, per UTC day.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DayUsage {
    day: NaiveDate,
    calls: u64,
    errors: u64,
    usd: f64,
}

impl DayUsage {
    const fn of(day: NaiveDate) -> Self {
        Self { day, calls: 0, errors: 0, usd: 0.0 }
    }
}

/// Guards one provider with one key. Share one instance.
pub struct Gate {
    settings: GateSettings,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    scheduler: Arc<CallScheduler>,
    /// Never held across an await.
    today: Mutex<DayUsage>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// An admitted and reserved call. If it is dropped without an outcome, because the caller left, another probe may
/// start, but the call may still be billed.
struct Permit<'a> {
    gate: &'a Gate,
    pass: Option<CallPermit>,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let Some(pass) = self.pass.take() else { return };
        let usd = self.gate.settings.cost_usd;
        self.gate.scheduler.abandon(&pass);
        self.gate.lock().usd += usd;
        if usd > 0.0 {
            self.gate.observer.cost(self.gate.settings.name, usd);
        }
    }
}

impl Gate {
    /// Returns a gate of a single process; see [`Gate::in_fleet`].
    pub fn new(settings: GateSettings, http: HttpClient, clock: Arc<dyn Clock>, observer: Arc<dyn Observer>) -> Self {
        let fleet = Fleet::alone(Arc::clone(&clock));
        Self::in_fleet(settings, http, clock, observer, fleet)
    }

    /// Returns a gate that shares permits, limits and breaker with other processes.
    pub fn in_fleet(
        settings: GateSettings,
        http: HttpClient,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        fleet: Fleet,
    ) -> Self {
        let breaker = Breaker::new(settings.cooldown, settings.failures_to_open, settings.timeout);
        let today = Mutex::new(DayUsage::of(clock.now().date_naive()));
        observer.circuit(settings.name, GateState::Ready.as_str());
        let (scheduling, ledger) = fleet.scheduling(&settings);
        let scheduler = CallScheduler::new(scheduling, breaker, ledger, Arc::clone(&clock), Arc::clone(&observer));
        Self { settings, http, clock, observer, scheduler: Arc::new(scheduler), today }
    }

    pub fn follower(&self) -> BreakerSync {
        BreakerSync::of(&self.scheduler)
    }

    pub const fn name(&self) -> &'static str {
        self.settings.name
    }

    /// US dollars per call.
    pub const fn cost_usd(&self) -> f64 {
        self.settings.cost_usd
    }

    pub const fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Sends the request. `read` interprets the response, whatever its status, and decides what is a failure.
    ///
    /// Waiting, retries and calls end at the asker's deadline. Each attempt is counted and paid when it is sent. Errors
    /// contain none of the request's secrets.
    pub async fn ask<T>(
        &self,
        request: ApiRequest,
        asker: Asker<'_>,
        read: impl Fn(&ApiResponse) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let (request, read) = (&request, &read);
        self.drive(
            asker,
            || request.secrets(),
            |until| async move { self.send(request, until).await.and_then(|response| read(&response)) },
        )
        .await
    }

    /// Runs work that is not HTTP (a database, a folder) under the same limits. `work` may run again after a retryable
    /// failure and is cancelled at the timeout.
    pub async fn run<T, F>(&self, asker: Asker<'_>, work: impl Fn() -> F) -> Result<T, AskError>
    where
        F: Future<Output = Result<T, AskError>>,
    {
        self.drive(asker, Vec::new, |until| {
            let work = work();
            async move { timeout_at(until, work).await.unwrap_or(Err(AskError::Timeout)) }
        })
        .await
    }

    pub(super) async fn send(&self, request: &ApiRequest, until: Instant) -> Result<ApiResponse, AskError> {
        self.http.send(request, until, self.settings.max_bytes, self.clock.now()).await
    }

    pub(super) async fn drive<T, F>(
        &self,
        asker: Asker<'_>,
        secrets: impl Fn() -> Vec<String>,
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
                    // The first error is more useful than "in cool-down".
                    return Err(last.unwrap_or(refusal));
                }
            };
            let usd = self.price().unwrap_or(0.0);
            asker.meter.sent(usd);
            let patience = asker.meter.patience_or(self.settings.timeout);
            let outcome =
                self.attempt(deadline, patience, &attempt_until).await.map_err(|error| error.without(&secrets()));
            let is_free = usd <= 0.0 || outcome.as_ref().is_err_and(|error| !error.may_be_billed());
            let billed = if is_free { 0.0 } else { asker.meter.worth_or(usd) };
            asker.meter.not_billed(usd - billed);
            if self.settle(permit, &outcome, billed) {
                self.scheduler.announce().await;
            }
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

    pub fn status(&self) -> GateStatus {
        let (state, until, reason) = self.scheduler.state();
        let today = *self.lock();
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

    /// Price of an attempt; `None` if free, as recordings are.
    fn price(&self) -> Option<f64> {
        let usd = self.settings.cost_usd;
        (usd > 0.0 && self.http.is_live()).then_some(usd)
    }

    async fn permit(&self, deadline: Instant) -> Result<Permit<'_>, AskError> {
        if !self.http.is_live() {
            self.lock().calls += 1;
            return Ok(Permit { gate: self, pass: None });
        }
        let arrived = Instant::now();
        if arrived >= deadline {
            return Err(AskError::Deadline);
        }
        let pass = self.scheduler.pass(deadline).await?;
        self.observer.rate_wait(self.settings.name, arrived.elapsed());
        self.lock().calls += 1;
        Ok(Permit { gate: self, pass: Some(pass) })
    }

    async fn attempt<T, F>(
        &self,
        deadline: Instant,
        patience: Duration,
        run: &impl Fn(Instant) -> F,
    ) -> Result<T, AskError>
    where
        F: Future<Output = Result<T, AskError>>,
    {
        let started = Instant::now();
        let patience = started + patience;
        let span = traces::provider_call_span(self.settings.name);
        let outcome = match run(patience.min(deadline)).instrument(span.clone()).await {
            // The caller's deadline is not the provider's fault.
            Err(AskError::Timeout) if deadline < patience && Instant::now() >= deadline => Err(AskError::Deadline),
            outcome => outcome,
        };
        let label = outcome.as_ref().map_or_else(AskError::label, |_answer| "ok");
        traces::provider_call_ended(&span, label);
        self.observer.request(self.settings.name, label, started.elapsed());
        outcome
    }

    /// Reports a call's outcome and cost. Returns whether there may be news for other processes.
    fn settle<T>(&self, mut permit: Permit<'_>, outcome: &Result<T, AskError>, billed: f64) -> bool {
        let failure = outcome.as_ref().err();
        self.lock().errors += u64::from(failure.is_some());
        let Some(pass) = permit.pass.take() else { return false };
        let was_probe = pass.is_probe();
        let opened = self.scheduler.settle(&pass, failure);
        if failure.is_none_or(AskError::may_be_billed)
            && let Some(usd) = self.price()
        {
            self.scheduler.give_change(&pass, usd - billed);
            self.lock().usd += billed;
            self.observer.cost(self.settings.name, billed);
        }
        if let (true, Some(error)) = (opened, failure) {
            self.observer.circuit_opened(self.settings.name, error.label());
            let (state, until, _) = self.scheduler.state();
            let until = until.map(|until| until.to_rfc3339());
            let provider = self.settings.name;
            if state == GateState::Disabled {
                tracing::error!(provider, %error, ?until, "provider disabled");
            } else {
                tracing::warn!(provider, %error, ?until, "circuit opened");
            }
        }
        // A late failure may extend the cool-down, also for other processes.
        was_probe || failure.is_some()
    }

    /// Pause before the next attempt; `None` if there is none.
    fn pause_before_retry(&self, error: &AskError, attempt: u32, delays: &mut Delays) -> Option<Duration> {
        if !self.http.is_live() || !error.retryable() || attempt >= self.settings.max_attempts {
            return None;
        }
        match error {
            AskError::Throttled { retry_after } => {
                // The breaker's end of the cool-down includes jitter and later extensions.
                let now = Instant::now();
                let wait = self.scheduler.open_until(now)? - now;
                (retry_after.is_some() && wait <= MAX_INLINE_RETRY_AFTER).then_some(wait)
            }
            // What may have been billed is not paid again, except once for a truncated body.
            AskError::Timeout | AskError::Lost { .. } | AskError::Server { .. } if self.price().is_some() => None,
            AskError::Malformed { .. } if attempt >= MALFORMED_ATTEMPTS => None,
            _ => Some(delays.next()),
        }
    }

    /// Locks the day's counts, which begin again on a new day.
    fn lock(&self) -> MutexGuard<'_, DayUsage> {
        // A panic leaves plain numbers, no broken invariant.
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let day = self.clock.now().date_naive();
        // If the clock was set back, the later day stays.
        if day > today.day {
            *today = DayUsage::of(day);
        }
        today
    }
}

//! The one way to ask a provider: in a slot of its rate, past its breaker, retried within the caller's deadline, billed.

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
use super::call_scheduler::{CallScheduler, Pass};
use super::client::HttpClient;
use super::error::AskError;
use super::fleet::{Fleet, Follower};
use super::observer::Observer;
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::spend::Asker;
use super::terms::{GateSettings, GateState};
use crate::domain::Clock;
use crate::telemetry::traces;

/// The longest wait a provider may name that a call sits out itself. Longer ones are left to later items.
const LONGEST_SAT_OUT: Duration = Duration::from_secs(10);
/// A body that cannot be read is asked for once more, not to the limit: it is more often the provider than the line.
const MALFORMED_ATTEMPTS: u32 = 2;

/// A gate's state, to be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateStatus {
    pub name: &'static str,
    pub state: GateState,
    /// When it is asked again, if only by a probe; none while ready.
    pub until: Option<DateTime<Utc>>,
    /// Why it is not ready, in words for a person.
    pub reason: Option<String>,
    /// Calls a minute it may get.
    pub rpm: u32,
    /// Of this process, UTC day.
    pub calls_today: u64,
    pub errors_today: u64,
    pub usd_today: f64,
}

/// This process's account of the day, UTC: to be shown, and nothing is decided by it.
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

/// Guards one provider (with one key). Share it, do not build two.
pub struct Gate {
    settings: GateSettings,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    scheduler: Arc<CallScheduler>,
    /// Held for single statements, never across an await.
    today: Mutex<DayUsage>,
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
    /// None for a recording, which needs no slot.
    pass: Option<Pass>,
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
    /// A gate of a process on its own; [`Gate::in_fleet`] makes it one of many.
    pub fn new(settings: GateSettings, http: HttpClient, clock: Arc<dyn Clock>, observer: Arc<dyn Observer>) -> Self {
        let fleet = Fleet::alone(Arc::clone(&clock));
        Self::in_fleet(settings, http, clock, observer, fleet)
    }

    /// A gate that shares its provider's slots, limits and breaker with others.
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

    /// What follows the fleet for this gate.
    pub fn follower(&self) -> Follower {
        Follower::of(&self.scheduler)
    }

    pub const fn name(&self) -> &'static str {
        self.settings.name
    }

    /// US dollars per call, 0 for a free provider.
    pub const fn cost_usd(&self) -> f64 {
        self.settings.cost_usd
    }

    /// The longest one attempt may take.
    pub const fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    /// The present moment by the gate's clock, for providers whose queries speak of dates.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Sends the request and has `read` make sense of the answer, at any status. `read` decides what is a failure.
    ///
    /// Nothing in here outlasts the asker's time: neither the wait for a slot nor a retry nor the call itself. Each attempt
    /// is paid for and counted when it is sent, and never before. Errors hold none of the request's secrets.
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

    /// Does work that is no HTTP call of this client (a database, a folder) under the same discipline. `work` may run
    /// again after a failure that is worth it, and is cut off when the attempt's time is up.
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

    /// One exchange, at most until then.
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
        if self.price().is_some() && asker.meter.is_out_of_money() {
            self.observer.not_asked(self.settings.name, AskError::ShareUsed.label());
            return Err(AskError::ShareUsed);
        }
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

    /// The state and this process's account of the day.
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

    /// What an attempt costs, where it costs anything: recordings are free.
    fn price(&self) -> Option<f64> {
        let usd = self.settings.cost_usd;
        (usd > 0.0 && self.http.is_live()).then_some(usd)
    }

    /// A slot, with the price and a place at the breaker.
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
            // Cut short by the caller, not by the provider: it is not to blame.
            Err(AskError::Timeout) if deadline < patience && Instant::now() >= deadline => Err(AskError::Deadline),
            outcome => outcome,
        };
        let label = outcome.as_ref().map_or_else(AskError::label, |_answer| "ok");
        traces::provider_call_ended(&span, label);
        self.observer.request(self.settings.name, label, started.elapsed());
        outcome
    }

    /// Tells the breaker and the account how a call ended and what it cost. True when there may be news for the other
    /// processes.
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
                tracing::warn!(provider, %error, ?until, "provider paused");
            }
        }
        // A late failure makes a wait longer that others keep as well.
        was_probe || failure.is_some()
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
                let wait = self.scheduler.open_until(now)? - now;
                (retry_after.is_some() && wait <= LONGEST_SAT_OUT).then_some(wait)
            }
            // What may have been billed is not bought again, but for a body that was cut off: that once.
            AskError::Timeout | AskError::Lost { .. } | AskError::Server { .. } if self.price().is_some() => None,
            AskError::Malformed { .. } if attempt >= MALFORMED_ATTEMPTS => None,
            _ => Some(delays.next()),
        }
    }

    /// The day's account; that of another day is begun anew.
    fn lock(&self) -> MutexGuard<'_, DayUsage> {
        // A panic between two statements leaves numbers, not broken invariants.
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        let day = self.clock.now().date_naive();
        // Only forwards: with a clock set back, the figures of the later day are the nearer ones.
        if day > today.day {
            *today = DayUsage::of(day);
        }
        today
    }
}

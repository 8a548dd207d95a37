//! The only way to call a provider: with a permit, through the circuit breaker, with retries until the caller's
//! deadline, and billed.
//!
//! Steps of [`Gate::ask`]: wait for a permit, send, report outcome and cost, retry if worthwhile. Recordings need no
//! permit and cost nothing. [`Gate::ask_or_inquire`] explains an ambiguous refusal by a free request.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::Instrument as _;

use super::backoff_delays::Delays;
use super::call_control::{BreakerSync, CallControl, CallPermit, Fleet};
use super::client::HttpClient;
use super::error::AskError;
use super::observer::Observer;
use super::request::ApiRequest;
use super::response::ApiResponse;
use super::spend::Asker;
use crate::domain::Clock;
use crate::store::GateState;
use crate::telemetry::traces;

/// Maximum wait, named by a provider, after which a call itself retries. Longer waits are left to later items.
const MAX_INLINE_RETRY_AFTER: Duration = Duration::from_secs(10);
/// The cool-down in the store ends later than the one here by the time of a statement.
const SHARING_TIME: Duration = Duration::from_millis(100);
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

/// The limits for calls to a provider.
#[derive(Debug, Clone)]
pub struct GateSettings {
    /// As in metrics and results.
    pub name: &'static str,
    /// Calls a minute, evenly spaced.
    pub rpm: u32,
    /// Maximum wait for a permit. With a longer queue the provider is busy, so that the wait does not use up the
    /// caller's time.
    pub max_wait: Duration,
    /// Maximum time for one attempt, from connecting to the last byte.
    pub timeout: Duration,
    /// Maximum body size after decompression.
    pub max_bytes: usize,
    /// Maximum attempts for one question, at least 1.
    pub max_attempts: u32,
    /// Cool-down if the provider names none.
    pub cooldown: Duration,
    /// Successive failures that open the breaker.
    pub failures_to_open: u32,
    /// Attempts per UTC day, over the fleet.
    pub daily_limit: Option<u32>,
    /// US dollars per call.
    pub cost_usd: f64,
}

/// Guards one provider with one key. Share one instance.
pub struct Gate {
    settings: GateSettings,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    control: Arc<CallControl>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The request after an ambiguous refusal, which asks for the account's state.
pub struct Inquiry<'a> {
    /// Free: neither counted nor paid.
    pub request: ApiRequest,
    /// Whether this refusal needs it, from the raw response and its error.
    pub is_needed: &'a (dyn Fn(&ApiResponse, &AskError) -> bool + Sync),
    /// Returns the error in view of the account. An unreadable account leaves it unchanged.
    pub explain: &'a (dyn Fn(AskError, &ApiResponse) -> AskError + Sync),
}

impl fmt::Debug for Inquiry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inquiry").field("request", &self.request).finish_non_exhaustive()
    }
}

impl Gate {
    /// Returns a gate of a single process; see [`Gate::in_fleet`].
    pub fn new(settings: GateSettings, http: HttpClient, clock: Arc<dyn Clock>, observer: Arc<dyn Observer>) -> Self {
        Self::in_fleet(settings, http, clock, observer, Fleet::default())
    }

    /// Returns a gate that shares permits, limits and breaker with other processes.
    pub fn in_fleet(
        settings: GateSettings,
        http: HttpClient,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        fleet: Fleet,
    ) -> Self {
        let control = CallControl::new(&settings, fleet, Arc::clone(&clock), Arc::clone(&observer));
        Self { settings, http, clock, observer, control }
    }

    pub fn follower(&self) -> BreakerSync {
        BreakerSync::of(&self.control)
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

    /// Sends a free request, outside rate limit and breaker. Neither counted nor paid.
    pub async fn inquire<T>(
        &self,
        request: ApiRequest,
        asker: Asker<'_>,
        read: impl Fn(&ApiResponse) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let response = self.send(&request, asker.until).await;
        response.and_then(|response| read(&response)).map_err(|error| error.without(&request.secrets()))
    }

    /// Like [`Gate::ask`], but explains an ambiguous refusal within the attempt, before the breaker gets it.
    pub async fn ask_or_inquire<T>(
        &self,
        request: ApiRequest,
        asker: Asker<'_>,
        read: impl Fn(&ApiResponse) -> Result<T, AskError>,
        inquiry: &Inquiry<'_>,
    ) -> Result<T, AskError> {
        let (request, read) = (&request, &read);
        let secrets = || [request.secrets(), inquiry.request.secrets()].concat();
        self.drive(asker, secrets, |until| async move {
            let response = self.send(request, until).await?;
            let error = match read(&response) {
                Err(error) if (inquiry.is_needed)(&response, &error) => error,
                outcome => return outcome,
            };
            Err(match self.send(&inquiry.request, until).await {
                Ok(account) => (inquiry.explain)(error, &account),
                Err(_could_not_ask) => error,
            })
        })
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

    async fn send(&self, request: &ApiRequest, until: Instant) -> Result<ApiResponse, AskError> {
        self.http.send(request, until, self.settings.max_bytes, self.clock.now()).await
    }

    async fn drive<T, F>(
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
            self.settle(permit, outcome.as_ref().err(), billed);
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
        let (state, until, reason) = self.control.state();
        let today = self.control.today();
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

    /// Returns `None` for a recording, which needs no permit.
    async fn permit(&self, deadline: Instant) -> Result<Option<CallPermit>, AskError> {
        if !self.http.is_live() {
            return Ok(None);
        }
        let arrived = Instant::now();
        if arrived >= deadline {
            return Err(AskError::Deadline);
        }
        let mut permit = self.control.permit(deadline).await?;
        self.observer.rate_wait(self.settings.name, arrived.elapsed());
        permit.sent();
        Ok(Some(permit))
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

    /// Reports a call's outcome and cost.
    fn settle(&self, permit: Option<CallPermit>, failure: Option<&AskError>, billed: f64) {
        let Some(permit) = permit else { return self.control.count_recorded(failure.is_some()) };
        let provider = self.settings.name;
        let opened = permit.end(failure, billed);
        if billed > 0.0 {
            self.observer.cost(provider, billed);
        }
        if let (true, Some(error)) = (opened, failure) {
            self.observer.circuit_opened(provider, error.label());
            let (state, until, _) = self.control.state();
            let until = until.map(|until| until.to_rfc3339());
            if state == GateState::Disabled {
                tracing::error!(provider, %error, ?until, "provider disabled");
            } else {
                tracing::warn!(provider, %error, ?until, "circuit opened");
            }
        }
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
                let wait = self.control.open_until(now)? - now;
                (retry_after.is_some() && wait <= MAX_INLINE_RETRY_AFTER).then_some(wait + SHARING_TIME)
            }
            // What may have been billed is not paid again, except once for a truncated body.
            AskError::Timeout | AskError::Lost { .. } | AskError::Server { .. } if self.price().is_some() => None,
            AskError::Malformed { .. } if attempt >= MALFORMED_ATTEMPTS => None,
            _ => Some(delays.next()),
        }
    }
}

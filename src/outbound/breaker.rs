//! The circuit breaker of one provider, as one process sees it. Pure: time and jitter are parameters.
//!
//! The error's class decides. A throttle opens it for the wait that the provider names, a used-up quota until the quota
//! returns, a refused key for a day. Other failures are counted. After the cool-down one probe is admitted, and only
//! its outcome closes the breaker.
//!
//! With a store, all processes share the breaker. The store decides who is the probe. [`Breaker::learn`] applies its
//! state, and each change here is returned as a [`CallOutcome`] for it. Without a store this state is the only one.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::error::AskError;
use crate::store::{CallOutcome, GateState, SharedBreaker};

/// Maximum factor for repeated openings without a success. GDELT's penalty grows with calls made during it.
const LONGEST_FACTOR: u32 = 8;
/// Maximum cool-down before jitter. The database function `provider_row` depends on it: it treats a breaker that is open
/// for over two days as due.
const MAX_OPEN_WAIT: Duration = Duration::from_hours(24);
/// Minimum cool-down after a throttle: "Retry-After: 0" must not cause a tight loop.
const SHORTEST_THROTTLE: Duration = Duration::from_secs(1);
/// Maximum share added to a cool-down, so that processes do not return together.
const JITTER: f64 = 0.1;
/// Minimum cool-down after a used-up quota. If the provider names no end, the next UTC midnight is assumed.
const SHORTEST_EXHAUSTION: Duration = Duration::from_hours(1);
/// Maximum cool-down after a used-up quota: no quota window is longer than a month.
const LONGEST_EXHAUSTION: Duration = Duration::from_hours(32 * 24);
/// Cool-down if our API access is switched off. The provider may restore it without a restart here.
const DISABLED_RECHECK: Duration = Duration::from_hours(1);
/// Cool-down after a refused key, for example for an unpaid bill. A new key has its own breaker.
const BAD_KEY_RECHECK: Duration = Duration::from_hours(24);

/// An admitted call. Must be returned with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    /// Outcomes of earlier periods do not count.
    generation: u64,
    pub(super) probe: bool,
    /// Version of the shared state.
    pub(super) version: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) state: GateState,
    pub(super) until: Instant,
}

#[derive(Debug)]
pub(super) struct Breaker {
    state: GateState,
    /// End of the cool-down, or of the probe in progress.
    until: Instant,
    reason: Option<String>,
    /// Successive failures of this process.
    failures: u32,
    /// Openings since the last success.
    trips: u32,
    generation: u64,
    version: i64,
    cooldown: Duration,
    failures_to_open: u32,
    probe_time: Duration,
}

impl Breaker {
    pub(super) fn new(cooldown: Duration, failures_to_open: u32, probe_time: Duration) -> Self {
        Self {
            state: GateState::Ready,
            until: Instant::now(),
            reason: None,
            failures: 0,
            trips: 0,
            generation: 0,
            version: 0,
            cooldown,
            failures_to_open: failures_to_open.max(1),
            probe_time,
        }
    }

    /// A fresh breaker for a changed key. Calls in progress do not affect it.
    pub(super) fn for_new_key(&self) -> Self {
        let fresh = Self::new(self.cooldown, self.failures_to_open, self.probe_time);
        Self { generation: self.generation + 1, ..fresh }
    }

    /// Returns the refusal that a call would get now.
    pub(super) fn refusal(&self, now: Instant) -> Option<Refusal> {
        let is_open = self.state != GateState::Ready && self.until > now;
        is_open.then_some(Refusal { state: self.state, until: self.until })
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Grows when earlier calls no longer count.
    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Admits a call. After a cool-down it is the probe, and other calls are refused until its end.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Admission, Refusal> {
        if let Some(refusal) = self.refusal(now) {
            return Err(refusal);
        }
        let probe = self.state != GateState::Ready;
        if probe {
            self.generation += 1;
            self.until = now + self.probe_time;
        }
        Ok(Admission { generation: self.generation, probe, version: self.version })
    }

    /// Records a response, possibly "nothing found". Only a probe's success closes the breaker.
    pub(super) fn succeeded(&mut self, admission: Admission) -> Option<CallOutcome> {
        if admission.generation != self.generation {
            return None;
        }
        self.failures = 0;
        self.trips = 0;
        if !admission.probe {
            return None;
        }
        self.close();
        Some(CallOutcome::Closed)
    }

    /// Records a call that ended without information about the provider. Another probe may follow at once.
    pub(super) fn abandoned(&mut self, admission: Admission, now: Instant) -> Option<CallOutcome> {
        if !admission.probe || admission.generation != self.generation {
            return None;
        }
        self.until = now;
        Some(CallOutcome::Unknown)
    }

    /// Records a failure. `jitter` is in [0, 1).
    pub(super) fn failed(
        &mut self,
        admission: Admission,
        error: &AskError,
        now: Instant,
        utc: DateTime<Utc>,
        jitter: f64,
    ) -> Option<CallOutcome> {
        let (state, wait) = match error {
            AskError::Throttled { retry_after } => {
                let wait = match retry_after {
                    Some(wait) => (*wait).max(SHORTEST_THROTTLE * self.factor()),
                    None => self.cooldown * self.factor(),
                };
                (GateState::Open, jittered(wait.min(MAX_OPEN_WAIT), jitter))
            }
            AskError::QuotaGone { until } => {
                let wait = (until.unwrap_or_else(|| next_midnight(utc)) - utc).to_std().unwrap_or_default();
                (GateState::Exhausted, wait.clamp(SHORTEST_EXHAUSTION, LONGEST_EXHAUSTION))
            }
            AskError::BadKey { .. } => (GateState::Disabled, jittered(BAD_KEY_RECHECK, jitter)),
            AskError::Disabled { .. } => (GateState::Disabled, DISABLED_RECHECK),
            counted if counted.counts_for_breaker() => {
                if admission.generation != self.generation {
                    return None;
                }
                self.failures += 1;
                if !admission.probe && self.failures < self.failures_to_open {
                    return None;
                }
                (GateState::Open, jittered((self.cooldown * self.factor()).min(MAX_OPEN_WAIT), jitter))
            }
            AskError::Refused { .. } => return self.succeeded(admission),
            _ => return self.abandoned(admission, now),
        };
        self.open(admission, state, wait, error, now)
    }

    /// A call that began before the opening may extend the cool-down, but is no new opening.
    fn open(
        &mut self,
        admission: Admission,
        state: GateState,
        wait: Duration,
        error: &AskError,
        now: Instant,
    ) -> Option<CallOutcome> {
        let is_late = admission.generation != self.generation;
        if is_late && self.state != GateState::Ready {
            if now + wait <= self.until {
                return None;
            }
        } else {
            self.generation += 1;
            self.failures = 0;
            self.trips = self.trips.saturating_add(u32::from(!is_late));
        }
        let reason = error.to_string();
        (self.state, self.until, self.reason) = (state, now + wait, Some(reason.clone()));
        Some(CallOutcome::Opened { state, wait, reason })
    }

    fn close(&mut self) {
        self.generation += 1;
        (self.state, self.reason, self.failures, self.trips) = (GateState::Ready, None, 0, 0);
    }

    fn factor(&self) -> u32 {
        2_u32.saturating_pow(self.trips).min(LONGEST_FACTOR)
    }

    /// Applies the shared state if it is newer, or in answer to a request for a call. Returns the new state if another
    /// process opened or closed the breaker.
    pub(super) fn learn(&mut self, shared: &SharedBreaker, received: Instant, is_answer: bool) -> Option<GateState> {
        if shared.version <= self.version && !is_answer {
            return None;
        }
        let before = self.state;
        if shared.state == GateState::Ready {
            if before != GateState::Ready {
                self.close();
            }
        } else {
            self.generation += u64::from(before == GateState::Ready);
            (self.state, self.until, self.reason) = (shared.state, received + shared.until_in, shared.reason.clone());
        }
        (self.version, self.trips) = (shared.version, shared.trips);
        let changed = (before == GateState::Ready) != (self.state == GateState::Ready);
        changed.then_some(self.state)
    }

    pub(super) fn state(&self, now: Instant) -> (GateState, Option<Instant>) {
        (self.state, (self.state != GateState::Ready).then(|| self.until.max(now)))
    }
}

fn jittered(wait: Duration, jitter: f64) -> Duration {
    wait.mul_f64(1.0 + JITTER * jitter.clamp(0.0, 1.0))
}

fn next_midnight(utc: DateTime<Utc>) -> DateTime<Utc> {
    utc.date_naive().succ_opt().and_then(|day| day.and_hms_opt(0, 0, 0)).map_or(utc, |midnight| midnight.and_utc())
}

#[cfg(test)]
mod tests;

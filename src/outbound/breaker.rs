//! The circuit breaker of one provider: a pure state machine with time and jitter as parameters.
//!
//! The error's class decides. A throttle opens it for the wait that the provider names, a used-up quota until the quota
//! returns, a refused key for a day. Other failures are counted. After the cool-down one probe is admitted, and only
//! its outcome closes the breaker.
//!
//! The fleet shares one breaker; this is one process's view. Local changes become [`News`] for other processes, and
//! [`Breaker::learn`] applies theirs. The ledger gives the probe to one process.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::error::AskError;
use super::ledger::{Opening, SharedBreaker};
use super::terms::GateState;

/// Maximum factor for repeated openings without a success. GDELT's penalty grows with calls made during it.
const LONGEST_FACTOR: u32 = 8;
/// Maximum cool-down before jitter. The database function `breaker_until` depends on it: it treats a breaker that is
/// open for over two days as closed.
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
/// Marks an opening that only extends a cool-down. No breaker has this version.
const NO_VERSION: i64 = -1;

/// An admitted call. Must be returned with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    /// Outcomes of earlier periods do not count.
    generation: u64,
    pub(super) probe: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: GateState,
    pub(super) until: Instant,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    Opened { kind: GateState, until: Instant, reason: String, error: &'static str, version: i64 },
    Closed { version: i64 },
}

impl News {
    /// `None` for a closing.
    pub(super) fn opening(&self, now: Instant) -> Option<Opening> {
        let Self::Opened { kind, until, reason, error, version } = self else { return None };
        let wait = until.saturating_duration_since(now);
        Some(Opening { kind: (*kind).into(), wait, reason: reason.clone(), error, version: *version })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakerChange {
    LeftAlone(GateState),
    Ready,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { kind: GateState, until: Instant },
    HalfOpen { since: Instant },
}

#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    generation: u64,
    /// Openings since the fleet's last success.
    trips: u32,
    cooldown: Duration,
    failures_to_open: u32,
    probe_time: Duration,
    reason: Option<String>,
    version: i64,
    /// Version of the probe that this process holds.
    held_probe: Option<i64>,
    news: Option<News>,
}

impl Breaker {
    pub(super) fn new(cooldown: Duration, failures_to_open: u32, probe_time: Duration) -> Self {
        Self {
            state: State::Closed { failures: 0 },
            generation: 0,
            trips: 0,
            cooldown,
            failures_to_open: failures_to_open.max(1),
            probe_time,
            reason: None,
            version: 0,
            held_probe: None,
            news: None,
        }
    }

    /// A fresh breaker for a changed key. Calls in progress do not affect it.
    pub(super) fn for_new_key(&self) -> Self {
        let fresh = Self::new(self.cooldown, self.failures_to_open, self.probe_time);
        Self { generation: self.generation + 1, ..fresh }
    }

    /// Returns the refusal that a call would get now. Changes nothing.
    pub(super) fn refusal(&self, now: Instant) -> Option<Refusal> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { until, .. } if until <= now => None,
            State::Open { kind, until } => Some(Refusal { kind, until }),
            State::HalfOpen { since } => {
                Some(Refusal { kind: GateState::Open, until: (since + self.probe_time).max(now) })
            }
        }
    }

    /// The ledger must still grant the probe.
    pub(super) fn probe_is_due(&self, now: Instant) -> bool {
        matches!(self.state, State::Open { until, .. } if until <= now)
    }

    pub(super) const fn held_probe(&self) -> Option<i64> {
        self.held_probe
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref().filter(|_| !matches!(self.state, State::Closed { .. }))
    }

    /// After a cool-down exactly one call is admitted, as the probe.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Admission, Refusal> {
        if let Some(refusal) = self.refusal(now) {
            return Err(refusal);
        }
        let probe = matches!(self.state, State::Open { .. });
        if probe {
            self.state = State::HalfOpen { since: now };
            self.generation += 1;
        }
        Ok(Admission { generation: self.generation, probe })
    }

    /// Records a response, possibly "nothing found". Only a probe's success closes the breaker.
    pub(super) fn succeeded(&mut self, admission: Admission) {
        if admission.generation != self.generation || matches!(self.state, State::Open { .. }) {
            return;
        }
        if matches!(self.state, State::HalfOpen { .. }) {
            self.news = Some(News::Closed { version: self.version });
            self.held_probe = None;
        }
        self.state = State::Closed { failures: 0 };
        self.trips = 0;
    }

    /// Records a call that ended without information about the provider. This process may probe again at once.
    pub(super) fn abandoned(&mut self, admission: Admission, now: Instant) {
        if admission.probe && admission.generation == self.generation && matches!(self.state, State::HalfOpen { .. }) {
            self.state = State::Open { kind: GateState::Open, until: now };
        }
    }

    /// Records a failure. Returns whether it opened the breaker. `jitter` is in [0, 1).
    pub(super) fn failed(
        &mut self,
        admission: Admission,
        error: &AskError,
        now: Instant,
        utc: DateTime<Utc>,
        jitter: f64,
    ) -> bool {
        match error {
            AskError::Throttled { retry_after } => {
                let wait = match retry_after {
                    Some(wait) => (*wait).max(SHORTEST_THROTTLE * self.factor()),
                    None => self.cooldown * self.factor(),
                };
                self.open(admission, GateState::Open, now + jittered(wait.min(MAX_OPEN_WAIT), jitter), error)
            }
            AskError::QuotaGone { until } => {
                let until = until.unwrap_or_else(|| next_midnight(utc));
                let wait = (until - utc).to_std().unwrap_or_default().clamp(SHORTEST_EXHAUSTION, LONGEST_EXHAUSTION);
                self.open(admission, GateState::Exhausted, now + wait, error)
            }
            AskError::BadKey { .. } => {
                self.open(admission, GateState::Disabled, now + jittered(BAD_KEY_RECHECK, jitter), error)
            }
            AskError::Disabled { .. } => self.open(admission, GateState::Disabled, now + DISABLED_RECHECK, error),
            counted if counted.counts_for_breaker() => self.count(admission, now, jitter, error),
            AskError::Refused { .. } => {
                self.succeeded(admission);
                false
            }
            _ => {
                self.abandoned(admission, now);
                false
            }
        }
    }

    fn count(&mut self, admission: Admission, now: Instant, jitter: f64, error: &AskError) -> bool {
        if admission.generation != self.generation {
            return false;
        }
        match &mut self.state {
            State::Closed { failures } => {
                *failures += 1;
                if *failures < self.failures_to_open {
                    return false;
                }
            }
            State::HalfOpen { .. } => {}
            State::Open { .. } => return false,
        }
        let wait = jittered((self.cooldown * self.factor()).min(MAX_OPEN_WAIT), jitter);
        self.open(admission, GateState::Open, now + wait, error)
    }

    fn open(&mut self, admission: Admission, kind: GateState, until: Instant, error: &AskError) -> bool {
        let (reason, label) = (error.to_string(), error.label());
        if let State::Open { until: present, .. } = self.state {
            // The call began before the opening: it may extend the cool-down, but is no new opening.
            if until > present {
                self.state = State::Open { kind, until };
                // Unsent news of an opening stays an opening.
                let version = match &self.news {
                    Some(News::Opened { version, .. }) => *version,
                    _ => NO_VERSION,
                };
                self.reason = Some(reason.clone());
                self.news = Some(News::Opened { kind, until, reason, error: label, version });
            }
            return false;
        }
        if admission.generation == self.generation {
            self.trips = self.trips.saturating_add(1);
        }
        self.state = State::Open { kind, until };
        self.generation += 1;
        self.held_probe = None;
        self.reason = Some(reason.clone());
        self.news = Some(News::Opened { kind, until, reason, error: label, version: self.version });
        true
    }

    fn factor(&self) -> u32 {
        2_u32.saturating_pow(self.trips).min(LONGEST_FACTOR)
    }

    pub(super) fn take_news(&mut self) -> Option<News> {
        self.news.take()
    }

    /// Keeps unsent news unless newer news exists.
    pub(super) fn put_back(&mut self, news: News) {
        self.news.get_or_insert(news);
    }

    /// Applies the fleet's breaker if it is newer. A response to this process's own request also counts if older,
    /// because the table may have been emptied.
    pub(super) fn learn(&mut self, shared: &SharedBreaker, received: Instant, answer: bool) -> Option<BreakerChange> {
        if shared.version == self.version || (shared.version < self.version && !answer) {
            return None;
        }
        self.version = shared.version;
        self.trips = shared.trips;
        let was_closed = matches!(self.state, State::Closed { .. });
        let kind = GateState::from(shared.kind);
        if kind == GateState::Ready {
            self.held_probe = None;
            if was_closed {
                return None;
            }
            self.generation += 1;
            self.state = State::Closed { failures: 0 };
            return Some(BreakerChange::Ready);
        }
        if !matches!(self.state, State::Open { .. }) {
            self.generation += 1;
        }
        self.reason.clone_from(&shared.reason);
        // While another process's probe runs, this process waits.
        let until = received + shared.until_in.max(shared.probe_in.unwrap_or_default());
        self.state = State::Open { kind, until };
        was_closed.then_some(BreakerChange::LeftAlone(kind))
    }

    /// Applies the ledger's refusal, whatever this process knew.
    pub(super) fn left_alone(&mut self, shared: &SharedBreaker, received: Instant) -> Option<BreakerChange> {
        let learnt = self.learn(shared, received, true);
        let until = received + shared.until_in.max(shared.probe_in.unwrap_or_default());
        if !matches!(self.state, State::HalfOpen { .. }) {
            self.state = State::Open { kind: shared.kind.into(), until };
        }
        learnt
    }

    /// Records that the ledger gave the probe to this process. The next admitted call is the probe.
    pub(super) fn may_probe(&mut self, shared: &SharedBreaker, now: Instant) {
        self.version = shared.version;
        self.trips = shared.trips;
        self.held_probe = Some(shared.version);
        self.reason.clone_from(&shared.reason);
        if matches!(self.state, State::Closed { .. }) {
            self.generation += 1;
        }
        self.state = State::Open { kind: shared.kind.into(), until: now };
    }

    pub(super) fn state(&self, now: Instant) -> (GateState, Option<Instant>) {
        match self.state {
            State::Closed { .. } => (GateState::Ready, None),
            State::Open { kind, until } => (kind, Some(until.max(now))),
            State::HalfOpen { since } => (GateState::Open, Some(since + self.probe_time)),
        }
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

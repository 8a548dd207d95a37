//! When a provider is left alone. A pure state machine: the present moment and the jitter are parameters.
//!
//! The error's class decides. A throttle opens at once and respects the provider's own wait; a used-up quota is
//! "exhausted until", not an outage; a refused key is tried again once a day; failures count. After the wait one probe is
//! let through, and only its outcome closes the breaker.
//!
//! The fleet shares one breaker. This is a process's view of it: what it decides becomes [`News`] for the others, and
//! what they decided is taken over by [`Breaker::learn`]. The ledger gives the probe to one process; until it does, this
//! one only knows that a probe is due.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::error::AskError;
use super::ledger::{Opening, SharedBreaker};
use super::terms::GateState;

/// Repeated openings without a success in between double the wait, up to this factor: GDELT's penalty, for one, grows
/// with every call made while it lasts.
const LONGEST_FACTOR: u32 = 8;
/// The longest wait of an open breaker, before the jitter, whatever cool-down is configured or the provider asks for. The
/// function `breaker_until` (migration 0036) depends on it: it takes an open breaker more than two days ahead as over.
const MAX_OPEN_WAIT: Duration = Duration::from_hours(24);
/// The shortest wait after a throttle: "Retry-After: 0" must not become a tight loop.
const SHORTEST_THROTTLE: Duration = Duration::from_secs(1);
/// Up to this share is added to every wait, so that many processes do not come back in the same second.
const JITTER: f64 = 0.1;
/// How long a quota is believed to be gone when the provider does not say until when: till the next UTC midnight,
/// though not shorter than this.
const SHORTEST_EXHAUSTION: Duration = Duration::from_hours(1);
/// No quota window is longer than a month.
const LONGEST_EXHAUSTION: Duration = Duration::from_hours(32 * 24);
/// A provider whose API was switched off for us is asked again this often: it may be mended at its side, without a
/// restart of ours.
const DISABLED_RECHECK: Duration = Duration::from_hours(1);
/// A refused key is tried once a day: an unpaid bill is paid without a restart. Another key is another identity, and is
/// tried at once.
const BAD_KEY_RECHECK: Duration = Duration::from_hours(24);
/// The version of an opening that only makes a wait longer: no breaker ever has it.
const NO_VERSION: i64 = -1;

/// What a call that is let through must hand back with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    /// Which closed (or half-open) period let it through; outcomes of an earlier one no longer count.
    generation: u64,
    pub(super) probe: bool,
}

/// Why a call is not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: GateState,
    pub(super) until: Instant,
}

/// What the others must hear.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    Opened { kind: GateState, until: Instant, reason: String, error: &'static str, version: i64 },
    Closed { version: i64 },
}

impl News {
    /// As the ledger takes it; `None` when it is a closing.
    pub(super) fn opening(&self, now: Instant) -> Option<Opening> {
        let Self::Opened { kind, until, reason, error, version } = self else { return None };
        let wait = until.saturating_duration_since(now);
        Some(Opening { kind: (*kind).into(), wait, reason: reason.clone(), error, version: *version })
    }
}

/// What this process did not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Learnt {
    LeftAlone(GateState),
    Ready,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { kind: GateState, until: Instant },
    HalfOpen { since: Instant },
}

/// One provider's breaker.
#[derive(Debug)]
pub(super) struct Breaker {
    state: State,
    generation: u64,
    /// Openings since the last success, of the fleet.
    trips: u32,
    cooldown: Duration,
    failures_to_open: u32,
    /// How long a probe may be out: what callers in the meantime are told.
    probe_time: Duration,
    /// The error that opened it last.
    reason: Option<String>,
    /// Of the fleet's breaker, as far as this process knows.
    version: i64,
    /// The version whose probe the ledger gave to this process.
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

    /// The breaker of another key: nothing is known of it. Calls that are under way are of no concern to it.
    pub(super) fn anew(&self) -> Self {
        let fresh = Self::new(self.cooldown, self.failures_to_open, self.probe_time);
        Self { generation: self.generation + 1, ..fresh }
    }

    /// Whether a call would be let through now, without letting it.
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

    /// Whether the wait is over and a probe is due, which the ledger must give.
    pub(super) fn probe_is_due(&self, now: Instant) -> bool {
        matches!(self.state, State::Open { until, .. } if until <= now)
    }

    /// The version whose probe was given to this process and not used.
    pub(super) const fn held_probe(&self) -> Option<i64> {
        self.held_probe
    }

    /// Why it is not ready, in words for a person.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref().filter(|_| !matches!(self.state, State::Closed { .. }))
    }

    /// Lets a call through, or says why not. After the wait of an open breaker exactly one call passes, as the probe.
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

    /// The provider answered, be it "nothing found" or "not this query". Only a probe's success closes.
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

    /// The call ended without telling anything of the provider: the caller's time was up, or it went away. A probe's
    /// place is free again, for this process at once.
    pub(super) fn abandoned(&mut self, admission: Admission, now: Instant) {
        if admission.probe && admission.generation == self.generation && matches!(self.state, State::HalfOpen { .. }) {
            self.state = State::Open { kind: GateState::Open, until: now };
        }
    }

    /// The call failed. Returns whether the breaker opened because of it. `jitter` is drawn from [0, 1).
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
            // Calls that were under way when it opened: it is open already.
            State::Open { .. } => return false,
        }
        let wait = jittered((self.cooldown * self.factor()).min(MAX_OPEN_WAIT), jitter);
        self.open(admission, GateState::Open, now + wait, error)
    }

    fn open(&mut self, admission: Admission, kind: GateState, until: Instant, error: &AskError) -> bool {
        let (reason, label) = (error.to_string(), error.label());
        if let State::Open { until: present, .. } = self.state {
            // A call that was under way when it opened: it may make the wait longer, not shorter, and is no new opening.
            if until > present {
                self.state = State::Open { kind, until };
                // What the others have not heard yet stays an opening.
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

    /// What the others must hear, once.
    pub(super) fn take_news(&mut self) -> Option<News> {
        self.news.take()
    }

    /// They could not be told; what happened since is newer and stays.
    pub(super) fn put_back(&mut self, news: News) {
        self.news.get_or_insert(news);
    }

    /// Takes the fleet's breaker over where it is newer than what is known. An answer to this process's own question is
    /// also believed where it is older: the table was emptied.
    pub(super) fn learn(&mut self, shared: &SharedBreaker, received: Instant, answer: bool) -> Option<Learnt> {
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
            return Some(Learnt::Ready);
        }
        if !matches!(self.state, State::Open { .. }) {
            self.generation += 1;
        }
        self.reason.clone_from(&shared.reason);
        // While somebody's probe is out there is nothing to be done here.
        let until = received + shared.until_in.max(shared.probe_in.unwrap_or_default());
        self.state = State::Open { kind, until };
        was_closed.then_some(Learnt::LeftAlone(kind))
    }

    /// The ledger refuses: whatever was believed here, nobody asks before what it says.
    pub(super) fn left_alone(&mut self, shared: &SharedBreaker, received: Instant) -> Option<Learnt> {
        let learnt = self.learn(shared, received, true);
        let until = received + shared.until_in.max(shared.probe_in.unwrap_or_default());
        if !matches!(self.state, State::HalfOpen { .. }) {
            self.state = State::Open { kind: shared.kind.into(), until };
        }
        learnt
    }

    /// The ledger gave the probe to this process: the next call that is admitted is the one.
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

    /// The state to show, and until when.
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
